//! `-type=a -unbundle`: extracts the library for one target from a library for many targets.

use super::contents;
use super::options::Work;
use super::settings::Settings;
use super::{Failure, FileType, Options, open, targets, unbundle, verbose, write};
use crate::files::{Input, MEMORY_LIMIT, PayloadSource};
use crate::text::escaped;
use offload_format::archive::{self, Archive};
use offload_format::bundle::{Composition, EntryId};
use offload_format::compressed::{CompressedBundle, MAGIC};
use offload_format::device_archive::{self, UnbundleOptions};
use offload_format::{Error, ErrorKind};
use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::Path;

/// A member's name, and its content.
type Member<'a> = (&'a [u8], &'a [u8]);

/// Writes one archive per target, with the members' code objects that fit the target.
pub(super) fn unbundle(options: &Options) -> Result<(), Failure> {
    let requested = targets::check(options, Work::Unbundle)?;
    let settings = Settings::read(options);
    let path = &options.inputs[0];
    let input = open(path)?;
    let archive = Archive::parse(input.bytes()).map_err(|error| malformed(&error, input.size()))?;
    let outside = thin_members(&archive, path)?;
    let mut outside_members = outside.iter();
    let members: Vec<Member<'_>> = archive
        .members()
        .map(|member| {
            let data = member.data.unwrap_or_else(|| {
                outside_members.next().expect("every thin member was opened").bytes()
            });
            (member.name, data)
        })
        .collect();
    if options.check_input_archive {
        members.iter().try_for_each(|member| check(*member, path))?;
    }
    if settings.verbose || options.explain {
        members.iter().try_for_each(|member| say(options, &settings, &requested, *member))?;
    }

    let mut unbundling = UnbundleOptions::default();
    unbundling.hip_openmp_compatible = options.hip_openmp_compatible;
    unbundling.limit = MEMORY_LIMIT;
    let archives = device_archive::unbundle(members.iter().copied(), &requested, &unbundling)
        .map_err(|error| of_member(&error, &members, path))?;
    for ((archive, output), target) in archives.iter().zip(&options.outputs).zip(&requested) {
        if archive.is_empty() && !options.allow_missing_bundles {
            let (target, library) = (target.to_canonical(), path.to_string_lossy());
            return Err(Failure::new(format!(
                "no compatible code object found for the target '{target}' in heterogeneous archive library: {library}"
            )));
        }
        let layout = archive.layout().map_err(|error| of_member(&error, &members, path))?;
        let sources: Vec<PayloadSource<'_>> =
            archive.members().map(|(_, bytes)| PayloadSource::Bytes(bytes)).collect();
        write(output, |file| {
            file.layout(&layout, &sources).map_err(|error| Failure::of_file(output, &error))
        })?;
    }
    Ok(())
}

/// Opens the files of a thin archive's members. The members' paths are relative to the archive's
/// folder.
fn thin_members(archive: &Archive<'_>, path: &OsStr) -> Result<Vec<Input>, Failure> {
    let folder = Path::new(path).parent().unwrap_or(Path::new(""));
    let outside = archive.members().filter(|member| member.data.is_none());
    let open = |member: archive::Member<'_>| {
        let name = String::from_utf8_lossy(member.name);
        Input::open_thin_member(&folder.join(&*name))
            .map_err(|error| Failure::of_member(member.name, &error))
    };
    outside.map(open).collect()
}

/// Returns LLVM's message for a damaged archive, followed by this tool's own message.
fn malformed(error: &Error, size: u64) -> Failure {
    // LLVM prints this message for every file that is not an archive.
    if error.kind() == ErrorKind::BadMagic || size < archive::MAGIC.len() as u64 {
        Failure::new("file too small to be an archive")
    } else {
        Failure::new(format!("truncated or malformed archive ({error})"))
    }
}

/// Returns the failure for an error in a member, or in an archive made from members.
fn of_member(error: &Error, members: &[Member<'_>], path: &OsStr) -> Failure {
    let member = error.entry().and_then(|index| members.get(usize::try_from(index).ok()?));
    let name = member.map_or("a member".to_owned(), |(name, _)| escaped(name));
    let hint = format!("'{}': {name}: {error}", path.to_string_lossy());
    match (error.kind(), error.part()) {
        (ErrorKind::Malformed, "bundle entry ID") => Failure::new("Invalid bundle id read from code object").hint(hint),
        (ErrorKind::Compression { reason }, _) => Failure::new(format!(
            "Failed to decompress code object: Could not decompress embedded file contents: {reason}"
        ))
        .hint(hint),
        _ => Failure::new(hint),
    }
}

/// Returns the entries of an uncompressed member. Returns none if the member is not a bundle, or is
/// damaged, because unbundling reports the damage.
fn entries(data: &[u8]) -> Vec<contents::Entry> {
    contents::entries(data, FileType::Object).unwrap_or_default()
}

/// Checks that a member's target IDs may be in one bundle, as `-check-input-archive` requires.
fn check((name, data): Member<'_>, path: &OsStr) -> Result<(), Failure> {
    let entries = entries(data);
    let ids = entries.iter().map(|entry| entry.id.as_str());
    // The first check is LLVM 22's: it compares only entries with the same kind and triple, and its
    // message contains the entry IDs. The second check is that of LLVM's main branch: it also
    // compares entries of different kinds, and its message contains the target IDs.
    let conflict = Composition::find_conflict(ids.clone());
    match conflict.or_else(|| Composition::find_conflict_across_kinds(ids)) {
        None => Ok(()),
        Some((a, b)) => {
            let (name, library) = (escaped(name), path.to_string_lossy());
            Err(Failure::new(format!(
                "conflicting TargetIDs [{a}, {b}] found in {name} of {library}"
            )))
        }
    }
}

/// Prints what `-verbose` and `-debug-only` print about a member.
fn say(
    options: &Options,
    settings: &Settings,
    requested: &[EntryId<'_>],
    (name, data): Member<'_>,
) -> Result<(), Failure> {
    let decompressed = if data.starts_with(&MAGIC) {
        let begun = std::time::Instant::now();
        let bundle = CompressedBundle::parse(data);
        let bundle =
            bundle.and_then(|bundle| bundle.decompress(MEMORY_LIMIT).map(|bytes| (bundle, bytes)));
        let (bundle, bytes) =
            bundle.map_err(|error| of_member(&error, &[(name, data)], OsStr::new("archive")))?;
        if settings.verbose {
            verbose::decompressed(&bundle, &bytes, begun.elapsed());
        }
        Cow::Owned(bytes)
    } else {
        if settings.verbose {
            verbose::uncompressed();
        }
        Cow::Borrowed(data)
    };
    if options.explain {
        let entries = entries(&decompressed);
        for id in entries.iter().filter_map(|entry| EntryId::parse(&entry.id).ok()) {
            for target in requested {
                unbundle::fits(options, &id, target);
            }
        }
    }
    Ok(())
}
