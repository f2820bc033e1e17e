//! Files as they are at one moment: each is looked at once, however many images are made of it.

use crate::hash::ContentHash;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// What has been seen.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    hashes: RefCell<BTreeMap<PathBuf, Option<ContentHash>>>,
    there: RefCell<BTreeMap<PathBuf, bool>>,
    listings: RefCell<BTreeMap<PathBuf, String>>,
}

impl Seen {
    /// The hash of a file's bytes; `None` if it cannot be read.
    pub(super) fn hash(&self, path: &Path) -> Option<ContentHash> {
        let known = self.hashes.borrow().get(path).copied();
        known.unwrap_or_else(|| {
            let hash = ContentHash::of_file(path).ok();
            self.hashes.borrow_mut().insert(path.to_owned(), hash);
            hash
        })
    }

    /// The hash that was seen, if anybody looked.
    pub(super) fn known_hash(&self, path: &Path) -> Option<ContentHash> {
        self.hashes.borrow().get(path).copied().flatten()
    }

    /// Whether there is a file of this name.
    pub(super) fn is_there(&self, path: &Path) -> bool {
        let known = self.there.borrow().get(path).copied();
        known.unwrap_or_else(|| {
            let is_there = path.is_file();
            self.there.borrow_mut().insert(path.to_owned(), is_there);
            is_there
        })
    }

    /// The names in a folder, in order.
    pub(super) fn listing(&self, folder: &Path) -> String {
        let known = self.listings.borrow().get(folder).cloned();
        known.unwrap_or_else(|| {
            let entries = fs::read_dir(folder).into_iter().flatten().flatten();
            let mut names: Vec<String> =
                entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
            names.sort_unstable();
            let listing = names.join("/");
            self.listings.borrow_mut().insert(folder.to_owned(), listing.clone());
            listing
        })
    }
}
