//! `cargo offload reach`: shows which GPUs the images of a file serve, and how.
//!
//! | module | contains |
//! |---|---|
//! | `bare` | files that consist only of device code, which may be alternatives |
//! | `compile` | compilation by ptxas of the PTX that drivers would compile |
//! | `devices` | the GPUs to check |
//! | `found` | the GPUs that each FILE serves |
//! | `gets` | the images of a file, and the image that a GPU gets from each module |
//! | `joined` | files that are described together |
//! | `package` | the metadata of packages, computed from the images in their files |
//! | `packs` | the kernel packs of an archive's libraries |
//! | `table` | the output for people |

mod bare;
mod compile;
mod devices;
mod found;
mod gets;
mod joined;
mod package;
mod packs;
mod table;

use super::{Context, Error, Result, out};
use crate::text;
use compile::Compiled;
pub(super) use devices::Asked;
pub(super) use found::Found;
use gets::{Gets, How, Known};
use offload_build::doctor::find_ptxas;
use package::Package;
use serde::Serialize;
use std::collections::HashSet;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Arguments of `cargo offload reach`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A GPU runs machine code for itself, or for another GPU of its family. A driver compiles PTX and SPIR-V when the program \
    loads them; for PTX, the oldest CUDA driver that reads it is shown. The exit status is 1 if a GPU in --require is not served, \
    ptxas refuses PTX, or something cannot be read."
)]
pub struct Args {
    /// Programs, libraries, objects, bundles, fatbins, wheels ...
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// GPUs that must be served: gfx90a,sm_90@driver12.4
    #[arg(long, value_name = "GPU,...", value_delimiter = ',')]
    require: Vec<String>,
    /// Compile the PTX with ptxas for each GPU that gets it
    #[arg(long)]
    compile: bool,
    /// Print a package's metadata: which GPUs its files serve
    #[arg(long = "for", value_name = "PACKAGE", conflicts_with_all = ["compile", "json"])]
    package: Option<package::Kind>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args, context: &Context) -> Result {
    let required: Vec<Asked> = args
        .require
        .iter()
        .map(|text| Asked::parse("--require", text.trim()))
        .collect::<Result<_>>()?;
    let ptxas = args.compile.then(find_ptxas).transpose().map_err(Error::text)?;
    let mut found = Found::new(context, required, true);
    found.compile = ptxas.as_ref();
    found.package = args.package.map(|kind| (kind, Package::new()));
    // The table shows only the drivers that PTX needs, unless the user names a driver.
    found.toolkits |= args.json || found.package.is_some();
    for path in &args.files {
        found.add_file(path, &context.open(path)?)?;
    }
    let Found { package, reached, .. } = found;
    let mut missing = missing(&reached, package.is_some());
    missing.extend(reached.iter().flat_map(Reach::refused));
    let mut out = out::stdout();
    if let Some((kind, package)) = package {
        check_read(context, "cannot compute a package's metadata")?;
        if missing.is_empty() {
            package.print(kind, &mut out)?;
        }
    } else if args.json {
        super::ls::print_json(&mut out, &reached)?;
    } else {
        table::print(&mut out, &reached)?;
    }
    out.flush()?;
    if !missing.is_empty() {
        /// The maximum number of lines in an error. JSON contains all of them.
        const LINES: usize = 10;
        let more = missing.len().saturating_sub(LINES);
        missing.truncate(LINES);
        missing.extend((more > 0).then(|| format!("and {more} more errors")));
        return Err(Error::text(missing.join("\n")));
    }
    if !args.require.is_empty() {
        check_read(
            context,
            &format!("cannot decide whether images serve {}", text::some(args.require.iter())),
        )?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns an error if files could not be read, because they could change the result. `what` says
/// which result is missing.
fn check_read(context: &Context, what: &str) -> Result<()> {
    let unread = context.unread.borrow();
    if unread.is_empty() {
        return Ok(());
    }
    let (mut files, mut known) = (Vec::new(), HashSet::new());
    files.extend(unread.iter().map(String::as_str).filter(|file| known.insert(*file)));
    let files = files.join(", ");
    Err(Error::text(format!("{what}, because these files cannot be read: {files}")).advice(
        "see the messages above for the reasons. Leave out files without GPU code. If such files \
         are in an archive, unpack the archive and pass the other files",
    ))
}

/// The GPUs that a file serves.
#[derive(Debug, Serialize)]
struct Reach {
    file: String,
    /// The number of modules; a program loads one image from each.
    modules: usize,
    /// Whether modules are alternatives: files from a set, of which a program loads only the ones
    /// for its GPU.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    alternatives: bool,
    devices: Vec<Row>,
    /// The GPUs of `--require`, in the form of `devices`.
    required: Vec<Row>,
    /// The result of `--compile`.
    #[serde(skip_serializing_if = "Option::is_none")]
    compiled: Option<Compiled>,
    /// Problems with files that belong together.
    #[serde(skip)]
    problems: Vec<String>,
}

/// A GPU, and the images that it gets from a file.
#[derive(Debug, Serialize)]
struct Row {
    /// The target, with the states of features that images name: `sm_89`, `gfx90a:xnack-`.
    device: String,
    products: Vec<&'static str>,
    /// The images that the GPU gets, starting with the image that it gets from the most modules.
    gets: Vec<Gets>,
    /// How many modules the GPU needs.
    #[serde(skip)]
    modules: usize,
    /// The GPU without feature states.
    #[serde(skip)]
    asked: String,
    /// Whether the file has images for GPUs from this vendor.
    #[serde(skip)]
    is_for_vendor: bool,
}

impl Reach {
    fn new(
        file: String,
        known: &Known<'_>,
        required: &[Asked],
        compiled: Option<Compiled>,
        problems: Vec<String>,
    ) -> Self {
        let features = known.features();
        let rows = |asked: &Asked| rows(known, asked, &features);
        let mut devices: Vec<Row> = of_kinds(known).flat_map(|asked| rows(&asked)).collect();
        let required = required.iter().flat_map(rows).collect();
        // Omit processors without a known product and without an image, because few users need an
        // image for them.
        devices.retain(|row| {
            !row.products.is_empty() || row.gets.iter().any(|gets| gets.how != How::Nothing)
        });
        let (modules, alternatives) = (known.modules(), known.has_alternatives());
        Self { file, modules, alternatives, devices, required, compiled, problems }
    }

    /// Returns a sentence about modules that are alternatives, because the files do not show which
    /// GPUs need all of them.
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
                "{file}: its modules are assumed to be alternatives: a program loads only those for \
                 its GPU ({counts}). Whether the program needs other modules is unknown"
            )
        })
    }

    /// Returns a sentence for each failure of ptxas.
    fn refused(&self) -> impl Iterator<Item = String> {
        self.compiled.iter().flat_map(|compiled| compiled.findings(&self.file))
    }

    /// Returns a sentence for each required GPU that gets no image from at least one module.
    /// Ignores a row if `is_counted` returns `false` for it.
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
                    table::names(std::slice::from_ref(gets))
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

/// Returns a sentence for each required GPU and each file with a module that has no image for it.
///
/// For a package, checks only the files with images for the GPU's vendor, like the package's
/// metadata.
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

/// Returns a GPU's row or, if its modes get different images, one row per mode.
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
