//! Reads several code objects in one pass through a compressed bundle.

use super::CompressedBundle;
use crate::compression::Decompressor;
use crate::reader::Reader;
use crate::{Error, ErrorKind, Result};
use alloc::borrow::Cow;
use alloc::vec::Vec;
use core::fmt;

/// A reader for a compressed bundle's code objects.
///
/// Reading code objects in the order of their offsets takes one pass through the stream and keeps
/// none of them. The first read at an earlier offset decompresses the whole bundle and keeps it, so
/// any order needs at most two passes.
pub(crate) struct CodeObjects<'data> {
    bundle: CompressedBundle<'data>,
    limit: u64,
    state: State<'data>,
}

enum State<'data> {
    /// The stream, and how many of the bundle's bytes have been read or skipped.
    Stream(Decompressor<'data>, u64),
    Whole(Vec<u8>),
    Failed(Error),
}

impl<'data> CodeObjects<'data> {
    pub(super) fn new(bundle: CompressedBundle<'data>, limit: u64) -> Result<Self> {
        Ok(Self { bundle, limit, state: State::Stream(bundle.stream(limit)?, 0) })
    }

    /// Returns the code object of `size` bytes at `offset`. Like the offsets in the entry table,
    /// `offset` counts bytes from the start of the bundle.
    ///
    /// Returns an error if the code object or the decoder would need more bytes than the limit, if
    /// the stream is damaged, or if the bundle ends before the code object does.
    pub(crate) fn read(&mut self, offset: u64, size: u64) -> Result<Cow<'_, [u8]>> {
        self.read_for(offset, size, 0)
    }

    /// Like [`CodeObjects::read`], for an entry of the table. Errors report `field`, the position
    /// of the entry's offset field.
    pub(super) fn read_for(&mut self, offset: u64, size: u64, field: u64) -> Result<Cow<'_, [u8]>> {
        const WHAT: &str = "code object";
        let len = self.bundle.uncompressed_size;
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
            let mut out = Vec::new();
            out.try_reserve_exact(length).map_err(|_| too_much)?;
            let read = stream.append_after(offset - *at, &mut out, length);
            *at = end;
            match read {
                Ok(read) if read == length => return Ok(Cow::Owned(out)),
                Ok(_) => return Err(outside),
                Err(error) => self.state = State::Failed(error),
            }
        }
        match &self.state {
            State::Whole(whole) => {
                Reader::new(whole).range(offset, size, field, WHAT).map(Cow::Borrowed)
            }
            State::Failed(error) => Err(*error),
            State::Stream(..) => Err(outside),
        }
    }
}

impl fmt::Debug for CodeObjects<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("code objects of a compressed bundle")
    }
}

#[cfg(all(test, feature = "zstd"))]
mod tests {
    use super::*;
    use crate::bundle::BundleBuilder;
    use crate::compressed::{CompressOptions, compress};
    use alloc::{format, vec};

    /// Returns a compressed bundle, the same bundle uncompressed, and the offsets of its three code
    /// objects of 5000 bytes each.
    fn sample() -> (Vec<u8>, Vec<u8>, [u64; 3]) {
        let payloads = [1u8, 2, 3]
            .map(|seed| (0..5000u32).map(|i| (i * 7 / 5) as u8 ^ seed).collect::<Vec<u8>>());
        let mut builder = BundleBuilder::new();
        for (index, payload) in payloads.iter().enumerate() {
            builder
                .entry(&format!("hip-amdgcn-amd-amdhsa--gfx90{index}"), payload.len() as u64)
                .unwrap();
        }
        let plain = builder.layout().to_vec(&[&payloads[0], &payloads[1], &payloads[2]]);
        let offsets = [0, 1, 2].map(|index| builder.layout().offset_of(index).unwrap());
        (compress(&plain, &CompressOptions::default()).unwrap(), plain, offsets)
    }

    #[test]
    fn in_any_order() {
        let (file, plain, offsets) = sample();
        let bundle = CompressedBundle::parse(&file).unwrap();
        for order in [[0, 1, 2], [2, 1, 0], [0, 0, 2], [1, 0, 1]] {
            let mut code_objects = bundle.code_objects(1 << 20).unwrap();
            for index in order {
                let offset = offsets[index];
                let expected = &plain[offset as usize..][..5000];
                assert_eq!(code_objects.read(offset, 5000).unwrap(), expected, "{order:?}");
            }
        }
    }

    #[test]
    fn what_is_not_there() {
        let (file, plain, offsets) = sample();
        let bundle = CompressedBundle::parse(&file).unwrap();
        let mut code_objects = bundle.code_objects(1 << 20).unwrap();
        let kind = |result: Result<Cow<'_, [u8]>>| result.unwrap_err().kind();
        assert!(matches!(kind(code_objects.read(u64::MAX, 2)), ErrorKind::OutOfBounds { .. }));
        assert!(matches!(
            kind(code_objects.read(plain.len() as u64, 1)),
            ErrorKind::OutOfBounds { .. }
        ));
        assert_eq!(code_objects.read(0, 0).unwrap(), vec![]);
        // The calls above read nothing from the stream, so it still yields a code object.
        assert_eq!(code_objects.read(offsets[0], 5000).unwrap().len(), 5000);
        let mut code_objects = bundle.code_objects(100).unwrap();
        let too_much = ErrorKind::LimitExceeded { need: 5000, limit: 100 };
        assert_eq!(kind(code_objects.read(offsets[0], 5000)), too_much);
    }

    #[test]
    fn a_damaged_stream_stays_damaged() {
        let (mut file, _, offsets) = sample();
        let half = file.len() / 2;
        file[half..].fill(0x55);
        let mut code_objects =
            CompressedBundle::parse(&file).unwrap().code_objects(1 << 20).unwrap();
        let errors = [offsets[2], offsets[0], offsets[1]]
            .map(|offset| code_objects.read(offset, 5000).unwrap_err());
        assert!(
            errors.iter().all(|error| matches!(error.kind(), ErrorKind::Compression { .. })),
            "{errors:?}"
        );
    }

    #[test]
    fn a_header_may_claim_more_than_there_is() {
        let (mut file, plain, offsets) = sample();
        file[16..24].copy_from_slice(&(1u64 << 40).to_le_bytes());
        let bundle = CompressedBundle::parse(&file).unwrap();
        let mut code_objects = bundle.code_objects(1 << 41).unwrap();
        assert_eq!(code_objects.read(offsets[0], 5000).unwrap().len(), 5000);
        let error = code_objects.read(offsets[1], plain.len() as u64 + (1 << 30)).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::OutOfBounds { .. }));
    }
}
