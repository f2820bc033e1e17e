//! Joins several fatbins into one.

use super::{HEADER_SIZE, MAGIC, NvFatbin, VERSION};
use alloc::vec::Vec;

/// Returns a fatbin with the entries of all `fatbins`, unchanged and in order.
///
/// A single nvcc call for the targets of all `fatbins` writes the same bytes, except for the order
/// of the entries.
///
/// ```
/// use offload_format::nv_fatbin::{self, NvFatbin};
///
/// // A fatbin without images.
/// let empty = *b"\x50\xed\x55\xba\x01\0\x10\0\0\0\0\0\0\0\0\0";
/// let one = NvFatbin::parse(&empty).unwrap();
/// assert_eq!(nv_fatbin::join(&[one, one]), empty);
/// ```
#[inline]
pub fn join(fatbins: &[NvFatbin<'_>]) -> Vec<u8> {
    let size: u64 = fatbins.iter().map(|it| it.entry_bytes().len() as u64).sum();
    let mut joined = MAGIC.to_vec();
    joined.extend(VERSION.to_le_bytes());
    joined.extend((HEADER_SIZE as u16).to_le_bytes());
    joined.extend(size.to_le_bytes());
    for fatbin in fatbins {
        joined.extend_from_slice(fatbin.entry_bytes());
    }
    joined
}
