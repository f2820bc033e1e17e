//! Numbers in files: reads them and changes them.

/// Returns the little-endian number of eight bytes at an offset.
pub fn number(bytes: &[u8], at: u64) -> u64 {
    u64::from_le_bytes(bytes[at as usize..][..8].try_into().expect("eight bytes"))
}

/// Writes a little-endian number of eight bytes at an offset.
pub fn set(bytes: &mut [u8], at: usize, number: u64) {
    bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
}

/// Returns a copy that has other bytes at an offset; those after the end are omitted.
pub fn patched(bytes: &[u8], at: usize, new: &[u8]) -> Vec<u8> {
    let mut changed = bytes.to_vec();
    changed[at..].iter_mut().zip(new).for_each(|(old, new)| *old = *new);
    changed
}
