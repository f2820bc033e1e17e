//! Computes 128-bit content hashes with SipHash-1-3 and a zero key. A file's hash is computed from
//! the digests of its blocks. The hashes identify contents and detect changes, but do not protect
//! against deliberate collisions.

use siphasher::sip128::{Hasher128, SipHasher13};
use std::fmt;
use std::fs::File;
use std::hash::Hasher;
use std::io::{self, Read};
use std::path::Path;

/// The size of a file's blocks in bytes.
const BLOCK: usize = 4096;

/// How many blocks to read at once. Most files are small, but the buffer is cleared for each file.
/// With 64 blocks, clearing took a quarter of the instructions in a build script with nothing to
/// do.
const BLOCKS: usize = 8;

/// A hash, printed as 32 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ContentHash(u128);

impl ContentHash {
    /// Returns the hash of a list of strings, as [`Parts`] computes it.
    pub fn of_parts(parts: &[&str]) -> Self {
        let mut hash = Parts::default();
        for part in parts {
            hash.add(part);
        }
        hash.finish()
    }

    pub fn of_file(path: &Path) -> io::Result<Self> {
        Self::of_bytes(File::open(path)?)
    }

    pub fn of_bytes(mut file: impl Read) -> io::Result<Self> {
        let mut buffer = vec![0; BLOCKS * BLOCK];
        let mut hasher = SipHasher13::new();
        let mut size = 0;
        loop {
            let mut filled = 0;
            while filled < buffer.len() {
                match file.read(&mut buffer[filled..])? {
                    0 => break,
                    read => filled += read,
                }
            }
            size += filled as u64;
            // Pad the last block with zeros. The size is also hashed, so trailing zeros in a file
            // still count.
            let blocks = filled.div_ceil(BLOCK);
            buffer[filled..blocks * BLOCK].fill(0);
            for block in &buffer.as_chunks().0[..blocks] {
                hasher.write(&digest(block).to_le_bytes());
            }
            if filled < buffer.len() {
                hasher.write(&size.to_le_bytes());
                return Ok(Self(value(&hasher)));
            }
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        (text.len() == 32).then_some(())?;
        u128::from_str_radix(text, 16).ok().map(Self)
    }
}

/// The hash of a list, computed part by part. The hash depends on where each part ends, so `["ab"]`
/// and `["a", "b"]` have different hashes.
#[derive(Default)]
pub struct Parts(SipHasher13);

impl Parts {
    pub fn add(&mut self, part: &str) {
        self.0.write(&(part.len() as u64).to_le_bytes());
        self.0.write(part.as_bytes());
    }

    pub fn finish(&self) -> ContentHash {
        ContentHash(value(&self.0))
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// Returns the current value of a hasher. Does not use the result's method `as_u128`, because it
/// swaps bytes on big-endian hosts (siphasher 1.0.4).
fn value(hasher: &SipHasher13) -> u128 {
    hasher.finish128().into()
}

/// Returns the 16-byte digest of a block: adds a key to each word, multiplies the words in pairs,
/// and sums the products.
///
/// This is NH, the first layer of UMAC (RFC 4418, section 5.2), with 64-bit words. Any two blocks
/// have the same digest for at most one in 2^64 choices of the keys. Cargo compiles build scripts
/// without optimization, where this function reads ten times as many bytes per second as SipHash.
fn digest(block: &[u8; BLOCK]) -> u128 {
    let words = block.as_chunks().0;
    let mut sum = 0_u128;
    let mut at = 0;
    // Use an index, because without optimization, each iterator step is a function call.
    while at < KEYS.len() {
        let (word, key) = (u128::from_le_bytes(words[at]), KEYS[at]);
        let low = (word as u64).wrapping_add(key as u64);
        let high = ((word >> 64) as u64).wrapping_add((key >> 64) as u64);
        sum = sum.wrapping_add(low as u128 * high as u128);
        at += 1;
    }
    sum
}

/// Each value contains two 64-bit keys. The keys are the output of SplitMix64 (Steele, Lea and
/// Flood, OOPSLA 2014) with the seed 0.
static KEYS: [u128; BLOCK / 16] = {
    let mut keys = [0; BLOCK / 16];
    let mut at = 0;
    while at < keys.len() {
        let number = 2 * at as u64;
        keys[at] = split_mix(number + 1) as u128 | (split_mix(number + 2) as u128) << 64;
        at += 1;
    }
    keys
};

const fn split_mix(number: u64) -> u64 {
    let state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let state = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let state = (state ^ state >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ state >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(bytes: &[u8]) -> ContentHash {
        ContentHash::of_bytes(bytes).unwrap()
    }

    #[test]
    fn every_byte_and_the_size_count() {
        let sizes = [
            0,
            1,
            15,
            16,
            BLOCK - 1,
            BLOCK,
            BLOCK + 1,
            BLOCKS * BLOCK - 1,
            BLOCKS * BLOCK,
            BLOCKS * BLOCK + 1,
        ];
        let mut seen: Vec<ContentHash> = sizes.iter().map(|size| hash(&vec![0; *size])).collect();
        let mut bytes = vec![0; 2 * BLOCK + 5];
        for at in 0..bytes.len() {
            bytes[at] = 1;
            seen.push(hash(&bytes));
            bytes[at] = 0;
        }
        let all = seen.len();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), all);
    }

    /// Compares a hash with that of an independent implementation, written from the papers.
    #[test]
    fn the_hash_does_not_change() {
        let bytes: Vec<u8> = (0..60_000_u32).map(|number| ((number * number) >> 7) as u8).collect();
        assert_eq!(hash(&bytes).to_string(), "b6b3bb7052c47a1a7aaf82f1681763d8");
        assert_eq!(ContentHash::parse(&hash(&bytes).to_string()), Some(hash(&bytes)));
    }

    /// Tests a reader that returns one byte at a time, as pipes may.
    #[test]
    fn short_reads_make_no_difference() {
        struct Slow<'a>(&'a [u8]);
        impl Read for Slow<'_> {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                let some = buffer.len().min(1);
                self.0.read(&mut buffer[..some])
            }
        }
        let bytes: Vec<u8> = (0..10_000_u32).map(|number| number as u8).collect();
        assert_eq!(ContentHash::of_bytes(Slow(&bytes)).unwrap(), hash(&bytes));
    }

    #[test]
    fn the_end_of_a_part_counts() {
        assert_ne!(ContentHash::of_parts(&["ab"]), ContentHash::of_parts(&["a", "b"]));
    }
}
