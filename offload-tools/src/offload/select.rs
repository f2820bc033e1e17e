//! `offload select`: which image a device gets, and why not the others.

use super::{Context, Error, Result, out};
use crate::describe::{ImageRecord, Named, problem_text};
use crate::files::{Input, Output, Source};
use crate::text::{self, BAD, FAINT, GOOD, HEADING, TARGET, styled};
use offload_format::inventory::{Image, ImageKind, Images, Inventory};
use offload_format::select::{DeviceInfo, Fit, Refusal, is_before, judge};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Arguments of `offload select`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "An image is judged by its own header; one whose header says nothing, by its name. Of images that fit \
    equally well the first in the alphabet counts. Of an AMD GPU give all features that it reports (gfx90a:sramecc+:xnack-): an image \
    that names a feature does not fit a device that does not.\n\n\
    The exit status is 1 if no image fits."
)]
pub struct Args {
    /// Executable, library, object, archive, bundle, fatbin ...
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// gfx90a:sramecc+:xnack-, sm_90, sm_121@driver13.0, cpu
    #[arg(short, long, value_name = "DEVICE")]
    device: String,
    /// Print the chosen image as 'ls --json' describes it, or null
    #[arg(long)]
    json: bool,
    /// Write the chosen image to a file, too
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Enough of an image to know what it is. PTX may start with comments.
const START: u64 = 4096;

/// Shows which image a device gets.
pub fn run(args: &Args, context: &Context) -> Result {
    let device = DeviceInfo::parse(&args.device).map_err(|error| Error::text(format!("--device {error}")))?;
    let input = context.open(&args.file)?;
    let inventory = context.inventory(&input);
    inventory.problems.iter().for_each(|problem| context.warn_of(&args.file, problem_text(problem)));
    for member in &inventory.elsewhere {
        out::note(&format!("{}: not looked at, as it is in a file of its own", text::escaped(member)));
    }
    let mut images = Images::new(context.max_size);
    let verdicts = judge_all(&inventory, &mut images, &device, |image, error| {
        context.warn_of(&args.file, problem_text(&inventory.problem_of(image, error)));
    });
    let chosen = best(&verdicts);
    if let (Some(path), Some((image, _))) = (&args.output, chosen) {
        write(path, &input, &inventory, image, &mut images)?;
    }
    let mut out = out::stdout();
    match args.json {
        true => {
            let record = chosen.map(|(image, _)| {
                let (record, error) = ImageRecord::new(&inventory, image, &mut images);
                error
                    .into_iter()
                    .for_each(|error| context.warn_of(&args.file, problem_text(&inventory.problem_of(image, error))));
                record
            });
            super::ls::print_json(&mut out, &record)?;
        }
        false => print(&mut out, &args.file, &inventory, &device, chosen, &verdicts)?,
    }
    out.flush()?;
    Ok(if chosen.is_some() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What became of an image.
enum Verdict<'i> {
    Fits(Fit, Named<'i>),
    Refused(Refusal),
    /// There is nothing in it, or it cannot be read.
    Nothing(&'static str),
}

type Verdicts<'i, 'a> = Vec<(&'i Image<'a>, Verdict<'i>)>;

/// Judges the images of a file. What a bundle has for the host counts only if it is something.
fn judge_all<'i, 'a>(
    inventory: &'i Inventory<'a>,
    images: &mut Images<'a>,
    device: &DeviceInfo,
    mut failed: impl FnMut(&Image<'a>, offload_format::Error),
) -> Verdicts<'i, 'a> {
    let mut verdicts = Vec::with_capacity(inventory.images.len());
    for image in &inventory.images {
        let verdict = if image.known_kind() == Some(ImageKind::Empty) {
            if image.is_host() {
                continue;
            }
            Verdict::Nothing("there is nothing in it")
        } else {
            match images.start(image, START) {
                Ok(start) => {
                    let named = Named::with_header(image, start.as_deref());
                    match judge(&named, device) {
                        Ok(fit) => Verdict::Fits(fit, named),
                        Err(refusal) => Verdict::Refused(refusal),
                    }
                }
                Err(error) => {
                    failed(image, error);
                    Verdict::Nothing("it cannot be read")
                }
            }
        };
        verdicts.push((image, verdict));
    }
    verdicts
}

/// The image that fits best.
fn best<'i, 'a>(verdicts: &Verdicts<'i, 'a>) -> Option<(&'i Image<'a>, Fit)> {
    let mut best: Option<(&Image<'a>, &Fit, &Named<'i>)> = None;
    for (image, verdict) in verdicts {
        if let Verdict::Fits(fit, named) = verdict
            && best.is_none_or(|(_, best_fit, best)| is_before((named, fit), (best, best_fit)))
        {
            best = Some((*image, fit, named));
        }
    }
    best.map(|(image, fit, _)| (image, *fit))
}

fn write<'a>(
    path: &Path,
    input: &Input,
    inventory: &Inventory<'a>,
    image: &Image<'a>,
    images: &mut Images<'a>,
) -> Result<()> {
    let bytes = images.read(image).map_err(|error| Error::text(problem_text(&inventory.problem_of(image, error))))?;
    let source = match (image.in_file(), image.offset) {
        (Some(here), Some(offset)) => Source::Part(input, offset..offset + here.len() as u64),
        _ => Source::Bytes(&bytes),
    };
    let written = Output::create(path).and_then(|mut output| {
        output.copy(&source)?;
        output.commit()
    });
    written.map_err(|error| Error::write(path, &error))
}

fn print(
    out: &mut out::Out,
    file: &Path,
    inventory: &Inventory<'_>,
    device: &DeviceInfo,
    chosen: Option<(&Image<'_>, Fit)>,
    verdicts: &Verdicts<'_, '_>,
) -> Result<()> {
    let file = text::escaped(file.as_os_str().as_encoded_bytes());
    let groups = others(verdicts, chosen);
    let labels = groups.iter().map(|group| group.label.as_str()).chain(chosen.map(|(image, _)| image.label()));
    let width = labels.map(|label| text::escaped_str(label).chars().count()).max().unwrap_or(0).min(40);
    let label = |label: &str| {
        let label = text::escaped_str(label);
        format!("{:width$}", text::shortened(&label, width))
    };
    match &chosen {
        Some((image, fit)) => {
            writeln!(out, "{}", styled(HEADING, &format!("{file}: {device} gets")))?;
            writeln!(out, "  {}  {}", styled(GOOD, &label(image.label())), fit)?;
            writeln!(out, "  {:width$}  {}", "", styled(FAINT, &place(inventory, image)))?;
        }
        None if verdicts.is_empty() => {
            writeln!(out, "{file}: {}", styled(BAD, &format!("no image for {device}: there are no images")))?;
        }
        None => writeln!(out, "{file}: {}", styled(BAD, &format!("no image for {device}")))?,
    }
    if chosen.is_some() && !groups.is_empty() {
        writeln!(out, "{}", styled(HEADING, "and not"))?;
    }
    for group in &groups {
        let times = if group.count > 1 { styled(FAINT, &format!("  ({} images)", group.count)) } else { String::new() };
        writeln!(out, "  {}  {}{times}", styled(TARGET, &label(&group.label)), group.reason)?;
    }
    Ok(())
}

/// Images of one name that were not chosen for one reason: a library has them by the hundred.
struct Group {
    label: String,
    reason: String,
    count: usize,
}

fn others(verdicts: &Verdicts<'_, '_>, chosen: Option<(&Image<'_>, Fit)>) -> Vec<Group> {
    use std::collections::hash_map::{Entry, HashMap};
    let mut groups: Vec<Group> = Vec::new();
    let mut numbers: HashMap<(String, String), usize> = HashMap::new();
    for (image, verdict) in verdicts {
        let reason = match (verdict, &chosen) {
            (Verdict::Fits(..), Some((best, _))) if std::ptr::eq(*best, *image) => continue,
            (Verdict::Fits(fit, _), Some((_, best))) if best.is_better_than(fit) => format!("fits less well: {fit}"),
            (Verdict::Fits(..), _) => "fits as well, but comes later".to_owned(),
            (Verdict::Refused(refusal), _) => refusal.to_string(),
            (Verdict::Nothing(reason), _) => (*reason).to_owned(),
        };
        match numbers.entry((image.label().to_owned(), reason)) {
            Entry::Occupied(entry) => groups[*entry.get()].count += 1,
            Entry::Vacant(entry) => {
                let (label, reason) = entry.key().clone();
                entry.insert(groups.len());
                groups.push(Group { label, reason, count: 1 });
            }
        }
    }
    groups
}

/// `.hip_fatbin, bundle [2], entry hipv4-..., 4.1 KiB`: container numbers are those of `ls`.
fn place(inventory: &Inventory<'_>, image: &Image<'_>) -> String {
    let container = inventory.container(image);
    let mut parts = Vec::new();
    if let Some(member) = container.place.member {
        parts.push(format!("member {}", text::escaped(member)));
    }
    if let Some(section) = container.place.section {
        parts.push(text::escaped(section));
    }
    parts.push(format!("{} [{}]", container.kind.name(), image.container));
    if let Some(id) = &image.entry_id {
        parts.push(text::escaped_str(id));
    }
    if let Some(module) = &image.module {
        parts.push(format!("module {}", text::escaped_str(module)));
    }
    if let Some(offset) = image.offset {
        parts.push(format!("offset {offset}"));
    }
    parts.push(text::size(image.size));
    parts.join(", ")
}
