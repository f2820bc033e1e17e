//! Wrappers: the structures in the sections `.hipFatBinSegment` and `.nvFatBinSegment` that pass a
//! program's device code to the runtime.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 4 | magic |
//! | 4 | 4 | version, 1 |
//! | 8 | 8 | address of the image |
//! | 16 | 8 | `HIPK`: the wrapper's number, which selects the entry of a kernel pack |
//!
//! In an object, a relocation of the address field refers to the image. In a position-independent
//! program, a dynamic relocation of the field supplies the address.

use crate::object_file::{Pointing, RecordLayout, Section, pointers};
use crate::section::{HIP_WRAPPER_MAGIC, ObjectFormat, SectionNames};

const LAYOUT: RecordLayout = RecordLayout { size: 24, pointer: 8 };

/// A wrapper, which passes the device code of a program or object to the runtime.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Wrapper<'data> {
    /// The wrapper's target runtime.
    pub kind: WrapperKind,
    /// The version of the structure: 1, or 2 for a fatbin built by the device linker.
    pub version: u32,
    /// The wrapper's offset in bytes from the start of its section.
    pub offset: u64,
    /// The wrapper's number, which selects the entry of a kernel pack: the low half of the last
    /// field, as HIP's runtime reads it.
    pub number: u32,
    /// The bytes from the image's start to the end of its section. `None` if the image is not in
    /// this file, for example because it is in another object of the same link.
    pub image: Option<&'data [u8]>,
}

/// A wrapper's target runtime, according to its magic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WrapperKind {
    /// `HIPF`: for HIP's runtime, with bundles.
    Hip,
    /// `HIPK`: for HIP's runtime, with device code in a separate file.
    HipKpack,
    /// For NVIDIA's runtime, with a fatbin.
    Cuda,
    /// Any other magic, which no runtime registers.
    Unknown,
}

impl WrapperKind {
    fn of_magic(magic: u32) -> Self {
        match magic {
            HIP_WRAPPER_MAGIC => WrapperKind::Hip,
            0x4b50_4948 => WrapperKind::HipKpack,
            0x4662_43b1 => WrapperKind::Cuda,
            _ => WrapperKind::Unknown,
        }
    }
}

/// Calls `visit` for each wrapper in a 64-bit little-endian ELF, COFF, PE or Mach-O file. Other
/// files, and files with damaged tables, have no wrappers. If the search takes far more steps than
/// the file's size justifies, it stops after the wrappers found so far.
pub fn wrappers<'data>(file: &'data [u8], mut visit: impl FnMut(Wrapper<'data>)) {
    pointers(file, LAYOUT, is_of_wrappers, |found| {
        let Pointing { offset, record, target } = found;
        let field = |at| record.u32(at, "wrapper");
        let (Ok(magic), Ok(version), Ok(number)) = (field(0), field(4), field(16)) else { return };
        let (kind, image) = (WrapperKind::of_magic(magic), target.map(|target| target.bytes));
        visit(Wrapper { kind, version, offset, number, image });
    });
}

fn is_of_wrappers(section: &Section<'_>, format: ObjectFormat) -> bool {
    let [segment, name] =
        [section.segment, section.name].map(|text| str::from_utf8(text).unwrap_or(""));
    [SectionNames::HIP_FATBIN_SEGMENT, SectionNames::NV_FATBIN_SEGMENT]
        .iter()
        .any(|names| names.matches(format, segment, name))
}
