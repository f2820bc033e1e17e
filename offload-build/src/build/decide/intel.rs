//! Makes SPIR-V images with clang, for GPUs whose drivers compile SPIR-V.

use super::super::jobs::Source;
use super::super::missing_tool::NotMade;
use super::super::run::Run;
use super::Needed;
use crate::compile::sdk::Sdk;

impl Run<'_> {
    pub(super) fn by_clang_for_intel(&self, needed: &Needed<'_>) -> Result<Source, NotMade> {
        let (sdk, clang) = (Sdk::default(), self.clang()?);
        self.by_clang(needed, clang, self.compilations(needed, &sdk).spirv(clang))
    }
}
