//! Replaces `@file` with the arguments in that file.

use super::split_once;
use std::ffi::{OsStr, OsString};
use std::fs;

/// The maximum number of files read for one command line. Without this limit, files that include
/// each other would be read forever.
const MOST_FILES: usize = 64;

/// Replaces each `@file` with the arguments in the file, which may include more `@file` arguments.
/// If the file does not exist, the argument stays unchanged.
pub(super) fn expand(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut open: Vec<OsString> = arguments.into_iter().collect();
    open.reverse();
    let mut out = Vec::with_capacity(open.len());
    let mut files = 0;
    while let Some(argument) = open.pop() {
        let path = split_once(&argument, b'@')
            .filter(|(before, _)| before.is_empty())
            .map(|(_, path)| path);
        match path.filter(|_| files < MOST_FILES).and_then(|path| fs::read(path).ok()) {
            Some(text) => {
                files += 1;
                let text = decoded(text);
                let words = if cfg!(windows) { split_as_windows(&text) } else { split(&text) };
                open.extend(words.into_iter().rev());
            }
            None => out.push(argument),
        }
    }
    out
}

/// Converts a file's bytes to UTF-8, and removes a leading byte order mark of UTF-8 or UTF-16.
/// Keeps invalid bytes in a file that is not UTF-16.
fn decoded(text: Vec<u8>) -> Vec<u8> {
    let from_utf16 = |number: fn([u8; 2]) -> u16| {
        let units: Vec<u16> =
            text[2..].chunks_exact(2).map(|unit| number([unit[0], unit[1]])).collect();
        String::from_utf16_lossy(&units).into_bytes()
    };
    match text.as_slice() {
        [0xff, 0xfe, ..] => from_utf16(u16::from_le_bytes),
        [0xfe, 0xff, ..] => from_utf16(u16::from_be_bytes),
        [0xef, 0xbb, 0xbf, text @ ..] => text.to_vec(),
        _ => text,
    }
}

/// Splits a file's text like a GNU shell: at white space outside of quotes. A backslash escapes the
/// next character.
fn split(text: &[u8]) -> Vec<OsString> {
    let mut out = Vec::new();
    let mut current: Option<Vec<u8>> = None;
    let mut quote = None;
    let mut bytes = text.iter().copied();
    while let Some(next) = bytes.next() {
        match (next, quote) {
            (b'\\', _) => current.get_or_insert_default().push(bytes.next().unwrap_or(next)),
            (b'"' | b'\'', None) => {
                quote = Some(next);
                current.get_or_insert_default();
            }
            (_, Some(open)) if next == open => quote = None,
            (b' ' | b'\t' | b'\r' | b'\n', None) => out.extend(current.take()),
            _ => current.get_or_insert_default().push(next),
        }
    }
    out.extend(current);
    out.into_iter().map(|argument| os_string(&argument)).collect()
}

/// Splits a file's text like the command line of a Windows program: at white space outside of
/// double quotes. Backslashes are ordinary characters, as in paths, unless a quote follows. Before
/// a quote, each pair of backslashes stands for one backslash, and a remaining backslash escapes
/// the quote. Inside quotes, two quotes mean one quote.
fn split_as_windows(text: &[u8]) -> Vec<OsString> {
    let mut out = Vec::new();
    let mut current: Option<Vec<u8>> = None;
    let mut is_quoted = false;
    let mut rest = text;
    while let [next, after @ ..] = rest {
        rest = after;
        match next {
            b'\\' => {
                let count = 1 + rest.iter().take_while(|byte| **byte == b'\\').count();
                rest = &rest[count - 1..];
                let word = current.get_or_insert_default();
                if rest.first() != Some(&b'"') {
                    word.resize(word.len() + count, b'\\');
                    continue;
                }
                word.resize(word.len() + count / 2, b'\\');
                if count % 2 == 1 {
                    word.push(b'"');
                    rest = &rest[1..];
                }
            }
            b'"' if is_quoted && rest.first() == Some(&b'"') => {
                current.get_or_insert_default().push(b'"');
                rest = &rest[1..];
            }
            b'"' => {
                is_quoted = !is_quoted;
                current.get_or_insert_default();
            }
            b' ' | b'\t' | b'\r' | b'\n' if !is_quoted => out.extend(current.take()),
            _ => current.get_or_insert_default().push(*next),
        }
    }
    out.extend(current);
    out.into_iter().map(|argument| os_string(&argument)).collect()
}

/// Converts bytes to an argument. Truncates them at the first NUL, as the operating system does.
fn os_string(bytes: &[u8]) -> OsString {
    let bytes = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt;
        OsStr::from_bytes(bytes).to_owned()
    }
    #[cfg(not(unix))]
    {
        OsStr::new(&*String::from_utf8_lossy(bytes)).to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words() {
        let split = |text: &str| split(text.as_bytes());
        assert_eq!(split("-a  -b=c\n\t'd e' \"f 'g\" h\\ i"), ["-a", "-b=c", "d e", "f 'g", "h i"]);
        assert_eq!(split("a\"b c\"d '' \"\""), ["ab cd", "", ""]);
        assert_eq!(split(" \r\n"), Vec::<OsString>::new());
        assert_eq!(split("\"a\\\"b\" 'c\\'d'"), ["a\"b", "c'd"]);
        assert_eq!(split("a\\\nb c\u{b}d\u{c}e"), ["a\nb", "c\u{b}d\u{c}e"]);
        assert_eq!(split("\"open a\0b 'x"), ["open a"]);
        assert_eq!(split("a\0b c\\"), ["a", "c\\"]);
    }

    #[test]
    fn words_on_windows() {
        let split = |text: &str| split_as_windows(text.as_bytes());
        assert_eq!(
            split("-a=C:\\b\\c.o  \"D:\\e f\"\r\n'g h'"),
            ["-a=C:\\b\\c.o", "D:\\e f", "'g", "h'"]
        );
        assert_eq!(split(r#"a\"b\\"c d\\\"e" "" "f""g""#), [r#"a"b\c d\"e"#, "", "f\"g"]);
        assert_eq!(split("\"C:\\a\\\\\" b"), ["C:\\a\\", "b"]);
    }

    #[test]
    fn encodings() {
        for text in [
            b"a \xc3\xa4".as_slice(),
            b"\xef\xbb\xbfa \xc3\xa4",
            b"\xff\xfea\0 \0\xe4\0",
            b"\xfe\xff\0a\0 \0\xe4",
        ] {
            assert_eq!(split(&decoded(text.to_vec())), ["a", "ä"]);
        }
        assert_eq!(decoded(b"\xff\xfea".to_vec()), b"");
        #[cfg(unix)]
        assert_eq!(split(b"\xff")[0].as_encoded_bytes(), b"\xff");
    }
}
