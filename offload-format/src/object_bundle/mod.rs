//! The object form of the offload bundle: each entry is a section of a host object, and linkers
//! drop these sections.
//!
//! (LLVM's ClangOffloadBundler page; checked against clang-offload-bundler and llvm-objcopy
//! 22.1.8.)
//!
//! | | ELF | COFF |
//! |---|---|---|
//! | section name | [`SECTION_PREFIX`] and the bundle entry ID | the same, through the string table |
//! | section contents | the code object; for the host's entry, one zero byte | the same |
//! | type and flags | SHT_PROGBITS, only SHF_EXCLUDE | IMAGE_SCN_LNK_REMOVE, IMAGE_SCN_MEM_READ |
//! | address, alignment | 0, 1 | 0, none |
//! | place | after all other sections, in the order of the entries | the same |
//!
//! The host's code is the object itself, without these sections. Mach-O and PE files cannot contain
//! a bundle, because their section names have at most 16 and 8 bytes, respectively.

mod coff;
mod coff_class;
mod coff_symbols;
mod elf;
mod elf_file;
mod elf_numbers;
mod elf_symbols;
mod numbers;
mod read;
mod section;
mod write;

pub use read::ObjectBundle;
pub use write::{bundle, strip};

/// The prefix of each bundle entry's section name, before the bundle entry ID.
pub const SECTION_PREFIX: &str = "__CLANG_OFFLOAD_BUNDLE__";

/// The prefix of a size section's name, before the bundle entry ID. For each entry, DPC++'s bundler
/// adds a size section, which stores the size of each image in 8 bytes. A linker that joins objects
/// (`ld -r`) concatenates both the entries and their size sections.
pub(crate) const SIZE_SECTION_PREFIX: &str = "__CLANG_OFFLOAD_BUNDLE_SIZE__";

/// The contents of the host entry's section.
pub const HOST_PLACEHOLDER: &[u8] = b"\0";

const NOT_A_HOST: &str = "relocatable ELF file or COFF object";
