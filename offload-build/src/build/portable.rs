//! Converts between this machine's paths and the machine-independent names in prebuilt sets.

use crate::output::OutDir;
use crate::toolchain::{Cargo, with_folder_named};
use std::path::PathBuf;

/// The values that a prebuilt set must match: a module's options, and the locations of its inputs
/// on this machine.
pub(crate) struct Setting<'a> {
    pub(crate) options: String,
    /// The folders outside the package that build.rs names.
    pub(crate) folders: Vec<PathBuf>,
    pub(crate) output: &'a OutDir,
    pub(crate) cargo: &'a Cargo,
}

impl Setting<'_> {
    /// Replaces this machine's paths in the text with machine-independent names.
    pub(super) fn portable(&self, text: &str) -> String {
        // Replace longer paths first, because one folder may contain another.
        let mut folders: Vec<(String, usize)> = Vec::new();
        for (index, folder) in self.folders.iter().enumerate() {
            let folder = folder.display().to_string();
            let place = folders.partition_point(|(other, _)| other.len() >= folder.len());
            folders.insert(place, (folder, index + 1));
        }
        let mut text = text.to_owned();
        for (folder, number) in folders {
            text = with_folder_named(&text, &folder, &format!("<folder {number}>"));
        }
        self.cargo.portable(&text)
    }

    /// Returns this machine's path for a name from [`Setting::portable`].
    pub(super) fn here(&self, name: &str) -> PathBuf {
        let numbered = name.strip_prefix("<folder ").and_then(|rest| rest.split_once('>'));
        let folder = numbered.and_then(|(number, _)| {
            self.folders.get(number.parse::<usize>().ok()?.checked_sub(1)?)
        });
        match (folder, numbered) {
            (Some(folder), Some((_, rest))) => folder.join(rest.trim_start_matches('/')),
            _ => self.cargo.here(name),
        }
    }

    /// Strips the angle brackets from the name of one of this crate's headers, else returns `None`.
    pub(super) fn header<'n>(&self, name: &'n str) -> Option<&'n str> {
        let header = name.strip_prefix('<')?.strip_suffix('>')?;
        self.output.header_name(&self.output.include().join(header)).is_some().then_some(header)
    }
}
