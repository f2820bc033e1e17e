//! One module, with what is said of it alone.

use crate::request::{Compiler, Options, Selector, Source};
use std::path::Path;

/// A module of a pack: one device program. Programs take it by its name, `PACK.module("fp8")`, and
/// load it by itself.
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
    /// `None` for the one that a build's own files make: it is called as the pack is.
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
    /// In the images for these targets; without it in all.
    pub(crate) only: Option<Selector>,
}

impl Module {
    /// What the names of its files start with: nothing for the module of a build's own files.
    pub(crate) fn prefix(&self) -> String {
        self.name.as_ref().map(|name| format!("{name}.")).unwrap_or_default()
    }

    /// A module of this name, without sources: letters, digits, `_` and `-`.
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
    pub fn file(&mut self, source: impl Into<Source>) -> &mut Self {
        self.sources.push(source.into());
        self
    }

    /// Adds sources, as [`Module::file`] does.
    pub fn files<S: Into<Source>>(&mut self, sources: impl IntoIterator<Item = S>) -> &mut Self {
        self.sources.extend(sources.into_iter().map(Into::into));
        self
    }

    /// Adds a folder in which `#include` looks, behind the build's own.
    pub fn include(&mut self, folder: impl AsRef<Path>) -> &mut Self {
        self.options.includes.push(folder.as_ref().to_owned());
        self
    }

    /// Names a file that compilers read without saying so; see
    /// [`Build::input`](crate::Build::input).
    pub fn input(&mut self, file: impl AsRef<Path>) -> &mut Self {
        self.options.inputs.push(file.as_ref().to_owned());
        self
    }

    /// Defines a macro; without a value it is 1.
    pub fn define<'a>(&mut self, name: &str, value: impl Into<Option<&'a str>>) -> &mut Self {
        self.options.define(name, value.into());
        self
    }

    /// Gives an option to every compiler when it compiles a source of this module, behind those of
    /// the build.
    pub fn flag(&mut self, flag: impl Into<String>) -> &mut Self {
        self.options.flag(None, flag.into());
        self
    }

    /// The same for the targets that a [selector](crate#selectors) selects.
    pub fn flag_for(&mut self, selector: &str, flag: impl Into<String>) -> &mut Self {
        self.options.flag(Some(selector), flag.into());
        self
    }

    /// Sets whether this module's images contain all that a debugger uses; see
    /// [`Build::debug`](crate::Build::debug).
    pub fn debug(&mut self, debug: bool) -> &mut Self {
        self.options.debug = Some(debug);
        self
    }

    /// Sets this module's level of optimization; see [`Build::opt_level`](crate::Build::opt_level).
    pub fn opt_level(&mut self, level: u32) -> &mut Self {
        self.options.opt_level = Some(level.min(3));
        self
    }

    /// Who compiles this module's CUDA and HIP sources, in place of what the build says, for the
    /// GPUs that this compiler is for.
    pub fn compiler(&mut self, compiler: Compiler) -> &mut Self {
        self.options.compilers.push(compiler);
        self
    }

    /// Sets whether clang reads this module's sources for the parameters of kernels that nvcc
    /// compiles; see [`Build::clang_signatures`](crate::Build::clang_signatures).
    pub fn clang_signatures(&mut self, clang_signatures: bool) -> &mut Self {
        self.options.clang_signatures = Some(clang_signatures);
        self
    }

    /// The targets that it supports, as [selectors](crate#selectors): it is built for those of the
    /// pack's targets. That none is left is an error, unless [`Module::allow_empty`] was called.
    pub fn supports<S: Into<String>>(
        &mut self,
        selectors: impl IntoIterator<Item = S>,
    ) -> &mut Self {
        self.supports.extend(selectors.into_iter().map(Selector::new));
        self
    }

    /// Lets the module be without images where it supports none of the pack's targets. Programs
    /// that name it compile, and its `select` says that there are no images.
    pub fn allow_empty(&mut self) -> &mut Self {
        self.may_be_empty = true;
        self
    }

    /// Demands that every image for a GPU has this kernel. The name is as the image has it: of C++
    /// kernels that are not `extern "C"` the mangled one. The image for the CPU is not looked into.
    pub fn requires_kernel(&mut self, name: impl Into<String>) -> &mut Self {
        self.required.push(RequiredKernel { name: name.into(), only: None });
        self
    }

    /// The same for the images that a [selector](crate#selectors) selects.
    pub fn requires_kernel_for(&mut self, selector: &str, name: impl Into<String>) -> &mut Self {
        self.required
            .push(RequiredKernel { name: name.into(), only: Some(Selector::new(selector)) });
        self
    }
}
