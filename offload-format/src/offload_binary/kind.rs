//! The kind of file and the programming model in an entry of an offload binary.

use core::fmt;

/// The kind of an image's file. Unknown numbers are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StatedKind(pub u16);

impl StatedKind {
    /// No kind is stated.
    pub const NONE: Self = Self(0);
    /// An object file: AMD code objects, CPU images.
    pub const OBJECT: Self = Self(1);
    /// LLVM bitcode.
    pub const BITCODE: Self = Self(2);
    /// NVIDIA machine code, an ELF file.
    pub const CUBIN: Self = Self(3);
    /// NVIDIA's container.
    pub const FATBINARY: Self = Self(4);
    /// PTX text.
    pub const PTX: Self = Self(5);
    /// SPIR-V (LLVM 23 and later).
    pub const SPIRV: Self = Self(6);

    /// Returns the kind that `llvm-offload-binary` 22 derives from a file extension;
    /// [`StatedKind::NONE`] for any other extension.
    pub fn from_extension(extension: &str) -> Self {
        match extension {
            "o" => Self::OBJECT,
            "bc" => Self::BITCODE,
            "cubin" => Self::CUBIN,
            "fatbin" => Self::FATBINARY,
            "s" => Self::PTX,
            _ => Self::NONE,
        }
    }
}

impl fmt::Display for StatedKind {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match *self {
            Self::NONE => "none",
            Self::OBJECT => "object",
            Self::BITCODE => "bitcode",
            Self::CUBIN => "cubin",
            Self::FATBINARY => "fatbinary",
            Self::PTX => "PTX",
            Self::SPIRV => "SPIR-V",
            Self(other) => return write!(f, "kind {other}"),
        })
    }
}

/// The programming model that an image was compiled for. The values have been bits since LLVM 21,
/// but LLVM's published page still numbers them 1, 2, 3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct OffloadKind(pub u16);

impl OffloadKind {
    /// No programming model is stated.
    pub const NONE: Self = Self(0);
    /// OpenMP.
    pub const OPENMP: Self = Self(1);
    /// CUDA.
    pub const CUDA: Self = Self(2);
    /// HIP, with its number from before LLVM 21.
    pub const HIP_OLD: Self = Self(3);
    /// HIP.
    pub const HIP: Self = Self(4);
    /// SYCL.
    pub const SYCL: Self = Self(8);

    /// Returns the model with this name: `openmp`, `cuda`, `hip`, `sycl`; [`OffloadKind::NONE`] for
    /// any other name.
    pub fn named(name: &str) -> Self {
        match name {
            "openmp" => Self::OPENMP,
            "cuda" => Self::CUDA,
            "hip" => Self::HIP,
            "sycl" => Self::SYCL,
            _ => Self::NONE,
        }
    }

    /// Whether the image was compiled for HIP, in the old or the new numbering.
    pub fn is_hip(self) -> bool {
        matches!(self, Self::HIP | Self::HIP_OLD)
    }
}

impl fmt::Display for OffloadKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match *self {
            Self::NONE => "none",
            Self::OPENMP => "openmp",
            Self::CUDA => "cuda",
            Self::HIP | Self::HIP_OLD => "hip",
            Self::SYCL => "sycl",
            Self(other) => return write!(f, "kind {other}"),
        })
    }
}
