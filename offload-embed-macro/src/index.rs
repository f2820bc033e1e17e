//! Reads the index of a pack, and checks that the library with the pack is complete. Reads only a
//! few bytes of the library, never the whole pack.

use crate::error::{self, CURE};
use crate::resolve::{self, Library};
use offload_pack::pack_index::Index;
use std::fs;
use std::path::{Path, PathBuf};

/// Reads the index of the pack `name`. Also returns the folder of its files.
pub(crate) fn read(name: &str) -> Result<(Index, PathBuf), String> {
    let path = resolve::index(name)?;
    let text = fs::read_to_string(&path).map_err(|error| error::unread(&path, &error))?;
    let wrong = |error| format!("{}: {error}. {CURE}", path.display());
    let index = text.parse::<Index>().map_err(wrong)?;
    let folder = path.parent().unwrap_or(Path::new("")).to_owned();
    if let Index::Built(pack) = &index {
        let library = Library {
            path: folder.join(format!("lib{}.a", pack.library)),
            size: pack.library_size,
            offset: pack.library_offset,
            section: pack.section.elf_name(),
            start: pack.first_bytes(),
        };
        library.check()?;
    }
    Ok((index, folder))
}
