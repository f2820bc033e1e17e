//! The kind of a file.

use super::{FileKind, containers, host};
use crate::archive;
use crate::image::Image;

impl FileKind {
    /// Returns the kind of a file from its first bytes; `None` if it is none of these kinds. Only
    /// the search for a text bundle reads the whole file.
    pub fn identify(data: &[u8]) -> Option<Self> {
        if let Some(kind) = Self::of_container(data) {
            return Some(kind);
        }
        if data.starts_with(archive::MAGIC) || data.starts_with(archive::THIN_MAGIC) {
            return Some(FileKind::Archive);
        }
        match Image::parse(data) {
            Ok(image) if image.is_device_code() => Some(FileKind::Image),
            _ if host::is_universal(data) => Some(FileKind::Universal),
            image if host::is_host_file(data, image.ok()) => Some(FileKind::Host),
            _ => containers::is_text_bundle(data).then_some(FileKind::TextBundle),
        }
    }
}
