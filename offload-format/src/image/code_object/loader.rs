//! Parts of a code object that ROCm's loaders read besides the header and the notes.
//!
//! | read | by | source |
//! |---|---|---|
//! | a section called `.strtab`, and the section name table | HIP: "failed: null sections(STRTAB)" | `InitElf` in clr's `rocclr/elf/elf.cpp`, tags rocm-5.7.1 to rocm-6.2.2, and rocm-systems of 2026 |
//! | a symbol table with the kernels' descriptors; the dynamic one only if the variable `LOADER_USE_DYNSYM` is set | ROCr, for HIP and OpenMP | `GElfImage::getSymbolTable`, `AmdHsaCode::PullElfV2` in rocm-systems of August 2025 |
//!
//! `llvm-strip` and `dh_strip` remove `.strtab` and the symbol table (TheRock, issue 4590). The
//! table above comes from reading the sources; no loader was run.

use super::CodeObjectHeader;
use crate::image::elf::Elf;

const SHT_SYMTAB: u32 = 2;

impl CodeObjectHeader {
    /// Returns a part that ROCm's loaders need but the code object lacks, such as
    /// `section .strtab`. Returns `None` if nothing is missing, or if the file is unlinked or
    /// incomplete.
    #[inline]
    pub fn lacks(data: &[u8]) -> Option<&'static str> {
        Self::parse(data).ok()?;
        let elf = Elf::parse(data).ok().filter(Elf::is_linked)?;
        let sections = || (0..elf.sections()).map_while(|index| elf.section(index).ok());
        if !sections().any(|section| elf.name_after(&section, b".strtab\0").is_some()) {
            return Some("section .strtab");
        }
        let has_symbols = sections().any(|section| section.kind == SHT_SYMTAB);
        (!has_symbols).then_some("symbol table")
    }
}
