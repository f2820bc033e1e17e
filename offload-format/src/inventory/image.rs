//! Images.

use super::ImageKind;
use crate::bundle::EntryId;
#[cfg(feature = "containers")]
use crate::compressed::CompressedBundle;
use crate::image::ImageHeader;
#[cfg(feature = "object")]
use crate::image_table::TableImage;
#[cfg(feature = "containers")]
use crate::kpack::KpackKernel;
#[cfg(feature = "containers")]
use crate::nv_fatbin;
use crate::target::{Form, PtxVersion};
use alloc::borrow::Cow;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Range;

/// A device image, or the host entry of a bundle.
#[derive(Debug, Clone)]
pub struct Image<'a> {
    /// The index of the image's container in
    /// [`Inventory::containers`](super::Inventory::containers).
    pub container: usize,
    /// Bundles: the bundle entry ID as stored.
    pub entry_id: Option<Cow<'a, str>>,
    /// Kernel packs: the program or library that the image belongs to. Bundles of cuda-oxide: the
    /// crate. Image tables: the image's alphabetically first kernel, because the runtime finds
    /// images by kernels. Offload binaries: the string `module`. Fatbins: the name, usually that of
    /// a source file. Bundles: `None`.
    pub module: Option<Cow<'a, str>>,
    /// The offload kind: `host`, `hip`, `hipv4`, `openmp`, `cuda`, `sycl`, `none`. `None` if the
    /// kind is unknown.
    pub offload_kind: Option<Cow<'a, str>>,
    /// The target triple as stored, without trailing dashes. Fatbins: NVIDIA's target triple.
    /// `None` if the triple is unknown.
    pub triple: Option<Cow<'a, str>>,
    /// The target that the container states, such as `gfx90a:xnack-`, `sm_80` or `compute_80`; for
    /// a standalone image, the target in its header.
    pub target_id: Option<Cow<'a, str>>,
    /// The offset in bytes from the start of the file; `None` inside a compressed part.
    pub offset: Option<u64>,
    /// The size in bytes. For PTX compressed in a fatbin, this includes the trailing NUL, which
    /// [`Images`](super::Images) removes.
    pub size: u64,
    /// Kernel packs, image tables and fatbins: the compressed size in the file, in bytes. For
    /// images that were compressed together, this is the size of their common payload.
    pub stored_size: Option<u64>,
    /// Fatbins: the version of the PTX. `None` if the version is unknown.
    pub ptx_version: Option<PtxVersion>,
    pub(super) bytes: Bytes<'a>,
    /// The kind that the container states.
    pub(super) said: Option<ImageKind>,
}

/// The location of an image's bytes.
#[derive(Debug, Clone)]
pub(super) enum Bytes<'a> {
    /// The bytes themselves, uncompressed in the file.
    Here(&'a [u8]),
    /// A range of bytes that were decompressed to build the list.
    Inflated(Arc<Vec<u8>>, Range<usize>),
    /// The bytes at this offset in a compressed bundle.
    #[cfg(feature = "containers")]
    Bundle(CompressedBundle<'a>, u64),
    /// One stream of a kernel pack, and its offset in the file.
    #[cfg(feature = "containers")]
    Kpack(KpackKernel<'a>, u64),
    /// A compressed image of an image table.
    #[cfg(feature = "object")]
    Table(TableImage<'a>),
    /// An image in the compressed payload of a fatbin's entry.
    #[cfg(feature = "containers")]
    Fatbin(nv_fatbin::Entry<'a>, nv_fatbin::Image<'a>),
}

impl<'a> Image<'a> {
    pub(super) fn new(container: usize, bytes: Bytes<'a>, size: u64) -> Self {
        Self {
            container,
            entry_id: None,
            module: None,
            offload_kind: None,
            triple: None,
            target_id: None,
            offset: None,
            size,
            stored_size: None,
            ptx_version: None,
            bytes,
            said: None,
        }
    }

    /// Returns the bytes, which start at `offset`, if the file contains them uncompressed.
    pub fn in_file(&self) -> Option<&'a [u8]> {
        match self.bytes {
            Bytes::Here(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// If the image is compressed separately in an image table or a kernel pack, returns the file
    /// offset of its `stored_size` compressed bytes.
    #[cfg(any(feature = "containers", feature = "object"))]
    pub fn stored_offset(&self) -> Option<u64> {
        match &self.bytes {
            #[cfg(feature = "object")]
            Bytes::Table(image) => Some(image.offset),
            #[cfg(feature = "containers")]
            Bytes::Kpack(_, offset) => Some(*offset),
            _ => None,
        }
    }

    /// Returns the form of the image itself, which may be compressed with zstd in a fatbin.
    #[inline]
    pub(super) fn form(&self) -> Form {
        match &self.bytes {
            #[cfg(feature = "containers")]
            Bytes::Fatbin(entry, _) if entry.compression == nv_fatbin::Compression::Zstd => {
                Form::ZstdInFatbin
            }
            _ => Form::Plain,
        }
    }

    /// Returns the kind, if it is known without decompression. For a compressed image in a fatbin,
    /// this is the kind that the fatbin states.
    #[inline]
    pub fn known_kind(&self) -> Option<ImageKind> {
        match &self.bytes {
            _ if self.size == 0 || self.is_placeholder() => Some(ImageKind::Empty),
            Bytes::Here(bytes) => Some(ImageKind::of(bytes)),
            Bytes::Inflated(whole, range) => Some(ImageKind::of(&whole[range.clone()])),
            #[cfg(feature = "containers")]
            Bytes::Bundle(..) | Bytes::Fatbin(..) | Bytes::Kpack(..) => self.said,
            #[cfg(feature = "object")]
            Bytes::Table(_) => self.said,
        }
    }

    /// Returns the kind from the image's bytes, and from its header if the header can be read.
    pub fn kind(&self, bytes: &[u8], header: Option<ImageHeader>) -> ImageKind {
        if self.is_placeholder() { ImageKind::Empty } else { ImageKind::with_header(bytes, header) }
    }

    /// Returns the kind stated by a container such as a fatbin or a kernel pack, if any.
    pub fn said_kind(&self) -> Option<ImageKind> {
        self.said
    }

    /// Whether this is the placeholder byte for the host's code in an object bundle.
    pub fn is_placeholder(&self) -> bool {
        self.said == Some(ImageKind::Empty)
    }

    /// Returns the bundle entry ID, split into its parts; `None` if it is missing or malformed.
    #[inline]
    pub fn parsed_entry_id(&self) -> Option<EntryId<'_>> {
        EntryId::parse(self.entry_id.as_deref()?).ok()
    }

    /// Whether this is the host entry of a bundle.
    pub fn is_host(&self) -> bool {
        self.offload_kind.as_deref() == Some("host")
    }

    /// Returns a short name for messages: the target ID, the triple, the bundle entry ID, or
    /// `unnamed`.
    pub fn label(&self) -> &str {
        let names = [&self.target_id, &self.triple, &self.entry_id];
        names.into_iter().flatten().next().map_or("unnamed", |name| name)
    }
}
