//! Sizes of an image, a kernel and a section in a file.

use offload_format::inventory::{Image, ImageKind};
use offload_format::target::{OffloadArch, TargetTriple};

/// An image's share of a file.
#[derive(Debug)]
pub(super) struct Part {
    /// The file of an archive that it is in.
    pub(super) file: Option<String>,
    /// The number of its container in its file.
    pub(super) container: usize,
    /// The place, which distinguishes it from others of its target and module: `image 3 of the
    /// file`.
    pub(super) place: String,
    /// The target.
    pub(super) target: String,
    /// Whose device that is.
    pub(super) vendor: Vendor,
    /// Its owner: the module that its container names, otherwise the library's member, otherwise
    /// the container's number if there are several. In an archive the file's name comes first.
    pub(super) module: Option<String>,
    /// The kind, where it is known without decompressing.
    pub(super) kind: Option<ImageKind>,
    /// The size in the file.
    pub(super) bytes: u64,
    /// Its size once decompressed.
    pub(super) size: u64,
    /// Its kernels; `None` if it does not list them, or they were not requested.
    pub(super) kernels: Option<Vec<Share>>,
    /// Its sections, without the code of its kernels.
    pub(super) sections: Vec<Share>,
}

/// The size of a container in a file.
#[derive(Debug)]
pub(super) struct ContainerPart {
    /// The file of an archive that it is in.
    pub(super) file: Option<String>,
    /// The name of its kind.
    pub(super) kind: &'static str,
    pub(super) section: Option<String>,
    pub(super) member: Option<String>,
    /// Offset in the file.
    pub(super) offset: u64,
    /// All that it takes.
    pub(super) size: u64,
    /// The bytes in none of its images: headers, tables, padding, including that before the next
    /// container.
    pub(super) bytes: u64,
}

/// The size of a kernel, or of sections of one name.
#[derive(Debug, Clone, Copy)]
pub(super) struct Share {
    /// Index of its name.
    pub(super) name: usize,
    /// Its bytes in the file.
    pub(super) bytes: u64,
    /// The decompressed size.
    pub(super) size: u64,
}

impl Part {
    /// Returns the bytes in no kernel and no section: in the file, and decompressed.
    pub(super) fn other(&self) -> (u64, u64) {
        let known = self.kernels.iter().flatten().chain(&self.sections);
        let sums =
            known.fold((0, 0u64), |sum, it| (sum.0 + it.bytes, sum.1.saturating_add(it.size)));
        (self.bytes - sums.0, self.size.saturating_sub(sums.1))
    }
}

/// Whose devices an image is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Vendor {
    Amd,
    Nvidia,
    Intel,
    Cpu,
    Other,
}

impl Vendor {
    pub(super) fn of(image: &Image<'_>) -> Self {
        if image.is_host() {
            return Vendor::Cpu;
        }
        match image.target_id.as_deref().map(OffloadArch::parse) {
            Some(Ok(OffloadArch::Amdgpu(_))) => return Vendor::Amd,
            Some(Ok(OffloadArch::Nvidia(_))) => return Vendor::Nvidia,
            Some(Ok(OffloadArch::Cpu)) => return Vendor::Cpu,
            _ => {}
        }
        let triple = image.triple.as_deref().map(TargetTriple::parse);
        match triple {
            Some(Ok(triple)) if triple.is_amdgpu() || triple.vendor == "amd" => Vendor::Amd,
            Some(Ok(triple)) if triple.arch.starts_with("nvptx") => Vendor::Nvidia,
            Some(Ok(triple)) if triple.vendor == "intel" => Vendor::Intel,
            Some(Ok(triple)) if triple.is_known() && !triple.arch.starts_with("spir") => {
                Vendor::Cpu
            }
            _ => Vendor::Other,
        }
    }
}

/// Whose kernels are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kernels {
    /// Kernels of uncompressed images: only their tables are read.
    OfPlainImages,
    /// Kernels of all images: compressed ones are decompressed.
    OfAllImages,
}
