//! Finds the pack, and checks that the library with the pack is complete. The check reads the index
//! and a few bytes of the library, never the pack.

use crate::error::Error;
use offload_format::bundle;
use offload_format::expansion::FROM_DISK;
use offload_format::offload_binary;
use offload_format::pack_index::{Index, PackIndex};
use offload_format::section::DeviceSection;
use std::env;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Finds the index of the pack `name`, which the package's build script left in `OUT_DIR`, and the
/// folder of its files.
pub(crate) fn pack(name: &str) -> Result<(Index, PathBuf), Error> {
    if name.is_empty() {
        return Err(Error::NoName);
    }
    if name.contains(['.', '/', '\\']) {
        return Err(Error::FileName(name.to_owned()));
    }
    let out_dir = env::var_os("OUT_DIR").ok_or(Error::NoOutDir)?;
    let folder = PathBuf::from(out_dir).join("offload");
    let path = folder.join(format!("{name}.index"));
    if !path.is_file() {
        return Err(Error::NoPack { name: name.to_owned(), others: names_in(&folder), folder });
    }
    let text = fs::read_to_string(&path).map_err(|error| Error::Io(path.clone(), error))?;
    let index = Index::parse(&text).map_err(|error| Error::Index(path, error))?;
    if let Index::Built(pack) = &index {
        check_library(pack, &folder)?;
    }
    Ok((index, folder))
}

/// Whether the environment requests that development builds read packs from disk.
pub(crate) fn from_disk() -> Result<bool, Error> {
    match env::var_os(FROM_DISK) {
        None => Ok(false),
        Some(value) if value.is_empty() || value == "0" => Ok(false),
        Some(value) if value == "1" => Ok(true),
        Some(value) => {
            Err(Error::Switch { variable: FROM_DISK, value: value.to_string_lossy().into_owned() })
        }
    }
}

fn names_in(folder: &Path) -> Vec<String> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let indexes =
        files.filter(|path| path.extension().is_some_and(|extension| extension == "index"));
    let mut names: Vec<String> =
        indexes.filter_map(|path| Some(path.file_stem()?.to_string_lossy().into_owned())).collect();
    names.sort_unstable();
    names
}

fn check_library(pack: &PackIndex, folder: &Path) -> Result<(), Error> {
    let path = folder.join(format!("lib{}.a", pack.library));
    let magic: &[u8] = match pack.section {
        DeviceSection::HipFatbin if pack.modules.iter().any(|module| module.stream.is_some()) => {
            &bundle::COMPRESSED_MAGIC
        }
        DeviceSection::HipFatbin => bundle::MAGIC,
        DeviceSection::LlvmOffloading => &offload_binary::MAGIC,
    };
    let mut found_magic = vec![0; magic.len()];
    let size = File::open(&path).and_then(|mut file| {
        file.seek(SeekFrom::Start(pack.library_offset))?;
        // Errors are ignored: the check of the size detects a library that ends earlier.
        let _ = file.read_exact(&mut found_magic);
        Ok(file.metadata()?.len())
    });
    let found = size.map_err(|error| Error::Io(path.clone(), error))?;
    if found != pack.library_size {
        return Err(Error::Size { path, expected: pack.library_size, found });
    }
    if found_magic != magic {
        return Err(Error::Magic {
            path,
            offset: pack.library_offset,
            section: pack.section.elf_name(),
        });
    }
    Ok(())
}
