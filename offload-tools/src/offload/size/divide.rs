//! Divides a file's bytes among its containers and images.

use super::claims::{Claims, Split};
use offload_format::inventory::{Container, ContainerKind, Image, Inventory};
use offload_format::nv_fatbin::{Compression, NvFatbin};
use std::ops::Range;

/// The bytes of a file that belong to each image and container.
#[derive(Debug)]
pub(super) struct Division {
    /// The bytes of each image, in inventory order.
    pub(super) images: Vec<u64>,
    /// Each container's bytes outside its images, including the padding before the next container.
    pub(super) containers: Vec<u64>,
    /// The bytes of the file that belong to an image or container.
    pub(super) claims: Claims,
}

impl Division {
    /// Divides a file's bytes among the images and containers of its inventory.
    pub(super) fn of(file: &[u8], inventory: &Inventory<'_>) -> Self {
        let mut claims = Claims::new(file.len() as u64);
        let mut images = vec![0; inventory.images.len()];
        let mut containers: Vec<u64> = Vec::with_capacity(inventory.containers.len());
        let mut last: Option<&Container<'_>> = None;
        for container in &inventory.containers {
            let shares = &mut images[container.images.clone()];
            let overhead = claim(&mut claims, container, inventory.images_of(container), shares);
            if let (Some(last), Some(before)) = (last, containers.last_mut()) {
                *before += padding(file, last, container).map_or(0, |range| claims.claim(range));
            }
            containers.push(overhead);
            last = Some(container);
        }
        Self { images, containers, claims }
    }
}

/// Claims the bytes of a container and its images. Returns how many bytes of the container are
/// outside its images.
fn claim(
    claims: &mut Claims,
    container: &Container<'_>,
    images: &[Image<'_>],
    shares: &mut [u64],
) -> u64 {
    let start = container.place.offset;
    let range = start..start.saturating_add(container.size);
    match (container.kind, container.inflated_size) {
        (_, Some(inflated)) => split(claims.claim(range), inflated, images, shares),
        (ContainerKind::Fatbin, None) => {
            claim_fatbin(claims, start, container.data, images, shares) + claims.claim(range)
        }
        (_, None) => {
            claim_images(claims, images, shares);
            if container.kind.is_in_pieces() { 0 } else { claims.claim(range) }
        }
    }
}

/// Divides the stored size of compressed data among its images. Returns the bytes left over.
fn split(stored: u64, inflated: u64, images: &[Image<'_>], shares: &mut [u64]) -> u64 {
    let sum = images.iter().map(|image| u128::from(image.size)).sum::<u128>();
    let mut split = Split::new(stored, sum.max(inflated.into()));
    for (share, image) in shares.iter_mut().zip(images) {
        *share = split.next(image.size);
    }
    split.rest()
}

/// Claims the bytes of each image that is uncompressed, or compressed individually.
fn claim_images(claims: &mut Claims, images: &[Image<'_>], shares: &mut [u64]) {
    for (image, share) in images.iter().zip(shares) {
        if let Some(offset) = image.offset.or_else(|| image.stored_offset()) {
            let size = image.stored_size.unwrap_or(image.size);
            *share = claims.claim(offset..offset.saturating_add(size));
        }
    }
}

/// Claims the bytes of a fatbin whose payloads are compressed individually. Returns the bytes in no
/// image.
fn claim_fatbin(
    claims: &mut Claims,
    start: u64,
    file: &[u8],
    mut images: &[Image<'_>],
    mut shares: &mut [u64],
) -> u64 {
    let Ok(fatbin) = NvFatbin::parse(file) else { return 0 };
    let mut rest = 0;
    for entry in fatbin.entries() {
        let count = entry.images().count().min(images.len());
        let (of_entry, later) = images.split_at(count);
        let (shares_of_entry, later_shares) = std::mem::take(&mut shares).split_at_mut(count);
        (images, shares) = (later, later_shares);
        if entry.compression == Compression::None {
            claim_images(claims, of_entry, shares_of_entry);
        } else {
            let offset = start.saturating_add(entry.offset);
            let stored = claims.claim(offset..offset.saturating_add(entry.stored.len() as u64));
            rest += split(stored, entry.size, of_entry, shares_of_entry);
        }
    }
    rest
}

/// Returns the range between two containers if it is all zeros. Both containers must be in the same
/// section or, in a file without sections, in the same file.
fn padding<'a>(
    file: &[u8],
    before: &Container<'a>,
    container: &Container<'a>,
) -> Option<Range<u64>> {
    /// The maximum size of padding: the largest memory page.
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
