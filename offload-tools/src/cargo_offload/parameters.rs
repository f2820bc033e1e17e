//! Finds the names of kernels' parameters in the packs' indexes, which the build writes.

use offload_pack::pack_index::Index;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Each kernel's parameter names, keyed by the kernel's symbol.
#[derive(Debug, Default)]
pub struct ParameterNames(BTreeMap<String, Vec<String>>);

impl ParameterNames {
    /// Reads the indexes in Cargo's target folder. If several indexes describe the same kernel, the
    /// newest one wins.
    pub fn find(target: &Path) -> Self {
        let mut files: Vec<(SystemTime, PathBuf)> = Vec::new();
        // `PROFILE/build`, or `TARGET/PROFILE/build`.
        let profiles = entries(target).flat_map(|profile| {
            let inside = entries(&profile).collect::<Vec<_>>();
            [profile].into_iter().chain(inside)
        });
        for package in profiles.flat_map(|profile| entries(&profile.join("build"))) {
            for file in entries(&package.join("out/offload")) {
                let time = fs::metadata(&file).and_then(|file| file.modified());
                if let (true, Ok(time)) = (file.extension() == Some("index".as_ref()), time) {
                    files.push((time, file));
                }
            }
        }
        files.sort();
        let mut names = Self::default();
        for (_, file) in files {
            // Skip an index with a different version, because an earlier build left it behind.
            let index = fs::read_to_string(file).ok().and_then(|text| Index::parse(&text).ok());
            if let Some(Index::Built(pack)) = index {
                for kernel in pack.modules.into_iter().flat_map(|it| it.signatures.kernels) {
                    let of_kernel = kernel.parameters.into_iter().map(|it| it.name).collect();
                    names.0.insert(kernel.symbol, of_kernel);
                }
            }
        }
        names
    }

    /// Returns the name of a parameter, counted from 1.
    pub fn get(&self, kernel: &str, number: usize) -> Option<&str> {
        self.0.get(kernel)?.get(number.checked_sub(1)?).map(String::as_str)
    }
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}
