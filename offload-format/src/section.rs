//! Sections with device code: their names in each host file format, their alignment, and the first
//! bytes of packs in them.
//!
//! Sources: `clang` and `clang-linker-wrapper` 22.1.8, and nvcc 13.5 (docs/formats.md of the
//! project, "Sections").
//!
//! [`DeviceSection`] lists the sections that this crate writes. [`SectionNames`] lists all sections
//! that other tools read.

use core::fmt;

/// A format of object files, and of the programs linked from them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectFormat {
    /// ELF.
    Elf,
    /// COFF objects, and the PE images linked from them.
    Coff,
    /// Mach-O.
    MachO,
}

impl fmt::Display for ObjectFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            ObjectFormat::Elf => "ELF",
            ObjectFormat::Coff => "COFF",
            ObjectFormat::MachO => "Mach-O",
        })
    }
}

/// The first bytes of a binary bundle.
pub(crate) const BUNDLE_MAGIC: &[u8; 24] = b"__CLANG_OFFLOAD_BUNDLE__";
/// The first bytes of a compressed bundle.
pub(crate) const COMPRESSED_BUNDLE_MAGIC: &[u8; 4] = b"CCOB";
/// The first bytes of an offload binary.
pub(crate) const OFFLOAD_BINARY_MAGIC: &[u8; 4] = b"\x10\xff\x10\xad";

/// A section for device code in the host files that this crate writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceSection {
    /// `.hip_fatbin`: consecutive offload bundles, each aligned to 4096 bytes. HIP's runtime,
    /// `roc-obj-ls` and `llvm-objdump --offloading` read this section.
    HipFatbin,
    /// `.llvm.offloading`: offload binaries back to back, each padded to a multiple of 8 bytes.
    /// LLVM's tools find this section by its type in ELF files, and by its name in COFF files.
    LlvmOffloading,
}

impl DeviceSection {
    /// All sections for device code that this crate writes.
    pub const ALL: [Self; 2] = [DeviceSection::HipFatbin, DeviceSection::LlvmOffloading];

    /// Returns the section's name in each format.
    pub const fn names(self) -> SectionNames {
        match self {
            DeviceSection::HipFatbin => SectionNames::HIP_FATBIN,
            DeviceSection::LlvmOffloading => SectionNames::LLVM_OFFLOADING,
        }
    }

    /// Returns the name in ELF files, which is also the section's common name.
    pub const fn elf_name(self) -> &'static str {
        self.names().name
    }

    /// Returns the section with this name in files of this format. `segment` is used only for
    /// Mach-O.
    #[inline]
    pub fn from_names(format: ObjectFormat, segment: &str, section: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.names().matches(format, segment, section))
    }

    /// Returns the first bytes of the containers in this section.
    pub const fn first_bytes(self, is_compressed: bool) -> &'static [u8] {
        match self {
            DeviceSection::HipFatbin if is_compressed => COMPRESSED_BUNDLE_MAGIC,
            DeviceSection::HipFatbin => BUNDLE_MAGIC,
            DeviceSection::LlvmOffloading => OFFLOAD_BINARY_MAGIC,
        }
    }

    /// Returns the alignment in bytes of the section and of its contents. Bundles are aligned to
    /// pages, because HIP's runtime maps whole pages. Offload binaries are aligned like their
    /// fields.
    pub const fn align(self) -> u64 {
        match self {
            DeviceSection::HipFatbin => 4096,
            DeviceSection::LlvmOffloading => 8,
        }
    }
}

/// `HIPF`: the first number of each structure in [`SectionNames::HIP_FATBIN_SEGMENT`] that points
/// to a bundle.
pub const HIP_WRAPPER_MAGIC: u32 = 0x4849_5046;

/// The name of a section in each format.
///
/// Objects for Windows use the ELF name, however long it is, so that linkers merge the sections
/// from different compilers. PE images (programs and DLLs) reserve only eight bytes for a section's
/// name. `link.exe` keeps the first eight bytes, as in `.hip_fat`. `lld-link` first removes
/// everything from a second period on, so `.llvm.offloading` becomes `.llvm`. Linkers for MinGW can
/// write the full name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SectionNames {
    /// The name in ELF files and COFF objects, and the full name in PE images.
    pub name: &'static str,
    /// The segment and the section in Mach-O files.
    pub macho: (&'static str, &'static str),
}

impl SectionNames {
    /// Offload bundles of HIP programs.
    pub const HIP_FATBIN: Self = Self::new(".hip_fatbin", ("__HIP", "__hip_fatbin"));
    /// The structures that HIP programs register, which point to the bundles.
    pub const HIP_FATBIN_SEGMENT: Self = Self::new(".hipFatBinSegment", ("__HIP", "__fatbin"));
    /// Offload binaries. LLVM defines no name for Mach-O. This segment is not called `__LLVM`,
    /// because linkers drop all sections of a segment with that name.
    pub(crate) const LLVM_OFFLOADING: Self =
        Self::new(".llvm.offloading", ("__OFFLOAD", "__offloading"));
    /// NVIDIA's fat binaries.
    pub const NV_FATBIN: Self = Self::new(".nv_fatbin", ("__NV_CUDA", "__nv_fatbin"));
    /// NVIDIA's fat binaries with relocatable device code.
    pub const NV_RELFATBIN: Self = Self::new("__nv_relfatbin", ("__NV_CUDA", "__nv_relfatbin"));
    /// The structures that CUDA programs register, which point to the fat binaries.
    pub const NV_FATBIN_SEGMENT: Self = Self::new(".nvFatBinSegment", ("__NV_CUDA", "__fatbin"));

    /// The reference to kernel packs, in libraries whose code objects were moved into them.
    pub const KPACK_REFERENCE: Self = Self::new(".rocm_kpack_ref", ("__HIP", "__rocm_kpack_ref"));
    /// The name that ROCm's tools use instead of [`Self::KPACK_REFERENCE`] in PE images.
    pub const KPACK_REFERENCE_COFF: Self = Self::new(".kpackrf", ("__HIP", "__kpackrf"));

    /// The table of the images that DPC++ links into programs. There is no section for Mach-O.
    pub const IMAGE_TABLE: Self = Self::new(".tgtimg", ("", ""));

    /// Bundles of cuda-oxide. There is no section for Mach-O.
    pub const OXART: Self = Self::new(".oxart", ("", ""));

    const fn new(name: &'static str, macho: (&'static str, &'static str)) -> Self {
        Self { name, macho }
    }

    /// Whether a section in a file of this format has this name. `segment` is used only for Mach-O.
    /// A name that a linker for Windows cut short may be ambiguous. For example, `lld-link`
    /// shortens all names that start with `.llvm.` to `.llvm`.
    #[inline]
    pub fn matches(&self, format: ObjectFormat, segment: &str, section: &str) -> bool {
        match format {
            ObjectFormat::Elf => section == self.name,
            ObjectFormat::Coff => {
                [self.name, self.link_name(), self.lld_link_name()].contains(&section)
            }
            ObjectFormat::MachO => (segment, section) == self.macho,
        }
    }

    /// Returns the name that `link.exe` gives the section in PE images.
    #[inline]
    fn link_name(&self) -> &'static str {
        self.name.get(..8).unwrap_or(self.name)
    }

    /// Returns the name that `lld-link` gives the section in PE images.
    #[inline]
    fn lld_link_name(&self) -> &'static str {
        let second_period = self.name.match_indices('.').map(|(at, _)| at).find(|&at| at > 0);
        let name = second_period.map_or(self.name, |at| &self.name[..at]);
        name.get(..8).unwrap_or(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_objects_and_images() {
        use ObjectFormat::{Coff, Elf, MachO};
        let hip = [(Elf, "", ".hip_fatbin"), (Coff, "", ".hip_fatbin"), (Coff, "", ".hip_fat")];
        let hip = hip.into_iter().chain([(MachO, "__HIP", "__hip_fatbin")]);
        let llvm =
            [(Elf, "", ".llvm.offloading"), (Coff, "", ".llvm.offloading"), (Coff, "", ".llvm.of")];
        let llvm =
            llvm.into_iter().chain([(Coff, "", ".llvm"), (MachO, "__OFFLOAD", "__offloading")]);
        for (format, segment, section) in hip {
            assert_eq!(
                DeviceSection::from_names(format, segment, section),
                Some(DeviceSection::HipFatbin)
            );
        }
        for (format, segment, section) in llvm {
            assert_eq!(
                DeviceSection::from_names(format, segment, section),
                Some(DeviceSection::LlvmOffloading)
            );
        }
        let none = [
            (Elf, "", ".hip_fat"),
            (Elf, "", ".llvm"),
            (Coff, "", ".hip_fatb"),
            (Coff, "", ".hipFatB"),
            (MachO, "__DATA", "__hip_fatbin"),
            (MachO, "__HIP", "__fatbin"),
            (MachO, "", ".hip_fatbin"),
        ];
        for (format, segment, section) in none {
            assert_eq!(
                DeviceSection::from_names(format, segment, section),
                None,
                "{format} {segment},{section}"
            );
        }
        assert!(SectionNames::HIP_FATBIN_SEGMENT.matches(Coff, "", ".hipFatB"));
        assert!(SectionNames::NV_FATBIN.matches(Coff, "", ".nv_fatb"));
        assert!(SectionNames::NV_FATBIN_SEGMENT.matches(Coff, "", ".nvFatBi"));
        assert!(SectionNames::NV_RELFATBIN.matches(Coff, "", "__nv_rel"));
    }
}
