//! Compression methods, and decompression that stops when the caller has enough bytes.
//!
//! Compressed bundles, offload binaries of version 3 and NVIDIA's fatbins contain zlib streams (RFC
//! 1950) and zstd frames (RFC 8878). Without the features `zlib` and `zstd`, such containers can be
//! listed but not opened: decompression returns [`ErrorKind::NotBuiltIn`].
//!
//! Every function that decompresses takes a limit in bytes, so a hostile file cannot cause a larger
//! allocation. The limit applies to the result and, separately, to the decoder's window. For the
//! window, the limit is rounded up to a power of two.

// The methods' modules share one interface. `disabled` replaces a method that is not built in, and
// returns errors.
mod decompressor;
#[cfg(not(all(feature = "zlib", feature = "zstd")))]
mod disabled;
mod method;
#[cfg(feature = "packs")]
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
#[cfg(feature = "object")]
pub(crate) use whole::zstd_frame;
#[cfg(feature = "packs")]
pub use whole::{compress, decompress};

use crate::{Error, ErrorKind};

/// How many bytes one step of a stream read and wrote, and whether the stream ended.
struct Step {
    read: usize,
    written: usize,
    ended: bool,
}

/// A stream's description for errors: its method, its name (`what`), and its offset in the file
/// (`at`).
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

    #[cfg(feature = "packs")]
    fn too_much(&self, need: u64, limit: u64) -> Error {
        Error::new(ErrorKind::LimitExceeded { need, limit }, self.what, self.at)
    }
}
