//! The builder [`Build`].
//!
//! `make_pack` has the order of a build:
//!
//! | module | does |
//! |---|---|
//! | `decide` | chooses for each image: keep it, compile it, or report a missing tool |
//! | `prebuilt` | replaces an image whose tool is missing |
//! | `jobs` | follows each module from these decisions to its images; `run` runs the steps |
//! | `kernel_parameters` | describes the parameters of each module's kernels |
//!
//! `static_library` does the same for libraries with host code, and `packaging` checks the prebuilt
//! set while Cargo makes a package.

mod decide;
mod dependency;
mod jobs;
mod kernel_parameters;
mod make_pack;
pub(crate) mod missing_tool;
mod packaging;
mod portable;
mod prebuilt;
mod reserved_name;
mod resolved;
mod run;
mod settings;
mod static_library;
mod surroundings;
pub(crate) mod trial;

pub use dependency::{embed_from, try_embed_from};
pub use resolved::{ResolvedTarget, ResolvedTargets, ToolkitVersion};
pub use static_library::StaticLibrary;

use self::kernel_parameters::AbsentModule;
use self::reserved_name::ReservedName;
use self::run::Run;
use crate::compile::include_folders;
use crate::output::OutDir;
use crate::pack::{self, Pack};
use crate::plan::{self, PlannedModule};
use crate::request::{Module, Request, Selector, Source};
use crate::targets::{self, Product, Resolved, Wanted};
use offload_toolchain::cargo::Cargo;
use offload_toolchain::compilers::{Named, Tools};
use offload_toolchain::error::Error;
use std::borrow::Borrow;
use std::path::Path;

/// A builder: sources, targets and options, from which [`Build::compile`] makes a pack.
///
/// Paths are relative to the package's folder. The [crate's front page](crate) has an example.
#[derive(Debug, Clone, Default)]
pub struct Build {
    request: Request,
    archs: Wanted,
}

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
    /// Several sources make one device program: they may call each other's `__device__` functions.
    /// They form a module without a name. If the pack has other modules, this module has the name
    /// of the pack.
    ///
    /// ```no_run
    /// offload_build::Build::new()
    ///     .file("kernels/saxpy.cu")
    ///     .archs(["gfx90a", "compute_80"])
    ///     .compile("saxpy");
    /// ```
    pub fn file(&mut self, source: impl Into<Source>) -> &mut Self {
        self.request.own.file(source);
        self
    }

    /// Adds a crate of kernels in Rust: the folder of a package, which has a `Cargo.toml`.
    ///
    /// The crate is compiled for each GPU of the list by the toolchain that its
    /// `rust-toolchain.toml` names, or one in a folder around it that does not contain the program;
    /// otherwise by rustup's `nightly`. `OFFLOAD_RUSTC` names another rustc. The toolchain needs
    /// the component `rust-src`, because `core` is compiled, too. The compiler of the program may
    /// be a stable one. A machine without the toolchain uses the prebuilt set of the package.
    ///
    /// The crate is a `no_std` library. A kernel is a function with `#[unsafe(no_mangle)]` and
    /// `extern "gpu-kernel"`. Its parameters are numbers and pointers. The program calls it as a
    /// function of `include_kernels!`, with the same names and types. Structs behind pointers need
    /// `repr(C)`, and are passed by pointer only.
    ///
    /// For the target `cpu`, the compiler of the program compiles the crate, with
    /// `--cfg offload_cpu`. The crate `offload-kernel` then has the functions that run grids, and
    /// its macro `kernel!` makes kernels. Prebuilt sets have no images for the CPU.
    ///
    /// Cargo runs in the crate's folder, and compiles the crate with link-time optimization. Four
    /// settings of `[profile.release]` in the crate's manifest, or in that of its workspace, count:
    /// `opt-level`, `debug`, `debug-assertions` and `overflow-checks`.
    /// [`opt_level`](Build::opt_level) and [`debug`](Build::debug) replace two of them. NVIDIA's
    /// code has no debug information but lines. Flags of build.rs are flags of rustc:
    /// `.flag("--cfg=fast")`. Of macros, only `OFFLOAD_CPU_STACK` can be defined.
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
        self.request.own.files(sources);
        self
    }

    /// Adds sources, each of which makes a separate module.
    ///
    /// Each module has the name of its file, without folder and extension.
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

    /// Removes the sources of this path again; `*` matches any characters except `/`.
    ///
    /// A module without any source left is not made. A path that matches no source is an error.
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

    /// Adds a target: an AMD target ID, `sm_<n>`, `compute_<n>` or `cpu`; or a word for several
    /// targets.
    ///
    /// The words are `native`, `all-major` and `all`: see the [front page](crate#targets). If
    /// build.rs adds no target, the build uses the variables of other programs, such as
    /// `CUDAARCHS`. If these are not set either, the build uses [`Build::default_archs`].
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

    /// Adds the NVIDIA targets of this list that the nvcc of this build knows.
    ///
    /// That nvcc is [`Build::nvcc`], or the one that [`Compiler::Nvcc`](crate::Compiler::Nvcc)
    /// would find. Without an nvcc, none of these targets is built. `cargo build -vv` prints the
    /// targets that are left out.
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

    /// Adds targets that are built if no other list has targets.
    ///
    /// Other lists come first: [`Build::arch`], `OFFLOAD_ARCH`, and the variables in which users of
    /// other programs name their GPUs (`CUDAARCHS`, `AMDGPU_TARGETS`, …).
    ///
    /// ```no_run
    /// // CUDA_COMPUTE_CAP=90 builds for sm_90. Without such a variable, the GPUs of this machine and PTX are built.
    /// offload_build::Build::new()
    ///     .file("kernels/saxpy.cu")
    ///     .default_archs(["native", "compute_80"])
    ///     .compile("saxpy");
    /// ```
    ///
    /// On a machine without a GPU, a warning reports that `native` is left out of this list. If
    /// `native` is the only target in the list, that is an error.
    pub fn default_archs<S: Into<String>>(
        &mut self,
        archs: impl IntoIterator<Item = S>,
    ) -> &mut Self {
        self.archs.default.extend(archs.into_iter().map(Into::into));
        self
    }

    /// Sets the machine's own GPUs as the targets, or these targets on a machine without a GPU, if
    /// no other list has targets.
    ///
    /// The same lists as for [`Build::default_archs`] come first. If the build is for one vendor
    /// only, other vendors' GPUs do not count. A warning reports that there is no GPU.
    ///
    /// ```no_run
    /// // The GPU that is here, else sm_80. OFFLOAD_ARCH and CUDA_COMPUTE_CAP=90 count before both.
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
    /// | `amd`, `nvidia`, `intel`, `cpu` | all of this kind |
    /// | `sm_90a`, `compute_80` | this one |
    /// | `gfx90a` | this one, also with features: `gfx90a:xnack-` |
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
    /// If the list comes from `OFFLOAD_ARCH` and some of its targets are not built, a warning names
    /// the targets that remain. If no target is left, that is an error, unless
    /// [`Build::allow_empty`] was called.
    pub fn supports<S: Into<String>>(
        &mut self,
        selectors: impl IntoIterator<Item = S>,
    ) -> &mut Self {
        self.request.supports.extend(selectors.into_iter().map(Selector::new));
        self
    }

    /// Allows the pack and its modules to have no images if nothing can be built.
    ///
    /// There is nothing to build if the pack supports none of the targets, or if programs for this
    /// host cannot embed packs. Such hosts are systems with 32 bits, WebAssembly and iOS. Programs
    /// that embed an empty pack compile, and its `select` reports why there are no images.
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
    /// With this call, a [static library](Build::compile_static) is made without the sources that
    /// support none of the targets. The library does not define the functions of these sources. To
    /// leave out calls of these functions, build.rs can set a `cfg` flag from the targets that
    /// [`Build::resolve`] returns.
    pub fn allow_empty(&mut self) -> &mut Self {
        self.request.may_be_empty = true;
        self
    }

    /// Compresses each module of the pack with zstd. This needs the feature `compression`.
    ///
    /// The program needs the feature `zstd` of the crate `offload-gpu`. The pack in the program has
    /// another type, `KernelPack<Compressed>`: `decompress()` of a selected image returns the
    /// bytes.
    ///
    /// If all targets are AMD's, each module is a bundle that HIP's runtime can read since version
    /// 6.2. Otherwise each module is an offload binary of version 3.
    ///
    /// ```no_run
    /// offload_build::Build::new()
    ///     .file("kernels/saxpy.cu")
    ///     .compress()
    ///     .archs(["gfx90a", "gfx942", "gfx1100"])
    ///     .compile("saxpy");
    /// ```
    pub fn compress(&mut self) -> &mut Self {
        self.request.compressed = true;
        self
    }

    /// Compiles, packs, and prints the instructions for Cargo. Ends the build script if the pack
    /// cannot be made.
    ///
    /// ```no_run
    /// let pack = offload_build::Build::new()
    ///     .file("kernels/saxpy.cu")
    ///     .archs(["gfx90a", "sm_80", "cpu"])
    ///     .compile("saxpy"); // include_offload!("saxpy") in the program
    /// ```
    pub fn compile(&self, name: &str) -> Pack {
        Cargo::demand(&format!("the pack \"{name}\""), |cargo| self.compile_for(name, cargo))
    }

    /// Like [`Build::compile`], but returns an error instead of ending the build script.
    ///
    /// Returns an error
    ///
    /// - if there is no target, or a module supports none of them;
    /// - if a name is malformed, or used twice;
    /// - if a source is missing, or cannot be compiled for a target;
    /// - if a compiler is missing and there is no prebuilt image, or a compiler fails;
    /// - if an image lacks a required kernel;
    /// - if the pack is too large for the linker.
    ///
    /// ```no_run
    /// let built = offload_build::Build::new()
    ///     .file("kernels/saxpy.cu")
    ///     .archs(["gfx90a"])
    ///     .try_compile("saxpy");
    /// if let Err(error) = built {
    ///     println!("cargo::error=saxpy: {error}");
    /// }
    /// ```
    #[inline]
    pub fn try_compile(&self, name: &str) -> Result<Pack, Error> {
        Cargo::attempt(|cargo| self.compile_for(name, cargo))
    }

    /// Compiles sources with host and device code to a static library, and tells Cargo to link it.
    ///
    /// Rust calls the host's functions like any C function (`extern "C"`), and these functions
    /// launch the kernels (`<<<...>>>`). Ends the build script with the reason if the library
    /// cannot be made.
    ///
    /// ```no_run
    /// use offload_build::{Build, Compiler};
    ///
    /// Build::new()
    ///     .file("kernels/launch.cu")
    ///     .compiler(Compiler::Nvcc)
    ///     .archs(["sm_80", "compute_90"])
    ///     .compile_static("launch");
    /// ```
    ///
    /// A library is for the GPUs of one vendor:
    ///
    /// | GPUs | compiler | runtime |
    /// |---|---|---|
    /// | NVIDIA's | nvcc with [`Compiler::Nvcc`](crate::Compiler::Nvcc), otherwise clang with the CUDA toolkit's headers | CUDA's, linked statically: the program starts without a driver, and calls return the runtime's error |
    /// | AMD's | clang with ROCm's headers | `libamdhip64.so`, which the program needs to start |
    ///
    /// Cargo passes the library on to the package's lib target and to its dependents. If the
    /// package has a `lib.rs` and a `main.rs`, the program gets the functions through the lib
    /// target.
    ///
    /// Each source is compiled for the targets that it [supports](Source::supports). A source that
    /// supports none of them is an error, or is left out if [`Build::allow_empty`] was called. Each
    /// source is a separate device program, unless [`Build::device_link`] was called. Prebuilt sets
    /// contain no static libraries: `OFFLOAD_PREBUILT=update` prints a warning, and `only` is an
    /// error.
    #[inline]
    pub fn compile_static(&self, name: &str) -> StaticLibrary {
        Cargo::demand(&format!("the static library \"{name}\""), |cargo| {
            self.compile_static_for(name, cargo)
        })
    }

    /// Like [`Build::compile_static`], but returns an error instead of ending the build script.
    ///
    /// Returns an error for the reasons of [`Build::try_compile`], and if the targets are not of
    /// one vendor. Flags that request relocatable device code are an error; so is
    /// [`Build::device_link`] if the compiler cannot link.
    ///
    /// ```no_run
    /// use offload_build::{Build, Compiler};
    ///
    /// let built = Build::new()
    ///     .file("kernels/launch.cu")
    ///     .compiler(Compiler::Nvcc)
    ///     .archs(["sm_80"])
    ///     .try_compile_static("launch");
    /// assert!(built.is_ok());
    /// ```
    #[inline]
    pub fn try_compile_static(&self, name: &str) -> Result<StaticLibrary, Error> {
        Cargo::attempt(|cargo| self.compile_static_for(name, cargo))
    }

    #[inline]
    fn compile_static_for(&self, name: &str, cargo: &Cargo) -> Result<StaticLibrary, Error> {
        let reserved = ReservedName::of(Product::StaticLibrary(name))?;
        let library = self.make_static(name, cargo)?;
        reserved.keep();
        Ok(library)
    }

    #[inline]
    fn make_static(&self, name: &str, cargo: &Cargo) -> Result<StaticLibrary, Error> {
        if self.skips(cargo)?.is_some() {
            return Ok(StaticLibrary::absent(name, true));
        }
        let output = OutDir::create(cargo, name)?;
        let mut tools = Tools::new(cargo, output.probe_cache(), self.named());
        let product = Product::StaticLibrary(name);
        let resolved = self.targets(cargo, Some(&tools), product)?;
        tools.prefer_clang(targets::first_clang(&resolved.targets));
        let modules = plan::plan(
            &self.request,
            product,
            static_library::modules(&self.request)?,
            &resolved.targets,
            cargo,
        )?;
        if modules.iter().all(|module| module.targets.is_empty()) {
            return Ok(StaticLibrary::absent(name, false));
        }
        for module in &modules {
            include_folders::check(module, &module.sources.iter().collect::<Vec<_>>(), cargo)?;
        }
        static_library::make(
            &Run::new(&self.request, resolved.is_of_this_machine, name, cargo, &output, &tools),
            name,
            &modules,
        )
    }

    /// Returns the targets of the build.
    fn targets(
        &self,
        cargo: &Cargo,
        tools: Option<&Tools<'_>>,
        product: Product<'_>,
    ) -> Result<Resolved, Error> {
        let scope = plan::scope(&self.request, &self.archs, product);
        targets::resolve(cargo, tools, &self.archs, self.request.code_object_version, &scope)
    }

    /// Returns the reason why nothing is compiled, if there is one.
    fn skips(&self, cargo: &Cargo) -> Result<Option<&'static str>, Error> {
        if cargo.user_var("DOCS_RS").is_some() {
            return Ok(Some("docs.rs has no GPU compilers"));
        }
        match cargo.user_var("OFFLOAD_SKIP").as_deref() {
            None | Some("0") => Ok(None),
            Some("1") => Ok(Some("OFFLOAD_SKIP was set")),
            Some(other) => {
                Err(Error::config(format!("OFFLOAD_SKIP is '{other}'; it can be 1 or 0")))
            }
        }
    }

    /// Returns the tools that build.rs names.
    fn named(&self) -> Named<'_> {
        let path = Option::as_deref;
        Named {
            clang: path(&self.request.clang),
            ptxas: path(&self.request.ptxas),
            nvcc: path(&self.request.nvcc),
        }
    }

    fn compile_for(&self, name: &str, cargo: &Cargo) -> Result<Pack, Error> {
        let reserved = ReservedName::of(Product::Pack(name))?;
        let pack = self.make_pack(name, cargo)?;
        reserved.keep();
        Ok(pack)
    }

    /// Makes a pack without images; `why` is the reason. `modules` contains the name of each
    /// module, and the prefix of the names of its files.
    fn make_absent(
        &self,
        name: &str,
        why: &str,
        modules: Vec<AbsentModule>,
        output: &OutDir,
        cargo: &Cargo,
    ) -> Result<Pack, Error> {
        let folder = self.request.prebuilt.as_deref();
        let modules = kernel_parameters::of_absent(name, modules, folder, output, cargo);
        pack::write_absent(name, why, modules, &self.request, output)
    }

    fn make_pack(&self, name: &str, cargo: &Cargo) -> Result<Pack, Error> {
        static_library::check_pack(&self.request)?;
        let output = OutDir::create(cargo, name)?;
        dependency::offer(name, &output, cargo);
        let modules = plan::modules(&self.request, name);
        let absent = |why: &str, skipped: Option<&'static str>| {
            // Missing sources are no error for a pack without images, because no compiler reads
            // them.
            let known = modules.as_ref().map_or(&[][..], Vec::as_slice);
            let absent = known.iter().map(|(name, module)| AbsentModule {
                name: name.clone(),
                prefix: module.prefix(),
                needs_signatures: skipped.filter(|_| module.is_described()),
            });
            self.make_absent(name, why, absent.collect(), &output, cargo)
        };
        if let Some(why) = self.skips(cargo)? {
            return absent(why, Some(why));
        }
        let machine = match pack::machine(cargo) {
            Ok(machine) => machine,
            Err(_) if self.request.may_be_empty => {
                let why = format!("packs cannot be embedded in programs for {}", cargo.target);
                return absent(&why, None);
            }
            Err(error) => return Err(error),
        };
        let mut tools = Tools::new(cargo, output.probe_cache(), self.named());
        let product = Product::Pack(name);
        let resolved = self.targets(cargo, Some(&tools), product)?;
        tools.prefer_clang(targets::first_clang(&resolved.targets));
        let modules = plan::plan(&self.request, product, modules?, &resolved.targets, cargo)?;
        if modules.iter().all(|module| module.targets.is_empty()) {
            let why =
                format!("it supports none of the targets {}", targets::join(&resolved.targets));
            let modules = modules.into_iter().map(|PlannedModule { name, prefix, .. }| {
                AbsentModule { name, prefix, needs_signatures: None }
            });
            return self.make_absent(name, &why, modules.collect(), &output, cargo);
        }
        Run::new(&self.request, resolved.is_of_this_machine, name, cargo, &output, &tools)
            .make_pack(&modules, machine)
    }
}

#[cfg(test)]
mod tests;
