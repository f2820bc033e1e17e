//! Lists all containers and images of a file, for the commands `cargo offload ls`, `extract`,
//! `select`, `verify` and `size`, for the macro, and for offload-build.
//!
//! The formats and their references are documented on the pages of [`bundle`](crate::bundle),
//! [`offload_binary`](crate::offload_binary) and the other containers. The page of
//! [`fat_file`](crate::fat_file) describes the places in a file.
//!
//! ```
//! # #[cfg(all(feature = "zlib", feature = "zstd"))] {
//! use offload_format::inventory::{Inventory, Images};
//!
//! # #[cfg(feature = "object")] {
//! let file = include_bytes!("../../corpus/hip_nordc_compressed.o");
//! let limit = 1 << 30;
//! let inventory = Inventory::of(file, limit);
//! let mut images = Images::new(limit);
//! for image in &inventory.images {
//!     let container = inventory.container(image);
//!     let bytes = images.read(image).unwrap();
//!     println!("{} in a {}: {} bytes", image.label(), container.kind.name(), bytes.len());
//! }
//! assert!(inventory.problems.is_empty());
//! # assert_eq!(inventory.images.len(), 3);
//! # }
//! # }
//! ```
//!
//! * [`Inventory::of`] reads headers and tables. It decompresses the entry tables of compressed
//!   bundles, the images of image tables, compressed offload binaries, and compressed text bundles.
//!   Only [`Image::known_kind`] and `Images::read` determine the kinds and bytes of other images.
//! * Names, IDs and other text are returned as stored, and may contain any characters. Escape them
//!   before printing them on a terminal.
//! * A part that cannot be read becomes a [`Problem`], even if the reason is a missing feature
//!   ([`ErrorKind::Disabled`](crate::ErrorKind::Disabled)).
//! * A fatbin inside an offload binary or a bundle is a single image of unknown kind: its contents
//!   are not listed.

mod container;
#[cfg(feature = "containers")]
mod containers;
#[cfg(not(feature = "containers"))]
mod containers_disabled;
mod declared;
#[cfg(feature = "containers")]
mod file_name;
mod image;
#[cfg(feature = "object")]
mod image_table;
#[cfg(all(feature = "containers", feature = "object"))]
mod link;
mod listing;
mod plain;
#[cfg(feature = "containers")]
mod read;
mod walk;

#[cfg(not(feature = "containers"))]
use containers_disabled as containers;

pub use crate::fat_file::{ContainerKind, Place};
pub use crate::image::ImageKind;
pub use container::{Container, DeviceLink};
#[cfg(feature = "containers")]
pub use file_name::without_gpu;
pub use image::Image;
#[cfg(feature = "containers")]
pub use read::Images;

use crate::Error;
#[cfg(feature = "containers")]
use crate::compressed::CompressedBundle;
#[cfg(all(feature = "containers", feature = "object"))]
use crate::fat_file::{WrapperKind, wrappers};
#[cfg(feature = "containers")]
use crate::kpack::KpackReference;
use crate::target::Form;
use alloc::vec::Vec;
#[cfg(all(feature = "containers", feature = "object"))]
use alloc::{format, string::String};
use core::ops::Range;

/// All containers and images of a file, in file order.
#[derive(Debug, Default)]
pub struct Inventory<'a> {
    /// The containers that could be read. The `container_index` in JSON is a container's index in
    /// this list.
    pub containers: Vec<Container<'a>>,
    /// The images of all containers.
    pub images: Vec<Image<'a>>,
    /// The parts that could not be read.
    pub problems: Vec<Problem<'a>>,
    /// References of programs and libraries to code objects in separate kernel packs.
    /// [`Inventory::of`] does not open the packs.
    #[cfg(feature = "containers")]
    pub references: Vec<Reference<'a>>,
    /// Members of a thin archive: paths relative to the archive's folder. [`Inventory::of`] does
    /// not open these files.
    pub elsewhere: Vec<&'a [u8]>,
}

impl<'a> Inventory<'a> {
    /// Finds all containers and images in `file`. Decompresses at most `limit` bytes at a time, and
    /// keeps at most `limit` bytes in total.
    pub fn of(file: &'a [u8], limit: u64) -> Self {
        walk::walk(file, limit)
    }

    /// Returns the container that contains an image.
    pub fn container(&self, image: &Image<'a>) -> &Container<'a> {
        &self.containers[image.container]
    }

    /// Converts an `error` that `Images::read` returned for an image into a problem.
    pub fn problem_of(&self, image: &Image<'a>, error: Error) -> Problem<'a> {
        let place = self.container(image).place;
        // In an uncompressed image, error offsets count from the start of the image.
        match image.offset {
            Some(offset) => Problem { place, error: error.shifted(offset), decompressed: false },
            None => Problem { place, error, decompressed: true },
        }
    }

    /// Removes the images whose entries `is_kept` rejects from a kernel pack. Any other kind of
    /// file keeps all images.
    #[cfg(feature = "containers")]
    pub fn retain_entries(&mut self, is_kept: impl Fn(&str) -> bool) {
        let [container] = &mut self.containers[..] else { return };
        if container.kind == ContainerKind::Kpack {
            self.images.retain(|image| image.module.as_deref().is_none_or(&is_kept));
            container.images = 0..self.images.len();
        }
    }

    /// Adds the containers, images and problems of another file, such as a library's kernel pack.
    #[inline]
    pub fn append(&mut self, other: Self) {
        let (containers, images) = (self.containers.len(), self.images.len());
        self.containers.extend(other.containers.into_iter().map(|container| {
            let Range { start, end } = container.images;
            Container { images: start + images..end + images, ..container }
        }));
        self.images.extend(other.images.into_iter().map(|image| {
            let container = image.container + containers;
            Image { container, ..image }
        }));
        self.problems.extend(other.problems);
    }

    /// Returns the form in which the container stores an image, which the loader must support.
    #[inline]
    pub fn form_of(&self, image: &Image<'a>) -> Form {
        let container = self.container(image);
        match container.kind {
            #[cfg(feature = "containers")]
            ContainerKind::CompressedBundle => {
                let bundle = CompressedBundle::parse(container.data);
                bundle.map_or(Form::Plain, |bundle| Form::CompressedBundle(bundle.version))
            }
            ContainerKind::Kpack => Form::Kpack,
            _ => image.form(),
        }
    }

    /// Returns all images except those known to be empty without decompression.
    #[inline]
    pub fn images_with_content(&self) -> impl Iterator<Item = &Image<'a>> {
        self.images.iter().filter(|image| image.known_kind() != Some(ImageKind::Empty))
    }

    /// Returns the images of a container.
    #[inline]
    pub fn images_of(&self, container: &Container<'a>) -> &[Image<'a>] {
        &self.images[container.images.clone()]
    }
}

/// A reference in a program or library to its code objects.
#[cfg(feature = "containers")]
#[derive(Debug, Clone)]
pub struct Reference<'a> {
    /// The place of the reference.
    pub place: Place<'a>,
    /// The contents of the reference.
    pub reference: KpackReference<'a>,
}

#[cfg(all(feature = "containers", feature = "object"))]
impl Reference<'_> {
    /// Returns the kernel pack entries that the file's wrappers request, such as `lib/libfoo.so#0`.
    /// The list is empty if no wrapper is found, as in an archive.
    #[inline]
    pub fn entries(&self, file: &[u8]) -> Vec<String> {
        let (name, mut entries) = (self.reference.kernel_name, Vec::new());
        wrappers(file, |wrapper| {
            let asked = wrapper.image.and_then(|image| KpackReference::parse(image).ok());
            if wrapper.kind == WrapperKind::HipKpack && asked.as_ref() == Some(&self.reference) {
                entries.push(format!("{name}#{}", wrapper.number));
            }
        });
        entries
    }
}

/// A part of the file that could not be read.
#[derive(Debug, Clone, Copy)]
pub struct Problem<'a> {
    /// The place of the problem.
    pub place: Place<'a>,
    /// The error. Its offset counts from the start of the file, unless `decompressed` is set.
    pub error: Error,
    /// Whether the error is in a compressed container. If so, the error's offset counts from the
    /// start of the container or of the decompressed bytes.
    pub decompressed: bool,
}
