//! Extracts images from a file.

use super::arguments::{Arguments, offload_kind, stem_and_extension};
use super::images::{Found, images};
use super::{print, warn, write, write_to};
use crate::files::{self, Output, PayloadSource};
use crate::text::escaped;
use offload_format::archive::ArchiveBuilder;
use offload_format::device_archive::member_symbols;
use offload_format::layout::Layout;
use offload_format::offload_binary::StatedKind;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// Writes the requested images of `input`; `arguments` holds the argument of each `--image`.
pub(super) fn extract(
    program: &str,
    input: &OsStr,
    arguments: &[OsString],
    archive: bool,
) -> Result<(), String> {
    let input = Path::new(input);
    let images = images(input)?;
    if arguments.is_empty() {
        return extract_all(input, expanded(input, images)?);
    }
    for text in arguments {
        let arguments = Arguments::parse(text);
        let matching: Vec<&Found> =
            images.iter().filter(|image| matches(&arguments, image)).collect();
        let Some(last) = matching.last() else { continue };
        match arguments.get("file") {
            Some(file) if archive => {
                let payloads: Vec<PayloadSource<'_>> =
                    matching.iter().map(|image| image.source()).collect();
                let layout = library(&matching)?;
                write(file, |output| output.layout(&layout, &payloads))?;
            }
            None if archive => return Err("Image must have a 'file' argument.".to_owned()),
            Some(file) => {
                if matching.len() > 1 {
                    warn(
                        program,
                        &format!("Multiple inputs match to a single file, '{}'", file.display()),
                    );
                }
                write(file, |output| output.copy(&last.source()))?;
            }
            None => {
                for (number, image) in matching.iter().enumerate() {
                    write_numbered(input, image, number, "-")?;
                }
            }
        }
    }
    Ok(())
}

/// Writes all images, including nested ones, and prints the names of the files. LLVM's main branch
/// does this if there is no `--image`; LLVM 22 writes nothing in this case.
fn extract_all(input: &Path, images: Vec<Found>) -> Result<(), String> {
    for (number, image) in images.iter().enumerate() {
        let name = write_numbered(input, image, number, "")?;
        print(&format!("Extracted: {name}\n"));
    }
    Ok(())
}

/// The maximum depth of nested offload binaries. LLVM sets no limit.
const DEPTH: u32 = 16;

/// The maximum number of images read from one file, including nested offload binaries. On each
/// level, many entries can name the same bytes, so without the limit, a small file could contain an
/// enormous number of images.
const MOST_IMAGES: usize = 1 << 16;

/// Returns the images in order. Replaces each image that consists of offload binaries with the
/// images in those binaries.
///
/// Returns an error if a nested binary is malformed, if there are too many images, or if the
/// nesting is too deep.
fn expanded(path: &Path, images: Vec<Found>) -> Result<Vec<Found>, String> {
    let mut all = Vec::new();
    let mut open: Vec<(Found, u32)> = images.into_iter().rev().map(|it| (it, DEPTH)).collect();
    let mut left = MOST_IMAGES;
    while let Some((image, depth)) = open.pop() {
        left = left.checked_sub(1).ok_or_else(|| {
            format!("'{}' contains more images than the limit of {MOST_IMAGES}", path.display())
        })?;
        match image.inner(path) {
            None => all.push(image),
            Some(_) if depth == 0 => {
                return Err(format!(
                    "'{}' contains offload binaries that are nested more than {DEPTH} deep",
                    path.display()
                ));
            }
            Some(inner) => open.extend(inner?.into_iter().rev().map(|it| (it, depth - 1))),
        }
    }
    Ok(all)
}

/// Whether an image has all requested values. A missing key counts as an empty value.
fn matches(arguments: &Arguments, image: &Found) -> bool {
    arguments.iter().all(|(key, value)| match key.to_str() {
        Some("file") => true,
        Some("kind") => {
            let kind = offload_kind(value);
            image.offload_kind == kind || image.offload_kind.is_hip() && kind.is_hip()
        }
        // Like LLVM's main branch, select by the archive member's name. An image's own string
        // `member` matches, too.
        Some("member") if !value.is_empty() && image.is_of_member(value.as_encoded_bytes()) => true,
        Some(key) => image.string(key) == value.as_encoded_bytes(),
        // No image has a key that is not UTF-8, so treat its value as empty.
        None => value.is_empty(),
    })
}

/// Returns the layout of a library with these images as members. Each member is named after the
/// file that its image comes from.
fn library(images: &[&Found]) -> Result<Layout, String> {
    let mut builder = ArchiveBuilder::new();
    for image in images {
        let origin = escaped(&image.origin);
        let size = image.bytes().len() as u64;
        let symbols = member_symbols(image.bytes())
            .map_err(|error| format!("an image in '{origin}': {error}"))?;
        let added = match symbols {
            Some(symbols) => builder.object(&image.origin, size, symbols),
            None => builder.member(&image.origin, size),
        };
        added.map_err(|error| format!("an image in '{origin}': {error}"))?;
    }
    Ok(builder.layout())
}

/// Writes an image to a file in the current folder, and returns the file's name: the input's name,
/// the target, the architecture (`no_arch` if there is none) and a number.
fn write_numbered(
    input: &Path,
    image: &Found,
    number: usize,
    no_arch: &str,
) -> Result<String, String> {
    let (stem, _) = stem_and_extension(input);
    let [triple, arch] =
        ["triple", "arch"].map(|key| String::from_utf8_lossy(image.string(key)).into_owned());
    let arch = if arch.is_empty() { no_arch.to_owned() } else { format!("-{arch}") };
    let name = files::name_in_folder(
        &format!("{stem}-{triple}{arch}"),
        &format!(".{number}.{}", extension(image.image_kind)),
    );
    let output = Output::create_in_folder(Path::new(&name));
    write_to(output, OsStr::new(&name), |output| output.copy(&image.source()))?;
    Ok(name)
}

fn extension(kind: StatedKind) -> &'static str {
    match kind {
        StatedKind::OBJECT => "o",
        StatedKind::BITCODE => "bc",
        StatedKind::CUBIN => "cubin",
        StatedKind::FATBINARY => "fatbin",
        StatedKind::PTX => "s",
        StatedKind::SPIRV => "spv",
        _ => "",
    }
}
