//! The method zstd, implemented with libzstd.

use super::{Context, Method, Step};
use crate::{Error, Result};
use alloc::vec::Vec;
use zstd::zstd_safe::{
    CCtx, CParameter, DCtx, DParameter, ErrorCode, InBuffer, OutBuffer, compress_bound,
    get_error_name,
};

pub(super) struct Stream {
    decoder: DCtx<'static>,
    limit: u64,
}

impl Stream {
    pub(super) fn new(limit: u64, context: Context) -> Result<Self> {
        Ok(Self { decoder: decoder(limit, context)?, limit })
    }

    pub(super) fn step(&mut self, input: &[u8], out: &mut [u8], context: Context) -> Result<Step> {
        let mut from = InBuffer::around(input);
        let mut to = OutBuffer::around(out);
        let left = self.decoder.decompress_stream(&mut to, &mut from);
        let (read, written) = (from.pos(), to.pos());
        let left = left.map_err(|code| self.error(code, context))?;
        // The stream continues if another frame follows: consecutive frames are one stream.
        let ended = left == 0 && Method::of_stream(&input[read..]) != Method::Zstd;
        Ok(Step { read, written, ended })
    }

    /// Converts an error code of libzstd. A window above the limit is reported as an exceeded
    /// limit, not as damage, because the caller may raise the limit.
    fn error(&self, code: ErrorCode, context: Context) -> Error {
        match get_error_name(code) {
            "Frame requires too much memory for decoding" => {
                context.too_much(self.limit.saturating_add(1), self.limit)
            }
            reason => context.damaged(reason),
        }
    }
}

/// Decompresses `input` into the unused capacity of `out`.
pub(super) fn decompress(
    input: &[u8],
    out: &mut Vec<u8>,
    limit: u64,
    context: Context,
) -> Result<()> {
    // libzstd accepts empty input as zero frames, but here empty input means a truncated stream.
    if input.is_empty() {
        return Err(context.damaged("the stream ends early"));
    }
    let done = decoder(limit, context)?.decompress(out, input);
    done.map(drop).map_err(|code| context.damaged(get_error_name(code)))
}

/// Returns the size of the frame at the start of `input`, and its uncompressed size if the frame's
/// header contains it.
#[cfg(feature = "object")]
pub(super) fn frame(input: &[u8], context: Context) -> Result<(u64, Option<u64>)> {
    use zstd::zstd_safe::{find_frame_compressed_size, get_frame_content_size};
    let size = find_frame_compressed_size(input);
    let size = size.map_err(|code| context.damaged(get_error_name(code)))?;
    let content = get_frame_content_size(input);
    let content = content.map_err(|_| context.damaged("the frame's header is damaged"))?;
    Ok((size as u64, content))
}

/// Compresses with long-distance matching, as `clang-offload-bundler` does: code objects for
/// different processors are similar, but the similar bytes are farther apart than the normal
/// window.
///
/// These parameters make zstd search for longer matches than by default, and at more positions. It
/// still finds shorter matches in the normal window. Bundles of ROCm libraries become a tenth
/// smaller, and compression takes four fifths of the time.
pub(super) fn compress(level: Option<i32>, input: &[u8], context: Context) -> Result<Vec<u8>> {
    let size = compress_bound(input.len());
    let no_memory = context.too_much(size as u64, isize::MAX as u64);
    let failed = |code| context.damaged(get_error_name(code));
    let mut out = Vec::new();
    out.try_reserve_exact(size).map_err(|_| no_memory)?;
    let mut encoder = CCtx::try_create().ok_or(no_memory)?;
    let level = level.unwrap_or(zstd::DEFAULT_COMPRESSION_LEVEL);
    encoder.set_parameter(CParameter::CompressionLevel(level)).map_err(failed)?;
    let long_distance = [
        CParameter::EnableLongDistanceMatching(true),
        CParameter::LdmMinMatch(256),
        CParameter::LdmHashRateLog(6),
    ];
    long_distance
        .into_iter()
        .try_for_each(|parameter| encoder.set_parameter(parameter).map(drop))
        .map_err(failed)?;
    encoder.compress2(&mut out, input).map_err(failed)?;
    Ok(out)
}

/// Returns a decoder with a window of up to `limit` bytes, rounded up to a power of two.
fn decoder(limit: u64, context: Context) -> Result<DCtx<'static>> {
    // The window's size is 2 to the power of `log`, which is at least 10 in the format. libzstd
    // accepts at most 31 on 64-bit machines, and 30 on others.
    let greatest = if usize::BITS == 64 { 31 } else { 30 };
    let log = limit
        .checked_next_power_of_two()
        .map_or(greatest, |size| size.trailing_zeros().clamp(10, greatest));
    let mut decoder = DCtx::try_create().ok_or(context.too_much(1 << log, limit))?;
    let set = decoder.set_parameter(DParameter::WindowLogMax(log));
    set.map_err(|code| context.damaged(get_error_name(code)))?;
    Ok(decoder)
}
