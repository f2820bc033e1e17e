//! A cache of examined files: each file is examined once, even if many images are made from it.

use super::mentions::Mentions;
use crate::hash::ContentHash;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::rc::Rc;

/// The largest size in bytes of a file that is read as source text; larger files are data.
const LARGEST_TEXT: u64 = 1 << 24;

/// The results of examining files. The keys are plain strings: comparing paths part by part would
/// take longer than examining a file.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    hashes: RefCell<BTreeMap<OsString, Option<ContentHash>>>,
    mentions: RefCell<BTreeMap<OsString, Rc<Mentions>>>,
    words: RefCell<BTreeMap<OsString, bool>>,
    there: RefCell<BTreeMap<OsString, bool>>,
    entries: RefCell<BTreeMap<OsString, Rc<BTreeSet<OsString>>>>,
}

impl Seen {
    /// Returns the hash of a file's bytes; `None` if the file cannot be read.
    pub(super) fn hash(&self, path: &Path) -> Option<ContentHash> {
        let known = self.hashes.borrow().get(path.as_os_str()).copied();
        known.unwrap_or_else(|| {
            let hash = ContentHash::of_file(path).ok();
            self.hashes.borrow_mut().insert(path.as_os_str().to_owned(), hash);
            hash
        })
    }

    /// Returns the hash of a file, if [`Seen::hash`] has read the file before.
    pub(super) fn known_hash(&self, path: &Path) -> Option<ContentHash> {
        self.hashes.borrow().get(path.as_os_str()).copied().flatten()
    }

    /// Returns the references to other files in a file's text; none if the file is too large for a
    /// source, or unreadable.
    pub(super) fn mentions(&self, path: &Path) -> Rc<Mentions> {
        let known = self.mentions.borrow().get(path.as_os_str()).cloned();
        known.unwrap_or_else(|| {
            let is_text = fs::metadata(path).is_ok_and(|it| it.len() <= LARGEST_TEXT);
            let text = if is_text { fs::read(path).unwrap_or_default() } else { Vec::new() };
            let mentions = Rc::new(Mentions::of(&text));
            self.mentions.borrow_mut().insert(path.as_os_str().to_owned(), Rc::clone(&mentions));
            mentions
        })
    }

    /// Whether a file contains a word. All calls for one file have the same word.
    pub(super) fn has_word(&self, path: &Path, word: &str) -> bool {
        let known = self.words.borrow().get(path.as_os_str()).copied();
        known.unwrap_or_else(|| {
            let bytes = fs::read(path).unwrap_or_default();
            let has_word = String::from_utf8_lossy(&bytes).contains(word);
            self.words.borrow_mut().insert(path.as_os_str().to_owned(), has_word);
            has_word
        })
    }

    /// Whether there is a file of this name.
    pub(super) fn is_there(&self, path: &Path) -> bool {
        let known = self.there.borrow().get(path.as_os_str()).copied();
        known.unwrap_or_else(|| {
            let is_there = path.is_file();
            self.there.borrow_mut().insert(path.as_os_str().to_owned(), is_there);
            is_there
        })
    }

    /// Returns the names in a folder; none if the folder cannot be read.
    pub(super) fn entries(&self, folder: &Path) -> Rc<BTreeSet<OsString>> {
        let known = self.entries.borrow().get(folder.as_os_str()).cloned();
        known.unwrap_or_else(|| {
            // An empty path is the working folder.
            let read = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
            let names =
                fs::read_dir(read).into_iter().flatten().flatten().map(|entry| entry.file_name());
            let names = Rc::new(names.collect::<BTreeSet<OsString>>());
            self.entries.borrow_mut().insert(folder.as_os_str().to_owned(), Rc::clone(&names));
            names
        })
    }
}
