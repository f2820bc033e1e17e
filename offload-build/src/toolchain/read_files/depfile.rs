//! Parses the dependency files that compilers write for `-MD`. They contain `target: file file \`,
//! with `\ ` for a space and `$$` for a dollar sign. A TAB is part of a file name: clang writes it
//! unchanged, gcc escapes it with a backslash, and neither separates files with one.

use std::path::PathBuf;

/// Returns the files that the first rule lists after its target.
pub fn parse(text: &str) -> Vec<PathBuf> {
    // The target is the fixed word after `-MT`, which `exec::step` sets.
    let Some((_, rest)) = text.split_once(": ") else { return Vec::new() };
    let mut files = Vec::new();
    let mut file = String::new();
    let mut chars = rest.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('\\', Some(' ' | '\t' | '#')) => file.extend(chars.next()),
            ('$', Some('$')) => file.extend(chars.next()),
            ('\\', Some('\r' | '\n')) => {
                while chars.next_if(|c| matches!(c, '\r' | '\n')).is_some() {}
            }
            // With `-MP`, a rule for each header follows the first one.
            ('\r' | '\n', _) => break,
            (' ', _) if file.is_empty() => {}
            (' ', _) => files.push(std::mem::take(&mut file).into()),
            _ => file.push(c),
        }
    }
    if !file.is_empty() {
        files.push(file.into());
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tabs() {
        let text = "image: a\tb.cu \\\n  in\\\tclude/c.h\n";
        assert_eq!(parse(text), ["a\tb.cu", "in\tclude/c.h"].map(PathBuf::from));
    }

    #[test]
    fn continued_lines_spaces_and_dollars() {
        let text = "image: kernels/a.cu \\\n  /out\\ dir/kernel.h a$$b.h \\\r\n  c.h\n\n\
                    c.h:\n\n/out\\ dir/kernel.h:\n";
        let paths = ["kernels/a.cu", "/out dir/kernel.h", "a$b.h", "c.h"];
        assert_eq!(parse(text), paths.map(PathBuf::from));
        assert!(parse("").is_empty());
    }
}
