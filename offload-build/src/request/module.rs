//! One module, with its own options.

use crate::request::{
    Compiler, Language, Options, Selector, Source, setters_of_modules, setters_of_sources,
};

/// A module of a pack: one device program.
///
/// Programs select a module by its name, as in `PACK.module("fp8")`, and load each module
/// separately.
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
#[derive(Debug, Clone, Default)]
pub struct Module {
    /// The module's name. `None` for the unnamed module, which contains the files added to the
    /// build itself and gets the pack's name.
    pub(crate) name: Option<String>,
    pub(crate) sources: Vec<Source>,
    pub(crate) options: Options,
    pub(crate) supports: Vec<Selector>,
    pub(crate) may_be_empty: bool,
    pub(crate) required: Vec<RequiredKernel>,
}

/// A kernel that images must contain.
#[derive(Debug, Clone)]
pub(crate) struct RequiredKernel {
    pub(crate) name: String,
    /// The targets whose images must contain the kernel. `None` for all targets.
    pub(crate) only: Option<Selector>,
}

setters_of_sources!(Module, options, r#"offload_build::Module::new("fp8").file("kernels/fp8.cu")"#);
setters_of_modules!(Module, options, r#"offload_build::Module::new("fp8").file("kernels/fp8.cu")"#);

impl Module {
    /// Returns the prefix of the module's file names, which is empty for the unnamed module.
    pub(crate) fn prefix(&self) -> String {
        self.name.as_ref().map(|name| format!("{name}.")).unwrap_or_default()
    }

    /// Whether a compiler can read kernel parameters from at least one of the sources.
    pub(crate) fn is_described(&self) -> bool {
        let is_described =
            |language: Language| language.is_preprocessed() || language == Language::Rust;
        self.sources.iter().filter_map(Source::known_language).any(is_described)
    }

    /// Returns an empty module with this name.
    ///
    /// The name may contain letters, digits, `_` and `-`.
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
        Self { name: Some(name.into()), ..Self::default() }
    }

    /// Adds a source: a path, or a [`Source`]. A module's sources are linked together.
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
    /// Programs that use the empty module still compile. The module's `select` reports that it has
    /// no images.
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

    /// Requires this kernel in every GPU image of this module.
    ///
    /// `name` is the kernel's name in the image. The names of C++ kernels that are not `extern "C"`
    /// are mangled. The image for the CPU is not checked.
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

    /// Requires this kernel in the images for the targets of a [selector](crate::Build::supports).
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
