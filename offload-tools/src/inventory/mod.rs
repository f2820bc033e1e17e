//! What device images a file has: the one model that `ls`, `extract`, `select`, `verify` and `size` share.
//!
//! ```
//! use offload_tools::inventory::{Inventory, Images};
//!
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/corpus/fat_file/hip_nordc_compressed.o");
//! let file = std::fs::read(path).unwrap();
//! let limit = 1 << 30;
//! let inventory = Inventory::of(&file, limit);
//! let mut images = Images::new(limit);
//! for image in &inventory.images {
//!     let container = &inventory.containers[image.container];
//!     let bytes = images.read(image).unwrap();
//!     println!("{} in a {}: {} bytes", image.label(), container.kind.name(), bytes.len());
//! }
//! assert!(inventory.problems.is_empty());
//! ```
//!
//! * [`Inventory::of`] reads headers and tables, and of a compressed bundle the entry table. What an image is and what its bytes
//!   are costs nothing until it is asked for: [`Image::known_kind`], [`Images::read`].
//! * Text is as the file has it. It may hold anything: what shows it on a terminal escapes it
//!   ([`text`](crate::text)).
//! * What cannot be read is a [`Problem`] beside what can.
//! * A fatbin inside an offload binary or a bundle is one image, of an unknown kind: it is not gone into.

mod code;
mod container;
mod header;
mod image;
mod kind;
mod read;
mod record;
mod walk;

pub use code::{Named, by_name};
pub use container::{Container, ContainerKind, View};
pub use header::Header;
pub use image::Image;
pub use kind::ImageKind;
pub use offload_format::fat_file::Place;
pub use read::Images;
pub use record::{FileRecord, ImageRecord, KernelRecord};

use offload_format::{Error, ErrorKind};
use std::fmt;

/// All containers and images of a file, in file order.
#[derive(Debug, Default)]
pub struct Inventory<'a> {
    /// The containers that could be read. Their index is what JSON calls `container_index`.
    pub containers: Vec<Container<'a>>,
    /// The images of all containers.
    pub images: Vec<Image<'a>>,
    /// What could not be read.
    pub problems: Vec<Problem<'a>>,
    /// Members of a thin archive: paths of files from the archive's folder. They are not opened.
    pub elsewhere: Vec<&'a [u8]>,
}

impl<'a> Inventory<'a> {
    /// Finds everything in `file`. No more than `limit` bytes are decompressed at once, nor kept in all.
    pub fn of(file: &'a [u8], limit: u64) -> Self {
        walk::walk(file, limit)
    }

    /// The container that an image is in.
    pub fn container(&self, image: &Image<'a>) -> &Container<'a> {
        &self.containers[image.container]
    }

    /// The problem that reading an image had, from the error that [`Images::read`] returned.
    pub fn problem_of(&self, image: &Image<'a>, error: Error) -> Problem<'a> {
        let place = self.container(image).place;
        // In an image that lies in the file, offsets are its own.
        match image.offset {
            Some(offset) => Problem { place, error: error.shifted(offset), decompressed: false },
            None => Problem { place, error, decompressed: true },
        }
    }

    /// The images of a container.
    pub fn images_of(&self, container: &Container<'a>) -> &[Image<'a>] {
        &self.images[container.images.clone()]
    }
}

/// Something that could not be read.
#[derive(Debug, Clone, Copy)]
pub struct Problem<'a> {
    /// Where it is.
    pub place: Place<'a>,
    /// What is wrong. Its offsets count from the start of the file, but see `decompressed`.
    pub error: Error,
    /// It is in a compressed container: its offsets count from where that starts, or from where its content does.
    pub decompressed: bool,
}

/// `member a.o, section .hip_fatbin: code object: ...`, without the name of the file.
impl fmt::Display for Problem<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use crate::text::escaped;
        if let Some(slice) = self.place.slice {
            write!(f, "slice for processor {slice:#x}: ")?;
        }
        if let Some(member) = self.place.member {
            write!(f, "member {}: ", escaped(member))?;
        }
        if let Some(section) = self.place.section {
            write!(f, "section {}: ", escaped(section))?;
        }
        if self.decompressed {
            write!(f, "compressed container at offset {}: ", self.place.offset)?;
        }
        self.error.fmt(f)?;
        match self.error.kind() {
            ErrorKind::LimitExceeded { need, limit } if need <= limit => f.write_str("; the system does not give them"),
            // Of kernels it is the work that is limited.
            ErrorKind::LimitExceeded { .. } if self.error.part() != "work to find kernels" => {
                f.write_str("; --max-size allows more")
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
