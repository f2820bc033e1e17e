//! The kind of file and the programming model in an entry of an offload binary.

use crate::numbers::numbers;

numbers! {
    /// The kind of an image's file. Unknown numbers are kept.
    StatedKind, "kind {}";
    /// No kind is stated.
    NONE = 0, "none";
    /// An object file: AMD code objects, CPU images.
    OBJECT = 1, "object";
    /// LLVM bitcode.
    BITCODE = 2, "bitcode";
    /// NVIDIA machine code, an ELF file.
    CUBIN = 3, "cubin";
    /// NVIDIA's container.
    FATBINARY = 4, "fatbinary";
    /// PTX text.
    PTX = 5, "PTX";
    /// SPIR-V (LLVM 23 and later).
    SPIRV = 6, "SPIR-V";
}

impl StatedKind {
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

numbers! {
    /// The programming model that an image was compiled for. The values have been bits since LLVM
    /// 21, but LLVM's published page still numbers them 1, 2, 3.
    OffloadKind, "kind {}";
    /// No programming model is stated.
    NONE = 0, "none";
    /// OpenMP.
    OPENMP = 1, "openmp";
    /// CUDA.
    CUDA = 2, "cuda";
    /// HIP, with its number from before LLVM 21.
    HIP_OLD = 3, "hip";
    /// HIP.
    HIP = 4, "hip";
    /// SYCL.
    SYCL = 8, "sycl";
}

impl OffloadKind {
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
