//! Reads the members of tar archives.

use super::budget::Limited;
use super::name::Names;
use super::{Found, Member, Visit, cannot_unpack};
use std::io::{self, Read};
use tar::{EntryType, Header, PaxExtensions};

/// The block size of tar archives. Every part is padded to a multiple of this size.
pub(super) const BLOCK: usize = 512;

/// The maximum size in bytes of a record before a file, such as a long name.
const LARGEST_RECORD: u64 = 1 << 20;

/// Whether the bytes are the start of a tar archive.
pub(super) fn is_start(bytes: &[u8]) -> bool {
    let Some(block) = bytes.get(..BLOCK) else { return false };
    let header = Header::from_byte_slice(block);
    let is_marked = header.as_ustar().is_some() || header.as_gnu().is_some();
    // The oldest archives have no magic number, so check the header's checksum instead.
    is_marked || (block[0] != 0 && is_checked(header))
}

/// Whether the checksum in a header matches the header's bytes.
fn is_checked(header: &Header) -> bool {
    let mut same = header.clone();
    same.set_cksum();
    header.cksum().is_ok_and(|sum| same.cksum().is_ok_and(|real| sum == real))
}

/// The name, size and sparseness of the next file, from the records before it.
#[derive(Default)]
struct Records {
    name: Option<Vec<u8>>,
    size: Option<u64>,
    is_sparse: bool,
}

/// Unpacks the members and passes each to `visit`. If `is_packed` is set, the archive is compressed
/// as a whole, so members have no compressed size.
pub(super) fn walk<R: Read, E>(
    input: &mut Limited<'_, R>,
    is_packed: bool,
    visit: &mut Visit<'_, E>,
) -> Result<(), E> {
    let mut names = Names::default();
    let mut records = Records::default();
    loop {
        let block = match block(input) {
            Ok(Some(block)) => block,
            Ok(None) => return end(input, is_packed, visit),
            Err(error) => return visit(Found::Problem { name: b"", text: cannot_unpack(&error) }),
        };
        let header = Header::from_byte_slice(&block);
        let (true, Ok(size)) = (is_checked(header), header.entry_size()) else {
            let text = "the archive is damaged: the header of a file is not valid".to_owned();
            return visit(Found::Problem { name: b"", text });
        };
        let entry_type = header.entry_type();
        let outcome = match entry_type {
            EntryType::GNULongName | EntryType::XHeader => {
                read_records(&mut records, entry_type, input, size)
            }
            EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {
                let records = std::mem::take(&mut records);
                let name = records.name.unwrap_or_else(|| header.path_bytes().into_owned());
                // A name that ends with a slash denotes a folder, because early tar versions had no
                // type for folders.
                if name.ends_with(b"/") {
                    skip_member(input, size)
                } else {
                    if let Some(text) = names.problem(&name) {
                        visit(Found::Problem { name: &name, text: text.to_owned() })?;
                    }
                    let size = records.size.unwrap_or(size);
                    if records.is_sparse || entry_type == EntryType::GNUSparse {
                        let text = "is a sparse file, so neither it nor any later file is read; \
                                    pack the archive without --sparse";
                        visit(Found::Problem { name: &name, text: text.to_owned() })?;
                        // The position of the next header depends on the file's holes, which this
                        // tool does not read.
                        return Ok(());
                    }
                    match keep(input, size) {
                        Ok(content) => {
                            let stored = (!is_packed).then_some(size);
                            visit(Found::File(Member { name: &name, content, stored }))?;
                            Ok(())
                        }
                        Err(error) => {
                            return visit(Found::Problem {
                                name: &name,
                                text: cannot_unpack(&error),
                            });
                        }
                    }
                }
            }
            // Skip folders, links, devices, and records about all files.
            _ => {
                records = Records::default();
                skip_member(input, size)
            }
        };
        if let Err(error) = outcome {
            return visit(Found::Problem { name: b"", text: cannot_unpack(&error) });
        }
    }
}

/// Reads the rest of an archive that is compressed as a whole, because the checksums of the
/// compressed data come after the tar archive.
fn end<E>(input: &mut impl Read, is_packed: bool, visit: &mut Visit<'_, E>) -> Result<(), E> {
    if is_packed && let Err(error) = io::copy(input, &mut io::sink()) {
        return visit(Found::Problem { name: b"", text: cannot_unpack(&error) });
    }
    Ok(())
}

/// Returns the next header; `None` at the end.
fn block(input: &mut impl Read) -> io::Result<Option<[u8; BLOCK]>> {
    let mut block = Vec::with_capacity(BLOCK);
    input.take(BLOCK as u64).read_to_end(&mut block)?;
    // Some programs write no zero blocks at the end, or only a part of one block.
    if block.iter().all(|byte| *byte == 0) {
        return Ok(None);
    }
    block.try_into().map(Some).map_err(|_| cut_short())
}

/// Reads and keeps a file of this size, and skips its padding.
fn keep<R: Read>(input: &mut Limited<'_, R>, size: u64) -> io::Result<crate::files::Input> {
    let budget = input.budget;
    if budget.is_too_small_for(size) {
        return Err(io::Error::other(budget.refusal()));
    }
    let content = budget.keep(input.take(size), size)?;
    if content.size() < size {
        return Err(cut_short());
    }
    skip(input, padding(size))?;
    Ok(content)
}

/// Reads the records about the next file.
fn read_records(
    records: &mut Records,
    entry_type: EntryType,
    input: &mut impl Read,
    size: u64,
) -> io::Result<()> {
    if size > LARGEST_RECORD {
        return Err(io::Error::other(format!(
            "a file's header has {size} bytes, which is too large"
        )));
    }
    let mut text = Vec::new();
    input.take(size).read_to_end(&mut text)?;
    if entry_type == EntryType::GNULongName {
        let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
        records.name = Some(text[..end].to_vec());
    } else {
        for extension in PaxExtensions::new(&text) {
            let extension = extension?;
            match extension.key_bytes() {
                b"path" => records.name = Some(extension.value_bytes().to_vec()),
                b"size" => records.size = extension.value().ok().and_then(|size| size.parse().ok()),
                key => records.is_sparse |= key.starts_with(b"GNU.sparse."),
            }
        }
    }
    skip(input, padding(size))
}

/// Returns the size of the padding in the last block.
fn padding(size: u64) -> u64 {
    (BLOCK as u64 - size % BLOCK as u64) % BLOCK as u64
}

/// Skips a member of this size, with its padding.
fn skip_member(input: &mut impl Read, size: u64) -> io::Result<()> {
    skip(input, size)?;
    skip(input, padding(size))
}

/// Skips this many bytes.
fn skip(input: &mut impl Read, size: u64) -> io::Result<()> {
    if io::copy(&mut input.take(size), &mut io::sink())? == size {
        Ok(())
    } else {
        Err(cut_short())
    }
}

fn cut_short() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "it is cut short")
}
