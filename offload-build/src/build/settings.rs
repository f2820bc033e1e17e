//! The builder's methods for compilers, their options, and linkers.

use super::Build;
use crate::request::{Compiler, setters_of_modules, setters_of_sources};
use std::path::Path;

setters_of_sources!(
    Build,
    request.options,
    r#"offload_build::Build::new().file("kernels/gemm.cu")"#
);
setters_of_modules!(
    Build,
    request.options,
    r#"offload_build::Build::new().file("kernels/gemm.cu")"#
);

impl Build {
    /// Requires this kernel in every GPU image made from the build's own files.
    ///
    /// [`Module::requires_kernel`](crate::Module::requires_kernel) does the same for a module.
    ///
    /// ```
    /// offload_build::Build::new().requires_kernel("saxpy"); // fails if an #ifdef hides it
    /// ```
    pub fn requires_kernel(&mut self, name: impl Into<String>) -> &mut Self {
        self.request.unnamed.requires_kernel(name);
        self
    }

    /// Requires this kernel in the images for the targets of a [selector](Build::supports).
    ///
    /// ```
    /// offload_build::Build::new().requires_kernel_for(">=sm_89", "to_fp8");
    /// ```
    pub fn requires_kernel_for(&mut self, selector: &str, name: impl Into<String>) -> &mut Self {
        self.request.unnamed.requires_kernel_for(selector, name);
        self
    }

    /// Sets the code object version of AMD images. The default is the compiler's (6 in clang 22).
    ///
    /// ROCm's runtime has supported version 5 since ROCm 5.5, and version 6 since ROCm 6.3. Generic
    /// targets need version 6.
    ///
    /// ```
    /// offload_build::Build::new().code_object_version(5);
    /// ```
    pub fn code_object_version(&mut self, version: u32) -> &mut Self {
        self.request.code_object_version = Some(version);
        self
    }

    /// Sets the clang to use, instead of one from `OFFLOAD_CLANG` or the usual places.
    ///
    /// ```
    /// offload_build::Build::new().clang("/opt/llvm-22/bin/clang");
    /// ```
    pub fn clang(&mut self, path: impl AsRef<Path>) -> &mut Self {
        self.request.tools.clang = Some(path.as_ref().to_owned());
        self
    }

    /// Sets the ptxas to use, instead of one from `OFFLOAD_PTXAS` or the usual places.
    ///
    /// ```
    /// offload_build::Build::new().ptxas("/opt/cuda/bin/ptxas");
    /// ```
    pub fn ptxas(&mut self, path: impl AsRef<Path>) -> &mut Self {
        self.request.tools.ptxas = Some(path.as_ref().to_owned());
        self
    }

    /// Sets the nvcc to use, instead of one from `NVCC`, similar variables or the usual places.
    ///
    /// This method has an effect only with [`Compiler::Nvcc`] or [`Compiler::ClangCuda`].
    ///
    /// ```
    /// offload_build::Build::new().nvcc("/opt/cuda/bin/nvcc");
    /// ```
    pub fn nvcc(&mut self, path: impl AsRef<Path>) -> &mut Self {
        self.request.tools.nvcc = Some(path.as_ref().to_owned());
        self
    }

    /// Sets how many compilers may run at a time for this pack, at least one. The variable
    /// `OFFLOAD_JOBS` overrides the number.
    ///
    /// The default is the number that `cargo build -j` allows. Set a lower number for compilers
    /// that need much memory.
    ///
    /// ```
    /// offload_build::Build::new().max_parallel(4);
    /// ```
    pub fn max_parallel(&mut self, most: usize) -> &mut Self {
        self.request.max_parallel = Some(most);
        self
    }

    /// Sets the folder of the prebuilt set. The default is `prebuilt`.
    ///
    /// `OFFLOAD_PREBUILT=update cargo build --release` writes the set. If a later build lacks a
    /// compiler, it uses the images in this set instead, as long as the sources and the options are
    /// unchanged. In a workspace, `OFFLOAD_PREBUILT_<package>=update` writes the set of one
    /// package.
    ///
    /// ```
    /// offload_build::Build::new().prebuilt("kernels/prebuilt");
    /// ```
    pub fn prebuilt(&mut self, folder: impl AsRef<Path>) -> &mut Self {
        self.request.prebuilt = Some(folder.as_ref().to_owned());
        self
    }

    /// Declares that programs that embed this pack are linked with the linker script below.
    ///
    /// Without this call, a pack of more than 1.5 GiB is an error with GNU ld for x86-64. The
    /// script places packs after all other sections:
    ///
    /// ```text
    /// /* large.ld */
    /// SECTIONS
    /// {
    ///   .hip_fatbin ALIGN(4096) : { *(.hip_fatbin) }
    ///   .llvm.offloading ALIGN(8) : { *(.llvm.offloading) }
    /// }
    /// INSERT AFTER .lrodata;
    /// ```
    ///
    /// The build script of the program's own package passes the script to the linker:
    ///
    /// ```no_run
    /// let folder = std::env::var("CARGO_MANIFEST_DIR").unwrap();
    /// println!("cargo::rustc-link-arg-bins=-Wl,-T,{folder}/large.ld");
    /// println!("cargo::rerun-if-changed=large.ld");
    /// ```
    ///
    /// The build script of the package with the kernels calls this method:
    ///
    /// ```
    /// offload_build::Build::new().modules(["kernels/fwd.cu", "kernels/bwd.cu"]).large_pack_script();
    /// ```
    pub fn large_pack_script(&mut self) -> &mut Self {
        self.request.large_pack_script = true;
        self
    }

    /// Links the device code of all sources of a [static library](Build::compile_static).
    ///
    /// Its sources may then call each other's `__device__` functions and use each other's
    /// `__device__` variables, as with nvcc's `-rdc=true` and `-dlink`, or clang's `-fgpu-rdc`.
    /// Without this call, each source is a separate device program.
    ///
    /// ```no_run
    /// use offload_build::{Build, Compiler};
    ///
    /// Build::new()
    ///     .files(["kernels/launch.cu", "kernels/field.cu"])
    ///     .compiler(Compiler::Nvcc)
    ///     .device_link()
    ///     .archs(["sm_80", "sm_90"])
    ///     .compile_static("launch");
    /// ```
    ///
    /// - The compiler does not inline calls between sources.
    /// - Device functions of two libraries in one program need different names, as host functions
    ///   do.
    /// - For each target, only sources that support it are linked. A function that is missing for
    ///   one target is an error.
    /// - nvcc links machine code. The driver links PTX when the program loads it, so every source
    ///   must support each PTX target in the list.
    /// - clang needs version 19 or newer, and does not link PTX.
    ///
    /// In a pack, this call is an error, because the sources of a pack's module are always linked.
    pub fn device_link(&mut self) -> &mut Self {
        self.request.device_link = true;
        self
    }

    /// Sets how a [static library](Build::compile_static) is linked with CUDA's runtime.
    ///
    /// | word | means |
    /// |---|---|
    /// | `"static"` (the default) | the runtime is linked into the program |
    /// | `"shared"` | the program needs `libcudart.so` to start |
    /// | `"none"` | the program links the runtime itself |
    ///
    /// Any other word is an error, and so is this call in a pack. For AMD's GPUs, the call has no
    /// effect.
    ///
    /// ```
    /// offload_build::Build::new().cudart("shared");
    /// ```
    pub fn cudart(&mut self, cudart: impl Into<String>) -> &mut Self {
        self.request.cudart = Some(cudart.into());
        self
    }

    /// Sets whether the build prints the lines that tell Cargo to link a [static
    /// library](Build::compile_static).
    ///
    /// The default is true. Build scripts that print these lines themselves can use
    /// [`link_folders`](crate::StaticLibrary::link_folders) and
    /// [`link_libraries`](crate::StaticLibrary::link_libraries). The build always prints the lines
    /// that tell Cargo when to rerun the build script.
    ///
    /// ```no_run
    /// use offload_build::{Build, Compiler};
    ///
    /// let library = Build::new()
    ///     .file("kernels/launch.cu")
    ///     .compiler(Compiler::Nvcc)
    ///     .cargo_metadata(false)
    ///     .archs(["sm_80"])
    ///     .compile_static("launch");
    /// for name in library.link_libraries() {
    ///     println!("cargo::rustc-link-lib={name}");
    /// }
    /// ```
    pub fn cargo_metadata(&mut self, cargo_metadata: bool) -> &mut Self {
        self.request.cargo_metadata = Some(cargo_metadata);
        self
    }
}
