//! Finds the kernels in an image. The build reads them once and stores them in a record, which is
//! valid until the image changes.
//!
//! When the program is compiled, the macro checks `PACK.kernel("x")`: an image in the pack must
//! contain this name. CPU images contain no names. If no image of a module contains names, any name
//! is accepted. If a module's compiled images contain no kernels, the build warns. The usual cause
//! is a kernel template that no source instantiates.

use crate::output::{OutDir, image_file_name, record};
use crate::pack::image::{self, Image};
use crate::pack::layout::ModuleImages;
use crate::toolchain::{Cargo, Error};
use offload_pack::pack_index::{IndexImage, IndexKernel, Origin};
use std::fs;

const IMAGE: &str = "image";

/// Returns the kernels in alphabetical order, or `None` if they are unknown. Unknown kernels are
/// not an error, because programs can then use any kernel name.
pub(crate) fn of(
    module: &str,
    image: &Image,
    output: &OutDir,
    cargo: &Cargo,
) -> Result<Option<Vec<IndexKernel>>, Error> {
    if !image.target.is_gpu() {
        return Ok(None);
    }
    // The record's name contains the module, because two modules may have supplied images with the
    // same file name.
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
            cargo.note(&format!("names of kernels will not be checked: {error}"));
            return Ok(None);
        }
    };
    let mut lines = vec![of_image];
    for kernel in &kernels {
        for line in kernel.to_string().lines() {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            lines.push((word.to_owned(), rest.to_owned()));
        }
    }
    record::write(&path, lines)?;
    Ok(Some(kernels))
}

/// Warns if a module's images contain no kernel.
pub(crate) fn warn_of_none(
    pack: &str,
    module: &ModuleImages,
    images: &[IndexImage],
    cargo: &Cargo,
) {
    let (mut targets, mut has_any) = (Vec::new(), false);
    for image in images {
        if let Some(kernels) = &image.kernels {
            has_any |= !kernels.is_empty();
            if image.origin == Origin::Compiled {
                targets.push(image.target.as_str());
            }
        }
    }
    if module.sources.is_empty() || targets.is_empty() || has_any {
        return;
    }
    let mut texts = Vec::new();
    for path in &module.sources {
        texts.extend(fs::read_to_string(path));
    }
    let help = if let Some(name) = texts.iter().find_map(|text| template(text)) {
        format!(
            "The kernel {name} is a template, so a source must instantiate it. Add a line such as \
             `template __global__ void {name}<float>(/* its parameters */);`"
        )
    } else if texts.iter().any(|text| text.contains("__global__")) {
        // A kernel may exist for only some targets.
        return;
    } else {
        "No source defines a kernel (__global__). If the kernels are templates in a header, \
         instantiate them in a source"
            .to_owned()
    };
    cargo.warn(&format!(
        "pack \"{pack}\": the images of the module \"{}\" for {} contain no kernels. {help}",
        module.name,
        targets.join(", ")
    ));
}

/// Returns the name of the first kernel template in a source's text.
fn template(source: &str) -> Option<&str> {
    source.split(['{', ';']).find_map(|text| {
        let (_, kernel) = text.split_once("template")?.1.split_once("__global__")?;
        // `__launch_bounds__(256)` may come before the name.
        let mut names = kernel.match_indices('(').map(|(end, _)| {
            let before = kernel[..end].trim_end();
            let is_part = |c: char| c.is_alphanumeric() || c == '_';
            &before[before.trim_end_matches(is_part).len()..]
        });
        names.find(|name| !name.is_empty() && !name.starts_with("__"))
    })
}

fn read(lines: &[(String, String)]) -> Option<Vec<IndexKernel>> {
    let mut kernels = Vec::new();
    lines.iter().try_for_each(|(word, rest)| IndexKernel::read_line(&mut kernels, word, rest))?;
    Some(kernels)
}

#[cfg(test)]
mod tests {
    use super::template;

    #[test]
    fn the_name_of_a_template() {
        for (source, name) in [
            ("template <typename T> __global__ void scale(T *x) {}", Some("scale")),
            (
                "template<class T>\n__global__ void __launch_bounds__(256) k (T *x, int n) {}",
                Some("k"),
            ),
            ("template <int N> __device__ float f() { return N; }\n__global__ void k() {}", None),
            ("template <class T, class U = S<(1 > 0)>> __global__ void k(T x);", Some("k")),
            ("// template __global__", None),
            ("__global__ void k(float *x) {}", None),
        ] {
            assert_eq!(template(source), name, "{source}");
        }
    }
}
