//! The names of an image's kernels, for the index: read once, and kept beside the image until that changes.

use crate::cargo::Cargo;
use crate::error::Error;
use crate::output::{OutDir, image_file_name, write_if_changed};
use crate::pack::image::{self, Image};
use offload_format::pack_index::PackImageKind;
use std::fs;

/// The names in alphabetical order; `None` if they are not known, which is no error: programs then take any name.
pub(crate) fn of(module: &str, image: &Image, output: &OutDir, cargo: &Cargo) -> Result<Option<Vec<String>>, Error> {
    if matches!(image.kind, PackImageKind::SharedObject { .. }) {
        return Ok(None);
    }
    // Ready-made images of two modules may be files of one name.
    let record = output.work.join(image_file_name(&format!("{module}.{}", image.target), "kernels"));
    // Another version of this crate may read others.
    let first = format!("{} {}\n", env!("CARGO_PKG_VERSION"), image.hash);
    if let Ok(text) = fs::read_to_string(&record)
        && let Some(names) = text.strip_prefix(&first)
    {
        return Ok(Some(names.lines().map(str::to_owned).collect()));
    }
    let mut names = match image::kernels(&image.path) {
        Ok(names) => names,
        Err(error) => {
            cargo.note(&format!("any name will be taken for a kernel's: {error}"));
            return Ok(None);
        }
    };
    // Each is a line of the index. No compiler makes such a name.
    if let Some(name) = names.iter().find(|name| name.is_empty() || name.contains(char::is_control)) {
        return Err(Error::config(format!("{} has a kernel of the name {name:?}", image.path.display())));
    }
    names.sort_unstable();
    names.dedup();
    write_if_changed(&record, names.iter().fold(first, |text, name| text + name + "\n").as_bytes())?;
    Ok(Some(names))
}
