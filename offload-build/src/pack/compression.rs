//! Compresses packs. Each module is a separate stream, which can be decompressed without the other
//! modules.
//!
//! An AMD-only pack contains a compressed bundle (`CCOB`, version 3) for each module, which HIP's
//! runtime accepts. Other packs contain an offload binary of version 3 for each module.

use crate::output::{OutDir, record, remove, write_if_changed};
use crate::pack::image::Image;
use crate::pack::layout::{self, ModuleImages, PackLayout};
use crate::toolchain::{Error, Parts, files};
use offload_format::bundle::HIP_ALIGN;
use offload_format::compressed::{self, CompressOptions, CompressedBundle};
use offload_format::compression::Method;
use offload_format::layout::Layout;
use offload_format::offload_binary::{self, OffloadBinary, OffloadBinaryBuilder, Version};
use offload_format::section::DeviceSection;
use offload_pack::pack_index::{IndexModule, IndexStream};
use std::fs;
use std::ops::Range;
use std::path::PathBuf;

/// Compresses a pack's modules, and returns the pack's layout.
///
/// Returns an error if a file cannot be read or written.
pub(crate) fn compress(
    modules: &[ModuleImages],
    section: DeviceSection,
    output: &OutDir,
) -> Result<PackLayout, Error> {
    let (mut layout, mut files, mut placed) = (Layout::new(), Vec::new(), Vec::new());
    for module in modules {
        if module.images.is_empty() {
            placed.push(IndexModule::new(module.name.clone()));
            continue;
        }
        let (container, align) = match section {
            DeviceSection::HipFatbin => (layout::bundle(&module.images, 0)?, HIP_ALIGN),
            DeviceSection::LlvmOffloading => (
                offload_binary(module, modules.len() > 1).layout(Version::V3),
                offload_binary::ALIGN,
            ),
        };
        let (bytes, stream) = module_bytes(module, &container, section, modules.len() > 1, output)?;
        layout.pad_to(align);
        let start = layout.size();
        // A bundle is compressed as a whole. In an offload binary, the header, `plain` bytes, stays
        // uncompressed.
        let (bundle, plain) = match section {
            DeviceSection::HipFatbin => (Some(start), 0),
            DeviceSection::LlvmOffloading => (None, stream.start),
        };
        let (offset, size, inflated_size) =
            (start + stream.start, stream.end - stream.start, container.size() - plain);
        let stream = Some(IndexStream { offset, size, inflated_size, method: Method::Zstd });
        let place = |(number, image): (usize, &Image)| {
            let offset = container.offset_of(number).expect("the layout has every image");
            image.at(offset - plain)
        };
        let images = module.images.iter().enumerate().map(place).collect();
        placed.push(IndexModule {
            bundle,
            stream,
            images,
            ..IndexModule::new(module.name.clone())
        });
        layout.append(Layout::payload(files.len(), bytes.len() as u64));
        files.push(path(module, output));
    }
    Ok(PackLayout { layout, files, modules: placed })
}

fn offload_binary(module: &ModuleImages, several: bool) -> OffloadBinaryBuilder {
    let mut builder = OffloadBinaryBuilder::new();
    layout::add_images(&mut builder, module, several);
    builder
}

fn path(module: &ModuleImages, output: &OutDir) -> PathBuf {
    output.work.join(format!("{}.compressed", module.name))
}

/// Returns the range of the compressed stream in a container, or `None` if the container is
/// damaged. Zeros may follow the container in `bytes`.
fn stream(bytes: &[u8], section: DeviceSection) -> Option<Range<u64>> {
    let (size, stream) = match section {
        DeviceSection::HipFatbin => {
            let bundle = CompressedBundle::parse(bytes).ok()?;
            (bundle.total_size?, bundle.payload)
        }
        DeviceSection::LlvmOffloading => {
            let binary = OffloadBinary::parse(bytes).ok()?;
            (binary.size(), binary.compressed?.stream)
        }
    };
    Some(size - stream.len() as u64..size)
}

/// Returns a module's compressed container, and the range of the container's stream. Reuses an
/// earlier run's container if it was made from the same images.
fn module_bytes(
    module: &ModuleImages,
    container: &Layout,
    section: DeviceSection,
    several: bool,
    output: &OutDir,
) -> Result<(Vec<u8>, Range<u64>), Error> {
    let mut key = Parts::default();
    key.add(section.elf_name());
    key.add(if several { "true" } else { "false" });
    key.add(&module.name);
    for image in &module.images {
        key.add(image.target.as_str());
        key.add(&image.hash.to_string());
    }
    let key = vec![("key".to_owned(), key.finish().to_string())];
    let path = path(module, output);
    let key_path = path.with_extension("compressed.key");
    if record::read(&key_path).is_some_and(|known| known == key)
        && let Ok(bytes) = fs::read(&path)
        && let Some(stream) = stream(&bytes, section)
    {
        return Ok((bytes, stream));
    }
    // Remove the old key first, so that an interrupted build cannot leave the new container with
    // the old key.
    remove(&key_path)?;
    let read = |image: &Image| files::read(&image.path);
    let images = module.images.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let images: Vec<&[u8]> = images.iter().map(|image| &**image).collect();
    let made = match section {
        DeviceSection::HipFatbin => {
            compressed::compress(&container.to_vec(&images), &CompressOptions::default())
        }
        DeviceSection::LlvmOffloading => {
            offload_binary(module, several).compressed(Method::Zstd, None, &images)
        }
    };
    let bytes =
        made.map_err(|error| Error::config(format!("could not compress the pack: {error}")))?;
    let stream = stream(&bytes, section).ok_or_else(|| {
        Error::config(format!("could not read back the compressed module \"{}\"", module.name))
    })?;
    write_if_changed(&path, &bytes)?;
    record::write(&key_path, key)?;
    Ok((bytes, stream))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::targets::Target;
    use crate::toolchain::{Cargo, ContentHash};
    use offload_pack::pack_index::{Origin, PackImageKind};

    /// Returns a module with these bytes as its image.
    fn module(output: &OutDir, bytes: &[u8]) -> ModuleImages {
        let path = output.images.join("gfx90a.hsaco");
        fs::write(&path, bytes).unwrap();
        let hash = ContentHash::of_file(&path).unwrap();
        let kind = PackImageKind::CodeObject { version: 6 };
        let (target, size, origin) =
            (Target::parse("gfx90a").unwrap(), bytes.len() as u64, Origin::Supplied);
        ModuleImages {
            name: "only".to_owned(),
            images: vec![Image { target, path, size, hash, kind, origin }],
            signatures: Ok(Default::default()),
            sources: Vec::new(),
        }
    }

    /// Returns the decompressed bytes of this module's pack.
    fn packed(
        module: &ModuleImages,
        section: DeviceSection,
        output: &OutDir,
    ) -> Result<Vec<u8>, Error> {
        let content = compress(std::slice::from_ref(module), section, output)?;
        let IndexModule { stream, images, .. } = &content.modules[0];
        let stream = stream.unwrap();
        let bytes = fs::read(&content.files[0]).unwrap();
        let inflated = match section {
            DeviceSection::HipFatbin => {
                CompressedBundle::parse(&bytes).unwrap().decompress(1 << 20).unwrap()
            }
            DeviceSection::LlvmOffloading => {
                let binary = OffloadBinary::parse(&bytes).unwrap().compressed.unwrap();
                // The pack contains only this binary.
                binary.decompress(1 << 20).unwrap().split_off(stream.offset as usize)
            }
        };
        assert_eq!(inflated.len() as u64, stream.inflated_size);
        let offset = images[0].offset as usize;
        Ok(inflated[offset..][..module.images[0].size as usize].to_vec())
    }

    #[test]
    fn what_was_compressed_before_is_taken_only_whole() {
        let scratch = tempfile::tempdir().unwrap();
        let mut cargo = Cargo::outside("x86_64-unknown-linux-gnu", true);
        cargo.out_dir = scratch.path().to_owned();
        let output = OutDir::create(&cargo, "pack").unwrap();
        let (one, two) = (vec![b'1'; 5000], vec![b'2'; 6000]);
        for section in [DeviceSection::HipFatbin, DeviceSection::LlvmOffloading] {
            let first = module(&output, &one);
            assert_eq!(packed(&first, section, &output).unwrap(), one);
            let file = path(&first, &output);
            let key = file.with_extension("compressed.key");
            // A truncated file is regenerated.
            for size in [0, 20, 45] {
                let bytes = fs::read(&file).unwrap();
                fs::write(&file, &bytes[..size]).unwrap();
                assert_eq!(packed(&first, section, &output).unwrap(), one);
                assert_eq!(fs::read(&file).unwrap(), bytes);
            }
            // No key file exists while a new container is written. To make the write fail, replace
            // the container with a folder.
            fs::remove_file(&file).unwrap();
            fs::create_dir_all(file.join("in_the_way")).unwrap();
            let second = module(&output, &two);
            packed(&second, section, &output).map(drop).unwrap_err();
            assert!(!key.exists());
            fs::remove_dir_all(&file).unwrap();
            assert_eq!(packed(&second, section, &output).unwrap(), two);
        }
    }
}
