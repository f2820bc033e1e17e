//! Replaces the module `containers` if the `containers` feature is off. Reads only a single plain
//! bundle.

use super::listing::Listing;
use super::{Place, plain};
use crate::bundle::Bundle;
use crate::section::COMPRESSED_BUNDLE_MAGIC;
use crate::{Error, ErrorKind};

/// Adds the bundle in a file. Only zeros may follow the bundle.
pub(super) fn bundles<'a>(list: &mut Listing<'a>, place: Place<'a>, section: &'a [u8]) {
    if section.starts_with(COMPRESSED_BUNDLE_MAGIC) {
        return takes(list, place, "compressed bundle");
    }
    let bundle = match Bundle::parse(section) {
        Ok(bundle) => bundle,
        Err(error) => return list.problem(place, error),
    };
    let size = bundle.size();
    plain::bundle(list, place, bundle);
    let behind =
        usize::try_from(size).ok().and_then(|size| section.get(size..)).unwrap_or_default();
    if behind.iter().any(|byte| *byte != 0) {
        takes(list, place, "second bundle");
    }
}

pub(super) fn fatbins<'a>(list: &mut Listing<'a>, place: Place<'a>, _section: &'a [u8]) {
    takes(list, place, "fatbin");
}

pub(super) fn kpack<'a>(list: &mut Listing<'a>, place: Place<'a>, _file: &'a [u8]) {
    takes(list, place, "kpack file");
}

pub(super) fn oxarts<'a>(list: &mut Listing<'a>, place: Place<'a>, _section: &'a [u8]) {
    takes(list, place, "bundle of cuda-oxide");
}

pub(super) fn kpack_reference<'a>(list: &mut Listing<'a>, place: Place<'a>, _section: &'a [u8]) {
    takes(list, place, "kpack reference");
}

pub(super) fn text_bundle<'a>(list: &mut Listing<'a>, place: Place<'a>, _file: &'a [u8]) {
    takes(list, place, "text bundle");
}

fn takes<'a>(list: &mut Listing<'a>, place: Place<'a>, what: &'static str) {
    list.problem(place, Error::new(ErrorKind::Disabled { feature: "containers" }, what, 0));
}
