//! The prebuilt set: images in a package, for builds that lack a compiler.
//!
//! The set is a folder with one file for each image and a manifest for each module. The manifest of
//! the unnamed module is `<pack>.manifest`, and that of a named module is
//! `<pack>.<module>.manifest`. This is a manifest:
//!
//! ```text
//! offload-prebuilt 1
//! compiler Debian clang version 22.1.8 (1~deb12u1)
//! ptxas Cuda compilation tools, release 13.5, V13.5.37
//! optimization 3
//! options kernels/saxpy.cu
//! input 4b7d… kernels/saxpy.cu
//! input 9e02… <offload/kernel.h>
//! folder kernels
//! name saxpy.cu
//! name options.h
//! there kernels/saxpy.cu
//! image gfx90a 71f3… saxpy.gfx90a.hsaco
//! signatures c0a1… saxpy.signatures
//! ```
//!
//! A manifest lists this crate's own headers by their `#include` names, because their paths in
//! `OUT_DIR` differ on each machine. If build.rs names folders outside the package, the manifest
//! refers to them by number, as in `<folder 1>`. System headers are not inputs of a set. A
//! `.gitattributes` file beside the manifests keeps git from changing the files' bytes.
//!
//! The lines after the inputs list where compilers looked for files (see `surroundings.rs`).
//!
//! A package does not contain its Rust kernel crates, because Cargo leaves out folders with a
//! `Cargo.toml`. The inputs of the set include the files of a kernel crate and of its path
//! dependencies, which may be outside the package, such as `../shared/src/lib.rs`. These files are
//! compared only in the package's own builds, where the crates exist.
//!
//! A set may contain only the parameters of kernels, without images. If clang is missing, a build
//! that is only for the CPU uses these parameters under the same conditions as images.
//!
//! The build uses an image if build.rs's options and the bytes of all inputs are unchanged. The
//! compiler and the optimization in the manifest are only informative. A machine that uses the set
//! lacks the compiler, so there is no version to compare. The listed optimization is the level in
//! the compilers' options: Cargo's `opt-level` for clang with this crate's header, and 3 for
//! vendors' compilers. If build.rs sets a level, that level is one of its options and is therefore
//! compared. Cargo's own level is not compared, so a dev build can use the set of a release build.
//! This crate's headers are compared only in the package's own builds, because a published package
//! may be built with a different version of this crate.

use super::jobs::MadeImage;
use super::portable::Setting;
use super::surroundings;
use crate::compile::inputs::{Input, InputKind, Inputs};
use crate::output::{image_file_name, remove, write_if_changed};
use crate::pack::image::Image;
use crate::targets::Target;
use crate::toolchain::{Cargo, ContentHash, Error, ErrorKind, files};
use offload_pack::pack_index::Origin;
use offload_pack::signature::Signatures;
use std::cell::OnceCell;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PrebuiltUse {
    WhereCompilersAreMissing,
    /// Write the set.
    Update,
    /// Write a set without images: only the kernels' parameters.
    Signatures,
    Only,
    Never,
}

impl PrebuiltUse {
    /// Parses the value of `OFFLOAD_PREBUILT`. `variable` is the name of the variable that is set.
    ///
    /// Returns an error for an unknown word.
    pub(super) fn parse(variable: &str, value: &str) -> Result<Self, Error> {
        match value {
            "update" => Ok(PrebuiltUse::Update),
            "signatures" => Ok(PrebuiltUse::Signatures),
            "only" => Ok(PrebuiltUse::Only),
            "never" => Ok(PrebuiltUse::Never),
            _ => Err(refused(variable, value, "must be 'update', 'signatures', 'only' or 'never'")),
        }
    }
}

/// Returns the error for an invalid value of the variable.
pub(super) fn refused(variable: &str, value: &str, why: &str) -> Error {
    Error::config(format!("{variable} is '{value}', but {why}"))
}

/// The default folder of the set.
pub(super) const FOLDER: &str = "prebuilt";

const FIRST_LINE: &str = "offload-prebuilt 1";

/// The prebuilt set of one module, as its manifest describes it.
#[derive(Default)]
pub(crate) struct Prebuilt {
    folder: PathBuf,
    manifest: PathBuf,
    compilers: Vec<String>,
    options: String,
    /// The inputs, with paths relative to the package.
    inputs: Inputs,
    images: Vec<(String, ContentHash, String)>,
    /// The hash and name of the file with the kernels' parameters, if the set contains one.
    signatures: Option<(ContentHash, String)>,
    /// The result of comparing the set with this build, once known: the reason for a mismatch, or
    /// `None`.
    misfit: OnceCell<Option<String>>,
}

/// Returns the first absolute path in the options of a manifest, if there is one. Ignores macro
/// values (`-D`), which are text.
fn absolute_path(options: &str) -> Option<&str> {
    for word in options.split(' ') {
        if word.starts_with("-D") {
            continue;
        }
        for part in word.split(['=', ',']) {
            let path = part.trim_start_matches("-I").trim_start_matches("-isystem");
            let path = path.trim_start_matches('@');
            if Path::new(path).is_absolute() {
                return Some(path);
            }
        }
    }
    None
}

/// Returns the start of a module's file names in the set. `prefix` is the module's name and a
/// period, or empty for the unnamed module.
pub(super) fn stem(pack: &str, prefix: &str) -> String {
    format!("{pack}.{prefix}").trim_end_matches('.').to_owned()
}

/// Returns the path of a module's manifest. `stem` is the start of the module's file names.
pub(crate) fn manifest_path(folder: &Path, stem: &str) -> PathBuf {
    folder.join(format!("{stem}.manifest"))
}

/// Returns the reason why a prebuilt set has no kernel parameters. `stem` is the start of the
/// module's file names.
pub(super) fn no_signatures(folder: &Path, stem: &str) -> String {
    let file = folder.join(image_file_name(stem, "signatures"));
    format!("the prebuilt set has no {}", file.display())
}

impl Prebuilt {
    /// Reads the set of a module whose file names start with `stem`. Returns `None` if the package
    /// has no such set.
    pub(crate) fn load(folder: &Path, stem: &str) -> Result<Option<Self>, Error> {
        let manifest = manifest_path(folder, stem);
        let text = match fs::read_to_string(&manifest) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::io("read", &manifest, error)),
        };
        let mut set = Self { folder: folder.to_owned(), manifest, ..Self::default() };
        for (index, line) in text.lines().enumerate() {
            set.read_line(index, line).ok_or_else(|| {
                let message = format!(
                    "cannot parse line {} of {}: '{line}'\nregenerate the prebuilt set with \
                     OFFLOAD_PREBUILT=update cargo build --release",
                    index + 1,
                    set.manifest.display()
                );
                Error::new(ErrorKind::Prebuilt, message)
            })?;
        }
        Ok(Some(set))
    }

    fn read_line(&mut self, index: usize, line: &str) -> Option<()> {
        if index == 0 {
            return (line == FIRST_LINE).then_some(());
        }
        let (key, value) = line.split_once(' ').unwrap_or((line, ""));
        match key {
            "compiler" | "rust" => self.compilers.push(value.to_owned()),
            "nvcc" => self.compilers.push(format!("nvcc {value}")),
            "options" => self.options = value.to_owned(),
            "ptxas" | "optimization" => {}
            "image" => {
                let mut words = value.splitn(3, ' ');
                let (target, hash, file) = (words.next()?, words.next()?, words.next()?);
                self.images.push((target.to_owned(), ContentHash::parse(hash)?, file_name(file)?));
            }
            "signatures" => {
                let (hash, file) = value.split_once(' ')?;
                self.signatures = Some((ContentHash::parse(hash)?, file_name(file)?));
            }
            _ => surroundings::read_line(&mut self.inputs, key, value)?,
        }
        Some(())
    }

    pub(crate) fn compilers(&self) -> &[String] {
        &self.compilers
    }

    /// Returns the input files, with paths relative to the package.
    fn files(&self) -> impl Iterator<Item = &Input> {
        self.inputs.files.iter().filter(|input| input.kind == InputKind::File)
    }

    /// Compares the set's options and inputs with this build's. Returns the reason for a mismatch,
    /// if there is one.
    fn misfit(&self, setting: &Setting<'_>) -> Option<String> {
        let manifest = self.manifest.display();
        let cargo = setting.cargo;
        cargo.watch(&self.manifest);
        if self.options != setting.portable(&setting.options) {
            return Some(format!("{manifest} was made with different options ({})", self.options));
        }
        let is_packaged = cargo.is_packaged();
        let is_published = is_packaged && !cargo.is_packaging();
        for Input { path: name, hash: recorded, .. } in self.files() {
            let name = &*name.to_string_lossy();
            let ours = setting.header(name);
            if ours.is_some() && is_published || self.is_left_out(name.as_ref(), is_packaged, cargo)
            {
                continue;
            }
            let path = match ours {
                Some(header) => setting.output.include().join(header),
                None => setting.here(name),
            };
            match ContentHash::of_file(&path) {
                Ok(hash) if hash == *recorded && ours.is_some() => {}
                Ok(hash) if hash == *recorded => cargo.watch_input(&path),
                Ok(_) if has_other_line_ends(&path, *recorded) => {
                    return Some(format!(
                        "{name} has Windows line endings (CRLF), but had none when {manifest} was \
                         made. git's core.autocrlf adds them. Add the line '{name} text eol=lf' to \
                         the package's .gitattributes, and check the file out again"
                    ));
                }
                Ok(_) => return Some(format!("{name} has changed since {manifest} was made")),
                Err(error) => {
                    return Some(format!(
                        "{name}, an input of {manifest}, cannot be read: {error}"
                    ));
                }
            }
        }
        if self.files().any(|input| self.is_left_out(&input.path, is_packaged, cargo)) {
            return None;
        }
        let why = surroundings::change(&self.inputs, setting, is_packaged)?;
        Some(format!("{why} {manifest} was made"))
    }

    /// Whether an input belongs to a crate that is missing here. `cargo package` and `cargo vendor`
    /// leave out folders with a separate manifest, and `cargo vendor` does not mark packages from
    /// git as packaged. A package may also have been moved away from the neighbouring crates.
    fn is_left_out(&self, input: &Path, is_packaged: bool, cargo: &Cargo) -> bool {
        let is_absent = |manifest: &Path| {
            // Comparing sizes first is much faster than comparing paths.
            let size = manifest.as_os_str().len();
            let is_it = |it: &Input| it.path.as_os_str().len() == size && it.path == manifest;
            if !manifest.ends_with("Cargo.toml") || !self.files().any(is_it) {
                return false;
            }
            let path = cargo.manifest_dir.join(manifest);
            let is_folder_missing = !path.parent().is_some_and(Path::exists);
            if manifest.starts_with("..") {
                // In a packaged crate, a path that begins with `..` leads into some other package.
                is_packaged || !path.is_file()
            } else {
                is_folder_missing || (is_packaged && !path.is_file())
            }
        };
        if input.file_stem().is_some_and(|it| it == "rust-toolchain") {
            // The file may be in a parent folder of the crate, which has no manifest.
            let folder = input.parent().unwrap_or(Path::new(""));
            return self.files().any(|it| it.path.starts_with(folder) && is_absent(&it.path));
        }
        let mut folders = input.ancestors().skip(1);
        folders.any(|folder| is_absent(&folder.join("Cargo.toml")))
    }

    /// Returns the kernels' parameters, or the reason why the set lacks them or does not match this
    /// build.
    pub(crate) fn signatures(&self, setting: &Setting<'_>) -> Result<Signatures, String> {
        match self.misfit.get_or_init(|| self.misfit(setting)) {
            Some(misfit) => Err(misfit.clone()),
            None => self.recorded_signatures(setting.cargo),
        }
    }

    /// Returns the kernels' parameters that the set records, even if the set does not match this
    /// build. If there are none, the error says why.
    pub(crate) fn recorded_signatures(&self, cargo: &Cargo) -> Result<Signatures, String> {
        let manifest = self.manifest.display();
        cargo.watch(&self.manifest);
        let (recorded, file) = self
            .signatures
            .as_ref()
            .ok_or_else(|| format!("{manifest} lists no file of kernel parameters"))?;
        let path = self.folder.join(file);
        let text = fs::read_to_string(&path)
            .map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
        cargo.watch(&path);
        let is_recorded = ContentHash::of_bytes(text.as_bytes()).is_ok_and(|it| it == *recorded);
        let known = text.parse().ok().filter(|_| is_recorded);
        known.ok_or_else(|| format!("{} does not match its entry in {manifest}", path.display()))
    }

    pub(crate) fn has_images(&self) -> bool {
        !self.images.is_empty()
    }

    /// Returns the image for a target, or the reason why the set lacks it.
    pub(crate) fn image(
        &self,
        target: &Target,
        setting: &Setting<'_>,
    ) -> Result<Result<Image, String>, Error> {
        if let Some(misfit) = self.misfit.get_or_init(|| self.misfit(setting)) {
            return Ok(Err(misfit.clone()));
        }
        let manifest = self.manifest.display();
        let Some((_, recorded, file)) =
            self.images.iter().find(|(found, _, _)| found == target.as_str())
        else {
            return Ok(Err(format!("{manifest} has no image for this target")));
        };
        let path = self.folder.join(file);
        let shown = path.display();
        match ContentHash::of_file(&path) {
            Ok(hash) if hash == *recorded => {
                setting.cargo.watch(&path);
                Image::open(target, &path, hash, Origin::Prebuilt, setting.cargo).map(Ok)
            }
            Ok(_) => Ok(Err(format!("{shown} does not match its entry in {manifest}"))),
            Err(error) => Ok(Err(format!("{shown} cannot be read: {error}"))),
        }
    }
}

/// Returns a file name from a manifest, or `None` if it contains a folder, because files must be
/// directly in the set's folder.
fn file_name(text: &str) -> Option<String> {
    (!text.contains(['/', '\\'])).then(|| text.to_owned())
}

/// Whether the file would have this hash with Unix line endings.
fn has_other_line_ends(path: &Path, recorded: ContentHash) -> bool {
    let Ok(text) = fs::read_to_string(path) else { return false };
    ContentHash::of_bytes(text.replace("\r\n", "\n").as_bytes()).is_ok_and(|hash| hash == recorded)
}

/// Writes the prebuilt set: these images, the kernels' parameters, and the manifest with the
/// inputs.
///
/// `made_with` lists the tools and the optimization levels, which the manifest contains only as
/// information.
///
/// Returns an error if the set would contain a path that is valid only on this machine.
pub(crate) fn update(
    folder: &Path,
    stem: &str,
    setting: &Setting<'_>,
    made_with: &[(&str, String)],
    images: &[&MadeImage],
    made: &[&MadeImage],
    signatures: &Signatures,
) -> Result<(), Error> {
    let refuse = |path: &str| {
        Error::new(
            ErrorKind::Prebuilt,
            format!(
                "a prebuilt set must work on every machine, but {path} is an absolute path. Make \
                 the path relative to the package, or add its folder with .include(...). For such \
                 a folder, the set stores a number instead of the path"
            ),
        )
    };
    let options = setting.portable(&setting.options);
    if let Some(path) = absolute_path(&options) {
        return Err(refuse(path));
    }
    let earlier = Prebuilt::load(folder, stem).ok().flatten();
    files::make_folder(folder)?;
    let mut text = format!("{FIRST_LINE}\n");
    // Writing to a string cannot fail.
    for (word, made_with) in made_with {
        let _ = writeln!(text, "{word} {made_with}");
    }
    let _ = writeln!(text, "options {options}");
    let mut lines: Vec<String> = Vec::new();
    for made in made {
        for input in &made.inputs.files {
            let header = setting.output.header_name(&input.path);
            let is_counted = match input.kind {
                // This crate's headers affect images, but not the parameters.
                InputKind::File => header.is_none() || !images.is_empty(),
                InputKind::Tree | InputKind::Package => true,
                InputKind::Variable => surroundings::is_compared(&input.path.to_string_lossy()),
                InputKind::OfSystem => false,
            };
            if !is_counted {
                continue;
            }
            let name = match header {
                Some(header) => format!("<{header}>"),
                None => setting.portable(&input.path.to_string_lossy()),
            };
            if Path::new(&name).is_absolute() {
                return Err(refuse(&name));
            }
            let word = if input.kind == InputKind::File { "input" } else { input.kind.word() };
            let line = format!("{word} {} {name}", input.hash);
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    for line in lines {
        let _ = writeln!(text, "{line}");
    }
    surroundings::write(&mut text, made, setting).map_err(|name| refuse(&name))?;
    let attributes = folder.join(".gitattributes");
    if !attributes.exists() {
        write_if_changed(
            &attributes,
            b"# Images and hashes are as they are, on every system.\n* -text\n",
        )?;
    }
    let mut kept = Vec::new();
    for MadeImage { image, .. } in images {
        let extension = image.path.extension().unwrap_or_default().to_string_lossy();
        let file = image_file_name(&format!("{stem}.{}", image.target), &extension);
        let path = folder.join(&file);
        write_if_changed(&path, &files::read(&image.path)?)?;
        let _ = writeln!(text, "image {} {} {file}", image.target, image.hash);
        kept.push(file);
    }
    if !signatures.kernels.is_empty() {
        let file = image_file_name(stem, "signatures");
        let path = folder.join(&file);
        write_if_changed(&path, signatures.to_string().as_bytes())?;
        let hash = files::hash(&path)?;
        let _ = writeln!(text, "signatures {hash} {file}");
        kept.push(file);
    }
    write_if_changed(&manifest_path(folder, stem), text.as_bytes())?;
    // Remove images of targets that are no longer listed. Keep files that the earlier manifest does
    // not name: they do not belong to the set.
    if let Some(earlier) = earlier {
        let mut files = Vec::new();
        for (_, _, file) in earlier.images {
            files.push(file);
        }
        files.extend(earlier.signatures.map(|(_, file)| file));
        for file in files {
            if !kept.contains(&file) {
                remove(&folder.join(file))?;
            }
        }
    }
    Ok(())
}
