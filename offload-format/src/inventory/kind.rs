//! The kind of an image.

use crate::image;

/// The kind of an image, according to its bytes.
///
/// The format and its references are on the [module's page](super).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ImageKind {
    /// An ELF file that is no cubin: an AMD code object, or code for a CPU.
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
    /// No bytes; or the zero byte that replaces the host's code in an object bundle.
    Empty,
    /// Anything else.
    Unknown,
}

impl ImageKind {
    /// Returns the kind of an image. The first bytes are enough, except for PTX that starts with
    /// long comments.
    pub fn of(bytes: &[u8]) -> Self {
        match image::Image::parse(bytes) {
            _ if bytes.is_empty() => ImageKind::Empty,
            Ok(image::Image::Cubin(_)) => ImageKind::Cubin,
            Ok(image::Image::CodeObject(_) | image::Image::Elf { .. }) => ImageKind::Elf,
            Ok(image::Image::Pe { .. }) => ImageKind::Pe,
            Ok(image::Image::Ptx(_)) => ImageKind::Ptx,
            Ok(image::Image::Bitcode) => ImageKind::Bitcode,
            Ok(image::Image::SpirV { .. }) => ImageKind::Spirv,
            // The header cannot be read: the file is damaged, or it is for an operating system that
            // this crate does not know.
            Err(_) if bytes.starts_with(b"\x7fELF") => ImageKind::Elf,
            Ok(image::Image::Fatbin) | Err(_) => ImageKind::Unknown,
        }
    }

    /// Returns the name of the kind in the JSON of `cargo offload ls`: `elf`, `pe`, `cubin`, `ptx`,
    /// `bitcode`, `spirv`, `empty`, `unknown`.
    pub fn name(self) -> &'static str {
        match self {
            ImageKind::Elf => "elf",
            ImageKind::Pe => "pe",
            ImageKind::Cubin => "cubin",
            ImageKind::Ptx => "ptx",
            ImageKind::Bitcode => "bitcode",
            ImageKind::Spirv => "spirv",
            ImageKind::Empty => "empty",
            ImageKind::Unknown => "unknown",
        }
    }
}
