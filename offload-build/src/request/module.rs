//! One module, with its own options.

use crate::request::{Compiler, Language, Options, Selector, Source};
use std::path::Path;

/// A module of a pack: one device program. Programs select a module by its name,
/// `PACK.module("fp8")`, and load each module separately.
///
/// ```no_run
/// use offload_build::{Build, Module};
///
/// Build::new()
///     .modules(["kernels/affine.cu", "kernels/scale.cu"])
///     .module(
///         Module::new("fp8")
///             .files(["kernels/fp8.cu", "kernels/fp8_tables.cu"])
///             .flag_for("amd", "-ffast-math")
///             .supports([">=sm_90", "gfx942", "cpu"]),
///     )
///     .archs(["gfx90a", "gfx942", "sm_80", "sm_90a", "cpu"])
///     .compile("kernels");
/// ```
#[derive(Debug, Clone)]
pub struct Module {
    /// The module's name; `None` for the module of the files that were added to the build itself,
    /// which has the name of the pack.
    pub(crate) name: Option<String>,
    pub(crate) sources: Vec<Source>,
    pub(crate) options: Options,
    pub(crate) supports: Vec<Selector>,
    pub(crate) may_be_empty: bool,
    pub(crate) required: Vec<RequiredKernel>,
}

/// A kernel that images must have.
#[derive(Debug, Clone)]
pub(crate) struct RequiredKernel {
    pub(crate) name: String,
    /// The targets whose images need the kernel; `None` for all targets.
    pub(crate) only: Option<Selector>,
}

impl Module {
    /// Returns the prefix of the names of the module's files. The module of a build's own files has
    /// no prefix.
    pub(crate) fn prefix(&self) -> String {
        self.name.as_ref().map(|name| format!("{name}.")).unwrap_or_default()
    }

    /// Whether clang can read the parameters of kernels from one of the sources.
    pub(crate) fn is_read_by_clang(&self) -> bool {
        let language =
            |source: &Source| source.language.or_else(|| Language::of(&source.path).ok());
        self.sources.iter().filter_map(language).any(Language::is_preprocessed)
    }

    /// Returns a module of this name, without sources.
    ///
    /// The name has letters, digits, `_` and `-`.
    ///
    /// ```no_run
    /// use offload_build::{Build, Module};
    ///
    /// Build::new()
    ///     .module(Module::new("fp8").file("kernels/fp8.cu")) // PACK.module("fp8")
    ///     .archs(["sm_90"])
    ///     .compile("kernels");
    /// ```
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: Some(name.into()), ..Self::unnamed() }
    }

    pub(crate) fn unnamed() -> Self {
        Self {
            name: None,
            sources: Vec::new(),
            options: Options::default(),
            supports: Vec::new(),
            may_be_empty: false,
            required: Vec::new(),
        }
    }

    /// Adds a source: a path, or a [`Source`]. All sources of a module are linked.
    ///
    /// ```
    /// use offload_build::Module;
    ///
    /// Module::new("fp8").file("kernels/fp8.cu");
    /// ```
    pub fn file(&mut self, source: impl Into<Source>) -> &mut Self {
        self.sources.push(source.into());
        self
    }

    /// Adds sources, as [`Module::file`] does.
    ///
    /// ```
    /// use offload_build::Module;
    ///
    /// Module::new("fp8").files(["kernels/fp8.cu", "kernels/tables.cu"]);
    /// ```
    pub fn files<S: Into<Source>>(&mut self, sources: impl IntoIterator<Item = S>) -> &mut Self {
        self.sources.extend(sources.into_iter().map(Into::into));
        self
    }

    /// Adds a folder in which the compiler searches for `#include` files, after the folders of the
    /// build.
    ///
    /// ```
    /// use offload_build::Module;
    ///
    /// Module::new("fp8").file("kernels/fp8.cu").include("kernels/include");
    /// ```
    pub fn include(&mut self, folder: impl AsRef<Path>) -> &mut Self {
        self.options.includes.push(folder.as_ref().to_owned());
        self
    }

    /// Adds a file that the images depend on and that no compiler reports.
    ///
    /// See [`Build::input`](crate::Build::input).
    ///
    /// ```
    /// use offload_build::Module;
    ///
    /// Module::new("fp8").file("kernels/fp8.cu").input("kernels/table.bin");
    /// ```
    pub fn input(&mut self, file: impl AsRef<Path>) -> &mut Self {
        self.options.inputs.push(file.as_ref().to_owned());
        self
    }

    /// Defines a macro. Without a value, the macro is 1.
    ///
    /// ```
    /// use offload_build::Module;
    ///
    /// Module::new("fp8").file("kernels/fp8.cu").define("TILE", "32");
    /// ```
    pub fn define<'a>(&mut self, name: &str, value: impl Into<Option<&'a str>>) -> &mut Self {
        self.options.define(name, value.into());
        self
    }

    /// Adds an option for every compiler that compiles a source of this module.
    ///
    /// The option comes after the options of the build.
    ///
    /// ```
    /// use offload_build::Module;
    ///
    /// Module::new("fp8").file("kernels/fp8.cu").flag("-std=c++20");
    /// ```
    pub fn flag(&mut self, flag: impl Into<String>) -> &mut Self {
        self.options.flag(None, flag.into());
        self
    }

    /// Adds an option for the targets of a [selector](crate::Build::supports).
    ///
    /// ```
    /// use offload_build::Module;
    ///
    /// Module::new("fp8").file("kernels/fp8.cu").flag_for("amd", "-ffast-math");
    /// ```
    pub fn flag_for(&mut self, selector: &str, flag: impl Into<String>) -> &mut Self {
        self.options.flag(Some(selector), flag.into());
        self
    }

    /// Sets whether this module's images have full debug information.
    ///
    /// See [`Build::debug`](crate::Build::debug).
    ///
    /// ```
    /// use offload_build::Module;
    ///
    /// Module::new("fp8").file("kernels/fp8.cu").debug(true);
    /// ```
    pub fn debug(&mut self, debug: bool) -> &mut Self {
        self.options.debug = Some(debug);
        self
    }

    /// Sets this module's level of optimization.
    ///
    /// See [`Build::opt_level`](crate::Build::opt_level).
    ///
    /// ```
    /// use offload_build::Module;
    ///
    /// Module::new("fp8").file("kernels/fp8.cu").opt_level(2);
    /// ```
    pub fn opt_level(&mut self, level: u32) -> &mut Self {
        self.options.opt_level = Some(level.min(3));
        self
    }

    /// Sets the compiler of this module's CUDA and HIP sources, in place of the build's.
    ///
    /// The setting applies to the GPUs that this compiler supports.
    ///
    /// ```no_run
    /// use offload_build::{Compiler, Module};
    ///
    /// Module::new("gemm").file("kernels/gemm.cu").compiler(Compiler::Nvcc);
    /// ```
    pub fn compiler(&mut self, compiler: Compiler) -> &mut Self {
        self.options.compilers.push(compiler);
        self
    }

    /// Sets whether clang reads this module's sources to find the signatures of kernels that nvcc
    /// compiles.
    ///
    /// See [`Build::clang_signatures`](crate::Build::clang_signatures).
    ///
    /// ```
    /// use offload_build::Module;
    ///
    /// Module::new("fp8").file("kernels/fp8.cu").clang_signatures(true);
    /// ```
    pub fn clang_signatures(&mut self, clang_signatures: bool) -> &mut Self {
        self.options.clang_signatures = Some(clang_signatures);
        self
    }

    /// Sets which of the pack's targets this module can be built for, as
    /// [selectors](crate::Build::supports).
    ///
    /// If no target is left, the build fails, unless [`Module::allow_empty`] was called.
    ///
    /// ```
    /// use offload_build::Module;
    ///
    /// Module::new("fp8").file("kernels/fp8.cu").supports([">=sm_89", "gfx942"]);
    /// ```
    pub fn supports<S: Into<String>>(
        &mut self,
        selectors: impl IntoIterator<Item = S>,
    ) -> &mut Self {
        self.supports.extend(selectors.into_iter().map(Selector::new));
        self
    }

    /// Allows the module to have no images if it supports none of the pack's targets.
    ///
    /// Programs that name such a module compile; its `select` reports that there are no images.
    ///
    /// ```
    /// use offload_build::Module;
    ///
    /// Module::new("fp8").file("kernels/fp8.cu").supports([">=sm_89"]).allow_empty();
    /// ```
    pub fn allow_empty(&mut self) -> &mut Self {
        self.may_be_empty = true;
        self
    }

    /// Demands that every GPU image of this module has this kernel.
    ///
    /// The name must be the one in the image: C++ kernels that are not `extern "C"` have mangled
    /// names. The image for the CPU is not checked.
    ///
    /// ```
    /// use offload_build::Module;
    ///
    /// Module::new("fp8").file("kernels/fp8.cu").requires_kernel("to_fp8");
    /// ```
    pub fn requires_kernel(&mut self, name: impl Into<String>) -> &mut Self {
        self.required.push(RequiredKernel { name: name.into(), only: None });
        self
    }

    /// Demands this kernel in the images for the targets of a [selector](crate::Build::supports).
    ///
    /// ```
    /// use offload_build::Module;
    ///
    /// Module::new("fp8").file("kernels/fp8.cu").requires_kernel_for(">=sm_89", "to_fp8");
    /// ```
    pub fn requires_kernel_for(&mut self, selector: &str, name: impl Into<String>) -> &mut Self {
        self.required
            .push(RequiredKernel { name: name.into(), only: Some(Selector::new(selector)) });
        self
    }
}
