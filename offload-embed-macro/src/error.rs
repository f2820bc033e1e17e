//! Errors that the compiler shows at the user's literal. Each message contains the attempted
//! action, the cause and advice.

use crate::suggest;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A reason why a pack cannot be embedded.
#[derive(Debug)]
pub(crate) enum Error {
    /// The package has no build script.
    NoOutDir,
    /// The name is empty.
    NoName,
    /// A file name is given in place of a pack's name.
    FileName(String),
    /// No pack has this name. The error lists the existing packs.
    NoPack { name: String, folder: PathBuf, others: Vec<String> },
    /// The index file cannot be read as an index.
    Index(PathBuf, String),
    /// A file of the pack cannot be read.
    Io(PathBuf, io::Error),
    /// The size of the library differs from the size in the index.
    Size { path: PathBuf, expected: u64, found: u64 },
    /// The first bytes of the pack are wrong.
    Magic { path: PathBuf, offset: u64, section: String },
    /// An on/off environment variable has an invalid value.
    Switch { variable: &'static str, value: String },
}

const CURE: &str =
    "To run the build script again, change build.rs, or run cargo clean -p for this package";

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NoOutDir => f.write_str(
                "this package has no build script, so it has no packs. Add a build.rs that calls \
                 offload_build::Build::new().file(\"kernels/saxpy.cu\").archs([\"gfx90a\", \
                 \"sm_80\", \"cpu\"]).compile(\"saxpy\")",
            ),
            Error::NoName => {
                f.write_str("expected the name of a pack, which build.rs passes to compile(...)")
            }
            Error::FileName(name) => file_name(f, name),
            Error::NoPack { name, folder, .. } if !folder.is_dir() => write!(
                f,
                "there is no pack \"{name}\", because {} is missing: call compile(\"{name}\") in \
                 build.rs. If build.rs does that, OUT_DIR was emptied after build.rs ran. {CURE}",
                folder.display()
            ),
            Error::NoPack { name, folder, others } => {
                write!(f, "there is no pack \"{name}\" in {}: ", folder.display())?;
                match suggest::closest(name, others) {
                    Some(other) => write!(
                        f,
                        "did you mean \"{other}\"? Otherwise call compile(\"{name}\") in build.rs"
                    )?,
                    None => write!(f, "call compile(\"{name}\") in build.rs")?,
                }
                if others.is_empty() {
                    f.write_str(", which made no packs")
                } else {
                    write!(f, ", which made \"{}\"", others.join("\", \""))
                }
            }
            Error::Index(path, error) => write!(f, "{}: {error}. {CURE}", path.display()),
            Error::Io(path, error) => {
                write!(f, "could not read {}: {error}. {CURE}", path.display())
            }
            Error::Size { path, expected, found } => {
                write!(
                    f,
                    "{} is {found} bytes long, but should be {expected}: the file is truncated or \
                     damaged. {CURE}",
                    path.display()
                )
            }
            Error::Magic { path, offset, section } => {
                write!(
                    f,
                    "{} contains no pack for {section} at offset {offset}: the file is damaged. \
                     {CURE}",
                    path.display()
                )
            }
            Error::Switch { variable, value } => {
                write!(f, "{variable} is '{value}', but must be '1' or '0'")
            }
        }
    }
}

/// Writes the error for a file name that is given in place of a pack's name, with advice if the
/// file can be embedded.
fn file_name(f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
    const FILES: [&str; 10] =
        ["hipfb", "fatbin", "hsaco", "co", "cubin", "ptx", "spv", "bundle", "offload", "ob"];
    let extension =
        Path::new(name).extension().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
    let stem =
        name.rsplit(['/', '\\']).next().and_then(|file| file.split('.').next()).unwrap_or(name);
    write!(
        f,
        "'{name}' is a file name, but the macro expects the name of a pack that build.rs passes to \
         compile(...), such as \"{stem}\""
    )?;
    if FILES.contains(&&*extension) {
        write!(
            f,
            ". To embed a file, write include_offload!(path = \"{name}\"), which needs the feature \
             `files`"
        )
    } else {
        Ok(())
    }
}
