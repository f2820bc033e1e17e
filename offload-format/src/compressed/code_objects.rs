//! Several code objects from one pass through a compressed bundle.

use super::CompressedBundle;
use super::read::STREAM;
use crate::compression::Decompressor;
use crate::reader::Reader;
use crate::{Error, ErrorKind, Result};
use alloc::borrow::Cow;
use alloc::vec::Vec;
use core::fmt;

/// The code objects of a compressed bundle, as [`CompressedBundle::code_objects`] returns them.
///
/// Asked for in the order of their offsets, one pass through the stream gives them all, and none is kept. Who goes back
/// has the whole bundle decompressed, once: no order takes more than two passes.
pub struct CodeObjects<'data> {
    bundle: CompressedBundle<'data>,
    limit: u64,
    state: State<'data>,
}

enum State<'data> {
    /// So many bytes of the bundle have been gone past.
    Stream(Decompressor<'data>, u64),
    Whole(Vec<u8>),
    Failed(Error),
}

impl<'data> CodeObjects<'data> {
    pub(super) fn new(bundle: CompressedBundle<'data>, limit: u64) -> Result<Self> {
        Ok(Self { bundle, limit, state: State::Stream(bundle.stream(limit)?, 0) })
    }

    /// The code object at `offset`, in bytes from the start of the bundle, of `size` bytes: what the entry table has.
    ///
    /// Returns an error if it has more bytes than the limit, if the decoder would need more, if the stream is damaged, or if
    /// the bundle ends before the code object does.
    pub fn read(&mut self, offset: u64, size: u64) -> Result<Cow<'_, [u8]>> {
        self.read_for(offset, size, 0)
    }

    /// The same for an entry whose offset is stored at `field`.
    pub(super) fn read_for(&mut self, offset: u64, size: u64, field: u64) -> Result<Cow<'_, [u8]>> {
        const WHAT: &str = "code object";
        let len = self.bundle.uncompressed_size();
        let outside = Error::new(ErrorKind::OutOfBounds { start: offset, size, len }, WHAT, field);
        let end = offset.checked_add(size).filter(|end| *end <= len).ok_or(outside)?;
        let kind = ErrorKind::LimitExceeded { need: size, limit: self.limit };
        let too_much = Error::new(kind, WHAT, self.bundle.payload_offset);
        let length = usize::try_from(size).ok().filter(|_| size <= self.limit).ok_or(too_much)?;
        if size == 0 {
            return Ok(Cow::Borrowed(&[]));
        }
        if matches!(&self.state, State::Stream(_, at) if *at > offset) {
            self.state = match self.bundle.decompress(self.limit) {
                Ok(whole) => State::Whole(whole),
                Err(error) => State::Failed(error),
            };
        }
        if let State::Stream(stream, at) = &mut self.state {
            let read = next(stream, offset - *at, length, too_much);
            *at = end;
            match read {
                Ok(code_object) => return code_object.map(Cow::Owned).ok_or(outside),
                Err(error) => self.state = State::Failed(error),
            }
        }
        match &self.state {
            State::Whole(whole) => Reader::new(whole).range(offset, size, field, WHAT).map(Cow::Borrowed),
            State::Failed(error) => Err(*error),
            State::Stream(..) => Err(outside),
        }
    }
}

/// Goes past `gap` bytes and returns the next `length`; `None` if the stream ends before.
fn next(stream: &mut Decompressor<'_>, gap: u64, length: usize, too_much: Error) -> Result<Option<Vec<u8>>> {
    /// Memory is written to only where bytes come: a size may be far more than the stream has.
    const STEP: usize = 1 << 20;
    let mut out = Vec::new();
    out.try_reserve_exact(length).map_err(|_| too_much)?;
    if stream.skip(gap)? < gap {
        return Ok(None);
    }
    while out.len() < length {
        let have = out.len();
        let step = STEP.min(length - have);
        out.resize(have + step, 0);
        if stream.read(&mut out[have..])? < step {
            return Ok(None);
        }
    }
    Ok(Some(out))
}

impl fmt::Debug for CodeObjects<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = match self.state {
            State::Stream(..) => STREAM,
            State::Whole(_) => "whole bundle",
            State::Failed(_) => "nothing more",
        };
        write!(f, "code objects from the {how}")
    }
}
