//! The repository's sources, as text.

use offload_tests::scratch::{files_with, workspace};
use std::fs;
use std::path::PathBuf;

/// The folders of the published crates.
pub const CRATES: [&str; 7] = [
    "offload-gpu",
    "offload-kernel",
    "offload-format",
    "offload-pack",
    "offload-build",
    "offload-embed-macro",
    "offload-tools",
];

/// The repository's folders with sources.
pub const FOLDERS: [&str; 12] = [
    CRATES[0], CRATES[1], CRATES[2], CRATES[3], CRATES[4], CRATES[5], CRATES[6], "bench",
    "examples", "tests", "xtask", "fuzz",
];

/// Returns the text of a file, by its path in the repository.
pub fn read(path: &str) -> String {
    fs::read_to_string(workspace().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Returns the paths and texts of the repository's documents.
pub fn documents() -> Vec<(PathBuf, String)> {
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).expect("a document can be read");
        (path, text)
    };
    files_with(workspace(), "md").into_iter().map(read).collect()
}

/// Returns the words between two characters `mark`.
pub fn quoted(text: &str, mark: char) -> impl Iterator<Item = &str> {
    text.split(mark).skip(1).step_by(2)
}

/// Returns the text after `start`, such as a heading, which must exist.
pub fn after<'a>(text: &'a str, start: &str) -> &'a str {
    text.split_once(start).unwrap_or_else(|| panic!("there is no `{start}`")).1
}

/// Returns the Rust sources in a folder, each with its path in the repository and its text.
pub fn sources(folder: &str) -> Vec<(String, String)> {
    let found = files_with(&workspace().join(folder), "rs");
    assert!(!found.is_empty(), "{folder} has sources");
    let source = |path: PathBuf| {
        let name = path.strip_prefix(workspace()).unwrap_or(&path);
        let name = name.to_string_lossy().replace('\\', "/");
        (name, fs::read_to_string(&path).expect("a source can be read"))
    };
    found.into_iter().map(source).collect()
}

/// Returns a file's code up to its unit tests, without comments.
pub fn code(text: &str) -> String {
    let code = text.split("#[cfg(test)]").next().unwrap_or("");
    code.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}
