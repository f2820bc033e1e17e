//! The identities of tools in rebuild keys.

use super::probe_cache::ProbeCache;
use super::program::is_wrapper;
use std::path::{Path, PathBuf};

/// The identity of a tool: its file, its version, and the program that it starts, if the tool
/// reports that program's location.
#[derive(Debug, Clone)]
pub struct Identity {
    /// The tool's file, then the file of the program that it starts. Installing a different version
    /// changes at least one of these files.
    pub files: Vec<PathBuf>,
    pub version_text: String,
}

impl Identity {
    /// Returns the identity of a tool. Includes the output of `--version` only for a
    /// [wrapper](is_wrapper).
    pub fn of_file(tool: &Path, probes: &ProbeCache) -> Self {
        let version_text = if is_wrapper(tool) {
            probes.ask(tool, &["--version"]).unwrap_or_default()
        } else {
            String::new()
        };
        Self { files: vec![tool.to_owned()], version_text }
    }

    /// Returns the identity of nvcc. `tool` may be just a wrapper. nvcc itself is in `root`,
    /// the toolkit folder that it reports.
    pub(super) fn of_nvcc(tool: &Path, root: &Path, version_text: String) -> Self {
        let real = root.join("bin").join("nvcc");
        Self::new(tool, [real], version_text)
    }

    /// Returns the identity of clang or a C++ compiler. `--version` or `-print-prog-name=cc1plus`
    /// reports where the compiler is installed.
    pub(super) fn of_compiler(tool: &Path, probes: &ProbeCache) -> Self {
        let version_text = probes.ask(tool, &["--version"]).unwrap_or_default();
        let folder = version_text
            .lines()
            .find_map(|line| line.strip_prefix("InstalledDir: "))
            .map(Path::new);
        let name = tool.file_name().unwrap_or_default();
        let mut real: Vec<PathBuf> = Vec::new();
        match folder {
            Some(folder) => real.extend([folder.join("clang"), folder.join(name)]),
            None => {
                let answer = probes.ask(tool, &["-print-prog-name=cc1plus"]).unwrap_or_default();
                real.push(answer.trim().into());
            }
        }
        Self::new(tool, real, version_text)
    }

    fn new(tool: &Path, real: impl IntoIterator<Item = PathBuf>, version_text: String) -> Self {
        let mut files = vec![tool.to_owned()];
        for file in real {
            if file.is_absolute() && file.is_file() && !files.contains(&file) {
                files.push(file);
            }
        }
        Self { files, version_text }
    }
}
