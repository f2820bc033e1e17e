//! Who compiles the CUDA dialect and HIP for GPUs.

use crate::targets::Family;
use std::fmt;

/// A compiler of the CUDA dialect and of HIP, with the headers that it brings.
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
    /// clang with this crate's header, for all GPUs; no SDK is needed. Unless another is asked for.
    Clang,
    /// NVIDIA's nvcc with the headers of its toolkit, for NVIDIA's GPUs. This crate's header is not
    /// included.
    Nvcc,
    /// clang with the headers and device libraries of a CUDA toolkit, for NVIDIA's GPUs.
    ClangCuda,
    /// The clang of a ROCm installation (`hipcc`, `amdclang++`), or else the one that is found,
    /// with ROCm's headers and device libraries, for AMD's GPUs. A `.hip` source that includes
    /// `<hip/…>` is compiled so without being asked for.
    ClangRocm,
}

impl Compiler {
    fn serves(self, family: Family) -> bool {
        match self {
            Compiler::Clang => family != Family::Cpu,
            Compiler::Nvcc | Compiler::ClangCuda => family == Family::Nvidia,
            Compiler::ClangRocm => family == Family::Amd,
        }
    }

    /// The last of a list that compiles for such targets.
    pub(crate) fn of(list: &[Compiler], family: Family) -> Compiler {
        list.iter()
            .rev()
            .copied()
            .find(|compiler| compiler.serves(family))
            .unwrap_or(Compiler::Clang)
    }
}

/// In manifests of prebuilt sets, and in messages.
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
