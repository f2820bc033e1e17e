//! The kinds of containers and files, detected from their bytes.

use crate::image::{FATBIN_MAGIC, ImageHeader};
#[cfg(feature = "object")]
use crate::object_file::Slices;
#[cfg(feature = "containers")]
use crate::text_bundle::TextBundle;
use crate::{archive, bundle, kpack, offload_binary, oxart, section};

/// The kinds of containers, shared by all crates. A `match` must name every kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ContainerKind {
    /// A binary bundle.
    Bundle,
    /// A compressed bundle.
    CompressedBundle,
    /// A bundle in text.
    TextBundle,
    /// A bundle in the sections of a host object.
    ObjectBundle,
    /// A table of device images in the sections of a program or object.
    ImageTable,
    /// An offload binary.
    OffloadBinary,
    /// NVIDIA's container.
    Fatbin,
    /// A ROCm kernel pack, a `.kpack` file.
    Kpack,
    /// A bundle of cuda-oxide.
    Oxart,
    /// No container: the file or archive member is itself an image (an AMD code object, a cubin,
    /// PTX, SPIR-V or LLVM bitcode).
    Raw,
}

impl ContainerKind {
    /// The kinds that start with a magic.
    const WITH_MAGIC: [Self; 6] = [
        Self::Bundle,
        Self::CompressedBundle,
        Self::OffloadBinary,
        Self::Fatbin,
        Self::Kpack,
        Self::Oxart,
    ];

    /// Returns the kind's name in JSON, its singular and plural in messages, and its magic, which
    /// is empty if the kind has none.
    const fn row(self) -> (&'static str, [&'static str; 2], &'static [u8]) {
        match self {
            Self::Bundle => ("bundle", ["bundle", "bundles"], bundle::MAGIC),
            Self::CompressedBundle => (
                "compressed-bundle",
                ["compressed bundle", "compressed bundles"],
                section::COMPRESSED_BUNDLE_MAGIC,
            ),
            Self::TextBundle => ("text-bundle", ["bundle in text", "bundles in text"], &[]),
            Self::ObjectBundle => (
                "object-bundle",
                ["bundle in the object's sections", "bundles in objects' sections"],
                &[],
            ),
            Self::ImageTable => ("image-table", ["image table", "image tables"], &[]),
            Self::OffloadBinary => {
                ("offload-binary", ["offload binary", "offload binaries"], &offload_binary::MAGIC)
            }
            Self::Fatbin => ("fatbin", ["fatbin", "fatbins"], &FATBIN_MAGIC),
            Self::Kpack => ("kpack", ["kernel pack", "kernel packs"], &kpack::MAGIC),
            Self::Oxart => {
                ("oxart", ["bundle of cuda-oxide", "bundles of cuda-oxide"], &oxart::MAGIC)
            }
            Self::Raw => ("raw", ["standalone image", "standalone images"], &[]),
        }
    }

    /// Returns the kind's name in the JSON of `cargo offload ls`: `bundle`, `compressed-bundle`,
    /// `text-bundle`, `object-bundle`, `image-table`, `offload-binary`, `fatbin`, `kpack`, `oxart`,
    /// `raw`.
    pub fn name(self) -> &'static str {
        self.row().0
    }

    /// Returns the name in messages for `count` containers of this kind: the singular for 1,
    /// otherwise the plural.
    #[inline]
    pub fn words(self, count: usize) -> &'static str {
        self.row().1[usize::from(count != 1)]
    }

    /// Returns the kind of container that starts with these bytes.
    pub fn of(data: &[u8]) -> Option<Self> {
        Self::WITH_MAGIC.into_iter().find(|kind| data.starts_with(kind.row().2))
    }

    /// Whether the images are scattered over the file: in several sections of an object, or between
    /// the marker lines of a text bundle.
    #[inline]
    pub fn is_in_pieces(self) -> bool {
        matches!(self, Self::TextBundle | Self::ObjectBundle | Self::ImageTable)
    }

    /// Whether this is a binary bundle, compressed or not, which HIP's runtime loads as a whole.
    pub fn is_binary_bundle(self) -> bool {
        matches!(self, Self::Bundle | Self::CompressedBundle)
    }
}

/// The kinds of files that can contain device code. A `match` must name every kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileKind {
    /// A container. Text bundles need the `containers` feature.
    Container(ContainerKind),
    /// An archive, thin or not.
    Archive,
    /// A universal Mach-O file. This kind needs the `object` feature.
    Universal,
    /// An executable, a shared object or an object: ELF, COFF, PE or Mach-O. Without the feature
    /// `object`, only ELF and PE files are detected.
    Host,
}

impl FileKind {
    /// Detects a file's kind from its first bytes; returns `None` for any other kind of file. Only
    /// the detection of text bundles reads the whole file.
    pub fn identify(data: &[u8]) -> Option<Self> {
        if let Some(kind) = ContainerKind::of(data) {
            return Some(FileKind::Container(kind));
        }
        if data.starts_with(archive::MAGIC) || data.starts_with(archive::THIN_MAGIC) {
            return Some(FileKind::Archive);
        }
        let kind = match ImageHeader::parse(data) {
            Ok(image) if image.is_device_code() => ContainerKind::Raw,
            #[cfg(feature = "object")]
            _ if Slices::are_in(data) => return Some(FileKind::Universal),
            #[cfg(feature = "object")]
            _ if super::host::is_host_file(data) => return Some(FileKind::Host),
            #[cfg(not(feature = "object"))]
            Ok(image) if image.is_for_cpu() => return Some(FileKind::Host),
            // Text bundles are the only kind whose detection searches the whole file.
            #[cfg(feature = "containers")]
            _ if TextBundle::detect(data).is_some() => ContainerKind::TextBundle,
            _ => return None,
        };
        Some(FileKind::Container(kind))
    }

    /// Whether the file is a container (not itself an image), an archive or a universal file. The
    /// images in such a file can be found without reading a host file.
    pub fn has_images(self) -> bool {
        !matches!(self, FileKind::Container(ContainerKind::Raw) | FileKind::Host)
    }
}
