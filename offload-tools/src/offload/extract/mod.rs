//! `cargo offload extract`: writes images to files.

mod names;
mod request;

use super::progress::Progress;
use super::walk::Visited;
use super::{Context, Error, Result, out};
use crate::describe::problem_text;
use crate::files::{Input, Output, PayloadSource};
use crate::text::{self, FAINT, TARGET, styled};
use crate::unpack::Archive;
use names::{Names, Used};
use offload_format::image::ImageHeader;
use offload_format::inventory::{Image, Images, Inventory};
use request::Request;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Arguments of `cargo offload extract`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A target is a name such as gfx90a:xnack-, gfx11-generic, sm_90, compute_80 or \
    cpu, a target triple, or a bundle entry ID. Without a target, all images are written. No file \
    is written outside DIR, and links in DIR are replaced, not followed."
)]
pub struct Args {
    /// Executable, library, object, bundle, fatbin, code object, wheel or other archive
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Only images for this target; may be repeated
    #[arg(short, long, value_name = "ID")]
    target: Vec<String>,
    /// Only images with exactly this name; may be repeated
    #[arg(short, long, value_name = "ID")]
    exact: Vec<String>,
    /// The folder to write to; created if missing
    #[arg(short, long, value_name = "DIR", default_value = ".")]
    output: PathBuf,
    /// Write empty images too, such as the host's in a bundle
    #[arg(long)]
    empty: bool,
    /// Do not print the paths of the written files
    #[arg(short, long)]
    quiet: bool,
}

pub fn run(args: &Args, context: &Context) -> Result {
    let request = Request::parse(&args.target, &args.exact)?;
    let input = context.open(&args.file)?;
    let mut task = Task::new(args, context, &request);
    let mut used = Used::default();
    let archive = Archive::of(input.bytes());
    let summary = context.walk(&args.file, &input, archive.as_ref(), false, |file| {
        let name = match &archive {
            Some(_) => last_part(file.name),
            None => args.file.file_name().unwrap_or_default().as_encoded_bytes(),
        };
        for file in [file].into_iter().chain(&file.packs(context)) {
            file.warn_of_problems(context);
            task.extract(file, &mut Names::new(name, &mut used))?;
        }
        file.beside.warn(context, &file.shown);
        Ok(())
    })?;
    task.out.flush()?;
    summary.report(context, &args.file);
    if task.chosen == 0 {
        return Err(nothing(&args.file, &task.there, &request));
    }
    for target in &task.unmet {
        out::warn(&format!("no image for {}", text::escaped_str(target)));
    }
    Ok(if task.unmet.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Returns the last component of a member's path. Members that share it still get different files.
fn last_part(name: &[u8]) -> &[u8] {
    name.rsplit(|byte| matches!(byte, b'/' | b'\\')).next().unwrap_or_default()
}

/// The request, and the progress so far.
struct Task<'t> {
    args: &'t Args,
    context: &'t Context,
    request: &'t Request<'t>,
    out: out::Out,
    /// Requested names and targets without a matching image.
    unmet: Vec<&'t str>,
    /// The image names in the file, each with its number of images. Listed in the error for a
    /// request that matches nothing.
    there: Vec<(String, usize)>,
    /// The number of images that match the request.
    chosen: usize,
}

/// The maximum number of image names in one message.
const MOST: usize = 32;

impl<'t> Task<'t> {
    fn new(args: &'t Args, context: &'t Context, request: &'t Request<'t>) -> Self {
        let (unmet, out) = (request.all().collect(), out::stdout());
        Self { args, context, request, out, unmet, there: Vec::new(), chosen: 0 }
    }

    /// Writes the requested images of one file.
    fn extract(&mut self, file: &Visited<'_>, names: &mut Names<'_>) -> Result<()> {
        let Self { args, context, request, .. } = *self;
        let inventory = &file.inventory;
        let is_there =
            |image: &Image<'_>| args.empty || !(image.size == 0 || image.is_placeholder());
        let is_chosen = |image: &&Image<'_>| {
            request.by_name(image) || (is_there(image) && request.by_target(image))
        };
        let chosen: Vec<&Image<'_>> = inventory.images.iter().filter(is_chosen).collect();
        self.list(inventory);
        if chosen.is_empty() {
            return Ok(());
        }
        self.chosen += chosen.len();
        self.unmet.retain(|name| request.without_image(&chosen).any(|it| it == *name));
        fs::create_dir_all(&args.output).map_err(|error| Error::write(&args.output, &error))?;

        let mut images = Images::new(context.max_size);
        // On a terminal, the printed paths already show the progress.
        let shows_paths = !args.quiet && out::is_terminal();
        let mut progress = Progress::new("extracting", chosen.iter().map(|image| image.size));
        for image in chosen {
            let bytes = match images.read(image) {
                Ok(bytes) => bytes,
                Err(error) => {
                    file.warn(context, problem_text(&inventory.problem_of(image, error)));
                    continue;
                }
            };
            let kind = image.kind(&bytes, ImageHeader::parse(&bytes).ok());
            let name = names.of(inventory.container(image), image, kind, &bytes);
            let path = args.output.join(name);
            write(&path, file.input, image, &bytes).map_err(|error| Error::write(&path, &error))?;
            if !args.quiet {
                self.out.write_all(path.as_os_str().as_encoded_bytes())?;
                writeln!(self.out)?;
            }
            if shows_paths { self.out.flush()? } else { progress.add(image.size) }
        }
        Ok(())
    }

    /// Adds the names of the file's images to `there`.
    fn list(&mut self, inventory: &Inventory<'_>) {
        for image in inventory.images_with_content() {
            match self.there.iter().position(|(label, _)| label == image.label()) {
                Some(index) => self.there[index].1 += 1,
                None if self.there.len() < MOST => self.there.push((image.label().to_owned(), 1)),
                None => {}
            }
        }
    }
}

/// Writes one image. The operating system's kernel copies an image that is stored uncompressed.
fn write(path: &Path, input: &Input, image: &Image<'_>, bytes: &[u8]) -> io::Result<()> {
    let mut output = Output::create_in_folder(path)?;
    output.copy(&match (image.in_file(), image.offset) {
        (Some(here), Some(offset)) => {
            PayloadSource::Part(input, offset..offset + here.len() as u64)
        }
        _ => PayloadSource::Bytes(bytes),
    })?;
    output.commit()
}

/// Returns the error for a file with no image to write, which lists the images that the file does
/// contain.
fn nothing(file: &Path, there: &[(String, usize)], request: &Request<'_>) -> Error {
    let file = text::escaped_path(file);
    if there.is_empty() {
        return Error::new(
            "nothing to extract",
            format!("{file} has no device code that can be read"),
        );
    }
    let mut list = String::from("its images are for:");
    for (label, count) in there {
        let times =
            if *count > 1 { styled(FAINT, &format!("  {count} images")) } else { String::new() };
        list += &format!(
            "\n    {}{times}",
            styled(TARGET, &text::shortened(&text::escaped_str(label), 70))
        );
    }
    if there.len() == MOST {
        list += "\n    ...";
    }
    Error::new("nothing to extract", format!("{file} has no image for {}", request.names()))
        .advice(list)
}
