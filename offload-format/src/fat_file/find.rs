//! The search for device code in a file.

use super::found::{Budget, Part};
use super::{Content, FileKind, Place, containers, host};
use crate::{Error, ErrorKind, Result};

/// The maximum depth of nested archives. No known archive exceeds it.
const DEPTH: u32 = 8;

/// Searches a file for device code, and calls `visit` with each container and its place, in file
/// order.
///
/// For a malformed part, `visit` receives an error whose offset counts from the start of the file,
/// and the search continues with the next section, slice or member. If a section table cannot be
/// read, the search in that object ends. A part that needs a disabled feature causes the error
/// [`ErrorKind::Disabled`]. If the file cannot contain device code, `visit` is not called.
pub fn find<'data>(file: &'data [u8], mut visit: impl FnMut(Place<'data>, Result<Content<'data>>)) {
    let mut walk = Walk { visit: &mut visit, budget: Budget::of(file) };
    walk.file(
        file,
        Place { slice: None, member: None, segment: None, section: None, offset: 0 },
        DEPTH,
    );
}

struct Walk<'walk, 'data> {
    visit: &'walk mut dyn FnMut(Place<'data>, Result<Content<'data>>),
    budget: Budget,
}

impl<'data> Walk<'_, 'data> {
    fn file(&mut self, data: &'data [u8], place: Place<'data>, depth: u32) {
        let outcome = self.try_file(data, place, depth);
        if let Err(error) = outcome {
            (self.visit)(place, Err(error.shifted(place.offset)));
        }
    }

    fn try_file(&mut self, data: &'data [u8], place: Place<'data>, depth: u32) -> Result<()> {
        self.budget.spend(data)?;
        let Some(kind) = FileKind::identify(data) else { return Ok(()) };
        let Some(deeper) = depth.checked_sub(1) else {
            return Err(Error::new(ErrorKind::Malformed, "archive (nested too deeply)", 0));
        };
        let mut part = |place, part| match part {
            Part::File(inside) => self.file(inside, place, deeper),
            Part::Found(found) => (self.visit)(place, found),
        };
        match kind {
            FileKind::Archive => containers::archive(data, place, &mut part),
            FileKind::Universal => host::universal(data, place, &mut part),
            FileKind::Host => host::host_file(data, place, &mut self.budget, self.visit),
            FileKind::Container(kind) => {
                (self.visit)(place, Ok(Content::Container(kind, data)));
                Ok(())
            }
        }
    }
}
