//! Makes images for AMD's GPUs with clang and lld, and with ROCm's headers if a source needs them.

use super::super::jobs::Source;
use super::super::missing_tool::{MissingTool, NotMade};
use super::super::run::Run;
use super::Needed;
use crate::compile::sdk::Sdk;
use crate::request::Headers;
use offload_format::target::TargetId;

impl Run<'_> {
    pub(super) fn by_clang_for_amd(
        &self,
        needed: &Needed<'_>,
        id: TargetId<'_>,
    ) -> Result<Source, NotMade> {
        let (sdk, clang) = match needed.with_headers(Headers::Rocm) {
            None => (Sdk::default(), self.clang()?),
            Some(_) => {
                let rocm = self.tools.rocm().map_err(MissingTool::rocm)?;
                // Prefer ROCm's own clang: ROCm's headers were written for it.
                let clang = self.tools.rocm_clang(rocm).map_or_else(|| self.clang(), Ok)?;
                (Sdk::rocm(rocm, clang, id, self.tools), clang)
            }
        };
        if clang.lld.is_none() {
            return Err(MissingTool::lld(clang).into());
        }
        self.by_clang(needed, clang, self.compilations(needed, &sdk).amdgpu(id, clang))
    }
}
