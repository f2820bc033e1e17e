//! Writes compressed bundles.

use super::{Header, MAGIC};
use crate::compression::{self, Method};
use crate::{Error, ErrorKind, Result};
use alloc::vec::Vec;

/// A header version that this crate can write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Version {
    /// 32-bit sizes; read by LLVM 19 and later, and by ROCm 6.2 and later.
    V2 = 2,
    /// 64-bit sizes; LLVM 22 writes this version.
    V3 = 3,
}

impl Version {
    /// Returns the version with this number, if this crate can write it.
    pub const fn from_number(number: u64) -> Option<Self> {
        match number {
            2 => Some(Version::V2),
            3 => Some(Version::V3),
            _ => None,
        }
    }

    /// Returns the number in the header.
    pub const fn number(self) -> u16 {
        self as u16
    }
}

/// The compression settings of a new bundle. [`Default`] matches `clang-offload-bundler` 22:
/// version 3, zstd, level 3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompressOptions {
    /// The version of the header.
    pub version: Version,
    /// The compression method.
    pub method: Method,
    /// The compression level on the method's scale; `None` is the method's default.
    pub level: Option<i32>,
}

impl Default for CompressOptions {
    fn default() -> Self {
        Self { version: Version::V3, method: Method::Zstd, level: None }
    }
}

/// Compresses a bundle, which may be a binary bundle or a text bundle.
///
/// Returns an error if the method was not built in, or if a size does not fit into the 32 bits of
/// version 2.
pub fn compress(bundle: &[u8], options: &CompressOptions) -> Result<Vec<u8>> {
    // Refuse a bundle that is too large before compressing it.
    header(options, bundle.len() as u64, 0, 0)?;
    let payload = compression::compress(options.method, options.level, bundle)?;
    let mut out = header(options, bundle.len() as u64, payload.len() as u64, hash(bundle))?;
    out.extend_from_slice(&payload);
    Ok(out)
}

/// Returns the header alone, for callers that compress and hash in parallel. `uncompressed_size` is
/// the bundle's size in bytes, `payload_size` the stream's, and `hash` the bundle's [`hash`].
///
/// Returns an error if a size does not fit into the 32 bits of version 2.
pub fn header(
    options: &CompressOptions,
    uncompressed_size: u64,
    payload_size: u64,
    hash: u64,
) -> Result<Vec<u8>> {
    let number = options.version.number();
    let header = Header::of(number).expect("both versions have a header");
    let total_size = header.size + payload_size;
    let mut out = Vec::with_capacity(header.size as usize);
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&number.to_le_bytes());
    out.extend_from_slice(&options.method.number().to_le_bytes());
    let sizes = [
        (total_size, "size in a header of version 2"),
        (uncompressed_size, "uncompressed size in a header of version 2"),
    ];
    for (size, what) in sizes {
        match (header.wide, u32::try_from(size)) {
            (true, _) => out.extend_from_slice(&size.to_le_bytes()),
            (false, Ok(size)) => out.extend_from_slice(&size.to_le_bytes()),
            (false, Err(_)) => {
                let limit = ErrorKind::LimitExceeded { need: size, limit: u32::MAX.into() };
                return Err(Error::new(limit, what, out.len() as u64));
            }
        }
    }
    out.extend_from_slice(&hash.to_le_bytes());
    Ok(out)
}

/// Returns the hash of `bundle` for a compressed bundle's header: the first 8 bytes of the MD5
/// digest, little-endian.
pub fn hash(bundle: &[u8]) -> u64 {
    use md5::Digest;
    let digest: [u8; 16] = md5::Md5::digest(bundle).into();
    u64::from_le_bytes([
        digest[0], digest[1], digest[2], digest[3], digest[4], digest[5], digest[6], digest[7],
    ])
}
