//! Checks of containers.

use super::bundles::{self, Entry};
use super::check::{Check, Report, Subject};
use super::images;
use offload_format::ErrorKind;
use offload_format::bundle::{self, Bundle};
use offload_format::compressed::{self, CompressedBundle};
use offload_format::inventory::{ContainerKind, Image, ImageKind, Images, Inventory};
use offload_format::nv_fatbin::{self, NvFatbin};
use offload_format::object_bundle::ObjectBundle;
use offload_format::offload_binary::{self, OffloadBinary, Version};
use offload_format::target::{Form, Needs};
use std::collections::BTreeSet;

/// Checks a container and its images. `known` contains the offsets of containers whose problems the
/// inventory reports.
pub(super) fn check<'a>(
    report: &mut Report,
    subject: Subject<'_, 'a>,
    inventory: &Inventory<'a>,
    known: &BTreeSet<u64>,
    images: &mut Images<'a>,
    limit: u64,
) {
    let container = subject.container;
    let (data, found) = (container.data, inventory.images_of(container));
    match container.kind {
        ContainerKind::CompressedBundle => {
            let Ok(bundle) = CompressedBundle::parse(data) else { return };
            return compressed_bundle(report, subject, &bundle, known, found, limit);
        }
        ContainerKind::Bundle => {
            let Ok(bundle) = Bundle::parse(data) else { return };
            plain_bundle(report, subject, &bundle, data);
        }
        ContainerKind::ObjectBundle => {
            let Ok(bundle) = ObjectBundle::parse(data) else { return };
            bundles::names(report, subject, bundle.entries().map(Entry::stored))
        }
        ContainerKind::TextBundle => bundles::names(report, subject, found.iter().map(Entry::of)),
        ContainerKind::OffloadBinary => {
            let Ok(binary) = OffloadBinary::parse(data) else { return };
            offload_binary(report, subject, &binary, data, found.len());
            // The inventory has already reported a failure to decompress the binary.
            if let Some(compressed) = binary.compressed
                && let Ok(whole) = compressed.decompress(limit)
                && let Ok(binary) = OffloadBinary::parse(&whole)
            {
                offload_binary(report, subject, &binary, &whole, found.len());
            }
        }
        ContainerKind::Fatbin => {
            let Ok(fatbin) = NvFatbin::parse(data) else { return };
            self::fatbin(report, subject, &fatbin);
            if found.iter().any(|image| inventory.form_of(image) == Form::ZstdInFatbin) {
                note_loader(report, subject, Form::ZstdInFatbin);
            }
        }
        // The inventory has already checked these tables. The loop below checks their images.
        ContainerKind::Kpack => note_loader(report, subject, Form::Kpack),
        ContainerKind::ImageTable | ContainerKind::Oxart | ContainerKind::Raw => {}
    }
    for image in found {
        match images.read(image) {
            Ok(bytes) => images::check(report, subject.image(image), image, &bytes),
            Err(error) => failed(report, subject.image(image), inventory, image, error),
        }
    }
}

/// Adds a note about the oldest loader that reads a container's images.
fn note_loader(report: &mut Report, subject: Subject<'_, '_>, form: Form) {
    report.note(Check::Loader, subject, Needs { form, ..Needs::default() }.to_string());
}

fn failed<'a>(
    report: &mut Report,
    subject: Subject<'_, 'a>,
    inventory: &Inventory<'a>,
    image: &Image<'a>,
    error: offload_format::Error,
) {
    // An image of unknown kind may be LTO-IR, which is scrambled and read only by NVIDIA's linker,
    // so unsupported compression of such an image is only a note.
    let is_ours = !matches!(image.said_kind(), Some(ImageKind::Unknown));
    let is_finding = is_ours || !matches!(error.kind(), ErrorKind::UnsupportedCompression { .. });
    let text = inventory.problem_of(image, error).error.to_string();
    report.add_if(is_finding, Check::Decompress, subject, text);
}

fn plain_bundle(report: &mut Report, subject: Subject<'_, '_>, bundle: &Bundle<'_>, bytes: &[u8]) {
    bundles::names(report, subject, bundle.entries().map(Entry::stored));
    bundles::hip(report, subject, bundle, Form::Plain);
    places(report, subject, bundle, bytes);
}

/// Checks the ranges in a bundle: entries must not overlap, and only zeros may separate them.
fn places(report: &mut Report, subject: Subject<'_, '_>, bundle: &Bundle<'_>, bytes: &[u8]) {
    let mut ranges: Vec<(u64, u64, &str)> = bundle
        .entries()
        .map(|entry| (entry.offset, entry.offset + entry.code_object.len() as u64, entry.id_str))
        .filter(|(start, end, _)| start < end)
        .collect();
    ranges.sort_unstable();
    let (mut at, mut before) = (bundle.table().size(), "the entry table");
    for (start, end, id) in ranges {
        if start < at {
            let last = at.min(end) - 1;
            report.finding(
                Check::Overlap,
                subject.entry(id),
                format!("bytes {start} to {last} are shared with {before}"),
            );
        } else if !is_zero(bytes, at, start) {
            let text = format!("bytes {at} to {} are between images, but are not zero", start - 1);
            report.finding(Check::Padding, subject.entry(id), text);
        }
        if end > at {
            (at, before) = (end, id);
        }
    }
    if !is_zero(bytes, at, bytes.len() as u64) {
        report.finding(
            Check::Padding,
            subject,
            format!("bytes from {at} on belong to no image, but are not zero"),
        );
    }
}

fn is_zero(bytes: &[u8], start: u64, end: u64) -> bool {
    let range = usize::try_from(start).ok().zip(usize::try_from(end).ok());
    range
        .and_then(|(start, end)| bytes.get(start..end))
        .is_none_or(|gap| gap.iter().all(|byte| *byte == 0))
}

fn compressed_bundle(
    report: &mut Report,
    subject: Subject<'_, '_>,
    bundle: &CompressedBundle<'_>,
    known: &BTreeSet<u64>,
    found: &[Image<'_>],
    limit: u64,
) {
    if bundle.total_size.is_none() && bundle.version > 1 {
        report.note(Check::Size, subject, "the header does not contain the bundle's size");
    }
    let whole = match bundle.decompress(limit) {
        Ok(whole) => whole,
        Err(error) => {
            // Skip an error that the inventory has already reported.
            let place = subject.container.place;
            if !known.contains(&place.offset) {
                report.finding(Check::Decompress, subject, error.shifted(place.offset).to_string());
            }
            return;
        }
    };
    if whole.len() as u64 != bundle.uncompressed_size {
        let (says, is) = (bundle.uncompressed_size, whole.len());
        report.finding(
            Check::Size,
            subject,
            format!("it decompresses to {is} bytes, but the header says {says}"),
        );
    }
    let hash = compressed::hash(&whole);
    if hash != bundle.hash {
        let stored = bundle.hash;
        report.finding(
            Check::Hash,
            subject,
            format!("the content has the hash {hash:016x}, but the header says {stored:016x}"),
        );
    }
    let Ok(plain) = Bundle::parse(&whole) else {
        // This is a text bundle or a malformed bundle, so check the images found by the inventory.
        bundles::names(report, subject, found.iter().map(Entry::of));
        if whole.starts_with(bundle::MAGIC)
            && let Err(error) = Bundle::parse(&whole)
        {
            report.finding(
                Check::Unreadable,
                subject,
                format!("its decompressed content cannot be read: {error}"),
            );
        }
        return;
    };
    bundles::names(report, subject, plain.entries().map(Entry::stored));
    bundles::hip(report, subject, &plain, Form::CompressedBundle(bundle.version));
    places(report, subject, &plain, &whole);
    // Check each entry with the inventory's image at the same position, unless the IDs differ
    // because the inventory lacks images.
    for (image, entry) in found.iter().zip(plain.entries()) {
        if image.entry_id.as_deref() == Some(entry.id_str) {
            images::check(report, subject.image(image), image, entry.code_object);
        }
    }
}

/// Checks the offload binary in `bytes`, but only its first `count` images: the images in the
/// inventory, which limits how many images may share bytes.
fn offload_binary(
    report: &mut Report,
    subject: Subject<'_, '_>,
    binary: &OffloadBinary<'_>,
    bytes: &[u8],
    count: usize,
) {
    let align = offload_binary::ALIGN;
    if binary.compressed.is_none() && !binary.size().is_multiple_of(align) {
        report.finding(
            Check::Size,
            subject,
            format!("its size is {} bytes, which is not a multiple of {align}", binary.size()),
        );
    }
    let mut ranges = Vec::new();
    for image in binary.images().take(count) {
        let name = image.arch().or(image.triple()).unwrap_or("unnamed");
        let subject = subject.entry(name);
        // Only version 1 aligns images; later versions store them back to back.
        if binary.version == Version::V1 && !image.offset.is_multiple_of(align) {
            let text = format!("it starts at {}, which is not a multiple of {align}", image.offset);
            report.finding(Check::Alignment, subject, text);
        }
        images::stated_kind(report, subject, image.image_kind, image.data);
        // `OffloadBinary::parse` has checked that the image is inside the bytes.
        let end = image.offset + image.data.len() as u64;
        if !image.data.is_empty() {
            ranges.push((image.offset, end, name));
        }
        let next = usize::try_from(end).ok().and_then(|end| bytes.get(end));
        let is_ptx = ImageKind::of(image.data).is_ptx();
        if is_ptx && next != Some(&0) && !image.data.ends_with(b"\0") {
            // This is only a note, because llvm-offload-binary 22 writes no NUL after a text whose
            // size is a multiple of eight.
            report.note(
                Check::PtxEnd,
                subject,
                "no NUL follows the text, so a driver would read past its end",
            );
        }
    }
    ranges.sort_unstable();
    for pair in ranges.windows(2) {
        let ((.., end, before), (start, _, name)) = (pair[0], pair[1]);
        if start < end {
            report.finding(
                Check::Overlap,
                subject.entry(name),
                format!("its first bytes are shared with {before}"),
            );
        }
    }
}

fn fatbin(report: &mut Report, subject: Subject<'_, '_>, fatbin: &NvFatbin<'_>) {
    for entry in fatbin.entries() {
        if !entry.offset.is_multiple_of(nv_fatbin::ALIGN) {
            let text = format!(
                "a payload starts at {}, which is not a multiple of {}",
                entry.offset,
                nv_fatbin::ALIGN
            );
            report.finding(Check::Alignment, subject, text);
        }
        let is_plain_ptx = entry.kind.is_ptx() && entry.compression == nv_fatbin::Compression::None;
        if is_plain_ptx && !entry.stored.ends_with(b"\0") {
            report.finding(
                Check::PtxEnd,
                subject,
                format!("no NUL follows the text at {}", entry.offset),
            );
        }
    }
}
