//! Extracts device-specific archives from a heterogeneous archive.

use super::member_symbols;
use crate::archive::{ArchiveBuilder, WriteError};
use crate::bundle::{self, Bundle, EntryId};
use crate::compressed::{self, CompressedBundle};
use crate::layout::Layout;
use crate::object_bundle::{self, ObjectBundle};
use crate::{Error, ErrorKind, Result};
use alloc::borrow::Cow;
use alloc::vec::Vec;

/// Options of [`unbundle`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnbundleOptions {
    /// Whether a HIP code object may be used for an OpenMP target, and vice versa.
    pub hip_openmp_compatible: bool,
    /// The maximum number of bytes to allocate. The limit applies to each decompressed member and,
    /// separately, to the total of all copies: the members' names, and code objects that cannot be
    /// borrowed because they were compressed or are host objects.
    pub limit: u64,
}

/// By default, HIP and OpenMP are separate, and the limit is 4 GiB.
impl Default for UnbundleOptions {
    fn default() -> Self {
        Self { hip_openmp_compatible: false, limit: 1 << 32 }
    }
}

/// Extracts the code objects for each requested target from the members, as
/// `clang-offload-bundler -type=a -unbundle` does. Returns an archive for each target, in the order
/// of `requested`, with all code objects that fit the target ([`EntryId::provides_for`]), in the
/// order of the members and their entries. An empty archive means that no code object fits its
/// target.
///
/// `members` are the names and bytes of the heterogeneous archive's members: [`Member::name`] and
/// [`Member::data`], or the contents of the files that a thin archive refers to. Members without a
/// bundle are skipped.
///
/// Returns an error if a bundle or an entry's ID is malformed, or if the allocations would exceed
/// the options' limit. The error contains the number of the member, and an offset from the start of
/// the decompressed member.
///
/// ```
/// use offload_format::archive::Archive;
/// use offload_format::bundle::EntryId;
/// use offload_format::device_archive::unbundle;
///
/// let file = include_bytes!("../../corpus/lib.a");
/// let archive = Archive::parse(file).unwrap();
/// let members = archive.members().filter_map(|member| Some((member.name, member.data?)));
/// let requested = [EntryId::parse("openmp-amdgcn-amd-amdhsa--gfx906").unwrap()];
/// let archives = unbundle(members, &requested, &Default::default()).unwrap();
/// let names: Vec<_> = archives[0].members().map(|(name, _)| name).collect();
/// assert_eq!(names, [b"func_1-openmp-amdgcn-amd-amdhsa--gfx906func_1.bc"]);
/// ```
///
/// [`Member::name`]: crate::archive::Member::name
/// [`Member::data`]: crate::archive::Member::data
pub fn unbundle<'data>(
    members: impl IntoIterator<Item = (&'data [u8], &'data [u8])>,
    requested: &[EntryId<'_>],
    options: &UnbundleOptions,
) -> Result<Vec<DeviceArchive<'data>>> {
    let archives = requested.iter().map(|_| DeviceArchive { members: Vec::new() }).collect();
    let mut taken = Taken { requested, options, archives, left: options.limit };
    for (index, (name, data)) in (0..).zip(members) {
        taken.take(name, data).map_err(|error| error.in_entry(index))?;
    }
    Ok(taken.archives)
}

struct Taken<'data, 'a> {
    requested: &'a [EntryId<'a>],
    options: &'a UnbundleOptions,
    archives: Vec<DeviceArchive<'data>>,
    /// How many more bytes may be allocated for names and code objects.
    left: u64,
}

impl<'data> Taken<'data, '_> {
    fn take(&mut self, name: &[u8], data: &'data [u8]) -> Result<()> {
        if data.starts_with(&compressed::MAGIC) {
            let decompressed = CompressedBundle::parse(data)?.decompress(self.options.limit)?;
            self.take_entries(name, &decompressed, |bytes| Cow::Owned(bytes.to_vec()))
        } else {
            self.take_entries(name, data, Cow::Borrowed)
        }
    }

    /// Adds the code objects for the requested targets from `data` (the uncompressed contents of
    /// the member `name`) to the archives. `keep` returns a code object's bytes in a form that
    /// outlives `data`.
    fn take_entries<'a>(
        &mut self,
        name: &[u8],
        data: &'a [u8],
        keep: impl Fn(&'a [u8]) -> Cow<'data, [u8]>,
    ) -> Result<()> {
        // The host object without its bundle, computed at most once, and only if a host entry is
        // requested.
        let mut host = None;
        let mut take = |id: &'a str, code_object: &'a [u8], is_host: bool| -> Result<()> {
            let parsed = EntryId::parse(id)
                .map_err(|_| Error::new(ErrorKind::Malformed, "bundle entry ID", 0))?;
            for (archive, requested) in self.archives.iter_mut().zip(self.requested) {
                if !parsed
                    .provides_for(requested, self.options.hip_openmp_compatible)
                    .is_compatible()
                {
                    continue;
                }
                let bytes = if is_host {
                    Cow::Owned(match &host {
                        Some(stripped) => Vec::clone(stripped),
                        None => host.insert(object_bundle::strip(data)?).clone(),
                    })
                } else {
                    keep(code_object)
                };
                let name = member_name(name, id, parsed.target());
                let copied = if let Cow::Owned(copy) = &bytes { copy.len() } else { 0 };
                let (need, limit) = ((name.len() + copied) as u64, self.left);
                self.left = limit.checked_sub(need).ok_or_else(|| {
                    Error::new(
                        ErrorKind::LimitExceeded { need, limit },
                        "code objects of an archive",
                        0,
                    )
                })?;
                archive.members.push((name, bytes));
            }
            Ok(())
        };
        match ObjectBundle::parse(data) {
            Ok(bundle) => bundle.entries().try_for_each(|entry| {
                take(entry.id_str, entry.code_object, entry.is_host_placeholder())
            }),
            Err(error) if error.kind() != ErrorKind::BadMagic => Err(error),
            Err(_) if data.starts_with(bundle::MAGIC) => Bundle::parse(data)?
                .entries()
                .try_for_each(|entry| take(entry.id_str, entry.code_object, false)),
            Err(_) => Ok(()),
        }
    }
}

/// Returns a code object's name in the archive for its target. `member` is the name of the member
/// that contains the code object, `id` the bundle entry ID, and `target` the target ID.
fn member_name(member: &[u8], id: &str, target: &str) -> Vec<u8> {
    let file_name = member.rsplit(|byte| *byte == b'/').next().unwrap_or(member);
    let dot = file_name
        .iter()
        .rposition(|byte| *byte == b'.')
        .filter(|_| !matches!(file_name, b"." | b".."));
    let (stem, extension) = file_name.split_at(dot.unwrap_or(file_name.len()));
    let extension = if target.contains("gfx") {
        b".bc"
    } else if target.contains("sm_") {
        b".cubin"
    } else {
        extension
    };
    let mut name = [stem, b"-", id.as_bytes(), stem, extension].concat();
    name.iter_mut().filter(|byte| **byte == b':').for_each(|byte| *byte = b'_');
    name
}

fn what_is_wrong(error: &WriteError) -> &'static str {
    match error {
        WriteError::Name(_) => "name of an archive member",
        WriteError::SymbolName(_) => "name of a symbol",
        WriteError::Size(_) => "size of an archive member",
    }
}

/// An archive with the code objects for one target, returned by [`unbundle`].
#[derive(Debug, Clone)]
pub struct DeviceArchive<'data> {
    members: Vec<(Vec<u8>, Cow<'data, [u8]>)>,
}

impl DeviceArchive<'_> {
    /// Whether no code object was found for the target.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Returns the names and code objects of the members. Several members may have the same name.
    pub fn members(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.members.iter().map(|(name, bytes)| (name.as_slice(), bytes.as_ref()))
    }

    /// Returns the archive's layout, with the symbols that [`member_symbols`] finds. Payloads are
    /// numbered like the members, from 0.
    ///
    /// Returns an error if a code object's symbol table is malformed, or if the archive format
    /// cannot store a name or a size. The error contains the number of the member in this archive.
    pub fn layout(&self) -> Result<Layout> {
        let mut builder = ArchiveBuilder::new();
        for (index, (name, bytes)) in (0..).zip(self.members()) {
            let symbols = member_symbols(bytes).map_err(|error| error.in_entry(index))?;
            let added = match symbols {
                Some(symbols) => builder.object(name, bytes.len() as u64, symbols),
                None => builder.member(name, bytes.len() as u64),
            };
            added.map_err(|error| {
                Error::new(ErrorKind::Malformed, what_is_wrong(&error), 0).in_entry(index)
            })?;
        }
        Ok(builder.layout())
    }

    /// Returns the archive as bytes. To learn its size in advance, call [`DeviceArchive::layout`].
    ///
    /// Returns an error in the same cases as [`DeviceArchive::layout`].
    pub fn to_vec(&self) -> Result<Vec<u8>> {
        let payloads: Vec<&[u8]> = self.members().map(|(_, bytes)| bytes).collect();
        Ok(self.layout()?.to_vec(&payloads))
    }
}
