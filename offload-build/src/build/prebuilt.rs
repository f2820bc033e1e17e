//! The prebuilt set: images in a package, for builds where a compiler is missing.
//!
//! The set is a folder with one file for each image and a manifest for each module.
//! `<pack>.manifest` is for the module of the build's own files, `<pack>.<module>.manifest` for a
//! named module:
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
//! image gfx90a 71f3… saxpy.gfx90a.hsaco
//! signatures c0a1… saxpy.signatures
//! ```
//!
//! A manifest lists this crate's own headers by the names with which sources include them: they are
//! in `OUT_DIR`, whose path differs on each machine. A folder outside of the package that build.rs
//! names is listed by its position, `<folder 1>`; headers of the system are no inputs of a set. A
//! `.gitattributes` beside the manifests makes git leave the files unchanged.
//!
//! After the inputs, `folder` lists the package's folders in which compilers looked for files, and
//! `name` the names of these files. A file with such a name that appears later may be read, or
//! answer `__has_include`, so the set then does not fit. `any` stands for all names, and `there` is
//! a file that existed and was not read. `variable`, `tree` and `absent` are for crates of kernels in
//! Rust: see the records of `compile/cache.rs`.
//!
//! A package does not contain its crates of kernels in Rust, because Cargo leaves folders with a
//! `Cargo.toml` out. The files of such a crate are inputs of the set, with those of the crates that
//! it depends on by path, which may be beside the package: `../shared/src/lib.rs`. They are
//! compared in the package's own builds only, where these crates are.
//!
//! A set may have the parameters of kernels alone, without images. Without clang, a build for the
//! CPU alone uses them under the same conditions as images.
//!
//! The build uses an image if build.rs's options are the same, and every input has the same bytes.
//! The compiler and the optimization are recorded for readers only. The compiler is not compared,
//! since it is missing on a machine that uses the set. The recorded optimization is the level in
//! the compilers' options: Cargo's `opt-level` for clang with this crate's header, 3 for vendors'
//! compilers. A level that build.rs sets is one of build.rs's options, so it is compared. Cargo's
//! own level is not compared, so a dev build can use the set of a release build. This crate's
//! headers are compared in the package's own builds only, since a published package may be built
//! with another version of this crate.

use super::jobs::MadeImage;
use crate::compile::inputs::{Input, InputKind};
use crate::output::{OutDir, image_file_name, remove, write_if_changed};
use crate::pack::image::Image;
use crate::targets::Target;
use offload_format::pack_index::Origin;
use offload_format::signature::Signatures;
use offload_toolchain::cargo::Cargo;
use offload_toolchain::error::{Error, ErrorKind};
use offload_toolchain::hash::ContentHash;
use offload_toolchain::read_files::lookup::Lookup;
use offload_toolchain::read_files::seen::Seen;
use std::cell::OnceCell;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// The value of `OFFLOAD_PREBUILT`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PrebuiltUse {
    WhereCompilersAreMissing,
    /// Write the set.
    Update,
    /// Write a set without images, which has only the kernels' parameters.
    Signatures,
    Only,
    Never,
}

impl PrebuiltUse {
    /// Parses the value of `OFFLOAD_PREBUILT`; `variable` is the name of the variable that is set.
    ///
    /// Returns an error for a word that is not one of the values.
    pub(super) fn parse(variable: &str, value: &str) -> Result<Self, Error> {
        match value {
            "update" => Ok(PrebuiltUse::Update),
            "signatures" => Ok(PrebuiltUse::Signatures),
            "only" => Ok(PrebuiltUse::Only),
            "never" => Ok(PrebuiltUse::Never),
            _ => Err(refused(variable, value, "it can be update, signatures, only or never")),
        }
    }
}

/// Returns the error for a value of the variable that cannot be.
pub(super) fn refused(variable: &str, value: &str, why: &str) -> Error {
    Error::config(format!("{variable} is '{value}'; {why}"))
}

/// The folder of the set, unless build.rs names another.
pub(super) const FOLDER: &str = "prebuilt";

const FIRST_LINE: &str = "offload-prebuilt 1";

/// The prebuilt set of one module, as its manifest describes it.
#[derive(Debug)]
pub(crate) struct Prebuilt {
    folder: PathBuf,
    manifest: PathBuf,
    compilers: Vec<String>,
    options: String,
    inputs: Vec<(String, ContentHash)>,
    /// The places where names were searched for, in the package's paths.
    lookups: Vec<Lookup>,
    /// Files that existed in these places, besides the inputs.
    there: Vec<String>,
    /// The inputs that are no files, in the package's paths.
    others: Vec<Input>,
    images: Vec<(String, ContentHash, String)>,
    /// The hash and the name of the file with the parameters of the kernels, if the set has one.
    signatures: Option<(ContentHash, String)>,
    /// The reason why the set does not fit this build, once it is known.
    misfit: OnceCell<Option<String>>,
}

/// The values that a set must match: the options of a module, and the locations of its inputs on
/// this machine.
#[derive(Debug)]
pub(crate) struct Setting<'a> {
    pub(crate) options: String,
    /// The folders outside of the package that build.rs names.
    pub(crate) folders: Vec<PathBuf>,
    pub(crate) output: &'a OutDir,
    pub(crate) cargo: &'a Cargo,
}

impl Setting<'_> {
    /// Returns the text with paths that are the same on every machine.
    fn portable(&self, text: &str) -> String {
        // Replace longer paths first, since one folder may be in another.
        let mut folders: Vec<(String, usize)> = Vec::new();
        for (index, folder) in self.folders.iter().enumerate() {
            let folder = folder.display().to_string();
            let place = folders.partition_point(|(other, _)| other.len() >= folder.len());
            folders.insert(place, (folder, index + 1));
        }
        let mut text = text.to_owned();
        for (folder, number) in folders {
            text = text.replace(&folder, &format!("<folder {number}>"));
        }
        self.cargo.portable(&text)
    }

    /// Returns the path on this machine for a name from [`Setting::portable`].
    fn here(&self, name: &str) -> PathBuf {
        let numbered = name.strip_prefix("<folder ").and_then(|rest| rest.split_once('>'));
        let folder = numbered.and_then(|(number, _)| {
            self.folders.get(number.parse::<usize>().ok()?.checked_sub(1)?)
        });
        match (folder, numbered) {
            (Some(folder), Some((_, rest))) => folder.join(rest.trim_start_matches('/')),
            _ => self.cargo.here(name),
        }
    }

    /// Returns this crate's header that has this name, if there is one.
    fn header<'n>(&self, name: &'n str) -> Option<&'n str> {
        let header = name.strip_prefix('<')?.strip_suffix('>')?;
        self.output.header_name(&self.output.include().join(header)).is_some().then_some(header)
    }
}

/// Returns an absolute path in the options of a manifest, if there is one. Values of macros (`-D`)
/// are text, and are not searched.
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

/// The result of a search in a prebuilt set for an image that cannot be compiled.
#[derive(Debug)]
pub(crate) enum StandIn {
    Image(Image),
    /// There is no image, for this reason.
    Misfit(String),
}

/// Returns the start of the names of a module's files in the set. `prefix` is the module's name and
/// a period; it is empty for the module of the build's own files.
pub(super) fn stem(pack: &str, prefix: &str) -> String {
    format!("{pack}.{prefix}").trim_end_matches('.').to_owned()
}

/// Returns the path of the manifest of a module whose files' names start with `stem`.
pub(crate) fn manifest_path(folder: &Path, stem: &str) -> PathBuf {
    folder.join(format!("{stem}.manifest"))
}

/// Returns the reason why a package has no parameters of kernels. `stem` is the start of the names
/// of the module's files.
pub(super) fn no_signatures(folder: &Path, stem: &str) -> String {
    let file = folder.join(image_file_name(stem, "signatures"));
    format!("the prebuilt set has no {}", file.display())
}

impl Prebuilt {
    /// Reads the set of a module, whose files' names start with `stem`; `None` if the package has
    /// none.
    pub(crate) fn load(folder: &Path, stem: &str) -> Result<Option<Self>, Error> {
        let manifest = manifest_path(folder, stem);
        let text = match fs::read_to_string(&manifest) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::io("read", &manifest, error)),
        };
        let mut set = Self {
            folder: folder.to_owned(),
            manifest,
            compilers: Vec::new(),
            options: String::new(),
            inputs: Vec::new(),
            lookups: Vec::new(),
            there: Vec::new(),
            others: Vec::new(),
            images: Vec::new(),
            signatures: None,
            misfit: OnceCell::new(),
        };
        for (index, line) in text.lines().enumerate() {
            set.read_line(index, line).ok_or_else(|| {
                let message = format!(
                    "line {} of {} is not understood: '{line}'\nremake the prebuilt set with OFFLOAD_PREBUILT=update cargo build --release",
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
            "input" => {
                let (hash, path) = value.split_once(' ')?;
                self.inputs.push((path.to_owned(), ContentHash::parse(hash)?));
            }
            "folder" => {
                // A folder after names begins another list.
                if self.lookups.last().is_none_or(|it| it.any || !it.names.is_empty()) {
                    self.lookups.push(Lookup::default());
                }
                self.lookups.last_mut()?.folders.push(value.into());
            }
            "name" => self.lookups.last_mut()?.names.push(value.into()),
            "any" => self.lookups.last_mut()?.any = true,
            "there" => self.there.push(value.to_owned()),
            "image" => {
                let mut words = value.splitn(3, ' ');
                let (target, hash, file) = (words.next()?, words.next()?, words.next()?);
                self.images.push((target.to_owned(), ContentHash::parse(hash)?, file_name(file)?));
            }
            "signatures" => {
                let (hash, file) = value.split_once(' ')?;
                self.signatures = Some((ContentHash::parse(hash)?, file_name(file)?));
            }
            word => {
                let (hash, path) = value.split_once(' ')?;
                let (kind, hash) = (InputKind::of_word(word)?, ContentHash::parse(hash)?);
                self.others.push(Input { kind, path: path.into(), hash });
            }
        }
        Some(())
    }

    /// Returns the compilers that made the images.
    pub(crate) fn compilers(&self) -> &[String] {
        &self.compilers
    }

    /// Returns the reason why no image of the set can be used, if there is one: the set was made
    /// from other options or inputs.
    fn misfit(&self, setting: &Setting<'_>) -> Option<String> {
        let manifest = self.manifest.display();
        let cargo = setting.cargo;
        cargo.watch(&self.manifest);
        if self.options != setting.portable(&setting.options) {
            return Some(format!("{manifest} was made with other options ({})", self.options));
        }
        let is_packaged = cargo.is_packaged();
        let is_published = is_packaged && !cargo.is_packaging();
        for (name, recorded) in &self.inputs {
            let ours = setting.header(name);
            if ours.is_some() && is_published || self.is_left_out(name, is_packaged, cargo) {
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
                        "{name} has the line ends of Windows (CRLF), and {manifest} was made of it without them; git's \
                         core.autocrlf does that: write '{name} text eol=lf' into the package's .gitattributes, and check the \
                         file out again"
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
        self.changed_surroundings(setting, is_packaged)
    }

    /// Returns the reason why no image of the set can be used, if files have appeared or gone that
    /// would change what compilers read, or if a variable has another value.
    fn changed_surroundings(&self, setting: &Setting<'_>, is_packaged: bool) -> Option<String> {
        let (manifest, cargo, seen) = (self.manifest.display(), setting.cargo, Seen::default());
        let is_left_out = |name: &str| self.is_left_out(name, is_packaged, cargo);
        let appeared = |name: &str| {
            Some(format!("{name} is a new file since {manifest} was made, and may be read"))
        };
        for lookup in &self.lookups {
            for folder in &lookup.folders {
                let here = setting.here(&folder.to_string_lossy());
                for found in lookup.found(&here, &seen) {
                    let name = join(folder, &found);
                    let is_known = self.inputs.iter().any(|(known, _)| *known == name)
                        || self.there.contains(&name);
                    // Cargo leaves files out of a package, and adds some.
                    let is_asked = lookup.names.contains(&found)
                        || !is_packaged && here.join(&found).is_file();
                    if is_asked && !is_known && !is_left_out(&name) {
                        return appeared(&name);
                    }
                }
            }
        }
        for name in &self.there {
            let is_needed = !is_packaged || self.asks_for(name);
            if is_needed && !setting.here(name).exists() && !is_left_out(name) {
                return Some(format!("{name} is gone since {manifest} was made"));
            }
        }
        for other in &self.others {
            let name = other.path.to_string_lossy();
            // A variable is an input of all crates.
            let is_absent = match other.kind {
                InputKind::Variable => self.inputs.iter().any(|(name, _)| is_left_out(name)),
                _ => is_left_out(&name),
            };
            let path = setting.here(&name);
            if is_absent || Input::now(other.kind, path, &seen, cargo)?.hash == other.hash {
                continue;
            }
            return Some(match other.kind {
                InputKind::Variable => {
                    format!("the variable {name} has another value than when {manifest} was made")
                }
                _ => format!("{name} has other files than when {manifest} was made"),
            });
        }
        None
    }

    /// Whether a file has a name that was searched for.
    fn asks_for(&self, file: &str) -> bool {
        for lookup in &self.lookups {
            for folder in &lookup.folders {
                if lookup.names.iter().any(|name| join(folder, name) == file) {
                    return true;
                }
            }
        }
        false
    }

    /// Whether an input is of a crate that is not here: `cargo package` leaves out folders with a
    /// manifest of their own, and so does `cargo vendor`, which does not mark packages of git. A
    /// package may also be elsewhere than the crates that were beside it.
    fn is_left_out(&self, input: &str, is_packaged: bool, cargo: &Cargo) -> bool {
        let is_absent = |manifest: &Path| {
            if !self.inputs.iter().any(|(name, _)| Path::new(name) == manifest) {
                return false;
            }
            let path = cargo.manifest_dir.join(manifest);
            let is_folder_missing = !path.parent().is_some_and(Path::exists);
            if manifest.starts_with("..") {
                // What is beside an unpacked package belongs to another one.
                is_packaged || !path.is_file()
            } else {
                is_folder_missing || (is_packaged && !path.is_file())
            }
        };
        let input = Path::new(input);
        if input.file_stem().is_some_and(|it| it == "rust-toolchain") {
            // The file may be in a folder around the crate, which has no manifest.
            let folder = input.parent().unwrap_or(Path::new(""));
            for (name, _) in &self.inputs {
                let name = Path::new(name);
                if name.starts_with(folder) && name.ends_with("Cargo.toml") && is_absent(name) {
                    return true;
                }
            }
            return false;
        }
        let mut folders = input.ancestors().skip(1);
        folders.any(|folder| is_absent(&folder.join("Cargo.toml")))
    }

    /// Returns the parameters of the kernels.
    ///
    /// Returns the reason if the set does not have them, or does not fit this build.
    pub(crate) fn signatures(&self, setting: &Setting<'_>) -> Result<Signatures, String> {
        match self.misfit.get_or_init(|| self.misfit(setting)) {
            Some(misfit) => Err(misfit.clone()),
            None => self.recorded_signatures(setting.cargo),
        }
    }

    /// Returns the parameters of the kernels, whether or not the set fits this build.
    ///
    /// Returns the reason if the set does not have them.
    pub(crate) fn recorded_signatures(&self, cargo: &Cargo) -> Result<Signatures, String> {
        let manifest = self.manifest.display();
        cargo.watch(&self.manifest);
        let (recorded, file) =
            self.signatures.as_ref().ok_or_else(|| format!("{manifest} names no file of them"))?;
        let path = self.folder.join(file);
        let text = fs::read_to_string(&path)
            .map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
        cargo.watch(&path);
        let is_recorded = ContentHash::of_bytes(text.as_bytes()).is_ok_and(|it| it == *recorded);
        let known = text.parse().ok().filter(|_| is_recorded);
        known.ok_or_else(|| format!("{} is not the file that {manifest} speaks of", path.display()))
    }

    /// Whether the set has images.
    pub(crate) fn has_images(&self) -> bool {
        !self.images.is_empty()
    }

    /// Returns the image for a target.
    pub(crate) fn image(&self, target: &Target, setting: &Setting<'_>) -> Result<StandIn, Error> {
        if let Some(misfit) = self.misfit.get_or_init(|| self.misfit(setting)) {
            return Ok(StandIn::Misfit(misfit.clone()));
        }
        let manifest = self.manifest.display();
        let Some((_, recorded, file)) =
            self.images.iter().find(|(found, _, _)| found == target.as_str())
        else {
            return Ok(StandIn::Misfit(format!("{manifest} has no image for it")));
        };
        let path = self.folder.join(file);
        match ContentHash::of_file(&path) {
            Ok(hash) if hash == *recorded => {}
            Ok(_) => {
                return Ok(StandIn::Misfit(format!(
                    "{} is not the file that {manifest} speaks of",
                    path.display()
                )));
            }
            Err(error) => {
                return Ok(StandIn::Misfit(format!("{} cannot be read: {error}", path.display())));
            }
        }
        setting.cargo.watch(&path);
        Image::open(target, &path, *recorded, Origin::Prebuilt, setting.cargo).map(StandIn::Image)
    }
}

/// Returns a file name from a manifest, if it contains no folder: the file is then in the set's
/// folder.
fn file_name(text: &str) -> Option<String> {
    (!text.contains(['/', '\\'])).then(|| text.to_owned())
}

/// Returns the path of a file in a folder of a manifest.
fn join(folder: &Path, name: &Path) -> String {
    folder.join(name).to_string_lossy().replace('\\', "/")
}

/// Whether a file differs from the one with this hash only in line ends.
fn has_other_line_ends(path: &Path, recorded: ContentHash) -> bool {
    let Ok(text) = fs::read_to_string(path) else { return false };
    ContentHash::of_bytes(text.replace("\r\n", "\n").as_bytes()).is_ok_and(|hash| hash == recorded)
}

/// Writes the prebuilt set: these images, the parameters of kernels, and the manifest with the
/// inputs of what was made. `made_with` lists the tools and the levels of optimization, which the manifest contains
/// only for readers.
///
/// Returns an error if the set would contain a path that is valid only on this machine.
pub(crate) fn update(
    folder: &Path,
    stem: &str,
    setting: &Setting<'_>,
    made_with: &[(&str, String)],
    images: &[&Image],
    made: &[&MadeImage],
    signatures: &Signatures,
) -> Result<(), Error> {
    let refuse = |path: &str| {
        Error::new(
            ErrorKind::Prebuilt,
            format!(
                "a prebuilt set is for every machine, and {path} is a path of this one: name it relative to the package, or its \
                 folder by .include(...), which goes by its position"
            ),
        )
    };
    let options = setting.portable(&setting.options);
    if let Some(path) = absolute_path(&options) {
        return Err(refuse(path));
    }
    let earlier = Prebuilt::load(folder, stem).ok().flatten();
    fs::create_dir_all(folder).map_err(|error| Error::io("make the folder", folder, error))?;
    let mut text = format!("{FIRST_LINE}\n");
    // Writing to a string does not fail.
    for (word, made_with) in made_with {
        let _ = writeln!(text, "{word} {made_with}");
    }
    let _ = writeln!(text, "options {options}");
    let mut named: Vec<(String, ContentHash)> = Vec::new();
    for input in made.iter().flat_map(|made| &made.inputs) {
        let header = setting.output.header_name(&input.path);
        // This crate's headers change images, but not the parameters.
        if input.kind != InputKind::File || header.is_some() && images.is_empty() {
            continue;
        }
        let name = match header {
            Some(header) => format!("<{header}>"),
            None => setting.portable(&input.path.to_string_lossy()),
        };
        if Path::new(&name).is_absolute() {
            return Err(refuse(&name));
        }
        if !named.iter().any(|(other, _)| *other == name) {
            named.push((name, input.hash));
        }
    }
    for (name, hash) in &named {
        let _ = writeln!(text, "input {hash} {name}");
    }
    write_surroundings(&mut text, made, setting, &named);
    let attributes = folder.join(".gitattributes");
    if !attributes.exists() {
        write_if_changed(
            &attributes,
            b"# Images and hashes are as they are, on every system.\n* -text\n",
        )?;
    }
    let mut kept = Vec::new();
    for image in images {
        let extension = image.path.extension().unwrap_or_default().to_string_lossy();
        let file = image_file_name(&format!("{stem}.{}", image.target), &extension);
        let path = folder.join(&file);
        let bytes = fs::read(&image.path).map_err(|error| Error::io("read", &image.path, error))?;
        write_if_changed(&path, &bytes)?;
        let _ = writeln!(text, "image {} {} {file}", image.target, image.hash);
        kept.push(file);
    }
    if !signatures.kernels.is_empty() {
        let file = image_file_name(stem, "signatures");
        let path = folder.join(&file);
        write_if_changed(&path, signatures.to_string().as_bytes())?;
        let hash = ContentHash::of_file(&path).map_err(|error| Error::io("read", &path, error))?;
        let _ = writeln!(text, "signatures {hash} {file}");
        kept.push(file);
    }
    write_if_changed(&manifest_path(folder, stem), text.as_bytes())?;
    // Remove images of targets that are no longer listed. Other files stay: files that the earlier
    // manifest does not name do not belong to the set.
    if let Some(earlier) = earlier {
        let files = earlier
            .images
            .into_iter()
            .map(|(_, _, file)| file)
            .chain(earlier.signatures.map(|(_, file)| file));
        files
            .filter(|file| !kept.contains(file))
            .try_for_each(|file| remove(&folder.join(file)))?;
    }
    Ok(())
}

/// Writes the lines of a manifest about what compilers and crates look for, besides the inputs
/// `named`.
fn write_surroundings(
    text: &mut String,
    made: &[&MadeImage],
    setting: &Setting<'_>,
    named: &[(String, ContentHash)],
) {
    let (seen, mut lookups, mut lines) = (Seen::default(), Vec::<Lookup>::new(), Vec::new());
    for made in made {
        for lookup in &made.lookups {
            let mut portable = Lookup { any: lookup.any, ..Lookup::default() };
            for folder in &lookup.folders {
                let name = setting.portable(&folder.to_string_lossy());
                // Folders of the system differ between machines, and another version of this crate
                // has other headers.
                if !Path::new(&name).is_absolute() && !folder.starts_with(setting.output.include())
                {
                    portable.add_folder(Path::new(&name));
                }
            }
            for name in &lookup.names {
                portable.add_name(Path::new(&setting.portable(&name.to_string_lossy())));
            }
            merge(&mut lookups, portable);
        }
        for input in &made.inputs {
            let name = input.path.to_string_lossy();
            let is_other = match input.kind {
                InputKind::Tree => true,
                InputKind::Variable => !Cargo::sets(&name),
                _ => false,
            };
            if is_other {
                let (word, name) = (input.kind.word(), setting.portable(&name));
                add_line(&mut lines, format!("{word} {} {name}", input.hash));
            }
        }
    }
    for lookup in lookups {
        for folder in &lookup.folders {
            let _ = writeln!(text, "folder {}", folder.display());
            let here = setting.here(&folder.to_string_lossy());
            for found in lookup.found(&here, &seen) {
                let name = join(folder, &found);
                if here.join(found).is_file() && !named.iter().any(|(known, _)| *known == name) {
                    add_line(&mut lines, format!("there {name}"));
                }
            }
        }
        for name in &lookup.names {
            let _ = writeln!(text, "name {}", name.display());
        }
        if lookup.any {
            text.push_str("any\n");
        }
    }
    for line in lines {
        text.push_str(&line);
        text.push('\n');
    }
}

/// Adds a list of names to that of the same folders, if there is one.
fn merge(lookups: &mut Vec<Lookup>, lookup: Lookup) {
    if lookup.folders.is_empty() || (lookup.names.is_empty() && !lookup.any) {
        return;
    }
    for known in &mut *lookups {
        if known.folders == lookup.folders {
            known.any |= lookup.any;
            for name in &lookup.names {
                known.add_name(name);
            }
            return;
        }
    }
    lookups.push(lookup);
}

fn add_line(lines: &mut Vec<String>, line: String) {
    if !lines.contains(&line) {
        lines.push(line);
    }
}
