//! Puts images together: the pack, the host object around it, and the index that the macro reads.

use crate::cargo::Cargo;
use crate::error::Error;
use crate::hash::ContentHash;
use crate::image::Image;
use crate::output::{OutDir, write_if_changed, write_layout};
use offload_format::archive;
use offload_format::bundle::{BundleBuilder, HIP_ENTRY_PREFIX, HIP_TABLE_LIMIT};
use offload_format::embedded::{Origin, PackImageKind};
use offload_format::host_object::{self, CargoTarget, DeviceSection, Machine, ObjectFormat};
use offload_format::layout::Layout;
use offload_format::offload_binary::{ImageKind, OffloadBinaryBuilder, OffloadKind, Version};
use offload_format::pack_index::{Index, IndexImage, PackIndex};
use std::path::{Path, PathBuf};

/// What [`Build::compile`](crate::Build::compile) made.
#[derive(Debug, Clone)]
pub struct Pack {
    name: String,
    path: Option<PathBuf>,
    images: Vec<PackedImage>,
}

/// One image of a [`Pack`].
#[derive(Debug, Clone)]
pub struct PackedImage {
    target: String,
    path: PathBuf,
    size: u64,
    origin: Origin,
}

impl Pack {
    /// The name it was given.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The file with the bytes that are embedded: an offload bundle, if all targets are AMD's, or offload binaries.
    /// `None` if nothing was compiled (`OFFLOAD_SKIP`, docs.rs).
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The images, in the order of the targets.
    pub fn images(&self) -> &[PackedImage] {
        &self.images
    }
}

impl PackedImage {
    /// Canonical name of the target.
    pub fn target(&self) -> &str {
        &self.target
    }

    /// The image in a file of its own.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Size in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Where it came from.
    pub fn origin(&self) -> Origin {
        self.origin
    }
}

/// Writes the index of a pack that is not built.
pub(crate) fn write_absent(name: &str, why: &str, output: &OutDir) -> Result<Pack, Error> {
    let index = Index::Absent { name: name.to_owned(), why: why.to_owned() };
    write_if_changed(&output.index(), index.to_string().as_bytes())?;
    Ok(Pack { name: name.to_owned(), path: None, images: Vec::new() })
}

/// What host objects are made for.
///
/// Returns an error for a host into whose programs packs cannot be linked.
pub(crate) fn machine(cargo: &Cargo) -> Result<Machine, Error> {
    let machine = Machine::of(&CargoTarget {
        arch: &cargo.target_arch,
        os: &cargo.target_os,
        pointer_width: &cargo.target_pointer_width,
        endian: &cargo.target_endian,
    });
    machine.ok_or_else(|| {
        Error::config(format!(
            "packs can be embedded in 64-bit programs for Linux, Android, BSD and illumos (x86_64, aarch64, riscv64, \
             loongarch64) and for Windows and macOS (x86_64, aarch64); this host is {}",
            cargo.target
        ))
    })
}

/// Writes pack, library and index.
pub(crate) fn write(
    name: &str,
    images: &[Image],
    machine: Machine,
    output: &OutDir,
    cargo: &Cargo,
) -> Result<Pack, Error> {
    let only_amd = images.iter().all(|image| matches!(image.kind, PackImageKind::CodeObject { .. }));
    let (section, layout) = match only_amd {
        true => (DeviceSection::HipFatbin, bundle(images)?),
        false => (DeviceSection::LlvmOffloading, offload_binaries(images)),
    };
    let files: Vec<PathBuf> = images.iter().map(|image| image.path.clone()).collect();
    let hash = content_hash(section, &layout, images);
    let library = format!("offload_{name}_{hash}");
    let symbol = format!("offload_pack_{hash}");

    let object = host_object::write(machine, section, &symbol, layout.size())
        .map_err(|error| Error::config(format!("the pack is too large for one library: {error}")))?;
    let write_library = match machine.format() {
        ObjectFormat::MachO => archive::write_darwin_library,
        _ => archive::write_library,
    };
    let archive = write_library("offload.o", &machine.linker_name(&symbol), object.size());
    let library_offset = archive.offset_of(0).unwrap_or(0) + object.offset_of(0).unwrap_or(0);
    let library_layout = archive.nest(|_| object.clone()).nest(|_| layout.clone());
    let library_path = output.library(&library);
    write_layout(&output.pack(), &layout, &files)?;
    write_layout(&library_path, &library_layout, &files)?;

    let index_image = |(number, image): (usize, &Image)| IndexImage {
        target: image.target.clone(),
        offset: layout.offset_of(number).expect("the layout has every image"),
        size: image.size,
        origin: image.origin,
        kind: image.kind.clone(),
    };
    let index = Index::Built(PackIndex {
        name: name.to_owned(),
        library: library.clone(),
        library_size: library_layout.size(),
        library_offset,
        symbol,
        section,
        size: layout.size(),
        images: images.iter().enumerate().map(index_image).collect(),
    });
    write_if_changed(&output.index(), index.to_string().as_bytes())?;
    output.remove_stale_libraries(&format!("offload_{name}_"), &library_path);
    cargo.link_search(&output.root);

    let packed = |image: &Image| PackedImage {
        target: image.target.clone(),
        path: image.path.clone(),
        size: image.size,
        origin: image.origin,
    };
    Ok(Pack { name: name.to_owned(), path: Some(output.pack()), images: images.iter().map(packed).collect() })
}

/// One bundle, as HIP's runtime takes it. Payload numbers are positions in `images`.
fn bundle(images: &[Image]) -> Result<Layout, Error> {
    let mut builder = BundleBuilder::hip();
    for image in images {
        let id = format!("{HIP_ENTRY_PREFIX}{}", image.target);
        builder.entry(&id, image.size).map_err(|error| Error::config(error.to_string()))?;
    }
    let layout = builder.layout();
    let table = layout.pieces().first().map_or(0, |header| header.size());
    if table > HIP_TABLE_LIMIT {
        return Err(Error::config(format!(
            "{} targets make an entry table of {table} bytes; HIP's runtime reads {HIP_TABLE_LIMIT}. List fewer targets.",
            images.len()
        )));
    }
    // Entry 0 is the host's, without bytes.
    Ok(layout.nest(|entry| match entry.checked_sub(1) {
        Some(image) => Layout::payload(image, images[image].size),
        None => Layout::new(),
    }))
}

/// One offload binary after another.
fn offload_binaries(images: &[Image]) -> Layout {
    let mut builder = OffloadBinaryBuilder::new();
    for image in images {
        let (image_kind, offload_kind, triple) = match &image.kind {
            PackImageKind::CodeObject { .. } => (ImageKind::OBJECT, OffloadKind::HIP, "amdgcn-amd-amdhsa"),
            PackImageKind::Cubin => (ImageKind::CUBIN, OffloadKind::CUDA, "nvptx64-nvidia-cuda"),
            PackImageKind::Ptx { .. } => (ImageKind::PTX, OffloadKind::CUDA, "nvptx64-nvidia-cuda"),
            PackImageKind::SharedObject { triple } => (ImageKind::OBJECT, OffloadKind::NONE, triple.as_str()),
        };
        let strings = builder.image(image_kind, offload_kind, image.size).string("triple", triple);
        if !matches!(image.kind, PackImageKind::SharedObject { .. }) {
            strings.string("arch", &image.target);
        }
    }
    builder.layout(Version::V1)
}

/// Of section, structure and images: what two packs must share to be one.
fn content_hash(section: DeviceSection, layout: &Layout, images: &[Image]) -> ContentHash {
    let structure = [section.elf_name().to_owned(), format!("{:?}", layout.pieces())];
    ContentHash::of_parts(structure.into_iter().chain(images.iter().map(|image| image.hash.to_string())))
}
