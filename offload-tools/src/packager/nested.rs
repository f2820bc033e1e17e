//! Images that are offload binaries themselves.

use super::images::Found;
use std::path::Path;

/// The maximum depth of nested offload binaries. LLVM sets no limit.
const DEPTH: u32 = 16;

/// The maximum number of images that are read in one file, including nested offload binaries. On
/// each level, many entries can name the same bytes. Without this limit, a small file could contain
/// an enormous number of images.
const MOST_IMAGES: usize = 1 << 16;

/// Replaces each image that consists of offload binaries by their images, in order.
///
/// Returns an error if a nested binary is malformed, if there are too many images, or if the
/// nesting is too deep.
pub(super) fn expand(path: &Path, images: Vec<Found>) -> Result<Vec<Found>, String> {
    let (mut all, mut left) = (Vec::new(), MOST_IMAGES);
    add(path, images, DEPTH, &mut left, &mut all)?;
    Ok(all)
}

fn add(
    path: &Path,
    images: Vec<Found>,
    depth: u32,
    left: &mut usize,
    all: &mut Vec<Found>,
) -> Result<(), String> {
    for image in images {
        *left = left
            .checked_sub(1)
            .ok_or_else(|| format!("'{}': more than {MOST_IMAGES} images", path.display()))?;
        match image.inner(path) {
            None => all.push(image),
            Some(_) if depth == 0 => {
                return Err(format!(
                    "'{}': offload binaries more than {DEPTH} deep in each other",
                    path.display()
                ));
            }
            Some(inner) => add(path, inner?, depth - 1, left, all)?,
        }
    }
    Ok(())
}
