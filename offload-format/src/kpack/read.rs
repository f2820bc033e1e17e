//! Reads `.kpack` files.

use super::MAGIC;
use crate::budget::Budget;
use crate::compression::{self, Method};
use crate::msgpack::Cursor;
use crate::reader::Reader;
use crate::{Error, ErrorKind, Result};
use alloc::borrow::Cow;
use alloc::vec::Vec;
use core::fmt;

const WHAT: &str = "kpack table";
const VERSION: u32 = 1;
const TABLE_OFFSET: u64 = 8;
/// The limit for the total size of the stored code objects, which may share bytes, as a multiple of
/// the file's size.
const SHARED_LIMIT: u64 = 8;

/// A `.kpack` file.
///
/// The table stores the names of code objects separately from their positions. Parsing joins both
/// in one list, which takes at most 16 times the table's size.
#[derive(Clone)]
pub struct Kpack<'data> {
    /// The name of the group of code objects that were packed together, for example `blas`.
    group: &'data str,
    /// The name of the processor family, as the packer spells it, such as `gfx110X`.
    pub family: &'data str,
    /// The compression of the code objects, as the file spells it: `none` or `zstd-per-kernel`.
    scheme: &'data str,
    targets: Vec<&'data str>,
    kernels: Vec<KpackKernel<'data>>,
}

/// The code object of one binary for one target.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct KpackKernel<'data> {
    /// The program or library, and the entry's number in it, such as `lib/libfoo.so#0`.
    pub binary: &'data str,
    /// The target ID of the code object, such as `gfx90a:xnack-`.
    pub target: &'data str,
    /// The kind, as the file spells it, such as `hsaco`.
    pub kind: &'data str,
    /// The bytes of the code object as stored in the file, compressed or not.
    pub stored: &'data [u8],
    /// The offset of [`KpackKernel::stored`] in bytes from the start of the file.
    pub offset: u64,
    /// The decompressed size in bytes, from the table.
    pub size: u64,
    /// Whether the code object is compressed with zstd.
    pub is_compressed: bool,
}

/// The table's values, and cursors at the start of its larger parts, because its keys may come in
/// any order.
#[derive(Default)]
struct Table<'data> {
    group: &'data str,
    family: &'data str,
    scheme: &'data str,
    targets: Vec<&'data str>,
    blobs: Option<Cursor<'data>>,
    zstd: (Option<u64>, Option<u64>),
    toc: Option<Cursor<'data>>,
}

impl<'data> Kpack<'data> {
    /// Reads the header and the table of a `.kpack` file.
    ///
    /// Returns an error if the bytes are not a kernel pack, if the version or the compression
    /// scheme is unknown, or if the table is malformed or refers to bytes outside the file. Nothing
    /// is decompressed.
    pub fn parse(data: &'data [u8]) -> Result<Self> {
        let reader = Reader::new(data);
        if !data.starts_with(&MAGIC) {
            return Err(Error::new(ErrorKind::BadMagic, "kpack file", 0));
        }
        let version = reader.u32(4, "kpack version")?;
        if version != VERSION {
            return Err(Error::new(
                ErrorKind::UnsupportedVersion { version: version.into() },
                "kpack file",
                4,
            ));
        }
        let at = reader.u64(TABLE_OFFSET, "offset of the kpack table")?;
        let table = reader.range(at, reader.len().saturating_sub(at), TABLE_OFFSET, WHAT)?;
        let table = Table::parse(table).map_err(|error| error.shifted(at))?;
        let shared = "kpack table (its kernels share too many bytes)";
        let budget = Budget::new(reader.len(), SHARED_LIMIT, shared);
        let kernels = table.kernels(&table.places(data, at)?, budget)?;
        let Table { group, family, scheme, targets, .. } = table;
        Ok(Self { group, family, scheme, targets, kernels })
    }

    /// Returns the target IDs listed in the file.
    pub fn targets(&self) -> &[&'data str] {
        &self.targets
    }

    /// Returns the code objects, in the order of the table.
    pub fn kernels(&self) -> &[KpackKernel<'data>] {
        &self.kernels
    }
}

/// The stored bytes of a code object, and their offset in the file.
type Place<'data> = (&'data [u8], u64);

impl<'data> Table<'data> {
    fn parse(bytes: &'data [u8]) -> Result<Self> {
        let mut cursor = Cursor::new(bytes, WHAT);
        let mut table = Self::default();
        for _ in 0..cursor.map(WHAT)? {
            match cursor.str("key of the kpack table")? {
                "format_version" if cursor.clone().uint(WHAT)? != u64::from(VERSION) => {
                    let version = cursor.uint(WHAT)?;
                    return Err(Error::new(
                        ErrorKind::UnsupportedVersion { version },
                        WHAT,
                        cursor.at(),
                    ));
                }
                "group_name" => table.group = cursor.str("group name of the kpack table")?,
                "gfx_arch_family" => table.family = cursor.str("family of the kpack table")?,
                "compression_scheme" => {
                    table.scheme = cursor.str("compression scheme of the kpack table")?
                }
                "gfx_arches" => {
                    for _ in 0..cursor.array("targets of the kpack table")? {
                        table.targets.push(cursor.str("target of the kpack table")?);
                    }
                }
                "zstd_offset" => {
                    table.zstd.0 = Some(cursor.uint("zstd_offset of the kpack table")?)
                }
                "zstd_size" => table.zstd.1 = Some(cursor.uint("zstd_size of the kpack table")?),
                "blobs" => {
                    table.blobs = Some(cursor);
                    cursor.skip()?;
                }
                "toc" => {
                    table.toc = Some(cursor);
                    cursor.skip()?;
                }
                _ => cursor.skip()?,
            }
        }
        Ok(table)
    }

    /// Returns the stored bytes and offsets of the code objects, indexed by ordinal. `at` is the
    /// table's offset in the file.
    fn places(&self, data: &'data [u8], at: u64) -> Result<Vec<Place<'data>>> {
        let reader = Reader::new(data);
        let mut places = Vec::new();
        match (self.scheme, &self.blobs, self.zstd) {
            ("none", Some(blobs), _) => {
                let mut cursor = *blobs;
                let shifted = |error: Error| error.shifted(at);
                for _ in 0..cursor.array("blobs of the kpack table").map_err(shifted)? {
                    let field = at + cursor.at();
                    let (offset, size) = blob(&mut cursor).map_err(shifted)?;
                    places.push((reader.range(offset, size, field, "kpack code object")?, offset));
                }
            }
            ("zstd-per-kernel", _, (Some(start), Some(size))) => {
                const STREAMS: &str = "kpack streams";
                let streams = Reader::new(reader.range(start, size, at, STREAMS)?);
                let shifted = |error: Error| error.shifted(start);
                let mut inside = 4;
                for _ in 0..streams.u32(0, STREAMS).map_err(shifted)? {
                    let size = u64::from(streams.u32(inside, STREAMS).map_err(shifted)?);
                    let stream =
                        streams.range(inside + 4, size, inside, STREAMS).map_err(shifted)?;
                    places.push((stream, start + inside + 4));
                    inside += 4 + size;
                }
            }
            ("none" | "zstd-per-kernel", ..) => {
                return Err(Error::new(
                    ErrorKind::Malformed,
                    "kpack table (without its blobs or streams)",
                    at,
                ));
            }
            _ => {
                return Err(Error::new(
                    ErrorKind::Malformed,
                    "compression scheme of the kpack table (unknown)",
                    at,
                ));
            }
        }
        Ok(places)
    }

    fn kernels(
        &self,
        places: &[Place<'data>],
        mut budget: Budget,
    ) -> Result<Vec<KpackKernel<'data>>> {
        let mut kernels = Vec::new();
        let Some(mut cursor) = self.toc else { return Ok(kernels) };
        for _ in 0..cursor.map("toc of the kpack table")? {
            let binary = cursor.str("binary in the kpack table")?;
            for _ in 0..cursor.map("targets of a binary in the kpack table")? {
                let target = cursor.str("target in the kpack table")?;
                let kernel = self.kernel(binary, target, &mut cursor, places).and_then(|kernel| {
                    budget.spend(kernel.stored.len() as u64)?;
                    Ok(kernel)
                });
                let index = kernels.len() as u64;
                kernels.push(kernel.map_err(|error| error.in_entry(index))?);
            }
        }
        Ok(kernels)
    }

    fn kernel(
        &self,
        binary: &'data str,
        target: &'data str,
        cursor: &mut Cursor<'data>,
        places: &[Place<'data>],
    ) -> Result<KpackKernel<'data>> {
        let (mut kind, mut ordinal, mut original) = ("", None, None);
        for _ in 0..cursor.map("kernel in the kpack table")? {
            match cursor.str("key of a kernel in the kpack table")? {
                "type" => kind = cursor.str("type of a kernel")?,
                "ordinal" => ordinal = Some(cursor.uint("ordinal of a kernel")?),
                "original_size" => original = Some(cursor.uint("original_size of a kernel")?),
                _ => cursor.skip()?,
            }
        }
        let place = ordinal.and_then(|ordinal| places.get(usize::try_from(ordinal).ok()?));
        let Some(&(stored, offset)) = place else {
            return Err(cursor.wrong("ordinal of a kernel (no such blob)"));
        };
        let is_compressed = self.scheme != "none";
        let size = match (is_compressed, original) {
            (false, _) => stored.len() as u64,
            (true, Some(size)) => size,
            (true, None) => return Err(cursor.wrong("kernel without original_size")),
        };
        Ok(KpackKernel { binary, target, kind, stored, offset, size, is_compressed })
    }
}

/// Whether `binary`, a name from a table, belongs to the program or library `name`. The number
/// after `#` may be missing.
///
/// ```
/// use offload_format::kpack::is_binary_of;
///
/// assert!(is_binary_of("lib/libfoo.so#0", "lib/libfoo.so"));
/// ```
pub fn is_binary_of(binary: &str, name: &str) -> bool {
    binary.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('#'))
}

/// Reads the offset and size of a blob.
fn blob(cursor: &mut Cursor<'_>) -> Result<(u64, u64)> {
    let (mut offset, mut size) = (0, 0);
    for _ in 0..cursor.map("blob of the kpack table")? {
        match cursor.str("key of a blob")? {
            "offset" => offset = cursor.uint("offset of a blob")?,
            "size" => size = cursor.uint("size of a blob")?,
            _ => cursor.skip()?,
        }
    }
    Ok((offset, size))
}

impl<'data> KpackKernel<'data> {
    /// Returns the code object, decompressed.
    ///
    /// Returns an error if the size exceeds `limit` bytes, if zstd was not built in, if the stream
    /// is damaged, or if the decompressed size differs from the size in the table.
    pub fn read(&self, limit: u64) -> Result<Cow<'data, [u8]>> {
        const OBJECT: &str = "kpack code object";
        if !self.is_compressed {
            return Ok(Cow::Borrowed(self.stored));
        }
        let bytes = compression::decompress(
            Method::Zstd,
            self.stored,
            self.size,
            limit,
            OBJECT,
            self.offset,
        )?;
        if bytes.len() as u64 == self.size {
            Ok(Cow::Owned(bytes))
        } else {
            Err(Error::new(
                ErrorKind::Malformed,
                "kpack code object (shorter than the kpack table states)",
                self.offset,
            ))
        }
    }
}

impl fmt::Debug for Kpack<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} by {}: {:?}", self.group, self.scheme, self.kernels)
    }
}

impl fmt::Debug for KpackKernel<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} for {}: {} bytes at {}",
            self.binary,
            self.target,
            self.stored.len(),
            self.offset
        )
    }
}
