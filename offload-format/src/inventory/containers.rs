//! Adds the containers that need the `containers` feature to a listing: compressed bundles, bundles
//! in a row, text bundles, fatbins, kernel packs and bundles of cuda-oxide. Object bundles need the
//! feature `object`.

use super::declared::name;
use super::image::Bytes;
use super::listing::Listing;
use super::{ContainerKind, Image, ImageKind, Place, Reference, plain};
use crate::bundle::EntryTable;
use crate::compressed::{CompressedBundle, Found};
use crate::fat_file::within;
use crate::in_a_row::in_a_row;
use crate::kpack::{Kpack, KpackKernel, KpackReference};
use crate::nv_fatbin::{self, Compression, NvFatbin};
#[cfg(feature = "object")]
use crate::object_bundle::ObjectBundle;
use crate::oxart::{Oxart, PayloadKind};
use crate::target::PtxVersion;
use crate::text_bundle::TextBundle;
use crate::{Error, ErrorKind};
use alloc::borrow::{Cow, ToOwned};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;

/// The maximum number of bytes to decompress for an entry table, including the decoder's window.
const TABLE_LIMIT: u64 = 1 << 28;

/// The maximum size of an entry table in bytes. In linked programs, tables take a few thousand
/// bytes.
const LARGEST_TABLE: usize = 1 << 24;

/// Adds the consecutive bundles of a section.
pub(super) fn bundles<'a>(list: &mut Listing<'a>, place: Place<'a>, section: &'a [u8]) {
    let limit = list.limit;
    let bundles = in_a_row(section, 1, |rest| {
        // Keep the sizes, because finding some of them requires decompression.
        Found::parse_sized(rest, limit).map(|(found, size)| ((found, size), size))
    });
    for found in bundles {
        match found {
            Ok((at, (Found::Plain(bundle), _))) => plain::bundle(list, within(place, at), bundle),
            Ok((at, (Found::Compressed(bundle), size))) => {
                compressed_bundle(list, within(place, at), bundle, size)
            }
            Err(error) => list.problem(place, error),
        }
    }
}

/// Adds the consecutive fatbins of a section.
pub(super) fn fatbins<'a>(list: &mut Listing<'a>, place: Place<'a>, section: &'a [u8]) {
    for found in NvFatbin::in_a_row(section) {
        match found {
            Ok((at, found)) => fatbin(list, within(place, at), found),
            Err(error) => list.problem(place, error),
        }
    }
}

fn compressed_bundle<'a>(
    list: &mut Listing<'a>,
    place: Place<'a>,
    bundle: CompressedBundle<'a>,
    size: u64,
) {
    let inflated = bundle.uncompressed_size;
    let added = list.add(place, ContainerKind::CompressedBundle, size);
    added.inflated_size = Some(inflated);
    added.method = Some(match bundle.method() {
        Some(method) => method.to_string(),
        None => format!("method {}", bundle.method_number()),
    });
    if inflated > list.limit {
        // If the entry table is within the limit but the images are not, report a problem and do
        // not list the bundle's images.
        let error = bundle.decompress(list.limit).err();
        error.into_iter().for_each(|error| list.problem(place, error));
        return;
    }
    match bundle.entry_table(list.limit.min(TABLE_LIMIT)) {
        Ok(table) if table.len() > LARGEST_TABLE => {
            let error = Error::new(ErrorKind::Malformed, "bundle's entry table (too large)", 0);
            list.inflated_problem(place, error);
        }
        Ok(table) => compressed_entries(list, bundle, &table),
        Err(error) if error.kind() == ErrorKind::BadMagic => {
            compressed_text(list, place, bundle, error)
        }
        Err(error) => list.inflated_problem(place, error),
    }
}

fn compressed_entries<'a>(list: &mut Listing<'a>, bundle: CompressedBundle<'a>, table: &[u8]) {
    // This cannot fail: `entry_table` has parsed these bytes, and checked the entries' ranges.
    let Ok(table) = EntryTable::parse(table) else { return };
    let container = list.last();
    let images = table.entries().map(|entry| {
        let mut image = Image::new(container, Bytes::Bundle(bundle, entry.offset), entry.size);
        name(&mut image, Cow::Owned(entry.id_str.to_owned()));
        image
    });
    list.add_images(Some(bundle.uncompressed_size), images);
}

/// Adds a text bundle in a compressed bundle. If the decompressed bytes are not a text bundle
/// either, reports `error`, which says why they are not a binary bundle.
fn compressed_text<'a>(
    list: &mut Listing<'a>,
    place: Place<'a>,
    bundle: CompressedBundle<'a>,
    error: Error,
) {
    let whole = match bundle.decompress(list.left) {
        Ok(whole) => Arc::new(whole),
        Err(error) => return list.problem(place, error),
    };
    let Some(leader) = TextBundle::detect(&whole) else {
        return list.inflated_problem(place, error);
    };
    let text = match TextBundle::parse(&whole, leader) {
        Ok(text) => text,
        Err(error) => return list.inflated_problem(place, error),
    };
    let container = list.last();
    let images: Vec<Image<'a>> = text
        .entries()
        .map(|entry| {
            let start = entry.offset as usize;
            let size = entry.code_object.len();
            let bytes = Bytes::Inflated(Arc::clone(&whole), start..start + size);
            let mut image = Image::new(container, bytes, size as u64);
            name(&mut image, Cow::Owned(entry.id_str.to_owned()));
            image
        })
        .collect();
    list.left = list.left.saturating_sub(whole.len() as u64);
    list.add_images(Some(whole.len() as u64), images);
}

pub(super) fn text_bundle<'a>(list: &mut Listing<'a>, place: Place<'a>, data: &'a [u8]) {
    let missing = Error::new(ErrorKind::BadMagic, "text bundle", 0);
    let leader = TextBundle::detect(data).ok_or(missing);
    let bundle = match leader.and_then(|leader| TextBundle::parse(data, leader)) {
        Ok(bundle) => bundle,
        Err(error) => return list.problem(place, error),
    };
    let size = bundle.entries().map(|entry| entry.code_object.len() as u64).sum();
    list.add(place, ContainerKind::TextBundle, size);
    let container = list.last();
    let images = bundle.entries().map(|entry| plain::entry(container, place, &entry));
    list.add_images(None, images);
}

#[cfg(feature = "object")]
pub(super) fn object_bundle<'a>(list: &mut Listing<'a>, place: Place<'a>, data: &'a [u8]) {
    let bundle = match ObjectBundle::parse(data) {
        Ok(bundle) => bundle,
        Err(error) => return list.problem(place, error),
    };
    let mut entries = bundle.images();
    entries.retain(|entry| {
        let start = place.offset.saturating_add(entry.offset);
        let end = start.saturating_add(entry.code_object.len() as u64);
        list.in_tables.range(start..end).next().is_none()
    });
    if entries.is_empty() {
        return;
    }
    let sizes = entries.iter().map(|entry| entry.code_object.len() as u64);
    let size = sizes.fold(0, u64::saturating_add);
    list.add(place, ContainerKind::ObjectBundle, size).data = data;
    let container = list.last();
    let images = entries.iter().map(|entry| {
        let mut image = plain::entry(container, place, entry);
        image.said = entry.is_host_placeholder().then_some(ImageKind::Empty);
        image
    });
    list.add_images(None, images);
}

fn fatbin<'a>(list: &mut Listing<'a>, place: Place<'a>, fatbin: NvFatbin<'a>) {
    list.add(place, ContainerKind::Fatbin, fatbin.size());
    let container = list.last();
    for entry in fatbin.entries() {
        match entry.compression {
            Compression::None => {
                let images = entry.images_in_place().map(|(found, offset, bytes)| {
                    let mut image = Image::new(container, Bytes::Here(bytes), bytes.len() as u64);
                    image.offset = Some(place.offset.saturating_add(offset));
                    describe_nvidia(&mut image, &found);
                    image
                });
                list.add_images(None, images);
            }
            _ => {
                let images = entry.images().map(|found| {
                    let mut image = Image::new(container, Bytes::Fatbin(entry, found), found.size);
                    image.stored_size = Some(entry.stored.len() as u64);
                    describe_nvidia(&mut image, &found);
                    image
                });
                list.add_images(Some(entry.size), images);
            }
        }
    }
}

/// Adds the code objects of a kernel pack.
pub(super) fn kpack<'a>(list: &mut Listing<'a>, place: Place<'a>, file: &'a [u8]) {
    let kpack = match Kpack::parse(file) {
        Ok(kpack) => kpack,
        Err(error) => return list.problem(place, error),
    };
    list.add(place, ContainerKind::Kpack, file.len() as u64);
    let container = list.last();
    let image = |kernel: &KpackKernel<'a>| {
        let offset = place.offset.saturating_add(kernel.offset);
        let mut image = Image::new(container, Bytes::Here(kernel.stored), kernel.size);
        if kernel.is_compressed {
            image.bytes = Bytes::Kpack(*kernel, offset);
            image.stored_size = Some(kernel.stored.len() as u64)
        } else {
            image.offset = Some(offset)
        }
        image.module = Some(Cow::Borrowed(kernel.binary));
        image.offload_kind = Some(Cow::Borrowed("hip"));
        image.triple = Some(Cow::Borrowed("amdgcn-amd-amdhsa"));
        image.target_id = Some(Cow::Borrowed(kernel.target));
        image.said = (kernel.kind == "hsaco").then_some(ImageKind::CodeObject);
        image
    };
    // The caller's limit applies to each decompressed image, so all images together may exceed it.
    let compressed = kpack.kernels().iter().filter(|kernel| kernel.is_compressed);
    let inflated = compressed.map(|kernel| kernel.size).reduce(u64::saturating_add);
    list.add_images(inflated, kpack.kernels().iter().map(image));
}

/// Adds the consecutive cuda-oxide bundles of a section.
pub(super) fn oxarts<'a>(list: &mut Listing<'a>, place: Place<'a>, section: &'a [u8]) {
    for found in Oxart::in_a_row(section) {
        let (place, bundle) = match found {
            Ok((at, bundle)) => (within(place, at), bundle),
            Err(error) => return list.problem(place, error),
        };
        let size = bundle.bytes.len() as u64;
        list.add(place, ContainerKind::Oxart, size);
        let container = list.last();
        let images = bundle.payloads().map(|payload| {
            let bytes = payload.data;
            let mut image = Image::new(container, Bytes::Here(bytes), bytes.len() as u64);
            image.offset = Some(place.offset.saturating_add(payload.offset));
            image.module = Some(Cow::Borrowed(bundle.name));
            image.offload_kind = Some(Cow::Borrowed("cuda"));
            image.triple = Some(Cow::Borrowed("nvptx64-nvidia-cuda"));
            // The bundle names only the target of machine code (`sm_90`), whatever form the device
            // code has, so derive the names of the other forms.
            let form = |start: &str| match bundle.target.strip_prefix("sm_") {
                Some(number) => Cow::Owned(format!("{start}{number}")),
                None => Cow::Borrowed(bundle.target),
            };
            (image.target_id, image.said) = match payload.kind {
                PayloadKind::PTX => (Some(form("compute_")), Some(ImageKind::Ptx)),
                PayloadKind::CUBIN => (Some(form("sm_")), Some(ImageKind::Cubin)),
                PayloadKind::LTO_IR => (Some(form("lto_")), Some(ImageKind::Unknown)),
                PayloadKind::NVVM_IR => (Some(form("nvvm_")), Some(ImageKind::Unknown)),
                _ => (None, Some(ImageKind::Unknown)),
            };
            image
        });
        list.add_images(None, images);
    }
}

/// The maximum number of references to kernel packs in a file, because each is compared with all
/// wrappers of the file.
const MOST_REFERENCES: usize = 16;

/// Adds a program's or library's reference to its code objects in a kernel pack.
pub(super) fn kpack_reference<'a>(list: &mut Listing<'a>, place: Place<'a>, section: &'a [u8]) {
    match KpackReference::parse(section) {
        Ok(_) if list.inventory.references.len() == MOST_REFERENCES => {
            let what = "kpack reference (more than 16 in the file)";
            list.problem(place, Error::new(ErrorKind::Malformed, what, 0));
        }
        Ok(reference) => list.inventory.references.push(Reference { place, reference }),
        Err(error) => list.problem(place, error),
    }
}

/// Copies a fatbin's information about an image to `image`.
fn describe_nvidia<'a>(image: &mut Image<'a>, found: &nv_fatbin::Image<'a>) {
    image.module = Some(found.name).filter(|name| !name.is_empty()).map(String::from_utf8_lossy);
    image.offload_kind = Some(Cow::Borrowed("cuda"));
    image.triple = Some(Cow::Borrowed(if found.is_64_bit() {
        "nvptx64-nvidia-cuda"
    } else {
        "nvptx-nvidia-cuda"
    }));
    image.target_id = match found.kind {
        nv_fatbin::FatbinImageKind::LTO_IR => {
            Some(Cow::Owned(format!("lto_{}", found.compute_capability)))
        }
        _ => found.arch().map(|arch| Cow::Owned(arch.to_string())),
    };
    let (major, minor) = found.version;
    image.ptx_version = found.kind.is_ptx().then(|| PtxVersion::new(major.into(), minor.into()));
    // Fatbins have their own numbering of image kinds.
    image.said = Some(match found.kind {
        nv_fatbin::FatbinImageKind::CUBIN => ImageKind::Cubin,
        kind if kind.is_ptx() => ImageKind::Ptx,
        _ => ImageKind::Unknown,
    });
}
