//! `cargo offload ls`: lists the containers, images and kernels in files.

mod kernels;
mod table;

use super::progress::Progress;
use super::walk::Visited;
use super::{Context, Result, out};
use crate::describe::{FileRecord, ImageRecord, problem_text};
use crate::files::Input;
use crate::text::{self, FAINT, HEADING, styled};
use crate::unpack::Archive;
use offload_format::inventory::Images;
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Arguments of `cargo offload ls`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Wheels, zip and tar archives, crates, and packages of Debian and conda are \
    unpacked; `-` is standard input. In JSON, a FILE has 'file', 'size' and 'images'; an archive \
    has 'archive' (its kind) and 'files' (those with device code). For several FILEs, or for a \
    FILE whose code objects are in kernel packs beside it, JSON is an array. The exit status is 1 \
    if something in a file cannot be read; the rest is still listed."
)]
pub struct Args {
    /// Executables, libraries, objects, bundles, fatbins, code objects, wheels and other archives
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Also show the kernels of each image, and their parameters
    #[arg(short, long)]
    kernels: bool,
    /// Show sizes and offsets in bytes
    #[arg(short, long)]
    bytes: bool,
    /// Print JSON with all known details
    #[arg(long, conflicts_with_all = ["kernels", "bytes"])]
    json: bool,
}

/// Lists the containers and images in files.
pub fn run(args: &Args, context: &Context) -> Result {
    let mut out = out::stdout();
    let mut records = Vec::new();
    for (number, path) in args.files.iter().enumerate() {
        let Some(input) = context.open_or_report(path, &mut out)? else { continue };
        if number > 0 && !args.json {
            writeln!(out)?;
        }
        list_file(&mut out, args, context, path, &input, &mut records)?;
    }
    if args.json {
        match &records[..] {
            [] if args.files.len() == 1 => {}
            [record] if args.files.len() == 1 => print_json(&mut out, record)?,
            records => print_json(&mut out, &records)?,
        }
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Lists a FILE with its kernel packs. For an archive, prints the totals, and lists each file that
/// contains device code.
fn list_file(
    out: &mut out::Out,
    args: &Args,
    context: &Context,
    path: &Path,
    input: &Input,
    records: &mut Vec<Record>,
) -> Result<()> {
    let archive = Archive::of(input.bytes());
    // An archive's totals are printed before its files but known only after all files are read, so
    // buffer the output for the files. Messages on standard error follow all output for the FILE.
    let (mut listing, mut files) = (Vec::new(), Vec::new());
    let (mut warnings, mut notes) = (Vec::new(), Vec::new());
    let summary = context.walk(path, input, archive.as_ref(), false, |file| {
        for (number, file) in [file].into_iter().chain(&file.packs(context)).enumerate() {
            let is_apart = archive.is_some() || number > 0;
            let to: &mut dyn Write = if archive.is_some() { &mut listing } else { &mut *out };
            if is_apart && !args.json {
                writeln!(to)?;
            }
            let (record, problems) = list(to, args, context, file)?;
            files.extend(record);
            warnings.extend(problems.into_iter().map(|problem| (file.shown.clone(), problem)));
        }
        warnings.extend(file.beside.problems.iter().map(|it| (file.shown.clone(), it.clone())));
        notes.extend(file.elsewhere("listed"));
        Ok(())
    })?;
    match archive {
        None => records.extend(files.into_iter().map(Record::File)),
        Some(archive) if args.json => records.push(Record::Archive(ArchiveRecord {
            file: path.to_string_lossy().into_owned(),
            size: input.size(),
            archive: archive.kind(),
            files,
        })),
        Some(archive) => {
            let size = |size| size_text(size, args.bytes);
            let facts = format!("{}, {}", size(input.size()), summary.description(&archive, size));
            let name = text::escaped_path(path);
            writeln!(out, "{}  {}", styled(HEADING, &name), styled(FAINT, &facts))?;
            out.write_all(&listing)?;
        }
    }
    out.flush()?;
    warnings.iter().for_each(|(file, problem)| context.warn(file, problem));
    notes.iter().for_each(|note| out::note(note));
    summary.report(context, path);
    Ok(())
}

/// Prints the table of one file or, with `--json`, returns its JSON record. Also returns the
/// unreadable parts.
fn list(
    out: &mut dyn Write,
    args: &Args,
    context: &Context,
    file: &Visited<'_>,
) -> Result<(Option<FileRecord>, Vec<String>)> {
    let mut problems: Vec<String> = file.inventory.problems.iter().map(problem_text).collect();
    if args.json {
        return Ok((Some(record(file, context, &mut problems)), problems));
    }
    table::print(out, file, args, context.max_size, &mut problems)?;
    Ok((None, problems))
}

/// The JSON record of a file from the command line.
#[derive(Serialize)]
#[serde(untagged)]
enum Record {
    File(FileRecord),
    Archive(ArchiveRecord),
}

/// The JSON record of an archive.
#[derive(Serialize)]
struct ArchiveRecord {
    file: String,
    size: u64,
    /// The kind of the archive: `zip`, `tar.gz`, `deb`.
    archive: String,
    /// The files in the archive that contain device code.
    files: Vec<FileRecord>,
}

/// Returns a file's JSON record. Adds the unreadable parts to `problems`.
fn record(file: &Visited<'_>, context: &Context, problems: &mut Vec<String>) -> FileRecord {
    let inventory = &file.inventory;
    let mut images = Images::new(context.max_size);
    let sizes = inventory.images.iter().map(|image| image.size);
    let mut progress = Progress::new("reading images", sizes);
    let mut records = Vec::new();
    for image in &inventory.images {
        let (record, error) = ImageRecord::new(inventory, image, &mut images);
        problems.extend(error.map(|error| problem_text(&inventory.problem_of(image, error))));
        records.push(record);
        progress.add(image.size);
    }
    FileRecord {
        file: String::from_utf8_lossy(file.name).into_owned(),
        size: file.input.size(),
        images: records,
    }
}

/// Prints JSON. Escapes characters that a terminal may interpret or cannot show.
pub(super) fn print_json(out: &mut out::Out, value: &impl serde::Serialize) -> Result<()> {
    let document = serde_json::to_string_pretty(value).map_err(std::io::Error::from)?;
    // In JSON, the characters that `is_invisible` detects occur only in strings.
    let mut rest = document.as_str();
    while let Some((at, c)) = rest.char_indices().find(|(_, c)| text::is_invisible(*c)) {
        out.write_all(&rest.as_bytes()[..at])?;
        c.encode_utf16(&mut [0; 2]).iter().try_for_each(|unit| write!(out, "\\u{unit:04x}"))?;
        rest = &rest[at + c.len_utf8()..];
    }
    out.write_all(rest.as_bytes())?;
    writeln!(out)?;
    Ok(())
}

fn size_text(size: u64, bytes: bool) -> String {
    if bytes { size.to_string() } else { text::size(size) }
}
