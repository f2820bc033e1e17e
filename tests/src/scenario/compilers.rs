//! Scripts that run compilers and log each call.

use super::{Run, Scenario};
use crate::tools::{cuda, llvm_bin};
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

/// Scripts that run the real clang, ptxas and g++ and log every call.
#[derive(Debug)]
pub struct Watched {
    folder: PathBuf,
}

/// The log line for a compiler that starts before another has ended.
const OVERLAP: &str = "overlap";

impl Watched {
    /// Writes the scripts to a folder of the package. A second call changes the files' times, so
    /// builds see different compilers.
    pub fn new(scenario: &Scenario) -> Self {
        let folder = scenario.folder.join("watched");
        let (log, busy) = (folder.join("log"), folder.join("busy"));
        for (name, real) in [
            ("clang", llvm_bin().join("clang").into_os_string()),
            ("c++", "g++".into()),
            ("ptxas", cuda("ptxas").get_program().to_owned()),
        ] {
            let (log, busy, real) = (log.display(), busy.display(), real.display());
            let text = format!(
                "echo \"{name} $*\" >> '{log}'\n\
                 mkdir '{busy}' 2> /dev/null || echo {OVERLAP} >> '{log}'\n\
                 '{real}' \"$@\"\n\
                 status=$?\n\
                 rmdir '{busy}' 2> /dev/null\n\
                 exit $status"
            );
            scenario.script(&format!("watched/{name}"), &text);
        }
        Self { folder }
    }

    /// Makes a build use the scripts.
    pub fn set<'a>(&self, run: Run<'a>) -> Run<'a> {
        run.env("OFFLOAD_CLANG", self.folder.join("clang"))
            .env("OFFLOAD_PTXAS", self.folder.join("ptxas"))
            .env("CXX", self.folder.join("c++"))
    }

    /// Returns the calls since the log was last read, except calls that only identify a compiler.
    pub fn log(&self) -> Calls {
        let text = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        let _ = fs::remove_file(self.folder.join("log"));
        let asks =
            |line: &&str| line.ends_with(" --version") || line.contains(" -print-prog-name=");
        Calls(text.lines().filter(|line| !asks(line)).map(str::to_owned).collect())
    }

    /// Returns the [compilations](Calls::of_compilations) since the log was last read.
    pub fn compilations(&self) -> Calls {
        self.log().of_compilations()
    }
}

/// Calls of compilers, in order: the tool's name and its arguments.
#[derive(Debug, Clone, PartialEq)]
pub struct Calls(pub Vec<String>);

impl Calls {
    /// Asserts that there are no calls.
    #[track_caller]
    pub fn assert_none(&self, why: &str) {
        assert!(self.0.is_empty(), "{why}: tools were started:\n{:#?}", self.0);
    }

    /// Asserts that each of these tools was called this many times, and that no other tool was
    /// called.
    #[track_caller]
    pub fn assert_counts(&self, expected: &[(&str, usize)], why: &str) {
        let mut counts = BTreeMap::new();
        for call in &self.0 {
            *counts.entry(call.split(' ').next().expect("a line has a word")).or_insert(0) += 1;
        }
        assert_eq!(counts, expected.iter().copied().collect(), "{why}:\n{:#?}", self.0);
    }

    /// Returns the calls that read a source or write a file. All other calls only query a tool.
    pub fn of_compilations(&self) -> Self {
        let is_work = |call: &&String| {
            let words: Vec<&str> = call.split(' ').collect();
            let any = |list: &[&str]| list.iter().any(|word| words.contains(word));
            match words[0] {
                "clang" => !any(&["-###"]) && !words.iter().any(|word| word.starts_with("-print-")),
                "ptxas" => !any(&["/dev/null"]),
                // The crate `cc` compiles a test file to detect supported options.
                "c++" => any(&["-c", "-shared"]) && !call.contains("/flag_check.cpp"),
                OVERLAP => false,
                other => panic!("unknown tool {other}"),
            }
        };
        Self(self.0.iter().filter(is_work).cloned().collect())
    }

    /// Whether a compiler started before another had ended.
    pub fn overlap(&self) -> bool {
        self.0.iter().any(|call| call == OVERLAP)
    }
}
