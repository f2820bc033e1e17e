//! Content hashes: SipHash-1-3 with 128 bits and a zero key. They name things and notice change; they are no protection
//! against somebody who wants two things to have one name.

use siphasher::sip128::{Hasher128, SipHasher13};
use std::fmt;
use std::fs::File;
use std::hash::Hasher;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// Bytes of a part of a file.
const PART: u64 = 16 << 20;

/// A hash, printed as 32 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ContentHash(u128);

impl ContentHash {
    /// Of a list of strings or byte strings. Where one ends counts: `["ab"]` and `["a", "b"]` differ.
    pub(crate) fn of_parts<T: AsRef<[u8]>>(parts: impl IntoIterator<Item = T>) -> Self {
        let mut hasher = SipHasher13::new();
        for part in parts {
            hasher.write(&(part.as_ref().len() as u64).to_le_bytes());
            hasher.write(part.as_ref());
        }
        Self(hasher.finish128().as_u128())
    }

    /// Of a file's bytes: of all of them, or, of a large file, of the hashes of its parts, which are made beside each other.
    pub(crate) fn of_file(path: &Path) -> io::Result<Self> {
        let size = File::open(path)?.metadata()?.len();
        if size <= PART {
            return Self::of_part(path, 0);
        }
        let parts = size.div_ceil(PART);
        let next = AtomicU64::new(0);
        let work = || -> io::Result<Vec<(u64, Self)>> {
            let mut hashes = Vec::new();
            loop {
                match next.fetch_add(1, Ordering::Relaxed) {
                    part if part < parts => hashes.push((part, Self::of_part(path, part)?)),
                    _ => return Ok(hashes),
                }
            }
        };
        let threads = thread::available_parallelism().map_or(1, usize::from).min(4);
        let mut hashes = thread::scope(|scope| {
            let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            let hashes = threads.into_iter().map(|thread| thread.join().expect("hashing does not panic"));
            hashes.collect::<io::Result<Vec<_>>>()
        })?
        .concat();
        hashes.sort_unstable();
        Ok(Self::of_parts(hashes.iter().map(|(_, hash)| hash.0.to_le_bytes())))
    }

    fn of_part(path: &Path, number: u64) -> io::Result<Self> {
        let mut hasher = SipHasher13::new();
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(number * PART))?;
        let mut file = file.take(PART);
        let mut buffer = vec![0; 1 << 16];
        loop {
            match file.read(&mut buffer)? {
                0 => return Ok(Self(hasher.finish128().as_u128())),
                read => hasher.write(&buffer[..read]),
            }
        }
    }

    /// Reads what `Display` wrote.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        (text.len() == 32).then_some(())?;
        u128::from_str_radix(text, 16).ok().map(Self)
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}
