//! `cargo offload verify`: runs all checks.
//!
//! | module | checks |
//! |---|---|
//! | `check` | (the table of what is checked, and how findings are written) |
//! | `containers` | sizes, hashes, what lies where |
//! | `bundles` | the entries of bundles: their names, and what HIP's runtime wants of them |
//! | `images` | an image's own bytes beside what is said of it |
//! | `parameters` | kernels of one name in the images of a module |
//! | `wrappers` | what a program hands to its runtime |

mod bundles;
mod check;
mod containers;
mod images;
mod parameters;
mod wrappers;

use super::kernel_packs::KernelPacks;
use super::progress::Progress;
use super::reach::{Asked, Lacking, lacking};
use super::{Context, Result, out};
use crate::describe::problem_text;
use crate::files::Input;
use crate::text::{self, BAD, FAINT, plural, styled};
use crate::unpack::Archive;
use check::{Finding, Report, VerifyCheck};
use offload_format::ErrorKind;
use offload_format::inventory::{ImageKind, Images, Inventory, Problem};
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Arguments of `cargo offload verify`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Each finding is a line that ends with the name of the check in brackets, and the exit status is then \
    1. Notes are about what tools in use write although something speaks against it."
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

/// Checks files.
pub fn run(args: &Args, context: &Context) -> Result {
    let mut out = out::stdout();
    if args.checks {
        out.write_all(check::table().as_bytes())?;
    }
    let device = args.device.as_deref().map(|text| Asked::parse("--for", text)).transpose()?;
    let mut good = true;
    for path in &args.files {
        let Some(input) = context.open_or_report(path, &mut out)? else { continue };
        let name = text::escaped(path.as_os_str().as_encoded_bytes());
        if let Some(archive) = Archive::of(input.bytes()) {
            good &= check_archive(&mut out, args, context, path, &archive, device.as_ref())?;
            continue;
        }
        let inventory = context.inventory(&input);
        let mut is_good = check_file(&mut out, args, context, &name, &input, &inventory)?;
        let beside = KernelPacks::of(path, &input, &inventory);
        let check = styled(FAINT, &format!("[{}]", VerifyCheck::KernelPack.name()));
        let missing = beside.missing().into_iter().map(|entry| {
            let (entry, number) = (text::escaped_str(entry), entry.rsplit('#').next());
            let number = number.unwrap_or_default();
            format!("wrapper {number} has no code object: no kernel pack has '{entry}'")
        });
        for problem in beside.problems.iter().cloned().chain(missing) {
            writeln!(out, "{name}: {} {check}", styled(BAD, &problem))?;
            is_good = false;
        }
        for gap in beside.all_gaps().iter().filter(|_| args.notes) {
            writeln!(out, "{name}: note: {gap} {check}")?;
        }
        for pack in &beside.packs {
            let name = text::escaped(pack.path.as_os_str().as_encoded_bytes());
            is_good &=
                check_file(&mut out, args, context, &name, &pack.input, &pack.inventory(context))?;
        }
        let packs = beside.inventories(context);
        let all = std::iter::once(&inventory).chain(&packs);
        is_good &= check_device(&mut out, context, &name, all, &beside.entries, device.as_ref())?;
        if is_good && !context.warn_if_unopened(path, &input, &inventory) && !args.quiet {
            writeln!(out, "{name}: ok: {}", count(&inventory))?;
        }
        good &= is_good;
    }
    out.flush()?;
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Checks a file and prints the findings. Returns whether there are no findings.
fn check_file(
    out: &mut out::Out,
    args: &Args,
    context: &Context,
    name: &str,
    input: &Input,
    inventory: &Inventory<'_>,
) -> Result<bool> {
    let report = check(inventory, input.bytes(), context);
    for finding in report.findings.iter().filter(|finding| args.notes || !finding.is_note) {
        let Finding { place, text, check, is_note, .. } = finding;
        let kind = if *is_note { "note: ".to_owned() } else { String::new() };
        let check = styled(FAINT, &format!("[{}]", check.name()));
        let text = if *is_note { text.clone() } else { styled(BAD, text) };
        writeln!(out, "{name}: {kind}{place}{text} {check}")?;
    }
    for member in &inventory.elsewhere {
        out::note(&format!(
            "{name}: {}: not checked, as it is in a file of its own",
            text::escaped(member)
        ));
    }
    Ok(!report.has_findings())
}

/// Checks whether a device gets an image of each module of a file and its kernel packs. Returns
/// whether it does.
fn check_device<'i>(
    out: &mut out::Out,
    context: &Context,
    name: &str,
    inventories: impl Iterator<Item = &'i Inventory<'i>>,
    entries: &BTreeSet<String>,
    device: Option<&Asked>,
) -> Result<bool> {
    let Some(device) = device else { return Ok(true) };
    print_lacking(out, &lacking(context, name, inventories, entries, device))
}

/// Prints where a device gets no image. Returns whether it gets all.
fn print_lacking(out: &mut out::Out, lacking: &[String]) -> Result<bool> {
    let check = styled(FAINT, &format!("[{}]", VerifyCheck::Device.name()));
    for text in lacking {
        writeln!(out, "{} {check}", styled(BAD, text))?;
    }
    Ok(lacking.is_empty())
}

/// Checks an archive and its files. Returns whether there are no errors.
fn check_archive(
    out: &mut out::Out,
    args: &Args,
    context: &Context,
    path: &Path,
    archive: &Archive<'_>,
    device: Option<&Asked>,
) -> Result<bool> {
    let mut good = true;
    let mut lacking = device.map(|device| Lacking::new(context, path, device));
    let needs = |name: &[u8], inventory: &Inventory<'_>| {
        device.is_some() && Lacking::needs(name, inventory)
    };
    let summary = context.inside_and(path, archive, needs, |file| {
        good &= check_file(out, args, context, &file.shown(path), file.input, file.inventory)?;
        lacking.iter_mut().for_each(|lacking| lacking.add(file));
        Ok(())
    })?;
    if let Some(lacking) = lacking {
        good &= print_lacking(out, &lacking.finish())?;
    }
    let name = text::escaped(path.as_os_str().as_encoded_bytes());
    for problem in &summary.problems {
        let check = styled(FAINT, &format!("[{}]", VerifyCheck::Archive.name()));
        writeln!(out, "{name}: {} {check}", styled(BAD, problem))?;
        good = false;
    }
    summary.note_closed(path);
    if good && !args.quiet {
        writeln!(out, "{name}: ok: {}", summary.words(archive, text::size))?;
    }
    Ok(good)
}

/// Returns the numbers of containers and images as text: `3 containers, 12 images`.
fn count(inventory: &Inventory<'_>) -> String {
    let images = inventory
        .images
        .iter()
        .filter(|image| image.known_kind() != Some(ImageKind::Empty))
        .count();
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
    let total =
        inventory.containers.iter().map(|container| container.size).fold(0, u64::saturating_add);
    let mut progress = Progress::new("checking", total);
    for (number, container) in inventory.containers.iter().enumerate() {
        let subject = check::Subject::new(number, container);
        containers::check(
            &mut report,
            subject,
            inventory,
            file,
            &known,
            &mut images,
            context.max_size,
        );
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
        | ErrorKind::LimitExceeded { .. } => VerifyCheck::Decompress,
        _ => VerifyCheck::Unreadable,
    };
    Finding {
        at: problem.place.offset,
        place: String::new(),
        check,
        text: problem_text(problem),
        is_note: false,
    }
}
