//! The items of target lists.

use offload_format::target::Vendor;
use std::fmt;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Item {
    /// An unchecked target name.
    Arch(String),
    /// A target that is used only if nvcc supports it.
    IfKnown(String),
    /// The build machine's GPUs from this vendor, or from any vendor.
    Native(Option<Vendor>),
    /// The build machine's GPUs, or these targets if it has none.
    NativeOr(Vec<String>),
    /// The first NVIDIA architecture of each major number that the compilers support, and PTX for
    /// the last architecture.
    AllMajor,
    /// All NVIDIA architectures that the compilers support, and PTX for the last architecture.
    All,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TargetOrigin {
    /// A call to `arch`, `archs` or `archs_if_known` in build.rs.
    BuildScript,
    /// A call to `default_archs` or `native_or` in build.rs.
    Default,
    /// The variable with this name: `OFFLOAD_ARCH`, or `OFFLOAD_ARCH_<package>`.
    OffloadArch(String),
    /// The variable with this name, in which users of other programs name their GPUs.
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

/// Splits the list in a variable into its pieces.
pub(super) fn split(value: &str) -> impl Iterator<Item = &str> {
    value.split([',', ';', ' ', '\t', '\n']).filter(|piece| !piece.is_empty())
}
