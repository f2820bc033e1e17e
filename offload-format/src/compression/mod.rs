//! Compression methods, and decompression that stops where the caller has what it wants.
//!
//! Compressed bundles, offload binaries of version 3 and NVIDIA's fatbins hold zlib streams
//! (RFC 1950) and zstd frames (RFC 8878). Without the features `zlib` and `zstd` such containers
//! can be listed and not opened: what needs a method that was not built in ends in
//! [`ErrorKind::NotBuiltIn`].
//!
//! Every call that decompresses takes a limit in bytes. It holds for what comes out and for the
//! decoder's window, rounded up to a power of two, each by itself: no buffer that a hostile file
//! asks for is larger.

// Each method's module has the same functions; what stands in for one that is not built in refuses
// in all of them.
mod decompressor;
#[cfg(not(all(feature = "zlib", feature = "zstd")))]
mod disabled;
mod method;
#[cfg(feature = "read")]
mod whole;
#[cfg(feature = "zlib")]
mod zlib;
#[cfg(feature = "zstd")]
mod zstd;

#[cfg(not(feature = "zlib"))]
use disabled as zlib;
#[cfg(not(feature = "zstd"))]
use disabled as zstd;

pub use decompressor::Decompressor;
pub use method::Method;
#[cfg(feature = "read")]
pub use whole::{compress, decompress};
#[cfg(feature = "read")]
pub(crate) use whole::{decompress_behind, decompress_part};

use crate::{Error, ErrorKind};

/// Bytes that one step of a stream read and wrote, and whether the stream ended with it.
struct Step {
    read: usize,
    written: usize,
    ended: bool,
}

/// A stream's method, and its name and place for error messages.
#[derive(Debug, Clone, Copy)]
struct Context {
    method: Method,
    what: &'static str,
    at: u64,
}

impl Context {
    fn damaged(&self, reason: &'static str) -> Error {
        Error::new(ErrorKind::Compression { reason }, self.what, self.at)
    }

    #[cfg(feature = "read")]
    fn too_much(&self, need: u64, limit: u64) -> Error {
        Error::new(ErrorKind::LimitExceeded { need, limit }, self.what, self.at)
    }
}
