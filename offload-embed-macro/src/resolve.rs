//! Finds the files of a pack.

use crate::error::{self, CURE};
use std::env;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// The variable that makes development builds read packs from disk.
const FROM_DISK: &str = "OFFLOAD_FROM_DISK";

/// Finds the index of the pack `name` in `OUT_DIR`. The pack's other files are in the same folder.
pub(crate) fn index(name: &str) -> Result<PathBuf, String> {
    if name.is_empty() {
        return Err("expected the name of a pack, which build.rs passes to compile(...)".to_owned());
    }
    if name.contains(['.', '/', '\\']) {
        return Err(error::file_name(name));
    }
    let out_dir = env::var_os("OUT_DIR").ok_or(error::NO_OUT_DIR)?;
    let folder = PathBuf::from(out_dir).join("offload");
    let path = folder.join(format!("{name}.index"));
    if !path.is_file() {
        let packs = names_in(&folder, |path| {
            path.file_stem().filter(|_| path.extension().is_some_and(|it| it == "index"))
        });
        return Err(error::no_pack(name, &folder, &packs));
    }
    Ok(path)
}

/// Whether the variable for reading packs from disk is set.
pub(crate) fn from_disk() -> Result<bool, String> {
    match env::var_os(FROM_DISK) {
        None => Ok(false),
        Some(value) if value.is_empty() || value == "0" => Ok(false),
        Some(value) if value == "1" => Ok(true),
        Some(value) => {
            Err(format!("{FROM_DISK} is '{}', but must be '1' or '0'", value.to_string_lossy()))
        }
    }
}

/// The build script's description of the static library that contains a pack.
pub(crate) struct Library<'a> {
    pub(crate) path: PathBuf,
    pub(crate) size: u64,
    /// The offset of the pack in the library.
    pub(crate) offset: u64,
    /// The name of the section that contains the pack in programs.
    pub(crate) section: &'a str,
    /// The first bytes of the pack.
    pub(crate) start: &'a [u8],
}

impl Library<'_> {
    /// Checks that the library is complete, by its size and the first bytes of the pack.
    pub(crate) fn check(&self) -> Result<(), String> {
        let Self { path, size, offset, section, start } = self;
        let mut first = vec![0; start.len()];
        let found = File::open(path).and_then(|mut file| {
            file.seek(SeekFrom::Start(*offset))?;
            // Errors are ignored: the size check detects a truncated library.
            let _ = file.read_exact(&mut first);
            Ok(file.metadata()?.len())
        });
        let found = found.map_err(|error| error::unread(path, &error))?;
        let path = path.display();
        if found != *size {
            return Err(format!(
                "{path} is {found} bytes long, but should be {size}: the file is truncated or \
                 damaged. {CURE}"
            ));
        }
        if first != *start {
            return Err(format!(
                "{path} contains no pack for {section} at offset {offset}: the file is damaged. \
                 {CURE}"
            ));
        }
        Ok(())
    }
}

/// Returns the sorted names of the files in a folder that `name` accepts.
pub(crate) fn names_in(folder: &Path, name: fn(&Path) -> Option<&OsStr>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let Ok(files) = fs::read_dir(folder) else { return names };
    for file in files.flatten() {
        if let Some(name) = name(&file.path()) {
            names.push(name.to_string_lossy().into_owned());
        }
    }
    names.sort_unstable();
    names
}
