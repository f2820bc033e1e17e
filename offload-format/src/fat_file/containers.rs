//! The search for device code in archives and text bundles, with the `containers` feature.

use super::found::{Part, within};
use super::{Content, Place};
use crate::Result;
use crate::archive::Archive;
use crate::text_bundle::TextBundle;

/// Whether `data` is a text bundle. Text bundles are the only kind whose detection searches the
/// whole file.
pub(super) fn is_text_bundle(data: &[u8]) -> bool {
    TextBundle::detect(data).is_some()
}

/// Passes the members of an archive to `visit`.
pub(super) fn archive<'data>(
    data: &'data [u8],
    place: Place<'data>,
    visit: &mut dyn FnMut(Place<'data>, Part<'data>),
) -> Result<()> {
    for member in Archive::parse(data)?.members() {
        let place = Place { member: Some(member.name), ..place };
        match member.data {
            Some(inside) => visit(within(place, member.data_offset), Part::File(inside)),
            None => visit(place, Part::Found(Ok(Content::Elsewhere(member.name)))),
        }
    }
    Ok(())
}
