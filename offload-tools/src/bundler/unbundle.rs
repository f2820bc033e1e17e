//! The `-unbundle` option, except for archives.

use super::contents::{self, Carrier, Copier, Entry, Group};
use super::options::Work;
use super::settings::Settings;
use super::{Failure, FileType, Options, objcopy, open, targets, write};
use crate::files::{Output, PayloadSource};
use crate::text::escaped_str;
use offload_format::bundle::{Compatibility, EntryId};
use offload_format::object_bundle;
use std::ffi::OsStr;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Writes the code object for each target to its output.
///
/// Assigns each entry, in file order, to the first compatible target that has no entry yet. Even if
/// no entry fits a target, the outputs of the other targets are written.
pub(super) fn unbundle(options: &Options) -> Result<(), Failure> {
    let requested = targets::check(options, Work::Unbundle)?;
    let settings = Settings::read(options);
    let path = &options.inputs[0];
    let input = open(path)?;
    let groups =
        contents::read(&input, path, FileType::parse(&options.file_type)?, settings.verbose)?;

    let mut unserved: Vec<usize> = (0..requested.len()).collect();
    for group in &groups {
        let (found, problem) = find(options, group, &requested, &mut unserved);
        extract(options, group, found)?;
        problem.map_or(Ok(()), Err)?;
    }
    if !unserved.is_empty() && !options.allow_missing_bundles {
        return Err(missing(&requested, &unserved));
    }
    let nothing_found = unserved.len() == requested.len();
    for target in unserved {
        // If no entry fits any target, the host gets the whole file, because a file that is not a
        // bundle belongs to the host.
        let is_own = nothing_found && requested[target].is_host();
        write(&options.outputs[target], |output| {
            if is_own {
                copy_whole(options, &groups[0].carrier, output, &options.outputs[target])
            } else {
                Ok(())
            }
        })?;
    }
    Ok(())
}

/// Matches a group's entries with the targets in `unserved`, and removes each matched target.
/// Returns the matching entries, each with its target's index in `requested`. If an entry has an
/// invalid ID, stops the search and also returns a failure.
fn find<'a>(
    options: &Options,
    group: &'a Group<'_>,
    requested: &[EntryId<'_>],
    unserved: &mut Vec<usize>,
) -> (Vec<(&'a Entry, usize)>, Option<Failure>) {
    let mut found = Vec::new();
    for entry in &group.entries {
        if unserved.is_empty() && !options.explain {
            break;
        }
        let Ok(id) = EntryId::parse(&entry.id) else {
            if unserved.is_empty() {
                break;
            }
            let id = escaped_str(&entry.id);
            let hint = format!(
                "'{}' contains an entry with the ID '{id}'",
                options.inputs[0].to_string_lossy()
            );
            return (
                found,
                Some(Failure::new("invalid bundle id read from the bundle").hint(hint)),
            );
        };
        if let Some(at) = unserved.iter().position(|target| fits(options, &id, &requested[*target]))
        {
            found.push((entry, unserved.remove(at)));
        } else if options.explain
            && requested
                .iter()
                .any(|it| id.provides_for(it, options.hip_openmp_compatible).is_compatible())
        {
            eprintln!(
                "Not written: '{}' also matches, but an earlier entry matches the same target. \
                 To write all matches, use 'cargo offload extract'",
                escaped_str(&entry.id)
            );
        }
    }
    (found, None)
}

/// Whether an entry fits a target; with `-debug-only`, prints the reason.
pub(super) fn fits(options: &Options, provided: &EntryId<'_>, requested: &EntryId<'_>) -> bool {
    let compatibility = provided.provides_for(requested, options.hip_openmp_compatible);
    if options.explain {
        let why = match compatibility {
            Compatibility::Exact => "Compatible: Exact match:",
            Compatibility::Compatible => "Compatible: Target IDs are compatible",
            Compatibility::KindOrTriple => "Incompatible: Kind/Triple mismatch",
            Compatibility::Processor => "Incompatible: Processor mismatch",
            Compatibility::MoreFeatures => "Incompatible: CodeObject has more features than target",
            Compatibility::OpenFeature => {
                "Incompatible: Value of CodeObject's non-ANY feature is not matching with Target feature's ANY value"
            }
            Compatibility::OtherSign => {
                "Incompatible: Value of CodeObject's non-ANY feature is not matching with Target feature's non-ANY value"
            }
        };
        let (provided, requested) =
            (escaped_str(&provided.to_canonical()), requested.to_canonical());
        eprintln!("{why} \t[CodeObject: {provided}]\t:\t[Target: {requested}]");
    }
    compatibility.is_compatible()
}

fn missing(requested: &[EntryId<'_>], missing: &[usize]) -> Failure {
    let mut ids: Vec<String> =
        missing.iter().map(|target| requested[*target].to_canonical()).collect();
    ids.sort_unstable();
    let list = match &ids[..] {
        [one] => one.clone(),
        [one, other] => format!("{one} and {other}"),
        [most @ .., last] => format!("{}, and {last}", most.join(", ")),
        [] => unreachable!("called only if a bundle is missing"),
    };
    Failure::new(format!("Can't find bundles for {list}"))
}

/// Writes each entry in `found` to its target's output.
fn extract(
    options: &Options,
    group: &Group<'_>,
    mut found: Vec<(&Entry, usize)>,
) -> Result<(), Failure> {
    // Sort by offset, so that all bytes can be decompressed in one pass.
    found.sort_by_key(|(entry, _)| entry.range.start);
    let sizes = found.iter().map(|(entry, _)| entry.range.end - entry.range.start);
    let size = sizes.fold(0, u64::saturating_add);
    let decompressed = group.carrier.decompressed(size, &options.inputs[0])?;
    let carrier = decompressed.as_ref().unwrap_or(&group.carrier);
    let next = AtomicUsize::new(0);
    let work = || {
        let mut copier = Copier::new(carrier);
        while let Some((entry, target)) = found.get(next.fetch_add(1, Ordering::Relaxed)) {
            extract_one(options, entry, *target, &mut copier)?;
        }
        Ok(())
    };
    // Copy in parallel if there are many bytes, except from a stream, which can have only one
    // reader.
    let workers = match carrier {
        Carrier::Stream(_) => 1,
        _ if size < WORTH_A_THREAD => 1,
        _ => thread::available_parallelism().map_or(1, NonZero::get).min(found.len()),
    };
    thread::scope(|scope| {
        let others: Vec<_> = (1..workers).map(|_| scope.spawn(work)).collect();
        let own = work();
        others
            .into_iter()
            .map(|other| other.join().expect("a copy does not panic"))
            .chain([own])
            .collect()
    })
}

/// From this many bytes on, copying takes longer than starting a thread.
const WORTH_A_THREAD: u64 = 4 << 20;

fn extract_one(
    options: &Options,
    entry: &Entry,
    target: usize,
    copier: &mut Copier<'_>,
) -> Result<(), Failure> {
    let (from, to) = (&options.inputs[0], &options.outputs[target]);
    write(to, |output| {
        if !entry.is_host_placeholder {
            return copier.copy(entry.range.clone(), output, from, to);
        }
        if options.print_commands {
            objcopy::print_strip(options, from);
            return Ok(());
        }
        let object = copier.carrier.bytes().expect("only an object contains the host's code, too");
        let host =
            object_bundle::strip(object).map_err(|error| Failure::of_content(from, &error))?;
        output.copy(&PayloadSource::Bytes(&host)).map_err(|error| Failure::of_file(to, &error))
    })
}

/// Writes all bytes of the input file to `output`. If the file is compressed, decompresses them.
fn copy_whole(
    options: &Options,
    carrier: &Carrier<'_>,
    output: &mut Output,
    to: &OsStr,
) -> Result<(), Failure> {
    let size = match carrier {
        Carrier::Stream(bundle) => bundle.uncompressed_size,
        _ => carrier.bytes().map_or(0, |bytes| bytes.len() as u64),
    };
    Copier::new(carrier).copy(0..size, output, &options.inputs[0], to)
}
