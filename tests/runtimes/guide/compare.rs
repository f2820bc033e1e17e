//! Compares the output that a page shows with the output that the command prints.

use super::NAME;

/// Shortens output for a page: commands of compilers are longer than a page is wide.
pub fn shortened(printed: &str) -> String {
    let lines = printed.lines().map(|line| match line.char_indices().nth(110) {
        Some((at, _)) if line.starts_with("    /") => {
            format!("{} …\n", line[..at].rsplit_once(' ').map_or(line, |(start, _)| start))
        }
        _ => format!("{line}\n"),
    });
    // The names of build scripts' folders contain a hash, which a page shows as `…`.
    let start = format!("build/{NAME}-");
    let text = lines.collect::<String>();
    let mut parts = text.split(&start);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        text + &start + "…" + part.find('/').map_or("", |end| &part[end..])
    })
}

/// Whether the printed text matches the shown text, which may omit lines, parts of lines, and the
/// value of sizes.
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
    let (shown, printed) = (without_sizes(shown), without_sizes(printed));
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

/// Replaces sizes and percentages by `N`, removes bars, and makes columns one space wide: sizes
/// depend on the versions of the compilers.
fn without_sizes(line: &str) -> String {
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
    let sizes = words.iter().enumerate().map(|(index, word)| {
        let is_size = is_number(word) && words.get(index + 1).is_some_and(|next| is_unit(next));
        if is_share(word) || is_size { "N" } else { *word }
    });
    sizes.collect::<Vec<_>>().join(" ").replace("N B", "N KiB")
}
