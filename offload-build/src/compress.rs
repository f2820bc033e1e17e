//! Compressed packs: each module is a stream of its own, so that one is had without the others.
//!
//! For AMD alone it is a compressed bundle for each module (`CCOB`, version 3), which HIP's runtime takes as it is; for any
//! other mix an offload binary of version 3 for each.

use crate::error::Error;
use crate::hash::Parts;
use crate::image::Image;
use crate::output::{OutDir, write_if_changed};
use crate::pack::{self, Content, ModuleImages};
use offload_format::bundle::HIP_ALIGN;
use offload_format::compressed::{self, CompressOptions};
use offload_format::compression::Method;
use offload_format::host_object::DeviceSection;
use offload_format::layout::Layout;
use offload_format::offload_binary::{OffloadBinaryBuilder, Version};
use offload_format::pack_index::IndexStream;
use std::fs;
use std::path::PathBuf;

/// Size of the header of either container, which is not compressed.
const BUNDLE_HEADER: u64 = 32;
const BINARY_HEADER: u64 = 40;

/// Compresses the modules.
///
/// Returns an error if a file cannot be read or written.
pub(crate) fn compress(modules: &[ModuleImages], section: DeviceSection, output: &OutDir) -> Result<Content, Error> {
    let (mut layout, mut files, mut offsets) = (Layout::new(), Vec::new(), Vec::new());
    let (mut starts, mut streams) = (Vec::new(), Vec::new());
    for module in modules {
        if module.images.is_empty() {
            starts.push(None);
            streams.push(None);
            continue;
        }
        let (container, header, align) = match section {
            DeviceSection::HipFatbin => (pack::bundle(&module.images, 0)?, BUNDLE_HEADER, HIP_ALIGN),
            DeviceSection::LlvmOffloading => {
                (offload_binary(module, modules.len() > 1).layout(Version::V3), BINARY_HEADER, 8)
            }
        };
        // What of the container is compressed: a bundle whole, an offload binary but for its header.
        let plain = if section == DeviceSection::HipFatbin { 0 } else { header };
        let bytes = module_bytes(module, &container, section, modules.len() > 1, output)?;
        let path = path(module, output);
        layout.pad_to(align);
        let start = layout.size();
        let size = stream_end(&bytes, section) - header;
        let inflated_size = container.size() - plain;
        starts.push(Some(start));
        streams.push(Some(IndexStream { offset: start + header, size, inflated_size, method: Method::Zstd }));
        offsets.extend(
            (0..module.images.len())
                .map(|image| container.offset_of(image).expect("the layout has every image") - plain),
        );
        layout.append(Layout::payload(files.len(), bytes.len() as u64));
        files.push(path);
    }
    Ok(Content { layout, files, starts, streams, offsets })
}

fn offload_binary(module: &ModuleImages, several: bool) -> OffloadBinaryBuilder {
    let mut builder = OffloadBinaryBuilder::new();
    pack::add_images(&mut builder, module, several);
    builder
}

fn path(module: &ModuleImages, output: &OutDir) -> PathBuf {
    output.work.join(format!("{}.compressed", module.name))
}

/// Where the stream ends, behind which zeros may stand.
fn stream_end(bytes: &[u8], section: DeviceSection) -> u64 {
    match (section, bytes.get(8..16)) {
        (DeviceSection::LlvmOffloading, Some(size)) => u64::from_le_bytes(size.try_into().unwrap_or_default()),
        _ => bytes.len() as u64,
    }
}

/// The compressed container of a module: that of an earlier run, if it was made from the same images.
fn module_bytes(
    module: &ModuleImages,
    container: &Layout,
    section: DeviceSection,
    several: bool,
    output: &OutDir,
) -> Result<Vec<u8>, Error> {
    let mut key = Parts::default();
    key.add(env!("CARGO_PKG_VERSION"));
    key.add(section.elf_name());
    key.add(if several { "true" } else { "false" });
    key.add(&module.name);
    for image in &module.images {
        key.add(&image.target);
        key.add(&image.hash.to_string());
    }
    let key = key.finish().to_string();
    let path = path(module, output);
    let key_path = path.with_extension("compressed.key");
    if fs::read_to_string(&key_path).is_ok_and(|known| known == key)
        && let Ok(bytes) = fs::read(&path)
    {
        return Ok(bytes);
    }
    let read = |image: &Image| fs::read(&image.path).map_err(|error| Error::io("read", &image.path, error));
    let images = module.images.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let images: Vec<&[u8]> = images.iter().map(|image| &**image).collect();
    let made = match section {
        DeviceSection::HipFatbin => compressed::compress(&container.to_vec(&images), &CompressOptions::default()),
        DeviceSection::LlvmOffloading => offload_binary(module, several).compressed(Method::Zstd, None, &images),
    };
    let bytes = made.map_err(|error| Error::config(format!("the pack cannot be compressed: {error}")))?;
    write_if_changed(&path, &bytes)?;
    write_if_changed(&key_path, key.as_bytes())?;
    Ok(bytes)
}
