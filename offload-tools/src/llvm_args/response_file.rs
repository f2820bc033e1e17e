//! `@file`: arguments in a file.

use std::ffi::OsString;
use std::fs;

/// How many files may be read for one command line: files that name each other end here.
const MOST_FILES: usize = 64;

/// Replaces each `@file` by the arguments in it, in which there may be more of them. Where there is no such file, the
/// argument stays.
pub(super) fn expand(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut open: Vec<OsString> = arguments.into_iter().collect();
    open.reverse();
    let mut out = Vec::with_capacity(open.len());
    let mut files = 0;
    while let Some(argument) = open.pop() {
        let path = argument.to_str().and_then(|argument| argument.strip_prefix('@'));
        match path.filter(|_| files < MOST_FILES).and_then(|path| fs::read_to_string(path).ok()) {
            Some(text) => {
                files += 1;
                open.extend(split(&text).into_iter().rev().map(OsString::from));
            }
            None => out.push(argument),
        }
    }
    out
}

/// Splits a file's text as a GNU shell would: at white space, outside of quotes; a backslash takes what follows as it is.
fn split(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut current: Option<String> = None;
    let mut quote = None;
    let mut chars = text.chars();
    while let Some(next) = chars.next() {
        match (next, quote) {
            ('\\', _) => current.get_or_insert_default().extend(chars.next()),
            ('"' | '\'', None) => {
                quote = Some(next);
                current.get_or_insert_default();
            }
            (_, Some(open)) if next == open => quote = None,
            (_, None) if next.is_ascii_whitespace() => out.extend(current.take()),
            _ => current.get_or_insert_default().push(next),
        }
    }
    out.extend(current);
    out
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn words() {
        assert_eq!(split("-a  -b=c\n\t'd e' \"f 'g\" h\\ i"), ["-a", "-b=c", "d e", "f 'g", "h i"]);
        assert_eq!(split("a\"b c\"d '' \"\""), ["ab cd", "", ""]);
        assert_eq!(split(" \n"), Vec::<String>::new());
        assert_eq!(split("\"a\\\"b\" 'c\\'d'"), ["a\"b", "c'd"]);
    }
}
