//! Consecutive containers of one kind in a section or file. Linkers concatenate the containers of
//! all objects.

use crate::Result;

/// Returns the containers in `data`, each with its offset in bytes. `parse` returns the container
/// at the start of the bytes, and its size in bytes, which is then rounded up to a multiple of
/// `align`.
///
/// Zeros before a container are skipped, `align` at a time. The iterator ends at the end of the
/// bytes, after the first error, or when only zeros are left.
pub(crate) fn in_a_row<'data, T>(
    data: &'data [u8],
    align: usize,
    parse: impl Fn(&'data [u8]) -> Result<(T, u64)>,
) -> impl Iterator<Item = Result<(u64, T)>> {
    let mut at = 0;
    core::iter::from_fn(move || {
        let rest = data.get(at..)?;
        let zeros = rest.iter().position(|&byte| byte != 0)?;
        let gap = zeros - zeros % align;
        let start = at + gap;
        let parsed = parse(rest.get(gap..)?);
        at = match &parsed {
            // The conversion is exact, because no container is larger than the bytes.
            Ok((_, size)) => start + (*size as usize).next_multiple_of(align),
            Err(_) => usize::MAX,
        };
        let start = start as u64;
        Some(parsed.map(|(it, _)| (start, it)).map_err(|error| error.shifted(start)))
    })
}
