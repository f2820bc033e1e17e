//! Summaries that stand alone, and the words of the project.

use super::sources::{FOLDERS, files, sources};
use offload_tests::scratch::workspace;
use std::fs;

/// Starts that say nothing in a list or in a pop-up, where the summary is read alone.
const NO_STARTS: [&str; 5] = ["The same", "What ", "It ", "These", "Of "];

/// Public names of the glossary: the folder of their crate, and their declaration.
const NAMES: [(&str, &str); 12] = [
    ("offload-build/src", "pub fn archs<"),
    ("offload-build/src", "pub fn arch("),
    ("offload-build/src", "pub fn supports<"),
    ("offload-build/src", "pub fn prebuilt("),
    ("offload-build/src", "pub struct Module"),
    ("offload-build/src", "pub struct Pack "),
    ("offload-build/src", "Supplied"),
    ("offload-build/src", "ClangRocm"),
    ("offload-build/src", "ClangCuda"),
    ("offload-format/src", "pub struct DeviceInfo"),
    ("offload/src", "pub struct Device"),
    ("offload/src", "pub struct Kernel<"),
];

/// Names and words that others replace: the replaced one, and the one of today.
const REPLACED: [(&str, &str); 9] = [
    ("ready-made", "supplied"),
    ("Ready-made", "Supplied"),
    (".offload_arch", ".arch"),
    (".targets([", ".supports(["),
    ("native_or", "default_archs"),
    ("Compiler::Hip", "Compiler::ClangRocm"),
    ("fn judge(step", "check_exit_status"),
    ("fn cure(", "help"),
    ("mod absent;", "disabled"),
];

#[test]
fn summaries_stand_alone() {
    let mut wrong = Vec::new();
    for (path, text) in FOLDERS.iter().flat_map(|folder| sources(folder)) {
        let mut before = "";
        for (line, number) in text.lines().zip(1..) {
            let line = line.trim_start();
            let mark = ["///", "//!"].into_iter().find(|mark| line.starts_with(mark));
            if let Some(mark) = mark.filter(|mark| !before.starts_with(mark)) {
                let summary = line[mark.len()..].trim_start();
                if NO_STARTS.iter().any(|start| summary.starts_with(start)) {
                    wrong.push(format!("{path}:{number}: {line}"));
                }
            }
            before = line;
        }
    }
    assert!(wrong.is_empty(), "begin with a verb or a noun:\n{}", wrong.join("\n"));
}

#[test]
fn the_names_of_the_glossary_are_used() {
    for (folder, name) in NAMES {
        let is_there = sources(folder).iter().any(|(_, text)| text.contains(name));
        assert!(is_there, "{folder} has no `{name}`");
    }
}

#[test]
fn replaced_names_are_gone() {
    let mut texts: Vec<(String, String)> =
        FOLDERS.iter().flat_map(|folder| sources(folder)).collect();
    let mut documents = Vec::new();
    files(workspace(), "md", &mut documents);
    texts.extend(documents.into_iter().map(|path| {
        let text = fs::read_to_string(&path).expect("a document can be read");
        (path.display().to_string(), text)
    }));
    // Names of packs in tests' messages.
    texts.retain(|(path, _)| {
        !path.ends_with("tests/tidy/prose.rs") && !path.contains("tests/builds/errors/")
    });
    for (path, text) in texts {
        for (replaced, new) in REPLACED {
            assert!(!text.contains(replaced), "{path} has `{replaced}`: `{new}` replaces it");
        }
    }
}
