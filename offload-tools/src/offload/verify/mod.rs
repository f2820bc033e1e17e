//! `cargo offload verify`: runs all checks.
//!
//! | module | checks |
//! |---|---|
//! | `check` | (the table of checks, and the format of findings) |
//! | `containers` | sizes, hashes, positions |
//! | `bundles` | the entries of bundles: their names, and the requirements of HIP's runtime |
//! | `images` | an image's bytes against the information in its container |
//! | `parameters` | the parameters of kernels with the same name in a module |
//! | `wrappers` | the data that a program passes to its runtime |

mod bundles;
mod check;
mod containers;
mod images;
mod parameters;
mod wrappers;

use super::progress::Progress;
use super::reach::{Asked, Found};
use super::walk::Visited;
use super::{Context, Result, out};
use crate::describe::problem_text;
use crate::files::Input;
use crate::text::{self, BAD, plural, styled};
use crate::unpack::Archive;
use check::{Check, Finding, Report};
use offload_format::ErrorKind;
use offload_format::inventory::{Images, Inventory, Problem};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Arguments of `cargo offload verify`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Each finding is a line that ends with the check's name in brackets. If there are \
                  findings, the exit status is 1. Notes are about questionable content that \
                  current tools write."
)]
pub struct Args {
    /// Executables, libraries, objects, bundles, fatbins, code objects, wheels and other archives
    #[arg(required_unless_present = "checks", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Also report unusual contents that are not errors
    #[arg(short, long)]
    notes: bool,
    /// Also check that this device gets an image of each module: gfx90a, sm_90@driver12.4
    #[arg(long = "for", value_name = "DEVICE")]
    device: Option<String>,
    /// Print nothing for a file without findings
    #[arg(short, long)]
    quiet: bool,
    /// List the checks, and what they mean
    #[arg(long)]
    checks: bool,
}

pub fn run(args: &Args, context: &Context) -> Result {
    let mut out = out::stdout();
    if args.checks {
        out.write_all(check::table().as_bytes())?;
    }
    let device = args.device.as_deref().map(|text| Asked::parse("--for", text)).transpose()?;
    let mut good = true;
    for path in &args.files {
        let Some(input) = context.open_or_report(path, &mut out)? else { continue };
        good &= check_file(&mut out, args, context, path, &input, device.as_ref())?;
    }
    out.flush()?;
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Checks a FILE and its kernel packs, or the files of an archive. Returns `true` if there are no
/// errors.
fn check_file(
    out: &mut out::Out,
    args: &Args,
    context: &Context,
    path: &Path,
    input: &Input,
    device: Option<&Asked>,
) -> Result<bool> {
    let (name, archive) = (text::escaped_path(path), Archive::of(input.bytes()));
    let (mut good, mut content) = (true, None);
    let mut found = device.map(|device| Found::new(context, vec![device.clone()], false));
    let summary = context.walk(path, input, archive.as_ref(), device.is_some(), |file| {
        good &= print_findings(out, args, context, file)?;
        good &= print_packs(out, args, file)?;
        for pack in &file.packs(context) {
            good &= print_findings(out, args, context, pack)?;
        }
        content = file.unopened().is_none().then(|| count(&file.inventory));
        found.iter_mut().try_for_each(|found| found.visit(file))
    })?;
    for text in found.map(|found| found.lacking(&name)).unwrap_or_default() {
        writeln!(out, "{} {}", styled(BAD, &text), Check::Device.tag())?;
        good = false;
    }
    for problem in &summary.problems {
        writeln!(out, "{name}: {} {}", styled(BAD, problem), Check::Archive.tag())?;
        good = false;
    }
    summary.note_closed(path);
    let content = archive.map_or(content, |it| Some(summary.description(&it, text::size)));
    if let Some(content) = content.filter(|_| good && !args.quiet) {
        writeln!(out, "{name}: ok: {content}")?;
    }
    Ok(good)
}

/// Checks a file and prints the findings. Returns `true` if there are none.
fn print_findings(
    out: &mut out::Out,
    args: &Args,
    context: &Context,
    file: &Visited<'_>,
) -> Result<bool> {
    let (name, report) = (&file.shown, check(&file.inventory, file.input.bytes(), context));
    for finding in report.findings.iter().filter(|finding| args.notes || !finding.is_note) {
        let Finding { place, text, check, is_note, .. } = finding;
        let kind = if *is_note { "note: ".to_owned() } else { String::new() };
        let text = if *is_note { text.clone() } else { styled(BAD, text) };
        writeln!(out, "{name}: {kind}{place}{text} {}", check.tag())?;
    }
    for member in &file.inventory.elsewhere {
        out::note(&format!(
            "{name}: {}: not checked, because it is in a separate file",
            text::escaped(member)
        ));
    }
    Ok(!report.has_findings())
}

/// Prints the problems with a file's kernel packs. Returns `true` if there are none.
fn print_packs(out: &mut out::Out, args: &Args, file: &Visited<'_>) -> Result<bool> {
    let (Visited { shown: name, beside, .. }, check) = (file, Check::KernelPack.tag());
    let mut problems = beside.problems.clone();
    problems.extend(beside.missing().into_iter().map(|entry| {
        let (entry, number) = (text::escaped_str(entry), entry.rsplit('#').next());
        let number = number.unwrap_or_default();
        format!("wrapper {number} has no code object, because no kernel pack has '{entry}'")
    }));
    for problem in &problems {
        writeln!(out, "{name}: {} {check}", styled(BAD, problem))?;
    }
    if args.notes {
        for gap in beside.all_gaps() {
            writeln!(out, "{name}: note: {gap} {check}")?;
        }
    }
    Ok(problems.is_empty())
}

/// Returns the numbers of containers and images as text: `3 containers, 12 images`.
fn count(inventory: &Inventory<'_>) -> String {
    let images = inventory.images_with_content().count();
    match inventory.containers.len() {
        0 if !inventory.references.is_empty() => "its device code is in kernel packs".to_owned(),
        0 => "no device code".to_owned(),
        containers => format!("{}, {}", plural(containers, "container"), plural(images, "image")),
    }
}

/// Checks a file and returns the findings in file order.
fn check(inventory: &Inventory<'_>, file: &[u8], context: &Context) -> Report {
    let mut report = Report::default();
    report.findings.extend(inventory.problems.iter().map(finding_of));
    let known = inventory.problems.iter().map(|problem| problem.place.offset).collect();
    let mut images = Images::new(context.max_size);
    let mut progress = Progress::new("checking", inventory.containers.iter().map(|it| it.size));
    for (number, container) in inventory.containers.iter().enumerate() {
        let subject = check::Subject::new(number, container);
        containers::check(&mut report, subject, inventory, &known, &mut images, context.max_size);
        progress.add(container.size);
    }
    wrappers::check(&mut report, file);
    report.findings.sort_by_key(|finding| finding.at);
    report
}

/// Returns the finding for an unreadable part.
fn finding_of(problem: &Problem<'_>) -> Finding {
    let check = match problem.error.kind() {
        ErrorKind::Compression { .. }
        | ErrorKind::UnsupportedCompression { .. }
        | ErrorKind::NotBuiltIn { .. }
        | ErrorKind::LimitExceeded { .. } => Check::Decompress,
        _ => Check::Unreadable,
    };
    Finding {
        at: problem.place.offset,
        place: String::new(),
        check,
        text: problem_text(problem),
        is_note: false,
    }
}
