//! Reads bundles of cuda-oxide.

use super::{EntryKind, MAGIC, PayloadKind};
use crate::budget::Budget;
use crate::in_a_row::in_a_row;
use crate::reader::Reader;
use crate::{Error, ErrorKind, Result};
use core::fmt;

const WHAT: &str = "bundle of cuda-oxide";
const VERSIONS: core::ops::RangeInclusive<u16> = 1..=2;
const HEADER: u64 = 32;
const RECORD: u64 = 24;
/// The limit for the total size of all names, as a multiple of the bundle's size. Records may share
/// names, so without a limit, reading them could take a very long time.
const SHARED_LIMIT: u64 = 16;

/// A bundle of cuda-oxide.
#[derive(Clone, Copy)]
pub struct Oxart<'data> {
    /// The bytes of the bundle.
    pub bytes: &'data [u8],
    /// The name, usually the name of the crate.
    pub name: &'data str,
    /// The target of the device code, which has the form `sm_90` even for PTX.
    pub target: &'data str,
    /// The version of the format.
    pub version: u16,
    /// The options for further compilation of the device code, as bits. Bit 0: no contraction of
    /// floating-point operations.
    pub options: u64,
    payloads: Records,
    entries: Records,
}

/// The offset of the first record, and the number of records.
#[derive(Debug, Clone, Copy)]
struct Records {
    start: u64,
    count: u16,
}

/// The device code in one form.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct OxartPayload<'data> {
    /// The kind of the payload.
    pub kind: PayloadKind,
    /// The name, usually the name of a file.
    pub name: &'data str,
    /// The bytes.
    pub data: &'data [u8],
    /// The offset of [`OxartPayload::data`] in bytes from the start of the bundle.
    pub offset: u64,
}

/// A function in a bundle's list.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct OxartEntry<'data> {
    /// The kind of the function.
    pub kind: EntryKind,
    /// The function's symbol in the payloads.
    pub symbol: &'data str,
    /// The metadata, if there is any. Its meaning depends on the kind.
    pub metadata: Option<u64>,
}

impl Records {
    fn end(self) -> u64 {
        self.start + u64::from(self.count) * RECORD
    }

    fn offsets(self) -> impl Iterator<Item = u64> + Clone {
        (0..u64::from(self.count)).map(move |index| self.start + index * RECORD)
    }
}

impl<'data> Oxart<'data> {
    /// Reads the bundle at the start of `data`. `data` may continue after the bundle.
    ///
    /// Returns an error if the bytes are not a bundle, or if the bundle's version or header size is
    /// unknown. Also returns an error if a record refers to bytes outside the bundle, or if a name
    /// is not UTF-8.
    pub fn parse(data: &'data [u8]) -> Result<Self> {
        if !data.starts_with(&MAGIC) {
            return Err(Error::new(ErrorKind::BadMagic, WHAT, 0));
        }
        let reader = Reader::new(data);
        let version = reader.u16(8, "version of a bundle of cuda-oxide")?;
        if !VERSIONS.contains(&version) {
            let kind = ErrorKind::UnsupportedVersion { version: version.into() };
            return Err(Error::new(kind, WHAT, 8));
        }
        let (header, size) = (reader.u16(10, WHAT)?, reader.u32(12, WHAT)?);
        if u64::from(header) != HEADER {
            let what = "bundle of cuda-oxide (unexpected header size)";
            return Err(Error::new(ErrorKind::Malformed, what, 10));
        }
        let bytes = reader.range(0, size.into(), 12, WHAT)?;
        let reader = Reader::new(bytes);
        let sizes = [16, 18].map(|at| reader.u16(at, WHAT));
        let counts = [20, 22].map(|at| reader.u16(at, WHAT));
        let ([name_size, target_size], [payloads, entries]) = (sizes, counts);
        let (name_size, target_size) = (u64::from(name_size?), u64::from(target_size?));
        let options = reader.u64(24, WHAT)?;
        let name = text(reader, HEADER, name_size, 16, "name of a bundle of cuda-oxide")?;
        let at = HEADER + name_size;
        let target = text(reader, at, target_size, 18, "target in a cuda-oxide bundle")?;
        let payloads = Records { start: at + target_size, count: payloads? };
        let entries = Records { start: payloads.end(), count: entries? };
        reader.range(
            payloads.start,
            entries.end() - payloads.start,
            20,
            "records of a bundle of cuda-oxide",
        )?;
        let bundle = Self { bytes, name, target, version, options, payloads, entries };
        let what = "bundle of cuda-oxide (its names share too many bytes)";
        let mut budget = Budget::new(bytes.len() as u64, SHARED_LIMIT, what);
        let mut spend = |text: &str, field: u64| {
            budget.spend(text.len() as u64).map_err(|error| error.shifted(field))
        };
        for (index, at) in (0..).zip(payloads.offsets()) {
            let payload = bundle.payload(at).map_err(|error| error.in_entry(index))?;
            spend(payload.name, at)?;
            // Listings repeat the bundle's name and target for each image.
            spend(name, 16)?;
            spend(target, 18)?;
        }
        for (index, at) in (0..).zip(entries.offsets()) {
            let entry = bundle.entry(at).map_err(|error| error.in_entry(index))?;
            spend(entry.symbol, at)?;
        }
        Ok(bundle)
    }

    /// Returns the consecutive bundles in a section or file, each with its offset in bytes. Between
    /// bundles, the iterator skips zeros. Iteration ends after the first error, or when only zeros
    /// are left.
    pub fn in_a_row(data: &'data [u8]) -> impl Iterator<Item = Result<(u64, Self)>> {
        in_a_row(data, 1, |rest| Self::parse(rest).map(|it| (it, it.bytes.len() as u64)))
    }

    /// Returns the payloads, in the order of their records.
    pub fn payloads(&self) -> impl Iterator<Item = OxartPayload<'data>> + Clone + use<'data> {
        let bundle = *self;
        // This cannot fail: `Oxart::parse` has read every record.
        self.payloads.offsets().filter_map(move |at| bundle.payload(at).ok())
    }

    /// Returns the functions, in the order of their records.
    pub fn entries(&self) -> impl Iterator<Item = OxartEntry<'data>> + Clone + use<'data> {
        let bundle = *self;
        self.entries.offsets().filter_map(move |at| bundle.entry(at).ok())
    }

    fn payload(&self, at: u64) -> Result<OxartPayload<'data>> {
        const PAYLOAD: &str = "payload of a bundle of cuda-oxide";
        let reader = Reader::new(self.bytes);
        let kind = PayloadKind(reader.u16(at, PAYLOAD)?);
        let offset = u64::from(reader.u32(at + 4, PAYLOAD)?);
        let size = u64::from(reader.u32(at + 8, PAYLOAD)?);
        let data = reader.range(offset, size, at + 4, PAYLOAD)?;
        let name = named(reader, at, "name of a payload of cuda-oxide")?;
        Ok(OxartPayload { kind, name, data, offset })
    }

    fn entry(&self, at: u64) -> Result<OxartEntry<'data>> {
        const ENTRY: &str = "entry of a bundle of cuda-oxide";
        let reader = Reader::new(self.bytes);
        let kind = EntryKind(reader.u16(at, ENTRY)?);
        let has_metadata = reader.u16(at + 2, ENTRY)? & 1 != 0;
        let metadata = reader.u64(at + 4, ENTRY)?;
        let symbol = named(reader, at, "symbol of an entry of cuda-oxide")?;
        Ok(OxartEntry { kind, symbol, metadata: has_metadata.then_some(metadata) })
    }
}

/// Returns the text that the record at `at` refers to in its last fields.
fn named<'data>(reader: Reader<'data>, at: u64, what: &'static str) -> Result<&'data str> {
    let (offset, size) = (reader.u32(at + 12, what)?, reader.u16(at + 16, what)?);
    text(reader, offset.into(), size.into(), at + 12, what)
}

/// Returns the text at `offset`. If the text is outside the bundle, the error reports the offset
/// `field`.
fn text<'data>(
    reader: Reader<'data>,
    offset: u64,
    size: u64,
    field: u64,
    what: &'static str,
) -> Result<&'data str> {
    let bytes = reader.range(offset, size, field, what)?;
    core::str::from_utf8(bytes).map_err(|_| Error::new(ErrorKind::Malformed, what, offset))
}

impl fmt::Debug for Oxart<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, target, version, options, .. } = self;
        write!(f, "{name} for {target}, version {version}, options {options:#x}:")?;
        for payload in self.payloads() {
            write!(f, " {payload:?}")?;
        }
        for OxartEntry { kind, symbol, metadata } in self.entries() {
            write!(f, " {kind} {symbol}")?;
            if let Some(metadata) = metadata {
                write!(f, " with {metadata:#x}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for OxartPayload<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} at {}, {} bytes", self.kind, self.name, self.offset, self.data.len())
    }
}
