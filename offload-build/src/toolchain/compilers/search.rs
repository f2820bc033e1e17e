//! Logs where a search looked for a tool, and starts tools that users name.

use super::install;
use crate::toolchain::cargo::Cargo;
use crate::toolchain::error::{Error, ErrorKind};
use crate::toolchain::exec;
use std::fmt;
use std::path::{Path, PathBuf};

/// A tool, or the searched places if the tool is missing.
pub type Found<T> = Result<T, SearchLog>;

/// The places searched for a tool, in order. If the tool is missing, the message lists them.
#[derive(Debug, Clone, Default)]
pub struct SearchLog {
    unset: Vec<&'static str>,
    places: Vec<String>,
    /// The first program that exists but is not executable.
    not_executable: Option<PathBuf>,
}

impl SearchLog {
    /// Logs a variable that could have named the tool but is not set.
    pub fn not_set(&mut self, variable: &'static str) {
        self.unset.push(variable);
    }

    /// Logs a description of a place where the tool was not found.
    pub fn note(&mut self, place: impl Into<String>) {
        self.places.push(place.into());
    }

    /// Whether the file with the tool's name is executable. If it isn't executable, logs that.
    pub fn is_executable(&mut self, program: &Path) -> bool {
        let is_executable = exec::is_executable(program);
        if !is_executable {
            self.note(format!("{} is not executable", program.display()));
            self.not_executable.get_or_insert_with(|| program.to_owned());
        }
        is_executable
    }

    /// Returns the help for making the tool executable, if the search found a file that isn't.
    pub fn help(&self) -> Option<String> {
        self.not_executable.as_deref().map(install::make_executable)
    }
}

impl fmt::Display for SearchLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((last, others)) = self.unset.split_last() {
            if others.is_empty() {
                write!(f, "{last} is not set; ")?
            } else {
                write!(f, "{} and {last} are not set; ", others.join(", "))?
            }
        }
        f.write_str(&self.places.join(", "))
    }
}

/// Starts the tool that the user names in `by`.
///
/// Returns an error if the file does not exist or cannot be used as the tool.
pub(super) fn named<T>(
    by: &str,
    name: &Path,
    cargo: &Cargo,
    start: impl FnOnce(&Path) -> Result<T, String>,
) -> Result<T, Error> {
    let found = executable(name, cargo).and_then(|path| start(&path));
    found.map_err(|why| {
        let message = format!("{by} names {}, which cannot be used: {why}", name.display());
        Error::new(ErrorKind::ToolNotFound, message)
    })
}

fn executable(name: &Path, cargo: &Cargo) -> Result<PathBuf, String> {
    match exec::named(name, cargo) {
        Some(path) if exec::is_executable(&path) => Ok(path),
        Some(path) => Err(format!("it is not executable; {}", install::make_executable(&path))),
        None => {
            Err("there is no such file; correct the path, or remove the setting to let the build \
             search for the tool"
                .to_owned())
        }
    }
}
