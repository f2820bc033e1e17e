//! Assigns every byte of a file to an image, a container or the rest.

use super::contents::{Reader, may_have_kernels};
use super::divide::Division;
use super::part::{self, ContainerPart, Part, Share};
use crate::describe::problem_text;
use crate::offload::progress::Progress;
use offload_format::inventory::{ContainerKind, Image, Inventory};
use serde::Serialize;

/// A file's bytes, divided among images, containers and the rest. The sizes add up to the file's
/// size, also in JSON.
#[derive(Debug, Default, Serialize)]
pub(super) struct Account {
    /// The file's size in bytes.
    pub(super) size: u64,
    /// The non-empty images, in file order.
    #[serde(rename = "images")]
    pub(super) parts: Vec<Part>,
    /// The containers, in file order.
    pub(super) containers: Vec<ContainerPart>,
    /// The bytes in no container.
    #[serde(rename = "rest_bytes")]
    pub(super) rest: u64,
    /// The sections in the rest, if the file is an object.
    #[serde(rename = "sections")]
    pub(super) host: Vec<Share>,
    /// Whether any image is compressed.
    #[serde(skip)]
    pub(super) is_compressed: bool,
    /// The number of images whose kernels were not read.
    #[serde(skip)]
    pub(super) unread: usize,
}

impl Account {
    /// Divides a file's bytes among images, containers and the rest. Adds a message to `problems`
    /// for each image with unreadable kernels. If `decompresses` is set, also reads the kernels of
    /// compressed images.
    pub(super) fn of(
        file: &[u8],
        inventory: &Inventory<'_>,
        decompresses: bool,
        limit: u64,
        problems: &mut Vec<String>,
    ) -> Self {
        let Division { mut claims, images: bytes, containers } = Division::of(file, inventory);
        let rest = claims.left();
        let mut reader = Reader::new(decompresses, limit);
        let host = reader.host(file, &mut claims);
        let (mut parts, mut unread) = (Vec::<Part>::new(), 0);
        let wanted = inventory.images.iter().filter(|image| reader.wants(image));
        let mut progress = Progress::new("reading images", wanted.map(|image| image.size));
        for (index, image) in
            inventory.images.iter().enumerate().filter(|(_, image)| image.size > 0)
        {
            let mut part = Part {
                file: None,
                container: image.container,
                place: match image.offset {
                    Some(offset) => format!("image at offset {offset}"),
                    None => format!("image {index} of the file"),
                },
                target: if image.is_host() { "host".to_owned() } else { image.label().to_owned() },
                vendor: part::vendor(image),
                module: module(inventory, image),
                kind: image.known_kind(),
                bytes: bytes[index],
                size: image.size,
                kernels: None,
                sections: Vec::new(),
            };
            if reader.wants(image) {
                if let Err(error) = reader.read(image, &mut part) {
                    problems.push(problem_text(&inventory.problem_of(image, error)));
                }
                progress.add(image.size);
            } else {
                unread += usize::from(may_have_kernels(image));
            }
            parts.push(part);
        }
        let is_compressed =
            inventory.images.iter().any(|image| image.size > 0 && image.offset.is_none());
        let lossy = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let containers =
            inventory.containers.iter().zip(containers).map(|(container, bytes)| ContainerPart {
                file: None,
                kind: container.kind.name(),
                section: container.place.section.map(lossy),
                member: container.place.member.map(lossy),
                offset: container.place.offset,
                size: container.size,
                bytes,
            });
        Self {
            size: file.len() as u64,
            parts,
            containers: containers.collect(),
            rest,
            host,
            is_compressed,
            unread,
        }
    }

    /// Returns the total size of all images: stored, and decompressed.
    pub(super) fn device(&self) -> (u64, u64) {
        self.parts
            .iter()
            .fold((0, 0u64), |sum, part| (sum.0 + part.bytes, sum.1.saturating_add(part.size)))
    }

    /// Returns the bytes of containers outside their images.
    pub(super) fn overhead(&self) -> u64 {
        self.containers.iter().map(|container| container.bytes).sum()
    }
}

/// Returns the name of the image's module or, if it has none, a description of the image's place.
fn module(inventory: &Inventory<'_>, image: &Image<'_>) -> Option<String> {
    let container = inventory.container(image);
    // A fatbin is one module, but compilers may name it in only some entries.
    let named = match container.kind {
        ContainerKind::Fatbin => {
            inventory.images_of(container).iter().find_map(|image| image.module.as_deref())
        }
        _ => image.module.as_deref(),
    };
    if let Some(module) = named {
        return Some(module.to_owned());
    }
    match container.place.member {
        Some(member) => Some(String::from_utf8_lossy(member).into_owned()),
        None if inventory.containers.len() > 1 => {
            Some(format!("{} {}", container.kind.name().replace('-', " "), image.container))
        }
        None => None,
    }
}
