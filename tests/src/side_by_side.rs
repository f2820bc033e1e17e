//! Runs one command line with LLVM's tool and with ours. Each tool runs in a separate folder with
//! the same files. The outputs, the exit statuses and all remaining files can then be compared.

use crate::data::assert_same_bytes;
use crate::{own, processes, scratch, tools};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// The number of runs so far.
static COUNT: AtomicU32 = AtomicU32::new(0);

/// A command line and its input files.
#[derive(Debug, Clone, Default)]
pub struct Case {
    tool: String,
    arguments: Vec<OsString>,
    files: BTreeMap<PathBuf, Vec<u8>>,
    environment: Vec<(String, String)>,
    stdin: Vec<u8>,
    /// Whether `PATH` lacks LLVM's folder, which otherwise comes after our tools' folder.
    without_llvm: bool,
}

/// A choice of the tool that runs a command line: LLVM's or ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// The tool of LLVM 22.
    Llvm,
    /// The tool of offload-tools.
    Ours,
}

/// The result of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// The exit status, such as `exit status: 1`, or a signal's number.
    pub status: String,
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error.
    pub stderr: String,
    /// All files in the folder after the run, by relative path.
    pub files: BTreeMap<PathBuf, Vec<u8>>,
}

impl Case {
    /// Returns a command line: the tool's name and its arguments.
    pub fn new<S: Into<OsString>>(tool: &str, arguments: impl IntoIterator<Item = S>) -> Self {
        let arguments = arguments.into_iter().map(Into::into).collect();
        Self { tool: tool.to_owned(), arguments, ..Self::default() }
    }

    /// Adds an input file. The run also creates its folders.
    #[must_use]
    pub fn file(mut self, path: impl Into<PathBuf>, bytes: impl Into<Vec<u8>>) -> Self {
        self.files.insert(path.into(), bytes.into());
        self
    }

    /// Sets an environment variable.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sets the bytes of standard input.
    #[must_use]
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = bytes.into();
        self
    }

    /// Runs the command line with LLVM's tool or ours, in a new folder.
    pub fn run(&self, whose: Whose) -> Ran {
        // Tests run in parallel, so a number distinguishes the folders. The folders' names have
        // equal lengths, so output that contains a path also has the same length.
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = scratch::folder(&format!("side-by-side/{}-{number:08}", std::process::id()));
        for (path, bytes) in &self.files {
            scratch::write(folder.join(path), bytes);
        }
        let tools = match whose {
            Whose::Llvm => tools::llvm_bin(),
            Whose::Ours => own::folder(),
        };
        // Call the tool by its name without a folder, as build systems do, because the tool's
        // messages begin with the name from the command line.
        let rest = (!self.without_llvm).then(tools::llvm_bin);
        let path =
            std::env::join_paths([tools].into_iter().chain(rest)).expect("a list of folders");
        let mut command = Command::new(&self.tool);
        command.args(&self.arguments).current_dir(&folder).env("PATH", path);
        command.envs(self.environment.iter().cloned());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{}: {error}", self.tool));
        let mut stdin = child.stdin.take().expect("it is piped");
        let bytes = self.stdin.clone();
        // Writing fails if the tool closes its input without reading it. Such a failure is not an
        // error.
        let writer = std::thread::spawn(move || drop(stdin.write_all(&bytes)));
        let output = processes::wait_with_output(child).expect("it ends");
        writer.join().expect("it does not panic");
        let files = scratch::contents(&folder);
        fs::remove_dir_all(&folder).expect("the folder can be removed");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        Ran { status: output.status.to_string(), stdout: output.stdout, stderr, files }
    }

    /// Runs the command line with LLVM's tool and with ours.
    pub fn both(&self) -> (Ran, Ran) {
        (self.run(Whose::Llvm), self.run(Whose::Ours))
    }

    /// Runs the command line with our tool, without LLVM's tools in `PATH`.
    pub fn ours_alone(&self) -> Ran {
        Self { without_llvm: true, ..self.clone() }.run(Whose::Ours)
    }

    /// Runs the command line with both tools, asserts equal results, and returns the result.
    pub fn assert_same(&self) -> Ran {
        let (theirs, ours) = self.both();
        let what = format!("{} {:?}", self.tool, self.arguments);
        assert_eq!(ours.stderr, theirs.stderr, "{what}: standard error");
        assert_eq!(ours.printed(), theirs.printed(), "{what}: output");
        assert!(ours.stdout == theirs.stdout, "{what}: output that is no text");
        assert_eq!(ours.status, theirs.status, "{what}");
        let names = |ran: &Ran| ran.files.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&ours), names(&theirs), "{what}: files");
        for (name, bytes) in &ours.files {
            assert_same_bytes(bytes, &theirs.files[name], &format!("{what}: {}", name.display()));
        }
        ours
    }

    /// Runs the command line with both tools, which must exit with status 1 and this message.
    pub fn assert_same_error(&self, message: &str) {
        let ran = self.assert_same();
        assert_eq!((ran.status.as_str(), ran.stderr.as_str()), ("exit status: 1", message));
    }
}

impl Ran {
    /// Returns the bytes of a file that the run has left.
    pub fn file(&self, path: &str) -> &[u8] {
        self.files
            .get(Path::new(path))
            .unwrap_or_else(|| panic!("{path} is among {:?}", self.files.keys()))
    }

    /// Returns standard output as text.
    pub fn printed(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Asserts that the run exited with status 0, and returns the run.
    #[track_caller]
    pub fn success(self) -> Self {
        assert!(self.succeeded(), "{}: {}", self.status, self.stderr);
        self
    }

    /// Asserts that the run exited with status 1 and this text on standard error, and returns the
    /// run.
    #[track_caller]
    pub fn failure(self, text: &str) -> Self {
        assert_eq!(self.status, "exit status: 1", "{}", self.stderr);
        assert!(self.stderr.contains(text), "{text:?} is not in {}", self.stderr);
        self
    }

    /// Whether the run exited with status 0.
    pub fn succeeded(&self) -> bool {
        self.status == "exit status: 0"
    }
}
