//! The view of an image table.

use crate::compression::{self, Method, zstd_frame};
use crate::object_bundle::SECTION_PREFIX;
use crate::object_file::{Pointing, RecordLayout, Section, Sections, offset_of, pointers};
use crate::reader::Reader;
use crate::section::{ObjectFormat, SectionNames};
use crate::{Error, ErrorKind, Result};
use alloc::borrow::Cow;
use alloc::vec::Vec;

const LAYOUT: RecordLayout = RecordLayout { size: 16, pointer: 0 };
const IMAGE: &str = "image of an image table";

/// The limit for the total size of all images after decompression, as a multiple of the file's
/// size. Images may share bytes, so without a limit, reading a small file could take a very long
/// time.
const LIMIT: u64 = 64;

/// The minimum size charged for an image, to account for the memory of its list entry.
const RECORD: u64 = LIMIT * LAYOUT.size;

const SHARED: &str = "image table (its images share too many bytes)";

/// The image table of a program or object.
#[derive(Debug, Clone, Copy)]
pub struct ImageTable<'data> {
    file: &'data [u8],
}

impl<'data> ImageTable<'data> {
    /// Finds the table in an ELF, COFF or PE file, if there is one.
    pub fn find(file: &'data [u8]) -> Option<Self> {
        let sections = Sections::parse(file).ok()?;
        let format = sections.format();
        let mut sections = sections.map_while(Result::ok);
        sections.any(|section| is_table(&section, format)).then_some(Self { file })
    }

    /// Returns the images in file order. An item is an error if its image is not in a section of
    /// the file, or if the image's zstd frame is damaged. If the images together are far larger
    /// than the file, the last item is an error, and the remaining images are omitted.
    pub fn images(&self) -> Vec<Result<TableImage<'data>>> {
        let Ok(sections) = Sections::parse(self.file) else { return Vec::new() };
        let names: Vec<&[u8]> = sections.map_while(Result::ok).map(|it| it.name).collect();
        let (mut found, mut left) = (Vec::new(), Some(self.file.len() as u64 * LIMIT));
        pointers(self.file, LAYOUT, is_table, |record| {
            let Some(budget) = left else { return };
            let image = TableImage::new(self.file, &names, &record);
            // The decoder may have read any part of a damaged frame, so count the rest of the
            // section.
            let rest = record.target.map_or(0, |target| target.bytes.len() as u64);
            let size = image.as_ref().map_or(rest, |it| it.size().max(it.stored.len() as u64));
            left = budget.checked_sub(size.max(RECORD));
            found.push(match left {
                Some(_) => image,
                None => Err(Error::new(ErrorKind::Malformed, SHARED, 0)),
            });
        });
        found.sort_by_key(|image| image.as_ref().map_or(u64::MAX, |image| image.offset));
        found
    }
}

pub(crate) fn is_table(section: &Section<'_>, format: ObjectFormat) -> bool {
    let name = str::from_utf8(section.name).unwrap_or("");
    format != ObjectFormat::MachO && SectionNames::IMAGE_TABLE.matches(format, "", name)
}

/// An image of an image table.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct TableImage<'data> {
    /// The name of the section that contains the image.
    pub section: &'data [u8],
    /// The offset in bytes from the start of the file.
    pub offset: u64,
    /// The bytes in the file, which may be compressed.
    pub stored: &'data [u8],
    /// The size in bytes after decompression; `None` if the image is not compressed.
    pub inflated_size: Option<u64>,
}

impl<'data> TableImage<'data> {
    fn new(file: &'data [u8], names: &[&'data [u8]], record: &Pointing<'data>) -> Result<Self> {
        let size = record.record.u64(8, "image table")?;
        let outside = ErrorKind::OutOfBounds { start: 0, size, len: 0 };
        let target = record.target.ok_or(Error::new(outside, IMAGE, 0))?;
        let section = names.get(target.section).copied().unwrap_or_default();
        let offset = offset_of(file, target.bytes);
        let is_compressed = Method::of_stream(target.bytes) == Method::Zstd;
        let frame = is_compressed.then(|| zstd_frame(target.bytes, IMAGE, offset)).transpose()?;
        let (stored, inflated_size) = match frame {
            Some((stored, inflated)) => (stored, Some(inflated.unwrap_or(size))),
            None => (size, None),
        };
        let stored = Reader::new(target.bytes)
            .range(0, stored, 0, IMAGE)
            .map_err(|error| error.shifted(offset))?;
        Ok(Self { section, offset, stored, inflated_size })
    }

    /// Returns the offload kind and the target from the section's name, such as `sycl-spir64`.
    pub fn id(&self) -> Option<&'data str> {
        str::from_utf8(self.section.strip_prefix(SECTION_PREFIX.as_bytes())?).ok()
    }

    /// Returns the size in bytes, after decompression if the image is compressed.
    pub fn size(&self) -> u64 {
        self.inflated_size.unwrap_or(self.stored.len() as u64)
    }

    /// Returns the bytes of the image, decompressed if necessary.
    ///
    /// Returns an error if the image would have more than `limit` bytes, if its frame is damaged,
    /// or if zstd was not built in.
    pub fn read(&self, limit: u64) -> Result<Cow<'data, [u8]>> {
        match self.inflated_size {
            None => Ok(Cow::Borrowed(self.stored)),
            Some(size) => {
                compression::decompress(Method::Zstd, self.stored, size, limit, IMAGE, self.offset)
                    .map(Cow::Owned)
            }
        }
    }
}
