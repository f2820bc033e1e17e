//! What an image says of its kernels: read once, and kept beside the image until that changes.

use crate::cargo::Cargo;
use crate::error::Error;
use crate::output::{OutDir, image_file_name, record};
use crate::pack::image::{self, Image, ImageKernel};
use offload_format::pack_index::PackImageKind;

const IMAGE: &str = "image";
const KERNEL: &str = "kernel";
const ARGUMENT: &str = "argument";

/// The kernels in alphabetical order; `None` if they are not known, which is no error: programs then take any name.
pub(crate) fn of(
    module: &str,
    image: &Image,
    output: &OutDir,
    cargo: &Cargo,
) -> Result<Option<Vec<ImageKernel>>, Error> {
    if matches!(image.kind, PackImageKind::SharedObject { .. }) {
        return Ok(None);
    }
    // Ready-made images of two modules may be files of one name.
    let path = output.work.join(image_file_name(&format!("{module}.{}", image.target), "arguments"));
    let of_image = (IMAGE.to_owned(), image.hash.to_string());
    if let Some(lines) = record::read(&path)
        && let Some((first, lines)) = lines.split_first()
        && *first == of_image
        && let Some(kernels) = read(lines)
    {
        return Ok(Some(kernels));
    }
    let mut kernels = match image::read_kernels(&image.path) {
        Ok(kernels) => kernels,
        Err(error) => {
            cargo.note(&format!("any name will be taken for a kernel's: {error}"));
            return Ok(None);
        }
    };
    kernels.sort_unstable_by(|one, other| one.name.cmp(&other.name));
    kernels.dedup_by(|one, other| one.name == other.name);
    let lines = kernels.iter().flat_map(|kernel| {
        let arguments = kernel.arguments.iter().map(|(at, size)| (ARGUMENT.to_owned(), format!("{at} {size}")));
        [(KERNEL.to_owned(), kernel.name.clone())].into_iter().chain(arguments)
    });
    record::write(&path, [of_image].into_iter().chain(lines))?;
    Ok(Some(kernels))
}

fn read(lines: &[(String, String)]) -> Option<Vec<ImageKernel>> {
    let mut kernels: Vec<ImageKernel> = Vec::new();
    for (word, text) in lines {
        match word.as_str() {
            KERNEL => kernels.push(ImageKernel { name: text.clone(), arguments: Vec::new() }),
            ARGUMENT => {
                let (offset, size) = text.split_once(' ')?;
                kernels.last_mut()?.arguments.push((offset.parse().ok()?, size.parse().ok()?));
            }
            _ => return None,
        }
    }
    Some(kernels)
}
