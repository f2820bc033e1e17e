//! Adds the images listed in DPC++'s image table.

use super::containers::{bundles, fatbins};
use super::declared::name;
use super::image::Bytes;
use super::listing::Listing;
use super::{ContainerKind, Image, Images, Place};
use crate::bundle::EntryId;
use crate::fat_file::within;
use crate::image::{ImageHeader, Kernels};
use crate::image_table::{ImageTable, TableImage};
use alloc::borrow::{Cow, ToOwned};
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// Adds the images of a table, and the images in its containers: DPC++ uses fatbins for NVIDIA's
/// GPUs and bundles for AMD's.
pub(super) fn image_table<'a>(list: &mut Listing<'a>, place: Place<'a>, file: &'a [u8]) {
    let mut found = Vec::new();
    let images = ImageTable::find(file).map(|table| table.images()).unwrap_or_default();
    if images.is_empty() {
        // The file is not a 64-bit little-endian file.
        return;
    }
    for image in images {
        match image {
            Ok(image) => found.push(image),
            Err(error) => list.problem(place, error),
        }
    }
    let kind = |image: &TableImage<'_>| match ContainerKind::of(image.stored) {
        Some(kind) if kind.is_binary_bundle() => Some(bundles as AddContainers<'a>),
        Some(ContainerKind::Fatbin) => Some(fatbins as AddContainers<'a>),
        _ => None,
    };
    let size = found.iter().map(|image| image.stored.len() as u64).sum();
    list.add(place, ContainerKind::ImageTable, size);
    let (container, first) = (list.last(), list.inventory.images.len());
    for image in &found {
        let start = place.offset.saturating_add(image.offset);
        list.in_tables.insert(start);
        if kind(image).is_none() {
            list.add_images(image.inflated_size, [entry(container, start, image)]);
        }
    }
    for image in found {
        let Some(add) = kind(&image) else { continue };
        let place = Place { section: Some(image.section), ..within(place, image.offset) };
        add(list, place, image.stored);
    }
    list.inventory.containers[container + 1..].iter_mut().for_each(|it| it.is_in_table = true);
    let mut reader = Images::new(list.limit);
    for image in &mut list.inventory.images[first..] {
        // Ignore errors, because commands that read the image report them.
        if let Ok((module, target, triple)) = reader.read(image).map(|bytes| facts(&bytes)) {
            image.module = module.map(Cow::Owned);
            image.target_id = image.target_id.take().or(target.map(Cow::Owned));
            image.triple = image.triple.take().or(triple.map(Cow::Borrowed));
        }
    }
}

type AddContainers<'a> = fn(&mut Listing<'a>, Place<'a>, &'a [u8]);

/// Returns an image that starts at `start` in the file.
fn entry<'a>(container: usize, start: u64, found: &TableImage<'a>) -> Image<'a> {
    let bytes = match found.inflated_size {
        Some(_) => Bytes::Table(*found),
        None => Bytes::Here(found.stored),
    };
    let mut image = Image::new(container, bytes, found.size());
    match found.inflated_size {
        Some(_) => image.stored_size = Some(found.stored.len() as u64),
        None => image.offset = Some(start),
    }
    if let Some(id) = found.id() {
        name(&mut image, Cow::Borrowed(id));
        if let Some(target) = EntryId::sycl_target(id) {
            image.offload_kind = Some(Cow::Borrowed("sycl"));
            image.triple = Some(Cow::Borrowed(target));
        }
    }
    image
}

/// Returns information from an image's bytes: the alphabetically first kernel, the target in the
/// header, and DPC++'s name for the target, which linkers for Windows cut off from the section's
/// name.
fn facts(bytes: &[u8]) -> (Option<String>, Option<String>, Option<&'static str>) {
    let kernels = Kernels::parse(bytes).ok();
    let first = kernels.and_then(|kernels| kernels.map(|it| it.name.to_owned()).min());
    let header = ImageHeader::parse(bytes).ok();
    let target = header.and_then(|header| header.arch()).map(|arch| arch.to_string());
    (first, target, header.and_then(|header| header.sycl_target()))
}
