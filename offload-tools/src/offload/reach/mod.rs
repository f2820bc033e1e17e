//! `cargo offload reach`: shows which GPUs the images of a file serve, and how.
//!
//! | module | has |
//! |---|---|
//! | `archive` | the files of an archive, those that belong together as one |
//! | `bare` | files that are device code as a whole, which may be alternatives |
//! | `compile` | what ptxas makes of the PTX that drivers would compile |
//! | `devices` | the GPUs that are asked about |
//! | `gets` | the images of a file, and what a GPU gets from each module |
//! | `joined` | files that are described as one |
//! | `package` | the metadata of packages, from the images of their files |
//! | `packs` | the kernel packs of an archive's libraries |
//! | `shown` | what people see |

mod archive;
mod bare;
mod compile;
mod devices;
mod gets;
mod joined;
mod package;
mod packs;
mod shown;

use super::kernel_packs::{KernelPacks, no_code};
use super::{Context, Error, Result, out};
use crate::files::Input;
use crate::text;
use crate::unpack::Archive;
use archive::Files;
pub(super) use archive::Lacking;
use compile::Compiled;
pub(super) use devices::Asked;
use gets::{Gets, How, Known};
use joined::Joined;
use offload_build::doctor::{Assembler, find_ptxas};
use offload_format::inventory::Inventory;
use package::Package;
use serde::Serialize;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Arguments of `cargo offload reach`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A GPU runs machine code for it, or for another one of its family. A driver compiles PTX and SPIR-V when the program \
    loads them; the oldest CUDA driver that reads the PTX is named. The exit status is 1 if a GPU of --require is not served, ptxas \
    refuses PTX, or something cannot be read."
)]
pub struct Args {
    /// Programs, libraries, objects, bundles, fatbins, wheels ...
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// GPUs that must be served: gfx90a,sm_90@driver12.4
    #[arg(long, value_name = "GPU,...", value_delimiter = ',')]
    require: Vec<String>,
    /// Compile the PTX for each GPU that gets it, by ptxas
    #[arg(long)]
    compile: bool,
    /// Print a package's metadata: which GPUs its files serve
    #[arg(long = "for", value_name = "PACKAGE", conflicts_with_all = ["compile", "json"])]
    package: Option<package::Kind>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Shows which GPUs get an image.
pub fn run(args: &Args, context: &Context) -> Result {
    let required: Vec<Asked> = args
        .require
        .iter()
        .map(|text| Asked::parse("--require", text.trim()))
        .collect::<Result<_>>()?;
    let ptxas = args.compile.then(find_ptxas).transpose().map_err(Error::text)?;
    let compile = ptxas.as_ref().map(|ptxas| (ptxas, context));
    let package = args.package.map(|kind| (kind, Package::new()));
    let reached = Vec::new();
    // People see the drivers of PTX alone, unless they ask about a driver.
    let has_driver = required.iter().any(|asked| asked.device.has_driver());
    let toolkits = args.json || package.is_some() || has_driver;
    let mut found = Found { context, required, compile, package, toolkits, reached };
    for path in &args.files {
        let input = context.open(path)?;
        match Archive::of(input.bytes()) {
            Some(archive) => found.add_archive(path, &archive)?,
            None => found.add_file(path, &input)?,
        }
    }
    let Found { package, reached, .. } = found;
    let mut missing = missing(&reached, package.is_some());
    missing.extend(reached.iter().flat_map(Reach::refused));
    let mut out = out::stdout();
    if let Some((kind, package)) = package {
        check_read(context, "no metadata")?;
        if missing.is_empty() {
            package.print(kind, &mut out)?;
        }
    } else if args.json {
        super::ls::print_json(&mut out, &reached)?;
    } else {
        shown::print(&mut out, &reached)?;
    }
    out.flush()?;
    if !missing.is_empty() {
        /// The most lines of one error. JSON has all.
        const LINES: usize = 10;
        let more = missing.len().saturating_sub(LINES);
        missing.truncate(LINES);
        missing.extend((more > 0).then(|| format!("and {more} more of such errors")));
        return Err(Error::text(missing.join("\n")));
    }
    if !args.require.is_empty() {
        check_read(context, &format!("no answer for {}", text::some(args.require.iter())))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The GPUs that the files serve.
struct Found<'c> {
    context: &'c Context,
    required: Vec<Asked>,
    compile: Option<(&'c Assembler, &'c Context)>,
    package: Option<(package::Kind, Package)>,
    /// Whether the toolkits that wrote cubins are needed.
    toolkits: bool,
    reached: Vec<Reach>,
}

impl Found<'_> {
    /// Adds the modules of a file.
    fn add(&mut self, file: &str, known: &Known<'_>, compiled: Option<Compiled>) {
        if !known.not_loaded.is_empty() {
            let images = text::some(known.not_loaded.iter());
            out::warn(&format!(
                "{file}: no known driver loads this, so it does not count: {images}"
            ));
        }
        if let Some((_, package)) = &mut self.package {
            package.add(file, known);
        }
        let reach = Reach::new(file.to_owned(), known, &self.required, compiled);
        reach.note_of_alternatives().iter().for_each(|note| out::note(note));
        self.reached.push(reach);
    }

    /// Compiles the PTX of a file with a ptxas, if there is one.
    fn compiled(&self, known: &Known<'_>) -> Result<Option<Compiled>> {
        let Some(with) = self.compile else { return Ok(None) };
        let devices: Vec<Asked> = of_kinds(known).collect();
        Compiled::new(with, known, devices.iter().chain(&self.required)).map(Some)
    }

    /// Adds a file, with the kernel packs beside it.
    fn add_file(&mut self, path: &Path, input: &Input) -> Result<()> {
        let context = self.context;
        let file = text::escaped(path.as_os_str().as_encoded_bytes());
        let inventory = context.inventory(input);
        context.warn_if_unopened(path, input, &inventory);
        note_elsewhere(context, &file, &inventory);
        let found = KernelPacks::of(path, input, &inventory);
        found.warn(context, path);
        let beside = found.inventories(context);
        if let Some(of) = inventory.references.first()
            && !beside.is_empty()
            && beside.iter().all(|pack| pack.images.is_empty() && pack.problems.is_empty())
        {
            let problem = no_code(of.reference.kernel_name);
            context.warn_of(path, text::escaped_str(&problem));
        }
        let paths = found.packs.iter().map(|pack| &*pack.path);
        let mut known = Known::default();
        for (path, inventory) in std::iter::once((path, &inventory)).chain(paths.zip(&beside)) {
            context.warn_of_problems(path, inventory);
            known.add(context, inventory, self.toolkits, &mut |text| context.warn_of(path, text));
        }
        known.require(&found.entries);
        let compiled = self.compiled(&known)?;
        self.add(&file, &known, compiled);
        Ok(())
    }

    /// Adds each file of an archive.
    fn add_archive(&mut self, path: &Path, archive: &Archive<'_>) -> Result<()> {
        let context = self.context;
        let file = text::escaped(path.as_os_str().as_encoded_bytes());
        let (before, mut files) = (self.reached.len(), Files::default());
        let summary = context.inside_and(path, archive, Files::needs, |inside| {
            let file = inside.shown(path);
            inside.warn_of_problems(context, path);
            note_elsewhere(context, &file, inside.inventory);
            let mut known = Known::default();
            known.add(context, inside.inventory, self.toolkits, &mut |text| {
                context.warn(&file, text);
            });
            let mut compiled = self.compiled(&known)?;
            if !files.take(inside, &known, &mut compiled) && !known.is_empty() {
                self.add(&file, &known, compiled);
            }
            Ok(())
        })?;
        for Joined { name, known, problems, compiled } in files.joined() {
            let file = format!("{file}: {name}");
            problems.iter().for_each(|problem| context.warn(&file, problem));
            self.add(&file, &known, compiled);
        }
        if self.reached.len() == before {
            self.reached.push(Reach::new(file, &Known::default(), &self.required, None));
        }
        summary.report(context, path);
        Ok(())
    }
}

/// Returns a sentence for each part of a file in which a GPU gets no image from a module. These
/// inventories are those of the file and of its kernel packs, which should have the `entries`.
pub(super) fn lacking<'i>(
    context: &Context,
    file: &str,
    inventories: impl Iterator<Item = &'i Inventory<'i>>,
    entries: &BTreeSet<String>,
    asked: &Asked,
) -> Vec<String> {
    let mut known = Known::default();
    for inventory in inventories {
        // `verify` reports images that cannot be read.
        known.add(context, inventory, asked.device.has_driver(), &mut |_| {});
    }
    known.require(entries);
    missing_for(file.to_owned(), &known, asked)
}

/// Returns a sentence for each part of a file in which a GPU gets no image.
fn missing_for(file: String, known: &Known<'_>, asked: &Asked) -> Vec<String> {
    let reach = Reach::new(file, known, std::slice::from_ref(asked), None);
    reach.note_of_alternatives().iter().for_each(|note| out::note(note));
    reach.missing(|_| true).collect()
}

/// Returns an error if files could not be read: with them, the result might be different. `what` is
/// what the user does not get.
fn check_read(context: &Context, what: &str) -> Result<()> {
    let unread = context.unread.borrow();
    if unread.is_empty() {
        return Ok(());
    }
    let files = unread.join(", ");
    Err(Error::text(format!("{what}, because these files cannot be read: {files}"))
        .advice(
            "the messages before this one have the reasons; a file without code for GPUs can be left out (unpack its archive, and name the others)",
        ))
}

/// Prints a note for each member of a thin archive, which is in a file of its own and is not read.
fn note_elsewhere(context: &Context, file: &str, inventory: &Inventory<'_>) {
    for member in &inventory.elsewhere {
        let member = text::escaped(member);
        out::note(&format!("{member}: not looked at, as it is in a file of its own"));
        context.add_unread(file);
    }
}

/// The GPUs that a file serves.
#[derive(Debug, Serialize)]
struct Reach {
    file: String,
    /// The number of modules; a program loads one image of each.
    modules: usize,
    /// Whether modules are files of which a program loads those for its GPU.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    alternatives: bool,
    devices: Vec<Row>,
    /// The GPUs of `--require`, likewise.
    required: Vec<Row>,
    /// The result of `--compile`.
    #[serde(skip_serializing_if = "Option::is_none")]
    compiled: Option<Compiled>,
}

/// A GPU, and the images that it gets from a file.
#[derive(Debug, Serialize)]
struct Row {
    /// The target, with the states of the features that images name: `sm_89`, `gfx90a:xnack-`.
    device: String,
    products: Vec<&'static str>,
    /// The images that it gets, those of most modules first.
    gets: Vec<Gets>,
    /// The number of modules that the GPU needs.
    #[serde(skip)]
    modules: usize,
    /// The GPU without the states of features.
    #[serde(skip)]
    asked: String,
    /// Whether the file has images for GPUs of its vendor.
    #[serde(skip)]
    is_for_vendor: bool,
}

impl Reach {
    /// Describes the images of a file.
    fn new(
        file: String,
        known: &Known<'_>,
        required: &[Asked],
        compiled: Option<Compiled>,
    ) -> Self {
        let features = known.features();
        let rows = |asked: &Asked| rows(known, asked, &features);
        let mut devices: Vec<Row> = of_kinds(known).flat_map(|asked| rows(&asked)).collect();
        let required = required.iter().flat_map(rows).collect();
        // Few people miss an image for a processor without a known product.
        devices.retain(|row| {
            !row.products.is_empty() || row.gets.iter().any(|gets| gets.how != How::Nothing)
        });
        let (modules, alternatives) = (known.modules(), known.has_alternatives());
        Self { file, modules, alternatives, devices, required, compiled }
    }

    /// Returns a sentence about modules that are alternatives: which GPUs need all of them is not
    /// in the files.
    fn note_of_alternatives(&self) -> Option<String> {
        let Self { file, devices, .. } = self;
        let mut counts = Vec::new();
        for Row { device, gets, .. } in devices {
            let served = gets.iter().filter(|gets| gets.image.is_some());
            counts.push((served.map(|gets| gets.modules).sum::<usize>(), device));
        }
        counts.retain(|(count, _)| *count > 0);
        counts.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
        let counts =
            text::some(counts.iter().map(|(count, device)| format!("{count} for {device}")));
        self.alternatives.then(|| {
            format!(
                "{file}: taken as alternatives, of which a program loads those for its GPU: {counts}; \
                 whether it needs others is not known"
            )
        })
    }

    /// Returns a sentence for each failure of ptxas.
    fn refused(&self) -> impl Iterator<Item = String> {
        self.compiled.iter().flat_map(|compiled| compiled.findings(&self.file))
    }

    /// Returns a sentence for each required GPU that gets nothing from some module. Only the rows
    /// for which a condition is true count.
    fn missing(&self, is_counted: impl Fn(&Row) -> bool) -> impl Iterator<Item = String> {
        self.required.iter().filter(move |row| is_counted(row)).filter_map(|row| {
            let nothing = row.gets.iter().find(|gets| gets.image.is_none());
            match nothing {
                Some(gets) if gets.modules < row.modules => Some(format!(
                    "{}: no image for {} in {} of {} modules{}",
                    self.file,
                    row.device,
                    gets.modules,
                    row.modules,
                    shown::names(std::slice::from_ref(gets))
                )),
                Some(_) => Some(format!("{}: no image for {}", self.file, row.device)),
                None if self.modules == 0 => {
                    Some(format!("{}: no image for {}: there are no images", self.file, row.device))
                }
                None => None,
            }
        })
    }
}

/// Returns a sentence for each required GPU that gets nothing from some module of some file.
///
/// The files of a package count if they have images for the GPU's vendor, as in its metadata.
fn missing(all: &[Reach], is_package: bool) -> Vec<String> {
    let has_vendor = |device: &str| {
        let mut rows = all.iter().flat_map(|reach| &reach.required);
        rows.any(|row| row.is_for_vendor && row.asked == device)
    };
    let is_counted = |row: &Row| !is_package || row.is_for_vendor || !has_vendor(&row.asked);
    all.iter().flat_map(|reach| reach.missing(is_counted)).collect()
}

/// Returns the GPUs of the vendors that have images.
fn of_kinds(known: &Known<'_>) -> impl Iterator<Item = Asked> {
    devices::all().filter(|asked| known.is_for_kind_of(&asked.device))
}

/// Returns the row of a GPU; if its modes get different images, a row for each mode.
fn rows(known: &Known<'_>, asked: &Asked, features: &[String]) -> Vec<Row> {
    let is_for_vendor = known.is_for_kind_of(&asked.device);
    let modes = asked.modes(features);
    let row = |(mode, gets): (&Asked, Vec<Gets>)| Row {
        device: mode.name.clone(),
        products: mode.products.to_vec(),
        modules: gets.iter().map(|gets| gets.modules).sum(),
        gets,
        asked: asked.name.clone(),
        is_for_vendor,
    };
    let mut rows: Vec<Row> = modes.iter().zip(known.gets(&modes)).map(row).collect();
    if rows.iter().all(|row| row.gets == rows[0].gets) {
        rows.truncate(1);
        rows[0].device.clone_from(&asked.name);
    }
    rows
}
