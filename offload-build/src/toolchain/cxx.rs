//! The host's C++ compiler, as the `cc` crate finds it.

use crate::cargo::Cargo;
use crate::error::{Error, ErrorKind};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

/// A C++ compiler with the flags that the host target and Cargo's profile ask for.
#[derive(Debug, Clone)]
pub(crate) struct Cxx {
    pub(crate) path: PathBuf,
    pub(crate) args: Vec<OsString>,
    pub(crate) env: Vec<(OsString, OsString)>,
}

impl Cxx {
    /// Returns an error if `cc` finds none, or one that does not take GNU's options.
    pub(crate) fn find(cargo: &Cargo) -> Result<Self, Error> {
        let missing = |why: String| {
            let message = format!(
                "the target 'cpu' needs a C++ compiler for {}: {why}\n\
                 install one (Debian, Ubuntu: apt install g++; Fedora: dnf install gcc-c++; macOS: xcode-select --install) \
                 or name it in CXX",
                cargo.target
            );
            Error::new(ErrorKind::ToolNotFound, message)
        };
        // `cc` tells Cargo which variables it read.
        let tool = cc::Build::new()
            .cpp(true)
            .pic(true)
            .cargo_debug(false)
            .cargo_warnings(false)
            .try_get_compiler()
            .map_err(|error| missing(error.to_string()))?;
        // `cc` takes a name for a compiler.
        Command::new(tool.path())
            .arg("--version")
            .output()
            .map_err(|error| missing(format!("{} does not start: {error}", tool.path().display())))?;
        if !(tool.is_like_gnu() || tool.is_like_clang()) {
            return Err(missing(format!("{} does not take GNU's options", tool.path().display())));
        }
        let env = tool.get_envs().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        Ok(Self { path: tool.path().to_owned(), args: tool.args().to_vec(), env })
    }
}
