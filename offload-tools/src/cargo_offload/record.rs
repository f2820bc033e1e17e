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
    /// The library that must be loaded into a program before all others.
    pub library: PathBuf,
    /// The program with which the sanitizer finds source lines, if it uses one.
    pub symbolizer: Option<PathBuf>,
}

impl Record {
    /// Returns the first record in the images of a program. Returns `None` if no image has a
    /// record.
    ///
    /// Returns a message if the program cannot be read.
    pub fn of_program(program: &Path) -> Result<Option<Self>, String> {
        let input = Input::open(program)
            .map_err(|error| format!("cannot read {}: {error}", program.display()))?;
        let inventory = Inventory::of(input.bytes(), MEMORY_LIMIT);
        let mut images = Images::new(MEMORY_LIMIT);
        Ok(inventory.images.iter().find_map(|image| Self::among(&images.read(image).ok()?)))
    }

    fn among(image: &[u8]) -> Option<Self> {
        let start = image.windows(START.len()).position(|part| part == START)?;
        let text = image[start..].split(|byte| *byte == 0).next()?;
        let text = std::str::from_utf8(text).ok()?;
        let value =
            |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        let symbolizer = value("symbolizer").filter(|path| !path.is_empty()).map(PathBuf::from);
        Some(Self {
            kind: value("kind")?.to_owned(),
            library: value("library")?.into(),
            symbolizer,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_values() {
        let image = b"\x7fELF...offload-cpu-check 1\nkind races\nlibrary /lib/libtsan.so.2\nsymbolizer \n\0...";
        let record =
            Record { kind: "races".into(), library: "/lib/libtsan.so.2".into(), symbolizer: None };
        assert_eq!(Record::among(image), Some(record));
        assert_eq!(Record::among(b"\x7fELF..."), None);
    }
}
