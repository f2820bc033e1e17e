//! `cargo offload select`: shows which image a device gets, and why it does not get the others.
//!
//! | module | has |
//! |---|---|
//! | `judged` | the images of a file, judged for a device |
//! | `modules` | which images belong together: a program loads one of each module |
//! | `shown` | what people see |

pub(super) mod judged;
pub(super) mod modules;
mod shown;

use super::kernel_packs::KernelPacks;
use super::{Context, Error, Result, out};
use crate::describe::{ImageRecord, problem_text};
use crate::files::{Input, Output, PayloadSource};
use crate::text;
use crate::unpack::Archive;
use judged::judge_all;
use modules::{Module, missing, modules};
use offload_format::inventory::{ContainerKind, Image, Images, Inventory, Problem};
use offload_format::select::DeviceInfo;
use serde::Serialize;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Arguments of `cargo offload select`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "An image is judged by its own header, else by its name. Of an AMD GPU give all features that it reports \
    (gfx90a:sramecc+:xnack-): the answer may depend on them. No vendor's driver loads LLVM bitcode.\n\n\
    A program loads one image of each module: of a bundle, a fatbin, or the offload binaries of one module's name. JSON has \
    'modules' for several, 'files' for an archive. The exit status is 1 if no image fits, or something cannot be read."
)]
pub struct Args {
    /// Executable, library, object, bundle, fatbin, wheel or other archive ...
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// gfx90a:sramecc+:xnack-, sm_90, sm_121@driver13.0, cpu
    #[arg(short, long, value_name = "DEVICE")]
    device: String,
    /// Print JSON: the chosen images
    #[arg(long)]
    json: bool,
    /// Write the chosen image to a file, too
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Shows which image a device gets.
pub fn run(args: &Args, context: &Context) -> Result {
    let device = DeviceInfo::parse(&args.device)
        .map_err(|error| Error::text(format!("--device {error}")))?;
    let input = context.open(&args.file)?;
    let mut out = out::stdout();
    let is_chosen = match Archive::of(input.bytes()) {
        Some(archive) => select_inside(&mut out, args, context, &device, &archive)?,
        None => select_in_file(&mut out, args, context, &device, &input)?,
    };
    out.flush()?;
    Ok(if is_chosen { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Shows which images of a file a device gets. Returns whether the device gets any image.
fn select_in_file(
    out: &mut out::Out,
    args: &Args,
    context: &Context,
    device: &DeviceInfo,
    input: &Input,
) -> Result<bool> {
    let inventory = context.inventory(input);
    context.warn_if_unopened(&args.file, input, &inventory);
    let beside = KernelPacks::of(&args.file, input, &inventory);
    beside.warn(context, &args.file);
    if !inventory.images.is_empty() || beside.packs.is_empty() {
        return select_of(out, args, context, device, &inventory, &BTreeSet::new());
    }
    for gap in beside.gaps(device) {
        out::note(&format!("{}: {gap}", shown(&args.file)));
    }
    select_of(out, args, context, device, &beside.joined(context), &beside.entries)
}

/// Returns a path as messages have it.
fn shown(path: &Path) -> String {
    text::escaped(path.as_os_str().as_encoded_bytes())
}

/// Returns the modules of a file, each with the image that the device gets. Warns about the parts
/// of the file that cannot be read. Returns an error if the answer depends on a feature whose state
/// the device's name leaves out.
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
            "--device {device}: {file} has images for one state of {feature}, and the name does not give it"
        ))
        .advice(format!(
            "give the whole name that the runtime reports, with {feature}- or {feature}+: gfx90a:sramecc+:xnack-"
        ))),
        None => Ok(modules),
    }
}

/// Shows which images a device gets from the inventory of a file, which should have modules of the
/// names `required`. Returns whether the device gets any image.
fn select_of<'a>(
    out: &mut out::Out,
    args: &Args,
    context: &Context,
    device: &DeviceInfo,
    inventory: &Inventory<'a>,
    required: &BTreeSet<String>,
) -> Result<bool> {
    for member in &inventory.elsewhere {
        out::note(&format!(
            "{}: not looked at, as it is in a file of its own",
            text::escaped(member)
        ));
    }
    let mut images = Images::new(context.max_size);
    let file = shown(&args.file);
    let mut modules = judged(context, &file, inventory, &mut images, device)?;
    modules.extend(missing(&modules, required));
    if let Some(path) = &args.output {
        match &modules[..] {
            [] => {}
            [module] if !module.parts.is_empty() => return Err(too_many_parts(args, module)),
            [module] => {
                if let Some((image, _)) = module.chosen {
                    write(path, inventory, image, &mut images)?;
                }
            }
            modules => return Err(too_many(args, modules.len())),
        }
    }
    if args.json {
        match &modules[..] {
            [] => super::ls::print_json(out, &None::<ImageRecord>)?,
            [module] if module.parts.is_empty() => {
                let chosen = module.chosen;
                let record =
                    chosen.map(|(image, _)| record(context, &file, image, inventory, &mut images));
                super::ls::print_json(out, &record)?
            }
            modules => {
                let name = args.file.to_string_lossy();
                let record =
                    FileRecord::new(context, &file, &name, modules, inventory, &mut images);
                super::ls::print_json(out, &record)?
            }
        }
    } else {
        shown::print(out, &file, inventory, device, &modules)?;
    }
    Ok(modules.iter().any(|module| module.chosen.is_some()))
}

/// Shows which images a device gets from each file of an archive. Returns whether the device gets
/// any image.
fn select_inside(
    out: &mut out::Out,
    args: &Args,
    context: &Context,
    device: &DeviceInfo,
    archive: &Archive<'_>,
) -> Result<bool> {
    if args.output.is_some() {
        let file = shown(&args.file);
        let error =
            Error::text(format!("--output writes one image, and {file} is an archive of files"));
        return Err(error.advice(format!(
            "cargo offload extract --target {} writes the images of all of them",
            args.device
        )));
    }
    let (mut is_chosen, mut files, mut is_first) = (false, Vec::new(), true);
    let summary = context.inside(&args.file, archive, |file| {
        let (shown, inventory) = (file.shown(&args.file), file.inventory);
        let mut images = Images::new(context.max_size);
        let modules = judged(context, &shown, inventory, &mut images, device)?;
        is_chosen |= modules.iter().any(|module| module.chosen.is_some());
        if args.json {
            let name = String::from_utf8_lossy(file.name);
            files.push(FileRecord::new(context, &shown, &name, &modules, inventory, &mut images));
        } else if !modules.is_empty() {
            if !std::mem::take(&mut is_first) {
                writeln!(out)?;
            }
            shown::print(out, &shown, inventory, device, &modules)?;
        }
        Ok(())
    })?;
    if args.json {
        let file = args.file.to_string_lossy().into_owned();
        super::ls::print_json(out, &ArchiveRecord { file, archive: archive.kind(), files })?;
    } else if is_first {
        let file = shown(&args.file);
        shown::print_none(out, &file, device)?;
    }
    out.flush()?;
    summary.report(context, &args.file);
    Ok(is_chosen)
}

fn too_many_parts(args: &Args, module: &Module<'_, '_>) -> Error {
    let (file, parts) = (shown(&args.file), text::plural(module.parts.len(), "image"));
    Error::text(format!(
        "--output writes one image, and for {} the driver links {parts} of {file}",
        args.device
    ))
    .advice(format!("cargo offload extract --target {} writes them", args.device))
}

fn too_many(args: &Args, count: usize) -> Error {
    let file = shown(&args.file);
    let error = Error::text(format!(
        "--output writes one image, and {file} has {count} modules with one each"
    ));
    error.advice(format!(
        "cargo offload extract --target {} writes those of all modules",
        args.device
    ))
}

/// A JSON record of a file with several modules, or of a file in an archive.
#[derive(Serialize)]
struct FileRecord {
    file: String,
    modules: Vec<ModuleRecord>,
}

/// A module in JSON.
#[derive(Serialize)]
struct ModuleRecord {
    /// The module's name; null if it has none.
    module: Option<String>,
    /// The number, from 0, of the module's first container in the file; null if a kernel pack lacks
    /// the module.
    container_index: Option<usize>,
    /// The image that the device gets, or null.
    image: Option<ImageRecord>,
    /// All images that the driver links, if it does. The image above is the one that fits worst.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<ImageRecord>,
}

/// An archive in JSON.
#[derive(Serialize)]
struct ArchiveRecord {
    file: String,
    archive: &'static str,
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

/// Warns about parts of the image that cannot be read. Unreadable parts were reported when the
/// rules of selection were applied.
fn record<'a>(
    context: &Context,
    file: &str,
    image: &Image<'a>,
    inventory: &Inventory<'a>,
    images: &mut Images<'a>,
) -> ImageRecord {
    let (mut record, error) = ImageRecord::new(inventory, image, images);
    if inventory.container(image).kind == ContainerKind::Kpack {
        // `ls` lists each pack as a file, whose only container it is.
        (record.member, record.container_index) = (None, 0);
    }
    if let Some(error) = error {
        context.warn(file, problem_text(&inventory.problem_of(image, error)));
    }
    record
}

fn write<'a>(
    path: &Path,
    inventory: &Inventory<'a>,
    image: &Image<'a>,
    images: &mut Images<'a>,
) -> Result<()> {
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
