//! One source, with what is said of it alone.

use crate::request::{Language, Options, Selector};
use std::path::{Path, PathBuf};

/// A source file. A path is one by itself; this says more of it:
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
    /// The source at this path: relative to the package's folder, or absolute. One that the build
    /// script has generated lies in `OUT_DIR`.
    pub fn new(path: impl AsRef<Path>) -> Self {
        Self {
            path: path.as_ref().to_owned(),
            language: None,
            options: Options::default(),
            supports: Vec::new(),
        }
    }

    /// What it is written in, whatever its extension is.
    pub fn language(&mut self, language: Language) -> &mut Self {
        self.language = Some(language);
        self
    }

    /// Names a file that its compiler reads without saying so; see
    /// [`Build::input`](crate::Build::input).
    pub fn input(&mut self, file: impl AsRef<Path>) -> &mut Self {
        self.options.inputs.push(file.as_ref().to_owned());
        self
    }

    /// Defines a macro in this source; without a value it is 1.
    pub fn define<'a>(&mut self, name: &str, value: impl Into<Option<&'a str>>) -> &mut Self {
        self.options.define(name, value.into());
        self
    }

    /// Gives an option to the compiler of this source, behind all others. Of PTX that is ptxas.
    pub fn flag(&mut self, flag: impl Into<String>) -> &mut Self {
        self.options.flag(None, flag.into());
        self
    }

    /// The same for the targets that a [selector](crate#selectors) selects.
    pub fn flag_for(&mut self, selector: &str, flag: impl Into<String>) -> &mut Self {
        self.options.flag(Some(selector), flag.into());
        self
    }

    /// Sets whether this source's images contain all that a debugger uses; see
    /// [`Build::debug`](crate::Build::debug).
    pub fn debug(&mut self, debug: bool) -> &mut Self {
        self.options.debug = Some(debug);
        self
    }

    /// Sets this source's level of optimization; see [`Build::opt_level`](crate::Build::opt_level).
    pub fn opt_level(&mut self, level: u32) -> &mut Self {
        self.options.opt_level = Some(level.min(3));
        self
    }

    /// The targets that it supports, as [selectors](crate#selectors). Images for others are made
    /// without it.
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
