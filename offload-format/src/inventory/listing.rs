//! Builds the list of containers and images.

use super::{Container, ContainerKind, Image, Inventory, Place, Problem};
use crate::budget::Budget;
use crate::{Error, ErrorKind};
#[cfg(feature = "object")]
use alloc::collections::BTreeSet;

/// Limits the total size of images, which may share bytes: all uncompressed images together may be
/// this many times as large as the file, and the images of a compressed part this many times as
/// large as the part.
const SHARED_LIMIT: u64 = 8;

/// The limit for the list's memory, in bytes per byte of the file and of [`SMALL`]. Without a
/// limit, a small file could list very many empty images.
const LIST_LIMIT: u64 = 64;

/// The size in bytes of a file that may list thousands of images.
const SMALL: u64 = 1 << 16;

/// A generous estimate of the memory for an image's entry in the list.
const IMAGE: u64 = 1024;

/// The inventory under construction, and the remaining limits.
pub(super) struct Listing<'a> {
    file: &'a [u8],
    pub(super) inventory: Inventory<'a>,
    /// The maximum number of bytes to decompress at a time.
    #[cfg(feature = "containers")]
    pub(super) limit: u64,
    /// How many more bytes the list may keep in memory.
    pub(super) left: u64,
    /// The file offsets of images that tables list. They may also be entries of object bundles.
    #[cfg(feature = "object")]
    pub(super) in_tables: BTreeSet<u64>,
    /// The limit for further uncompressed images.
    in_file: Budget,
    /// The limit for the memory of the list.
    memory: Budget,
}

const TOO_MUCH: &str = "list of images (they share too many bytes)";

impl<'a> Listing<'a> {
    pub(super) fn new(file: &'a [u8], limit: u64) -> Self {
        Self {
            file,
            inventory: Inventory::default(),
            #[cfg(feature = "containers")]
            limit,
            left: limit,
            #[cfg(feature = "object")]
            in_tables: BTreeSet::new(),
            in_file: Budget::new(file.len() as u64, SHARED_LIMIT, TOO_MUCH),
            memory: Budget::new(file.len() as u64 + SMALL, LIST_LIMIT, TOO_MUCH),
        }
    }

    pub(super) fn problem(&mut self, place: Place<'a>, error: Error) {
        self.inventory.problems.push(Problem {
            place,
            error: error.shifted(place.offset),
            decompressed: false,
        });
    }

    /// Adds a container; `add_images` adds its images afterwards.
    pub(super) fn add(
        &mut self,
        place: Place<'a>,
        kind: ContainerKind,
        size: u64,
    ) -> &mut Container<'a> {
        let start = usize::try_from(place.offset).unwrap_or(usize::MAX);
        let end = start.saturating_add(usize::try_from(size).unwrap_or(usize::MAX));
        let data = self.file.get(start..end).filter(|_| !kind.is_in_pieces()).unwrap_or_default();
        let at = self.inventory.images.len();
        self.inventory.containers.push(Container {
            kind,
            place,
            size,
            inflated_size: None,
            method: None,
            images: at..at,
            is_in_table: false,
            data,
            link: None,
        });
        self.inventory.containers.last_mut().expect("a container was just added")
    }

    /// Adds images to the last container. `inflated_size` is `None` for uncompressed images, which
    /// share the file's bytes. Other images share the `inflated_size` bytes of a compressed part.
    /// If the images exceed the limits, the remaining images are omitted, and a problem is added.
    pub(super) fn add_images(
        &mut self,
        inflated_size: Option<u64>,
        images: impl IntoIterator<Item = Image<'a>>,
    ) {
        let mut bytes = match inflated_size {
            Some(size) => Budget::new(size, SHARED_LIMIT, TOO_MUCH),
            None => self.in_file,
        };
        let Some(container) = self.inventory.containers.last_mut() else { return };
        let mut within = Ok(());
        for image in images {
            within = bytes.spend(image.size).and_then(|()| self.memory.spend(IMAGE));
            if within.is_err() {
                break;
            }
            self.inventory.images.push(image);
        }
        container.images.end = self.inventory.images.len();
        let place = container.place;
        if inflated_size.is_none() {
            self.in_file = bytes;
        }
        if let Err(error) = within {
            self.problem(place, error);
        }
    }

    pub(super) fn last(&self) -> usize {
        self.inventory.containers.len() - 1
    }

    /// Adds a problem in a compressed part, or in its decompressed bytes.
    pub(super) fn inflated_problem(&mut self, place: Place<'a>, error: Error) {
        let in_stream = matches!(
            error.kind(),
            ErrorKind::Compression { .. }
                | ErrorKind::UnsupportedCompression { .. }
                | ErrorKind::NotBuiltIn { .. }
                | ErrorKind::LimitExceeded { .. }
        );
        if in_stream {
            self.problem(place, error)
        } else {
            self.inventory.problems.push(Problem { place, error, decompressed: true })
        }
    }
}
