//! The names of an image's kernels, for the index: read once, and kept beside the image until that changes.

use crate::cargo::Cargo;
use crate::error::Error;
use crate::output::{OutDir, image_file_name, record};
use crate::pack::image::{self, Image};
use offload_format::pack_index::PackImageKind;

/// The names in alphabetical order; `None` if they are not known, which is no error: programs then take any name.
pub(crate) fn of(module: &str, image: &Image, output: &OutDir, cargo: &Cargo) -> Result<Option<Vec<String>>, Error> {
    if matches!(image.kind, PackImageKind::SharedObject { .. }) {
        return Ok(None);
    }
    // Ready-made images of two modules may be files of one name.
    let path = output.work.join(image_file_name(&format!("{module}.{}", image.target), "kernels"));
    let of_image = ("image".to_owned(), image.hash.to_string());
    if let Some(lines) = record::read(&path)
        && let Some((first, names)) = lines.split_first()
        && *first == of_image
    {
        return Ok(Some(names.iter().map(|(_, name)| name.clone()).collect()));
    }
    let mut names = match image::kernels(&image.path) {
        Ok(names) => names,
        Err(error) => {
            cargo.note(&format!("any name will be taken for a kernel's: {error}"));
            return Ok(None);
        }
    };
    names.sort_unstable();
    names.dedup();
    let lines = names.iter().map(|name| ("kernel".to_owned(), name.clone()));
    record::write(&path, [of_image].into_iter().chain(lines))?;
    Ok(Some(names))
}
