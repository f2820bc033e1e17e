//! Replaces the module `containers` if the `containers` feature is off.

use super::Place;
use super::found::Part;
use crate::{Error, ErrorKind, Result};

/// Returns false, because text bundles are not detected.
pub(super) fn is_text_bundle(_data: &[u8]) -> bool {
    false
}

pub(super) fn archive<'data>(
    _: &'data [u8],
    _: Place<'data>,
    _: &mut dyn FnMut(Place<'data>, Part<'data>),
) -> Result<()> {
    Err(Error::new(ErrorKind::Disabled { feature: "containers" }, "archive", 0))
}
