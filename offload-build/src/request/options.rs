//! A build's settings from build.rs: compiler options, and all others.

use crate::request::{Compiler, Module, Selector};
use crate::targets::Target;
use crate::toolchain::compilers::NamedTools;
use std::fmt;
use std::path::PathBuf;

/// Compiler options other than the source and the target.
#[derive(Debug, Clone, Default)]
pub(crate) struct Options {
    pub(crate) includes: Vec<PathBuf>,
    /// Input files that no compiler reports.
    pub(crate) inputs: Vec<PathBuf>,
    pub(crate) defines: Vec<(String, Option<String>)>,
    /// Flags. A flag without a selector applies to all targets.
    flags: Vec<(Option<Selector>, String)>,
    /// The requested compilers. The last one that compiles for a target wins.
    pub(crate) compilers: Vec<Compiler>,
    /// Whether images contain full debug information. `None` for the compiler's default.
    pub(crate) debug: Option<bool>,
    /// The optimization level, from 0 to 3. `None` for the compiler's default.
    pub(crate) opt_level: Option<u32>,
    /// Whether clang parses nvcc's sources to find the kernels' parameters.
    pub(crate) clang_signatures: Option<bool>,
    /// Whether to lower the version of nvcc's PTX to the oldest that supports its instructions.
    pub(crate) lower_ptx: Option<bool>,
}

impl Options {
    pub(crate) fn define(&mut self, name: &str, value: Option<&str>) {
        self.defines.push((name.to_owned(), value.map(str::to_owned)));
    }

    #[inline]
    pub(crate) fn flag(&mut self, only: Option<&str>, flag: String) {
        self.flags.push((only.map(Selector::new), flag));
    }

    pub(crate) fn append(&mut self, other: &Options) {
        self.includes.extend(other.includes.iter().cloned());
        self.inputs.extend(other.inputs.iter().cloned());
        self.defines.extend(other.defines.iter().cloned());
        self.flags.extend(other.flags.iter().cloned());
        self.compilers.extend(&other.compilers);
        self.debug = other.debug.or(self.debug);
        self.opt_level = other.opt_level.or(self.opt_level);
        self.clang_signatures = other.clang_signatures.or(self.clang_signatures);
        self.lower_ptx = other.lower_ptx.or(self.lower_ptx);
    }

    /// Adds the selectors of all flags to `all`.
    pub(crate) fn add_selectors<'a>(&'a self, all: &mut Vec<&'a Selector>) {
        all.extend(self.flags.iter().filter_map(|(only, _)| only.as_ref()));
    }

    /// Returns the flags for the target; without a target, those for all targets.
    pub(crate) fn flags_for(&self, target: Option<&Target>) -> Vec<&str> {
        let mut flags = Vec::new();
        for (only, flag) in &self.flags {
            if only.as_ref().is_none_or(|only| target.is_some_and(|it| only.selects(it))) {
                flags.push(flag.as_str());
            }
        }
        flags
    }

    pub(crate) fn define_args(&self) -> Vec<String> {
        let mut args = Vec::new();
        for (name, value) in &self.defines {
            args.push(match value {
                Some(value) => format!("-D{name}={value}"),
                None => format!("-D{name}"),
            });
        }
        args
    }
}

/// Writes the options for the manifest of a prebuilt set.
impl fmt::Display for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words = Vec::new();
        for folder in &self.includes {
            words.push(format!("-I{}", folder.display()));
        }
        words.append(&mut self.define_args());
        for (only, flag) in &self.flags {
            words.push(match only {
                Some(only) => format!("{only}?{flag}"),
                None => flag.clone(),
            });
        }
        if let Some(debug) = self.debug {
            words.push(format!("(debug {debug})"));
        }
        if let Some(level) = self.opt_level {
            words.push(format!("(opt_level {level})"));
        }
        if let Some(lower) = self.lower_ptx {
            words.push(format!("(lower_ptx {lower})"));
        }
        for compiler in &self.compilers {
            words.push(format!("({compiler})"));
        }
        f.write_str(&words.join(" "))
    }
}

/// All settings of [`Build`](crate::Build) except the targets.
#[derive(Debug, Clone, Default)]
pub(crate) struct Request {
    /// The unnamed module, with the files added to the build itself.
    pub(crate) unnamed: Module,
    pub(crate) modules: Vec<Module>,
    pub(crate) exclude: Vec<String>,
    /// The compiler options for all modules.
    pub(crate) options: Options,
    /// The targets that the pack supports. Empty for all targets.
    pub(crate) supports: Vec<Selector>,
    /// Whether the pack is compressed.
    pub(crate) compressed: bool,
    /// Whether the pack may have no images.
    pub(crate) may_be_empty: bool,
    pub(crate) code_object_version: Option<u32>,
    pub(crate) tools: NamedTools,
    /// The maximum number of compilers that run at a time.
    pub(crate) max_parallel: Option<usize>,
    /// The folder of the prebuilt set, if it is not the default.
    pub(crate) prebuilt: Option<PathBuf>,
    /// Whether build.rs declares that GNU ld is passed the linker script for large packs.
    pub(crate) large_pack_script: bool,
    /// Whether to link the device code of a static library's sources together.
    pub(crate) device_link: bool,
    /// The word from build.rs for how to link a static library with CUDA's runtime.
    pub(crate) cudart: Option<String>,
    /// Whether the build prints the instructions that tell Cargo to link a static library.
    pub(crate) cargo_metadata: Option<bool>,
}
