//! The method zlib, implemented with the crate flate2.

use super::{Context, Step};
use crate::Result;
use alloc::boxed::Box;
use alloc::vec::Vec;
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

pub(super) struct Stream(Box<Decompress>);

impl Stream {
    /// Returns a decoder. Ignores the limit, because the window is always 32 KiB.
    pub(super) fn new(_limit: u64, _context: Context) -> Result<Self> {
        Ok(Self(Box::new(Decompress::new(true))))
    }

    pub(super) fn step(&mut self, input: &[u8], out: &mut [u8], context: Context) -> Result<Step> {
        let (read, written) = (self.0.total_in(), self.0.total_out());
        let status = self.0.decompress(input, out, FlushDecompress::None);
        let status = status.map_err(|_| context.damaged(DAMAGED))?;
        let (read, written) =
            ((self.0.total_in() - read) as usize, (self.0.total_out() - written) as usize);
        Ok(Step { read, written, ended: status == Status::StreamEnd })
    }
}

const DAMAGED: &str = "the zlib stream is damaged";

/// Decompresses `input` into the unused capacity of `out`.
pub(super) fn decompress(
    input: &[u8],
    out: &mut Vec<u8>,
    _limit: u64,
    context: Context,
) -> Result<()> {
    let mut stream = Decompress::new(true);
    let status = stream.decompress_vec(input, out, FlushDecompress::Finish);
    match status.map_err(|_| context.damaged(DAMAGED))? {
        Status::StreamEnd if stream.total_in() == input.len() as u64 => Ok(()),
        Status::StreamEnd => Err(context.damaged("there are bytes after the zlib stream")),
        _ if stream.total_in() < input.len() as u64 => {
            Err(context.damaged("the decompressed content is larger than the header states"))
        }
        _ => Err(context.damaged("the stream ends early")),
    }
}

pub(super) fn compress(level: Option<i32>, input: &[u8], _context: Context) -> Result<Vec<u8>> {
    let level =
        level.map_or(Compression::default(), |level| Compression::new(level.clamp(0, 9) as u32));
    let mut stream = Compress::new(level, true);
    let mut out = Vec::with_capacity(input.len() / 2 + 64);
    loop {
        let rest = &input[stream.total_in() as usize..];
        // This call fails only if the output buffer is too small.
        if let Ok(Status::StreamEnd) = stream.compress_vec(rest, &mut out, FlushCompress::Finish) {
            return Ok(out);
        }
        out.reserve(out.len().max(4096));
    }
}
