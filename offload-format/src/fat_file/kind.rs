//! The kind of a file, from its bytes.

use super::{containers, host};
use crate::image::{FATBIN_MAGIC, ImageHeader};
use crate::{archive, bundle, kpack, offload_binary, oxart, section};

/// The kinds of files that can have device code in them. A `match` must name all of them.
///
/// The format and its references are on the [module's page](super).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileKind {
    /// A binary bundle.
    Bundle,
    /// A compressed bundle.
    CompressedBundle,
    /// A text bundle. This kind needs the feature `containers`.
    TextBundle,
    /// An offload binary.
    OffloadBinary,
    /// NVIDIA's container.
    NvFatbin,
    /// One of ROCm's kernel packs, a `.kpack` file.
    Kpack,
    /// Bundles of cuda-oxide: the content of a section `.oxart`.
    Oxart,
    /// An AMD code object, a cubin, PTX, SPIR-V or LLVM bitcode.
    Image,
    /// An archive, thin or not.
    Archive,
    /// A universal Mach-O file. This kind needs the feature `object`.
    Universal,
    /// An executable, a shared object or an object: ELF, COFF, PE or Mach-O. Without the feature
    /// `object`, only ELF and PE files are detected.
    Host,
}

impl FileKind {
    /// Containers with a magic in their first bytes.
    const CONTAINERS: [Self; 6] = [
        Self::Bundle,
        Self::CompressedBundle,
        Self::OffloadBinary,
        Self::NvFatbin,
        Self::Kpack,
        Self::Oxart,
    ];

    /// Returns the bytes that a container starts with; for other kinds, returns no bytes.
    fn magic(self) -> &'static [u8] {
        match self {
            FileKind::Bundle => bundle::MAGIC,
            FileKind::CompressedBundle => section::COMPRESSED_BUNDLE_MAGIC,
            FileKind::OffloadBinary => &offload_binary::MAGIC,
            FileKind::NvFatbin => &FATBIN_MAGIC,
            FileKind::Kpack => &kpack::MAGIC,
            FileKind::Oxart => &oxart::MAGIC,
            FileKind::TextBundle
            | FileKind::Image
            | FileKind::Archive
            | FileKind::Universal
            | FileKind::Host => &[],
        }
    }

    /// Returns the kind of a file from its first bytes; `None` if it is none of these kinds. Only
    /// the search for a text bundle reads the whole file.
    pub fn identify(data: &[u8]) -> Option<Self> {
        if let Some(kind) = Self::of_container(data) {
            return Some(kind);
        }
        if data.starts_with(archive::MAGIC) || data.starts_with(archive::THIN_MAGIC) {
            return Some(FileKind::Archive);
        }
        match ImageHeader::parse(data) {
            Ok(image) if image.is_device_code() => Some(FileKind::Image),
            _ if host::is_universal(data) => Some(FileKind::Universal),
            image if host::is_host_file(data, image.ok()) => Some(FileKind::Host),
            _ => containers::is_text_bundle(data).then_some(FileKind::TextBundle),
        }
    }

    /// Returns the kind of container that starts with these bytes.
    pub(crate) fn of_container(data: &[u8]) -> Option<Self> {
        Self::CONTAINERS.into_iter().find(|kind| data.starts_with(kind.magic()))
    }

    /// Whether the file is a container, an archive or a universal file, whose images can be found
    /// without reading a host file.
    pub fn has_images(self) -> bool {
        match self {
            FileKind::Bundle
            | FileKind::CompressedBundle
            | FileKind::TextBundle
            | FileKind::OffloadBinary
            | FileKind::NvFatbin
            | FileKind::Kpack
            | FileKind::Oxart
            | FileKind::Archive
            | FileKind::Universal => true,
            FileKind::Image | FileKind::Host => false,
        }
    }
}
