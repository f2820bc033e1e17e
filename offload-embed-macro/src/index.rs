//! Reads the index of a pack, and checks that the library with the pack is complete. The check
//! reads the index and a few bytes of the library, never the pack.

use crate::error::Error;
use crate::resolve;
use offload_format::bundle;
use offload_format::offload_binary;
use offload_format::pack_index::{Index, PackIndex};
use offload_format::section::DeviceSection;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Reads the index of the pack `name`. Also returns the folder of its files.
pub(crate) fn read(name: &str) -> Result<(Index, PathBuf), Error> {
    let path = resolve::index(name)?;
    let text = fs::read_to_string(&path).map_err(|error| Error::Io(path.clone(), error))?;
    let index =
        Index::parse(&text).map_err(|error| Error::Index(path.clone(), error.to_string()))?;
    let folder = path.parent().unwrap_or(Path::new("")).to_owned();
    if let Index::Built(pack) = &index {
        check_library(pack, &folder)?;
    }
    Ok((index, folder))
}

fn check_library(pack: &PackIndex, folder: &Path) -> Result<(), Error> {
    let path = folder.join(format!("lib{}.a", pack.library));
    resolve::check_size(path.clone(), pack.library_size)?;
    let magic: &[u8] = match pack.section {
        DeviceSection::HipFatbin if pack.is_compressed() => &bundle::COMPRESSED_MAGIC,
        DeviceSection::HipFatbin => bundle::MAGIC,
        DeviceSection::LlvmOffloading => &offload_binary::MAGIC,
    };
    let mut found = vec![0; magic.len()];
    let read = File::open(&path).and_then(|mut file| {
        file.seek(SeekFrom::Start(pack.library_offset))?;
        file.read_exact(&mut found)
    });
    if read.is_err() || found != magic {
        return Err(Error::Magic {
            path,
            offset: pack.library_offset,
            section: pack.section.elf_name(),
        });
    }
    Ok(())
}
