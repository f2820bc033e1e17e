//! Arguments in the metadata of an AMD code object.

use super::argument::Argument;
use crate::Result;
use crate::msgpack::Cursor;

/// The arguments in a kernel's metadata that have not been read yet.
#[derive(Debug, Clone)]
pub(in crate::image) struct MetadataArguments<'data> {
    pub(in crate::image) cursor: Cursor<'data>,
    /// The number of the next argument.
    pub(in crate::image) ordinal: u64,
    pub(in crate::image) left: u64,
}

impl<'data> MetadataArguments<'data> {
    pub(in crate::image) fn next(&mut self) -> Result<Option<Argument<'data>>> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        let ordinal = self.ordinal;
        self.ordinal += 1;
        read_argument(&mut self.cursor, ordinal).map(Some)
    }
}

/// Reads one argument; `ordinal` is its number in the kernel.
pub(in crate::image) fn read_argument<'data>(
    cursor: &mut Cursor<'data>,
    ordinal: u64,
) -> Result<Argument<'data>> {
    let (mut offset, mut size, mut value_kind, mut name, mut type_name) =
        (None, None, None, None, None);
    let start = *cursor;
    for _ in 0..cursor.map("kernel argument")? {
        match cursor.str("kernel argument key")? {
            ".offset" => offset = Some(cursor.uint("kernel argument .offset")?),
            ".size" => size = Some(cursor.uint("kernel argument .size")?),
            ".value_kind" => value_kind = Some(cursor.str("kernel argument .value_kind")?),
            ".name" => name = Some(cursor.str("kernel argument .name")?),
            ".type_name" => type_name = Some(cursor.str("kernel argument .type_name")?),
            _ => cursor.skip()?,
        }
    }
    let place = offset.zip(size).ok_or(start.wrong("kernel argument without .offset or .size"))?;
    Ok(Argument { ordinal, offset: place.0, size: place.1, value_kind, name, type_name })
}
