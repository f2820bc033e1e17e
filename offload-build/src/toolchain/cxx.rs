//! The host's C++ compiler, as the `cc` crate finds it.

use super::answers::Answers;
use super::{identity, search};
use crate::cargo::Cargo;
use crate::error::{Error, ErrorKind};
use crate::hash::ContentHash;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A C++ compiler with the flags that the host target and Cargo's profile ask for.
#[derive(Debug, Clone)]
pub(crate) struct Cxx {
    pub(crate) path: PathBuf,
    pub(crate) args: Vec<OsString>,
    pub(crate) env: Vec<(OsString, OsString)>,
}

impl Cxx {
    /// Returns an error if `cc` finds none, or one that does not take GNU's options.
    pub(crate) fn find(cargo: &Cargo, answers: &Answers) -> Result<Self, Error> {
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
        let question =
            ContentHash::of_parts(["the C++ compiler".to_owned()].into_iter().chain(cargo.compiler_variables()));
        if let Some(known) = answers.get(question).and_then(|text| Self::parse(&text, cargo)) {
            return Ok(known);
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
        let found = Self { path, args: tool.args().to_vec(), env };
        // For Apple's systems `cc` asks where the SDK is, which no file here tells of.
        if let Some(text) = found.to_text(tool.path()).filter(|_| !cargo.target.contains("-apple-")) {
            answers.put(question, &text);
        }
        Ok(found)
    }

    /// What [`Cxx::parse`] reads: name and identity, arguments, variables. `None` if something is not UTF-8.
    fn to_text(&self, name: &Path) -> Option<String> {
        let start = [name.to_str()?.to_owned(), identity(&self.path)].join(WORD_END);
        let args = self.args.iter().map(|arg| arg.to_str()).collect::<Option<Vec<_>>>()?;
        let env =
            self.env.iter().flat_map(|(name, value)| [name.to_str(), value.to_str()]).collect::<Option<Vec<_>>>()?;
        Some([start, args.join(WORD_END), env.join(WORD_END)].join(LIST_END))
    }

    /// `None` if it is another compiler now that goes by the name.
    fn parse(text: &str, cargo: &Cargo) -> Option<Self> {
        let words = |list: &str| -> Vec<OsString> {
            if list.is_empty() { Vec::new() } else { list.split(WORD_END).map(OsString::from).collect() }
        };
        let (start, rest) = text.split_once(LIST_END)?;
        let (args, env) = rest.split_once(LIST_END)?;
        let (name, known) = start.split_once(WORD_END)?;
        let path = search::named(Path::new(name), cargo)?;
        (identity(&path) == known).then_some(())?;
        let env = words(env).chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect();
        Some(Self { path, args: words(args), env })
    }
}

/// Separators that are in no command line.
const WORD_END: &str = "\u{1f}";
const LIST_END: &str = "\u{1e}";
