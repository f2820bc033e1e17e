//! The result of a search for a tool, and the places where it looked.

use super::install;
use crate::toolchain::error::{Error, ErrorKind};
use std::fmt;
use std::path::{Path, PathBuf};

/// The places of the search for a tool, in order, for the message if the tool is missing.
#[derive(Debug, Clone, Default)]
pub struct Trail {
    unset: Vec<&'static str>,
    places: Vec<String>,
    /// The first program that exists but is not executable.
    not_executable: Option<PathBuf>,
}

impl Trail {
    /// Notes a variable that could have named the tool, but is not set.
    pub fn not_set(&mut self, variable: &'static str) {
        self.unset.push(variable);
    }

    /// Notes a place where the tool is missing, in words.
    pub fn note(&mut self, place: impl Into<String>) {
        self.places.push(place.into());
    }

    /// Notes a file with the tool's name that is not executable.
    pub fn note_not_executable(&mut self, program: &Path) {
        self.note(format!("{} is not executable", program.display()));
        self.not_executable.get_or_insert_with(|| program.to_owned());
    }

    /// Returns the help for making a program executable, if the search found one that is not;
    /// otherwise `None`.
    pub fn help(&self) -> Option<String> {
        self.not_executable.as_deref().map(install::make_executable)
    }
}

impl fmt::Display for Trail {
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

/// The result of a search.
#[derive(Debug, Clone)]
pub enum Found<T> {
    Tool(T),
    /// The tool is missing; the trail has the places of the search.
    Missing(Trail),
}

impl<T> Found<T> {
    /// Returns the tool.
    ///
    /// Returns an error, made from the trail, if the tool is missing.
    pub fn or_missing<E>(&self, missing: impl FnOnce(&Trail) -> E) -> Result<&T, E> {
        match self {
            Found::Tool(tool) => Ok(tool),
            Found::Missing(trail) => Err(missing(trail)),
        }
    }

    pub fn tool(&self) -> Option<&T> {
        match self {
            Found::Tool(tool) => Some(tool),
            Found::Missing(_) => None,
        }
    }
}

/// Returns the error for a tool that the user names in `by`, and that cannot be used.
pub(super) fn unusable(by: &str, name: &Path, why: &str) -> Error {
    let message = format!("{by} names {}, which cannot be used: {why}", name.display());
    Error::new(ErrorKind::ToolNotFound, message)
}
