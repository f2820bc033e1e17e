//! Embeds a file by its path.
//!
//! | module | contents |
//! |---|---|
//! | this module | the path of the file; the section and the alignment of each kind of file |
//! | `images` | which contents can be embedded: containers, and images without a container, such as cubins and PTX |
//! | `section` | names of sections that a user chooses |
//! | `options` | which options fit the file |
//! | `expand` | the expansion |

mod expand;
mod images;
mod options;
mod section;

use crate::expand::Embedded;
use crate::input::Options;
use crate::resolve::names_in;
use crate::suggest;
use images::Images;
use offload_format::bundle;
use offload_format::image::ImageKind;
use offload_format::inventory::ContainerKind;
use offload_format::offload_binary;
use offload_format::section::{DeviceSection, SectionNames};
use offload_pack::pack_index::IndexModule;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use syn::LitStr;

/// Reads the file at the path that the user wrote, and returns the expression that embeds it.
pub(crate) fn embedded(path: &LitStr, options: &Options) -> syn::Result<Embedded> {
    // A path is relative to the source file that contains the path's literal. The span of this
    // macro's call does not help: it is in a file of the crate `offload-gpu`, not in the user's.
    let source = path.span().unwrap().local_file();
    let file = read(&path.value(), source, options.retain.is_some());
    let file = file.map_err(|error| syn::Error::new(path.span(), error))?;
    options::check(options, &file)?;
    let value = expand::value(&file, options);
    Ok(Embedded { name: file.name, modules: file.modules, value })
}

/// A file to embed, with what is known about its images at compile time.
struct File {
    path: PathBuf,
    /// The file's name without its extension.
    name: String,
    size: u64,
    /// The kind of the file; `Bundle` also for compressed bundles.
    kind: ContainerKind,
    is_ptx: bool,
    modules: Vec<IndexModule>,
    /// The reason why the images are unknown; `None` if they are known.
    closed: Option<&'static str>,
    /// The name of a symbol that all loaded images for the CPU would share, if an image has one.
    unique_symbol: Option<String>,
}

/// Returns the section where tools look for files of this kind.
fn section_of(kind: ContainerKind) -> Option<SectionNames> {
    match kind {
        ContainerKind::Bundle => Some(DeviceSection::HipFatbin.names()),
        ContainerKind::OffloadBinary => Some(DeviceSection::LlvmOffloading.names()),
        ContainerKind::Fatbin => Some(SectionNames::NV_FATBIN),
        _ => None,
    }
}

/// Returns the description of this kind of file, for messages.
fn words(kind: ContainerKind, is_ptx: bool) -> &'static str {
    match kind {
        ContainerKind::Bundle => "an offload bundle",
        ContainerKind::OffloadBinary => "an offload binary",
        ContainerKind::Fatbin => "a fatbin",
        _ if is_ptx => "PTX",
        _ => "an image without a container",
    }
}

impl File {
    /// Returns the file's default alignment in bytes.
    fn align(&self) -> u64 {
        match self.kind {
            ContainerKind::Bundle => DeviceSection::HipFatbin.align(),
            // AMD's code objects must start on a page boundary, since some runtimes map them.
            ContainerKind::Raw if !self.is_ptx => bundle::HIP_ALIGN,
            _ => offload_binary::ALIGN,
        }
    }
}

/// Extensions of sources, which are compiled and not embedded.
const SOURCES: [&str; 9] = ["cu", "hip", "cl", "c", "cpp", "cc", "ll", "s", "rs"];

/// Reads the file at `path`; `source` is the source file in which the user wrote the path.
/// `for_linkers` allows contents that only linkers can use.
///
/// Each error message contains the attempted action, the cause and advice.
fn read(path: &str, source: Option<PathBuf>, for_linkers: bool) -> Result<File, String> {
    if path.is_empty() {
        return Err("expected the path of a file, such as path = \"saxpy.hipfb\"".to_owned());
    }
    let (path, hint) = place(path, source)?;
    let extension =
        path.extension().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let found = fs::read(&path);
    // clang writes PTX into files with the extension `.s`, which can be embedded.
    let is_ptx = found.as_ref().is_ok_and(|bytes| ImageKind::of(bytes).is_ptx());
    if SOURCES.contains(&extension.as_str()) && !is_ptx {
        return Err(format!(
            "{} is a source, which the macro does not compile: compile it in build.rs with \
             offload_build::Build::new().file(...).compile({name:?}), and embed the pack with \
             include_offload!({name:?})",
            path.display()
        ));
    }
    let bytes = found.map_err(|error| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let others = names_in(path.parent().unwrap_or(&path), |path| {
            let is_source = path.extension().is_some_and(|it| it == "rs");
            path.file_name().filter(|_| path.is_file() && !is_source)
        });
        let other = suggest::closest(&name, &others)
            .map_or_else(String::new, |other| format!("; {other} is in that folder"));
        format!("could not read {}: {error}{other}{hint}", path.display())
    })?;
    let size = bytes.len() as u64;
    let (kind, images) =
        Images::of(&bytes, &name).map_err(|what| format!("{} {what}", path.display()))?;
    let Images { modules, left_out, closed, unique_symbol, .. } = images;
    if closed.is_none() && !for_linkers && modules.iter().all(|module| module.images.is_empty()) {
        let what = left_out.join(", ");
        return Err(format!(
            "{} has nothing that a driver loads: {}. If the file is for a linker, such as \
             clang-linker-wrapper, add `retain`",
            path.display(),
            if left_out.is_empty() { "it contains no image" } else { &what }
        ));
    }
    Ok(File { path, name, size, kind, is_ptx, modules, closed, unique_symbol })
}

/// Resolves a path, and returns advice in case the file is missing. The path is absolute, relative
/// to the source file that calls the macro, or starts with a variable that Cargo sets.
fn place(path: &str, source: Option<PathBuf>) -> Result<(PathBuf, &'static str), String> {
    if let Some(rest) = path.strip_prefix('$') {
        let (name, rest) = rest.split_once('/').unwrap_or((rest, ""));
        let folder = ["OUT_DIR", "CARGO_MANIFEST_DIR"].into_iter().find(|it| *it == name);
        let folder = folder.and_then(env::var_os).ok_or_else(|| match name {
            "OUT_DIR" => "$OUT_DIR is the folder of a build script, but this package has no build \
                          script"
                .to_owned(),
            _ => format!(
                "unknown variable ${name}: a path can start with $OUT_DIR/ or $CARGO_MANIFEST_DIR/"
            ),
        })?;
        let hint = match name {
            "OUT_DIR" => "; build.rs must create it",
            _ => "",
        };
        return Ok((Path::new(&folder).join(rest), hint));
    }
    if Path::new(path).is_absolute() {
        return Ok((path.into(), ""));
    }
    let source = source.filter(|source| !source.as_os_str().is_empty()).ok_or(
        "the compiler does not report which file calls the macro: start the path with \
         $CARGO_MANIFEST_DIR/, the folder of the package's Cargo.toml",
    )?;
    let beside = source.parent().unwrap_or(Path::new("")).join(path);
    // The compiler reports source paths relative to its working folder.
    let path = env::current_dir().map_or(beside.clone(), |here| here.join(beside));
    Ok((path, "; paths are relative to the source file that calls the macro"))
}
