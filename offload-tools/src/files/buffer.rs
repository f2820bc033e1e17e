//! Buffers for large amounts of data.

use memmap2::MmapMut;
use std::io;
use std::ops::{Deref, DerefMut};

/// A zeroed buffer of any size, in the system's largest memory pages, because requesting a small
/// page takes longer than filling it.
#[derive(Debug)]
pub struct Buffer(MmapMut);

impl Buffer {
    /// Creates a buffer of `size` bytes.
    pub fn new(size: usize) -> io::Result<Self> {
        let map = MmapMut::map_anon(size)?;
        // If the system refuses large pages, small pages work, too.
        #[cfg(target_os = "linux")]
        let _ = map.advise(memmap2::Advice::HugePage);
        Ok(Self(map))
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}
