//! Containers.

use super::Place;
use crate::bundle::Bundle;
#[cfg(feature = "containers")]
use crate::compressed::CompressedBundle;
#[cfg(feature = "object")]
use crate::image_table::ImageTable;
#[cfg(feature = "containers")]
use crate::nv_fatbin::NvFatbin;
#[cfg(feature = "object")]
use crate::object_bundle::ObjectBundle;
use crate::offload_binary::OffloadBinary;
#[cfg(feature = "containers")]
use crate::oxart::Oxart;
#[cfg(feature = "containers")]
use crate::text_bundle::TextBundle;
use alloc::string::String;
use core::ops::Range;

/// One container of a file.
///
/// The format and its references are on the [module's page](super).
#[derive(Debug)]
pub struct Container<'a> {
    /// The kind of the container.
    pub kind: ContainerKind,
    /// The place of the container; `place.offset` is the offset of the container itself.
    pub place: Place<'a>,
    /// The size in the file, in bytes. For object bundles and text bundles, the size of the entries
    /// alone.
    pub size: u64,
    /// The size of the decompressed content in bytes, as the header records it; `None` if the
    /// container is not compressed as a whole. Images of a fatbin are compressed separately:
    /// [`Image::stored_size`](super::Image::stored_size).
    pub inflated_size: Option<u64>,
    /// The compression method: `zstd`, `zlib`, `method 7`; `None` if `inflated_size` is `None`.
    pub method: Option<String>,
    /// The container's images: indices of [`Inventory::images`](super::Inventory::images).
    pub images: Range<usize>,
    /// Whether an image table lists this container among the images of its program.
    pub is_in_table: bool,
    /// The parsed container, for callers that need details that the inventory does not have.
    pub view: View<'a>,
    /// The container's part in a link of NVIDIA's relocatable device code.
    pub link: Option<DeviceLink>,
}

/// The part of a fatbin in a link of NVIDIA's relocatable device code.
///
/// If the linked machine code does not fit a GPU, the driver compiles and links the parts when it
/// loads the program. For that, each part needs an image that fits.
///
/// Source: nvcc manual 13, "JIT Linking Support"; `fatbinary_section.h` and `link.stub` of CUDA
/// 13.5; nvJitLink 13.5 links parts for the same GPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceLink {
    /// The result of the link.
    Linked,
    /// The code of one object of the link.
    Part,
}

/// The kind of a container. A match has to name all of them, so one that forgets a kind does not
/// compile.
///
/// The format and its references are on the [module's page](super).
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
    /// One of ROCm's kernel packs.
    Kpack,
    /// A bundle of cuda-oxide.
    Oxart,
    /// No container: the file, or an archive's member, is the image.
    Raw,
}

impl ContainerKind {
    /// Returns the name of the kind in the JSON of `cargo offload ls`: `bundle`,
    /// `compressed-bundle`, `text-bundle`, `object-bundle`, `image-table`, `offload-binary`,
    /// `fatbin`, `kpack`, `oxart`, `raw`.
    pub fn name(self) -> &'static str {
        match self {
            ContainerKind::Bundle => "bundle",
            ContainerKind::CompressedBundle => "compressed-bundle",
            ContainerKind::TextBundle => "text-bundle",
            ContainerKind::ObjectBundle => "object-bundle",
            ContainerKind::ImageTable => "image-table",
            ContainerKind::OffloadBinary => "offload-binary",
            ContainerKind::Fatbin => "fatbin",
            ContainerKind::Kpack => "kpack",
            ContainerKind::Oxart => "oxart",
            ContainerKind::Raw => "raw",
        }
    }

    /// Returns the common name for `count` containers of this kind: the singular for 1, otherwise
    /// the plural.
    #[inline]
    pub fn words(self, count: usize) -> &'static str {
        match (self, count) {
            (ContainerKind::Bundle, 1) => "bundle",
            (ContainerKind::Bundle, _) => "bundles",
            (ContainerKind::CompressedBundle, 1) => "compressed bundle",
            (ContainerKind::CompressedBundle, _) => "compressed bundles",
            (ContainerKind::TextBundle, 1) => "bundle in text",
            (ContainerKind::TextBundle, _) => "bundles in text",
            (ContainerKind::ObjectBundle, 1) => "bundle in the object's sections",
            (ContainerKind::ObjectBundle, _) => "bundles in sections of objects",
            (ContainerKind::ImageTable, 1) => "image table",
            (ContainerKind::ImageTable, _) => "image tables",
            (ContainerKind::OffloadBinary, 1) => "offload binary",
            (ContainerKind::OffloadBinary, _) => "offload binaries",
            (ContainerKind::Fatbin, 1) => "fatbin",
            (ContainerKind::Fatbin, _) => "fatbins",
            (ContainerKind::Kpack, 1) => "kernel pack",
            (ContainerKind::Kpack, _) => "kernel packs",
            (ContainerKind::Oxart, 1) => "bundle of cuda-oxide",
            (ContainerKind::Oxart, _) => "bundles of cuda-oxide",
            (ContainerKind::Raw, 1) => "image by itself",
            (ContainerKind::Raw, _) => "images by themselves",
        }
    }

    /// Whether the images' bytes are in separate pieces of the file: sections of an object, or
    /// lines between other lines.
    pub fn is_in_pieces(self) -> bool {
        match self {
            ContainerKind::TextBundle | ContainerKind::ObjectBundle | ContainerKind::ImageTable => {
                true
            }
            ContainerKind::Bundle
            | ContainerKind::CompressedBundle
            | ContainerKind::OffloadBinary
            | ContainerKind::Fatbin
            | ContainerKind::Kpack
            | ContainerKind::Oxart
            | ContainerKind::Raw => false,
        }
    }

    /// Whether this is a binary bundle, compressed or not: HIP's runtime loads it as a whole.
    pub fn is_binary_bundle(self) -> bool {
        match self {
            ContainerKind::Bundle | ContainerKind::CompressedBundle => true,
            ContainerKind::TextBundle
            | ContainerKind::ObjectBundle
            | ContainerKind::ImageTable
            | ContainerKind::OffloadBinary
            | ContainerKind::Fatbin
            | ContainerKind::Kpack
            | ContainerKind::Oxart
            | ContainerKind::Raw => false,
        }
    }
}

/// The parsed form of a container.
///
/// The format and its references are on the [module's page](super).
#[derive(Debug, Clone, Copy)]
pub enum View<'a> {
    /// A [`ContainerKind::Bundle`].
    Bundle(Bundle<'a>),
    /// A [`ContainerKind::CompressedBundle`].
    #[cfg(feature = "containers")]
    CompressedBundle(CompressedBundle<'a>),
    /// A [`ContainerKind::TextBundle`].
    #[cfg(feature = "containers")]
    TextBundle(TextBundle<'a>),
    /// A [`ContainerKind::ObjectBundle`].
    #[cfg(feature = "object")]
    ObjectBundle(ObjectBundle<'a>),
    /// A [`ContainerKind::ImageTable`].
    #[cfg(feature = "object")]
    ImageTable(ImageTable<'a>),
    /// A [`ContainerKind::OffloadBinary`].
    OffloadBinary(OffloadBinary<'a>),
    /// A [`ContainerKind::Fatbin`].
    #[cfg(feature = "containers")]
    Fatbin(NvFatbin<'a>),
    /// The bytes of a [`ContainerKind::Kpack`], for `Kpack::parse`.
    #[cfg(feature = "containers")]
    Kpack(&'a [u8]),
    /// A [`ContainerKind::Oxart`].
    #[cfg(feature = "containers")]
    Oxart(Oxart<'a>),
    /// The bytes of a [`ContainerKind::Raw`].
    Raw(&'a [u8]),
}
