//! All containers and images of a file: `offload ls`, `extract`, `select`, `verify` and `size`, the
//! macro and offload-build share this walk.
//!
//! The formats and their sources are on the pages of [`bundle`](crate::bundle),
//! [`offload_binary`](crate::offload_binary) and the other containers. The page of
//! [`fat_file`](crate::fat_file) has those of the places in a file.
//!
//! ```
//! # #[cfg(feature = "compression")] {
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
//! * [`Inventory::of`] reads headers and tables. Of a compressed bundle, it decompresses the entry
//!   table alone. An image's kind and bytes cost nothing until a caller needs them:
//!   [`Image::known_kind`], [`Image::header`], `Images::read`.
//! * Text is as the file has it. It may hold anything: escape it before it is shown on a terminal.
//! * A part that cannot be read is a [`Problem`]; so is a part that needs a missing feature
//!   ([`ErrorKind::Disabled`](crate::ErrorKind::Disabled)).
//! * A fatbin inside an offload binary or a bundle is one image, of an unknown kind: it is not gone
//!   into.

mod container;
#[cfg(feature = "containers")]
mod containers;
#[cfg(not(feature = "containers"))]
mod containers_disabled;
mod declared;
mod image;
mod kind;
mod listing;
mod plain;
#[cfg(feature = "containers")]
mod read;
mod walk;

#[cfg(not(feature = "containers"))]
use containers_disabled as containers;

pub use crate::fat_file::Place;
pub use container::{Container, ContainerKind, View};
pub use image::Image;
pub use kind::ImageKind;
#[cfg(feature = "containers")]
pub use read::Images;

use crate::Error;
#[cfg(feature = "containers")]
use crate::kpack::{KpackReference, is_binary_of};
use alloc::vec::Vec;

/// All containers and images of a file, in file order.
///
/// The format and its sources are on the [module's page](self).
#[derive(Debug, Default)]
pub struct Inventory<'a> {
    /// The containers that could be read. Their index is `container_index` in JSON.
    pub containers: Vec<Container<'a>>,
    /// The images of all containers.
    pub images: Vec<Image<'a>>,
    /// The parts that could not be read.
    pub problems: Vec<Problem<'a>>,
    /// References of programs and libraries to code objects in kernel packs beside them. The packs
    /// are not opened.
    #[cfg(feature = "containers")]
    pub references: Vec<Reference<'a>>,
    /// Members of a thin archive: paths of files from the archive's folder. The packs are not
    /// opened.
    pub elsewhere: Vec<&'a [u8]>,
}

impl<'a> Inventory<'a> {
    /// Finds everything in `file`. No more than `limit` bytes are decompressed at once, nor kept in
    /// all.
    pub fn of(file: &'a [u8], limit: u64) -> Self {
        walk::walk(file, limit)
    }

    /// The container that an image is in.
    pub fn container(&self, image: &Image<'a>) -> &Container<'a> {
        &self.containers[image.container]
    }

    /// The problem that reading an image had, from the error that `Images::read` returned.
    pub fn problem_of(&self, image: &Image<'a>, error: Error) -> Problem<'a> {
        let place = self.container(image).place;
        // In an uncompressed image, offsets are its own.
        match image.offset {
            Some(offset) => Problem { place, error: error.shifted(offset), decompressed: false },
            None => Problem { place, error, decompressed: true },
        }
    }

    /// Drops the images of a kernel pack that are for another program or library than the one of
    /// this name ([`KpackReference::kernel_name`]). An inventory of another kind of file keeps all.
    #[cfg(feature = "containers")]
    pub fn retain_kernels_of(&mut self, name: &str) {
        let [container] = &mut self.containers[..] else { return };
        if container.kind == ContainerKind::Kpack {
            self.images.retain(|image| {
                image.module.as_deref().is_none_or(|binary| is_binary_of(binary, name))
            });
            container.images = 0..self.images.len();
        }
    }

    /// The images of a container.
    pub fn images_of(&self, container: &Container<'a>) -> &[Image<'a>] {
        &self.images[container.images.clone()]
    }
}

/// A program's or library's word on where its code objects are.
///
/// The format and its sources are on the [module's page](self).
#[cfg(feature = "containers")]
#[derive(Debug, Clone)]
pub struct Reference<'a> {
    /// The place of the reference.
    pub place: Place<'a>,
    /// The content of the reference.
    pub reference: KpackReference<'a>,
}

/// Something that could not be read.
///
/// The format and its sources are on the [module's page](self).
#[derive(Debug, Clone, Copy)]
pub struct Problem<'a> {
    /// The place of the problem.
    pub place: Place<'a>,
    /// The error. Its offsets count from the start of the file, unless `decompressed` is set.
    pub error: Error,
    /// Whether the error is in a compressed container: its offsets count from the container's
    /// start, or from its content's start.
    pub decompressed: bool,
}
