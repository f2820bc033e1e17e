//! The version of the toolkit that wrote a cubin.
//!
//! | OS/ABI | toolkit | where the version (times ten) is stored |
//! |---|---|---|
//! | 51 | up to 12 | `e_version` |
//! | 65 | 12 | the first word of the note 2000 |
//! | 65 | 13 | the second word of the note 1000, whose first two bytes are 2 |
//!
//! Source: files of ptxas 11.8 to 13.5, and the word `toolkit` in the output of cuobjdump 13.5.

use super::CubinHeader;
use crate::Result;
use crate::image::elf::{Elf, ElfHeader, Note, budget_of};
use crate::reader::Reader;

const OWNER: &[u8] = b"NVIDIA Corp\0";
const NT_CUDA: u32 = 1000;
const NT_TOOLKIT: u32 = 2000;

/// The first version of the note [`NT_CUDA`] that contains the toolkit's version.
const WITH_TOOLKIT: u16 = 2;

/// The oldest toolkit that writes notes with its version.
const FIRST_WITH_NOTES: u32 = 120;

impl CubinHeader {
    /// Returns the version of the CUDA toolkit that wrote a cubin, times ten: 129 for CUDA 12.9.
    /// Returns `None` if the cubin does not record the version. `data` must be the whole cubin.
    ///
    /// Returns an error if `data` is not a cubin, or if its notes are damaged.
    pub fn toolkit(data: &[u8]) -> Result<Option<u32>> {
        Self::parse(data)?;
        if ElfHeader::parse(data)?.os_abi == 51 {
            let version = Reader::new(data).u32(20, "ELF version")?;
            return Ok(Some(version).filter(is_version));
        }
        let version = |note: Note<'_>| {
            if note.owner != OWNER {
                return None;
            }
            let words = Reader::new(note.description);
            match note.kind {
                NT_CUDA if words.u16(0, "note of a cubin").ok()? == WITH_TOOLKIT => {
                    words.u32(4, "note of a cubin").ok()
                }
                // In later files, the first word is the note's version, which is a lower number.
                NT_TOOLKIT => words
                    .u32(0, "note of a cubin")
                    .ok()
                    .filter(|toolkit| *toolkit >= FIRST_WITH_NOTES),
                _ => None,
            }
        };
        let version = Elf::parse(data)?.find_note(&mut budget_of(data), version)?;
        Ok(version.filter(is_version))
    }
}

/// Whether a number can be a version times ten. Other tools store 1, the ELF version, in
/// `e_version`.
fn is_version(toolkit: &u32) -> bool {
    (10..1000).contains(toolkit)
}
