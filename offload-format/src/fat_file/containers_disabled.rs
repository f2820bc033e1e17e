//! The stand-in for `containers` without the feature of that name.

use super::found::Part;
use super::{Container, Place};
use crate::{Error, ErrorKind, Result};

/// Returns false: text bundles are not detected.
pub(super) fn is_text_bundle(_data: &[u8]) -> bool {
    false
}

pub(super) fn text_bundle(_: &[u8]) -> Result<Container<'_>> {
    Err(disabled("text bundle"))
}

pub(super) fn archive<'data>(
    _: &'data [u8],
    _: Place<'data>,
    _: &mut dyn FnMut(Place<'data>, Part<'data>),
) -> Result<()> {
    Err(disabled("archive"))
}

fn disabled(what: &'static str) -> Error {
    Error::new(ErrorKind::Disabled { feature: "containers" }, what, 0)
}
