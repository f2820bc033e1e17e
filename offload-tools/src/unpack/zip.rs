//! Members of zip archives.

use super::codec::Codec;
use super::name::Names;
use super::room::Room;
use super::{Found, Member, Visit, cannot_unpack};
use crate::text;
use rawzip::{CompressionMethod, ErrorKind, ZipArchive, ZipArchiveEntryWayfinder, ZipSliceEntry};
use std::io::{self, Read};

/// An entry of the zip archive's directory.
struct Entry<'a> {
    name: &'a [u8],
    method: CompressionMethod,
    is_encrypted: bool,
    wayfinder: ZipArchiveEntryWayfinder,
}

/// Unpacks the members in the order of the directory.
pub(super) fn walk<E>(bytes: &[u8], room: &Room, visit: &mut Visit<'_, E>) -> Result<(), E> {
    let mut whole = |text: String| visit(Found::Problem { name: b"", text });
    let archive = match ZipArchive::from_slice(bytes) {
        Ok(archive) => archive,
        Err(error) => {
            return whole(match error.kind() {
                ErrorKind::MissingEndOfCentralDirectory => {
                    "the list of its files, which is at the end of a zip archive, is missing: the archive is cut short"
                        .to_owned()
                }
                _ => format!("the list of its files cannot be read: {error}"),
            });
        }
    };
    let mut entries = Vec::new();
    let mut lines = archive.entries();
    loop {
        match lines.next_entry() {
            Ok(Some(line)) if line.is_dir() => {}
            Ok(Some(line)) => entries.push(Entry {
                name: line.file_path().as_bytes(),
                method: line.compression_method(),
                is_encrypted: line.flags().is_encrypted(),
                wayfinder: line.wayfinder(),
            }),
            Ok(None) => break,
            Err(error) => return whole(format!("the list of its files cannot be read: {error}")),
        }
    }
    // No program writes members that share bytes. They could unpack to far more than an archive of
    // this size can have.
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
            "{one} and {other} share bytes of the archive, so nothing of it is unpacked"
        ));
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
                let text = format!("its bytes are not where the archive's list has them: {error}");
                visit(Found::Problem { name, text })?;
                continue;
            }
        };
        if found.local_header().file_path().as_bytes() != name {
            let other = text::escaped(found.local_header().file_path().as_bytes());
            let text =
                format!("the archive's list has this name, and the file's own header {other}");
            visit(Found::Problem { name, text })?;
        }
        let size = entry.wayfinder.uncompressed_size_hint();
        let content = match decoder(entry, &found) {
            Err(text) => Err(text),
            Ok(_) if room.is_too_small_for(size) => Err(room.refusal().to_string()),
            Ok(decoder) => decoder
                .and_then(|decoder| room.keep(found.verifying_reader(room.limited(decoder)), size))
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

/// The decoder of a member, or the error that occurred when it was started.
type Decoder<'a> = io::Result<Box<dyn Read + 'a>>;

/// Returns the decoder of a member. Returns an error message if the member is encrypted, or if its
/// compression is not supported.
fn decoder<'a>(entry: &Entry<'_>, found: &ZipSliceEntry<'a>) -> Result<Decoder<'a>, String> {
    if entry.is_encrypted {
        return Err("is encrypted, so that it cannot be unpacked".to_owned());
    }
    let data = found.data();
    match entry.method {
        CompressionMethod::STORE => Ok(Ok(Box::new(data))),
        CompressionMethod::DEFLATE => Ok(Ok(Box::new(flate2::bufread::DeflateDecoder::new(data)))),
        CompressionMethod::ZSTD => Ok(Codec::Zstd.reader(data)),
        CompressionMethod::XZ => Ok(Codec::Xz.reader(data)),
        other => {
            let method = other.name().map_or(format!("method {}", other.as_u16()), str::to_owned);
            Err(format!("is compressed with {method}, which offload cannot unpack"))
        }
    }
}

/// Returns the message for a member that cannot be unpacked, or whose checksum or size differs from
/// the archive's list.
fn damaged(error: &io::Error) -> String {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rawzip::Error>());
    match inner.map(rawzip::Error::kind) {
        Some(ErrorKind::InvalidChecksum { expected, actual }) => {
            format!(
                "is damaged: its checksum is {actual:08x}, and the archive's list has {expected:08x}"
            )
        }
        Some(ErrorKind::InvalidSize { expected, actual }) => {
            format!(
                "is damaged: it unpacks to {actual} bytes, and the archive's list has {expected}"
            )
        }
        _ => cannot_unpack(error),
    }
}
