//! Converts text to a single line: each backslash, tab and line end becomes a backslash and a
//! second character.

use alloc::string::String;

/// The characters that may follow a backslash, each with the character that the pair represents.
const ESCAPES: [(char, char); 4] = [('\\', '\\'), ('t', '\t'), ('n', '\n'), ('r', '\r')];

#[inline]
pub(crate) fn escape(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        match ESCAPES.iter().find(|(_, meant)| *meant == c) {
            Some((letter, _)) => out.extend(['\\', *letter]),
            None => out.push(c),
        }
    }
    out
}

#[inline]
pub(crate) fn unescape(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        out.push(match c {
            '\\' => {
                let letter = chars.next()?;
                ESCAPES.iter().find(|(known, _)| *known == letter)?.1
            }
            c => c,
        });
    }
    Some(out)
}
