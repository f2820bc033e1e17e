//! Finds images in fatbins, bundles, offload binaries, archives, and nested combinations of these.

use super::{HOST_FILE, Name, Part, single};
use offload_format::fat_file::FileKind;
#[cfg(feature = "containers")]
use offload_format::inventory::Images;
use offload_format::inventory::{ContainerKind, Image, Inventory};
use offload_format::{Error, ErrorKind};

/// The size limit for decompressed images in bytes, which no image reaches.
const LIMIT: u64 = 1 << 32;
/// The maximum nesting depth of containers, enough for fatbins in offload binaries in bundles in an
/// archive.
const DEPTH: u32 = 4;

const VERSION: &str =
    concat!(env!("CARGO_PKG_VERSION_MAJOR"), ".", env!("CARGO_PKG_VERSION_MINOR"));

/// Calls `visit` for every image in these bytes. If they cannot be split into images, the error is
/// the reason.
pub(super) fn walk(bytes: &[u8], visit: &mut dyn FnMut(Part<'_>)) -> Result<(), String> {
    walk_in(bytes, DEPTH, visit)
}

fn walk_in(bytes: &[u8], depth: u32, visit: &mut dyn FnMut(Part<'_>)) -> Result<(), String> {
    let inventory = Inventory::of(bytes, LIMIT);
    for problem in &inventory.problems {
        match problem.error.kind() {
            ErrorKind::Disabled { feature: "object" } => visit(Part::Other(HOST_FILE.to_owned())),
            _ => return Err(text(&problem.error)),
        }
    }
    if inventory.containers.is_empty() && inventory.problems.is_empty() {
        visit(single(bytes, None));
    }
    #[cfg(feature = "containers")]
    let mut images = Images::new(LIMIT);
    for image in &inventory.images {
        // A bundle's host entry is usually empty and never an image.
        if image.is_host() {
            continue;
        }
        if inventory.container(image).kind == ContainerKind::Fatbin && !is_loaded(image) {
            let what = format!("{} in a fatbin (no driver loads it from there)", image.label());
            visit(Part::Other(what));
            continue;
        }
        #[cfg(feature = "containers")]
        let bytes =
            &images.read(image).map_err(|error| text(&inventory.problem_of(image, error).error))?;
        #[cfg(not(feature = "containers"))]
        let bytes = image.in_file().ok_or_else(|| disabled("containers", "compressed image"))?;
        match (inventory.container(image).kind, &image.target_id) {
            // A fatbin records the letter after the number (`sm_90a`), but the image's own header
            // does not.
            (ContainerKind::Fatbin, Some(target)) => {
                visit(Part::Image(Name::Target(target.clone().into_owned()), bytes))
            }
            _ if !FileKind::identify(bytes).is_some_and(FileKind::has_images) => {
                visit(single(bytes, image.target_id.as_deref()))
            }
            _ => match depth.checked_sub(1) {
                Some(depth) => walk_in(bytes, depth, visit)?,
                None => visit(Part::Other("containers that are nested too deeply".to_owned())),
            },
        }
    }
    Ok(())
}

/// Whether a fatbin marks this image as a cubin or PTX. Drivers do not load the third kind,
/// scrambled LTO-IR.
fn is_loaded(image: &Image<'_>) -> bool {
    image.said_kind().is_some_and(|kind| kind.vendor().is_some()) && image.target_id.is_some()
}

fn text(error: &Error) -> String {
    match error.kind() {
        ErrorKind::NotBuiltIn { feature } => format!(
            "{} is compressed with {feature}; to read it, enable the feature `compression` of \
             offload-build",
            error.part()
        ),
        ErrorKind::Disabled { feature } => disabled(feature, error.part()),
        _ => error.to_string(),
    }
}

fn disabled(feature: &str, what: &str) -> String {
    format!(
        "to read what it contains ({what}), enable the feature `{feature}` of offload-build:\n  \
         offload-build = {{ version = \"{VERSION}\", features = [\"{feature}\"] }}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(file: &[u8]) -> Result<Vec<String>, String> {
        let mut targets = Vec::new();
        walk(file, &mut |part| match part {
            Part::Image(name, _) => targets.push(name.to_string()),
            Part::Other(what) => targets.push(what),
        })?;
        Ok(targets)
    }

    #[test]
    fn bundles_and_offload_binaries_take_no_feature() {
        let bundle = include_bytes!("../../../corpus/hip_dev.hipfb");
        assert_eq!(targets(bundle), Ok(vec!["gfx1100".to_owned(), "gfx906".to_owned()]));
    }
}
