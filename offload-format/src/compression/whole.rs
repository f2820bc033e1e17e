//! Functions that compress or decompress a whole stream in one call.

use super::{Context, Method, zlib, zstd};
use crate::Result;
use alloc::vec::Vec;

/// Decompresses the whole of `input`.
///
/// `size`, from the container, is the maximum size of the result in bytes, and is allocated up
/// front if `limit` allows it. Errors report `what`, the stream's name, and `at`, its offset in the
/// file in bytes.
///
/// Returns an error if `size` is over the limit, or if the method was not built in. Also returns an
/// error if the stream is damaged or truncated, if the result has more than `size` bytes, or if
/// bytes follow the stream.
#[inline]
pub fn decompress(
    method: Method,
    input: &[u8],
    size: u64,
    limit: u64,
    what: &'static str,
    at: u64,
) -> Result<Vec<u8>> {
    let context = Context { method, what, at };
    if size > limit {
        return Err(context.too_much(size, limit));
    }
    let mut out = Vec::new();
    let room = usize::try_from(size).ok().and_then(|size| out.try_reserve_exact(size).ok());
    room.ok_or(context.too_much(size, limit))?;
    match method {
        Method::Zlib => zlib::decompress(input, &mut out, limit, context)?,
        Method::Zstd => zstd::decompress(input, &mut out, limit, context)?,
    }
    // The allocator may have returned more memory than requested, so the result may exceed `size`
    // bytes.
    if out.len() as u64 > size {
        return Err(context.damaged("the decompressed content is larger than the header states"));
    }
    Ok(out)
}

/// Returns the size of the zstd frame at the start of `input`, and its uncompressed size if the
/// frame's header contains it. Decompresses nothing.
///
/// Returns an error if the frame is damaged or cut short, or if zstd was not built in.
#[cfg(feature = "object")]
pub(crate) fn zstd_frame(input: &[u8], what: &'static str, at: u64) -> Result<(u64, Option<u64>)> {
    zstd::frame(input, Context { method: Method::Zstd, what, at })
}

/// Compresses `input`. `level` is on the method's scale; `None` is the default (zlib 6, zstd 3).
///
/// Returns an error if the method was not built in, or if there is not enough memory.
pub fn compress(method: Method, level: Option<i32>, input: &[u8]) -> Result<Vec<u8>> {
    let context = Context { method, what: "compressed stream", at: 0 };
    match method {
        Method::Zlib => zlib::compress(level, input, context),
        Method::Zstd => zstd::compress(level, input, context),
    }
}

#[cfg(all(test, feature = "zlib", feature = "zstd"))]
mod tests {
    use super::*;
    use crate::ErrorKind;
    use crate::compression::Decompressor;
    use alloc::vec;

    const METHODS: [Method; 2] = [Method::Zlib, Method::Zstd];
    const WHAT: &str = "stream";

    fn sample(size: usize) -> Vec<u8> {
        (0..size as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> (20 + i % 5)) as u8).collect()
    }

    #[test]
    fn what_goes_in_comes_out() {
        for method in METHODS {
            for size in [0, 1, 100, 70_000, 400_000] {
                let data = sample(size);
                for level in [None, Some(1), Some(9)] {
                    let packed = compress(method, level, &data).unwrap();
                    assert_eq!(Method::of_stream(&packed), method);
                    let size = size as u64;
                    assert_eq!(decompress(method, &packed, size, size, WHAT, 0).unwrap(), data);
                    assert_eq!(
                        decompress(method, &packed, size + 9, size + 9, WHAT, 0).unwrap(),
                        data
                    );
                }
            }
        }
    }

    #[test]
    fn pieces_are_those_of_the_whole() {
        for method in METHODS {
            let data = sample(300_000);
            let mut packed = compress(method, None, &data).unwrap();
            let size = packed.len() as u64;
            packed.extend_from_slice(b"what follows");
            let mut stream = Decompressor::new(method, &packed, 1 << 20, WHAT, 0).unwrap();
            let mut piece = vec![0; 1000];
            assert_eq!(stream.read(&mut piece).unwrap(), 1000);
            assert_eq!(piece, data[..1000]);
            assert_eq!(stream.skip(200_000).unwrap(), 200_000);
            assert_eq!(stream.read(&mut piece).unwrap(), 1000);
            assert_eq!(piece, data[201_000..202_000]);
            assert_eq!(stream.skip(u64::MAX).unwrap(), 98_000);
            assert_eq!(stream.read(&mut piece).unwrap(), 0);
            assert_eq!(stream.consumed(), size);
        }
    }

    #[test]
    fn damage_and_limits_are_errors() {
        for method in METHODS {
            let data = sample(5000);
            let packed = compress(method, None, &data).unwrap();
            let kind = |input: &[u8], size, limit| {
                decompress(method, input, size, limit, WHAT, 7).unwrap_err().kind()
            };
            assert_eq!(
                kind(&packed, 5000, 4999),
                ErrorKind::LimitExceeded { need: 5000, limit: 4999 }
            );
            assert_eq!(
                kind(&packed, u64::MAX, u64::MAX),
                ErrorKind::LimitExceeded { need: u64::MAX, limit: u64::MAX }
            );
            assert!(matches!(kind(&packed, 4999, 1 << 20), ErrorKind::Compression { .. }));
            for cut in 0..packed.len() {
                assert!(
                    matches!(kind(&packed[..cut], 5000, 5000), ErrorKind::Compression { .. }),
                    "{cut}"
                );
                let mut stream =
                    Decompressor::new(method, &packed[..cut], 1 << 20, WHAT, 0).unwrap();
                assert!(stream.skip(u64::MAX).is_err(), "{cut}");
            }
            let longer = [&packed[..], b"behind"].concat();
            assert!(matches!(kind(&longer, 5000, 5000), ErrorKind::Compression { .. }));
        }
    }
}
