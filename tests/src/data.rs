//! Bytes to put into containers, and ways to compare the results.

use std::fs;
use std::path::{Path, PathBuf};

/// The files of a folder of `tests/corpus` in the order of their names, without their dumps
/// (`.txt`).
///
/// # Panics
/// Panics if there are no files.
pub fn corpus(folder: &str) -> Vec<PathBuf> {
    let folder = crate::scratch::workspace().join("tests/corpus").join(folder);
    let entries =
        fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_none_or(|it| it != "txt"));
    files.sort();
    assert!(!files.is_empty(), "{} is empty", folder.display());
    files
}

/// The names of the folders of `tests/corpus`, in their order.
///
/// # Panics
/// Panics if there are no folders.
pub fn corpus_folders() -> Vec<String> {
    let folders = corpus(".").into_iter().filter(|path| path.is_dir());
    folders.filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned())).collect()
}

/// Returns all files of the corpus, by their paths in it.
///
/// # Panics
/// Panics if there are no files.
pub fn corpus_files() -> Vec<String> {
    let root = crate::scratch::workspace().join("tests/corpus");
    let files = corpus_folders().into_iter().flat_map(|folder| corpus(&folder));
    let in_root = |file: PathBuf| {
        file.strip_prefix(&root).expect("it lies there").to_string_lossy().into_owned()
    };
    files.map(in_root).collect()
}

/// Whether files that are checked in are rewritten (`BLESS=1`).
pub fn blesses() -> bool {
    std::env::var_os("BLESS").is_some()
}

/// Compares a text with the checked-in file at this path; or writes the file, if [`blesses`]
/// returns true.
///
/// # Panics
/// Panics if they differ, or if the file cannot be read or written.
pub fn assert_as_checked_in(path: &Path, found: &str) {
    const BLESS: &str = "BLESS=1 writes it anew";
    if blesses() {
        return crate::scratch::write(path, found);
    }
    let expected = fs::read_to_string(path)
        .unwrap_or_else(|error| panic!("{}: {error} ({BLESS})", path.display()));
    let differ = expected.lines().zip(found.lines()).position(|(a, b)| a != b);
    let line = differ.unwrap_or_else(|| expected.lines().count().min(found.lines().count()));
    assert!(
        expected == found,
        "{}: line {} differs ({BLESS})\nchecked in: {}\nfound:      {}",
        path.display(),
        line + 1,
        expected.lines().nth(line).unwrap_or("(no more lines)"),
        found.lines().nth(line).unwrap_or("(no more lines)"),
    );
}

/// A file's bytes.
///
/// # Panics
/// Panics if the file cannot be read.
pub fn read(path: impl AsRef<Path>) -> Vec<u8> {
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.as_ref().display()))
}

/// Returns bytes that differ for each `number`.
pub fn some_bytes(number: usize, size: usize) -> Vec<u8> {
    (0..size).map(|at| (number * 89 + at * 7 + at / 200 + 1) as u8).collect()
}

/// Asserts that bytes are equal; the message names the position, because files can be too long to
/// print.
///
/// # Panics
/// If they differ.
#[track_caller]
pub fn assert_same_bytes(ours: &[u8], theirs: &[u8], what: &str) {
    if ours == theirs {
        return;
    }
    let differ = ours.iter().zip(theirs).position(|(a, b)| a != b);
    panic!(
        "{what}\nours has {} bytes, theirs {}, the first difference is at {:?}",
        ours.len(),
        theirs.len(),
        differ.unwrap_or(ours.len().min(theirs.len()))
    );
}

/// Numbers that look random and are the same in every run (a linear congruential generator, upper
/// half of its state).
#[derive(Debug)]
pub struct Random(u64);

impl Random {
    /// Returns a generator; the same seed gives the same numbers.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns a number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }

    /// One of these.
    pub fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }

    /// Returns a word of the given length that has no meaning for `llvm-offload-binary --image`.
    pub fn word(&mut self, length: usize) -> String {
        const CHARACTERS: &[u8] =
            b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:+/";
        (0..length).map(|_| char::from(CHARACTERS[self.below(CHARACTERS.len())])).collect()
    }

    /// Changes the order of a list.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            items.swap(at, self.below(at + 1));
        }
    }

    /// So many bytes.
    pub fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.below(256) as u8).collect()
    }
}
