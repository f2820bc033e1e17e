//! What build.rs asks for.

use std::fmt;
use std::path::PathBuf;

/// What goes into an image beside the target: sources, and options for all of them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Options {
    pub(crate) files: Vec<PathBuf>,
    pub(crate) includes: Vec<PathBuf>,
    pub(crate) defines: Vec<(String, Option<String>)>,
    pub(crate) flags: Vec<String>,
    pub(crate) code_object_version: Option<u32>,
}

/// One line for the manifest of a prebuilt set.
impl fmt::Display for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words: Vec<String> = self.files.iter().map(|file| file.display().to_string()).collect();
        words.extend(self.includes.iter().map(|folder| format!("-I{}", folder.display())));
        words.extend(self.defines.iter().map(|(name, value)| match value {
            Some(value) => format!("-D{name}={value}"),
            None => format!("-D{name}"),
        }));
        words.extend(self.flags.iter().cloned());
        words.extend(self.code_object_version.map(|version| format!("-mcode-object-version={version}")));
        f.write_str(&words.join(" ").replace('\n', " "))
    }
}

/// All that [`Build`](crate::Build) collects but the targets.
#[derive(Debug, Clone, Default)]
pub(crate) struct Request {
    pub(crate) options: Options,
    pub(crate) clang: Option<PathBuf>,
    pub(crate) ptxas: Option<PathBuf>,
    /// The most compilers at a time.
    pub(crate) max_parallel: Option<usize>,
    /// The folder of the prebuilt set, if it is not the usual one.
    pub(crate) prebuilt: Option<PathBuf>,
}
