//! Reads and writes records: text files in `OUT_DIR` that a build script writes for its later runs.
//!
//! The first line contains this crate's version, because a different version may work differently.
//! Every other line consists of a word, a space, and a text with escaped line ends.

use super::write_if_changed;
use crate::toolchain::error::Error;
use std::fmt::Display;
use std::fs;
use std::path::Path;

const FIRST_LINE: &str = concat!("offload-record ", env!("CARGO_PKG_VERSION"));

/// Returns the lines of a record, in order, or `None` if the record was not written by this version
/// of the crate.
pub fn read(path: &Path) -> Option<Vec<(String, String)>> {
    let text = fs::read_to_string(path).ok()?;
    let mut lines = text.lines();
    (lines.next()? == FIRST_LINE).then_some(())?;
    let mut read = Vec::new();
    for line in lines {
        let (word, text) = line.split_once(' ')?;
        read.push((word.to_owned(), unescape(text)));
    }
    Some(read)
}

/// Writes a record, unless it already contains these lines. Words must not contain spaces or line
/// ends.
pub fn write<W: Display, T: AsRef<str>>(
    path: &Path,
    lines: impl IntoIterator<Item = (W, T)>,
) -> Result<(), Error> {
    let mut text = format!("{FIRST_LINE}\n");
    for (word, value) in lines {
        text += &format!("{word} {}\n", escape(value.as_ref()));
    }
    write_if_changed(path, text.as_bytes())
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\n', "\\n").replace('\r', "\\r")
}

fn unescape(text: &str) -> String {
    let escaped = text.find('\\').unwrap_or(text.len());
    let mut out = text[..escaped].to_owned();
    let mut chars = text[escaped..].chars();
    while let Some(c) = chars.next() {
        out.push(match c {
            '\\' => match chars.next() {
                Some('n') => '\n',
                Some('r') => '\r',
                other => other.unwrap_or('\\'),
            },
            c => c,
        });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("file");
        let lines =
            [("one", "two lines\r\nand a \\n that is none"), ("empty", ""), ("one", "again")];
        write(&path, lines).unwrap();
        let expected = lines.map(|(word, text)| (word.to_owned(), text.to_owned()));
        assert_eq!(read(&path).as_deref(), Some(&expected[..]));
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replacen("offload-record", "offload-record 0", 1)).unwrap();
        assert_eq!(read(&path), None);
        fs::remove_file(&path).unwrap();
        assert_eq!(read(&path), None);
    }
}
