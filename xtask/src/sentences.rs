//! `cargo xtask sentences SEED`: prints sixty sentences of comments and documents, drawn by a seed.
//! Readers mark those that they have to read twice.

use crate::run::{Failure, Result, workspace};
use std::fs;
use std::path::Path;

/// The number of sentences in one drawing.
const DRAWN: usize = 60;

/// Folders of builds, of other people's files, and of outputs.
const SKIPPED: [&str; 5] = ["target", "corpus", "prebuilt", "cases", "book"];

/// A sentence and its place.
struct Sentence {
    path: String,
    line: usize,
    text: String,
}

/// Prints the sentences that a seed selects.
pub fn command(args: &[String]) -> Result {
    let [seed] = args else {
        return Err(Failure::Usage("`sentences` takes one seed, a number".to_owned()));
    };
    let mut state: u64 =
        seed.parse().map_err(|_| Failure::Usage(format!("the seed `{seed}` is no number")))?;
    let mut all = Vec::new();
    collect(&workspace(), &mut all)?;
    let total = all.len();
    for _ in 0..DRAWN.min(total) {
        let index = usize::try_from(next(&mut state) % all.len() as u64).unwrap_or_default();
        let Sentence { path, line, text } = all.swap_remove(index);
        println!("{path}:{line}\n    {text}");
    }
    println!("\n{DRAWN} of {total} sentences, seed {seed}");
    Ok(())
}

/// Returns the next number of SplitMix64, by Steele, Lea and Flood (2014).
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Adds the sentences of a folder's files, in the order of their names.
fn collect(folder: &Path, all: &mut Vec<Sentence>) -> Result {
    let entries = fs::read_dir(folder).map_err(|error| failure(folder, &error))?;
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // `src/target` of offload-format contains sources, not builds.
        let is_skipped = SKIPPED.contains(&&*name) && !folder.ends_with("src");
        if name.starts_with('.') || is_skipped {
            continue;
        }
        if path.is_dir() {
            collect(&path, all)?;
        } else if let Some(is_rust) =
            [("rs", true), ("md", false)].iter().find_map(|(end, is_rust)| {
                path.extension().is_some_and(|it| it == *end).then_some(*is_rust)
            })
        {
            let text = fs::read_to_string(&path).map_err(|error| failure(&path, &error))?;
            let name = path.strip_prefix(workspace()).unwrap_or(&path).display().to_string();
            for (line, paragraph) in paragraphs(&text, is_rust) {
                let sentences = sentences(&paragraph);
                all.extend(sentences.map(|text| Sentence { path: name.clone(), line, text }));
            }
        }
    }
    Ok(())
}

fn failure(path: &Path, error: &std::io::Error) -> Failure {
    Failure::Failed(format!("{}: {error}", path.display()))
}

/// Returns the paragraphs of comments, or of a document, with the numbers of their first lines.
/// Code, tables and headings are left out.
fn paragraphs(text: &str, is_rust: bool) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let (mut is_code, mut is_open) = (false, false);
    for (line, number) in text.lines().zip(1..) {
        let line = if is_rust {
            line.trim_start().strip_prefix("//").map(|line| line.trim_start_matches(['/', '!']))
        } else {
            Some(line)
        };
        let Some(line) = line else {
            (is_code, is_open) = (false, false);
            continue;
        };
        let is_indented_code = line.starts_with("    ") && !is_open;
        let line = line.trim();
        if line.starts_with("```") {
            is_code = !is_code;
        }
        let starts_item = line.starts_with("- ") || line.starts_with("* ");
        let is_prose = !is_code
            && !is_indented_code
            && !line.is_empty()
            && !line.starts_with(['|', '#', '<', '`'].as_slice());
        // A line may start with a word in backticks.
        let is_prose = is_prose || (line.starts_with('`') && !line.starts_with("```") && !is_code);
        if !is_prose {
            is_open = false;
        } else if is_open && !starts_item {
            if let Some((_, paragraph)) = found.last_mut() {
                *paragraph += " ";
                *paragraph += line;
            }
        } else {
            found.push((number, line.trim_start_matches(['-', '*', ' ']).to_owned()));
            is_open = true;
        }
    }
    found
}

/// Splits a paragraph after each `.` before a space and a capital letter, a backtick or a bracket.
/// Fragments of fewer than four words are left out.
fn sentences(paragraph: &str) -> impl Iterator<Item = String> {
    let mut found = Vec::new();
    let mut start = 0;
    for (at, _) in paragraph.match_indices(". ") {
        let next = paragraph[at + 2..].chars().next();
        if next.is_some_and(|c| c.is_uppercase() || c == '`' || c == '[') {
            found.push(paragraph[start..=at].to_owned());
            start = at + 2;
        }
    }
    found.push(paragraph[start..].to_owned());
    found.into_iter().filter(|text| text.split_whitespace().count() >= 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_of_comments_and_documents() {
        let source = "//! One two three four. Five six\n//! seven eight.\nfn f() {} // no\n    // Nine ten eleven twelve.\n";
        let texts: Vec<String> =
            paragraphs(source, true).iter().flat_map(|(_, text)| sentences(text)).collect();
        assert_eq!(
            texts,
            ["One two three four.", "Five six seven eight.", "Nine ten eleven twelve."]
        );
        let page = "# No\n\nA list has two items:\n\n- the first of them is this\n- `code` starts the second item\n\n```\ncode is left out here\n```\n| a | table | is | out |\n";
        let texts: Vec<String> =
            paragraphs(page, false).into_iter().map(|(_, text)| text).collect();
        assert_eq!(
            texts,
            ["A list has two items:", "the first of them is this", "`code` starts the second item"]
        );
    }

    #[test]
    fn a_seed_gives_one_drawing() {
        let (mut one, mut other) = (7, 7);
        assert_eq!(next(&mut one), next(&mut other));
        assert_ne!(next(&mut one), next(&mut 7));
    }
}
