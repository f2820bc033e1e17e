//! Compares the output shown in a page with the command's output.

use super::{KIT, NAME};

/// Shortens output for a page, because compilers' commands are too long for a page's lines.
pub fn shortened(printed: &str) -> String {
    let lines = printed.lines().map(|line| match line.char_indices().nth(110) {
        Some((at, _)) if line.starts_with("    /") => {
            format!("{} …\n", line[..at].rsplit_once(' ').map_or(line, |(start, _)| start))
        }
        _ => format!("{line}\n"),
    });
    // The name of a build script's folder contains a hash, which pages show as `…`.
    let start = format!("build/{NAME}-");
    let text = lines.collect::<String>();
    let mut parts = text.split(&start);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        text + &start + "…" + part.find('/').map_or("", |end| &part[end..])
    })
}

/// Whether the printed text matches the shown text. The page may omit lines and parts of lines, and
/// may show different sizes and different line numbers in the kit's code.
pub fn is_shown(shown: &[&str], printed: &[&str]) -> bool {
    match (shown, printed) {
        ([], []) => true,
        (["...", rest @ ..], _) => {
            (0..=printed.len()).any(|skipped| is_shown(rest, &printed[skipped..]))
        }
        ([line, rest @ ..], [other, others @ ..]) => is_line(line, other) && is_shown(rest, others),
        _ => false,
    }
}

fn is_line(shown: &str, printed: &str) -> bool {
    let (shown, printed) = (without_numbers(shown), without_numbers(printed));
    let mut rest = printed.as_str();
    let parts: Vec<&str> = shown.split('…').collect();
    let Some((first, others)) = parts.split_first() else { return false };
    let Some(after) = rest.strip_prefix(first) else { return false };
    rest = after;
    match others.split_last() {
        None => rest.is_empty(),
        Some((last, middle)) => {
            for part in middle {
                match rest.find(part) {
                    Some(at) => rest = &rest[at + part.len()..],
                    None => return false,
                }
            }
            rest.ends_with(last)
        }
    }
}

/// Replaces sizes, percentages and line numbers in the kit's code with `N`, removes bars, and makes
/// gaps between columns one space wide. Sizes depend on the compilers' versions, and the kit's line
/// numbers change often.
fn without_numbers(line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_bar = |word: &str| word.chars().all(|c| ('\u{2580}'..='\u{259f}').contains(&c));
    let words: Vec<&str> = words.into_iter().filter(|word| !is_bar(word)).collect();
    let is_number = |word: &str| {
        word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') && !word.is_empty()
    };
    let is_share = |word: &str| word.strip_suffix('%').is_some_and(is_number);
    let is_unit = |word: &str| {
        matches!(word.trim_end_matches([',', '.', ';', ')']), "bytes" | "B" | "KiB" | "MiB")
    };
    let numberless = words.iter().enumerate().map(|(index, word)| {
        let next = words.get(index + 1);
        // In rustc's messages, the number before a vertical bar is a line number.
        let is_hidden = |next: &&str| is_unit(next) || index == 0 && *next == "|";
        if is_share(word) || is_number(word) && next.is_some_and(is_hidden) {
            return "N".to_owned();
        }
        match word.split_once(':') {
            Some((file, _)) if file.starts_with(KIT) => format!("{file}:N"),
            _ => (*word).to_owned(),
        }
    });
    numberless.collect::<Vec<_>>().join(" ").replace("N B", "N KiB")
}
