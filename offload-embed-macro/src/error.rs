//! What a user reads at the literal.

use offload_format::pack_index::IndexError;
use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why a pack cannot be embedded.
#[derive(Debug)]
pub(crate) enum Error {
    /// The package has no build script.
    NoOutDir,
    /// The name is empty.
    NoName,
    /// The name is that of a file.
    FileName(String),
    /// No pack of that name; the names there are.
    NoPack { name: String, folder: PathBuf, others: Vec<String> },
    /// The index is not readable as one.
    Index(PathBuf, IndexError),
    /// A file of the pack cannot be read.
    Io(PathBuf, io::Error),
    /// The library has another size than the index says.
    Size { path: PathBuf, expected: u64, found: u64 },
    /// The pack's first bytes are others.
    Magic { path: PathBuf, offset: u64, section: &'static str },
}

const CURE: &str = "the build script must run again: change build.rs, or run cargo clean -p for this package";

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NoOutDir => f.write_str(
                "this package has no build script, so there are no packs; a build.rs makes one: \
                 offload_build::Build::new().file(\"kernels/saxpy.cu\").archs([\"gfx90a\", \"sm_80\", \"cpu\"]).compile(\"saxpy\")",
            ),
            Error::NoName => f.write_str("the name of a pack is meant: what build.rs gave to compile(...)"),
            Error::FileName(name) => {
                let stem = name.rsplit(['/', '\\']).next().and_then(|file| file.split('.').next()).unwrap_or(name);
                write!(
                    f,
                    "'{name}' is a file name, and a pack is meant: what build.rs gave to compile(...), such as \"{stem}\""
                )
            }
            Error::NoPack { name, folder, others } => {
                write!(f, "there is no pack \"{name}\" in {}: build.rs has to call compile(\"{name}\")", folder.display())?;
                match others.is_empty() {
                    true => f.write_str("; it has made none"),
                    false => write!(f, "; it has made \"{}\"", others.join("\", \"")),
                }
            }
            Error::Index(path, error) => write!(f, "{}: {error}; {CURE}", path.display()),
            Error::Io(path, error) => write!(f, "could not read {}: {error}; {CURE}", path.display()),
            Error::Size { path, expected, found } => {
                write!(f, "{} has {found} bytes and should have {expected}: it was cut short or damaged; {CURE}", path.display())
            }
            Error::Magic { path, offset, section } => {
                write!(f, "{} has no pack for {section} at offset {offset}: it is damaged; {CURE}", path.display())
            }
        }
    }
}
