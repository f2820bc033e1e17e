//! The kernels of an image. They are read once and stored in a record, which is valid until the
//! image changes.

use crate::cargo::Cargo;
use crate::error::Error;
use crate::output::{OutDir, image_file_name, record};
use crate::pack::image::{self, Image};
use offload_format::pack_index::{IndexKernel, PackImageKind};

const IMAGE: &str = "image";

/// Returns the kernels in alphabetical order; `None` if they are unknown. Unknown kernels are no
/// error: programs can then use any name as the name of a kernel.
pub(crate) fn of(
    module: &str,
    image: &Image,
    output: &OutDir,
    cargo: &Cargo,
) -> Result<Option<Vec<IndexKernel>>, Error> {
    if matches!(image.kind, PackImageKind::SharedObject { .. }) {
        return Ok(None);
    }
    // The record's name contains the module, because supplied images of two modules may be files
    // with the same name.
    let path =
        output.work.join(image_file_name(&format!("{module}.{}", image.target), "arguments"));
    let of_image = (IMAGE.to_owned(), image.hash.to_string());
    if let Some(lines) = record::read(&path)
        && let Some((first, lines)) = lines.split_first()
        && *first == of_image
        && let Some(kernels) = read(lines)
    {
        return Ok(Some(kernels));
    }
    let kernels = match image::read_kernels(&image.path) {
        Ok(kernels) => kernels,
        Err(error) => {
            cargo.note(&format!("any name will be taken for a kernel's: {error}"));
            return Ok(None);
        }
    };
    let text: String = kernels.iter().map(|kernel| format!("{kernel}\n")).collect();
    let lines = text.lines().map(|line| line.split_once(' ').unwrap_or((line, "")));
    let lines = lines.map(|(word, rest)| (word.to_owned(), rest.to_owned()));
    record::write(&path, [of_image].into_iter().chain(lines))?;
    Ok(Some(kernels))
}

fn read(lines: &[(String, String)]) -> Option<Vec<IndexKernel>> {
    let mut kernels = Vec::new();
    lines.iter().try_for_each(|(word, rest)| IndexKernel::read_line(&mut kernels, word, rest))?;
    Some(kernels)
}
