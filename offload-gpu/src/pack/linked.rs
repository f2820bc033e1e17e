//! The list of packs that this program retains. The linker concatenates all crates' entries in the
//! section `offload_packs_1`. An entry's first field is its size, a multiple of 8. Since the
//! section's name is a C identifier, the linker defines symbols for the section's start and end.
//! The number in the name is the version of the entry layout, because a program may contain several
//! versions of this crate.
//!
//! Only packs with `retain` are listed, because the linker keeps each listed pack in the program:
//! GNU ld as soon as any code reads the list, and mold 1.10 always.
//!
//! This module contains unsafe code to read the memory between two symbols that the linker defines.

use core::fmt;
use core::slice;

/// A pack in this program, from any of its crates.
#[derive(Clone, Copy)]
pub struct LinkedPack {
    name: &'static str,
    bytes: &'static [u8],
}

impl LinkedPack {
    /// Returns the pack's name, from the build script or from the name of the embedded file.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the bytes of the whole pack, like [`KernelPack::bytes`](super::KernelPack::bytes).
    /// The first bytes identify the container.
    pub fn bytes(&self) -> &'static [u8] {
        self.bytes
    }
}

impl fmt::Debug for LinkedPack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LinkedPack")
            .field("name", &self.name)
            .field("size", &self.bytes.len())
            .finish()
    }
}

/// The offset in bytes of the name in an entry.
const NAME_OFFSET: usize = 32;

/// An entry of the list, for the macro's expansion. `NAME` is how many bytes store the name, a
/// multiple of 8; a shorter name is padded with zeros.
#[doc(hidden)]
#[derive(Debug)]
#[repr(C)]
pub struct Entry<const NAME: usize> {
    size: u64,
    // A pointer, because a reference to the first byte would not give access to the other bytes.
    pack: *const u8,
    pack_size: u64,
    name_size: u64,
    name: [u8; NAME],
}

// SAFETY: the pointer comes from a `&'static [u8]`, which never changes and which all threads may
// read.
unsafe impl<const NAME: usize> Sync for Entry<NAME> {}

impl<const NAME: usize> Entry<NAME> {
    /// Creates the entry of a pack, which must not be empty.
    pub const fn new(pack: &'static [u8], name: &str) -> Self {
        assert!(NAME.is_multiple_of(8));
        assert!(name.len() <= NAME);
        let mut bytes = [0; NAME];
        bytes.split_at_mut(name.len()).0.copy_from_slice(name.as_bytes());
        let size = (NAME_OFFSET + NAME) as u64;
        assert!(!pack.is_empty());
        Self {
            size,
            pack: pack.as_ptr(),
            pack_size: pack.len() as u64,
            name_size: name.len() as u64,
            name: bytes,
        }
    }
}

if_packs_are_linked! {
    {
        unsafe extern "C" {
            #[link_name = "__start_offload_packs_1"]
            static START: u64;
            #[link_name = "__stop_offload_packs_1"]
            static STOP: u64;
        }

        /// An empty static that creates the section and its symbols in programs without packs.
        #[unsafe(link_section = "offload_packs_1")]
        static NO_PACK: [u64; 0] = [];

        /// Returns the entries of the list as 8-byte words.
        fn list() -> &'static [u64] {
            core::hint::black_box(&raw const NO_PACK);
            let (start, stop) = (&raw const START, &raw const STOP);
            // SAFETY: the linker defines both symbols, at the start and the end of this program's
            // only section `offload_packs_1`. The section contains only `Entry` values, since the
            // macro rejects this section name from users. The entries are aligned to 8 and
            // initialized, their sizes are multiples of 8, and there are no gaps. The loader writes
            // addresses to the section before any code runs, and nothing writes to it later.
            unsafe { slice::from_raw_parts(start, (stop.addr() - start.addr()) / 8) }
        }
    } else {
        /// Returns an empty list, since this system has no such section.
        fn list() -> &'static [u64] {
            &[]
        }
    }
}

/// Returns the packs that any crate of this program, or of this shared library, embeds with
/// `retain`. Equal packs may have several names, but share the same bytes. The list is part of the
/// program: nothing is read from disk, and no code runs when the program starts.
///
/// The list exists only in 64-bit ELF programs (Linux, Android, the BSDs and illumos). On other
/// systems, the iterator is empty.
///
/// ```
/// use offload_gpu::linked_packs;
///
/// for pack in linked_packs() {
///     println!("{}: {} bytes", pack.name(), pack.bytes().len());
/// }
/// ```
pub fn linked_packs() -> impl Iterator<Item = LinkedPack> + Clone {
    let mut words = list();
    core::iter::from_fn(move || {
        let [size, _, pack_size, name_size, ..] = *words else { return None };
        let (entry, rest) = words.split_at_checked(usize::try_from(size).ok()? / 8)?;
        words = rest;
        let name = entry.get(NAME_OFFSET / 8..)?;
        let name_size =
            usize::try_from(name_size).ok().filter(|name_size| *name_size <= name.len() * 8)?;
        // SAFETY: the name is inside the entry, as just checked, and its bytes are initialized.
        let name = unsafe { slice::from_raw_parts(name.as_ptr().cast::<u8>(), name_size) };
        // SAFETY: the second word of an entry is a pointer, and the entry is large enough, as just
        // checked. The pointer and the size come from a `&'static [u8]`, so the bytes stay valid
        // and never change.
        let bytes = unsafe {
            let pack = entry.as_ptr().add(1).cast::<*const u8>().read();
            slice::from_raw_parts(pack, usize::try_from(pack_size).ok()?)
        };
        Some(LinkedPack { name: str::from_utf8(name).unwrap_or("?"), bytes })
    })
}
