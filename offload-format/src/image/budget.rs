//! A limit for the work that a file may cause.

use crate::{Error, ErrorKind, Result};

/// The maximum number of steps for each byte of the file. Files from compilers need less than one
/// step for each byte.
const PER_BYTE: u64 = 16;

/// The maximum and the remaining number of steps in the search for kernels. If tables refer to each
/// other in an unusual order, the search needs more steps than the tables have rows. A file that
/// exceeds the limit is refused.
#[derive(Debug, Clone, Copy)]
pub(super) struct Budget {
    allowed: u64,
    left: u64,
}

impl Budget {
    pub(super) fn for_file(data: &[u8]) -> Self {
        let allowed = PER_BYTE.saturating_mul(data.len() as u64);
        Self { allowed, left: allowed }
    }

    pub(super) fn spend(&mut self, steps: u64) -> Result<()> {
        let need = self.allowed.saturating_add(1);
        let limit = Error::new(
            ErrorKind::LimitExceeded { need, limit: self.allowed },
            "search for kernels",
            0,
        );
        self.left = self.left.checked_sub(steps).ok_or(limit)?;
        Ok(())
    }
}
