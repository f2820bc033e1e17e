//! Finds a source's references to other files: those that no dependency file lists, and those whose
//! form determines where a compiler searches.
//!
//! | text | meaning |
//! |---|---|
//! | `__has_include(<x>)`, `__has_include_next`, `__has_embed` | depends on whether the file exists: a new file changes the image |
//! | `#include "x"` | a file in the same folder as the source is read before all others |
//! | `.incbin "x"`, `.include "x"` | the assembler reads it; clang 22 writes no dependency file for assembly |

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Mentions {
    /// The names of files that the source tests for with `__has_include` or `__has_embed`.
    pub asked: Vec<String>,
    /// Whether the source tests for a file whose name is a macro.
    pub asks_for_any: bool,
    /// The names in quotes in `#include` and `__has_include`.
    pub quoted: Vec<String>,
    /// Whether the source includes a header whose name is a macro.
    pub quotes_any: bool,
    /// The names of files that the assembler reads.
    pub assembled: Vec<String>,
}

impl Mentions {
    pub fn of(text: &[u8]) -> Self {
        let mut found = Self::default();
        for word in ["__has_include", "__has_embed"] {
            for rest in behind(text, word) {
                found.ask(rest);
            }
        }
        for rest in behind(text, "#") {
            if let Some(rest) = rest.trim_ascii_start().strip_prefix(b"include") {
                found.include(rest);
            }
        }
        for word in [".incbin", ".include"] {
            for rest in behind(text, word) {
                found.assembled.extend(quoted(rest));
            }
        }
        found
    }

    fn include(&mut self, rest: &[u8]) {
        let argument = rest.strip_prefix(b"_next").unwrap_or(rest).trim_ascii_start();
        match argument.first() {
            Some(b'<') => {}
            Some(b'"') => self.quoted.push(name(argument, b'"')),
            _ => self.quotes_any = true,
        }
    }

    fn ask(&mut self, rest: &[u8]) {
        let rest = rest.strip_prefix(b"_next").unwrap_or(rest).trim_ascii_start();
        let Some(argument) = rest.strip_prefix(b"(").map(<[u8]>::trim_ascii_start) else { return };
        let end = match argument.first() {
            Some(b'<') => b'>',
            Some(b'"') => b'"',
            _ => {
                self.asks_for_any = true;
                return;
            }
        };
        let name = name(argument, end);
        if end == b'"' {
            self.quoted.push(name.clone());
        }
        self.asked.push(name);
    }
}

/// Returns the name between the first byte and this end mark.
fn name(argument: &[u8], end: u8) -> String {
    let name = argument[1..].split(|byte| *byte == end || *byte == b'\n').next();
    String::from_utf8_lossy(name.unwrap_or_default()).into_owned()
}

fn behind<'a>(text: &'a [u8], word: &str) -> Vec<&'a [u8]> {
    let word = word.as_bytes();
    let mut found = Vec::new();
    // Use an index, and compare the first byte inline. Without optimization, each step of an
    // iterator, and each comparison of the whole word, would be a function call.
    let mut at = 0;
    while at < text.len() {
        if text[at] == word[0] {
            found.extend(text[at..].strip_prefix(word));
        }
        at += 1;
    }
    found
}

/// Returns the quoted string that follows white space. In inline assembly, which is a C string, a
/// backslash precedes each quotation mark.
fn quoted(rest: &[u8]) -> Option<String> {
    let argument = rest.trim_ascii_start();
    (argument.len() < rest.len()).then_some(())?;
    let argument = argument.strip_prefix(b"\\").unwrap_or(argument).strip_prefix(b"\"")?;
    let name = argument.split(|byte| matches!(byte, b'"' | b'\\' | b'\n')).next()?;
    (!name.is_empty()).then(|| String::from_utf8_lossy(name).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_texts() {
        let found = Mentions::of(
            b"#ifdef __has_include\n#if __has_include ( \"opt.h\" ) || __has_include_next(<a/b.h>)\n\
              .incbin \"table.bin\"\n .include\t\"x.s\" asm(\".incbin \\\"y.bin\\\"\"); x.includes \"no\" .include_this",
        );
        assert_eq!(found.asked, ["opt.h", "a/b.h"]);
        assert_eq!(found.quoted, ["opt.h"]);
        assert_eq!(found.assembled, ["table.bin", "y.bin", "x.s"]);
        assert!(!found.asks_for_any);
        assert!(Mentions::of(b"#if __has_include(CONFIG)").asks_for_any);
        assert_eq!(Mentions::of(b""), Mentions::default());
    }

    #[test]
    fn names_in_quotes() {
        let found = Mentions::of(
            b"#include \"a.h\"\n # include <b.h>\n#\tinclude_next \"c/d.h\"\n// include \"f.h\" and others\n",
        );
        assert_eq!(found.quoted, ["a.h", "c/d.h"]);
        assert!(!found.quotes_any);
        assert!(Mentions::of(b"#define H \"a.h\"\n#include H\n").quotes_any);
    }
}
