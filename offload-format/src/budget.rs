//! A limit on the work or the memory that a file may cause. Parts of a file may share bytes, so
//! without a limit, reading a small file could take a very long time.

use crate::{Error, ErrorKind, Result};

/// How many more bytes or steps reading a file may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget {
    left: u64,
    what: &'static str,
}

impl Budget {
    /// Returns a budget of `per_byte` for each of `size` bytes. Errors report `what`.
    pub(crate) fn new(size: u64, per_byte: u64, what: &'static str) -> Self {
        Self { left: per_byte.saturating_mul(size), what }
    }

    pub(crate) fn spend(&mut self, steps: u64) -> Result<()> {
        let exceeded = Error::new(ErrorKind::Malformed, self.what, 0);
        self.left = self.left.checked_sub(steps).ok_or(exceeded)?;
        Ok(())
    }
}
