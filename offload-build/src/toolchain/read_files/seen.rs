//! A cache of examined files. Each file is examined once, even if it is an input of many images.

use super::mentions::Mentions;
use crate::toolchain::files;
use crate::toolchain::hash::ContentHash;
use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::rc::Rc;
use std::time::SystemTime;

/// The maximum size of a source text in bytes. Larger files count as data.
const LARGEST_TEXT: u64 = 1 << 24;

/// The maximum number of files and folders to list below a folder. Toolkits' header folders contain
/// a tenth of this number.
const MOST_LISTED: usize = 1 << 16;

/// The results for all examined files. The keys are plain strings, because comparing paths
/// component by component would take longer than examining a file.
#[derive(Debug, Default)]
pub struct Seen(RefCell<HashMap<OsString, Rc<File>>>);

/// The results for one file or folder.
#[derive(Debug, Default)]
struct File {
    hash: OnceCell<Option<ContentHash>>,
    mentions: OnceCell<Rc<Mentions>>,
    has_word: OnceCell<bool>,
    is_there: OnceCell<bool>,
    entries: OnceCell<Rc<Vec<String>>>,
    tree: OnceCell<Rc<Vec<String>>>,
}

impl Seen {
    fn file(&self, path: &Path) -> Rc<File> {
        let mut files = self.0.borrow_mut();
        if let Some(known) = files.get(path.as_os_str()) {
            return Rc::clone(known);
        }
        let file = Rc::<File>::default();
        files.insert(path.as_os_str().to_owned(), Rc::clone(&file));
        file
    }

    /// Returns the hash of a file's bytes, or `None` if the file cannot be read.
    pub fn hash(&self, path: &Path) -> Option<ContentHash> {
        *self.file(path).hash.get_or_init(|| ContentHash::of_file(path).ok())
    }

    /// Returns a file's hash, if [`Seen::hash`] has already computed it.
    pub fn known_hash(&self, path: &Path) -> Option<ContentHash> {
        *self.file(path).hash.get()?
    }

    /// Returns the references to other files in a file's text. There are none if the file is
    /// unreadable, or too large to be a source.
    pub fn mentions(&self, path: &Path) -> Rc<Mentions> {
        let file = self.file(path);
        let mentions = file.mentions.get_or_init(|| {
            let is_text = fs::metadata(path).is_ok_and(|it| it.len() <= LARGEST_TEXT);
            let text = if is_text { fs::read(path).unwrap_or_default() } else { Vec::new() };
            Rc::new(Mentions::of(&text))
        });
        Rc::clone(mentions)
    }

    /// Whether a file contains a word. All calls for one file must use the same word.
    pub fn has_word(&self, path: &Path, word: &str) -> bool {
        *self.file(path).has_word.get_or_init(|| {
            let bytes = fs::read(path).unwrap_or_default();
            String::from_utf8_lossy(&bytes).contains(word)
        })
    }

    pub fn is_there(&self, path: &Path) -> bool {
        *self.file(path).is_there.get_or_init(|| path.is_file())
    }

    /// Returns the sorted names in a folder. There are none if the folder cannot be read.
    pub fn entries(&self, folder: &Path) -> Rc<Vec<String>> {
        listed(&self.file(folder).entries, files::entries, folder)
    }

    /// Returns the paths of the files in a folder and its subfolders, relative to the folder,
    /// without git's files and caches. If there are too many files, the result differs in each
    /// build, so it never looks unchanged.
    pub fn tree(&self, folder: &Path) -> Rc<Vec<String>> {
        listed(&self.file(folder).tree, tree, folder)
    }
}

fn tree(folder: &Path) -> Vec<String> {
    let is_left_out: files::IsLeftOut = |_, path| path.ends_with(".git") || files::is_cache(path);
    let tree = files::tree(folder, MOST_LISTED, is_left_out);
    tree.unwrap_or_else(|| vec![format!("{:?}", SystemTime::now())])
}

fn listed(
    known: &OnceCell<Rc<Vec<String>>>,
    list: fn(&Path) -> Vec<String>,
    folder: &Path,
) -> Rc<Vec<String>> {
    Rc::clone(known.get_or_init(|| Rc::new(list(folder))))
}
