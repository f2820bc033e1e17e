//! Tests of the tables in ARCHITECTURE.md: the files that they name must exist, and must mention
//! the row's subject.

use super::sources::{after, quoted, read};
use offload_tests::scratch::workspace;
use std::fs;
use std::path::Path;

const MAP: &str = "ARCHITECTURE.md";

/// The maximum number of lines in ARCHITECTURE.md. Longer explanations belong in modules.
const LONG: usize = 150;

/// Returns the cells of the table rows under a heading.
fn rows<'a>(page: &'a str, heading: &str) -> Vec<Vec<&'a str>> {
    let section = after(page, heading).split("\n## ").next().unwrap_or_default();
    let lines = section.lines().filter(|line| line.starts_with("| "));
    // Skip the row with the column names.
    lines.skip(1).map(|row| row.split('|').skip(1).map(str::trim).collect()).collect()
}

/// Returns the paths in backticks. If a path has no folder, the file is in the previous path's
/// folder.
fn paths(cell: &str) -> Vec<String> {
    let mut folder = "";
    let mut paths = Vec::new();
    for path in quoted(cell, '`') {
        match path.rfind('/') {
            Some(end) => {
                folder = &path[..=end];
                paths.push(path.to_owned());
            }
            None => paths.push(format!("{folder}{path}")),
        }
    }
    paths
}

/// Returns the paths that may contain `unsafe`.
pub fn unsafe_code() -> Vec<String> {
    let page = read(MAP);
    rows(&page, "\n## Unsafe code\n").iter().flat_map(|row| paths(row[0])).collect()
}

/// Returns the text of a file, or of all files in a folder, in lower case.
fn text(path: &Path) -> String {
    if path.is_dir() {
        let entries = fs::read_dir(path).expect("the folder can be read");
        return entries.flatten().map(|entry| text(&entry.path())).collect();
    }
    let bytes = fs::read(path).expect("the file can be read");
    String::from_utf8_lossy(&bytes).to_lowercase()
}

/// Whether a text contains this word, or a longer word that begins with it.
fn mentions(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| !text[..at].ends_with(char::is_alphanumeric))
}

/// Returns the errors in a row. The row's first two cells are the subject and the paths.
fn faults(row: &[&str]) -> Vec<String> {
    let bold = row[0].split("**").skip(1).step_by(2);
    let words: Vec<String> = bold.chain(quoted(row[0], '`')).map(str::to_lowercase).collect();
    let (mut faults, mut texts) = (Vec::new(), Vec::new());
    for path in paths(row[1]) {
        let place = workspace().join(&path);
        if !place.exists() {
            faults.push(format!("{path} is missing"));
            continue;
        }
        let text = text(&place);
        if !words.iter().any(|word| mentions(&text, word)) {
            faults.push(format!("{path} mentions none of {words:?}"));
        }
        texts.push(text);
    }
    if words.is_empty() || texts.is_empty() {
        faults.push("no word or no path".to_owned());
    }
    let missing = words.iter().filter(|word| !texts.iter().any(|text| mentions(text, word)));
    faults.extend(missing.map(|word| format!("no file mentions {word}")));
    faults
}

#[test]
fn the_map_leads_to_files_that_mention_the_subject() {
    let page = read(MAP);
    let rows = rows(&page, "\n## To change X, open Y\n");
    assert!(rows.len() > 35, "{} rows", rows.len());
    let faults = rows.iter().flat_map(|row| {
        faults(row).into_iter().map(|fault| format!("{}: {fault}", row[0])).collect::<Vec<_>>()
    });
    let faults = faults.collect::<Vec<_>>().join("\n");
    assert!(faults.is_empty(), "{MAP}:\n{faults}");
}

#[test]
fn the_list_of_unsafe_code_has_no_other_files() {
    for path in unsafe_code() {
        let place = workspace().join(&path);
        assert!(place.exists() && text(&place).contains("unsafe "), "{MAP}: {path}");
    }
}

#[test]
fn the_map_is_short() {
    let lines = read(MAP).lines().count();
    assert!(lines <= LONG, "{MAP} has {lines} lines: {LONG} are the limit");
}
