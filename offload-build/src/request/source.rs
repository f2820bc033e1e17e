//! One source, with its own options.

use crate::request::{Language, Options, Selector, setters_of_sources};
use std::path::{Path, PathBuf};

/// A source file with its own settings. If a source needs no settings, a plain path suffices.
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

setters_of_sources!(Source, options, r#"offload_build::Source::new("kernels/gemm.cu")"#);

impl Source {
    /// Returns the source at this path, which is absolute or relative to the package's folder.
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

    /// Sets the language, regardless of the extension.
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

    /// Returns the language from build.rs or the extension, or `None` for an unknown extension.
    pub(crate) fn known_language(&self) -> Option<Language> {
        self.language.or_else(|| Language::of(&self.path).ok())
    }

    /// Sets which targets this source can be built for, as [selectors](crate::Build::supports).
    ///
    /// Images for other targets do not contain this source.
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
