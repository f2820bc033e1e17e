//! The record of the sanitizer in an image for the CPU: text that `offload/checks.cpp` puts into
//! the image.

use crate::files::{Input, MEMORY_LIMIT};
use offload_format::inventory::{Images, Inventory};
use std::path::{Path, PathBuf};

const START: &[u8] = b"offload-cpu-check 1\n";

/// The record of an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The checks that the image contains, as listed in the build.
    pub kind: String,
    /// The libraries that must be loaded into a program before all others.
    pub libraries: Vec<PathBuf>,
    /// The program with which the sanitizer finds source lines, if it uses one.
    pub symbolizer: Option<PathBuf>,
}

impl Record {
    /// Returns the first record of this kind in the images of a program. Returns `None` if no image
    /// has such a record.
    ///
    /// Returns a message if the program cannot be read.
    pub fn of_program(program: &Path, kind: &str) -> Result<Option<Self>, String> {
        let input = Input::open(program)
            .map_err(|error| format!("cannot read {}: {error}", program.display()))?;
        let inventory = Inventory::of(input.bytes(), MEMORY_LIMIT);
        let mut images = Images::new(MEMORY_LIMIT);
        let found =
            |image| Self::among(&images.read(image).ok()?).into_iter().find(|it| it.kind == kind);
        Ok(inventory.images.iter().find_map(found))
    }

    /// Returns the records in an image: its own, and those of images inside of it.
    fn among(image: &[u8]) -> Vec<Self> {
        let places = image.windows(START.len()).enumerate().filter(|(_, part)| *part == START);
        places.filter_map(|(at, _)| Self::parse(&image[at..])).collect()
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let text = bytes.split(|byte| *byte == 0).next()?;
        let text = std::str::from_utf8(text).ok()?;
        let value =
            |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        let symbolizer = value("symbolizer").filter(|path| !path.is_empty()).map(PathBuf::from);
        Some(Self {
            kind: value("kind")?.to_owned(),
            libraries: value("library")?.split(':').map(PathBuf::from).collect(),
            symbolizer,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_values() {
        let image = b"\x7fELF...offload-cpu-check 1\nkind memory\nlibrary l:m\nsymbolizer s\n\0...\
            offload-cpu-check 1\nkind races\nlibrary /lib/libtsan.so.2\nsymbolizer \n\0...";
        let record = |kind: &str, libraries: &[&str], symbolizer: Option<&str>| Record {
            kind: kind.into(),
            libraries: libraries.iter().map(PathBuf::from).collect(),
            symbolizer: symbolizer.map(PathBuf::from),
        };
        let expected = [
            record("memory", &["l", "m"], Some("s")),
            record("races", &["/lib/libtsan.so.2"], None),
        ];
        assert_eq!(Record::among(image), expected);
        assert_eq!(Record::among(b"\x7fELF..."), []);
    }
}
