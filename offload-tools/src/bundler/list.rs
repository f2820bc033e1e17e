//! `-list`: prints the IDs of a bundle's entries.

use super::contents;
use super::settings::Settings;
use super::{Failure, FileType, Options, open};
use crate::files::{Input, MEMORY_LIMIT};
use crate::text::escaped_str;
use offload_format::fat_file::FileKind;
use offload_format::inventory::Inventory;
use std::borrow::Cow;
use std::ffi::OsStr;
use std::io::Write;

/// Prints the IDs of a bundle's entries, in file order.
pub(super) fn list(options: &Options) -> Result<(), Failure> {
    let settings = Settings::read(options);
    let path = &options.inputs[0];
    let input = open(path)?;
    let groups =
        contents::read(&input, path, FileType::parse(&options.file_type)?, settings.verbose)?;
    let mut ids: Vec<String> =
        groups.into_iter().flat_map(|group| group.entries).map(|entry| entry.id).collect();
    if ids.is_empty() {
        ids = ids_inside(&input);
    }
    let mut out = std::io::stdout().lock();
    for id in ids {
        writeln!(out, "{}", escaped_str(&id))
            .map_err(|error| Failure::of_file(OsStr::new("-"), &error))?;
    }
    Ok(())
}

/// Returns the entry IDs of bundles inside a file that is not a bundle: in the sections of a
/// program or library, or in an archive's members. `-list` does not report malformed entries there,
/// but `cargo offload verify` does.
fn ids_inside(input: &Input) -> Vec<String> {
    let is_around = matches!(
        FileKind::identify(input.bytes()),
        Some(FileKind::Archive | FileKind::Universal | FileKind::Host)
    );
    if !is_around {
        return Vec::new();
    }
    let inventory = Inventory::of(input.bytes(), MEMORY_LIMIT);
    inventory.images.into_iter().filter_map(|image| image.entry_id).map(Cow::into_owned).collect()
}
