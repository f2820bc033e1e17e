//! One source, with its own options.

use crate::request::{Language, Options, Selector};
use std::path::{Path, PathBuf};

/// A source file with its own settings. A plain path is also accepted as a source; this type adds
/// options:
///
/// ```
/// use offload_build::{Language, Source};
///
/// let mut source = Source::new("kernels/gemm.inc");
/// source.language(Language::Cuda).flag_for("amd", "-mllvm=-amdgpu-early-inline-all").supports(["amd", ">=sm_80"]);
/// ```
#[derive(Debug, Clone)]
pub struct Source {
    pub(crate) path: PathBuf,
    pub(crate) language: Option<Language>,
    pub(crate) options: Options,
    pub(crate) supports: Vec<Selector>,
}

impl Source {
    /// Returns the source at this path: relative to the package's folder, or absolute.
    ///
    /// For a source that the build script generates, use its path in `OUT_DIR`.
    ///
    /// ```no_run
    /// use offload_build::{Build, Source};
    ///
    /// let folder = std::env::var("OUT_DIR").unwrap();
    /// Build::new()
    ///     .file(Source::new(format!("{folder}/generated.cu")))
    ///     .archs(["gfx90a"])
    ///     .compile("generated");
    /// ```
    pub fn new(path: impl AsRef<Path>) -> Self {
        Self {
            path: path.as_ref().to_owned(),
            language: None,
            options: Options::default(),
            supports: Vec::new(),
        }
    }

    /// Sets the language, whatever the extension is.
    ///
    /// ```
    /// use offload_build::{Language, Source};
    ///
    /// Source::new("kernels/gemm.inc").language(Language::Cuda);
    /// ```
    pub fn language(&mut self, language: Language) -> &mut Self {
        self.language = Some(language);
        self
    }

    /// Adds a file that the images depend on and that no compiler reports.
    ///
    /// See [`Build::input`](crate::Build::input).
    ///
    /// ```
    /// use offload_build::Source;
    ///
    /// Source::new("kernels/gemm.cu").input("kernels/table.bin");
    /// ```
    pub fn input(&mut self, file: impl AsRef<Path>) -> &mut Self {
        self.options.inputs.push(file.as_ref().to_owned());
        self
    }

    /// Defines a macro in this source. Without a value, the macro is 1.
    ///
    /// ```
    /// use offload_build::Source;
    ///
    /// Source::new("kernels/gemm.cu").define("TILE", "32");
    /// ```
    pub fn define<'a>(&mut self, name: &str, value: impl Into<Option<&'a str>>) -> &mut Self {
        self.options.define(name, value.into());
        self
    }

    /// Adds an option for the compiler of this source, after all others. For PTX, this compiler is
    /// ptxas.
    ///
    /// ```
    /// use offload_build::Source;
    ///
    /// Source::new("kernels/gemm.cu").flag("-std=c++20");
    /// ```
    pub fn flag(&mut self, flag: impl Into<String>) -> &mut Self {
        self.options.flag(None, flag.into());
        self
    }

    /// Adds an option for the targets of a [selector](crate::Build::supports).
    ///
    /// ```
    /// use offload_build::Source;
    ///
    /// Source::new("kernels/gemm.cu").flag_for("amd", "-ffast-math");
    /// ```
    pub fn flag_for(&mut self, selector: &str, flag: impl Into<String>) -> &mut Self {
        self.options.flag(Some(selector), flag.into());
        self
    }

    /// Sets whether this source's images have full debug information.
    ///
    /// See [`Build::debug`](crate::Build::debug).
    ///
    /// ```
    /// use offload_build::Source;
    ///
    /// Source::new("kernels/gemm.cu").debug(true);
    /// ```
    pub fn debug(&mut self, debug: bool) -> &mut Self {
        self.options.debug = Some(debug);
        self
    }

    /// Sets this source's level of optimization.
    ///
    /// See [`Build::opt_level`](crate::Build::opt_level).
    ///
    /// ```
    /// use offload_build::Source;
    ///
    /// Source::new("kernels/gemm.cu").opt_level(2);
    /// ```
    pub fn opt_level(&mut self, level: u32) -> &mut Self {
        self.options.opt_level = Some(level.min(3));
        self
    }

    /// Sets which targets this source can be built for, as [selectors](crate::Build::supports).
    ///
    /// Images for other targets are made without this source.
    ///
    /// ```
    /// use offload_build::Source;
    ///
    /// Source::new("kernels/gemm.cu").supports([">=sm_80"]);
    /// ```
    pub fn supports<S: Into<String>>(
        &mut self,
        selectors: impl IntoIterator<Item = S>,
    ) -> &mut Self {
        self.supports.extend(selectors.into_iter().map(Selector::new));
        self
    }
}

impl<P: AsRef<Path>> From<P> for Source {
    fn from(path: P) -> Self {
        Self::new(path)
    }
}

impl From<&mut Source> for Source {
    fn from(source: &mut Source) -> Self {
        source.clone()
    }
}
