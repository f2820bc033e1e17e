//! What kind of file bytes are.

use crate::archive;
use crate::image::Image;
use crate::object_file::Slices;
use crate::text_bundle::TextBundle;
use crate::{bundle, compressed, nv_fatbin, offload_binary};

/// The kinds of files that can have device code in them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FileKind {
    /// A binary bundle.
    Bundle,
    /// A compressed bundle.
    CompressedBundle,
    /// A text bundle.
    TextBundle,
    /// An offload binary.
    OffloadBinary,
    /// NVIDIA's container.
    NvFatbin,
    /// An AMD code object, a cubin, PTX, SPIR-V or LLVM bitcode.
    Image,
    /// An archive, thin or not.
    Archive,
    /// A universal Mach-O file.
    Universal,
    /// An executable, a shared object or an object: ELF, COFF, PE or Mach-O.
    Host,
}

impl FileKind {
    /// The kind of a file by its first bytes; `None` if it is none of these. Only a text bundle is looked for in all of it.
    pub fn identify(data: &[u8]) -> Option<Self> {
        if let Some(kind) = Self::of_container(data) {
            return Some(kind);
        }
        if data.starts_with(archive::MAGIC) || data.starts_with(archive::THIN_MAGIC) {
            return Some(FileKind::Archive);
        }
        if Slices::are_in(data) {
            return Some(FileKind::Universal);
        }
        if let Ok(Image::CodeObject(_) | Image::Cubin(_) | Image::Ptx(_) | Image::Bitcode | Image::SpirV { .. }) =
            Image::parse(data)
        {
            return Some(FileKind::Image);
        }
        use object::FileKind as Object;
        match object::FileKind::parse(data) {
            Ok(
                Object::Elf32
                | Object::Elf64
                | Object::Coff
                | Object::CoffBig
                | Object::Pe32
                | Object::Pe64
                | Object::MachO32
                | Object::MachO64,
            ) => Some(FileKind::Host),
            _ => TextBundle::detect(data).map(|_| FileKind::TextBundle),
        }
    }

    /// The kind of container that starts with these bytes.
    pub(super) fn of_container(data: &[u8]) -> Option<Self> {
        let magics: [(&[u8], Self); 4] = [
            (bundle::MAGIC, FileKind::Bundle),
            (&compressed::MAGIC, FileKind::CompressedBundle),
            (&offload_binary::MAGIC, FileKind::OffloadBinary),
            (&nv_fatbin::MAGIC, FileKind::NvFatbin),
        ];
        magics.into_iter().find(|(magic, _)| data.starts_with(magic)).map(|(_, kind)| kind)
    }
}
