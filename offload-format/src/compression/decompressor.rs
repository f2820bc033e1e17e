//! Decompresses a stream in pieces.

use super::{Context, Method, Step, zlib, zstd};
use crate::Result;
use alloc::vec::Vec;
use core::fmt;

/// A zlib stream, or consecutive zstd frames, decompressed only as far as a caller reads.
///
/// A decompressor holds the decoder's state and window, but no other decompressed bytes. The window
/// is at most about as large as the `limit` passed to [`Decompressor::new`].
pub struct Decompressor<'data> {
    stream: Stream,
    input: &'data [u8],
    consumed: usize,
    ended: bool,
    context: Context,
}

enum Stream {
    Zlib(zlib::Stream),
    Zstd(zstd::Stream),
}

impl<'data> Decompressor<'data> {
    /// Returns a decompressor for the stream at the start of `input`. `input` may continue after
    /// the stream. `limit` is the maximum size of the decoder's window in bytes. Errors report
    /// `what`, the stream's name, and `at`, its offset in the file in bytes.
    ///
    /// Returns an error if the method was not built in.
    pub fn new(
        method: Method,
        input: &'data [u8],
        limit: u64,
        what: &'static str,
        at: u64,
    ) -> Result<Self> {
        let context = Context { method, what, at };
        let stream = match method {
            Method::Zlib => Stream::Zlib(zlib::Stream::new(limit, context)?),
            Method::Zstd => Stream::Zstd(zstd::Stream::new(limit, context)?),
        };
        Ok(Self { stream, input, consumed: 0, ended: false, context })
    }

    /// Fills `out` with the next bytes and returns their number, which is less than `out.len()`
    /// only at the stream's end.
    ///
    /// Returns an error if the stream is damaged or cut short.
    #[inline]
    pub fn read(&mut self, out: &mut [u8]) -> Result<usize> {
        let mut written = 0;
        while written < out.len() && !self.ended {
            let step = self.step(&mut out[written..])?;
            self.consumed += step.read;
            self.ended = step.ended;
            written += step.written;
            if step.read == 0 && step.written == 0 && !step.ended {
                return Err(self.context.damaged("the stream ends early"));
            }
        }
        Ok(written)
    }

    /// Adds the next `count` bytes to `out` and returns their number, which is less than `count`
    /// only at the stream's end. `out` grows only as bytes arrive, because a count from a file may
    /// be far larger than the stream.
    ///
    /// Returns an error if the stream is damaged or cut short.
    #[inline]
    pub fn append(&mut self, out: &mut Vec<u8>, count: usize) -> Result<usize> {
        const STEP: usize = 1 << 20;
        let mut appended = 0;
        while appended < count {
            let have = out.len();
            let step = STEP.min(count - appended);
            out.resize(have + step, 0);
            let read = self.read(&mut out[have..])?;
            out.truncate(have + read);
            appended += read;
            if read < step {
                break;
            }
        }
        Ok(appended)
    }

    /// Skips `count` bytes and returns how many were skipped: fewer than `count` only at the
    /// stream's end.
    ///
    /// Returns an error if the stream is damaged or cut short.
    #[inline]
    pub fn skip(&mut self, count: u64) -> Result<u64> {
        let mut scratch = [0; 16 * 1024];
        let mut skipped = 0;
        while skipped < count {
            let wanted = usize::try_from(count - skipped).unwrap_or(usize::MAX).min(scratch.len());
            let read = self.read(&mut scratch[..wanted])?;
            skipped += read as u64;
            if read < wanted {
                break;
            }
        }
        Ok(skipped)
    }

    /// Skips `gap` bytes, and then works like [`Decompressor::append`].
    #[cfg(feature = "packs")]
    #[inline]
    pub(crate) fn append_after(
        &mut self,
        gap: u64,
        out: &mut Vec<u8>,
        count: usize,
    ) -> Result<usize> {
        if self.skip(gap)? < gap { Ok(0) } else { self.append(out, count) }
    }

    /// Returns an error unless the stream ends here, at the end of the input.
    #[cfg(feature = "packs")]
    #[inline]
    pub(crate) fn expect_end(&mut self) -> Result<()> {
        if self.read(&mut [0])? > 0 {
            let reason = "the decompressed content is larger than the header states";
            return Err(self.context.damaged(reason));
        }
        if self.consumed < self.input.len() {
            return Err(self.context.damaged("there are bytes after the stream"));
        }
        Ok(())
    }

    /// Returns how many input bytes have been consumed; at the stream's end, this is its size.
    pub fn consumed(&self) -> u64 {
        self.consumed as u64
    }

    fn step(&mut self, out: &mut [u8]) -> Result<Step> {
        let input = &self.input[self.consumed..];
        match &mut self.stream {
            Stream::Zlib(stream) => stream.step(input, out, self.context),
            Stream::Zstd(stream) => stream.step(input, out, self.context),
        }
    }
}

impl fmt::Debug for Decompressor<'_> {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Decompressor");
        out.field("method", &self.context.method)
            .field("consumed", &self.consumed)
            .field("ended", &self.ended)
            .finish()
    }
}
