//! A limit on the work that a file may cause.

use crate::{Error, ErrorKind, Result};

/// The maximum number of steps per byte of the file. Files from compilers need less than one step
/// per byte.
const PER_BYTE: u64 = 16;

/// How many more steps the search for kernels may take. If tables refer to each other in an unusual
/// order, the search takes more steps than the tables have rows, so a file that needs too many
/// steps is refused.
#[derive(Debug, Clone, Copy)]
pub(super) struct Budget {
    left: u64,
}

impl Budget {
    pub(super) fn for_file(data: &[u8]) -> Self {
        Self { left: PER_BYTE.saturating_mul(data.len() as u64) }
    }

    pub(super) fn spend(&mut self, steps: u64) -> Result<()> {
        let too_long =
            Error::new(ErrorKind::Malformed, "image (finding its kernels would take too long)", 0);
        self.left = self.left.checked_sub(steps).ok_or(too_long)?;
        Ok(())
    }
}
