//! Collects the inputs of an image, which are known only after its compilation.

use super::Compilation;
use crate::toolchain::files::{self, is_cache};
use crate::toolchain::read_files::lookup::{Lookup, name_in};
use crate::toolchain::{Cargo, ContentHash, Error, Parts, Seen};
use std::fs;
use std::path::{Path, PathBuf};

/// A file that an image was built from, or another kind of dependency of a kernel crate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Input {
    pub(crate) kind: InputKind,
    /// The input's path, or the variable's name.
    pub(crate) path: PathBuf,
    pub(crate) hash: ContentHash,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InputKind {
    File,
    /// A system or compiler file, in a folder that neither build.rs nor a variable names.
    OfSystem,
    /// The names of the files in a folder that a build script reads, or the existence of a path
    /// that the build script watches.
    Tree,
    /// The names of the files in a package whose build script prints no `rerun-if` instructions.
    Package,
    /// An environment variable.
    Variable,
}

#[derive(Debug, Default)]
pub(crate) struct Inputs {
    pub(crate) files: Vec<Input>,
    /// The names that were looked up, and the folders searched for them.
    pub(crate) lookups: Vec<Lookup>,
}

impl Inputs {
    /// Tells Cargo to rerun the build script when an input changes.
    pub(crate) fn watch(&self, cargo: &Cargo) {
        for input in &self.files {
            input.watch(cargo);
        }
    }
}

impl InputKind {
    /// Each kind with its word in records and manifests.
    const ALL: [(Self, &'static str); 5] = [
        (Self::File, "file"),
        (Self::OfSystem, "system"),
        (Self::Tree, "tree"),
        (Self::Package, "package"),
        (Self::Variable, "variable"),
    ];

    pub(crate) fn of_word(word: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, it)| *it == word).map(|(kind, _)| *kind)
    }

    pub(crate) fn word(self) -> &'static str {
        Self::ALL[self as usize].1
    }
}

impl Input {
    /// Returns the input in its current state, or `None` for a file that cannot be read.
    pub(crate) fn now(kind: InputKind, path: PathBuf, seen: &Seen, cargo: &Cargo) -> Option<Self> {
        let hash = match kind {
            InputKind::File | InputKind::OfSystem => seen.hash(&path)?,
            InputKind::Variable => cargo.variable(&path.to_string_lossy()),
            InputKind::Tree | InputKind::Package => {
                let mut names = Parts::default();
                for file in tree(kind, &path) {
                    names.add(&file);
                }
                if path.is_file() {
                    names.add("");
                }
                names.finish()
            }
        };
        Some(Self { kind, path, hash })
    }

    /// Tells Cargo to rerun the build script when the input changes. Cargo already watches the
    /// environment variables that were read.
    fn watch(&self, cargo: &Cargo) {
        match self.kind {
            InputKind::File | InputKind::OfSystem => cargo.watch_input(&self.path),
            InputKind::Variable => {}
            InputKind::Package => cargo.watch_folder(&self.path),
            InputKind::Tree => {
                // If the path is missing, watch the folder in which it would appear. If Cargo
                // cannot watch that folder, it runs this build script each time, just like the
                // kernel crate's.
                let folder = self.path.parent().unwrap_or(&self.path);
                let is_missing = !self.path.exists() && cargo.can_watch(folder);
                cargo.watch(if is_missing { folder } else { &self.path });
            }
        }
    }
}

/// Returns the relative paths of the files that Cargo watches in a folder. For a package whose
/// build script prints no instructions, Cargo skips git's files and the package's `target`.
fn tree(kind: InputKind, folder: &Path) -> Vec<String> {
    let is_left_out: files::IsLeftOut = match kind {
        InputKind::Package => |name, path| {
            let is_of_git = matches!(name.rsplit('/').next(), Some(".git" | ".cargo-ok"));
            name == "target" || is_of_git || is_cache(path)
        },
        _ => |_, path| is_cache(path),
    };
    files::tree(folder, usize::MAX, is_left_out).unwrap_or_default()
}

/// The program's files that may be inputs of a kernel crate.
const PROGRAM: [&str; 2] = ["Cargo.toml", "Cargo.lock"];

/// The inputs found so far, and the file names that they mention.
pub(super) struct Collected<'a> {
    compilation: &'a Compilation,
    cargo: &'a Cargo,
    inputs: Vec<Input>,
    /// The names that files test with `__has_include` or `__has_embed`: first those in users'
    /// files, then those in system files.
    asked: [Vec<String>; 2],
    asks_for_any: bool,
    /// The quoted names in users' files, which compilers look up beside those files.
    quoted: Vec<String>,
    quotes_any: bool,
    assembled: Vec<String>,
}

impl<'a> Collected<'a> {
    pub(super) fn new(compilation: &'a Compilation, cargo: &'a Cargo) -> Self {
        let (inputs, asked, quoted, assembled) = Default::default();
        let (asks_for_any, quotes_any) = (false, false);
        Self { compilation, cargo, inputs, asked, asks_for_any, quoted, quotes_any, assembled }
    }

    /// Adds a file that was read, plus the files that it names but no dependency file lists.
    pub(super) fn add(&mut self, path: &Path, seen: &Seen) -> Result<(), Error> {
        let is_of_tool =
            self.compilation.tool_folders.iter().any(|folder| path.starts_with(folder));
        // Comparing paths component by component would take seconds for thousands of files.
        let text = path.as_os_str();
        if is_of_tool || self.inputs.iter().any(|input| input.path.as_os_str() == text) {
            return Ok(());
        }
        let hash = seen.hash(path).ok_or_else(|| {
            let error =
                fs::File::open(path).err().unwrap_or(std::io::ErrorKind::InvalidData.into());
            Error::io("read", path, error)
        })?;
        let is_of_system = !self.is_of_user(path);
        let kind = if is_of_system { InputKind::OfSystem } else { InputKind::File };
        self.inputs.push(Input { kind, path: path.to_owned(), hash });
        let mentions = seen.mentions(path);
        if !is_of_system && !self.is_ours(path) {
            self.asks_for_any |= mentions.asks_for_any;
            self.quotes_any |= mentions.quotes_any;
            self.quoted.extend_from_slice(&mentions.quoted);
        }
        for name in &mentions.asked {
            let asked = &mut self.asked[usize::from(is_of_system)];
            if !asked.contains(name) {
                asked.push(name.clone());
            }
        }
        for name in &mentions.assembled {
            // The assembler reads the first file with this name in its search folders.
            self.assembled.push(name.clone());
            for folder in self.assembler_folders() {
                let file = folder.join(name);
                if file.is_file() {
                    self.add(&file, seen)?;
                    break;
                }
            }
        }
        Ok(())
    }

    /// Adds all files of a folder, and their names. `folder` may also be a missing path that a
    /// build script watches. For broken links, pipes and unreadable files, adds only the names.
    pub(super) fn add_tree(
        &mut self,
        kind: InputKind,
        folder: &Path,
        seen: &Seen,
    ) -> Result<(), Error> {
        for file in tree(kind, folder) {
            let path = folder.join(file);
            if path.is_file() && seen.hash(&path).is_some() {
                self.add(&path, seen)?;
            }
        }
        self.add_other(kind, folder, seen);
        Ok(())
    }

    /// Adds an input that is not a file.
    pub(super) fn add_other(&mut self, kind: InputKind, path: &Path, seen: &Seen) {
        self.inputs.extend(Input::now(kind, path.to_owned(), seen, self.cargo));
    }

    /// Returns the folders that the assembler searches: the working folder and the header folders.
    fn assembler_folders(&self) -> Vec<PathBuf> {
        let mut folders = vec![PathBuf::new()];
        folders.extend_from_slice(&self.compilation.include_folders);
        folders
    }

    /// Whether a file is one of this crate's headers. They include each other, and compilers search
    /// their own folder first, so other folders do not matter.
    fn is_ours(&self, path: &Path) -> bool {
        self.compilation.include_folders.first().is_some_and(|folder| path.starts_with(folder))
    }

    /// Whether a file is in a folder that build.rs or a variable names, or in the package. For a
    /// kernel crate, Cargo lists only users' files.
    fn is_of_user(&self, path: &Path) -> bool {
        // Prebuilt sets omit the program's own files, which `cargo package` rewrites.
        if self.compilation.is_of_crate() {
            return !PROGRAM.iter().any(|name| path == Path::new(name));
        }
        path.is_relative()
            || path.starts_with(&self.cargo.manifest_dir)
            || path.starts_with(&self.cargo.out_dir)
            || self.compilation.named_files.iter().any(|file| file == path)
            || self.compilation.include_folders.iter().any(|folder| path.starts_with(folder))
    }

    /// Returns the inputs, and the folders in which compilers looked up names.
    pub(super) fn finish(self) -> Inputs {
        let mut names = Lookup::default();
        let mut user = Lookup { any: self.asks_for_any, ..Lookup::default() };
        for folder in &self.compilation.include_folders {
            user.add_folder(folder);
        }
        // `#include "x"` searches the including file's folder.
        let mut beside = Lookup { any: self.asks_for_any, ..Lookup::default() };
        let mut system = Lookup::default();
        for input in &self.inputs {
            let lookup = match input.kind {
                InputKind::OfSystem => &mut system,
                InputKind::File if !self.is_ours(&input.path) => &mut beside,
                _ => continue,
            };
            if let Some(folder) = input.path.parent() {
                lookup.add_folder(folder);
            }
        }
        for input in &self.inputs {
            // Look up the inputs' names in users' folders only, because only a user's file can be
            // read instead of a system file.
            let lookups: &[&Lookup] = match input.kind {
                InputKind::OfSystem => &[&system],
                InputKind::File => &[&user, &beside],
                _ => continue,
            };
            for lookup in lookups {
                for folder in &lookup.folders {
                    if let Some(name) = name_in(&input.path, folder) {
                        names.add_name(name);
                    }
                }
            }
        }
        // A user's file may also test for a file in system folders.
        let [of_user, of_system] = &self.asked;
        for name in of_user {
            system.add_name(Path::new(name));
            names.add_name(Path::new(name));
        }
        for name in of_system {
            names.add_name(Path::new(name));
        }
        for name in &self.quoted {
            beside.add_name(Path::new(name));
        }
        if self.quotes_any {
            for name in &names.names {
                beside.add_name(name);
            }
        }
        if self.compilation.is_of_crate() {
            // Cargo searches folders for manifests, and runs a package's build.rs even if no
            // manifest names it.
            for name in ["build.rs", "Cargo.toml", "Cargo.lock"] {
                beside.add_name(Path::new(name));
            }
        }
        user.names = names.names;
        let mut assembled = Lookup::default();
        for name in &self.assembled {
            assembled.add_name(Path::new(name));
        }
        if !assembled.names.is_empty() {
            for folder in self.assembler_folders() {
                assembled.add_folder(&folder);
            }
        }
        Inputs { files: self.inputs, lookups: vec![user, beside, system, assembled] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_at_which_cargo_looks() {
        let folder = tempfile::tempdir().unwrap();
        for path in [
            ".git/index",
            ".x/a",
            "build/CACHEDIR.TAG",
            "build/b",
            "d/.git",
            "d/target/c",
            "target/d",
        ] {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        for (kind, expected) in [
            (InputKind::Tree, &[".git/index", ".x/a", "d/.git", "d/target/c", "target/d"][..]),
            (InputKind::Package, &[".x/a", "d/target/c"]),
        ] {
            assert_eq!(tree(kind, folder.path()), expected);
        }
        // The number of files is not limited.
        for number in 0..2100 {
            fs::write(folder.path().join(format!("{number}")), "").unwrap();
        }
        assert_eq!(tree(InputKind::Package, folder.path()).len(), 2102);
    }
}
