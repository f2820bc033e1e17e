//! Two kinds of targets: SPIR-V, for GPUs whose drivers compile it (such as Intel's), and Intel's
//! own architectures.
//!
//! Sources: LLVM's list of offload architectures (`OffloadArch.cpp`, 22.1.8); clang 22.1.8, which
//! compiles HIP sources for `spirv64`, but refuses Intel's architectures for HIP sources.

use super::Row;
use core::fmt;

/// The properties of the vendor.
pub(super) const VENDOR: Row = Row {
    name: "intel",
    driver: "opencl",
    offload_kind: "hip",
    triple: Some("spirv64-unknown-unknown"),
    device: "a GPU whose driver compiles SPIR-V",
    devices: "GPUs whose drivers compile SPIR-V",
    examples: &["spirv64"],
    // The triple of AMD's SPIR-V names AMD as the vendor.
    is_triple: |triple| triple.arch == "spirv64" && triple.vendor != "amd",
};

/// The first version of clang that compiles this project's kernels for SPIR-V. Earlier versions
/// lack warp functions.
const FIRST_CLANG: u32 = 22;

/// A target for Intel's drivers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum IntelArch {
    /// `spirv64`: SPIR-V, which the driver compiles for its GPU.
    Spirv64,
    /// `bmg_g21`: machine code for the Arc B series, the only Intel GPU in LLVM 22's list. No
    /// device in this crate accepts it.
    BmgG21,
}

impl IntelArch {
    const ALL: [Self; 2] = [Self::Spirv64, Self::BmgG21];

    /// Returns the target with this name: `spirv64` or `bmg_g21`.
    #[inline]
    pub(super) fn find(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|arch| arch.name() == text)
    }

    /// Returns the name, such as `spirv64`.
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
    /// Reads a version such as `1.4`; returns `None` for any other text.
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

/// A set of device features that SPIR-V may need.
///
/// A module declares its needs as capabilities, and a driver lists the device's features among its
/// extensions. Capabilities that every driver supports, such as 64-bit integers, do not count as
/// features.
///
/// Sources: SPIR-V specification 1.6, "Capability"; OpenCL SPIR-V Environment Specification 3.0,
/// "Capabilities" and the extensions that allow more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct SpirvFeatures(
    /// A bit for each feature in the set, in the order of this crate's table.
    pub u16,
);

/// A feature. The table lists the features in the order of their bits.
struct Feature {
    /// The feature's name in the names of devices that lack it, such as `float64` in
    /// `spirv64:float64-`.
    name: &'static str,
    /// The text for messages: the feature as kernels use it, such as `double`.
    words: &'static str,
    /// The capability's number and name.
    capability: (u32, &'static str),
    /// The extension that drivers list for the feature.
    extension: &'static str,
}

const FEATURES: [Feature; 6] = [
    Feature {
        name: "float64",
        words: "double",
        capability: (10, "Float64"),
        extension: "cl_khr_fp64",
    },
    Feature {
        name: "float16",
        words: "half",
        capability: (9, "Float16"),
        extension: "cl_khr_fp16",
    },
    Feature {
        name: "atomics64",
        words: "64-bit atomics",
        capability: (12, "Int64Atomics"),
        extension: "cl_khr_int64_base_atomics",
    },
    Feature {
        name: "ballot",
        words: "warp votes",
        capability: (64, "GroupNonUniformBallot"),
        extension: "cl_khr_subgroup_ballot",
    },
    Feature {
        name: "shuffle",
        words: "warp shuffles",
        capability: (65, "GroupNonUniformShuffle"),
        extension: "cl_khr_subgroup_shuffle",
    },
    Feature {
        name: "shuffle-relative",
        words: "warp shuffles by a distance",
        capability: (66, "GroupNonUniformShuffleRelative"),
        extension: "cl_khr_subgroup_shuffle_relative",
    },
];

impl SpirvFeatures {
    /// All features.
    pub(crate) const ALL: Self = Self((1 << FEATURES.len()) - 1);

    /// Returns the features of a device with these space-separated extensions
    /// (`CL_DEVICE_EXTENSIONS`).
    #[inline]
    pub fn of_extensions(extensions: &str) -> Self {
        let mut features = 0;
        for (bit, feature) in FEATURES.iter().enumerate() {
            if extensions.split_whitespace().any(|name| name == feature.extension) {
                features |= 1 << bit;
            }
        }
        Self(features)
    }

    /// Returns the feature that a capability declares; the empty set if there is none.
    pub(crate) fn of_capability(capability: u32) -> Self {
        let bit = FEATURES.iter().position(|feature| feature.capability.0 == capability);
        Self(bit.map_or(0, |bit| 1 << bit))
    }

    /// Returns the set with the feature of this name; `None` if there is no such feature.
    #[inline]
    pub(crate) fn named(name: &str) -> Option<Self> {
        FEATURES.iter().position(|feature| feature.name == name).map(|bit| Self(1 << bit))
    }

    /// Returns the union of both sets.
    #[must_use]
    pub(crate) const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the features in this set that are not in the other.
    #[must_use]
    pub(crate) const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether the set is empty.
    pub(crate) const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Prints each feature of the set with `print`, separated by `between`.
    fn each(
        self,
        f: &mut fmt::Formatter<'_>,
        between: &str,
        print: impl Fn(&mut fmt::Formatter<'_>, &Feature) -> fmt::Result,
    ) -> fmt::Result {
        let mut before = "";
        for (bit, feature) in FEATURES.iter().enumerate() {
            if self.0 & 1 << bit != 0 {
                f.write_str(before)?;
                print(f, feature)?;
                before = between;
            }
        }
        Ok(())
    }

    /// Prints the features as in the name of a device that lacks them, such as `:float64-`.
    pub(crate) fn write_lacking(self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.each(f, "", |f, feature| write!(f, ":{}-", feature.name))
    }
}

/// Prints each feature as kernels use it, with its capability, as in `double (capability Float64)`.
/// Features from a different version of this crate are printed as bits.
impl fmt::Display for SpirvFeatures {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.each(f, " and ", |f, Feature { words, capability: (_, name), .. }| {
            write!(f, "{words} (capability {name})")
        })?;
        let unknown = self.without(Self::ALL);
        if unknown.is_empty() {
            return Ok(());
        }
        let between = if unknown == *self { "" } else { " and " };
        write!(
            f,
            "{between}features that this version of offload-format does not know ({:#x})",
            unknown.0
        )
    }
}
