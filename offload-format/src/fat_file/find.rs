//! The search for device code in a file.

#[cfg(feature = "containers")]
use super::within;
use super::{Content, FileKind, Place};
#[cfg(feature = "containers")]
use crate::archive::Archive;
use crate::budget::Budget;
use crate::{Error, ErrorKind, Result};

/// The maximum depth of nested archives. No known archive exceeds it.
const DEPTH: u32 = 8;

/// The limit for how many bytes the search reads, as a multiple of the file's size. Sections,
/// slices and members may share bytes.
const SHARED_LIMIT: u64 = 64;

const SHARED: &str = "file (its parts share too many bytes to read them all)";

/// Searches a file for device code, and calls `visit` with each container and its place, in file
/// order.
///
/// For a malformed part, `visit` receives an error whose offset counts from the start of the file,
/// and the search continues with the next section, slice or member. If a section table cannot be
/// read, the search in that object ends. A part that needs a disabled feature causes the error
/// [`ErrorKind::Disabled`]. If the file cannot contain device code, `visit` is not called.
pub fn find<'data>(file: &'data [u8], mut visit: impl FnMut(Place<'data>, Result<Content<'data>>)) {
    let mut walk =
        Walk { visit: &mut visit, budget: Budget::new(file.len() as u64, SHARED_LIMIT, SHARED) };
    walk.file(
        file,
        Place { slice: None, member: None, segment: None, section: None, offset: 0 },
        DEPTH,
    );
}

/// The search. The module `host` adds the methods for host files.
pub(super) struct Walk<'walk, 'data> {
    pub(super) visit: &'walk mut dyn FnMut(Place<'data>, Result<Content<'data>>),
    pub(super) budget: Budget,
}

impl<'data> Walk<'_, 'data> {
    pub(super) fn file(&mut self, data: &'data [u8], place: Place<'data>, depth: u32) {
        let outcome = self.try_file(data, place, depth);
        if let Err(error) = outcome {
            (self.visit)(place, Err(error.shifted(place.offset)));
        }
    }

    fn try_file(&mut self, data: &'data [u8], place: Place<'data>, depth: u32) -> Result<()> {
        self.budget.spend(data.len() as u64)?;
        let Some(kind) = FileKind::identify(data) else { return Ok(()) };
        if depth == 0 {
            return Err(Error::new(ErrorKind::Malformed, "archive (nested too deeply)", 0));
        }
        match kind {
            #[cfg(feature = "containers")]
            FileKind::Archive => {
                for member in Archive::parse(data)?.members() {
                    let place = Place { member: Some(member.name), ..place };
                    match member.data {
                        Some(inside) => {
                            self.file(inside, within(place, member.data_offset), depth - 1)
                        }
                        None => (self.visit)(place, Ok(Content::Elsewhere(member.name))),
                    }
                }
                Ok(())
            }
            #[cfg(not(feature = "containers"))]
            FileKind::Archive => disabled("containers", "archive"),
            #[cfg(feature = "object")]
            FileKind::Universal => self.universal(data, place, depth - 1),
            #[cfg(not(feature = "object"))]
            FileKind::Universal => disabled("object", "universal Mach-O file"),
            #[cfg(feature = "object")]
            FileKind::Host => self.host_file(data, place),
            #[cfg(not(feature = "object"))]
            FileKind::Host => disabled("object", "ELF file for a CPU"),
            FileKind::Container(kind) => {
                (self.visit)(place, Ok(Content::Container(kind, data)));
                Ok(())
            }
        }
    }
}

#[cfg(not(feature = "object"))]
fn disabled(feature: &'static str, what: &'static str) -> Result<()> {
    Err(Error::new(ErrorKind::Disabled { feature }, what, 0))
}
