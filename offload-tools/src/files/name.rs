//! File names made from text inside a file.

/// The maximum number of bytes in a file name.
const MOST_BYTES: usize = 255;

/// Returns a file name for the current folder, made of `start` and `end`. Replaces any character
/// that could lead to a different folder, or does not belong in names, with `_`. Shortens `start`
/// so that the name fits the limit of file systems.
///
/// `end` is used unchanged, so it must come from the caller and be short.
pub fn name_in_folder(start: &str, end: &str) -> String {
    let is_bad = |letter: char| {
        letter.is_control() || letter == '/' || cfg!(windows) && "\\:*?\"<>|".contains(letter)
    };
    let mut name = start.replace(is_bad, "_");
    while name.len() + end.len() > MOST_BYTES && name.pop().is_some() {}
    name.push_str(end);
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_nowhere_else() {
        let long = "x".repeat(10_000);
        let umlauts = "ä".repeat(200);
        for (start, expected) in [
            ("a-gfx90a", "a-gfx90a.0.o".to_owned()),
            ("a-../../b", "a-.._.._b.0.o".to_owned()),
            ("/etc/passwd", "_etc_passwd.0.o".to_owned()),
            ("a\0b\n\u{1b}[31m", "a_b__[31m.0.o".to_owned()),
            (&long, format!("{}.0.o", "x".repeat(251))),
            (&umlauts, format!("{}.0.o", "ä".repeat(125))),
        ] {
            assert_eq!(name_in_folder(start, ".0.o"), expected);
        }
    }
}
