//! Records where compilers searched for files, and under which names. If a file with such a name is
//! added later, a compiler may read it, perhaps instead of a different file.

use super::seen::Seen;
use crate::toolchain::hash::{ContentHash, Parts};
use std::path::{Component, Path, PathBuf};

/// The maximum number of names to look up one by one. For more names, list the folder first.
const FEW: usize = 8;

/// Names, and the folders in which to search for each name. Only the set of existing files matters,
/// not the order in which compilers search. Paths with the same text count as equal, because
/// comparing them component by component would take seconds for thousands of files.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Lookup {
    pub folders: Vec<PathBuf>,
    pub names: Vec<PathBuf>,
    /// Whether the sources may refer to any file in these folders or their subfolders.
    pub any: bool,
    /// The paths of the files that were found, for a prebuilt set.
    pub there: Vec<String>,
}

impl Lookup {
    pub fn add_folder(&mut self, folder: &Path) {
        if !self.folders.iter().any(|known| known.as_os_str() == folder.as_os_str()) {
            self.folders.push(folder.to_owned());
        }
    }

    pub fn add_name(&mut self, name: &Path) {
        if !self.names.iter().any(|known| known.as_os_str() == name.as_os_str()) {
            self.names.push(name.to_owned());
        }
    }

    /// Hashes which names exist in which folders.
    pub fn state(&self, seen: &Seen) -> ContentHash {
        let mut state = Parts::default();
        for folder in &self.folders {
            for name in self.found(folder, seen) {
                state.add(&name.to_string_lossy());
            }
            // Mark the end of the folder.
            state.add("");
        }
        state.finish()
    }

    /// Returns the names that exist in a folder.
    pub fn found(&self, folder: &Path, seen: &Seen) -> Vec<PathBuf> {
        // For many names, list the folder first, because it usually lacks most of the files.
        let entries = (self.names.len() > FEW).then(|| seen.entries(folder));
        let may_be_there = |name: &Path| match (&entries, name.components().next()) {
            (Some(entries), Some(Component::Normal(first))) => {
                let first = first.to_string_lossy();
                entries.binary_search_by(|entry| entry.as_str().cmp(&first)).is_ok()
            }
            _ => true,
        };
        let mut found = Vec::new();
        for name in &self.names {
            if may_be_there(name) && seen.is_there(&folder.join(name)) {
                found.push(name.clone());
            }
        }
        if self.any {
            for entry in seen.tree(folder).iter() {
                found.push(entry.into());
            }
        }
        found
    }
}

/// Returns the name by which a source includes a file in this folder. The empty path means the
/// working folder, which contains no absolute path.
pub fn name_in<'a>(file: &'a Path, folder: &Path) -> Option<&'a Path> {
    let name = file.strip_prefix(folder).ok()?;
    (!name.has_root() && !name.as_os_str().is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_folders() {
        let name = |file, folder| name_in(Path::new(file), Path::new(folder));
        for (file, folder, expected) in [
            ("k.cu", "", Some("k.cu")),
            ("inc/n.h", "", Some("inc/n.h")),
            ("inc/n.h", "inc", Some("n.h")),
            ("/out/offload/kernel.h", "/out", Some("offload/kernel.h")),
            ("/out/offload/kernel.h", "", None),
            ("/usr/n.h", "inc", None),
            ("inc", "inc", None),
        ] {
            assert_eq!(name(file, folder), expected.map(Path::new), "{file} in '{folder}'");
        }
    }
}
