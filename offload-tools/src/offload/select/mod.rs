//! `cargo offload select`: shows which image a device gets, and why it does not get the others.
//!
//! | module | contains |
//! |---|---|
//! | `verdicts` | the selection rules, applied to the images of a file |
//! | `modules` | the images that belong together: a program loads one from each module |
//! | `table` | the output for people |

pub(super) mod modules;
mod table;
pub(super) mod verdicts;

use super::ls::print_json;
use super::{Context, Error, Result, out};
use crate::describe::{ImageRecord, problem_text};
use crate::files::{Output, PayloadSource};
use crate::text;
use crate::unpack::Archive;
use modules::{Module, missing, modules};
use offload_format::inventory::{ContainerKind, Image, Images, Inventory, Problem};
use offload_format::select::DeviceInfo;
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use verdicts::judge_all;

/// Arguments of `cargo offload select`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "An image's own header or, without a header, its name decides whether it fits. \
    Give all features that an AMD GPU reports (gfx90a:sramecc+:xnack-): the answer may depend on \
    them. No vendor's driver loads LLVM bitcode.\n\n\
    A program loads one image of each module: a bundle, a fatbin, or all offload binaries with \
    one module name. JSON has 'modules' for several modules, and 'files' for an archive. The exit \
    status is 1 if no image fits, or something cannot be read."
)]
pub struct Args {
    /// Program, library, object, bundle, fatbin, code object, wheel, archive
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// gfx90a:sramecc+:xnack-, sm_90, sm_121@driver13.0, cpu
    #[arg(short, long, value_name = "DEVICE")]
    device: String,
    /// Print JSON: the chosen images
    #[arg(long)]
    json: bool,
    /// Also write the chosen image to a file
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub fn run(args: &Args, context: &Context) -> Result {
    let device = DeviceInfo::parse(&args.device)
        .map_err(|error| Error::text(format!("--device {error}")))?;
    let input = context.open(&args.file)?;
    let (mut out, archive) = (out::stdout(), Archive::of(input.bytes()));
    if archive.is_some() && args.output.is_some() {
        return Err(too_many(args, "is an archive of files", "the images of all files"));
    }
    let (mut is_chosen, mut files, mut is_first) = (false, Vec::new(), true);
    let summary = context.walk(&args.file, &input, archive.as_ref(), false, |file| {
        file.elsewhere("looked at").iter().for_each(|note| out::note(note));
        file.beside.warn(context, &file.shown);
        let is_in_packs = file.inventory.images.is_empty() && !file.beside.packs.is_empty();
        let joined = is_in_packs.then(|| file.joined_packs(context));
        let (inventory, shown) = (joined.as_ref().unwrap_or(&file.inventory), &*file.shown);
        let mut images = Images::new(context.max_size);
        if is_in_packs {
            file.beside.gaps(&device).iter().for_each(|gap| out::note(&format!("{shown}: {gap}")));
        }
        let mut modules = judged(context, shown, inventory, &mut images, &device)?;
        if is_in_packs {
            modules.extend(missing(&modules, &file.beside.entries));
        }
        is_chosen |= modules.iter().any(|module| module.chosen.is_some());
        if let Some(path) = &args.output {
            write_chosen(args, path, inventory, &modules, &mut images)?;
        }
        if args.json {
            let name = String::from_utf8_lossy(file.name);
            let all = |images| FileRecord::new(context, shown, &name, &modules, inventory, images);
            match &modules[..] {
                _ if file.is_inside => files.push(all(&mut images)),
                [] => print_json(&mut out, &None::<ImageRecord>)?,
                [module] if module.parts.is_empty() => {
                    let mut one = |image| record(context, shown, image, inventory, &mut images);
                    print_json(&mut out, &module.chosen.map(|(image, _)| one(image)))?
                }
                _ => print_json(&mut out, &all(&mut images))?,
            }
        } else if !modules.is_empty() || !file.is_inside {
            if !std::mem::take(&mut is_first) {
                writeln!(out)?;
            }
            table::print(&mut out, shown, inventory, &device, &modules)?;
        }
        Ok(())
    })?;
    match archive {
        Some(archive) if args.json => {
            let file = args.file.to_string_lossy().into_owned();
            print_json(&mut out, &ArchiveRecord { file, archive: archive.kind(), files })?
        }
        Some(_) if is_first => {
            table::print_none(&mut out, &text::escaped_path(&args.file), &device)?
        }
        _ => {}
    }
    out.flush()?;
    summary.report(context, &args.file);
    Ok(if is_chosen { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Returns a file's modules, each with the image that the device gets. Warns about unreadable
/// parts. Returns an error if the result depends on a feature whose state the device's name omits.
fn judged<'i, 'a>(
    context: &Context,
    file: &str,
    inventory: &'i Inventory<'a>,
    images: &mut Images<'a>,
    device: &DeviceInfo,
) -> Result<Vec<Module<'i, 'a>>> {
    let warn = |problem: &Problem<'_>| context.warn(file, problem_text(problem));
    inventory.problems.iter().for_each(warn);
    let mut failed = |image: &Image<'a>, error| warn(&inventory.problem_of(image, error));
    let modules = modules(inventory, judge_all(inventory, images, device, &mut failed));
    match modules.iter().find_map(Module::open_feature) {
        Some(feature) => Err(Error::text(format!(
            "--device {device}: which image of {file} fits depends on {feature}, but the device's \
             name does not say whether it is on or off"
        ))
        .advice(format!(
            "give the full name that the runtime reports, with {feature}- or {feature}+, such as gfx90a:sramecc+:xnack-"
        ))),
        None => Ok(modules),
    }
}

/// Writes the image that the device gets to a file.
///
/// Returns an error if the device gets several images.
fn write_chosen<'a>(
    args: &Args,
    path: &Path,
    inventory: &Inventory<'a>,
    modules: &[Module<'_, 'a>],
    images: &mut Images<'a>,
) -> Result<()> {
    let image = match modules {
        [module] if !module.parts.is_empty() => {
            let file = text::escaped_path(&args.file);
            let parts = text::plural(module.parts.len(), "image");
            return Err(Error::text(format!(
                "--output writes one image, but for {} the driver links {parts} of {file}",
                args.device
            ))
            .advice(format!(
                "to write them all, use 'cargo offload extract --target {}'",
                args.device
            )));
        }
        [module] => module.chosen,
        [] => None,
        modules => {
            let what = format!("has {} modules with one image each", modules.len());
            return Err(too_many(args, &what, "the images of all modules"));
        }
    };
    let Some((image, _)) = image else { return Ok(()) };
    let bytes = images
        .read(image)
        .map_err(|error| Error::text(problem_text(&inventory.problem_of(image, error))))?;
    let source = PayloadSource::Bytes(&bytes);
    let written = Output::create(path).and_then(|mut output| {
        output.copy(&source)?;
        output.commit()
    });
    written.map_err(|error| Error::write(path, &error))
}

/// Returns the error for a FILE from which a device gets several images, described by `all`.
fn too_many(args: &Args, what: &str, all: &str) -> Error {
    let file = text::escaped_path(&args.file);
    let advice = format!("to write {all}, use 'cargo offload extract --target {}'", args.device);
    Error::text(format!("--output writes one image, but {file} {what}")).advice(advice)
}

/// The JSON record of a file with several modules, or of a file in an archive.
#[derive(Serialize)]
struct FileRecord {
    file: String,
    modules: Vec<ModuleRecord>,
}

/// The JSON record of a module.
#[derive(Serialize)]
struct ModuleRecord {
    /// The module's name; null if it has none.
    module: Option<String>,
    /// The number of the module's first container in the file, counted from 0; null if no kernel
    /// pack contains the module.
    container_index: Option<usize>,
    /// The image that the device gets, or null.
    image: Option<ImageRecord>,
    /// All images, if the driver links several, of which `image` is the worst fit.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<ImageRecord>,
}

/// The JSON record of an archive.
#[derive(Serialize)]
struct ArchiveRecord {
    file: String,
    archive: String,
    /// The files in the archive that contain device code.
    files: Vec<FileRecord>,
}

impl FileRecord {
    fn new<'a>(
        context: &Context,
        shown: &str,
        file: &str,
        modules: &[Module<'_, 'a>],
        inventory: &Inventory<'a>,
        images: &mut Images<'a>,
    ) -> Self {
        let mut record = |image: &Image<'a>| record(context, shown, image, inventory, images);
        let module = |module: &Module<'_, 'a>| ModuleRecord {
            parts: module.parts.iter().map(|image| record(image)).collect(),
            module: module.name.clone(),
            container_index: module.containers.first().copied(),
            image: module.chosen.map(|(image, _)| record(image)),
        };
        Self { file: file.to_owned(), modules: modules.iter().map(module).collect() }
    }
}

/// Creates an image's record. Warns about unreadable parts that selection has not reported.
fn record<'a>(
    context: &Context,
    file: &str,
    image: &Image<'a>,
    inventory: &Inventory<'a>,
    images: &mut Images<'a>,
) -> ImageRecord {
    let (mut record, error) = ImageRecord::new(inventory, image, images);
    if inventory.container(image).kind == ContainerKind::Kpack {
        // As in `ls`, treat each pack as a file whose only container is the pack.
        (record.member, record.container_index) = (None, 0);
    }
    if let Some(error) = error {
        context.warn(file, problem_text(&inventory.problem_of(image, error)));
    }
    record
}
