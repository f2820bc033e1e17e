//! The methods of [`Build`] for sources and targets, which build scripts call before the others.
//! rustdoc lists them first because this module is declared before the other modules with methods.

use super::Build;
use crate::plan;
use crate::request::{Module, Selector, Source};
use std::borrow::Borrow;
use std::path::Path;

impl Build {
    /// Returns a build without sources and targets.
    ///
    /// ```
    /// let build = offload_build::Build::new();
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a source: a path, or a [`Source`].
    ///
    /// All sources added this way form one device program: they may call each other's `__device__`
    /// functions. This program is the build's unnamed module. If the pack has other modules, the
    /// unnamed module gets the name of the pack.
    ///
    /// ```no_run
    /// offload_build::Build::new()
    ///     .file("kernels/saxpy.cu")
    ///     .archs(["gfx90a", "compute_80"])
    ///     .compile("saxpy");
    /// ```
    pub fn file(&mut self, source: impl Into<Source>) -> &mut Self {
        self.request.unnamed.file(source);
        self
    }

    /// Adds a kernel crate in Rust: the folder that contains the crate's `Cargo.toml`.
    ///
    /// Cargo compiles the crate, a `no_std` library, for each target. Its kernels take numbers and
    /// pointers, and the program calls them through the functions that `include_kernels!`
    /// generates. For GPUs, the build uses the toolchain that the crate's `rust-toolchain.toml`
    /// names, otherwise rustup's `nightly`. The toolchain needs the `rust-src` component.
    /// `OFFLOAD_RUSTC` selects a different rustc. For the CPU, the build uses the program's own
    /// toolchain. The build passes flags from build.rs to rustc. For more, see the guide's page
    /// `rust.md`.
    ///
    /// ```no_run
    /// offload_build::Build::new()
    ///     .rust_crate("kernels") // kernels/Cargo.toml
    ///     .archs(["gfx90a", "compute_80", "sm_90"])
    ///     .compile("kernels");
    /// ```
    pub fn rust_crate(&mut self, folder: impl AsRef<Path>) -> &mut Self {
        self.file(folder.as_ref().join("Cargo.toml"))
    }

    /// Adds sources, as [`Build::file`] does.
    ///
    /// ```no_run
    /// offload_build::Build::new()
    ///     .files(["kernels/solve.cu", "kernels/helpers.cu"]) // one device program
    ///     .archs(["gfx90a", "compute_80"])
    ///     .compile("solve");
    /// ```
    pub fn files<S: Into<Source>>(&mut self, sources: impl IntoIterator<Item = S>) -> &mut Self {
        self.request.unnamed.files(sources);
        self
    }

    /// Adds sources as separate modules.
    ///
    /// Each module is named after its file, without folder and extension.
    ///
    /// ```no_run
    /// offload_build::Build::new()
    ///     .modules(["kernels/affine.cu", "kernels/scale.cu"]) // PACK.module("affine"), PACK.module("scale")
    ///     .archs(["gfx90a", "compute_80"])
    ///     .compile("kernels");
    /// ```
    pub fn modules<S: Into<Source>>(&mut self, sources: impl IntoIterator<Item = S>) -> &mut Self {
        for source in sources {
            let source = source.into();
            self.module(Module::new(plan::stem(&source.path)).file(source));
        }
        self
    }

    /// Adds a module.
    ///
    /// ```no_run
    /// use offload_build::{Build, Module};
    ///
    /// Build::new()
    ///     .module(Module::new("fp8").file("kernels/fp8.cu").supports([">=sm_89"]))
    ///     .archs(["sm_80", "sm_90"])
    ///     .compile("kernels");
    /// ```
    pub fn module(&mut self, module: impl Borrow<Module>) -> &mut Self {
        self.request.modules.push(module.borrow().clone());
        self
    }

    /// Removes the sources with this path, in which `*` matches any characters except `/`.
    ///
    /// A module whose sources are all removed is left out. A path that matches no source is an
    /// error.
    ///
    /// ```no_run
    /// offload_build::Build::new()
    ///     .modules(["kernels/affine.cu", "kernels/affine_test.cu"])
    ///     .exclude("kernels/*_test.cu")
    ///     .archs(["gfx90a"])
    ///     .compile("kernels");
    /// ```
    pub fn exclude(&mut self, path: impl Into<String>) -> &mut Self {
        self.request.exclude.push(path.into());
        self
    }

    /// Adds a target (an AMD target ID, `sm_<n>`, `compute_<n>` or `cpu`) or a word for several
    /// targets.
    ///
    /// The words are `native`, `all-major` and `all`. The [front page](crate#targets) explains
    /// them. If build.rs adds no target, the build uses the variables of other programs, such as
    /// `CUDAARCHS`. If none of these variables is set, the build uses [`Build::default_archs`].
    /// `OFFLOAD_ARCH` replaces the list.
    ///
    /// ```no_run
    /// let mut build = offload_build::Build::new();
    /// build.file("kernels/saxpy.cu").arch("gfx90a").arch("compute_80");
    /// if cfg!(target_os = "linux") {
    ///     build.arch("cpu");
    /// }
    /// build.compile("saxpy");
    /// ```
    pub fn arch(&mut self, arch: impl Into<String>) -> &mut Self {
        self.archs.archs.push(arch.into());
        self
    }

    /// Adds targets, as [`Build::arch`] does.
    ///
    /// ```no_run
    /// offload_build::Build::new()
    ///     .file("kernels/saxpy.cu")
    ///     .archs(["gfx90a", "gfx11-generic", "sm_80", "compute_80", "cpu"])
    ///     .compile("saxpy");
    /// ```
    pub fn archs<S: Into<String>>(&mut self, archs: impl IntoIterator<Item = S>) -> &mut Self {
        archs.into_iter().for_each(|arch| {
            self.arch(arch);
        });
        self
    }

    /// Adds the NVIDIA targets of this list that the build's nvcc supports.
    ///
    /// This nvcc is the one set with [`Build::nvcc`], or else the one that
    /// [`Compiler::Nvcc`](crate::Compiler::Nvcc) would find. Without an nvcc, none of these targets
    /// is built. `cargo build -vv` prints the targets that are left out.
    ///
    /// ```no_run
    /// use offload_build::{Build, Compiler};
    ///
    /// Build::new()
    ///     .file("kernels/gemm.cu")
    ///     .compiler(Compiler::Nvcc)
    ///     .archs(["sm_80", "compute_90"])
    ///     .archs_if_known(["sm_120a"])
    ///     .compile("gemm");
    /// ```
    pub fn archs_if_known<S: Into<String>>(
        &mut self,
        archs: impl IntoIterator<Item = S>,
    ) -> &mut Self {
        self.archs.if_known.extend(archs.into_iter().map(Into::into));
        self
    }

    /// Adds targets that are built only if no other list contains any.
    ///
    /// [`Build::arch`], `OFFLOAD_ARCH`, and the variables in which users of other programs name
    /// their GPUs, such as `CUDAARCHS` and `AMDGPU_TARGETS`, take precedence over this list.
    ///
    /// ```no_run
    /// // CUDA_COMPUTE_CAP=90 builds for sm_90. Without such a variable, the GPUs of this machine and PTX are built.
    /// offload_build::Build::new()
    ///     .file("kernels/saxpy.cu")
    ///     .default_archs(["native", "compute_80"])
    ///     .compile("saxpy");
    /// ```
    ///
    /// On a machine without a GPU, the build prints a warning and leaves `native` out of this list.
    /// If `native` is the only target in the list, the build fails.
    pub fn default_archs<S: Into<String>>(
        &mut self,
        archs: impl IntoIterator<Item = S>,
    ) -> &mut Self {
        self.archs.default.extend(archs.into_iter().map(Into::into));
        self
    }

    /// Builds for the machine's own GPUs, or for the given targets if there are none, unless
    /// another list has targets.
    ///
    /// The lists that [`Build::default_archs`] names take precedence over this one. If the build is
    /// for one vendor only, other vendors' GPUs are ignored. If there is no GPU, the build prints a
    /// warning.
    ///
    /// ```no_run
    /// // This machine's GPU, else sm_80. OFFLOAD_ARCH and CUDA_COMPUTE_CAP=90 take precedence.
    /// offload_build::Build::new()
    ///     .file("kernels/saxpy.cu")
    ///     .native_or(["sm_80"])
    ///     .compile("saxpy");
    /// ```
    pub fn native_or<S: Into<String>>(&mut self, archs: impl IntoIterator<Item = S>) -> &mut Self {
        self.archs.native_or.extend(archs.into_iter().map(Into::into));
        self
    }

    /// Sets which of the listed targets the pack or the static library can be built for.
    ///
    /// | selector | targets |
    /// |---|---|
    /// | `amd`, `nvidia`, `intel`, `cpu` | all targets of this kind |
    /// | `sm_90a`, `compute_80` | exactly this target |
    /// | `gfx90a` | this target, with or without features: `gfx90a:xnack-` |
    /// | `>=sm_80` | NVIDIA targets, machine code and PTX, of compute capability 8.0 or higher |
    ///
    /// ```no_run
    /// offload_build::Build::new()
    ///     .file("kernels/wgmma.cu")
    ///     .supports([">=sm_90"]) // OFFLOAD_ARCH="sm_80;sm_90" then builds for sm_90
    ///     .archs(["sm_90", "compute_90"])
    ///     .compile("wgmma");
    /// ```
    ///
    /// If `OFFLOAD_ARCH` lists targets that are not built, a warning names the targets that remain.
    /// It is an error if no target remains, unless [`Build::allow_empty`] was called.
    pub fn supports<S: Into<String>>(
        &mut self,
        selectors: impl IntoIterator<Item = S>,
    ) -> &mut Self {
        self.request.supports.extend(selectors.into_iter().map(Selector::new));
        self
    }

    /// Allows the pack and its modules to have no images if nothing can be built.
    ///
    /// Nothing can be built if the pack supports none of the targets, or if programs for this host
    /// cannot embed packs, as on 32-bit systems, WebAssembly and iOS. Programs that embed an empty
    /// pack still compile. The pack's `select` reports why it has no images.
    ///
    /// ```no_run
    /// offload_build::Build::new()
    ///     .file("kernels/wgmma.cu")
    ///     .supports(["sm_90a"])
    ///     .allow_empty() // CUDA_COMPUTE_CAP=80 makes an empty pack
    ///     .default_archs(["sm_90a"])
    ///     .compile("wgmma");
    /// ```
    ///
    /// With this call, a [static library](Build::compile_static) leaves out sources that support
    /// none of the targets, so it does not define their functions. To remove the program's calls to
    /// these functions, build.rs can set a `cfg` flag that depends on the targets from
    /// [`Build::resolve`].
    pub fn allow_empty(&mut self) -> &mut Self {
        self.request.may_be_empty = true;
        self
    }

    /// Compresses each module of the pack with zstd, which needs the `compression` feature.
    ///
    /// The program needs the `zstd` feature of the crate `offload-gpu`. In the program, the pack's
    /// type is `KernelPack<Compressed>`. Call `decompress()` on a selected image to get its bytes.
    ///
    /// If all targets are AMD's, each module is a bundle that HIP's runtime can load since version
    /// 6.2. Otherwise each module is an offload binary of version 3.
    ///
    /// ```
    /// offload_build::Build::new().compress();
    /// ```
    pub fn compress(&mut self) -> &mut Self {
        self.request.compressed = true;
        self
    }
}
