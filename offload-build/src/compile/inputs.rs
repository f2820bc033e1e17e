//! The inputs of an image, which are known after it was compiled.

use super::Compilation;
use offload_toolchain::cargo::Cargo;
use offload_toolchain::error::Error;
use offload_toolchain::hash::ContentHash;
use offload_toolchain::read_files::lookup::{Lookup, name_in};
use offload_toolchain::read_files::seen::Seen;
use std::fs;
use std::path::{Path, PathBuf};

/// A file that went into an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Input {
    pub(crate) path: PathBuf,
    pub(crate) hash: ContentHash,
    /// Whether the file came with the system or a compiler: neither build.rs nor a variable names
    /// its folder.
    pub(crate) is_of_system: bool,
}

/// The files of the program that may be inputs of a crate of kernels.
const PROGRAM: [&str; 2] = ["Cargo.toml", "Cargo.lock"];

/// The inputs that were found so far, and the names to which their texts refer.
pub(super) struct Collected<'a> {
    compilation: &'a Compilation,
    cargo: &'a Cargo,
    inputs: Vec<Input>,
    /// The names that files test for with `__has_include` or `__has_embed`: first those in users'
    /// files, then those in files of the system.
    asked: [Vec<String>; 2],
    asks_for_any: bool,
    assembled: Vec<String>,
}

impl<'a> Collected<'a> {
    pub(super) fn new(compilation: &'a Compilation, cargo: &'a Cargo) -> Self {
        let (inputs, asked, assembled) = Default::default();
        Self { compilation, cargo, inputs, asked, asks_for_any: false, assembled }
    }

    /// Adds a file that was read, and the files that its text names but no dependency file lists.
    pub(super) fn add(&mut self, path: &Path, seen: &Seen) -> Result<(), Error> {
        let is_of_tool =
            self.compilation.tool_folders.iter().any(|folder| path.starts_with(folder));
        if is_of_tool || self.inputs.iter().any(|input| input.path == path) {
            return Ok(());
        }
        let hash = seen.hash(path).ok_or_else(|| {
            let error =
                fs::File::open(path).err().unwrap_or(std::io::ErrorKind::InvalidData.into());
            Error::io("read", path, error)
        })?;
        let is_of_system = !self.is_of_user(path);
        self.inputs.push(Input { path: path.to_owned(), hash, is_of_system });
        let mentions = seen.mentions(path);
        self.asks_for_any |= mentions.asks_for_any && !is_of_system;
        for name in &mentions.asked {
            let asked = &mut self.asked[usize::from(is_of_system)];
            if !asked.contains(name) {
                asked.push(name.clone());
            }
        }
        for name in &mentions.assembled {
            // The assembler reads the first file of this name in these folders.
            let folders = self.assembler_folders();
            let first = folders.iter().map(|it| it.join(name)).find(|it| it.is_file());
            self.assembled.push(name.clone());
            if let Some(first) = first {
                self.add(&first, seen)?;
            }
        }
        Ok(())
    }

    /// Returns the folders that the assembler searches: the working folder, and those for headers.
    fn assembler_folders(&self) -> Vec<PathBuf> {
        let mut folders = vec![PathBuf::new()];
        folders.extend_from_slice(&self.compilation.include_folders);
        folders
    }

    /// Whether a file is in a folder that build.rs or a variable names, or in the package. Cargo
    /// lists no other files of a crate.
    fn is_of_user(&self, path: &Path) -> bool {
        // The program's own files, which `cargo package` rewrites, are in no prebuilt set.
        if self.compilation.is_of_crate() {
            return !PROGRAM.iter().any(|name| path == Path::new(name));
        }
        let folders = [&self.cargo.manifest_dir, &self.cargo.out_dir]
            .into_iter()
            .chain(&self.compilation.include_folders);
        path.is_relative()
            || self.compilation.named_files.iter().any(|file| file == path)
            || folders.into_iter().any(|folder| path.starts_with(folder))
    }

    /// Returns the inputs, and the places where names were searched for.
    pub(super) fn finish(self) -> (Vec<Input>, Vec<Lookup>) {
        let mut user = Lookup { any: self.asks_for_any, ..Lookup::default() };
        for folder in &self.compilation.include_folders {
            user.add_folder(folder);
        }
        let mut system = Lookup::default();
        for input in &self.inputs {
            // `#include "x"` searches the folder of the file that contains it.
            let lookup = if input.is_of_system { &mut system } else { &mut user };
            if let Some(folder) = input.path.parent() {
                lookup.add_folder(folder);
            }
        }
        for input in &self.inputs {
            // Look up each input's name in users' folders: only a user's file can be read in place
            // of a file of the system.
            let folders = [&user.folders, &system.folders];
            let folders = folders[usize::from(input.is_of_system)].clone();
            for folder in folders {
                if let Some(name) = name_in(&input.path, &folder) {
                    user.add_name(name);
                }
            }
        }
        if self.compilation.is_of_crate() {
            // Cargo runs the script of a package without being told.
            user.add_name(Path::new("build.rs"));
        }
        // A user's file may also test for a file in the folders of the system.
        let [of_user, of_system] = &self.asked;
        for name in of_user {
            system.add_name(Path::new(name));
            user.add_name(Path::new(name));
        }
        for name in of_system {
            user.add_name(Path::new(name));
        }
        let mut assembled = Lookup::default();
        for name in &self.assembled {
            assembled.add_name(Path::new(name));
        }
        if !assembled.names.is_empty() {
            for folder in self.assembler_folders() {
                assembled.add_folder(&folder);
            }
        }
        (self.inputs, vec![user, system, assembled])
    }
}
