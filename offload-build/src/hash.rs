//! Content hashes: SipHash-1-3 with 128 bits and a zero key. They name things and notice change; they are no protection
//! against somebody who wants two things to have one name.

use siphasher::sip128::{Hasher128, SipHasher13};
use std::fmt;
use std::fs::File;
use std::hash::Hasher;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::thread;

/// Bytes of a part of a file.
const PART: u64 = 16 << 20;

/// A hash, printed as 32 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ContentHash(u128);

impl ContentHash {
    /// Of a list of strings, as [`Parts`] has it.
    pub(crate) fn of_parts(parts: &[&str]) -> Self {
        let mut hash = Parts::default();
        for part in parts {
            hash.add(part);
        }
        hash.finish()
    }

    /// Of a file's bytes: of all of them, or, of a large file, of the hashes of its parts, which are made beside each other.
    pub(crate) fn of_file(path: &Path) -> io::Result<Self> {
        let size = File::open(path)?.metadata()?.len();
        if size <= PART {
            return Self::of_part(path, 0);
        }
        let mut hashes = vec![Self(0); size.div_ceil(PART) as usize];
        let threads = thread::available_parallelism().map_or(1, usize::from).min(4);
        let share = hashes.len().div_ceil(threads);
        thread::scope(|scope| -> io::Result<()> {
            let mut running = Vec::new();
            for (number, hashes) in hashes.chunks_mut(share).enumerate() {
                running.push(scope.spawn(move || -> io::Result<()> {
                    for (hash, part) in hashes.iter_mut().zip(number * share..) {
                        *hash = Self::of_part(path, part as u64)?;
                    }
                    Ok(())
                }));
            }
            for thread in running {
                thread.join().expect("hashing does not panic")?;
            }
            Ok(())
        })?;
        let mut whole = Parts::default();
        for hash in hashes {
            whole.add_bytes(&hash.0.to_le_bytes());
        }
        Ok(whole.finish())
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

/// The hash of a list that is put in part by part. Where one ends counts: `["ab"]` and `["a", "b"]` differ.
#[derive(Default)]
pub(crate) struct Parts(SipHasher13);

impl Parts {
    pub(crate) fn add(&mut self, part: &str) {
        self.add_bytes(part.as_bytes());
    }

    fn add_bytes(&mut self, part: &[u8]) {
        self.0.write(&(part.len() as u64).to_le_bytes());
        self.0.write(part);
    }

    pub(crate) fn finish(&self) -> ContentHash {
        ContentHash(self.0.finish128().as_u128())
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}
