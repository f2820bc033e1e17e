//! The builder.

mod decide;
mod dependency;
mod kernel_parameters;
pub(crate) mod missing_tool;
mod packaging;
mod prebuilt;
mod reserved_name;
mod resolved;
mod run;
mod static_library;
pub(crate) mod trial;

pub use dependency::{embed_from, try_embed_from};
pub use resolved::{ResolvedTarget, ResolvedTargets};
pub use static_library::StaticLibrary;

use self::reserved_name::ReservedName;
use self::run::Run;
use crate::cargo::Cargo;
use crate::compile::include_folders;
use crate::error::Error;
use crate::output::OutDir;
use crate::pack::{self, Pack};
use crate::plan;
use crate::request::{Compiler, Module, Request, Selector, Source};
use crate::targets::{self, Product, Resolved, Wanted};
use crate::toolchain::{Named, Tools};
use std::borrow::Borrow;
use std::path::Path;

/// What to compile, for which targets. See the [crate's front page](crate) for an example and for
/// the environment variables that have a say.
///
/// Paths are relative to the package's folder.
#[derive(Debug, Clone, Default)]
pub struct Build {
    request: Request,
    archs: Wanted,
}

impl Build {
    /// Nothing to compile yet, for no target.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a source: a path, or a [`Source`]. Several sources make one device program: they may
    /// call each other's `__device__` functions. That module has no name of its own; beside others
    /// it is called as the pack is.
    pub fn file(&mut self, source: impl Into<Source>) -> &mut Self {
        self.request.own.file(source);
        self
    }

    /// Adds sources, as [`Build::file`] does.
    pub fn files<S: Into<Source>>(&mut self, sources: impl IntoIterator<Item = S>) -> &mut Self {
        self.request.own.files(sources);
        self
    }

    /// Adds sources, each of which makes a module of its own, called as the file without folder and
    /// extension.
    pub fn modules<S: Into<Source>>(&mut self, sources: impl IntoIterator<Item = S>) -> &mut Self {
        for source in sources {
            let source = source.into();
            self.module(Module::new(plan::stem(&source.path)).file(source));
        }
        self
    }

    /// Adds a module.
    pub fn module(&mut self, module: impl Borrow<Module>) -> &mut Self {
        self.request.modules.push(module.borrow().clone());
        self
    }

    /// Takes sources out again, those of this path, in which `*` stands for any run of characters
    /// but `/`: `kernels/*_test.cu`. A module without a source left is not made. That a path is no
    /// source's is an error.
    pub fn exclude(&mut self, path: impl Into<String>) -> &mut Self {
        self.request.exclude.push(path.into());
        self
    }

    /// Adds a target: an AMD target ID, `sm_<n>`, `compute_<n>` or `cpu`; or several by one word:
    /// `native`, `all-major`, `all`. The [front page](crate#targets) says what they stand for. If
    /// no target is added, the variables that other programs use say for what is built, and after
    /// them [`Build::default_archs`].
    pub fn arch(&mut self, arch: impl Into<String>) -> &mut Self {
        self.archs.archs.push(arch.into());
        self
    }

    /// Adds targets, as [`Build::arch`] does.
    pub fn archs<S: Into<String>>(&mut self, archs: impl IntoIterator<Item = S>) -> &mut Self {
        archs.into_iter().for_each(|arch| {
            self.arch(arch);
        });
        self
    }

    /// Adds NVIDIA's targets, as [`Build::archs`] does, of which only those are built that the nvcc
    /// of this build knows: [`Build::nvcc`], or the one that is
    /// [found](crate#nvidias-and-amds-own). Without an nvcc, none of them is built. What is left
    /// out, `cargo build -vv` prints.
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

    /// Adds targets that are built if nothing else lists any: neither [`Build::arch`] nor
    /// `OFFLOAD_ARCH`, nor one of the [variables](crate#targets) in which users of other programs
    /// name their GPUs.
    ///
    /// ```no_run
    /// // CUDA_COMPUTE_CAP=90 builds for sm_90. Without such a variable, the GPUs of this machine and PTX are built.
    /// offload_build::Build::new()
    ///     .file("kernels/saxpy.cu")
    ///     .default_archs(["native", "compute_80"])
    ///     .compile("saxpy");
    /// ```
    ///
    /// On a machine without a GPU, a warning says that `native` is left out of this list. If
    /// `native` is all that it contains, that is an error.
    pub fn default_archs<S: Into<String>>(
        &mut self,
        archs: impl IntoIterator<Item = S>,
    ) -> &mut Self {
        self.archs.default.extend(archs.into_iter().map(Into::into));
        self
    }

    /// The targets that the pack or the static library supports, as [selectors](crate#selectors):
    /// of the targets that are listed, here or in the environment, it is built for those. For those
    /// that are for one vendor, or for few GPUs: `.supports(["nvidia"])`, `.supports(["sm_90a"])`.
    /// If the list is that of `OFFLOAD_ARCH`, a line says what is left of it. That nothing is left
    /// is an error, unless [`Build::allow_empty`] was called.
    pub fn supports<S: Into<String>>(
        &mut self,
        selectors: impl IntoIterator<Item = S>,
    ) -> &mut Self {
        self.request.supports.extend(selectors.into_iter().map(Selector::new));
        self
    }

    /// Lets the pack, and each of its modules, be without images where it supports none of the
    /// targets; and where packs cannot be embedded in the program, as on hosts with 32 bits,
    /// WebAssembly and iOS. Programs that embed it compile, and its `select` says why there are
    /// none.
    ///
    /// A [static library](Build::compile_static) is then made without the sources that support none
    /// of the targets, and nothing defines their functions: [`Build::resolve`] tells build.rs which
    /// targets there are, for a `cfg` flag.
    pub fn allow_empty(&mut self) -> &mut Self {
        self.request.may_be_empty = true;
        self
    }

    /// Compresses the pack with zstd, each module by itself: a bundle for each that HIP's runtime
    /// takes as it is (6.2 and newer), if all targets are AMD's, else an offload binary of version
    /// 3 for each. It takes the feature `compression` of this crate. The pack is another type for
    /// programs, `KernelPack<Compressed>`: they have an image by `decompress()` of what they
    /// selected, for which the crate `offload` needs its feature `zstd`.
    pub fn compress(&mut self) -> &mut Self {
        self.request.compressed = true;
        self
    }

    /// Adds a folder in which `#include` looks. That it is missing is an error, if a compiler is to
    /// read a source.
    pub fn include(&mut self, folder: impl AsRef<Path>) -> &mut Self {
        self.request.options.includes.push(folder.as_ref().to_owned());
        self
    }

    /// Names a file that compilers read without saying so, a table that a plugin reads, say: when
    /// it changes, so do the images. It has to be there. What is known without is on the [front
    /// page](crate#what-makes-a-build-script-run-again).
    pub fn input(&mut self, file: impl AsRef<Path>) -> &mut Self {
        self.request.options.inputs.push(file.as_ref().to_owned());
        self
    }

    /// Defines a macro; without a value it is 1.
    pub fn define<'a>(&mut self, name: &str, value: impl Into<Option<&'a str>>) -> &mut Self {
        self.request.options.define(name, value.into());
        self
    }

    /// Gives an option to every compiler when it compiles a source, behind all others.
    pub fn flag(&mut self, flag: impl Into<String>) -> &mut Self {
        self.request.options.flag(None, flag.into());
        self
    }

    /// The same for the targets that a [selector](crate#selectors) selects:
    /// `flag_for("amd", "-ffast-math")`.
    pub fn flag_for(&mut self, selector: &str, flag: impl Into<String>) -> &mut Self {
        self.request.options.flag(Some(selector), flag.into());
        self
    }

    /// Sets whether images contain all that a debugger uses: `-g`, and for NVIDIA's GPUs `-G`
    /// without optimization, unless [`Build::opt_level`] was called. Without this call, [Cargo's
    /// profile](crate#debug-information-and-optimization) decides.
    pub fn debug(&mut self, debug: bool) -> &mut Self {
        self.request.options.debug = Some(debug);
        self
    }

    /// Sets the level of optimization, from 0 to 3 (a higher number counts as 3), in place of
    /// [the compiler's default](crate#debug-information-and-optimization).
    pub fn opt_level(&mut self, level: u32) -> &mut Self {
        self.request.options.opt_level = Some(level.min(3));
        self
    }

    /// Demands that every image for a GPU of the build's own files has this kernel, as
    /// [`Module::requires_kernel`] does for those of a module.
    pub fn requires_kernel(&mut self, name: impl Into<String>) -> &mut Self {
        self.request.own.requires_kernel(name);
        self
    }

    /// The same for the images that a [selector](crate#selectors) selects.
    pub fn requires_kernel_for(&mut self, selector: &str, name: impl Into<String>) -> &mut Self {
        self.request.own.requires_kernel_for(selector, name);
        self
    }

    /// The code object version of AMD images; without it the compiler's default (6 in clang 22).
    /// ROCm's runtime reads 5 from 5.5 on and 6 from 6.3 on; generic targets need 6.
    pub fn code_object_version(&mut self, version: u32) -> &mut Self {
        self.request.code_object_version = Some(version);
        self
    }

    /// The clang to use, before `OFFLOAD_CLANG` and the usual places.
    pub fn clang(&mut self, path: impl AsRef<Path>) -> &mut Self {
        self.request.clang = Some(path.as_ref().to_owned());
        self
    }

    /// The ptxas to use, before `OFFLOAD_PTXAS` and the usual places.
    pub fn ptxas(&mut self, path: impl AsRef<Path>) -> &mut Self {
        self.request.ptxas = Some(path.as_ref().to_owned());
        self
    }

    /// Who compiles CUDA and HIP sources, for the GPUs that this compiler is for; clang unless
    /// said. It may be called once for each vendor.
    pub fn compiler(&mut self, compiler: Compiler) -> &mut Self {
        self.request.options.compilers.push(compiler);
        self
    }

    /// The nvcc to use where [`Compiler::Nvcc`] is asked for, before `NVCC` and the other variables
    /// and places.
    pub fn nvcc(&mut self, path: impl AsRef<Path>) -> &mut Self {
        self.request.nvcc = Some(path.as_ref().to_owned());
        self
    }

    /// Sets whether clang reads sources for nvcc too, so that `offload::include_kernels!` has
    /// functions for their kernels. What it cannot read, with the toolkit's headers, ends the
    /// build. Of the options it gets definitions and folders for headers.
    pub fn clang_signatures(&mut self, clang_signatures: bool) -> &mut Self {
        self.request.options.clang_signatures = Some(clang_signatures);
        self
    }

    /// The most compilers that run at a time for this pack, at least one; `OFFLOAD_JOBS` is before
    /// it. Without it as many run as `cargo build -j` allows. For compilers that need much memory.
    pub fn max_parallel(&mut self, most: usize) -> &mut Self {
        self.request.max_parallel = Some(most);
        self
    }

    /// The folder of the prebuilt set, `prebuilt` unless given.
    /// `OFFLOAD_PREBUILT=update cargo build --release` writes it; from then on an image whose
    /// compiler is missing comes from there, as long as sources and options are the same. In a
    /// workspace, `OFFLOAD_PREBUILT_<package>=update` writes that of one package.
    pub fn prebuilt(&mut self, folder: impl AsRef<Path>) -> &mut Self {
        self.request.prebuilt = Some(folder.as_ref().to_owned());
        self
    }

    /// Says that programs with this pack are linked with the [script for large
    /// packs](crate#large-packs), so that one of more than 1.5 GiB is no error with GNU ld.
    pub fn large_pack_script(&mut self) -> &mut Self {
        self.request.large_pack_script = true;
        self
    }

    /// Links the device code of all sources of a [static library](Build::compile_static), so that
    /// they may call each other's `__device__` functions and use each other's `__device__`
    /// variables: nvcc's `-rdc=true` with `-dlink`, clang's `-fgpu-rdc`. Without this call each
    /// source is a device program of its own.
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
    /// Calls between sources are not inlined. Device functions of two libraries in one program need
    /// names of their own, as functions of the host do. For each target those sources are linked
    /// that support it; a function that is missing for one target is an error. nvcc links machine
    /// code; PTX is linked by the driver when the program loads it, for which every source has to
    /// support it. clang has to be 19 or newer, and links no PTX.
    ///
    /// In a pack, the sources of a module are linked in any case: this call is an error there.
    pub fn device_link(&mut self) -> &mut Self {
        self.request.device_link = true;
        self
    }

    /// Sets how a [static library](Build::compile_static) for NVIDIA's GPUs is linked with CUDA's
    /// runtime: `"static"` unless set, `"shared"` (`libcudart.so`, which programs then need to
    /// start), or `"none"`, for programs that link it themselves. For AMD's GPUs it has no effect.
    ///
    /// Another word is an error, and so is a call of this for a pack.
    pub fn cudart(&mut self, cudart: impl Into<String>) -> &mut Self {
        self.request.cudart = Some(cudart.into());
        self
    }

    /// Sets whether Cargo is told what to link with a [static library](Build::compile_static).
    /// Without this call it is.
    ///
    /// Build scripts that print these lines themselves have [`StaticLibrary::link_folders`] and
    /// [`StaticLibrary::link_libraries`]. Cargo is told in any case what makes the build script run
    /// again.
    pub fn cargo_metadata(&mut self, cargo_metadata: bool) -> &mut Self {
        self.request.cargo_metadata = Some(cargo_metadata);
        self
    }

    /// Compiles, packs, and tells Cargo. Ends the build script with the reason if that fails.
    pub fn compile(&self, name: &str) -> Pack {
        Cargo::demand(&format!("the pack \"{name}\""), |cargo| self.compile_for(name, cargo))
    }

    /// Compiles, packs, and tells Cargo.
    ///
    /// Returns an error if there is no target, or none is left for a module; if a name is
    /// malformed, or there twice; if a source is missing, or of no use for a target; if a compiler
    /// is missing and no prebuilt image stands in, or if a compiler fails; if an image has not the
    /// kernels that it must have; if the pack is too large for the linker.
    pub fn try_compile(&self, name: &str) -> Result<Pack, Error> {
        Cargo::attempt(|cargo| self.compile_for(name, cargo))
    }

    /// Compiles the files, host and device code in one source, to a static library that carries its
    /// device code for all targets, and tells Cargo to link it and the vendor's runtime. The host's
    /// functions are called from Rust as any C function is (`extern "C"`); they launch the kernels
    /// (`<<<...>>>`). Ends the build script with the reason if that fails.
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
    /// For NVIDIA's GPUs it is compiled by nvcc, if [`Compiler::Nvcc`] is asked for, or by clang,
    /// either with the headers of the CUDA toolkit; its runtime is linked statically, so that the
    /// program starts without a driver and calls return the runtime's error. For AMD's GPUs it is
    /// compiled by clang with ROCm's headers, and needs ROCm's runtime (`libamdhip64.so`) to start,
    /// which cannot be linked statically. One library is for the GPUs of one vendor.
    ///
    /// Cargo passes the library on to the package's lib target and what depends on it; a `main.rs`
    /// beside a `lib.rs` gets the functions by way of that.
    ///
    /// Each source is compiled for those of the targets that it [supports](Source::supports). One
    /// that supports none of them is an error, or is left out if [`Build::allow_empty`] was called.
    /// Each source is a device program of its own, unless [`Build::device_link`] was called.
    /// Prebuilt sets have no static libraries: where `OFFLOAD_PREBUILT=update` makes a set, a
    /// warning says so, and `only` is an error.
    pub fn compile_static(&self, name: &str) -> StaticLibrary {
        Cargo::demand(&format!("the static library \"{name}\""), |cargo| {
            self.compile_static_for(name, cargo)
        })
    }

    /// Like [`Build::compile_static`], but returns an error instead of ending the build script.
    ///
    /// Returns an error if the targets are not of one vendor, if flags ask for relocatable device
    /// code, if [`Build::device_link`] was called and the compiler cannot link, and for the reasons
    /// that [`Build::try_compile`] has.
    pub fn try_compile_static(&self, name: &str) -> Result<StaticLibrary, Error> {
        Cargo::attempt(|cargo| self.compile_static_for(name, cargo))
    }

    fn compile_static_for(&self, name: &str, cargo: &Cargo) -> Result<StaticLibrary, Error> {
        let reserved = ReservedName::of(Product::StaticLibrary(name))?;
        let library = self.make_static(name, cargo)?;
        reserved.keep();
        Ok(library)
    }

    fn make_static(&self, name: &str, cargo: &Cargo) -> Result<StaticLibrary, Error> {
        if self.skips(cargo)?.is_some() {
            return Ok(StaticLibrary::absent(name, true));
        }
        let output = OutDir::create(&cargo.out_dir, name)?;
        let tools = Tools::new(cargo, &output, self.named());
        let product = Product::StaticLibrary(name);
        let resolved = self.targets(cargo, Some(&tools), product)?;
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

    /// The targets of the build.
    fn targets(
        &self,
        cargo: &Cargo,
        tools: Option<&Tools<'_>>,
        product: Product<'_>,
    ) -> Result<Resolved, Error> {
        let scope = plan::scope(&self.request, &self.archs, product);
        targets::resolve(cargo, tools, &self.archs, self.request.code_object_version, &scope)
    }

    /// Why nothing is to be compiled.
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

    /// The tools that build.rs names.
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

    /// Makes a pack without images, for this reason. `modules` are names, each with what the names
    /// of its files start with.
    fn make_absent(
        &self,
        name: &str,
        why: &str,
        modules: impl Iterator<Item = (String, String)>,
        output: &OutDir,
        cargo: &Cargo,
    ) -> Result<Pack, Error> {
        let folder = self.request.prebuilt.as_deref();
        let modules = kernel_parameters::of_absent(name, modules, folder, output, cargo);
        pack::write_absent(name, why, modules, &self.request, output)
    }

    fn make_pack(&self, name: &str, cargo: &Cargo) -> Result<Pack, Error> {
        static_library::check_pack(&self.request)?;
        let output = OutDir::create(&cargo.out_dir, name)?;
        dependency::offer(name, &output, cargo);
        let modules = plan::modules(&self.request, name);
        let absent = |why| {
            // Sources that are missing here are no error where nothing is made of them.
            let known = modules.as_ref().map_or(&[][..], Vec::as_slice);
            self.make_absent(
                name,
                why,
                known.iter().map(|(name, module)| (name.clone(), module.prefix())),
                &output,
                cargo,
            )
        };
        if let Some(why) = self.skips(cargo)? {
            return absent(why);
        }
        let machine = match pack::machine(cargo) {
            Ok(machine) => machine,
            Err(_) if self.request.may_be_empty => {
                return absent(&format!(
                    "packs cannot be embedded in programs for {}",
                    cargo.target
                ));
            }
            Err(error) => return Err(error),
        };
        let tools = Tools::new(cargo, &output, self.named());
        let product = Product::Pack(name);
        let resolved = self.targets(cargo, Some(&tools), product)?;
        let modules = plan::plan(&self.request, product, modules?, &resolved.targets, cargo)?;
        if modules.iter().all(|module| module.targets.is_empty()) {
            let why =
                format!("it supports none of the targets {}", targets::join(&resolved.targets));
            let modules = modules.into_iter().map(|module| (module.name, module.prefix));
            return self.make_absent(name, &why, modules, &output, cargo);
        }
        Run::new(&self.request, resolved.is_of_this_machine, name, cargo, &output, &tools)
            .make_pack(&modules, machine)
    }
}

#[cfg(test)]
mod tests;
