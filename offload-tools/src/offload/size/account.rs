//! Where every byte of a file goes.

use super::contents::{Reader, may_have_kernels};
use super::divide::Division;
use crate::inventory::{Image, ImageKind, Inventory};
use crate::offload::progress::Progress;
use offload_format::target::{OffloadArch, TargetTriple};

/// All bytes of a file. Those of the parts, of the containers and of the rest come to its size together.
#[derive(Debug)]
pub(super) struct Account {
    /// The file's size in bytes.
    pub(super) size: u64,
    /// The images that have any bytes, in file order.
    pub(super) parts: Vec<Part>,
    /// For each container the bytes that are in none of its images: headers, tables, padding, also that in front of the next
    /// container.
    pub(super) containers: Vec<u64>,
    /// What is in no container.
    pub(super) rest: u64,
    /// Of the rest, the sections of a file that is an object.
    pub(super) host: Vec<Share>,
    /// The names of kernels and sections, each once.
    pub(super) names: Vec<String>,
    /// Whether any image is compressed.
    pub(super) is_compressed: bool,
    /// How many images may have kernels that were not looked for.
    pub(super) unread: usize,
}

/// An image's share of a file.
#[derive(Debug)]
pub(super) struct Part {
    /// Its index in the inventory.
    pub(super) image: usize,
    /// What it is for.
    pub(super) target: String,
    /// Whose device that is.
    pub(super) vendor: Vendor,
    /// What it belongs to: the module that its container names, else the archive's member, else the container's number if
    /// there are several.
    pub(super) module: Option<String>,
    /// What it is, where that is known without decompressing it.
    pub(super) kind: Option<ImageKind>,
    /// What it takes in the file.
    pub(super) bytes: u64,
    /// Its size once decompressed.
    pub(super) size: u64,
    /// Its kernels; `None` if it does not tell, or was not asked.
    pub(super) kernels: Option<Vec<Share>>,
    /// Its sections, without the code of its kernels.
    pub(super) sections: Vec<Share>,
}

/// What a kernel takes, or sections of one name.
#[derive(Debug, Clone, Copy)]
pub(super) struct Share {
    /// Index of its name.
    pub(super) name: usize,
    /// Its bytes in the file.
    pub(super) bytes: u64,
    /// The same once decompressed.
    pub(super) size: u64,
}

impl Part {
    /// What is in no kernel and no section: bytes in the file, and once decompressed.
    pub(super) fn other(&self) -> (u64, u64) {
        let known = self.kernels.iter().flatten().chain(&self.sections);
        let sums = known.fold((0, 0u64), |sum, it| (sum.0 + it.bytes, sum.1.saturating_add(it.size)));
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
    fn of(image: &Image<'_>) -> Self {
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
            Some(Ok(triple)) if triple.is_known() && !triple.arch.starts_with("spir") => Vendor::Cpu,
            _ => Vendor::Other,
        }
    }
}

/// Whose kernels are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kernels {
    /// Those of images that lie in the file as they are: their tables are read, and not more.
    OfPlainImages,
    /// Those of all images: what is compressed is decompressed.
    OfAllImages,
}

impl Account {
    /// Accounts for all bytes of a file. What cannot be read of its kernels is added to `problems`.
    pub(super) fn of(
        file: &[u8],
        inventory: &Inventory<'_>,
        kernels: Kernels,
        limit: u64,
        problems: &mut Vec<String>,
    ) -> Self {
        let Division { mut claims, images: bytes, containers } = Division::of(file, inventory);
        let rest = claims.left();
        let mut reader = Reader::new(kernels, limit);
        let host = reader.host(file, &mut claims);
        let (mut parts, mut unread) = (Vec::<Part>::new(), 0);
        let wanted = inventory.images.iter().filter(|image| reader.wants(image));
        let mut progress = Progress::new("reading images", wanted.map(|image| image.size).fold(0, u64::saturating_add));
        for (index, image) in inventory.images.iter().enumerate().filter(|(_, image)| image.size > 0) {
            let mut part = Part {
                image: index,
                target: if image.is_host() { "host".to_owned() } else { image.label().to_owned() },
                vendor: Vendor::of(image),
                module: module(inventory, image),
                kind: image.known_kind(),
                bytes: bytes[index],
                size: image.size,
                kernels: None,
                sections: Vec::new(),
            };
            if reader.wants(image) {
                if let Err(error) = reader.read(image, &mut part) {
                    problems.push(inventory.problem_of(image, error).to_string());
                }
                progress.add(image.size);
            } else {
                unread += usize::from(may_have_kernels(image));
            }
            parts.push(part);
        }
        let is_compressed = parts.iter().any(|part| inventory.images[part.image].offset.is_none());
        Self {
            size: file.len() as u64,
            parts,
            containers,
            rest,
            host,
            names: reader.into_names(),
            is_compressed,
            unread,
        }
    }

    /// Bytes of all images in the file, and once decompressed.
    pub(super) fn device(&self) -> (u64, u64) {
        self.parts.iter().fold((0, 0u64), |sum, part| (sum.0 + part.bytes, sum.1.saturating_add(part.size)))
    }

    /// What containers have beside their images.
    pub(super) fn overhead(&self) -> u64 {
        self.containers.iter().sum()
    }
}

/// The name of what an image belongs to.
fn module(inventory: &Inventory<'_>, image: &Image<'_>) -> Option<String> {
    let container = inventory.container(image);
    if let Some(module) = &image.module {
        return Some(module.clone().into_owned());
    }
    match container.place.member {
        Some(member) => Some(String::from_utf8_lossy(member).into_owned()),
        None if inventory.containers.len() > 1 => {
            Some(format!("{} {}", container.kind.name().replace('-', " "), image.container))
        }
        None => None,
    }
}
