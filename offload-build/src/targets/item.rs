//! Items of lists of targets.

use offload_format::target::Vendor;
use std::fmt;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Item {
    /// A target's name that is not checked yet.
    Arch(String),
    /// A target that counts only if nvcc knows it.
    IfKnown(String),
    /// The GPUs of the building machine, of this vendor or of any.
    Native(Option<Vendor>),
    /// The GPUs of the building machine; without a GPU, these targets.
    NativeOr(Vec<String>),
    /// NVIDIA's architectures that the compilers know: the first of each major number, and PTX of
    /// the last.
    AllMajor,
    /// All of NVIDIA's architectures that the compilers know, and PTX of the last.
    All,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TargetOrigin {
    /// A call in build.rs of `arch`, `archs` or `archs_if_known`.
    BuildScript,
    /// A call of `default_archs` or `native_or`.
    Default,
    /// `OFFLOAD_ARCH`, or `OFFLOAD_ARCH_<package>`: the variable of this name.
    OffloadArch(String),
    /// The variable of this name, in which users of other programs name their GPUs.
    ForeignVariable(String),
}

impl fmt::Display for TargetOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TargetOrigin::BuildScript => "build.rs",
            TargetOrigin::Default => "the default of build.rs",
            TargetOrigin::OffloadArch(name) | TargetOrigin::ForeignVariable(name) => name,
        })
    }
}

#[derive(Debug, Clone)]
pub(super) struct Listed {
    pub(super) item: Item,
    pub(super) by: TargetOrigin,
}

/// Returns the pieces of a list in a variable.
pub(super) fn split(value: &str) -> impl Iterator<Item = &str> {
    value.split([',', ';', ' ', '\t', '\n']).filter(|piece| !piece.is_empty())
}
