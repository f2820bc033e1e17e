//! The index's record of an image, in types that are also visible to programs.

use crate::target::PtxVersion;
use core::fmt;

/// The kind of an image of a pack, with the facts other than its target that the selection rules
/// need. `S` is the text type.
///
/// Source: the pages of offload-format's modules `image` and `select`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PackImageKind<S = &'static str> {
    /// An AMD code object.
    CodeObject {
        /// Its code object version.
        version: u32,
    },
    /// NVIDIA machine code.
    Cubin,
    /// PTX text. A NUL follows the text's last byte in the pack.
    Ptx {
        /// The PTX ISA version of the text.
        version: PtxVersion,
    },
    /// A shared object for the CPU.
    SharedObject {
        /// The host's target triple, as Cargo spells it.
        triple: S,
    },
}

impl<S> PackImageKind<S> {
    /// Returns this kind with its text converted to another type by `hold`.
    pub fn map_text<T>(self, hold: impl FnOnce(S) -> T) -> PackImageKind<T> {
        match self {
            PackImageKind::CodeObject { version } => PackImageKind::CodeObject { version },
            PackImageKind::Cubin => PackImageKind::Cubin,
            PackImageKind::Ptx { version } => PackImageKind::Ptx { version },
            PackImageKind::SharedObject { triple } => {
                PackImageKind::SharedObject { triple: hold(triple) }
            }
        }
    }
}

impl<S> fmt::Display for PackImageKind<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            PackImageKind::CodeObject { .. } => "code object",
            PackImageKind::Cubin => "cubin",
            PackImageKind::Ptx { .. } => "PTX",
            PackImageKind::SharedObject { .. } => "shared object",
        })
    }
}

/// The origin of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Compiled by this build.
    Compiled,
    /// Taken from the package's prebuilt set, because the inputs that the set records match the
    /// inputs of this build.
    Prebuilt,
    /// Taken from a file that build.rs lists, or that the program embeds by its path.
    Supplied,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Origin::Compiled => "compiled",
            Origin::Prebuilt => "prebuilt",
            Origin::Supplied => "supplied",
        })
    }
}
