//! The containers that packs consist of, and standalone images.

use super::declared::{describe, name};
use super::image::Bytes;
use super::listing::Listing;
use super::{ContainerKind, Image, Place};
use crate::bundle::{Bundle, Entry};
use crate::image::ImageHeader;
use crate::offload_binary::OffloadBinary;
use crate::target::{IntelArch, OffloadArch};
use alloc::borrow::Cow;
use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// Adds a binary bundle.
pub(super) fn bundle<'a>(list: &mut Listing<'a>, place: Place<'a>, bundle: Bundle<'a>) {
    list.add(place, ContainerKind::Bundle, bundle.size());
    let container = list.last();
    list.add_images(None, bundle.entries().map(|found| entry(container, place, &found)));
}

/// Converts an uncompressed entry of any kind of bundle into an image.
pub(super) fn entry<'a>(container: usize, place: Place<'a>, found: &Entry<'a>) -> Image<'a> {
    let bytes = found.code_object;
    let mut image = Image::new(container, Bytes::Here(bytes), bytes.len() as u64);
    image.offset = Some(place.offset.saturating_add(found.offset));
    name(&mut image, Cow::Borrowed(found.id_str));
    image
}

/// Adds an offload binary, compressed or not.
pub(super) fn offload_binary<'a>(
    list: &mut Listing<'a>,
    place: Place<'a>,
    binary: OffloadBinary<'a>,
) {
    let added = list.add(place, ContainerKind::OffloadBinary, binary.size());
    let Some(compressed) = binary.compressed else {
        let container = list.last();
        let images = binary.images().map(|found| {
            let bytes = found.data;
            let mut image = Image::new(container, Bytes::Here(bytes), bytes.len() as u64);
            image.offset = Some(place.offset.saturating_add(found.offset));
            describe(&mut image, &found, |text| text);
            image
        });
        return list.add_images(None, images);
    };
    added.inflated_size = Some(compressed.inflated_size);
    added.method = Some(compressed.method().to_string());
    let whole = match compressed.decompress(list.left) {
        Ok(whole) => Arc::new(whole),
        Err(error) => return list.problem(place, error),
    };
    let inflated = match OffloadBinary::parse(&whole) {
        Ok(inflated) => inflated,
        Err(error) => return list.inflated_problem(place, error),
    };
    let container = list.last();
    let images: Vec<Image<'a>> = inflated
        .images()
        .map(|found| {
            let (start, size) = (found.offset as usize, found.data.len());
            let bytes = Bytes::Inflated(Arc::clone(&whole), start..start + size);
            let mut image = Image::new(container, bytes, size as u64);
            describe(&mut image, &found, |text| Cow::Owned(text.into_owned()));
            image
        })
        .collect();
    list.left = list.left.saturating_sub(whole.len() as u64);
    list.add_images(Some(whole.len() as u64), images);
}

/// Adds a standalone image.
pub(super) fn raw<'a>(list: &mut Listing<'a>, place: Place<'a>, bytes: &'a [u8]) {
    let size = bytes.len() as u64;
    list.add(place, ContainerKind::Raw, size);
    let mut image = Image::new(list.last(), Bytes::Here(bytes), size);
    image.offset = Some(place.offset);
    let arch = |header| match header {
        ImageHeader::SpirV(spirv) if spirv.why_not_opencl().is_none() => {
            Some(OffloadArch::Intel(IntelArch::Spirv64))
        }
        _ => header.arch(),
    };
    let header = ImageHeader::parse(bytes).ok();
    image.target_id = header.and_then(arch).map(|arch| Cow::Owned(arch.to_string()));
    list.add_images(None, [image]);
}
