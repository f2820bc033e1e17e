//! SPIR-V for the GPUs of any vendor whose driver compiles it, as Intel's OpenCL runtimes do, and
//! Intel's own architectures.
//!
//! Sources: LLVM's list of offload architectures (`OffloadArch.cpp`, 22.1.8); clang 22.1.8, which
//! compiles HIP sources for `spirv64` and refuses Intel's architectures for them.

use super::Row;
use core::fmt;

/// The facts about the vendor.
pub(super) const VENDOR: Row = Row {
    name: "intel",
    driver: "opencl",
    offload_kind: "hip",
    triple: Some("spirv64-unknown-unknown"),
    device: "a GPU whose driver compiles SPIR-V",
    devices: "GPUs whose drivers compile SPIR-V",
    examples: &["spirv64"],
    // The triple of AMD's SPIR-V names AMD as its vendor.
    is_triple: |triple| triple.arch == "spirv64" && triple.vendor != "amd",
};

/// The first version of clang that compiles the kit's kernels for SPIR-V: earlier ones lack
/// functions for the lanes of a warp.
const FIRST_CLANG: u32 = 22;

/// A target of Intel's drivers.
///
/// The names and their references are on the [module's page](super).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum IntelArch {
    /// `spirv64`: SPIR-V, which the driver compiles for the GPU that is there.
    Spirv64,
    /// `bmg_g21`: machine code for the GPUs of the Arc B series.
    BmgG21,
}

impl IntelArch {
    const ALL: [Self; 2] = [Self::Spirv64, Self::BmgG21];

    /// Reads `spirv64` or `bmg_g21`; returns `None` for any other text.
    pub fn named(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|arch| arch.name() == text)
    }

    /// Returns the name: `spirv64`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Spirv64 => "spirv64",
            Self::BmgG21 => "bmg_g21",
        }
    }

    /// Returns the first major version of clang that compiles kernels for the target; `None` if no
    /// version does.
    pub const fn first_clang(self) -> Option<u32> {
        match self {
            Self::Spirv64 => Some(FIRST_CLANG),
            Self::BmgG21 => None,
        }
    }

    /// Returns the extension of a file with an image for the target.
    pub(super) const fn extension(self) -> &'static str {
        match self {
            Self::Spirv64 => "spv",
            Self::BmgG21 => "bin",
        }
    }
}

impl fmt::Display for IntelArch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A version of SPIR-V.
///
/// Source: the header of a module, SPIR-V specification 1.6, "Physical Layout of a SPIR-V Module".
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpirvVersion {
    /// The number before the period.
    pub major: u8,
    /// The number after the period.
    pub minor: u8,
}

impl SpirvVersion {
    /// Reads `1.4`; returns `None` for any other text.
    pub fn parse(text: &str) -> Option<Self> {
        let (major, minor) = text.split_once('.')?;
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        (is_number(major) && is_number(minor)).then_some(())?;
        Some(Self { major: major.parse().ok()?, minor: minor.parse().ok()? })
    }
}

impl fmt::Display for SpirvVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}
