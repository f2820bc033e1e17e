//! The versions of the format, and their differences.

/// The version of an offload binary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Version {
    /// One image per binary. LLVM 22 writes and reads only this version.
    V1 = 1,
    /// Any number of images, and values that may contain NULs. LLVM 23 reads this version.
    V2 = 2,
    /// Like version 2, but the content may be compressed. LLVM 24 reads this version.
    V3 = 3,
}

impl Version {
    pub(super) fn from_number(number: u32) -> Option<Self> {
        [Self::V1, Self::V2, Self::V3].into_iter().find(|version| version.number() == number)
    }

    /// Returns the version's number in the header.
    pub(crate) const fn number(self) -> u32 {
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
