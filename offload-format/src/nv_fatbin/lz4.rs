//! LZ4 decompression: blocks, and the frame format 1.6 around them. Checksums are skipped.
//!
//! `lz4_flex` decompresses the blocks. Its own frame reader is not used, because it needs `std` and
//! verifies checksums.

use alloc::vec;
use alloc::vec::Vec;
use lz4_flex::block::{DecompressError, decompress_into_with_dict};

/// A result whose error says why bytes cannot be decompressed.
type Result<T> = core::result::Result<T, &'static str>;

const ENDS_EARLY: &str = "the stream ends early";
const TOO_LONG: &str = "the decompressed content is larger than the header states";

const FRAME_MAGIC: u32 = 0x184d_2204;
const BLOCK_IS_STORED: u32 = 1 << 31;

/// The maximum number of decompressed bytes per byte of a block.
const RATIO: u64 = 255;

/// Decompresses one block to at most `size` bytes.
pub(super) fn block(input: &[u8], size: u64) -> Result<Vec<u8>> {
    let mut out = buffer(input, size);
    let filled = append_block(input, &mut out, 0)?;
    out.truncate(filled);
    Ok(out)
}

/// Decompresses one frame, which must fill all of `input`, to at most `size` bytes.
pub(super) fn frame(mut input: &[u8], size: u64) -> Result<Vec<u8>> {
    let (mut out, mut filled) = (buffer(input, size), 0);
    if word(&mut input)? != FRAME_MAGIC {
        return Err("the bytes are not an LZ4 frame");
    }
    let flags = bytes(&mut input, 1)?[0];
    let has = |bit: u8| u32::from(flags >> bit & 1);
    if flags >> 6 != 1 || has(0) != 0 {
        return Err("the LZ4 frame has an unknown version or uses a dictionary");
    }
    // Skip the maximum block size, the content size if there is one, and the header checksum.
    bytes(&mut input, 1 + 8 * has(3) + 1)?;
    loop {
        let block = word(&mut input)?;
        if block == 0 {
            break;
        }
        let content = bytes(&mut input, block & !BLOCK_IS_STORED)?;
        if block & BLOCK_IS_STORED == 0 {
            filled += append_block(content, &mut out, filled)?;
        } else {
            let end = filled + content.len();
            out.get_mut(filled..end).ok_or(TOO_LONG)?.copy_from_slice(content);
            filled = end;
        }
        bytes(&mut input, 4 * has(4))?;
    }
    bytes(&mut input, 4 * has(2))?;
    out.truncate(filled);
    if input.is_empty() { Ok(out) } else { Err("there are bytes after the stream") }
}

/// Returns a buffer for the output. Whatever size a header states, the buffer is never larger than
/// what the input can produce.
fn buffer(input: &[u8], size: u64) -> Vec<u8> {
    let size = size.min(RATIO.saturating_mul(input.len() as u64));
    vec![0; usize::try_from(size).unwrap_or(usize::MAX)]
}

/// Decompresses a block into `out`, after its first `filled` bytes, which matches may refer to.
/// Returns the number of decompressed bytes.
fn append_block(input: &[u8], out: &mut [u8], filled: usize) -> Result<usize> {
    let (earlier, rest) = out.split_at_mut(filled);
    decompress_into_with_dict(input, rest, earlier).map_err(|error| match error {
        DecompressError::OutputTooSmall { .. } => TOO_LONG,
        DecompressError::OffsetZero | DecompressError::OffsetOutOfBounds => {
            "a match refers to bytes before the start of the output"
        }
        _ => ENDS_EARLY,
    })
}

/// Takes bytes from the start of the input.
fn bytes<'data>(input: &mut &'data [u8], size: u32) -> Result<&'data [u8]> {
    let size = usize::try_from(size).map_err(|_| ENDS_EARLY)?;
    input.split_off(..size).ok_or(ENDS_EARLY)
}

fn word(input: &mut &[u8]) -> Result<u32> {
    let (word, rest) = input.split_first_chunk().ok_or(ENDS_EARLY)?;
    *input = rest;
    Ok(u32::from_le_bytes(*word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_and_overlapping_matches() {
        assert_eq!(block(b"\x30abc", 3).unwrap(), b"abc");
        // The input is two literals, then a match of nine bytes at distance 2, then one literal.
        assert_eq!(block(b"\x25ab\x02\0\x10c", 12).unwrap(), b"abababababac");
        // The input is one literal, then a match that repeats it for 4 + 15 + 255 + 2 bytes.
        assert_eq!(block(b"\x1fa\x01\0\xff\x02\0", 1000).unwrap(), vec![b'a'; 277]);
        assert_eq!(block(b"\0", 0).unwrap(), b"");
    }

    #[test]
    fn damage() {
        assert_eq!(block(b"", 9), Err(ENDS_EARLY));
        assert_eq!(block(b"\x30ab", 9), Err(ENDS_EARLY));
        assert_eq!(block(b"\x10a\x01", 9), Err(ENDS_EARLY));
        assert_eq!(block(b"\xf0\xff\xff", 9), Err(ENDS_EARLY));
        assert_eq!(block(b"\x30abc", 2), Err(TOO_LONG));
        assert_eq!(block(b"\x1fa\x01\0\xff\x02\0", 276), Err(TOO_LONG));
        assert!(block(b"\x10a\x02\0\0", 9).is_err());
        assert!(block(b"\x10a\0\0\0", 9).is_err());
    }

    #[test]
    fn frames() {
        let frame_of = |flags: u8, rest: &[u8]| [b"\x04\x22\x4d\x18", &[flags][..], rest].concat();
        let stored = |rest: &[u8]| [b"\x40\x00\x03\0\0\x80abc", rest].concat();
        assert_eq!(frame(&frame_of(0x60, &stored(b"\0\0\0\0")), 3).unwrap(), b"abc");
        // First a frame with a content checksum, then a frame whose second block has a match that
        // reaches into the first block.
        assert_eq!(frame(&frame_of(0x64, &stored(b"\0\0\0\0sums")), 3).unwrap(), b"abc");
        assert_eq!(
            frame(&frame_of(0x40, &stored(b"\x05\0\0\0\x00\x03\0\x10d\0\0\0\0")), 9).unwrap(),
            b"abcabcad"
        );
        assert_eq!(frame(&frame_of(0x60, &stored(b"")), 3), Err(ENDS_EARLY));
        assert_eq!(frame(&frame_of(0x60, &stored(b"\0\0\0\0")), 2), Err(TOO_LONG));
        assert!(frame(&frame_of(0x60, &stored(b"\0\0\0\0!")), 3).is_err());
        assert!(frame(&frame_of(0xa0, &stored(b"\0\0\0\0")), 3).is_err());
        assert!(frame(b"\x04\x22\x4d\x19\x60", 3).is_err());
    }
}
