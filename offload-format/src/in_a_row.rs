//! Containers of one kind that follow each other in a section or file, as a linker puts those of
//! all objects.

use crate::Result;

/// Reads the container after the first `at` bytes, and moves `at` past it. Returns `None` where
/// only zeros are left, and after an error.
///
/// Zeros before the container are skipped, `align` at a time; its size in bytes is rounded up to
/// `align`.
pub(crate) fn next<'data, T>(
    data: &'data [u8],
    at: &mut usize,
    align: usize,
    parse: fn(&'data [u8]) -> Result<T>,
    size: fn(&T) -> u64,
) -> Option<Result<(u64, T)>> {
    let rest = data.get(*at..)?;
    let zeros = rest.iter().position(|&byte| byte != 0)?;
    let gap = zeros - zeros % align;
    let start = *at + gap;
    let parsed = parse(rest.get(gap..)?);
    *at = match &parsed {
        // No container is larger than the bytes, so the conversion keeps its size.
        Ok(container) => start + (size(container) as usize).next_multiple_of(align),
        Err(_) => usize::MAX,
    };
    let start = start as u64;
    Some(parsed.map(|container| (start, container)).map_err(|error| error.shifted(start)))
}
