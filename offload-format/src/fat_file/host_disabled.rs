//! Replaces the module `host` if the `object` feature is off.

use super::found::{Budget, Part};
use super::{Content, Place};
use crate::image::ImageHeader;
use crate::{Error, ErrorKind, Result};

pub(super) fn is_universal(_data: &[u8]) -> bool {
    false
}

/// Whether this is an ELF or PE file for a CPU, according to its header.
pub(super) fn is_host_file(_data: &[u8], header: Option<ImageHeader>) -> bool {
    header.is_some_and(|header| header.is_for_cpu())
}

pub(super) fn universal<'data>(
    _: &'data [u8],
    _: Place<'data>,
    _: &mut dyn FnMut(Place<'data>, Part<'data>),
) -> Result<()> {
    disabled("universal Mach-O file")
}

pub(super) fn host_file<'data>(
    _: &'data [u8],
    _: Place<'data>,
    _: &mut Budget,
    _: &mut dyn FnMut(Place<'data>, Result<Content<'data>>),
) -> Result<()> {
    disabled("ELF file for a CPU")
}

fn disabled(what: &'static str) -> Result<()> {
    Err(Error::new(ErrorKind::Disabled { feature: "object" }, what, 0))
}
