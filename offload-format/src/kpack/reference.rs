//! A library's reference to its code objects in a kernel pack.

use crate::msgpack::{Cursor, Value};
use crate::{Error, ErrorKind, Result};
use alloc::vec::Vec;

/// The placeholder in a search path that the loader replaces with the device's target ID.
pub const GFX_ARCH: &str = "@GFXARCH@";

const WHAT: &str = "kpack reference";

/// The maximum size in bytes of a reference that HIP's runtime reads.
const MOST: usize = 64 * 1024;

/// The maximum number of paths in a reference, because each path is a file to try.
const MOST_PATHS: usize = 64;

/// The section `.rocm_kpack_ref` (`.kpackrf` in PE images), which refers to the code objects of a
/// program or library. The section contains a MessagePack map with `kernel_name` and the array
/// `kpack_search_paths`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KpackReference<'data> {
    /// The name of this program or library in the tables of the `.kpack` files.
    pub kernel_name: &'data str,
    /// Paths of `.kpack` files, relative to the folder of the program or library; [`GFX_ARCH`] is
    /// the placeholder for the processor.
    pub search_paths: Vec<&'data str>,
}

impl<'data> KpackReference<'data> {
    /// Reads a reference. Bytes after the reference are ignored.
    ///
    /// Like HIP's runtime, returns an error if the reference is malformed, or has no name or no
    /// path. Unlike HIP's runtime, returns an error if the reference has more than 64 paths.
    pub fn parse(section: &'data [u8]) -> Result<Self> {
        let mut cursor = Cursor::new(section.get(..MOST).unwrap_or(section), WHAT);
        let (mut name, mut search_paths) = (None, Vec::new());
        for _ in 0..cursor.map(WHAT)? {
            match cursor.str("key of the kpack reference")? {
                "kernel_name" => name = Some(cursor.str("kernel_name of the kpack reference")?),
                "kpack_search_paths" => {
                    for _ in 0..cursor.array("kpack_search_paths of the kpack reference")? {
                        // Skip values that are not text, as HIP's runtime does.
                        match cursor.clone().next()? {
                            Value::Str(_) if search_paths.len() == MOST_PATHS => {
                                let what = "kpack reference (more than 64 paths)";
                                return Err(Error::new(ErrorKind::Malformed, what, 0));
                            }
                            Value::Str(_) => {
                                search_paths.push(cursor.str("path of the kpack reference")?)
                            }
                            _ => cursor.skip()?,
                        }
                    }
                }
                _ => cursor.skip()?,
            }
        }
        match name {
            Some(kernel_name) if !search_paths.is_empty() => Ok(Self { kernel_name, search_paths }),
            _ => Err(Error::new(
                ErrorKind::Malformed,
                "kpack reference (without a name or a path)",
                0,
            )),
        }
    }
}
