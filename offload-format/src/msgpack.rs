//! The subset of MessagePack in the metadata of code objects and kernel packs
//! (<https://msgpack.org>, specification of 2013).

use crate::reader::Reader;
use crate::{Error, ErrorKind, Result};

/// A value. An array or a map is represented by its head; the items follow as separate values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Value<'data> {
    Uint(u64),
    Str(&'data [u8]),
    /// An array, followed by this many items.
    Array(u64),
    /// A map, followed by this many pairs of items.
    Map(u64),
    /// Anything else.
    Other,
}

/// A reader of consecutive values.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cursor<'data> {
    reader: Reader<'data>,
    at: u64,
    /// The name of the values, for errors.
    what: &'static str,
}

impl<'data> Cursor<'data> {
    pub(crate) fn new(data: &'data [u8], what: &'static str) -> Self {
        Self { reader: Reader::new(data), at: 0, what }
    }

    #[cfg(feature = "containers")]
    pub(crate) fn at(&self) -> u64 {
        self.at
    }

    /// Reads a value and moves past it; for an array or a map, only past its head.
    pub(crate) fn next(&mut self) -> Result<Value<'data>> {
        let what = self.what;
        let start = self.at;
        let code = self.reader.u8(start, what)?;
        // Reads a big-endian number of `size` bytes after the code, or after the previous part.
        let mut number = |size: u64| {
            let bytes = self.reader.bytes(self.at + 1, size, what)?;
            self.at += size;
            Ok::<u64, Error>(bytes.iter().fold(0, |number, &byte| number << 8 | u64::from(byte)))
        };
        let low = u64::from(code);
        // The value, and how many bytes follow its code and, if present, its number.
        let (value, size) = match code {
            0x00..=0x7f => (Value::Uint(low), 0),
            0x80..=0x8f => (Value::Map(low & 0xf), 0),
            0x90..=0x9f => (Value::Array(low & 0xf), 0),
            0xa0..=0xbf => (Value::Str(b""), low & 0x1f),
            0xc0 | 0xc2 | 0xc3 | 0xe0..=0xff => (Value::Other, 0),
            0xc4..=0xc6 => (Value::Other, number(1 << (code - 0xc4))?),
            0xc7..=0xc9 => (Value::Other, number(1 << (code - 0xc7))?.saturating_add(1)),
            0xca => (Value::Other, 4),
            0xcb => (Value::Other, 8),
            0xcc..=0xcf => (Value::Uint(number(1 << (code - 0xcc))?), 0),
            0xd0..=0xd3 => (Value::Other, 1 << (code - 0xd0)),
            0xd4..=0xd8 => (Value::Other, 1 + (1 << (code - 0xd4))),
            0xd9..=0xdb => (Value::Str(b""), number(1 << (code - 0xd9))?),
            0xdc | 0xdd => (Value::Array(number(2 << (code - 0xdc))?), 0),
            0xde | 0xdf => (Value::Map(number(2 << (code - 0xde))?), 0),
            0xc1 => return Err(Error::new(ErrorKind::Malformed, what, start)),
        };
        let bytes = self.reader.range(self.at + 1, size, start, what)?;
        self.at += 1 + size;
        Ok(if let Value::Str(_) = value { Value::Str(bytes) } else { value })
    }

    /// Moves past a value, including its items. If items are missing, reading fails at the end of
    /// the bytes, because each value has at least one byte.
    pub(crate) fn skip(&mut self) -> Result<()> {
        let mut left: u64 = 1;
        while left > 0 {
            let items = match self.next()? {
                Value::Array(items) => items,
                Value::Map(pairs) => pairs.saturating_mul(2),
                _ => 0,
            };
            left = (left - 1).saturating_add(items);
        }
        Ok(())
    }

    pub(crate) fn str(&mut self, what: &'static str) -> Result<&'data str> {
        let at = self.at;
        match self.next()? {
            Value::Str(bytes) => {
                str::from_utf8(bytes).map_err(|_| Error::new(ErrorKind::Malformed, what, at))
            }
            _ => Err(Error::new(ErrorKind::Malformed, what, at)),
        }
    }

    pub(crate) fn uint(&mut self, what: &'static str) -> Result<u64> {
        let at = self.at;
        match self.next()? {
            Value::Uint(number) => Ok(number),
            _ => Err(Error::new(ErrorKind::Malformed, what, at)),
        }
    }

    /// Reads the head of an array, and returns the number of items that follow.
    pub(crate) fn array(&mut self, what: &'static str) -> Result<u64> {
        let at = self.at;
        match self.next()? {
            Value::Array(items) => Ok(items),
            _ => Err(Error::new(ErrorKind::Malformed, what, at)),
        }
    }

    /// Reads the head of a map, and returns the number of pairs that follow.
    pub(crate) fn map(&mut self, what: &'static str) -> Result<u64> {
        let at = self.at;
        match self.next()? {
            Value::Map(pairs) => Ok(pairs),
            _ => Err(Error::new(ErrorKind::Malformed, what, at)),
        }
    }

    /// Returns an error for `what`, which is missing or wrong at the current position.
    pub(crate) fn wrong(&self, what: &'static str) -> Error {
        Error::new(ErrorKind::Malformed, what, self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn every_form_is_read_and_skipped() {
        let forms: [(&[u8], Value<'_>); 20] = [
            (&[0x7f], Value::Uint(127)),
            (&[0xcc, 0xff], Value::Uint(255)),
            (&[0xcd, 1, 0], Value::Uint(256)),
            (&[0xce, 0, 1, 0, 0], Value::Uint(65536)),
            (&[0xcf, 0, 0, 0, 1, 0, 0, 0, 0], Value::Uint(1 << 32)),
            (b"\xa2ab", Value::Str(b"ab")),
            (b"\xd9\x01a", Value::Str(b"a")),
            (b"\xda\0\x01a", Value::Str(b"a")),
            (b"\xdb\0\0\0\x01a", Value::Str(b"a")),
            (&[0x92, 1, 2], Value::Array(2)),
            (&[0xdc, 0, 1, 0xc0], Value::Array(1)),
            (&[0xdd, 0, 0, 0, 1, 0xc2], Value::Array(1)),
            (&[0x81, 1, 2], Value::Map(1)),
            (&[0xde, 0, 1, 1, 2], Value::Map(1)),
            (&[0xdf, 0, 0, 0, 1, 1, 2], Value::Map(1)),
            (&[0xff], Value::Other),
            (&[0xd1, 0xff, 0xff], Value::Other),
            (&[0xcb, 0, 0, 0, 0, 0, 0, 0, 0], Value::Other),
            (&[0xc5, 0, 2, 9, 9], Value::Other),
            (&[0xc7, 2, 9, 9, 9], Value::Other),
        ];
        for (bytes, value) in forms {
            assert_eq!(Cursor::new(bytes, "test").next(), Ok(value), "{bytes:x?}");
            let mut cursor = Cursor::new(bytes, "test");
            assert_eq!((cursor.skip(), cursor.at), (Ok(()), bytes.len() as u64), "{bytes:x?}");
            assert!(Cursor::new(&bytes[..bytes.len() - 1], "test").skip().is_err(), "{bytes:x?}");
        }
    }

    #[test]
    fn depth_and_counts_cost_nothing_that_is_not_there() {
        let mut deep = vec![0x91; 1 << 20];
        assert!(Cursor::new(&deep, "test").skip().is_err());
        deep.push(0xc0);
        assert!(Cursor::new(&deep, "test").skip().is_ok());
        assert!(Cursor::new(&[0xdf, 0xff, 0xff, 0xff, 0xff], "test").skip().is_err());
        assert!(Cursor::new(&[0xdb, 0xff, 0xff, 0xff, 0xff], "test").next().is_err());
    }
}
