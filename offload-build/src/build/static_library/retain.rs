//! Marks the sections that the program's linker must not drop.
//!
//! When the program starts, it registers clang's table of kernels and variables, but only the
//! table's own bounds (`__start_llvm_offload_entries_<hash>`) refer to its section. rustc links
//! with `--gc-sections`, so lld drops the section unless its `SHF_GNU_RETAIN` flag is set. GNU ld
//! keeps the section.
//!
//! The functions are `#[inline]`, so only build scripts that make static libraries compile them.

use offload_format::image::ElfSection;
use std::fs;
use std::io;
use std::path::Path;

const START_OF_NAME: &str = "llvm_offload_entries";
const SHF_GNU_RETAIN: u64 = 0x20_0000;

/// Sets `SHF_GNU_RETAIN` in the tables of kernels and variables of an ELF object, so that linkers
/// keep them. Leaves other files unchanged.
#[inline]
pub(super) fn retain_entries(path: &Path) -> io::Result<()> {
    let mut bytes = fs::read(path)?;
    match mark(&mut bytes) {
        Some(true) => fs::write(path, bytes),
        Some(false) | None => Ok(()),
    }
}

/// Sets `SHF_GNU_RETAIN` in the tables in an object's bytes. Returns whether any section was
/// marked, or `None` if the bytes are not a complete little-endian 64-bit ELF file.
#[inline]
fn mark(bytes: &mut [u8]) -> Option<bool> {
    let mut is_marked = false;
    for section in ElfSection::all(bytes)? {
        if section.name.starts_with(START_OF_NAME) {
            section.add_flags(bytes, SHF_GNU_RETAIN)?;
            is_marked = true;
        }
    }
    Some(is_marked)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns an object that consists of a file header, three names, and three section headers.
    fn object() -> Vec<u8> {
        let names = b"\0llvm_offload_entries_1\0.text\0";
        let mut bytes = vec![0; 0x40];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        bytes[0x28] = 0x80;
        (bytes[0x3a], bytes[0x3c], bytes[0x3e]) = (0x40, 3, 0);
        bytes.extend_from_slice(names);
        bytes.resize(0x80 + 3 * 0x40, 0);
        (bytes[0x98], bytes[0xa0]) = (0x40, 30);
        (bytes[0xc0], bytes[0xc8]) = (1, 3);
        (bytes[0x100], bytes[0x108]) = (24, 6);
        bytes
    }

    #[test]
    fn only_the_table_is_marked() {
        let mut bytes = object();
        assert_eq!(mark(&mut bytes), Some(true));
        assert_eq!((bytes[0xc8], bytes[0xca]), (3, 0x20));
        assert_eq!((bytes[0x108], bytes[0x10a]), (6, 0));
    }

    #[test]
    fn damaged_files_are_left_alone() {
        let whole = object();
        for length in 0..whole.len() {
            let _ = mark(&mut whole[..length].to_vec());
        }
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] = 0xff;
            let _ = mark(&mut bytes);
        }
        assert_eq!(mark(&mut b"!<arch>\n".to_vec()), None);
    }
}
