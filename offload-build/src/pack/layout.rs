//! Lays out the bytes of a pack: the containers of its modules, one after another.

use crate::pack::image::Image;
use crate::toolchain::Error;
use offload_format::bundle::{BundleBuilder, HIP_ALIGN, HIP_ENTRY_PREFIX, HIP_TABLE_LIMIT};
use offload_format::layout::Layout;
use offload_format::offload_binary::{OffloadBinaryBuilder, OffloadKind, StatedKind, Version};
use offload_format::section::DeviceSection;
use offload_pack::pack_index::IndexModule;
use offload_pack::signature::Signatures;
use std::path::PathBuf;

/// A module's images before they are packed.
pub(crate) struct ModuleImages {
    pub(crate) name: String,
    pub(crate) images: Vec<Image>,
    /// The known signatures of the module's kernels, or the reason why the signatures are unknown.
    pub(crate) signatures: Result<Signatures, String>,
    /// The CUDA and HIP sources, which may contain kernel templates.
    pub(crate) sources: Vec<PathBuf>,
}

pub(crate) struct PackLayout {
    /// The pack's layout. Its payload numbers are positions in `files`.
    pub(crate) layout: Layout,
    pub(crate) files: Vec<PathBuf>,
    /// The modules with their images, but without kernels and signatures.
    pub(crate) modules: Vec<IndexModule>,
}

/// Returns the layout of an uncompressed pack.
pub(crate) fn plain(modules: &[ModuleImages], section: DeviceSection) -> Result<PackLayout, Error> {
    let (mut layout, mut files, mut placed) = (Layout::new(), Vec::<PathBuf>::new(), Vec::new());
    let mut binaries = OffloadBinaryBuilder::new();
    for module in modules {
        let mut bundle = None;
        match section {
            // Each module with images gets a bundle, in the form that HIP's runtime reads.
            DeviceSection::HipFatbin if !module.images.is_empty() => {
                layout.pad_to(HIP_ALIGN);
                bundle = Some(layout.size());
                layout.append(self::bundle(&module.images, files.len())?);
            }
            DeviceSection::HipFatbin => {}
            DeviceSection::LlvmOffloading => add_images(&mut binaries, module, modules.len() > 1),
        }
        for image in &module.images {
            files.push(image.path.clone());
        }
        placed.push(IndexModule { bundle, ..IndexModule::new(module.name.clone()) });
    }
    if section == DeviceSection::LlvmOffloading {
        layout = binaries.layout(Version::V1);
    }
    let mut number = 0;
    for (module, placed) in modules.iter().zip(&mut placed) {
        for image in &module.images {
            let offset = layout.offset_of(number).expect("the layout has every image");
            placed.images.push(image.at(offset));
            number += 1;
        }
    }
    Ok(PackLayout { layout, files, modules: placed })
}

/// Returns the layout of one bundle. `first` is the payload number of the bundle's first image.
pub(crate) fn bundle(images: &[Image], first: usize) -> Result<Layout, Error> {
    let mut builder = BundleBuilder::hip();
    for image in images {
        let id = format!("{HIP_ENTRY_PREFIX}{}", image.target);
        builder.entry(&id, image.size).map_err(|error| Error::config(error.to_string()))?;
    }
    let layout = builder.layout();
    let table = layout.pieces().first().map_or(0, |header| header.size());
    if table > HIP_TABLE_LIMIT {
        return Err(Error::config(format!(
            "the entry table for {} targets is {table} bytes, but HIP's runtime reads only \
             {HIP_TABLE_LIMIT}. List fewer targets.",
            images.len()
        )));
    }
    // Entry 0 is for the host, and is empty.
    Ok(layout.nest(|entry| match entry.checked_sub(1) {
        Some(image) => Layout::payload(first + image, images[image].size),
        None => Layout::new(),
    }))
}

/// Adds one module's images, with the module's name if the pack has several modules.
pub(crate) fn add_images(builder: &mut OffloadBinaryBuilder, module: &ModuleImages, several: bool) {
    for image in &module.images {
        let offload_kind = OffloadKind::named(image.kind.vendor().offload_kind());
        let strings =
            builder.image(StatedKind::of_pack_image(&image.kind), offload_kind, image.size);
        strings.string("triple", image.kind.triple());
        if image.target.is_gpu() {
            strings.string("arch", image.target.as_str());
        }
        if several {
            strings.string("module", &module.name);
        }
    }
}
