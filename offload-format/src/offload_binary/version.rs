//! Versions, and their differences.

/// The version of an offload binary.
///
/// The format and its sources are on the [module's page](super).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Version {
    /// One image in each binary. LLVM 22 writes this version, and reads no other.
    V1 = 1,
    /// Any number of images, and values that may have NULs.
    V2 = 2,
    /// Like version 2, but it may be compressed. LLVM 23 and later.
    V3 = 3,
}

impl Version {
    pub(super) fn from_number(number: u32) -> Option<Self> {
        [Self::V1, Self::V2, Self::V3].into_iter().find(|version| version.number() == number)
    }

    /// The number that the header has for it.
    pub const fn number(self) -> u32 {
        self as u32
    }

    pub(super) const fn header_size(self) -> u64 {
        match self {
            Self::V1 | Self::V2 => 32,
            Self::V3 => 40,
        }
    }

    pub(super) const fn string_pair_size(self) -> u64 {
        match self {
            Self::V1 => 16,
            Self::V2 | Self::V3 => 24,
        }
    }
}
