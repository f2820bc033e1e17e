//! Reads the entries of a bundle of any form, compressed or not.

use super::{Failure, FileType, verbose};
use crate::files::{Input, MEMORY_LIMIT, Output, PayloadSource, buffer, part};
use memmap2::MmapMut;
use offload_format::bundle::{self, Bundle, EntryTable};
use offload_format::compressed::{CompressedBundle, Found, MAGIC};
use offload_format::compression::Decompressor;
use offload_format::object_bundle::ObjectBundle;
use offload_format::text_bundle::TextBundle;
use offload_format::{Error, ErrorKind};
use std::ffi::OsStr;
use std::io::{self, Write};
use std::ops::Range;
use std::time::Instant;

/// The entries of one bundle, and the carrier that holds their bytes.
#[derive(Debug)]
pub(super) struct Group<'a> {
    pub(super) carrier: Carrier<'a>,
    pub(super) entries: Vec<Entry>,
}

/// The source of the entries' bytes.
#[derive(Debug)]
pub(super) enum Carrier<'a> {
    /// The input file, which stores the bytes uncompressed.
    Input(&'a Input),
    /// Decompressed bytes.
    Memory(Vec<u8>),
    /// A large bundle, decompressed as a whole.
    Buffer(MmapMut),
    /// A compressed bundle; only its table has been decompressed.
    Stream(CompressedBundle<'a>),
}

impl Carrier<'_> {
    /// Returns all bytes of the carrier, if they are in memory or mapped.
    pub(super) fn bytes(&self) -> Option<&[u8]> {
        match self {
            Carrier::Input(input) => Some(input.bytes()),
            Carrier::Memory(bytes) => Some(bytes),
            Carrier::Buffer(bytes) => Some(bytes),
            Carrier::Stream(_) => None,
        }
    }

    /// Decompresses a bundle as a whole if most of its bytes are needed, because that is fastest.
    /// Otherwise returns `None`.
    pub(super) fn decompressed(&self, wanted: u64, from: &OsStr) -> Result<Option<Self>, Failure> {
        let Carrier::Stream(bundle) = self else { return Ok(None) };
        let size = bundle.uncompressed_size;
        if wanted < WORTH_A_BUFFER || wanted < size / 2 || size > MEMORY_LIMIT {
            return Ok(None);
        }
        let no_memory = |error: io::Error| Failure::of_file(from, &error);
        let mut buffer =
            usize::try_from(size).map_err(io::Error::other).and_then(buffer).map_err(no_memory)?;
        let failed = |error: Error| not_decompressed(from, &error);
        // The decompressor is dropped after this statement: only the buffer stays in memory.
        let read =
            bundle.stream(MEMORY_LIMIT).map_err(failed)?.read(&mut buffer).map_err(failed)?;
        Ok((read == buffer.len()).then_some(Carrier::Buffer(buffer)))
    }
}

/// An entry of a bundle.
#[derive(Debug)]
pub(super) struct Entry {
    /// The bundle entry ID, as stored.
    pub(super) id: String,
    /// The byte range of the code object in the carrier.
    pub(super) range: Range<u64>,
    /// Whether the entry is a placeholder for the host object that contains the bundle.
    pub(super) is_host_placeholder: bool,
}

/// Copies code objects out of a carrier. To decompress a bundle in one pass, copy in the order of
/// offsets.
#[derive(Debug)]
pub(super) struct Copier<'a> {
    pub(super) carrier: &'a Carrier<'a>,
    /// The decompressor of a compressed bundle, and its position in the decompressed bytes.
    stream: Option<(Decompressor<'a>, u64)>,
}

impl<'a> Copier<'a> {
    pub(super) fn new(carrier: &'a Carrier<'a>) -> Self {
        Self { carrier, stream: None }
    }

    /// Copies a range of the carrier's bytes to `output`; `from` and `to` are the paths of input
    /// and output, for messages.
    pub(super) fn copy(
        &mut self,
        range: Range<u64>,
        output: &mut Output,
        from: &OsStr,
        to: &OsStr,
    ) -> Result<(), Failure> {
        let written = |result: io::Result<()>| result.map_err(|error| Failure::of_file(to, &error));
        let bundle = match self.carrier {
            Carrier::Input(input) => {
                return written(output.copy(&PayloadSource::Part(input, range)));
            }
            Carrier::Stream(bundle) => bundle,
            Carrier::Memory(bytes) => return written(output.write_all(part(bytes, &range))),
            Carrier::Buffer(bytes) => return written(output.write_all(part(bytes, &range))),
        };
        let failed = |error: Error| not_decompressed(from, &error);
        // A decompressor cannot go back: to read earlier bytes, start a new one.
        let (mut stream, at) = match self.stream.take().filter(|(_, at)| *at <= range.start) {
            Some(stream) => stream,
            None => (bundle.stream(MEMORY_LIMIT).map_err(failed)?, 0),
        };
        let mut is_whole = stream.skip(range.start - at).map_err(failed)? == range.start - at;
        let mut left = range.end - range.start;
        let mut bytes = vec![0; usize::try_from(left).unwrap_or(usize::MAX).min(BUFFER)];
        while left > 0 && is_whole {
            let step = usize::try_from(left).unwrap_or(usize::MAX).min(BUFFER);
            let read = stream.read(&mut bytes[..step]).map_err(failed)?;
            written(output.write_all(&bytes[..read]))?;
            left -= read as u64;
            is_whole = read == step;
        }
        if !is_whole {
            let hint = format!(
                "'{}': the bundle ends inside the code object at bytes {range:?}",
                from.to_string_lossy()
            );
            return Err(
                Failure::new("Failed to decompress input: the bundle is cut short").hint(hint)
            );
        }
        self.stream = Some((stream, range.end));
        Ok(())
    }
}

/// Decompressing a bundle as a whole may pay off if at least this many of its bytes are needed.
/// Otherwise the bundle is decompressed while the outputs are written.
const WORTH_A_BUFFER: u64 = 4 << 20;

/// How many bytes to decompress at a time.
const BUFFER: usize = 1 << 20;

/// Returns the entries of a file, grouped by bundle. A file without a bundle has one empty group.
/// If `say` is set, prints messages about decompression.
pub(super) fn read<'a>(
    input: &'a Input,
    path: &OsStr,
    file_type: FileType,
    say: bool,
) -> Result<Vec<Group<'a>>, Failure> {
    let bytes = input.bytes();
    let is_compressed = bytes.starts_with(&MAGIC);
    // A file with fewer than 8 bytes cannot be a compressed bundle, so print nothing about it.
    if say && !is_compressed && bytes.len() >= 8 {
        verbose::uncompressed();
    }
    let is_whole = match file_type {
        FileType::Text(_) => true,
        FileType::Binary => false,
        FileType::Object => ObjectBundle::parse(bytes).is_ok(),
    };
    if is_whole && !is_compressed {
        let entries =
            entries(bytes, file_type).map_err(|error| Failure::of_content(path, &error))?;
        return Ok(vec![Group { carrier: Carrier::Input(input), entries }]);
    }
    let mut groups = Vec::new();
    for found in Found::in_a_row(bytes, MEMORY_LIMIT) {
        match found {
            Ok((at, Found::Plain(bundle))) => {
                groups.push(Group { carrier: Carrier::Input(input), entries: binary(&bundle, at) });
            }
            Ok((_, Found::Compressed(bundle))) => {
                groups.push(compressed(bundle, path, file_type, say)?)
            }
            // The file, or the rest of it after the last bundle, is not a bundle.
            Err(error) if error.kind() == ErrorKind::BadMagic => break,
            Err(error) if is_compressed && groups.is_empty() => {
                return Err(not_decompressed(path, &error));
            }
            Err(error) => return Err(Failure::of_content(path, &error)),
        }
    }
    if groups.is_empty() {
        groups.push(Group { carrier: Carrier::Input(input), entries: Vec::new() });
    }
    Ok(groups)
}

/// Returns the entries of a compressed bundle; decompresses only the table if that is enough.
fn compressed<'a>(
    bundle: CompressedBundle<'a>,
    path: &OsStr,
    file_type: FileType,
    say: bool,
) -> Result<Group<'a>, Failure> {
    let failed = |error: Error| not_decompressed(path, &error);
    if !say && !matches!(file_type, FileType::Text(_)) {
        match bundle.entry_table(MEMORY_LIMIT) {
            Ok(table) => {
                let table = EntryTable::parse(&table).map_err(failed)?;
                let entries = table.entries().map(|entry| Entry {
                    id: entry.id_str.to_owned(),
                    range: entry.offset..entry.offset.saturating_add(entry.size),
                    is_host_placeholder: false,
                });
                return Ok(Group { carrier: Carrier::Stream(bundle), entries: entries.collect() });
            }
            // The bytes are not a bundle, or too short for a table: decompress them as a whole
            // below.
            Err(error)
                if matches!(error.kind(), ErrorKind::BadMagic | ErrorKind::Truncated { .. }) => {}
            Err(error) => return Err(failed(error)),
        }
    }
    let begun = Instant::now();
    let decompressed = bundle.decompress(MEMORY_LIMIT).map_err(failed)?;
    if say {
        verbose::decompressed(&bundle, &decompressed, begun.elapsed());
    }
    let entries =
        entries(&decompressed, file_type).map_err(|error| Failure::of_content(path, &error))?;
    Ok(Group { carrier: Carrier::Memory(decompressed), entries })
}

/// Returns the entries of the one bundle in these uncompressed bytes.
pub(super) fn entries(bytes: &[u8], file_type: FileType) -> Result<Vec<Entry>, Error> {
    if let FileType::Text(leader) = file_type {
        let bundle = TextBundle::parse(bytes, leader)?;
        return Ok(bundle.entries().map(|found| entry(&found, 0)).collect());
    }
    if let (FileType::Object, Ok(bundle)) = (file_type, ObjectBundle::parse(bytes)) {
        let entries = bundle.entries().map(|found| Entry {
            is_host_placeholder: found.is_host_placeholder(),
            ..entry(&found, 0)
        });
        return Ok(entries.collect());
    }
    match Bundle::parse(bytes) {
        Ok(bundle) => Ok(binary(&bundle, 0)),
        Err(error) if matches!(error.kind(), ErrorKind::BadMagic) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Returns the entries of a binary bundle that starts at offset `at`.
fn binary(bundle: &Bundle<'_>, at: u64) -> Vec<Entry> {
    bundle.entries().map(|found| entry(&found, at)).collect()
}

/// Converts an entry of a bundle that starts at offset `at`.
fn entry(found: &bundle::Entry<'_>, at: u64) -> Entry {
    let start = at + found.offset;
    let range = start..start + found.code_object.len() as u64;
    Entry { id: found.id_str.to_owned(), range, is_host_placeholder: false }
}

/// Returns LLVM's message for a damaged compressed bundle, followed by this tool's own message.
fn not_decompressed(path: &OsStr, error: &Error) -> Failure {
    let reason = match error.kind() {
        ErrorKind::Truncated { .. } => "Compressed bundle header size too small".to_owned(),
        ErrorKind::UnsupportedVersion { .. } => "Unknown compressed bundle version".to_owned(),
        ErrorKind::UnsupportedCompression { .. } => "Unknown compressing method".to_owned(),
        ErrorKind::Compression { reason } => {
            format!("Could not decompress embedded file contents: {reason}")
        }
        _ => error.to_string(),
    };
    let hint = format!("'{}': {error}", path.to_string_lossy());
    Failure::new(format!("Failed to decompress input: {reason}")).hint(hint)
}
