//! The kind of an image.

use super::{Image, is_shared_object};
use crate::offload_binary::ImageKind as Stated;
use crate::target::{PackImageKind, Vendor};

/// The kind of an image, according to its bytes or its container.
///
/// The format and its references are on the [module's page](super).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ImageKind {
    /// An AMD code object, an ELF file.
    CodeObject,
    /// Another ELF file that is no cubin: code for a CPU.
    Elf,
    /// A library for Windows: code for a CPU.
    Pe,
    /// NVIDIA machine code.
    Cubin,
    /// PTX text.
    Ptx,
    /// LLVM bitcode.
    Bitcode,
    /// SPIR-V.
    Spirv,
    /// NVIDIA's container of images.
    Fatbin,
    /// No bytes; or the zero byte that replaces the host's code in an object bundle.
    Empty,
    /// Anything else.
    Unknown,
}

impl ImageKind {
    /// Returns the kind of an image. The first bytes are enough, except for PTX that starts with
    /// long comments.
    pub fn of(bytes: &[u8]) -> Self {
        match Image::parse(bytes) {
            _ if bytes.is_empty() => ImageKind::Empty,
            Ok(image) => image.kind(),
            // The header cannot be read: the file is damaged, or it is for an operating system that
            // this crate does not know.
            Err(_) if bytes.starts_with(b"\x7fELF") => ImageKind::Elf,
            Err(_) => ImageKind::Unknown,
        }
    }

    /// Returns the name of the kind in the JSON of `cargo offload ls`, the extension of its files,
    /// the description in messages, and the kind that an offload binary should state.
    const fn row(self) -> (&'static str, &'static str, &'static str, Option<Stated>) {
        match self {
            ImageKind::CodeObject => ("elf", "hsaco", "a code object", Some(Stated::OBJECT)),
            ImageKind::Elf => ("elf", "o", "a file for a CPU", Some(Stated::OBJECT)),
            ImageKind::Pe => ("pe", "dll", "a file for a CPU", Some(Stated::OBJECT)),
            ImageKind::Cubin => ("cubin", "cubin", "a cubin", Some(Stated::CUBIN)),
            ImageKind::Ptx => ("ptx", "ptx", "PTX", Some(Stated::PTX)),
            ImageKind::Bitcode => ("bitcode", "bc", "LLVM bitcode", Some(Stated::BITCODE)),
            ImageKind::Spirv => ("spirv", "spv", "SPIR-V", Some(Stated::SPIRV)),
            ImageKind::Fatbin => ("unknown", "bin", "a fatbin", Some(Stated::FATBINARY)),
            ImageKind::Empty => ("empty", "bin", "nothing", None),
            ImageKind::Unknown => ("unknown", "bin", "something unknown", None),
        }
    }

    /// Returns the name of the kind in the JSON of `cargo offload ls`: `elf`, `pe`, `cubin`, `ptx`,
    /// `bitcode`, `spirv`, `empty`, `unknown`.
    pub fn name(self) -> &'static str {
        self.row().0
    }

    /// Returns the extension of a file with an image of this kind; `bytes` are the image.
    pub fn extension(self, bytes: &[u8]) -> &'static str {
        match self {
            ImageKind::Elf if is_shared_object(bytes) => "so",
            kind => kind.row().1,
        }
    }

    /// Returns the description of the kind in messages: `LLVM bitcode`, `a fatbin`.
    pub fn words(self) -> &'static str {
        self.row().2
    }

    /// Returns the kind that an offload binary should state; `None` if there is none for it.
    pub fn stated(self) -> Option<Stated> {
        self.row().3
    }

    /// Returns the vendor of the devices that load such images; `None` for images that are to be
    /// compiled, and for containers.
    pub fn vendor(self) -> Option<Vendor> {
        match self {
            ImageKind::CodeObject => Some(Vendor::Amd),
            ImageKind::Cubin | ImageKind::Ptx => Some(Vendor::Nvidia),
            ImageKind::Spirv => Some(Vendor::Intel),
            ImageKind::Elf | ImageKind::Pe => Some(Vendor::Cpu),
            _ => None,
        }
    }

    /// Whether the image is text, which needs a NUL after its last byte.
    pub fn is_ptx(self) -> bool {
        self == ImageKind::Ptx
    }

    /// Whether the image is machine code: drivers load it, and it is no text.
    pub fn is_machine_code(self) -> bool {
        self.vendor().is_some() && !self.is_ptx()
    }
}

impl Stated {
    /// Returns the kind that an offload binary should state for an image of a pack.
    pub fn of_pack_image<S>(kind: &PackImageKind<S>) -> Self {
        match kind {
            PackImageKind::Cubin => Self::CUBIN,
            PackImageKind::Ptx { .. } => Self::PTX,
            PackImageKind::SpirV { .. } => Self::SPIRV,
            PackImageKind::CodeObject { .. } | PackImageKind::SharedObject { .. } => Self::OBJECT,
        }
    }
}
