//! Compilers for the CUDA dialect and HIP on GPUs.

use offload_format::target::Vendor;
use std::fmt;

/// A compiler for the CUDA dialect and HIP, with its headers.
///
/// ```no_run
/// use offload_build::{Build, Compiler};
///
/// Build::new()
///     .modules(["kernels/affine.cu", "kernels/reduce.cu"])
///     .compiler(Compiler::Nvcc)                        // for sm_80; gfx1100 stays with clang
///     .archs(["sm_80", "gfx1100"])
///     .compile("kernels");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compiler {
    /// clang with this crate's header, for all GPUs. This is the default, and needs no SDK.
    Clang,
    /// NVIDIA's nvcc with its toolkit's headers, for NVIDIA's GPUs. nvcc does not include this
    /// crate's header.
    Nvcc,
    /// clang with the headers and device libraries of a CUDA toolkit, for NVIDIA's GPUs.
    ClangCuda,
    /// clang with ROCm's headers and device libraries, for AMD's GPUs. Uses the clang of a ROCm
    /// installation (`hipcc`, `amdclang++`), or else the build's usual clang.
    ///
    /// If build.rs requests no compiler for AMD's GPUs, a `.hip` source that includes `<hip/…>` is
    /// compiled this way in three cases: `ROCM_PATH`, `HIP_PATH`, `ROCM_HOME` or `HIPCC` is set,
    /// [`Build::include`](crate::Build::include) names a folder with `hip/hip_runtime.h`, or only
    /// ROCm provides the included header.
    ClangRocm,
}

impl Compiler {
    /// Returns the vendor whose GPUs the compiler is limited to, if any.
    pub(crate) fn vendor(self) -> Option<Vendor> {
        match self {
            Compiler::Clang => None,
            Compiler::Nvcc | Compiler::ClangCuda => Some(Vendor::Nvidia),
            Compiler::ClangRocm => Some(Vendor::Amd),
        }
    }

    /// Returns the last compiler in a list that supports this vendor, or clang by default.
    pub(crate) fn of(list: &[Compiler], vendor: Vendor) -> Compiler {
        list.iter()
            .rev()
            .copied()
            .find(|compiler| compiler.vendor().map_or(vendor.is_gpu(), |own| own == vendor))
            .unwrap_or(Compiler::Clang)
    }
}

/// Writes the name for messages and for the manifests of prebuilt sets.
impl fmt::Display for Compiler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Compiler::Clang => "clang",
            Compiler::Nvcc => "nvcc",
            Compiler::ClangCuda => "clang with CUDA's headers",
            Compiler::ClangRocm => "clang with ROCm's headers",
        })
    }
}
