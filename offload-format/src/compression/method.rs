//! The compression methods.

use core::fmt;

/// A compression method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    /// A zlib stream.
    Zlib,
    /// A zstd frame.
    Zstd,
}

impl Method {
    /// The first bytes of a zstd frame, which never start a zlib stream.
    const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

    /// Detects the method from the first bytes of the stream, for containers that do not store the
    /// method.
    pub fn of_stream(stream: &[u8]) -> Self {
        if stream.starts_with(&Self::ZSTD_MAGIC) { Method::Zstd } else { Method::Zlib }
    }

    /// Returns the method's number in compressed bundles.
    pub const fn number(self) -> u16 {
        match self {
            Method::Zlib => 0,
            Method::Zstd => 1,
        }
    }

    /// Returns the method with this number in compressed bundles.
    pub const fn from_number(number: u16) -> Option<Self> {
        match number {
            0 => Some(Method::Zlib),
            1 => Some(Method::Zstd),
            _ => None,
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Method::Zlib => "zlib",
            Method::Zstd => "zstd",
        })
    }
}
