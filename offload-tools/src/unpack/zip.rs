//! Reads the members of zip archives.

use super::budget::Budget;
use super::codec::Codec;
use super::name::Names;
use super::{Found, Member, Visit, cannot_unpack};
use crate::text;
use rawzip::{
    CompressionMethod, ErrorKind, ZipArchive, ZipArchiveEntryWayfinder, ZipSliceArchive,
    ZipSliceEntry,
};
use std::io::{self, Read};
use std::path::Path;

/// An entry of the zip archive's directory.
struct Entry<'a> {
    name: &'a [u8],
    is_encrypted: bool,
    facts: Facts,
    wayfinder: ZipArchiveEntryWayfinder,
}

/// A member's compression method, checksum and sizes. Both the archive's directory and the member's
/// header store them.
type Facts = (CompressionMethod, u32, u64, u64);

/// The start of a member's header.
const MEMBER: &[u8] = b"PK\x03\x04";
/// The start of a directory entry.
const ENTRY: &[u8] = b"PK\x01\x02";
/// The start of the end record. An empty archive begins with this record.
const END: &[u8] = b"PK\x05\x06";
/// The start and the size of the record that precedes a large archive's end record.
const LOCATOR: (&[u8], usize) = (b"PK\x06\x07", 20);

/// Whether a file is a zip archive or ends with one. A self-extracting archive begins with the
/// program that unpacks it.
pub(super) fn is_zip(bytes: &[u8]) -> bool {
    bytes.starts_with(MEMBER)
        || bytes.starts_with(END)
        || is_after_other_bytes(bytes)
        || is_after_script(bytes)
}

/// Whether a member's header directly follows a script, as in a truncated self-extracting archive.
/// In other programs, the bytes of such a header may occur anywhere.
fn is_after_script(bytes: &[u8]) -> bool {
    if !bytes.starts_with(b"#!") {
        return false;
    }
    let is_text = |byte: &u8| *byte >= b' ' || byte.is_ascii_whitespace();
    let text = bytes.iter().take_while(|byte| is_text(byte)).count();
    bytes[text - 2..].starts_with(MEMBER)
}

/// Whether a file ends with a zip archive but begins with something else.
pub(super) fn is_after_other_bytes(bytes: &[u8]) -> bool {
    let Ok(archive) = ZipArchive::from_slice(bytes) else { return false };
    let is_at_start = bytes.starts_with(MEMBER) && start(&archive) == Some(0);
    // An archive before the end of a program may be the program's data.
    let is_at_end = archive.end_offset() == bytes.len() as u64;
    is_at_end && !is_at_start && list(&archive).is_some_and(|list| list.is_there)
}

/// The location of a zip archive's directory, from the end record.
struct List {
    /// The offset in the file, computed from the directory's size.
    at: usize,
    /// Whether there is a directory at this offset.
    is_there: bool,
    /// The directory's offset in the archive.
    offset: usize,
}

/// Returns the directory's location. Returns `None` for a large archive, which stores the location
/// in a different record.
fn list(archive: &ZipSliceArchive<&[u8]>) -> Option<List> {
    let (bytes, end) = (*archive.get_ref(), usize::try_from(archive.eocd_offset()).ok()?);
    let (locator, size) = LOCATOR;
    if end.checked_sub(size).is_some_and(|at| bytes[at..].starts_with(locator)) {
        return None;
    }
    let field = |at: usize| {
        let field = bytes.get(end + at..)?.first_chunk()?;
        usize::try_from(u32::from_le_bytes(*field)).ok()
    };
    let at = end.saturating_sub(field(12)?);
    Some(List { at, is_there: bytes[at..].starts_with(ENTRY), offset: field(16)? })
}

/// Returns the position in the file that a zip archive's offsets are relative to. Returns `None` if
/// the directory does not match the size or offset in the end record.
fn start(archive: &ZipSliceArchive<&[u8]>) -> Option<usize> {
    let Some(list) = list(archive) else { return Some(0) };
    // An archive without files has no directory.
    let is_empty = archive.eocd_offset() == 0;
    (list.is_there || is_empty).then(|| list.at.checked_sub(list.offset))?
}

/// Unpacks the members in directory order. A program before the archive is passed on as a file with
/// the file name of `path`, the archive's path.
pub(super) fn walk<E>(
    file: &[u8],
    path: &Path,
    budget: &Budget,
    visit: &mut Visit<'_, E>,
) -> Result<(), E> {
    let mut whole = |text: String| visit(Found::Problem { name: b"", text });
    let in_file = match ZipArchive::from_slice(file) {
        Ok(archive) => archive,
        Err(error) => {
            return whole(match error.kind() {
                ErrorKind::MissingEndOfCentralDirectory => {
                    "the archive is cut short: the central directory at its end is missing"
                        .to_owned()
                }
                _ => cannot_list(&error),
            });
        }
    };
    let place = start(&in_file);
    if place.is_none() {
        whole(
            "the archive's end record has a wrong size or offset for the central directory"
                .to_owned(),
        )?;
    }
    let archive = match ZipArchive::from_slice(&file[place.unwrap_or(0)..]) {
        Ok(archive) => archive,
        Err(error) => return whole(cannot_list(&error)),
    };
    let mut entries = Vec::new();
    let (mut lines, mut count, mut first) = (archive.entries(), 0, u64::MAX);
    loop {
        let line = match lines.next_entry() {
            Ok(Some(line)) => line,
            Ok(None) => break,
            Err(error) => return whole(cannot_list(&error)),
        };
        count += 1;
        first = first.min(line.local_header_offset());
        if !line.is_dir() {
            entries.push(Entry {
                name: line.file_path().as_bytes(),
                is_encrypted: line.flags().is_encrypted(),
                facts: (
                    line.compression_method(),
                    line.crc32(),
                    line.compressed_size_hint(),
                    line.uncompressed_size_hint(),
                ),
                wayfinder: line.wayfinder(),
            });
        }
    }
    // The end record stores the number of files in 16 bits, unless the archive is large.
    if archive.entries_hint() as u16 != count as u16 {
        let recorded = archive.entries_hint();
        whole(format!(
            "the archive's end record states {recorded} files, but the central directory lists \
             {count}"
        ))?;
    }
    // No program writes members that share bytes, and such members could unpack to far more than
    // any archive of this size.
    let mut places: Vec<((u64, u64), &[u8])> = Vec::with_capacity(entries.len());
    for entry in &entries {
        if let Ok(found) = archive.get_entry(entry.wayfinder) {
            places.push((found.compressed_data_range(), entry.name));
        }
    }
    places.retain(|((start, end), _)| start < end);
    places.sort_unstable();
    if let Some(pair) = places.windows(2).find(|pair| pair[0].0.1 > pair[1].0.0) {
        let (one, other) = (text::escaped(pair[0].1), text::escaped(pair[1].1));
        return whole(format!(
            "{one} and {other} share bytes of the archive, so nothing is unpacked"
        ));
    }
    let before = match place {
        Some(place) if place > 0 => &file[..place],
        // Offsets may also be relative to the start of the program.
        _ if !file.starts_with(MEMBER) => {
            usize::try_from(first).ok().and_then(|size| file.get(..size)).unwrap_or_default()
        }
        _ => &[],
    };
    if !before.is_empty() {
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        let size = before.len() as u64;
        visit(match budget.keep(budget.limited(before), size) {
            Ok(content) => Found::File(Member { name, content, stored: Some(size) }),
            Err(error) => Found::Problem { name, text: cannot_unpack(&error) },
        })?;
    }
    let mut names = Names::default();
    for entry in &entries {
        let name = entry.name;
        if let Some(text) = names.problem(name) {
            visit(Found::Problem { name, text: text.to_owned() })?;
        }
        let found = match archive.get_entry(entry.wayfinder) {
            Ok(found) => found,
            Err(error) => {
                let text = format!("its bytes are not where the central directory says: {error}");
                visit(Found::Problem { name, text })?;
                continue;
            }
        };
        let local = found.local_header();
        if local.file_path().as_bytes() != name {
            let other = text::escaped(local.file_path().as_bytes());
            let text = format!(
                "the central directory has this name, but the file's own header has {other}"
            );
            visit(Found::Problem { name, text })?;
        }
        let facts = (
            local.compression_method(),
            local.crc32(),
            local.compressed_size_hint(),
            local.uncompressed_size_hint(),
        );
        // A program that writes a stream computes the checksum and the sizes while it writes, so a
        // member's header cannot contain them.
        if !local.flags().has_data_descriptor() && facts != entry.facts {
            let text = "the central directory has a different method, checksum or size than the \
                        file's own header, and programs differ in which of the two they read";
            visit(Found::Problem { name, text: text.to_owned() })?;
        }
        let size = entry.wayfinder.uncompressed_size_hint();
        let content = match decoder(entry, &found) {
            Err(text) => Err(text),
            Ok(_) if budget.is_too_small_for(size) => Err(budget.refusal().to_string()),
            Ok(decoder) => budget
                .keep(found.verifying_reader(budget.limited(decoder)), size)
                .map_err(|error| damaged(&error)),
        };
        visit(match content {
            Ok(content) => {
                Found::File(Member { name, content, stored: Some(found.data().len() as u64) })
            }
            Err(text) => Found::Problem { name, text },
        })?;
    }
    Ok(())
}

fn cannot_list(error: &rawzip::Error) -> String {
    format!("its central directory cannot be read: {error}")
}

/// Returns the decoder of a member, or an error message if the member is encrypted or its
/// compression is not supported.
fn decoder<'a>(entry: &Entry<'_>, found: &ZipSliceEntry<'a>) -> Result<Box<dyn Read + 'a>, String> {
    if entry.is_encrypted {
        return Err("is encrypted, so it cannot be unpacked".to_owned());
    }
    let data = found.data();
    match entry.facts.0 {
        CompressionMethod::STORE => Ok(Box::new(data)),
        CompressionMethod::DEFLATE => Ok(Box::new(flate2::bufread::DeflateDecoder::new(data))),
        CompressionMethod::ZSTD => Ok(Codec::Zstd.reader(data)),
        CompressionMethod::XZ => Ok(Codec::Xz.reader(data)),
        other => {
            let method = other.name().map_or(format!("method {}", other.as_u16()), str::to_owned);
            Err(format!("is compressed with {method}, which offload cannot unpack"))
        }
    }
}

/// Returns the message for a member that cannot be unpacked, or whose checksum or size differs from
/// the directory's.
fn damaged(error: &io::Error) -> String {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rawzip::Error>());
    match inner.map(rawzip::Error::kind) {
        Some(ErrorKind::InvalidChecksum { expected, actual }) => {
            format!(
                "is damaged: its checksum is {actual:08x}, but the central directory has {expected:08x}"
            )
        }
        Some(ErrorKind::InvalidSize { expected, actual }) => {
            format!(
                "is damaged: it unpacks to {actual} bytes, but the central directory has {expected}"
            )
        }
        _ => cannot_unpack(error),
    }
}
