//! LZ4 decompression: the block format and the frame format 1.6 around it. Checksums are skipped.
//!
//! This crate has its own decoder because lz4_flex 0.11 allocates all bytes that a header promises
//! before it decodes. In a file of 100 bytes, a header can promise 4 GiB.

use crate::reader::Reader;
use alloc::vec::Vec;

/// A result whose error is the reason why bytes cannot be decompressed.
type Result<T> = core::result::Result<T, &'static str>;

const ENDS_EARLY: &str = "the stream ends early";
const TOO_LONG: &str = "more bytes come out than its size says";

const FRAME_MAGIC: u32 = 0x184d_2204;
const BLOCK_IS_STORED: u32 = 1 << 31;

/// The length of the shortest match; a token contains a match's length minus this value.
const SHORTEST_MATCH: u64 = 4;

/// Decompresses one block to at most `size` bytes. Allocates little more than the output needs.
pub(super) fn block(input: &[u8], size: u64) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    append_block(input, size, &mut out)?;
    Ok(out)
}

/// Decompresses one frame, which must fill all of `input`, to at most `size` bytes.
pub(super) fn frame(input: &[u8], size: u64) -> Result<Vec<u8>> {
    let mut input = Input { reader: Reader::new(input), at: 0 };
    if input.u32()? != FRAME_MAGIC {
        return Err("no LZ4 frame");
    }
    let flags = input.u8()?;
    let has = |bit: u8| u64::from(flags >> bit & 1);
    if flags >> 6 != 1 || has(0) != 0 {
        return Err("an LZ4 frame of another version, or with a dictionary");
    }
    // Skips the size of the largest block, the content size if there is one, and the checksum of
    // the header.
    input.bytes(1 + 8 * has(3) + 1)?;
    let mut out = Vec::new();
    loop {
        let block = input.u32()?;
        if block == 0 {
            break;
        }
        let bytes = input.bytes((block & !BLOCK_IS_STORED).into())?;
        match block & BLOCK_IS_STORED {
            0 => append_block(bytes, size, &mut out)?,
            _ => append(bytes, size, &mut out)?,
        }
        input.bytes(4 * has(4))?;
    }
    input.bytes(4 * has(2))?;
    if input.is_at_end() { Ok(out) } else { Err("something follows the stream") }
}

/// Decompresses a block and appends the output to `out`, which may have `size` bytes at most. A
/// block consists of sequences, each with literals and a match; the last sequence has only
/// literals. Matches may refer to bytes of earlier blocks.
fn append_block(input: &[u8], size: u64, out: &mut Vec<u8>) -> Result<()> {
    let mut input = Input { reader: Reader::new(input), at: 0 };
    loop {
        let token = input.u8()?;
        let literals = input.length(token >> 4)?;
        append(input.bytes(literals)?, size, out)?;
        if input.is_at_end() {
            return Ok(());
        }
        let distance = usize::from(u16::from_le_bytes([input.u8()?, input.u8()?]));
        let length = input.length(token & 15)?.saturating_add(SHORTEST_MATCH);
        repeat(distance, length, size, out)?;
    }
}

fn append(bytes: &[u8], size: u64, out: &mut Vec<u8>) -> Result<()> {
    if bytes.len() as u64 > size.saturating_sub(out.len() as u64) {
        return Err(TOO_LONG);
    }
    out.extend_from_slice(bytes);
    Ok(())
}

/// Appends a copy of the `length` bytes that start `distance` bytes before the end of `out`. If
/// `length` exceeds `distance`, the bytes repeat.
fn repeat(distance: usize, length: u64, size: u64, out: &mut Vec<u8>) -> Result<()> {
    if length > size.saturating_sub(out.len() as u64) {
        return Err(TOO_LONG);
    }
    let start = out
        .len()
        .checked_sub(distance)
        .filter(|_| distance > 0)
        .ok_or("a match from before the start")?;
    let mut left = usize::try_from(length).map_err(|_| TOO_LONG)?;
    while left > 0 {
        // The bytes from `start` on are always a whole number of repetitions, so all of them can be
        // copied.
        let piece = left.min(out.len() - start);
        out.extend_from_within(start..start + piece);
        left -= piece;
    }
    Ok(())
}

struct Input<'data> {
    reader: Reader<'data>,
    at: u64,
}

impl<'data> Input<'data> {
    fn bytes(&mut self, size: u64) -> Result<&'data [u8]> {
        let bytes = self.reader.bytes(self.at, size, "LZ4 stream").map_err(|_| ENDS_EARLY)?;
        self.at += size;
        Ok(bytes)
    }

    fn u8(&mut self) -> Result<u8> {
        self.bytes(1).map(|bytes| bytes[0])
    }

    fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes([self.u8()?, self.u8()?, self.u8()?, self.u8()?]))
    }

    /// Returns a length whose first part, `bits`, is four bits of a token. If they have the value
    /// 15, bytes of the input are added, up to and including the first one that is not 255.
    fn length(&mut self, bits: u8) -> Result<u64> {
        let mut length = u64::from(bits);
        let mut goes_on = bits == 15;
        while goes_on {
            let byte = self.u8()?;
            length = length.saturating_add(byte.into());
            goes_on = byte == 255;
        }
        Ok(length)
    }

    fn is_at_end(&self) -> bool {
        self.at == self.reader.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

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
