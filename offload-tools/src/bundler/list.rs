//! `-list`.

use super::contents::Contents;
use super::settings::Settings;
use super::{Failure, FileType, Options, open};
use crate::text::escaped_str;
use std::ffi::OsStr;
use std::io::Write;

/// Prints the IDs of a bundle's entries, in file order.
pub(super) fn list(options: &Options) -> Result<(), Failure> {
    let settings = Settings::read(options);
    let path = &options.inputs[0];
    let input = open(path)?;
    let contents = Contents::read(&input, path, FileType::parse(&options.file_type)?, settings.verbose)?;
    let mut out = std::io::stdout().lock();
    for entry in contents.groups.iter().flat_map(|group| &group.entries) {
        writeln!(out, "{}", escaped_str(&entry.id)).map_err(|error| Failure::of_file(OsStr::new("-"), &error))?;
    }
    Ok(())
}
