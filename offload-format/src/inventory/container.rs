//! Containers.

use super::{ContainerKind, Place};
use alloc::string::String;
use core::ops::Range;

/// One container of a file.
#[derive(Debug)]
pub struct Container<'a> {
    /// The kind of the container.
    pub kind: ContainerKind,
    /// The place of the container in the file. `place.offset` is the container's own offset.
    pub place: Place<'a>,
    /// The size in the file, in bytes; for object bundles and text bundles, the size of the entries
    /// only.
    pub size: u64,
    /// The decompressed size in bytes, from the header; `None` if the container is not compressed
    /// as a whole. Images of a fatbin are compressed separately; see
    /// [`Image::stored_size`](super::Image::stored_size).
    pub inflated_size: Option<u64>,
    /// The compression method, such as `zstd`, `zlib` or `method 7`; `None` if `inflated_size` is
    /// `None`.
    pub method: Option<String>,
    /// The container's images: indices into [`Inventory::images`](super::Inventory::images).
    pub images: Range<usize>,
    /// Whether an image table lists this container among the images of its program.
    pub is_in_table: bool,
    /// The container's bytes, for callers that need more details; empty for an image table or a
    /// text bundle. For an object bundle, the object's bytes.
    pub data: &'a [u8],
    /// The container's role in a link of NVIDIA's relocatable device code.
    pub link: Option<DeviceLink>,
}

/// The role of a fatbin in a link of NVIDIA's relocatable device code.
///
/// If the linked machine code does not fit a GPU, the driver compiles and links the objects'
/// fatbins when it loads the program, so each of these fatbins needs an image that fits the GPU.
///
/// Source: nvcc manual 13, "JIT Linking Support"; `fatbinary_section.h` and `link.stub` of CUDA
/// 13.5. nvJitLink 13.5 links the objects' fatbins for the same GPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceLink {
    /// The result of the link.
    Linked,
    /// The code of one object in the link.
    Part,
}
