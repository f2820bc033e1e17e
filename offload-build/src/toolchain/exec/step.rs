//! Represents one process of a build as data: its command, its output, and the steps that it waits
//! for.

use super::shell::plain_path;
use super::variables::NVCC_FLAGS;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Clone, Default)]
pub struct Step {
    pub kind: StepKind,
    pub program: PathBuf,
    /// The arguments, without those from [`Step::depfile`].
    pub args: Vec<OsString>,
    pub env: Vec<(OsString, OsString)>,
    /// The tool's working folder. `None` for the build script's working folder.
    pub folder: Option<PathBuf>,
    /// The environment variables that the tool does not inherit. They are removed before `env` is
    /// set.
    pub removed_env: Vec<OsString>,
    /// The step's output file, apart from a dependency file.
    pub output: Option<PathBuf>,
    pub depfile: Option<Depfile>,
    /// The indices of the steps that must end before this step starts, in the list of all steps.
    pub after: Vec<usize>,
    /// The help to add to the tool's message if the tool fails. Empty if there is none.
    pub help: String,
    /// Work to do in this process before the tool starts, such as writing the tool's input.
    pub prepare: Option<Arc<dyn Fn() + Send + Sync>>,
    /// Decides whether to hide a warning, given its lines, from users. `None` to show all warnings.
    pub hides: Option<fn(&str) -> bool>,
    /// If the tool fails, it is run again with this option added.
    pub otherwise: Option<&'static str>,
    /// The number of the step's module.
    pub module: usize,
    /// Whether the step also starts after a different module has failed, to report its own module's
    /// errors.
    pub goes_on: bool,
}

/// The kinds of steps, which determine whether a step gets the option for colours, and whether a
/// compiler launcher runs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StepKind {
    /// clang or the host's C++ compiler reads one source and writes one object or bitcode file.
    #[default]
    Compile,
    /// clang generates code for all sources of an image, or compiles the host part of a source and
    /// includes images. Compiler launchers do not detect that these images are inputs.
    Generate,
    /// A linker links objects into an image, or `fatbinary` combines images into one file.
    Link,
    /// ptxas assembles PTX into machine code.
    Assemble,
    /// Cargo compiles a kernel crate with its dependencies.
    Cargo,
    /// nvcc compiles an image or an object, or links device code.
    Nvcc,
    /// clang lists the includes of a source, but compiles nothing.
    Scan,
    /// A compiler describes the declarations in a source. This step's errors are not printed,
    /// because the compilation of the source reports them. If `may_fail`, the compiler may reject
    /// the source without failing the build.
    Describe { may_fail: bool },
}

impl StepKind {
    /// Whether a step of this kind reports errors in sources, or must end before a step that
    /// reports them.
    pub fn reads_sources(self) -> bool {
        matches!(self, Self::Compile | Self::Cargo | Self::Nvcc | Self::Describe { may_fail: true })
    }
}

/// A dependency file, which lists the includes of a source.
#[derive(Debug, Clone)]
pub struct Depfile {
    pub path: PathBuf,
    pub by: DepfileBy,
}

/// The part of a compiler that writes a dependency file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DepfileBy {
    /// The driver, with `-MD`.
    Driver,
    /// Cargo, without an option, because it writes a dependency file beside each library.
    Cargo,
    /// clang's compiler proper, with options that bypass clang's driver. In HIP mode, clang 22's
    /// driver ignores `-MF` for device code.
    CompilerProper {
        driver_ignores: bool,
        /// Whether the file also lists headers in system folders, which may be users' folders named
        /// by `-isystem` or `C_INCLUDE_PATH`.
        system: bool,
    },
}

/// The target of the first rule in each dependency file.
const DEPFILE_TARGET: &str = "image";

impl Depfile {
    pub fn args(&self) -> Vec<OsString> {
        match self.by {
            DepfileBy::Driver => self.driver_args(),
            DepfileBy::Cargo => Vec::new(),
            DepfileBy::CompilerProper { system, .. } => {
                let mut words: Vec<OsString> =
                    vec!["-dependency-file".into(), self.path.clone().into()];
                words.extend(["-MT".into(), DEPFILE_TARGET.into()]);
                words.extend(system.then(|| "-sys-header-deps".into()));
                let mut passed_on = Vec::new();
                for word in words {
                    passed_on.push("-Xclang".into());
                    passed_on.push(word);
                }
                passed_on
            }
        }
    }

    pub fn driver_args(&self) -> Vec<OsString> {
        let mut args = ["-MD", "-MT", DEPFILE_TARGET, "-MF"].map(OsString::from).to_vec();
        args.push(self.path.clone().into());
        args
    }
}

impl Step {
    pub fn new(kind: StepKind, program: &Path, args: Vec<OsString>) -> Self {
        Self { kind, program: program.to_owned(), args, ..Self::default() }
    }

    /// Whether Cargo compiles a crate in this step. If so, Cargo writes the dependency file.
    pub fn is_of_crate(&self) -> bool {
        self.depfile.as_ref().is_some_and(|file| file.by == DepfileBy::Cargo)
    }

    pub fn prepare(mut self, work: impl Fn() + Send + Sync + 'static) -> Self {
        self.prepare = Some(Arc::new(work));
        self
    }

    /// Sets the step's output file, and adds the `-o` option, which every tool accepts.
    pub fn output(mut self, path: &Path) -> Self {
        self.args.extend(["-o".into(), path.into()]);
        self.output = Some(path.to_owned());
        self
    }

    pub fn depfile(mut self, path: PathBuf, by: DepfileBy) -> Self {
        self.depfile = Some(Depfile { path, by });
        self
    }

    pub fn env(mut self, env: &[(OsString, OsString)]) -> Self {
        self.env = env.to_owned();
        self
    }

    /// Returns the step's environment variables that contain flags for nvcc, with their values.
    pub fn nvcc_flags(&self) -> Vec<(&'static str, &OsStr)> {
        let mut flags = Vec::new();
        for name in NVCC_FLAGS {
            if let Some((_, value)) = self.env.iter().find(|(other, _)| other == name) {
                flags.push((name, value.as_os_str()));
            }
        }
        flags
    }

    /// Returns all arguments, ending with those for the dependency file.
    pub fn all_args(&self) -> Vec<OsString> {
        let mut args = self.args.clone();
        if let Some(depfile) = &self.depfile {
            args.extend(depfile.args());
        }
        args
    }

    /// Returns the arguments to pass to the program. nvcc's arguments are adapted to the shell that
    /// nvcc uses.
    pub(super) fn passed_args(&self) -> Vec<OsString> {
        let mut args = self.all_args();
        if self.kind == StepKind::Nvcc {
            for arg in &mut args {
                *arg = plain_path(std::mem::take(arg));
            }
        }
        args
    }
}

/// Prints the command line in a form that can be copied into a shell.
impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in self.nvcc_flags() {
            write!(f, "{name}=")?;
            write_word(f, value)?;
            f.write_str(" ")?;
        }
        if let Some(folder) = &self.folder {
            f.write_str("cd ")?;
            write_word(f, folder.as_os_str())?;
            f.write_str(" && ")?;
        }
        if self.kind == StepKind::Cargo {
            for (name, value) in &self.env {
                write!(f, "{}=", name.to_string_lossy())?;
                write_word(f, value)?;
                f.write_str(" ")?;
            }
        }
        write_word(f, self.program.as_os_str())?;
        for arg in self.passed_args() {
            f.write_str(" ")?;
            write_word(f, &arg)?;
        }
        Ok(())
    }
}

fn write_word(f: &mut fmt::Formatter<'_>, word: &OsStr) -> fmt::Result {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=+:,@".contains(c);
    let word = word.to_string_lossy();
    if word.chars().all(is_plain) && !word.is_empty() {
        f.write_str(&word)
    } else {
        write!(f, "'{}'", word.replace('\'', r"'\''"))
    }
}
