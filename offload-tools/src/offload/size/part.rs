//! The sizes of images, kernels and sections in a file.

use offload_format::inventory::{Image, ImageKind};
use offload_format::target::{OffloadArch, TargetTriple, Vendor};
use serde::Serialize;
use std::rc::Rc;

/// An image's share of a file. The type is also the image's JSON record.
#[derive(Debug, Serialize)]
pub(super) struct Part {
    /// In an archive, the name of the file that contains the image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) file: Option<String>,
    /// The number of the image's container in its file.
    #[serde(rename = "container_index")]
    pub(super) container: usize,
    /// The place, which distinguishes images with the same target and module: `image 3 of the
    /// file`.
    #[serde(skip)]
    pub(super) place: String,
    /// The target.
    pub(super) target: String,
    /// The vendor of the target's devices.
    #[serde(skip)]
    pub(super) vendor: &'static str,
    /// The image's module: its name in the image's container or, if there is none, the name of the
    /// library's member. If both names are missing and there are several containers, the kind and
    /// number of the container. In an archive, the file's name precedes the module.
    pub(super) module: Option<String>,
    /// The kind, if known without decompression.
    #[serde(skip)]
    pub(super) kind: Option<ImageKind>,
    /// The size in the file.
    pub(super) bytes: u64,
    /// The size after decompression.
    pub(super) size: u64,
    /// The image's kernels; `None` if they are not listed or not requested.
    pub(super) kernels: Option<Vec<Share>>,
    /// The image's sections, without the code of its kernels.
    pub(super) sections: Vec<Share>,
}

/// A container's size in a file. The type is also the container's JSON record.
#[derive(Debug, Serialize)]
pub(super) struct ContainerPart {
    /// In an archive, the name of the file that contains the container.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) file: Option<String>,
    /// The name of the container's kind.
    #[serde(rename = "container")]
    pub(super) kind: &'static str,
    pub(super) section: Option<String>,
    pub(super) member: Option<String>,
    /// Offset in the file.
    pub(super) offset: u64,
    /// The container's total size.
    pub(super) size: u64,
    /// The container's bytes outside its images: headers, tables and padding, including the padding
    /// before the next container.
    pub(super) bytes: u64,
}

/// The size of a kernel, or of all sections with one name. The type is also the JSON record.
#[derive(Debug, Serialize)]
pub(super) struct Share {
    /// The name. Images with the same kernels share the text.
    pub(super) name: Rc<str>,
    /// The size in the file.
    pub(super) bytes: u64,
    /// The decompressed size.
    pub(super) size: u64,
}

impl Part {
    /// Returns the bytes outside all kernels and sections: stored, and decompressed.
    pub(super) fn other(&self) -> (u64, u64) {
        let known = self.kernels.iter().flatten().chain(&self.sections);
        let sums =
            known.fold((0, 0u64), |sum, it| (sum.0 + it.bytes, sum.1.saturating_add(it.size)));
        (self.bytes - sums.0, self.size.saturating_sub(sums.1))
    }
}

/// Returns the vendor of an image's devices: `amd`, `nvidia`, `intel`, `cpu`, or `other`.
pub(super) fn vendor(image: &Image<'_>) -> &'static str {
    if image.is_host() {
        return Vendor::Cpu.name();
    }
    if let Some(Ok(arch)) = image.target_id.as_deref().map(OffloadArch::parse) {
        return arch.vendor().name();
    }
    match image.triple.as_deref().map(TargetTriple::parse) {
        Some(Ok(triple)) if triple.vendor == Vendor::Intel.name() => Vendor::Intel.name(),
        Some(Ok(triple)) => Vendor::of_triple(&triple).map_or("other", Vendor::name),
        _ => "other",
    }
}
