//! Code shared by tests with fake drivers. The fake drivers are the C files in this folder. Each
//! file begins with a list of the variables that control it.

pub mod hsa;

use crate::tools::succeed;
use crate::{processes, scratch, tools};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles a file from this folder.
pub fn compile(source: &str, more: &[&str], to: &Path) {
    let source = scratch::workspace().join("tests/src/stand_ins").join(source);
    let mut gcc = Command::new("gcc");
    gcc.args(["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror"])
        .args(more);
    succeed(gcc.arg(source).arg("-o").arg(to));
}

/// Compiles the stand-in for NVIDIA's driver with these flags into a new folder, and returns the
/// folder.
pub fn cuda_driver(name: &str, flags: &[&str]) -> PathBuf {
    let folder = scratch::folder(name);
    let flags = [&["-shared", "-fPIC", "-Wl,-soname,libcuda.so.1"], flags].concat();
    compile("cuda_driver.c", &flags, &folder.join("libcuda.so.1"));
    folder
}

/// Compiles kernel sources to shared objects, which stand-ins can run, in a folder. Returns the
/// value for `FAKE_RUNS`.
pub fn kernels_that_run(folder: &Path, sources: &[PathBuf]) -> String {
    let script = scratch::workspace().join("tests/src/stand_ins/runs.sh");
    let object = |source: &PathBuf| {
        let name = source.file_stem().expect("a source has a name");
        let object = folder.join(name).with_extension("so");
        succeed(Command::new("sh").arg(&script).arg(source).arg(&object));
        object.display().to_string()
    };
    sources.iter().map(object).collect::<Vec<_>>().join(":")
}

/// Creates an empty library for programs that search for its name.
pub fn empty_library(folder: &Path, name: &str) {
    scratch::write(folder.join("empty.c"), "");
    succeed(Command::new("gcc").current_dir(folder).args(["-shared", "empty.c", "-o", name]));
}

/// Returns the text by which stand-ins describe an image in their logs.
pub fn described(image: &[u8]) -> String {
    let hash = image.iter().fold(0xcbf29ce484222325_u64, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100000001b3)
    });
    format!("{} bytes, fnv1a {hash:016x}", image.len())
}

/// A program to run with a stand-in, and its environment variables.
#[derive(Debug)]
pub struct Staged {
    program: PathBuf,
    variables: BTreeMap<&'static str, OsString>,
}

/// The exit status, output and log of a program that ran with a stand-in. If an assertion fails,
/// the message contains all of it.
#[derive(Debug)]
pub struct Outcome {
    /// The exit status, or `None` if a signal ended the program.
    pub status: Option<i32>,
    /// The program's standard output.
    pub stdout: String,
    /// The program's standard error.
    pub stderr: String,
    /// The lines of the stand-in's log.
    pub log: Vec<String>,
}

impl Staged {
    /// Returns a program that searches the folder `libraries` for libraries before all other
    /// folders.
    pub fn new(program: &Path, libraries: &Path) -> Self {
        let staged = Self { program: program.to_owned(), variables: BTreeMap::new() };
        staged.with("LD_LIBRARY_PATH", libraries)
    }

    /// Sets an environment variable.
    pub fn with(mut self, name: &'static str, value: impl AsRef<OsStr>) -> Self {
        self.variables.insert(name, value.as_ref().to_owned());
        self
    }

    /// Runs the program. No other run may use the file `log`.
    pub fn run(&self, args: &[&str], log: &Path) -> Outcome {
        let _ = fs::remove_file(log);
        let mut command = Command::new(&self.program);
        // Variables with which a user hides GPUs would also hide the fake GPUs.
        for vendor in ["CUDA", "HIP", "ROCR"] {
            command.env_remove(format!("{vendor}_VISIBLE_DEVICES"));
        }
        command.env_remove("GPU_DEVICE_ORDINAL").envs(&self.variables).env("FAKE_LOG", log);
        let output = processes::output(command.args(args))
            .unwrap_or_else(|error| panic!("{} does not start: {error}", self.program.display()));
        Outcome {
            status: output.status.code(),
            stdout: tools::stdout(&output),
            stderr: tools::stderr(&output),
            log: fs::read_to_string(log).unwrap_or_default().lines().map(str::to_owned).collect(),
        }
    }
}

impl Outcome {
    /// Asserts that the program succeeded, and printed nothing on standard error.
    #[track_caller]
    pub fn succeeds(&self) -> &Self {
        assert_eq!((self.status, &*self.stderr), (Some(0), ""), "{self:#?}");
        self
    }

    /// Asserts that the program exited with status 1 and this text on standard error.
    #[track_caller]
    pub fn fails_with(&self, error: &str) -> &Self {
        assert_eq!((self.status, &*self.stderr), (Some(1), error), "{self:#?}");
        self
    }

    /// Asserts that the program exited with status 1, and that standard error starts with this
    /// text.
    #[track_caller]
    pub fn fails_first_with(&self, error: &str) -> &Self {
        assert_eq!(self.status, Some(1), "{self:#?}");
        assert!(self.stderr.starts_with(error), "not {error:?} first in\n{self:#?}");
        self
    }

    /// Asserts that standard error contains the text.
    #[track_caller]
    pub fn complains(&self, text: &str) -> &Self {
        assert!(self.stderr.contains(text), "no {text:?} in\n{self:#?}");
        self
    }

    /// Asserts that standard output contains the text.
    #[track_caller]
    pub fn prints(&self, text: &str) -> &Self {
        assert!(self.stdout.contains(text), "no {text:?} in\n{self:#?}");
        self
    }

    /// Asserts that standard output ends with this text.
    #[track_caller]
    pub fn prints_last(&self, text: &str) -> &Self {
        assert!(self.stdout.ends_with(text), "not {text:?} last in\n{self:#?}");
        self
    }

    /// Returns the log lines that contain this text.
    pub fn logged(&self, part: &str) -> Vec<&str> {
        self.log.iter().map(String::as_str).filter(|line| line.contains(part)).collect()
    }

    /// Asserts that this many log lines start with this text.
    #[track_caller]
    pub fn logs(&self, count: usize, start: &str) -> &Self {
        let found = self.log.iter().filter(|line| line.starts_with(start)).count();
        assert_eq!(found, count, "lines that start with {start:?}: {self:#?}");
        self
    }

    /// Asserts that the log contains this line.
    #[track_caller]
    pub fn logs_line(&self, line: &str) -> &Self {
        assert!(self.log.iter().any(|it| it == line), "no line {line:?} in\n{self:#?}");
        self
    }

    /// Asserts that the stand-in reports no misuse and no leak.
    #[track_caller]
    pub fn keeps_the_rules(&self) -> &Self {
        assert_eq!(self.logged("misuse"), [""; 0], "{self:#?}");
        self
    }
}
