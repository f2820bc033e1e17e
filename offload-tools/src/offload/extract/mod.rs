//! `offload extract`: images to files.

mod names;
mod wanted;

use super::progress::Progress;
use super::{Context, Error, Result, out};
use crate::describe::problem_text;
use crate::files::{Input, Output, Source};
use crate::text::{self, FAINT, TARGET, styled};
use names::Names;
use offload_format::inventory::{Image, ImageKind, Images, Inventory};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use wanted::Wanted;

/// Arguments of `offload extract`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A target is gfx90a:xnack-, gfx11-generic, sm_90, compute_80, cpu, a target triple, or a bundle \
    entry ID. Without one, everything is written. Names inside of FILE never lead out of DIR, and links in DIR are \
    replaced, not followed."
)]
pub struct Args {
    /// Executable, library, object, archive, bundle, fatbin ...
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Only images that this target can use; may be repeated
    #[arg(short, long, value_name = "ID")]
    target: Vec<String>,
    /// Only images of this very name; may be repeated
    #[arg(short, long, value_name = "ID")]
    exact: Vec<String>,
    /// The folder to write to, made if missing
    #[arg(short, long, value_name = "DIR", default_value = ".")]
    output: PathBuf,
    /// Write empty images too, as the host's of a bundle
    #[arg(long)]
    empty: bool,
    /// Do not print the paths of what is written
    #[arg(short, long)]
    quiet: bool,
}

/// Writes images to files.
pub fn run(args: &Args, context: &Context) -> Result {
    let wanted = Wanted::parse(&args.target, &args.exact)?;
    let input = context.open(&args.file)?;
    let inventory = context.inventory(&input);
    let mut all_read = inventory.problems.is_empty();
    inventory.problems.iter().for_each(|problem| context.warn_of(&args.file, problem_text(problem)));

    let is_there = |image: &Image<'_>| args.empty || !(image.size == 0 || image.is_placeholder());
    let chosen: Vec<&Image<'_>> = inventory
        .images
        .iter()
        .filter(|image| wanted.by_name(image) || (is_there(image) && wanted.by_target(image)))
        .collect();
    if chosen.is_empty() {
        return Err(nothing(&args.file, &inventory, &wanted));
    }
    for target in wanted.without_image(&chosen) {
        out::warn(&format!("no image for {}", text::escaped_str(target)));
        all_read = false;
    }
    fs::create_dir_all(&args.output).map_err(|error| Error::write(&args.output, &error))?;

    let mut out = out::stdout();
    let mut names = Names::new(&args.file);
    let mut images = Images::new(context.max_size);
    // The paths that are printed show as well how far it is.
    let shows_paths = !args.quiet && out::is_terminal();
    let total = chosen.iter().map(|image| image.size).fold(0, u64::saturating_add);
    let mut progress = Progress::new("extracting", total);
    for image in chosen {
        let bytes = match images.read(image) {
            Ok(bytes) => bytes,
            Err(error) => {
                context.warn_of(&args.file, problem_text(&inventory.problem_of(image, error)));
                all_read = false;
                continue;
            }
        };
        let name = names.of(inventory.container(image), image, image.kind(&bytes), &bytes);
        let path = args.output.join(name);
        write(&path, &input, image, &bytes).map_err(|error| Error::write(&path, &error))?;
        if !args.quiet {
            out.write_all(path.as_os_str().as_encoded_bytes())?;
            writeln!(out)?;
        }
        match shows_paths {
            true => out.flush()?,
            false => progress.add(image.size),
        }
    }
    out.flush()?;
    Ok(if all_read { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Writes one image; what lies in the file is copied by the kernel.
fn write(path: &Path, input: &Input, image: &Image<'_>, bytes: &[u8]) -> io::Result<()> {
    let mut output = Output::create_in_folder(path)?;
    output.copy(&match (image.in_file(), image.offset) {
        (Some(here), Some(offset)) => Source::Part(input, offset..offset + here.len() as u64),
        _ => Source::Bytes(bytes),
    })?;
    output.commit()
}

/// The error that there is nothing to write, with what there is.
fn nothing(file: &Path, inventory: &Inventory<'_>, wanted: &Wanted<'_>) -> Error {
    let file = text::escaped(file.as_os_str().as_encoded_bytes());
    let there: Vec<&Image<'_>> =
        inventory.images.iter().filter(|image| image.known_kind() != Some(ImageKind::Empty)).collect();
    if there.is_empty() {
        return Error::new("nothing to extract", format!("{file} has no device code that can be read"));
    }
    /// More than that is too much for a message.
    const MOST: usize = 32;
    let mut labels: Vec<(&str, usize)> = Vec::new();
    for image in there {
        match labels.iter().position(|(label, _)| *label == image.label()) {
            Some(index) => labels[index].1 += 1,
            None if labels.len() < MOST => labels.push((image.label(), 1)),
            None => {}
        }
    }
    let mut list = String::from("there is:");
    for (label, count) in &labels {
        let times = if *count > 1 { styled(FAINT, &format!("  {count} images")) } else { String::new() };
        list += &format!("\n    {}{times}", styled(TARGET, &text::shortened(&text::escaped_str(label), 70)));
    }
    if labels.len() == MOST {
        list += "\n    ...";
    }
    Error::new("nothing to extract", format!("{file} has no image for {}", wanted.names())).advice(list)
}
