//! The kinds of images that offload binaries state.

use offload_format::image::Image;
use offload_format::offload_binary::ImageKind;

/// Returns the kind that an offload binary should state for an image with these bytes; `None` if
/// the bytes are of an unknown kind.
pub fn stated_kind(bytes: &[u8]) -> Option<ImageKind> {
    Some(match Image::parse(bytes).ok()? {
        Image::CodeObject(_) | Image::Elf { .. } | Image::Pe { .. } => ImageKind::OBJECT,
        Image::Cubin(_) => ImageKind::CUBIN,
        Image::Ptx(_) => ImageKind::PTX,
        Image::Fatbin => ImageKind::FATBINARY,
        Image::Bitcode => ImageKind::BITCODE,
        Image::SpirV { .. } => ImageKind::SPIRV,
    })
}
