//! Tests that rustdoc's summaries stand alone, and that texts use the project's words.

use super::sources::{FOLDERS, documents, read, sources};
use offload_tests::scratch::{files_with, workspace};
use std::fs;

/// Starts of summaries that mean nothing in a list or pop-up, which shows only the summary.
const NO_STARTS: [&str; 5] = ["The same", "What ", "It ", "These", "Of "];

/// Replaced names and words, each with its replacement.
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

/// Returns the sources and documents with their paths.
fn texts() -> Vec<(String, String)> {
    let documents = documents().into_iter().map(|(path, text)| (path.display().to_string(), text));
    FOLDERS.iter().flat_map(|folder| sources(folder)).chain(documents).collect()
}

#[test]
fn replaced_names_are_gone() {
    let mut texts = texts();
    // Skip names of packs in tests' messages.
    texts.retain(|(path, _)| {
        !path.ends_with("tests/tidy/prose.rs") && !path.contains("tests/builds/errors/")
    });
    for (path, text) in texts {
        for (replaced, new) in REPLACED {
            assert!(!text.contains(replaced), "{path} has `{replaced}`: `{new}` replaces it");
        }
    }
}

/// Checks that no file mentions a crate or program called `offload`, because another project has
/// this name. Our crate is `offload-gpu`, and our program is `cargo offload`.
#[test]
fn no_crate_and_no_program_is_called_offload() {
    let paths = ["rs", "md", "toml", "txt", "sh"]
        .iter()
        .flat_map(|extension| files_with(workspace(), extension));
    let (commands, mut wrong) = (commands(), Vec::new());
    for path in paths {
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let lines = text.lines().zip(1..).filter(|(line, _)| names_offload(line, &commands));
        wrong.extend(lines.map(|(line, number)| format!("{}:{number}: {line}", path.display())));
    }
    assert!(wrong.is_empty(), "`offload-gpu` or `cargo offload`:\n{}", wrong.join("\n"));
}

/// Returns the commands of `cargo offload`.
fn commands() -> Vec<String> {
    let cli = read("offload-tools/src/offload/cli.rs");
    let (_, commands) = cli.split_once("enum Command {").expect("the commands");
    let (commands, _) = commands.split_once("\n}\n").expect("it ends");
    let names = commands.lines().filter_map(|line| Some(line.trim().split_once(['(', ' '])?.0));
    let commands = names.filter(|name| name.starts_with(char::is_uppercase));
    let commands: Vec<String> = commands.map(str::to_lowercase).collect();
    assert!(commands.len() >= 9, "{commands:?}");
    commands
}

/// Whether a line uses the name as a dependency, as a crate's path, or as a program with a command,
/// after a mark such as a backtick or in a shell. `crate::offload` in offload-tools is our own
/// module.
fn names_offload(line: &str, commands: &[String]) -> bool {
    let own = line.trim_start_matches(['+', '/', '!', ' ']);
    let is_dependency = own.starts_with(concat!("offload", " = "));
    let is_path = [concat!("offload", "::"), concat!("offload", "!")].iter().any(|path| {
        line.match_indices(path).any(|(at, _)| {
            !line[..at].ends_with(|it: char| it.is_alphanumeric() || ":_-#".contains(it))
        })
    });
    let is_program = ["`", "'", "\"", "$ ", ">"].iter().any(|mark| {
        let start = format!("{mark}offload ");
        let mut rests = line.split(&start).skip(1);
        rests.any(|rest| commands.iter().any(|command| rest.starts_with(command)))
    });
    is_dependency || is_path || is_program || line.trim_end().ends_with("`offload")
}
