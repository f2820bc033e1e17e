//! Summaries that stand alone, and the words of the project.

use super::sources::{FOLDERS, after, documents, read, sources};

/// Starts that say nothing in a list or in a pop-up, where the summary is read alone.
const NO_STARTS: [&str; 5] = ["The same", "What ", "It ", "These", "Of "];

/// Public names of the glossary: the folder of their crate, and their declarations.
const NAMES: [(&str, &[&str]); 3] = [
    (
        "offload-build/src",
        &[
            "pub fn archs<",
            "pub fn arch(",
            "pub fn supports<",
            "pub fn prebuilt(",
            "pub struct Module",
            "pub struct Pack ",
            "Supplied",
            "ClangRocm",
            "ClangCuda",
        ],
    ),
    ("offload-format/src", &["pub struct DeviceInfo"]),
    ("offload-gpu/src", &["pub struct Device", "pub struct Kernel<"]),
];

/// Names and words that others replace: the replaced one, and the one of today.
const REPLACED: [(&str, &str); 8] = [
    ("ready-made", "supplied"),
    ("Ready-made", "Supplied"),
    (".offload_arch", ".arch"),
    (".targets([", ".supports(["),
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
    for (folder, names) in NAMES {
        let sources = sources(folder);
        for name in names {
            let is_there = sources.iter().any(|(_, text)| text.contains(name));
            assert!(is_there, "{folder} has no `{name}`");
        }
    }
}

/// Returns the sources and the documents, with their paths.
fn texts() -> Vec<(String, String)> {
    let documents = documents().into_iter().map(|(path, text)| (path.display().to_string(), text));
    FOLDERS.iter().flat_map(|folder| sources(folder)).chain(documents).collect()
}

#[test]
fn replaced_names_are_gone() {
    let mut texts = texts();
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

/// Commands of `cargo offload`, as pages and messages print them: after a mark, or in a shell.
#[test]
fn no_command_is_of_a_program_offload() {
    let cli = read("offload-tools/src/offload/cli.rs");
    let (commands, _) = after(&cli, "enum Command {").split_once("\n}\n").expect("it ends");
    let commands: Vec<String> = commands
        .lines()
        .filter_map(|line| Some(line.trim().split_once(['(', ' '])?.0))
        .filter(|word| word.starts_with(char::is_uppercase))
        .map(str::to_lowercase)
        .collect();
    assert!(commands.len() >= 9, "{commands:?}");
    let mut wrong = Vec::new();
    for (path, text) in texts() {
        for (line, number) in text.lines().zip(1..) {
            let is_own = commands.iter().any(|command| {
                let has = |mark: &&str| line.contains(&format!("{mark}offload {command}"));
                ["`", "'", "\"", "$ ", ">"].iter().any(has)
            });
            if is_own || line.trim_end().ends_with("`offload") {
                wrong.push(format!("{path}:{number}: {line}"));
            }
        }
    }
    assert!(wrong.is_empty(), "the program is `cargo offload`:\n{}", wrong.join("\n"));
}
