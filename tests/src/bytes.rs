//! Reads and changes numbers in files.

/// Reads eight bytes at an offset as a little-endian number.
pub fn number(bytes: &[u8], at: u64) -> u64 {
    u64::from_le_bytes(bytes[at as usize..][..8].try_into().expect("eight bytes"))
}

/// Writes a number as eight little-endian bytes at an offset.
pub fn set(bytes: &mut [u8], at: usize, number: u64) {
    bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
}

/// Returns a copy of `bytes` in which `new` replaces the bytes at an offset. Bytes past the end are
/// dropped.
pub fn patched(bytes: &[u8], at: usize, new: &[u8]) -> Vec<u8> {
    let mut changed = bytes.to_vec();
    changed[at..].iter_mut().zip(new).for_each(|(old, new)| *old = *new);
    changed
}
