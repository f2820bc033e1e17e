//! What the tests with stand-ins for drivers share. The stand-ins themselves are the C files in this folder; each says at
//! its top which variables tell it what to pretend.

use offload_tests::package::Package;
use offload_tests::tools::succeed;
use offload_tests::{scratch, tools};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Builds a package in the release profile; returns the program.
pub fn release(package: &Package, name: &str, variables: &[(&str, &OsStr)]) -> PathBuf {
    succeed(package.cargo(&["build", "--release"]).envs(variables.iter().copied()));
    package.program("release", name)
}

/// Compiles a file of this folder.
pub fn compile(source: &str, more: &[&str], to: &Path) {
    let source = scratch::workspace().join("tests").join("stand_ins").join(source);
    let mut gcc = Command::new("gcc");
    gcc.args(["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror"]).args(more);
    succeed(gcc.arg(source).arg("-o").arg(to));
}

/// How stand-ins speak of an image in their logs.
pub fn described(image: &[u8]) -> String {
    let hash =
        image.iter().fold(0xcbf29ce484222325_u64, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100000001b3));
    format!("{} bytes, fnv1a {hash:016x}", image.len())
}

/// A program under a stand-in.
#[derive(Debug)]
pub struct Staged {
    program: PathBuf,
    variables: BTreeMap<&'static str, String>,
}

/// What came of it.
#[derive(Debug)]
pub struct Outcome {
    /// The exit status; `None` if a signal ended it.
    pub status: Option<i32>,
    /// What it printed.
    pub stdout: String,
    /// What it printed to standard error.
    pub stderr: String,
    /// What the stand-in wrote down.
    pub log: Vec<String>,
}

impl Staged {
    /// A program that finds the libraries of a folder before all others.
    pub fn new(program: &Path, libraries: &Path) -> Self {
        let staged = Self { program: program.to_owned(), variables: BTreeMap::new() };
        staged.with("LD_LIBRARY_PATH", libraries.to_str().expect("the target folder's name is UTF-8"))
    }

    /// Sets a variable.
    pub fn with(mut self, name: &'static str, value: &str) -> Self {
        self.variables.insert(name, value.to_owned());
        self
    }

    /// Runs it. `log` is a file that no other run uses.
    pub fn run(&self, args: &[&str], log: &Path) -> Outcome {
        let _ = fs::remove_file(log);
        let mut command = Command::new(&self.program);
        // Variables by which a user hides GPUs hide the pretended ones too.
        for name in ["CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"] {
            command.env_remove(name);
        }
        let output = command.args(args).envs(&self.variables).env("FAKE_LOG", log).output();
        let output: Output =
            output.unwrap_or_else(|error| panic!("{} does not start: {error}", self.program.display()));
        Outcome {
            status: output.status.code(),
            stdout: tools::stdout(&output),
            stderr: tools::stderr(&output),
            log: fs::read_to_string(log).unwrap_or_default().lines().map(str::to_owned).collect(),
        }
    }
}
