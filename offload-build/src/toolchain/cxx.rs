//! The host's C++ compiler, as the `cc` crate finds it.

use super::search;
use crate::cargo::Cargo;
use crate::error::{Error, ErrorKind};
use std::ffi::OsString;
use std::path::PathBuf;

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
            let cure = match cargo.target == cargo.host {
                true => {
                    "install one (Debian, Ubuntu: apt install g++; Fedora: dnf install gcc-c++; macOS: xcode-select \
                         --install) or name it in CXX"
                        .to_owned()
                }
                false => format!(
                    "install a cross compiler and name it in CXX_{}, or leave 'cpu' out of the targets",
                    cargo.target.replace('-', "_")
                ),
            };
            let message = format!("the target 'cpu' needs a C++ compiler for {}: {why}\n{cure}", cargo.target);
            Error::new(ErrorKind::ToolNotFound, message)
        };
        // `cc` would tell Cargo itself, and print what it found for each variable into every error.
        let underscores = cargo.target.replace('-', "_");
        for name in ["CXX", "CXXFLAGS"] {
            for form in [&cargo.target, &underscores] {
                cargo.user_var(&format!("{name}_{form}"));
            }
            for prefix in ["HOST_", "TARGET_", ""] {
                cargo.user_var(&format!("{prefix}{name}"));
            }
        }
        let tool = cc::Build::new()
            .cpp(true)
            .pic(true)
            .cargo_metadata(false)
            .cargo_debug(false)
            .cargo_warnings(false)
            .try_get_compiler()
            .map_err(|error| missing(error.to_string()))?;
        // `cc` takes a name for a compiler.
        let path = search::named(tool.path(), cargo)
            .ok_or_else(|| missing(format!("{} does not start: there is no such file", tool.path().display())))?;
        if !(tool.is_like_gnu() || tool.is_like_clang()) {
            return Err(missing(format!("{} does not take GNU's options", tool.path().display())));
        }
        let env = tool.get_envs().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        Ok(Self { path, args: tool.args().to_vec(), env })
    }
}
