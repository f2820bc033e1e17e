//! Errors about files that are embedded by their paths. Each message contains the attempted action,
//! the cause and advice.

use crate::suggest;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A reason why a file cannot be embedded.
#[derive(Debug)]
pub(super) enum Error {
    /// The path is empty.
    NoPath,
    /// The path names a source file.
    Source(PathBuf),
    /// The path starts with a variable that is unknown or not set.
    Variable(String),
    /// The compiler does not report where the macro is called.
    NoSourceFile,
    /// The file cannot be read. The error lists the other files in the folder, and contains advice
    /// for this form of path.
    File { path: PathBuf, error: io::Error, others: Vec<String>, hint: &'static str },
    /// The file cannot be embedded. The error contains the file's kind, or what is wrong with the
    /// file.
    Content { path: PathBuf, what: String },
    /// The file has no image that a driver can load. The error lists its contents.
    NoImage { path: PathBuf, left_out: Vec<String> },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NoPath => {
                f.write_str("expected the path of a file, such as path = \"saxpy.hipfb\"")
            }
            Error::Source(path) => write!(
                f,
                "{} is a source, which the macro does not compile: compile it in build.rs with \
                 offload_build::Build::new().file(...).compile({:?}), and embed the pack with \
                 include_offload!({1:?})",
                path.display(),
                stem(path)
            ),
            Error::Variable(name) => match name.as_str() {
                "OUT_DIR" => f.write_str(
                    "$OUT_DIR is the folder of a build script, but this package has no build \
                     script",
                ),
                _ => write!(
                    f,
                    "unknown variable ${name}: a path can start with $OUT_DIR/ or \
                     $CARGO_MANIFEST_DIR/"
                ),
            },
            Error::NoSourceFile => f.write_str(
                "the compiler does not report which file calls the macro: start the path with \
                 $CARGO_MANIFEST_DIR/, the folder of the package's Cargo.toml",
            ),
            Error::File { path, error, others, hint } => {
                write!(f, "could not read {}: {error}", path.display())?;
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                if let Some(other) = suggest::closest(&name, others) {
                    write!(f, "; {other} is in that folder")?;
                }
                f.write_str(hint)
            }
            Error::Content { path, what } => write!(f, "{} {what}", path.display()),
            Error::NoImage { path, left_out } => {
                let what = if left_out.is_empty() {
                    "it contains no image".to_owned()
                } else {
                    left_out.join(", ")
                };
                write!(
                    f,
                    "{} has nothing that a driver loads: {what}. If the file is for a linker, \
                     such as clang-linker-wrapper, add `retain`",
                    path.display()
                )
            }
        }
    }
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}
