//! The relocatable object that carries device code into the link of a host program.
//!
//! This is the one place that knows which section the field's tools look in.

mod elf;

pub use elf::{Machine, write};

/// Where device code lies in a host file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceSection {
    /// `.hip_fatbin`: offload bundles, one after another, each aligned 4096. HIP's runtime, `roc-obj-ls` and
    /// `llvm-objdump --offloading` look here.
    HipFatbin,
    /// `.llvm.offloading`: offload binaries without gaps, each aligned 8. LLVM's tools look for the section's type.
    LlvmOffloading,
}

impl DeviceSection {
    /// Section name in ELF files.
    pub const fn elf_name(self) -> &'static str {
        match self {
            DeviceSection::HipFatbin => ".hip_fatbin",
            DeviceSection::LlvmOffloading => ".llvm.offloading",
        }
    }

    /// The section that has this name in ELF files.
    pub fn from_elf_name(name: &str) -> Option<Self> {
        [DeviceSection::HipFatbin, DeviceSection::LlvmOffloading].into_iter().find(|it| it.elf_name() == name)
    }

    /// Alignment in bytes of the section.
    pub const fn align(self) -> u64 {
        match self {
            DeviceSection::HipFatbin => crate::bundle::HIP_ALIGN,
            DeviceSection::LlvmOffloading => crate::offload_binary::ALIGN,
        }
    }

    const fn elf_type(self) -> u32 {
        const SHT_PROGBITS: u32 = 1;
        match self {
            DeviceSection::HipFatbin => SHT_PROGBITS,
            DeviceSection::LlvmOffloading => crate::offload_binary::SHT_LLVM_OFFLOADING,
        }
    }
}
