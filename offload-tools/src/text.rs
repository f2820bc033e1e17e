//! Text for terminals: escaped names from files, readable sizes, and styles.

use anstyle::{AnsiColor, Style};
use std::borrow::Cow;
use std::path::Path;

/// The style of headings: file names.
pub const HEADING: Style = Style::new().bold();
/// The style of targets.
pub const TARGET: Style = AnsiColor::Cyan.on_default();
/// The style of less important text.
pub const FAINT: Style = Style::new().dimmed();
/// The style of good results.
pub const GOOD: Style = AnsiColor::Green.on_default().bold();
/// The style of errors.
pub const BAD: Style = AnsiColor::Red.on_default().bold();
/// The style of warnings.
pub const WARNING: Style = AnsiColor::Yellow.on_default().bold();

/// Returns a number with commas between groups of three digits: `4,000`.
pub fn grouped(number: u64) -> String {
    indicatif::HumanCount(number).to_string()
}

/// Returns `text` in a style. A stream that is not a terminal removes the style.
pub fn styled(style: Style, text: &str) -> String {
    if text.is_empty() || style.is_plain() {
        text.to_owned()
    } else {
        format!("{style}{text}{style:#}")
    }
}

pub fn escaped_path(path: &Path) -> String {
    escaped(path.as_os_str().as_encoded_bytes())
}

/// Escapes what a terminal would interpret in a name from a file: control characters, bytes that
/// are not UTF-8 (`\n`, `\x1b`, `\xff`), and characters that are invisible or change the direction
/// of text (`\u{202e}`).
pub fn escaped(name: &[u8]) -> String {
    let mut out = String::with_capacity(name.len());
    for chunk in name.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                '\t' => out.push_str("\\t"),
                '\0'..='\x7f' if c.is_control() => out.push_str(&format!("\\x{:02x}", c as u32)),
                c if is_invisible(c) => out.extend(c.escape_unicode()),
                _ => out.push(c),
            }
        }
        out.extend(chunk.invalid().iter().map(|byte| format!("\\x{byte:02x}")));
    }
    out
}

/// Whether a character is a terminal command, changes the direction of text, or is invisible.
/// Returns `false` for ASCII's first 32 characters.
pub fn is_invisible(c: char) -> bool {
    // `escape_debug` uses Rust's list of unprintable characters.
    c == '\x7f' || (!c.is_ascii() && c.escape_debug().len() > 1)
}

/// Escapes text like [`escaped`].
pub fn escaped_str(name: &str) -> String {
    escaped(name.as_bytes())
}

/// Returns `text`, shortened in the middle if it has more than `width` characters.
pub fn shortened(text: &str, width: usize) -> Cow<'_, str> {
    let count = text.chars().count();
    if count <= width || width == 0 {
        return Cow::Borrowed(text);
    }
    let tail = (width - 1) / 2;
    let head = width - 1 - tail;
    let mut out: String = text.chars().take(head).collect();
    out.push('…');
    out.extend(text.chars().skip(count - tail));
    Cow::Owned(out)
}

/// Quotes a word for a POSIX shell, if it is empty or contains special characters.
pub fn shell_word(word: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=+:,@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        Cow::Borrowed(word)
    } else {
        Cow::Owned(format!("'{}'", word.replace('\'', r"'\''")))
    }
}

/// Returns a number with its noun: `1 image`, `3 images`.
pub fn plural(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Returns a size in readable form: `312 B`, `4.1 KiB`, `12.0 MiB`.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    // Show 1024.0 of one unit as 1.0 of the next unit.
    while value >= 1023.95 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

/// Returns the first names, and how many more there are: `a, b, c and 7 more`.
pub fn some(names: impl Iterator<Item = impl Into<String>>) -> String {
    /// The maximum number of names in one line.
    const NAMES: usize = 3;
    let mut names = names.map(Into::into);
    let first: Vec<String> = names.by_ref().take(NAMES).collect();
    let more = names.count();
    let first = first.join(", ");
    if more == 0 { first } else { format!("{first} and {more} more") }
}

#[cfg(test)]
mod tests {
    #[test]
    fn thousands() {
        let grouped = [0, 999, 1000, 40192, 1234567].map(super::grouped);
        assert_eq!(grouped, ["0", "999", "1,000", "40,192", "1,234,567"]);
    }

    use super::*;

    #[test]
    fn a_shell_reads_one_word() {
        for (word, expected) in [
            ("tests::sums", "tests::sums"),
            ("--features=a,b", "--features=a,b"),
            ("src/lib.rs - scale (line 12)", "'src/lib.rs - scale (line 12)'"),
            ("it's", r"'it'\''s'"),
            ("", "''"),
            ("$HOME", "'$HOME'"),
        ] {
            assert_eq!(shell_word(word), expected);
        }
    }

    #[test]
    fn names_do_not_reach_the_terminal_as_commands() {
        assert_eq!(escaped(b"a\x1b[31mb\0c\n\xffd"), "a\\x1b[31mb\\x00c\\n\\xffd");
        assert_eq!(escaped("ä\u{202e}b".as_bytes()), "ä\\u{202e}b");
        assert_eq!(escaped(b"it's \"C:\\x\""), "it's \"C:\\x\"");
    }

    #[test]
    fn the_middle_is_left_out() {
        assert_eq!(shortened("abcdefghij", 10), "abcdefghij");
        assert_eq!(shortened("abcdefghij", 7), "abc…hij");
        assert_eq!(shortened("äöüäöüäöü", 4), "äö…ü");
    }

    #[test]
    fn sizes() {
        for (bytes, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (1 << 20, "1.0 MiB"),
            ((1 << 20) - 1, "1.0 MiB"),
            (u64::MAX, "16.0 EiB"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }
}
