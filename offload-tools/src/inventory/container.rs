//! Containers.

use super::Place;
use offload_format::bundle::Bundle;
use offload_format::compressed::CompressedBundle;
use offload_format::nv_fatbin::NvFatbin;
use offload_format::object_bundle::ObjectBundle;
use offload_format::offload_binary::OffloadBinary;
use offload_format::text_bundle::TextBundle;
use std::ops::Range;

/// One container of a file.
#[derive(Debug)]
pub struct Container<'a> {
    /// What it is.
    pub kind: ContainerKind,
    /// Where it is; `place.offset` is that of the container itself.
    pub place: Place<'a>,
    /// What it takes in the file, in bytes. Of object bundles and text bundles, its entries alone.
    pub size: u64,
    /// What its content has once decompressed, in bytes, as its header has it; `None` if it is not compressed as a whole
    /// (images of a fatbin are compressed each by itself: [`Image::stored_size`](super::Image::stored_size)).
    pub inflated_size: Option<u64>,
    /// How it is compressed: `zstd`, `zlib`, `method 7`; `None` where `inflated_size` is.
    pub method: Option<String>,
    /// Its images: indices of [`Inventory::images`](super::Inventory::images).
    pub images: Range<usize>,
    /// What offload-format says of it.
    pub view: View<'a>,
}

/// What a container is, as JSON names it.
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
    /// An offload binary.
    OffloadBinary,
    /// NVIDIA's container.
    Fatbin,
    /// None: an image that is a file or an archive's member by itself.
    Raw,
}

impl ContainerKind {
    /// The name in JSON: `bundle`, `compressed-bundle`, `text-bundle`, `object-bundle`, `offload-binary`, `fatbin`, `raw`.
    pub fn name(self) -> &'static str {
        match self {
            ContainerKind::Bundle => "bundle",
            ContainerKind::CompressedBundle => "compressed-bundle",
            ContainerKind::TextBundle => "text-bundle",
            ContainerKind::ObjectBundle => "object-bundle",
            ContainerKind::OffloadBinary => "offload-binary",
            ContainerKind::Fatbin => "fatbin",
            ContainerKind::Raw => "raw",
        }
    }
}

/// The view of a container, for those who look closer.
#[derive(Debug, Clone, Copy)]
pub enum View<'a> {
    /// Of a [`ContainerKind::Bundle`].
    Bundle(Bundle<'a>),
    /// Of a [`ContainerKind::CompressedBundle`].
    CompressedBundle(CompressedBundle<'a>),
    /// Of a [`ContainerKind::TextBundle`].
    TextBundle(TextBundle<'a>),
    /// Of a [`ContainerKind::ObjectBundle`].
    ObjectBundle(ObjectBundle<'a>),
    /// Of a [`ContainerKind::OffloadBinary`].
    OffloadBinary(OffloadBinary<'a>),
    /// Of a [`ContainerKind::Fatbin`].
    Fatbin(NvFatbin<'a>),
    /// The bytes of a [`ContainerKind::Raw`].
    Raw(&'a [u8]),
}
