//! The builder [`Build`].
//!
//! `make_pack` runs these parts of a build in order:
//!
//! | module | does |
//! |---|---|
//! | `decide` | chooses for each image: keep an earlier one, compile it, or report a missing tool |
//! | `prebuilt` | replaces an image whose tool is missing |
//! | `jobs` | turns these decisions into images, module by module; `run` runs the steps |
//! | `kernel_parameters` | describes the parameters of each module's kernels |
//!
//! `static_library` does the same for libraries with host code. `packaging` checks the prebuilt set
//! during `cargo package`. `dependency` offers packs to dependents through Cargo's `links` key, and
//! finds the packs of dependencies.

mod contents;
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

pub use dependency::embed_from;
pub use resolved::{ResolvedTargets, ToolkitVersion};
pub use static_library::StaticLibrary;

use self::reserved_name::reserve;
use self::run::Run;
use crate::compile::include_folders;
use crate::output::OutDir;
use crate::pack::{self, Pack};
use crate::plan;
use crate::request::{Module, Request};
use crate::targets::{self, Product, RequestedTargets, Resolved};
use crate::toolchain::compilers::Tools;
use crate::toolchain::{Cargo, Error};

/// A builder that collects sources, targets and options, from which [`Build::compile`] makes a
/// pack.
///
/// Paths are relative to the package's folder. The [crate's front page](crate) has an example. Call
/// the methods below in this order:
///
/// 1. sources: [`file`](Build::file), [`modules`](Build::modules),
///    [`rust_crate`](Build::rust_crate);
/// 2. targets: [`archs`](Build::archs), [`supports`](Build::supports);
/// 3. options: [`flag`](Build::flag), [`compiler`](Build::compiler),
///    [`prebuilt`](Build::prebuilt);
/// 4. finish: [`compile`](Build::compile), or [`compile_static`](Build::compile_static) for
///    `<<<...>>>`.
///
/// The [next questions](crate#next-questions) link to the pages of the guide that answer them.
#[derive(Debug, Clone, Default)]
pub struct Build {
    request: Request,
    archs: RequestedTargets,
}

impl Build {
    /// Compiles the sources into a pack, and prints the instructions for Cargo. If the pack cannot
    /// be built, ends the build script.
    ///
    /// ```no_run
    /// let pack = offload_build::Build::new()
    ///     .file("kernels/saxpy.cu")
    ///     .archs(["gfx90a", "sm_80", "cpu"])
    ///     .compile("saxpy"); // include_offload!("saxpy") in the program
    /// ```
    pub fn compile(&self, name: &str) -> Pack {
        Cargo::demand(&format!("make the pack \"{name}\""), |cargo| self.compile_for(name, cargo))
    }

    /// Like [`Build::compile`], but returns an error instead of ending the build script.
    ///
    /// Returns an error
    ///
    /// - if there are no targets, or a module supports none of the targets;
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
    /// Rust code calls the host functions like any C function (`extern "C"`), and the host
    /// functions launch the kernels (`<<<...>>>`). If the library cannot be built, ends the build
    /// script with the reason.
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
    /// | NVIDIA's | nvcc with [`Compiler::Nvcc`](crate::Compiler::Nvcc), otherwise clang with the CUDA toolkit's headers | CUDA's, linked statically: the program starts even without a driver, but calls then return the runtime's error |
    /// | AMD's | clang with ROCm's headers | `libamdhip64.so`, which the program needs to start |
    ///
    /// Cargo passes the library on to the package's lib target and to its dependents. If the
    /// package has a `lib.rs` and a `main.rs`, the program gets the functions through the lib
    /// target.
    ///
    /// Each source is compiled for the targets that it [supports](crate::Source::supports). A
    /// source that supports none of them is an error, or is left out if [`Build::allow_empty`] was
    /// called. Each source is a separate device program, unless [`Build::device_link`] was called.
    /// Prebuilt sets contain no static libraries: `OFFLOAD_PREBUILT=update` prints a warning, and
    /// `only` is an error.
    #[inline]
    pub fn compile_static(&self, name: &str) -> StaticLibrary {
        Cargo::demand(&format!("make the static library \"{name}\""), |cargo| {
            self.compile_static_for(name, cargo)
        })
    }

    /// Like [`Build::compile_static`], but returns an error instead of ending the build script.
    ///
    /// Returns an error for the reasons listed at [`Build::try_compile`], if the targets belong to
    /// several vendors, if flags request relocatable device code, and if [`Build::device_link`] was
    /// called but the compiler cannot link device code.
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
        reserve(Product::StaticLibrary(name), || self.make_static(name, cargo))
    }

    #[inline]
    fn make_static(&self, name: &str, cargo: &Cargo) -> Result<StaticLibrary, Error> {
        if self.skips(cargo)?.is_some() {
            return Ok(StaticLibrary::absent(true));
        }
        let output = OutDir::create(cargo, name)?;
        let mut tools = Tools::new(cargo, output.probe_cache(), &self.request.tools);
        let product = Product::StaticLibrary(name);
        let resolved = self.targets(cargo, Some(&tools), product)?;
        tools.prefer_clang(targets::first_clang(&resolved.targets));
        let modules = plan::plan(
            &self.request,
            product,
            &static_library::modules(&self.request)?,
            &resolved.targets,
            cargo,
        )?;
        if modules.iter().all(|module| module.targets.is_empty()) {
            return Ok(StaticLibrary::absent(false));
        }
        for module in &modules {
            include_folders::check(module, &module.sources.iter().collect::<Vec<_>>(), cargo)?;
        }
        let run = Run::new(&self.request, resolved.is_of_this_machine, name, &output, &tools);
        static_library::make(&run, &modules)
    }

    fn targets(
        &self,
        cargo: &Cargo,
        tools: Option<&Tools<'_>>,
        product: Product<'_>,
    ) -> Result<Resolved, Error> {
        let scope = plan::scope(&self.request, &self.archs, product);
        targets::resolve(cargo, tools, &self.archs, self.request.code_object_version, &scope)
    }

    /// Returns the reason why this build compiles nothing, if there is one.
    fn skips(&self, cargo: &Cargo) -> Result<Option<&'static str>, Error> {
        if cargo.user_var("DOCS_RS").is_some() {
            return Ok(Some("docs.rs has no GPU compilers"));
        }
        match cargo.user_var("OFFLOAD_SKIP").as_deref() {
            None | Some("0") => Ok(None),
            Some("1") => Ok(Some("OFFLOAD_SKIP was set")),
            Some(other) => {
                Err(Error::config(format!("OFFLOAD_SKIP is '{other}', but must be '1' or '0'")))
            }
        }
    }

    fn compile_for(&self, name: &str, cargo: &Cargo) -> Result<Pack, Error> {
        reserve(Product::Pack(name), || self.make_pack(name, cargo))
    }

    fn make_pack(&self, name: &str, cargo: &Cargo) -> Result<Pack, Error> {
        static_library::check_pack(&self.request)?;
        let output = OutDir::create(cargo, name)?;
        dependency::offer(name, &output, cargo);
        let modules = plan::modules(&self.request, name);
        // Writes a pack that has no images. `skipped` is the reason why no build reads its sources.
        let absent = |modules: &[(String, Module)], why: &str, skipped: Option<&str>| {
            let folder = self.request.prebuilt.as_deref();
            let modules =
                kernel_parameters::of_absent(name, modules, skipped, folder, &output, cargo);
            pack::write_absent(name, why, modules, &self.request, &output)
        };
        // In a pack without images, missing sources are not an error, because no compiler reads
        // them.
        let known = modules.as_ref().map_or(&[][..], Vec::as_slice);
        if let Some(why) = self.skips(cargo)? {
            return absent(known, why, Some(why));
        }
        let machine = match pack::machine(cargo) {
            Ok(machine) => machine,
            Err(_) if self.request.may_be_empty => {
                let why = format!("packs cannot be embedded in programs for {}", cargo.target);
                return absent(known, &why, None);
            }
            Err(error) => return Err(error),
        };
        let mut tools = Tools::new(cargo, output.probe_cache(), &self.request.tools);
        let product = Product::Pack(name);
        let Resolved { targets, is_of_this_machine } =
            self.targets(cargo, Some(&tools), product)?;
        tools.prefer_clang(targets::first_clang(&targets));
        let modules = modules?;
        let planned = plan::plan(&self.request, product, &modules, &targets, cargo)?;
        if planned.iter().all(|module| module.targets.is_empty()) {
            let why = format!("it supports none of the targets {}", targets::join(&targets));
            return absent(&modules, &why, None);
        }
        Run::new(&self.request, is_of_this_machine, name, &output, &tools)
            .make_pack(&planned, machine)
    }
}

#[cfg(test)]
mod tests;
