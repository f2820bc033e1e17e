//! The walk through a file, container by container.

use super::image::Bytes;
use super::{Container, ContainerKind, Image, ImageKind, Inventory, Place, Problem, View};
use offload_format::bundle::{Bundle, EntryId, EntryTable};
use offload_format::compressed::{Bundles, CompressedBundle, Found};
use offload_format::fat_file::{self, Container as FoundIn};
use offload_format::nv_fatbin::{self, Compression, NvFatbin, NvFatbins};
use offload_format::object_bundle::ObjectBundle;
use offload_format::offload_binary::{self, OffloadBinaries, OffloadBinary};
use offload_format::text_bundle::TextBundle;
use offload_format::{Error, ErrorKind, image};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// Images may share bytes. All that lie in the file may together have this many times its size, and all of something that
/// is compressed this many times its own.
const SHARED_LIMIT: u64 = 64;

/// What is kept of an image, generously. It counts as bytes that images have: there may be very many that are empty.
const IMAGE: u64 = 1024;

/// What may be decompressed for an entry table, the decoder's window among it.
const TABLE_LIMIT: u64 = 1 << 28;

/// What an entry table may have, in bytes. Those of linked programs have some thousand.
const LARGEST_TABLE: usize = 1 << 24;

pub(super) fn walk(file: &[u8], limit: u64) -> Inventory<'_> {
    let in_file = (file.len() as u64).saturating_mul(SHARED_LIMIT);
    let mut walk = Walk { inventory: Inventory::default(), limit, left: limit, in_file };
    fat_file::find(file, |place, found| match found {
        Ok(found) => walk.found(place, found),
        Err(error) => walk.inventory.problems.push(Problem { place, error, decompressed: false }),
    });
    walk.inventory
}

struct Walk<'a> {
    inventory: Inventory<'a>,
    /// What may be decompressed at once.
    limit: u64,
    /// What may still be kept.
    left: u64,
    /// How many bytes images in the file may still have.
    in_file: u64,
}

impl<'a> Walk<'a> {
    fn found(&mut self, place: Place<'a>, found: FoundIn<'a>) {
        match found {
            FoundIn::Bundles(section) => {
                for found in Bundles::new(section, self.limit) {
                    match found {
                        Ok((at, Found::Plain(bundle))) => self.bundle(within(place, at), bundle),
                        Ok((at, Found::Compressed(bundle))) => self.compressed_bundle(within(place, at), bundle),
                        Err(error) => self.problem(place, error),
                    }
                }
            }
            FoundIn::OffloadBinaries(section) => {
                for found in OffloadBinaries::new(section) {
                    match found {
                        Ok((at, binary)) => self.offload_binary(within(place, at), binary),
                        Err(error) => self.problem(place, error),
                    }
                }
            }
            FoundIn::NvFatbins(section) => {
                for found in NvFatbins::new(section) {
                    match found {
                        Ok((at, fatbin)) => self.fatbin(within(place, at), fatbin),
                        Err(error) => self.problem(place, error),
                    }
                }
            }
            FoundIn::ObjectBundle(bundle) => self.object_bundle(place, bundle),
            FoundIn::TextBundle(bundle) => self.text_bundle(place, bundle),
            FoundIn::Image(bytes) => self.raw(place, bytes),
            FoundIn::Elsewhere(path) => self.inventory.elsewhere.push(path),
        }
    }

    fn problem(&mut self, place: Place<'a>, error: Error) {
        self.inventory.problems.push(Problem { place, error: error.shifted(place.offset), decompressed: false });
    }

    /// Adds a container and its images.
    fn add(&mut self, place: Place<'a>, kind: ContainerKind, size: u64, view: View<'a>) -> &mut Container<'a> {
        let at = self.inventory.images.len();
        self.inventory.containers.push(Container {
            kind,
            place,
            size,
            inflated_size: None,
            method: None,
            images: at..at,
            view,
        });
        self.inventory.containers.last_mut().expect("one was just added")
    }

    /// Adds images to the last container. Those that lie in the file as they are share what it has; others have
    /// `inflated_size` bytes between them. Where they share them beyond all reason, the rest is a problem.
    fn add_images(&mut self, inflated_size: Option<u64>, images: impl IntoIterator<Item = Image<'a>>) {
        let mut left = inflated_size.map_or(self.in_file, |size| size.saturating_mul(SHARED_LIMIT));
        let Some(container) = self.inventory.containers.last_mut() else { return };
        let mut too_much = false;
        for image in images {
            match left.checked_sub(image.size.saturating_add(IMAGE)) {
                Some(rest) => left = rest,
                None => {
                    too_much = true;
                    break;
                }
            }
            self.inventory.images.push(image);
        }
        container.images.end = self.inventory.images.len();
        let place = container.place;
        if inflated_size.is_none() {
            self.in_file = left;
        }
        if too_much {
            self.problem(place, Error::new(ErrorKind::Malformed, "images (they share too many bytes)", 0));
        }
    }

    /// The index that the container being added has.
    fn last(&self) -> usize {
        self.inventory.containers.len() - 1
    }

    fn bundle(&mut self, place: Place<'a>, bundle: Bundle<'a>) {
        self.add(place, ContainerKind::Bundle, bundle.size(), View::Bundle(bundle));
        let container = self.last();
        let images = bundle.entries().map(|entry| {
            let bytes = entry.code_object();
            let mut image = Image::new(container, Bytes::Here(bytes), bytes.len() as u64);
            image.offset = Some(place.offset.saturating_add(entry.offset()));
            name(&mut image, Cow::Borrowed(entry.id_str()));
            image
        });
        self.add_images(None, images);
    }

    fn compressed_bundle(&mut self, place: Place<'a>, bundle: CompressedBundle<'a>) {
        let inflated = bundle.uncompressed_size();
        // Where the size is not stored, it has been found already.
        let size = bundle.find_size(self.limit).unwrap_or(bundle.payload().len() as u64);
        let added = self.add(place, ContainerKind::CompressedBundle, size, View::CompressedBundle(bundle));
        added.inflated_size = Some(inflated);
        added.method = Some(match bundle.method() {
            Some(method) => method.to_string(),
            None => format!("method {}", bundle.method_number()),
        });
        if inflated > self.limit {
            // The table could be had. The images could not, and nobody asks for so much but by mistake.
            let error = bundle.decompress(self.limit).err();
            error.into_iter().for_each(|error| self.problem(place, error));
            return;
        }
        match bundle.entry_table(self.limit.min(TABLE_LIMIT)) {
            Ok(table) if table.len() > LARGEST_TABLE => {
                let error = Error::new(ErrorKind::Malformed, "bundle's entry table (of millions of entries)", 0);
                self.inflated_problem(place, error);
            }
            Ok(table) => self.compressed_entries(place, bundle, &table),
            Err(error) if error.kind() == ErrorKind::BadMagic => self.compressed_text(place, bundle, error),
            Err(error) => self.inflated_problem(place, error),
        }
    }

    fn inflated_problem(&mut self, place: Place<'a>, error: Error) {
        let in_stream = matches!(
            error.kind(),
            ErrorKind::Compression { .. }
                | ErrorKind::UnsupportedCompression { .. }
                | ErrorKind::NotBuiltIn { .. }
                | ErrorKind::LimitExceeded { .. }
        );
        match in_stream {
            true => self.problem(place, error),
            false => self.inventory.problems.push(Problem { place, error, decompressed: true }),
        }
    }

    fn compressed_entries(&mut self, place: Place<'a>, bundle: CompressedBundle<'a>, table: &[u8]) {
        // `entry_table` has parsed it.
        let Ok(table) = EntryTable::parse(table) else { return };
        let (container, inflated) = (self.last(), bundle.uncompressed_size());
        let mut images = Vec::new();
        for entry in table.entries() {
            let (start, size) = (entry.offset(), entry.size());
            if start.checked_add(size).is_none_or(|end| end > inflated) {
                let error = Error::new(ErrorKind::OutOfBounds { start, size, len: inflated }, "code object", 0);
                self.inventory.problems.push(Problem { place, error, decompressed: true });
                continue;
            }
            let mut image = Image::new(container, Bytes::Bundle(bundle, start), size);
            name(&mut image, Cow::Owned(entry.id_str().to_owned()));
            images.push(image);
        }
        self.add_images(Some(inflated), images);
    }

    /// A text bundle in a compressed one. If it is none, the error is why it is no binary bundle either.
    fn compressed_text(&mut self, place: Place<'a>, bundle: CompressedBundle<'a>, error: Error) {
        let whole = match bundle.decompress(self.left) {
            Ok(whole) => Arc::new(whole),
            Err(error) => return self.problem(place, error),
        };
        let Some(leader) = TextBundle::detect(&whole) else { return self.inflated_problem(place, error) };
        let text = match TextBundle::parse(&whole, leader) {
            Ok(text) => text,
            Err(error) => return self.inflated_problem(place, error),
        };
        let container = self.last();
        let images: Vec<Image<'a>> = text
            .entries()
            .map(|entry| {
                let start = entry.offset() as usize;
                let size = entry.payload().len();
                let bytes = Bytes::Inflated(Arc::clone(&whole), start..start + size);
                let mut image = Image::new(container, bytes, size as u64);
                name(&mut image, Cow::Owned(entry.id_str().to_owned()));
                image
            })
            .collect();
        self.left = self.left.saturating_sub(whole.len() as u64);
        self.add_images(Some(whole.len() as u64), images);
    }

    fn text_bundle(&mut self, place: Place<'a>, bundle: TextBundle<'a>) {
        let size = bundle.entries().map(|entry| entry.payload().len() as u64).sum();
        self.add(place, ContainerKind::TextBundle, size, View::TextBundle(bundle));
        let container = self.last();
        let images = bundle.entries().map(|entry| {
            let bytes = entry.payload();
            let mut image = Image::new(container, Bytes::Here(bytes), bytes.len() as u64);
            image.offset = Some(place.offset.saturating_add(entry.offset()));
            name(&mut image, Cow::Borrowed(entry.id_str()));
            image
        });
        self.add_images(None, images);
    }

    fn object_bundle(&mut self, place: Place<'a>, bundle: ObjectBundle<'a>) {
        let sizes = bundle.entries().map(|entry| entry.code_object().len() as u64);
        let size = sizes.fold(0, u64::saturating_add);
        self.add(place, ContainerKind::ObjectBundle, size, View::ObjectBundle(bundle));
        let container = self.last();
        let images = bundle.entries().map(|entry| {
            let bytes = entry.code_object();
            let mut image = Image::new(container, Bytes::Here(bytes), bytes.len() as u64);
            image.offset = Some(place.offset.saturating_add(entry.offset()));
            image.said = entry.is_host_placeholder().then_some(ImageKind::Empty);
            name(&mut image, Cow::Borrowed(entry.id_str()));
            image
        });
        self.add_images(None, images);
    }

    fn offload_binary(&mut self, place: Place<'a>, binary: OffloadBinary<'a>) {
        let added = self.add(place, ContainerKind::OffloadBinary, binary.size(), View::OffloadBinary(binary));
        let Some(compressed) = binary.compressed() else {
            let container = self.last();
            let images = binary.images().map(|found| {
                let bytes = found.data();
                let mut image = Image::new(container, Bytes::Here(bytes), bytes.len() as u64);
                image.offset = Some(place.offset.saturating_add(found.offset()));
                describe(&mut image, &found);
                image
            });
            return self.add_images(None, images);
        };
        added.inflated_size = Some(compressed.inflated_size());
        added.method = Some(compressed.method().to_string());
        let whole = match compressed.decompress(self.left) {
            Ok(whole) => Arc::new(whole),
            Err(error) => return self.problem(place, error),
        };
        let inflated = match OffloadBinary::parse(&whole) {
            Ok(inflated) => inflated,
            Err(error) => return self.inflated_problem(place, error),
        };
        let container = self.last();
        let images: Vec<Image<'a>> = inflated
            .images()
            .map(|found| {
                let (start, size) = (found.offset() as usize, found.data().len());
                let bytes = Bytes::Inflated(Arc::clone(&whole), start..start + size);
                let mut image = Image::new(container, bytes, size as u64);
                let mut named = Image::new(container, Bytes::Here(&[]), 0);
                describe(&mut named, &found);
                image.module = owned(named.module);
                image.offload_kind = owned(named.offload_kind);
                image.triple = owned(named.triple);
                image.target_id = owned(named.target_id);
                image
            })
            .collect();
        self.left = self.left.saturating_sub(whole.len() as u64);
        self.add_images(Some(whole.len() as u64), images);
    }

    fn fatbin(&mut self, place: Place<'a>, fatbin: NvFatbin<'a>) {
        self.add(place, ContainerKind::Fatbin, fatbin.size(), View::Fatbin(fatbin));
        let container = self.last();
        for entry in fatbin.entries() {
            match entry.compression() {
                Compression::None => {
                    let images = entry.images_in_place().map(|(found, offset, bytes)| {
                        let mut image = Image::new(container, Bytes::Here(bytes), bytes.len() as u64);
                        image.offset = Some(place.offset.saturating_add(offset));
                        describe_nvidia(&mut image, &found);
                        image
                    });
                    self.add_images(None, images);
                }
                _ => {
                    let images = entry.images().map(|found| {
                        let mut image = Image::new(container, Bytes::Fatbin(entry, found), found.size());
                        image.stored_size = Some(entry.stored().len() as u64);
                        describe_nvidia(&mut image, &found);
                        image
                    });
                    self.add_images(Some(entry.size().saturating_add(IMAGE)), images);
                }
            }
        }
    }

    fn raw(&mut self, place: Place<'a>, bytes: &'a [u8]) {
        let size = bytes.len() as u64;
        self.add(place, ContainerKind::Raw, size, View::Raw(bytes));
        let mut image = Image::new(self.last(), Bytes::Here(bytes), size);
        image.offset = Some(place.offset);
        image.target_id = match image::Image::parse(bytes) {
            Ok(image::Image::CodeObject(header)) => header.target_id().map(Cow::Owned),
            Ok(image::Image::Cubin(header)) => Some(Cow::Owned(format!("sm_{}", header.number()))),
            Ok(image::Image::Ptx(header)) => Some(Cow::Owned(header.arch().to_string())),
            _ => None,
        };
        self.add_images(None, [image]);
    }
}

/// The place of a container `at` bytes further on.
fn within(mut place: Place<'_>, at: u64) -> Place<'_> {
    place.offset = place.offset.saturating_add(at);
    place
}

/// Takes from a bundle entry ID what it says.
fn name<'a>(image: &mut Image<'a>, id: Cow<'a, str>) {
    let part = |range: Range<usize>| match &id {
        Cow::Borrowed(id) => Cow::Borrowed(&id[range]),
        Cow::Owned(id) => Cow::Owned(id[range].to_owned()),
    };
    if let Ok(parsed) = EntryId::parse(&id) {
        let kind = parsed.kind().len();
        // Old compilers left a dash behind the target ID.
        let before =
            [id.as_ref(), id.trim_end_matches('-')].into_iter().find_map(|it| it.strip_suffix(parsed.target()));
        let target = before.map_or(id.len(), str::len);
        let triple = id[..target].trim_end_matches('-').len();
        if before.is_some() && !parsed.target().is_empty() {
            image.target_id = Some(part(target..target + parsed.target().len()));
        }
        if triple > kind + 1 {
            image.triple = Some(part(kind + 1..triple));
        }
        image.offload_kind = Some(part(0..kind));
    }
    image.entry_id = Some(id);
}

/// Takes what an offload binary says. It may have bytes that are no text; empty strings say nothing.
fn describe<'a>(image: &mut Image<'a>, found: &offload_binary::Image<'a>) {
    let string = |key| found.bytes(key).filter(|value| !value.is_empty()).map(String::from_utf8_lossy);
    image.offload_kind = Some(Cow::Owned(found.offload_kind().to_string()));
    image.module = string("module");
    image.triple = string("triple");
    image.target_id = string("arch");
}

/// Takes what a fatbin says.
fn describe_nvidia<'a>(image: &mut Image<'a>, found: &nv_fatbin::Image<'a>) {
    image.module = Some(found.name()).filter(|name| !name.is_empty()).map(String::from_utf8_lossy);
    image.offload_kind = Some(Cow::Borrowed("cuda"));
    image.triple = Some(Cow::Borrowed(if found.is_64_bit() { "nvptx64-nvidia-cuda" } else { "nvptx-nvidia-cuda" }));
    image.target_id = match found.kind() {
        nv_fatbin::ImageKind::LTO_IR => Some(Cow::Owned(format!("lto_{}", found.compute_capability()))),
        _ => found.arch().map(|arch| Cow::Owned(arch.to_string())),
    };
    image.said = Some(match found.kind() {
        nv_fatbin::ImageKind::CUBIN => ImageKind::Cubin,
        kind if kind.is_ptx() => ImageKind::Ptx,
        _ => ImageKind::Unknown,
    });
}

fn owned<'a>(text: Option<Cow<'_, str>>) -> Option<Cow<'a, str>> {
    text.map(|text| Cow::Owned(text.into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entry_ids_are_taken_apart() {
        for (id, kind, triple, target) in [
            ("hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-", "hipv4", "amdgcn-amd-amdhsa", "gfx90a:xnack-"),
            ("hip-amdgcn-amd-amdhsa-gfx906", "hip", "amdgcn-amd-amdhsa", "gfx906"),
            ("hip-amdgcn-amd-amdhsa--gfx11-generic", "hip", "amdgcn-amd-amdhsa", "gfx11-generic"),
            ("openmp-nvptx64-nvidia-cuda-sm_70-", "openmp", "nvptx64-nvidia-cuda", "sm_70"),
            ("openmp-nvptx64-nvidia-cuda--sm_70", "openmp", "nvptx64-nvidia-cuda", "sm_70"),
            ("host-x86_64-unknown-linux-gnu-", "host", "x86_64-unknown-linux-gnu", ""),
            ("host-x86_64-unknown-linux", "host", "x86_64-unknown-linux", ""),
            ("hip-amdgcn-amd-amdhsa--gfx\u{fffd}9-\u{fffd}-", "hip", "amdgcn-amd-amdhsa", "gfx\u{fffd}9-\u{fffd}-"),
            ("hip-a-----", "hip", "a", "-"),
            ("nonsense", "", "", ""),
        ] {
            for text in [Cow::Borrowed(id), Cow::Owned(id.to_owned())] {
                let mut image = Image::new(0, Bytes::Here(b""), 0);
                name(&mut image, text);
                let part = |text: &Option<Cow<'_, str>>| text.as_deref().unwrap_or("").to_owned();
                let found = (part(&image.offload_kind), part(&image.triple), part(&image.target_id));
                assert_eq!(found, (kind.to_owned(), triple.to_owned(), target.to_owned()), "{id}");
            }
        }
    }
}
