//! The probe cache, which stores probe results so that a build script need not start any tools
//! again if nothing has changed.
//!
//! The cache is a [record](crate::toolchain::files::record). Each line contains the hash of a
//! question, followed by the answer. The question includes the tool's identity.

use super::program::{identity, is_wrapper};
use crate::toolchain::exec::probe;
use crate::toolchain::files::record;
use crate::toolchain::hash::{ContentHash, Parts};
use std::cell::RefCell;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

pub struct ProbeCache {
    /// The file that stores the answers.
    path: Option<PathBuf>,
    /// The answers with the hashes of their questions, sorted by hash.
    known: RefCell<Vec<(ContentHash, String)>>,
}

impl ProbeCache {
    /// Opens the cache in this file, with the answers from earlier runs.
    pub fn open(path: PathBuf) -> Self {
        let lines = record::read(&path).unwrap_or_default();
        let cache = Self { path: Some(path), known: RefCell::default() };
        for (question, answer) in lines {
            if let Some(question) = ContentHash::parse(&question) {
                cache.insert(question, answer);
            }
        }
        cache
    }

    pub fn forgetful() -> Self {
        Self { path: None, known: RefCell::default() }
    }

    /// Returns a tool's standard output for these arguments, from the cache if possible. Does not
    /// cache failures.
    pub fn ask(&self, tool: &Path, args: &[&str]) -> Result<String, String> {
        let question = question(tool, args);
        // Ignore a wrapper's cached answers, because the wrapper may now start a different program.
        let known = self.get(question).filter(|_| !is_wrapper(tool));
        known.map_or_else(|| self.ask_anew(tool, args), Ok)
    }

    /// Runs a tool with these arguments, caches its standard output, and returns it.
    pub fn ask_anew(&self, tool: &Path, args: &[&str]) -> Result<String, String> {
        let words: Vec<&OsStr> = args.iter().map(OsStr::new).collect();
        let answer = probe(tool, &words, &[]).map_err(|error| error.to_string())?;
        if !answer.status.success() {
            return Err(format!("{}: {}", args.join(" "), answer.status));
        }
        let text = answer.stdout;
        self.put(question(tool, args), &text);
        Ok(text)
    }

    pub(super) fn get(&self, question: ContentHash) -> Option<String> {
        let known = self.known.borrow();
        let at = known.binary_search_by_key(&question, |(question, _)| *question).ok()?;
        Some(known[at].1.clone())
    }

    fn insert(&self, question: ContentHash, answer: String) {
        let mut known = self.known.borrow_mut();
        match known.binary_search_by_key(&question, |(question, _)| *question) {
            Ok(at) => known[at].1 = answer,
            Err(at) => known.insert(at, (question, answer)),
        }
    }

    pub(super) fn put(&self, question: ContentHash, answer: &str) {
        self.insert(question, answer.to_owned());
        let known = self.known.borrow();
        // Ignore errors, because the next run probes the tools again if the file is missing.
        let _ = self.path.as_ref().map(|path| {
            record::write(path, known.iter().map(|(question, answer)| (question, answer)))
        });
    }
}

fn question(tool: &Path, args: &[&str]) -> ContentHash {
    let mut question = Parts::default();
    question.add(&identity(tool));
    for arg in args {
        question.add(arg);
    }
    question.finish()
}
