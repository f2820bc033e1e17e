//! Limits unpacked data, and keeps it in memory or in a file.

use crate::files::Input;
use crate::text;
use std::cell::Cell;
use std::fmt;
use std::io::{self, Read, Write};

/// The limit on the bytes unpacked from one archive, and how many bytes are left.
#[derive(Debug)]
pub(super) struct Budget {
    limit: u64,
    left: Cell<u64>,
}

/// Members with at least this many bytes are stored in an unnamed file instead of memory. The
/// system removes the file when it is closed.
const IN_MEMORY: u64 = 256 << 20;

/// The complete message about why a member is not unpacked.
#[derive(Debug)]
pub(super) struct Refused(String);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

impl Budget {
    pub(super) fn new(limit: u64) -> Self {
        Self { limit, left: Cell::new(limit) }
    }

    /// Whether `size` more bytes would exceed the limit.
    pub(super) fn is_too_small_for(&self, size: u64) -> bool {
        size > self.left.get()
    }

    /// Returns the error for an archive that exceeds the limit.
    pub(super) fn refusal(&self) -> Refused {
        let limit = text::size(self.limit);
        Refused(format!(
            "the archive unpacks to more than {limit}, so the rest is not read; use --max-size to \
             allow more"
        ))
    }

    /// Returns a reader whose bytes count towards the limit.
    pub(super) fn limited<R: Read>(&self, inner: R) -> Limited<'_, R> {
        Limited { budget: self, inner }
    }

    /// Reads to the end, and keeps the bytes in memory or in a file. `size` is the expected size; a
    /// wrong value is harmless.
    pub(super) fn keep(&self, reader: impl Read, size: u64) -> io::Result<Input> {
        keep(reader, size, IN_MEMORY)
    }
}

/// Reads to the end. Keeps fewer than `in_memory` bytes in memory, and more bytes in a file. `size`
/// is the expected size.
fn keep(mut reader: impl Read, size: u64, in_memory: u64) -> io::Result<Input> {
    let mut bytes = Vec::new();
    if size < in_memory {
        (&mut reader).take(in_memory).read_to_end(&mut bytes)?;
        if (bytes.len() as u64) < in_memory {
            return Ok(Input::of_bytes(bytes));
        }
    }
    let mut file = tempfile::tempfile().map_err(|error| no_file(&error))?;
    let mut chunk = vec![0; 1 << 16];
    file.write_all(&bytes).map_err(|error| no_file(&error))?;
    drop(bytes);
    loop {
        match reader.read(&mut chunk) {
            Ok(0) => break,
            Ok(count) => file.write_all(&chunk[..count]).map_err(|error| no_file(&error))?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Input::of_file(file)
}

fn no_file(error: &io::Error) -> io::Error {
    let folder = std::env::temp_dir();
    io::Error::other(Refused(format!(
        "cannot be unpacked into a temporary file in {}: {}; set TMPDIR to use a different folder",
        text::escaped_path(&folder),
        crate::files::os_message(error)
    )))
}

/// A reader whose bytes count towards the limit of a [`Budget`]; created by [`Budget::limited`].
#[derive(Debug)]
pub(super) struct Limited<'r, R> {
    pub(super) budget: &'r Budget,
    inner: R,
}

impl<R: Read> Read for Limited<'_, R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(out)?;
        match self.budget.left.get().checked_sub(count as u64) {
            Some(left) => self.budget.left.set(left),
            None => {
                self.budget.left.set(0);
                return Err(io::Error::other(self.budget.refusal()));
            }
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_members_go_into_a_file() {
        let content: Vec<u8> = (0..200_000u32).map(|number| number as u8).collect();
        for (claimed, in_memory) in
            [(0, 1 << 20), (1 << 20, 1 << 20), (0, 1000), (u64::MAX, 1000), (0, 200_000)]
        {
            let kept = keep(&content[..], claimed, in_memory).unwrap();
            assert!(kept.bytes() == content, "{claimed} {in_memory}");
        }
        assert_eq!(keep(&b""[..], u64::MAX, 1000).unwrap().bytes(), b"");
    }

    #[test]
    fn all_readers_share_the_budget() {
        let budget = Budget::new(10);
        assert_eq!(budget.keep(budget.limited(&[1; 6][..]), 6).unwrap().size(), 6);
        let error = budget.keep(budget.limited(&[1; 6][..]), 6).unwrap_err();
        assert!(error.get_ref().unwrap().is::<Refused>(), "{error}");
    }
}
