//! The index of a pack: a description of the pack for the macro that embeds it. The build script
//! writes the index to `OUT_DIR` as a text file:
//!
//! ```text
//! offload-pack 10
//! name saxpy
//! library offload_saxpy_90f2c1…
//! library-size 36264
//! library-offset 232
//! symbol offload_pack_90f2c1…
//! section .llvm.offloading
//! size 31744
//! module saxpy
//! image gfx90a 208 5376 compiled code-object 6
//! kernel saxpy
//! limits threads=1024 shared=0 wavefront=64
//! arguments 0+4 4+4 8+8:pointer 16+8:pointer
//! image sm_80 5888 3432 prebuilt cubin
//! kernel saxpy
//! limits shared=0
//! arguments 0+4 4+4 8+8 16+8
//! image compute_80 9536 1177 compiled ptx 7.0
//! kernel saxpy
//! arguments 0+4 4+4:float 8+8 16+8
//! image cpu 10960 15608 compiled shared-object x86_64-unknown-linux-gnu
//! kernels unknown
//! ```
//!
//! The images of a module follow its `module` line. In a pack of bundles, a line `bundle` with the
//! bundle's offset in bytes precedes the images. In a compressed pack, a line `stream` precedes the
//! images, with the offset and size in bytes of the module's stream, the decompressed size, and
//! `zstd` or `zlib`. Image offsets are then relative to the start of the decompressed stream. An
//! `image` line contains the target, the offset and size in bytes in the pack, the origin, and the
//! kind with its details. The image's kernels follow, or the line `kernels unknown`. In names of
//! kernels, a backslash, TAB and line ends are written `\\`, `\t`, `\n` and `\r`. A kernel's name
//! is followed by its launch limits, and the offset, size in bytes and type of each argument, as
//! far as the image contains them. The signatures of a module's kernels follow its images, in the
//! text form that the Rust module `signature` defines. If the build could not read the signatures,
//! a line `signatures-unknown` with the reason replaces them. If the pack was not built, the line
//! `absent` with the reason follows `name`. Then come the line `compressed`, if the pack would be
//! compressed, and the pack's modules without images.

mod interface;
mod kernel;
mod kind;
mod limits;
mod read;
#[cfg(feature = "images")]
mod recorded;
#[cfg(feature = "expansion")]
mod write;

pub use interface::{Change, first_change};
pub use kernel::{ArgumentKind, IndexArgument, IndexKernel};
pub use limits::Limits;

pub use offload_format::target::PackImageKind;

use crate::signature::{Signatures, place_of};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
#[cfg(feature = "expansion")]
use core::str::FromStr;
use offload_format::compression::Method;
use offload_format::section::DeviceSection;

const KERNELS_UNKNOWN: &str = "kernels unknown";
const COMPRESSED: &str = "compressed";
/// The version of the index format, which must be the same in the build script, the macro and
/// `offload-gpu`.
const VERSION: u32 = 10;
const FIRST_WORD: &str = "offload-pack ";

/// The index of a pack that was built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackIndex {
    /// The name of the pack.
    pub name: String,
    /// The name of the static library that contains the pack, without `lib` and `.a`.
    pub library: String,
    /// The size of the library in bytes.
    pub library_size: u64,
    /// The pack's offset in bytes from the start of the library.
    pub library_offset: u64,
    /// The symbol of the pack's bytes.
    pub symbol: String,
    /// The section that the pack is linked into.
    pub section: DeviceSection,
    /// The size of the pack in bytes.
    pub size: u64,
    /// The modules, in file order.
    pub modules: Vec<IndexModule>,
}

impl PackIndex {
    /// Returns the images of all modules, in file order.
    pub fn images(&self) -> impl Iterator<Item = &IndexImage> {
        self.modules.iter().flat_map(|module| &module.images)
    }

    /// Whether the pack is compressed.
    #[inline]
    pub fn is_compressed(&self) -> bool {
        self.modules.iter().any(|module| module.stream.is_some())
    }

    /// Returns the first bytes of the pack.
    #[inline]
    pub fn first_bytes(&self) -> &'static [u8] {
        self.section.first_bytes(self.is_compressed())
    }
}

/// The index's description of one module of a pack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexModule {
    /// The module's name.
    pub name: String,
    /// The offset in bytes from the start of the pack to the module's bundle; `None` if the pack
    /// has no bundles or the module has no images.
    pub bundle: Option<u64>,
    /// The location of the module's stream, if the pack is compressed.
    pub stream: Option<IndexStream>,
    /// The module's images, in file order.
    pub images: Vec<IndexImage>,
    /// The signatures of the kernels that the sources contain.
    pub signatures: Signatures,
    /// The reason why the build could not read the signatures; `None` if it read them, or if there
    /// are none.
    pub signatures_unknown: Option<String>,
}

impl IndexModule {
    /// Creates a module without images.
    #[inline]
    pub fn new(name: String) -> Self {
        let (images, signatures) = (Vec::new(), Signatures::default());
        Self { name, bundle: None, stream: None, images, signatures, signatures_unknown: None }
    }

    /// Returns the names of the kernels that the images list, in alphabetical order, each once.
    #[cfg(feature = "expansion")]
    pub fn kernel_names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for image in &self.images {
            for kernel in image.kernels.as_deref().unwrap_or_default() {
                names.push(&kernel.name);
            }
        }
        names.sort_unstable();
        names.dedup();
        names
    }
}

/// The location of a module's compressed stream in a pack. Sizes and offset are in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexStream {
    /// Offset from the start of the pack.
    pub offset: u64,
    /// Size.
    pub size: u64,
    /// The decompressed size.
    pub inflated_size: u64,
    /// The compression method.
    pub method: Method,
}

/// The index's description of one image of a pack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexImage {
    /// The canonical name of the target.
    pub target: String,
    /// The offset in bytes from the start of the pack or, in a compressed pack, of the module's
    /// decompressed stream.
    pub offset: u64,
    /// Size in bytes.
    pub size: u64,
    /// The origin of the image: compiled, prebuilt, or supplied.
    pub origin: Origin,
    /// The kind of the image.
    pub kind: PackImageKind<String>,
    /// The image's kernels in alphabetical order; `None` if unknown.
    pub kernels: Option<Vec<IndexKernel>>,
}

/// The origin of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Compiled by this build.
    Compiled,
    /// Taken from the package's prebuilt set, whose listed inputs match the inputs of this build.
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

impl IndexImage {
    /// Returns the kernel with this name; `None` if the image does not have it, or if its kernels
    /// are unknown.
    #[inline]
    pub fn kernel(&self, name: &str) -> Option<&IndexKernel> {
        let kernels = self.kernels.as_deref()?;
        Some(&kernels[place_of(kernels, |kernel| &kernel.name, name)?])
    }
}

/// The contents of an index file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Index {
    /// The pack was built.
    Built(PackIndex),
    /// The pack was not built.
    Absent {
        /// The name of the pack.
        name: String,
        /// The reason why the pack was not built.
        why: String,
        /// Whether build.rs requests a compressed pack.
        compressed: bool,
        /// The modules that the pack would have, without images.
        modules: Vec<IndexModule>,
    },
}

/// The reason why an index cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum IndexError {
    /// A line is malformed.
    Line {
        /// The number of the line, from 1.
        number: usize,
        /// The line.
        text: String,
    },
    /// The index has a version that this crate does not read.
    Version {
        /// The version in the index.
        found: String,
    },
}

impl fmt::Display for IndexError {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IndexError::Line { number, text } => {
                write!(f, "cannot parse line {number} of the pack's index: '{text}'")
            }
            IndexError::Version { found } => write!(
                f,
                "the pack's index has version {found}, but this version of offload-gpu reads \
                 version {VERSION}: run `cargo update -p offload-gpu -p offload-build`"
            ),
        }
    }
}

impl core::error::Error for IndexError {}

/// Reads an index like [`Index::parse`], but is compiled only once for build scripts and macros.
#[cfg(feature = "expansion")]
impl FromStr for Index {
    type Err = IndexError;

    fn from_str(text: &str) -> Result<Self, IndexError> {
        Self::parse(text)
    }
}

impl Index {
    /// Returns the name of the pack.
    pub fn name(&self) -> &str {
        match self {
            Index::Built(pack) => &pack.name,
            Index::Absent { name, .. } => name,
        }
    }

    /// Returns the modules of the pack; they have no images if the pack was not built.
    pub fn modules(&self) -> &[IndexModule] {
        match self {
            Index::Built(pack) => &pack.modules,
            Index::Absent { modules, .. } => modules,
        }
    }

    /// Whether the pack is, or would be, compressed.
    #[inline]
    pub fn is_compressed(&self) -> bool {
        match self {
            Index::Built(pack) => pack.is_compressed(),
            Index::Absent { compressed, .. } => *compressed,
        }
    }
}

#[cfg(all(test, feature = "expansion"))]
mod tests;
