//! Content hashes: SipHash-1-3 with 128 bits and a zero key. They name things and notice change; they are no protection
//! against somebody who wants two things to have one name.

use siphasher::sip128::{Hasher128, SipHasher13};
use std::fmt;
use std::fs::File;
use std::hash::Hasher;
use std::io::{self, Read};
use std::path::Path;

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

    /// Of a file's bytes.
    pub(crate) fn of_file(path: &Path) -> io::Result<Self> {
        let mut hasher = SipHasher13::new();
        let mut file = File::open(path)?;
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
