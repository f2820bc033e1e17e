//! Where every byte of a file goes.

use super::claims::{Claims, Split};
use crate::inventory::{Container, Image, ImageKind, Images, Inventory, KernelRecord, View};
use crate::offload::progress::Progress;
use offload_format::fat_file;
use offload_format::nv_fatbin::{Compression, NvFatbin};
use offload_format::target::{OffloadArch, TargetTriple};
use std::collections::{HashMap, HashSet};
use std::ops::Range;

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
        let size = file.len() as u64;
        let mut claims = Claims::new(size);
        let mut bytes = vec![0; inventory.images.len()];
        let mut containers = Vec::with_capacity(inventory.containers.len());
        let mut last: Option<&Container<'_>> = None;
        for container in &inventory.containers {
            let place = &container.place;
            let range = place.offset..place.offset.saturating_add(container.size);
            let images = inventory.images_of(container);
            let shares = &mut bytes[container.images.clone()];
            let overhead = match (container.view, container.inflated_size) {
                (_, Some(inflated)) => {
                    let sizes = images.iter().map(|image| image.size);
                    split(claims.claim(range), inflated, sizes, shares)
                }
                (View::Fatbin(fatbin), None) => {
                    let rest = claim_fatbin(&mut claims, place.offset, fatbin, images, shares);
                    rest + claims.claim(range)
                }
                (View::ObjectBundle(_) | View::TextBundle(_), None) => {
                    claim_images(&mut claims, images, shares);
                    0
                }
                (_, None) => {
                    claim_images(&mut claims, images, shares);
                    claims.claim(range)
                }
            };
            if let (Some(last), Some(before)) = (last, containers.last_mut()) {
                *before += padding(file, last, container).map_or(0, |range| claims.claim(range));
            }
            containers.push(overhead);
            last = Some(container);
        }
        let rest = claims.left();
        let mut reader = Reader { kernels, images: Images::new(limit), names: Names::default() };
        let host = sections(file, &mut claims, &mut reader.names, &HashSet::new());
        let host = host.into_iter().map(|(name, size)| Share { name, bytes: size, size }).collect();
        let (mut parts, mut unread) = (Vec::new(), 0);
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
        Self { size, parts, containers, rest, host, names: reader.names.all, unread }
    }

    /// Bytes of all images in the file, and once decompressed.
    pub(super) fn device(&self) -> (u64, u64) {
        self.parts.iter().fold((0, 0u64), |sum, part| (sum.0 + part.bytes, sum.1.saturating_add(part.size)))
    }

    /// What containers have beside their images.
    pub(super) fn overhead(&self) -> u64 {
        self.containers.iter().sum()
    }

    /// Whether anything in the file is compressed.
    pub(super) fn is_compressed(&self) -> bool {
        self.parts.iter().any(|part| part.bytes < part.size)
    }
}

/// Splits the bytes of something compressed among its images. Returns what none of them gets.
fn split(stored: u64, inflated: u64, sizes: impl Iterator<Item = u64> + Clone, shares: &mut [u64]) -> u64 {
    let sum = sizes.clone().map(u128::from).sum::<u128>();
    let mut split = Split::new(stored, sum.max(inflated.into()));
    for (share, size) in shares.iter_mut().zip(sizes) {
        *share = split.next(size);
    }
    split.rest()
}

/// Each image that lies in the file claims its bytes.
fn claim_images(claims: &mut Claims, images: &[Image<'_>], shares: &mut [u64]) {
    for (image, share) in images.iter().zip(shares) {
        if let Some(offset) = image.offset {
            *share = claims.claim(offset..offset.saturating_add(image.size));
        }
    }
}

/// The same for a fatbin, which compresses its payloads each by itself. Returns what none of their images gets.
fn claim_fatbin(
    claims: &mut Claims,
    start: u64,
    fatbin: NvFatbin<'_>,
    mut images: &[Image<'_>],
    mut shares: &mut [u64],
) -> u64 {
    let mut rest = 0;
    for entry in fatbin.entries() {
        let count = entry.images().count().min(images.len());
        let (of_entry, later) = images.split_at(count);
        let (shares_of_entry, later_shares) = std::mem::take(&mut shares).split_at_mut(count);
        (images, shares) = (later, later_shares);
        if entry.compression() == Compression::None {
            claim_images(claims, of_entry, shares_of_entry);
        } else {
            let offset = start.saturating_add(entry.offset());
            let stored = claims.claim(offset..offset.saturating_add(entry.stored().len() as u64));
            rest += split(stored, entry.size(), of_entry.iter().map(|image| image.size), shares_of_entry);
        }
    }
    rest
}

/// The zeros between two containers of the same section, or of the same file without sections.
fn padding<'a>(file: &[u8], before: &Container<'a>, container: &Container<'a>) -> Option<Range<u64>> {
    /// Pages of the largest size.
    const MOST: u64 = 64 * 1024;
    let place = |it: &Container<'a>| {
        let mut place = it.place;
        place.offset = 0;
        place
    };
    let (start, end) = (before.place.offset.checked_add(before.size)?, container.place.offset);
    if place(before) != place(container) || !(1..=MOST).contains(&end.checked_sub(start)?) {
        return None;
    }
    let gap = file.get(usize::try_from(start).ok()?..usize::try_from(end).ok()?)?;
    gap.iter().all(|&byte| byte == 0).then_some(start..end)
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

/// Whether an image is of a kind that has kernels with sizes. PTX has none, and bitcode is not compiled yet.
fn may_have_kernels(image: &Image<'_>) -> bool {
    !image.is_host() && matches!(image.known_kind(), None | Some(ImageKind::Elf | ImageKind::Cubin))
}

/// What the sections of an object take that nobody has claimed, by name. If it is no object, there are none.
fn sections(object: &[u8], claims: &mut Claims, names: &mut Names, kernels: &HashSet<&[u8]>) -> Vec<(usize, u64)> {
    let Ok(all) = fat_file::sections(object) else { return Vec::new() };
    let (mut sizes, mut at) = (Vec::new(), HashMap::new());
    for section in all {
        let size = claims.claim(section.offset..section.offset.saturating_add(section.size));
        if size > 0 {
            let name = names.index(&String::from_utf8_lossy(of_all_kernels(section.name, kernels)));
            let index = *at.entry(name).or_insert(sizes.len());
            if index == sizes.len() {
                sizes.push((name, 0));
            }
            sizes[index].1 += size;
        }
    }
    sizes
}

/// `.nv.info` of `.nv.info.<kernel>`: cubins have some sections for each kernel.
fn of_all_kernels<'n>(name: &'n [u8], kernels: &HashSet<&[u8]>) -> &'n [u8] {
    let dots = name.iter().enumerate().skip(1).filter(|(_, byte)| **byte == b'.').take(4);
    let mut ends = dots.map(|(at, _)| at).filter(|at| kernels.contains(&name[at + 1..]));
    ends.next().map_or(name, |end| &name[..end])
}

/// Names, each once.
#[derive(Debug, Default)]
struct Names {
    all: Vec<String>,
    index: HashMap<String, usize>,
}

impl Names {
    fn index(&mut self, name: &str) -> usize {
        if let Some(index) = self.index.get(name) {
            return *index;
        }
        self.all.push(name.to_owned());
        self.index.insert(name.to_owned(), self.all.len() - 1);
        self.all.len() - 1
    }
}

/// Reads the kernels and sections of images.
struct Reader<'a> {
    kernels: Kernels,
    images: Images<'a>,
    names: Names,
}

impl<'a> Reader<'a> {
    fn wants(&self, image: &Image<'a>) -> bool {
        may_have_kernels(image) && (image.in_file().is_some() || self.kernels == Kernels::OfAllImages)
    }

    fn read(&mut self, image: &Image<'a>, part: &mut Part) -> offload_format::Result<()> {
        let bytes = self.images.read(image)?;
        // The sections are there when the kernels cannot be read.
        let (records, outcome) = match KernelRecord::all_of(image.kind(&bytes), &bytes) {
            Ok(records) => (records, Ok(())),
            Err(error) => (None, Err(error)),
        };
        let kernels: Vec<(&str, u64)> =
            records.iter().flatten().filter_map(|it| Some((&*it.name, it.code_size?))).collect();
        let names: HashSet<&[u8]> = kernels.iter().map(|(name, _)| name.as_bytes()).collect();
        let mut sections = sections(&bytes, &mut Claims::new(part.size), &mut self.names, &names);
        // The code of kernels is in the section of all code.
        let code = kernels.iter().map(|(_, size)| *size).fold(0, u64::saturating_add);
        let text = self.names.index(CODE);
        sections.iter_mut().filter(|(name, _)| *name == text).for_each(|(_, size)| *size = size.saturating_sub(code));
        // Functions may share code, and sizes say anything.
        let sizes = kernels.iter().map(|(_, size)| size).chain(sections.iter().map(|(_, size)| size));
        let sum = sizes.map(|&size| u128::from(size)).sum::<u128>();
        let mut split = Split::new(part.bytes, sum.max(part.size.into()));
        let mut share = |name, size| Share { name, bytes: split.next(size), size };
        part.kernels = records.is_some().then(|| {
            kernels.iter().map(|(name, size)| share(self.names.index(name), *size)).filter(|it| it.size > 0).collect()
        });
        part.sections = sections.into_iter().map(|(name, size)| share(name, size)).filter(|it| it.size > 0).collect();
        outcome
    }
}

/// The section that has the code of images.
const CODE: &str = ".text";
