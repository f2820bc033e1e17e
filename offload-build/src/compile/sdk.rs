//! Finds clang's options for a vendor's headers and device libraries.

use crate::output::OutDir;
use crate::targets::Target;
use crate::toolchain::compilers::{Clang, Nvcc, Rocm, Tools, is_shared};
use crate::toolchain::exec::plain_path;
use crate::toolchain::{Cargo, Error};
use offload_format::target::{OffloadArch, TargetId};
use std::ffi::OsString;
use std::path::PathBuf;

/// clang's options for one vendor's headers and libraries. Empty if the sources use none.
#[derive(Debug, Default)]
pub(crate) struct Sdk {
    pub(crate) args: Vec<OsString>,
    /// The options from `HIPCC_COMPILE_FLAGS_APPEND`, which `args` contains, too.
    pub(crate) flags_of_variable: String,
    /// The newest code object version that ROCm's device libraries support. `None` for CUDA, or if
    /// the libraries do not reveal it.
    pub(crate) code_object_version: Option<u32>,
    /// Files that identify the SDK's version, because dependency files omit the SDK's headers.
    pub(crate) stands_for: Vec<PathBuf>,
    /// The folders that contain only the SDK.
    pub(crate) folders: Vec<PathBuf>,
}

impl Sdk {
    pub(crate) fn cuda(toolkit: &Nvcc, output: &OutDir) -> Result<Self, Error> {
        let mut args = vec![OsString::from(format!("--cuda-path={}", toolkit.root.display()))];
        if !toolkit.root.join("include").join(CURAND).is_file() {
            args.extend(["-isystem".into(), output.empty_header(CURAND)?.into()]);
        }
        // This folder contains the headers of libraries such as CUB, which nvcc finds without an
        // option since CUDA 13.
        let cccl = toolkit.root.join("include/cccl");
        if cccl.is_dir() {
            args.extend(["-isystem".into(), cccl.into()]);
        }
        // clang ignores the memory orders of its own atomic functions, whichever headers a source
        // uses, so this header replaces them.
        args.extend(["-include".into(), plain_path(output.include().join(NVPTX_ATOMICS).into())]);
        let mut stands_for = vec![toolkit.path.clone()];
        for file in ["include/cuda.h", "nvvm/libdevice/libdevice.10.bc"] {
            stands_for.push(toolkit.root.join(file));
        }
        Ok(Self { args, stands_for, folders: toolkit.folders(), ..Self::default() })
    }

    /// Returns the options that make clang read a source like this toolkit's nvcc: they include the
    /// header that nvcc includes before the first line, and define nvcc's version.
    pub(crate) fn of_nvcc(toolkit: &Nvcc, output: &OutDir) -> Result<Self, Error> {
        let mut sdk = Self::cuda(toolkit, output)?;
        sdk.args.extend(["-include".into(), "cuda_runtime.h".into()]);
        if let Some((major, minor)) = toolkit.release() {
            sdk.args.push(format!("-D__CUDACC_VER_MAJOR__={major}").into());
            sdk.args.push(format!("-D__CUDACC_VER_MINOR__={minor}").into());
        }
        Ok(sdk)
    }

    /// Returns ROCm's options for one target's device code.
    pub(crate) fn rocm(rocm: &Rocm, clang: &Clang, id: TargetId<'_>, tools: &Tools<'_>) -> Self {
        let mut sdk = Self::rocm_for_any(rocm, tools.cargo);
        sdk.args.extend(wavefront_define(clang, id, tools).map(OsString::from));
        sdk
    }

    /// Returns ROCm's options for host code and device code for several targets in one call.
    #[inline]
    pub(crate) fn rocm_for_all(
        rocm: &Rocm,
        clang: &Clang,
        targets: &[Target],
        tools: &Tools<'_>,
    ) -> Self {
        let (mut sdk, mut for_host) = (Self::rocm_for_any(rocm, tools.cargo), None);
        for target in targets {
            if let OffloadArch::Amdgpu(id) = target.arch()
                && let Some(define) = wavefront_define(clang, id, tools)
            {
                sdk.args.extend([format!("-Xarch_{target}").into(), define.into()]);
                // The host part includes the same headers, so it also needs the macro for the
                // wavefront size. Any value suffices in host code.
                for_host = Some(format!("-D{WAVEFRONT}=64"));
            }
        }
        if let Some(define) = for_host {
            sdk.args.extend(["-Xarch_host".into(), define.into()]);
        }
        sdk
    }

    fn rocm_for_any(rocm: &Rocm, cargo: &Cargo) -> Self {
        let mut args: Vec<OsString> = vec![
            format!("--rocm-path={}", rocm.root.display()).into(),
            format!("--rocm-device-lib-path={}", rocm.device_libraries.display()).into(),
        ];
        // Barriers in ROCm's headers call a function of this library, which clang 22 does not link
        // automatically. The host part gets it too, without using it, so hide warnings about it.
        let hip = rocm.device_libraries.join("hip.bc");
        if hip.is_file() {
            for word in ["-Xclang", "-mlink-builtin-bitcode", "-Xclang"] {
                args.push(word.into());
            }
            args.extend([hip.into(), "-Xarch_host".into(), "-Wno-linker-warnings".into()]);
        }
        let flags_of_variable = cargo.user_var("HIPCC_COMPILE_FLAGS_APPEND").unwrap_or_default();
        args.extend(flags_of_variable.split_whitespace().map(OsString::from));
        let mut stands_for = vec![rocm.root.join("include/hip/hip_version.h")];
        for file in ["ocml.bc", "ockl.bc"] {
            stands_for.push(rocm.device_libraries.join(file));
        }
        let mut folders = Vec::new();
        if !is_shared(&rocm.root) {
            folders.push(rocm.root.clone());
        }
        let code_object_version = rocm.newest_code_object;
        Self { args, flags_of_variable, code_object_version, stands_for, folders }
    }
}

/// clang's own CUDA header includes this header, which belongs to cuRAND, not to the toolkit's
/// core. The contents are not needed, so if the header is missing, an empty file replaces it.
const CURAND: &str = "curand_mtgp32_kernel.h";

/// The part of this crate's header that depends on no other header.
const NVPTX_ATOMICS: &str = "offload/nvptx_atomics.h";

const WAVEFRONT: &str = "__AMDGCN_WAVEFRONT_SIZE";

/// Returns the option that defines the macro for the wavefront size, unless clang predefines it.
/// ROCm's headers up to version 6 rely on clang for the macro, but clang 22 and newer do not define
/// it.
fn wavefront_define(clang: &Clang, id: TargetId<'_>, tools: &Tools<'_>) -> Option<String> {
    let is_missing = !tools.clang_defines(clang, id.processor(), WAVEFRONT);
    is_missing.then(|| format!("-D{WAVEFRONT}={}", wavefront_size(id.processor())))
}

/// Returns clang's default wavefront size, such as 64 for `gfx90a` and `gfx9-4-generic`, and 32 for
/// `gfx1030` and `gfx11-generic`.
pub(super) fn wavefront_size(processor: &str) -> u32 {
    if major(processor).is_some_and(|major| major >= 10) { 32 } else { 64 }
}

/// Returns the major version of a processor, such as 11 for `gfx1100` and 9 for `gfx90a`.
pub(crate) fn major(processor: &str) -> Option<u32> {
    let name = processor.strip_prefix("gfx")?;
    // In a generic processor's name, a dash may follow the major version. In other names, two
    // hexadecimal digits do.
    let major = match name.split_once('-') {
        Some((major, _)) => major,
        None => name.get(..name.len().saturating_sub(2))?,
    };
    major.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::wavefront_size;

    #[test]
    fn wavefront_sizes() {
        for name in ["gfx803", "gfx90a", "gfx942", "gfx9-generic", "gfx9-4-generic"] {
            assert_eq!(wavefront_size(name), 64, "{name}");
        }
        for name in ["gfx1030", "gfx1100", "gfx1250", "gfx10-1-generic", "gfx12-generic"] {
            assert_eq!(wavefront_size(name), 32, "{name}");
        }
    }
}
