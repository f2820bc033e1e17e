//! The list of packs that this program retains. The linker concatenates all crates' entries in the
//! section `offload_packs_1`. Since the section's name is a C identifier, the linker defines
//! symbols for the section's start and end. The number in the name is the version of the entry
//! layout, because a program may contain several versions of this crate.
//!
//! Only packs with `retain` are listed, because the linker keeps each listed pack in the program:
//! GNU ld as soon as any code reads the list, and mold 1.10 always.
//!
//! This module contains unsafe code to read the memory between two symbols that the linker defines.

use core::fmt;

/// A pack in this program, from any of its crates.
// An entry of the list.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct LinkedPack {
    name: &'static str,
    bytes: &'static [u8],
}

impl LinkedPack {
    /// Creates the entry of a pack. Only macro expansions use it.
    #[doc(hidden)]
    pub const fn new(bytes: &'static [u8], name: &'static str) -> Self {
        Self { name, bytes }
    }

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
        static NO_PACK: [LinkedPack; 0] = [];

        /// Returns the entries of the list.
        fn list() -> &'static [LinkedPack] {
            core::hint::black_box(&raw const NO_PACK);
            let (start, stop) = (&raw const START, &raw const STOP);
            // SAFETY: the linker defines both symbols, at the start and the end of this program's
            // only section `offload_packs_1`. The section contains only entries, since the macro
            // rejects this section name from users. The entries are aligned and initialized, and
            // there are no gaps. The loader writes addresses to the section before any code runs,
            // and nothing writes to it later.
            unsafe {
                let bytes = stop.addr() - start.addr();
                core::slice::from_raw_parts(start.cast(), bytes / size_of::<LinkedPack>())
            }
        }
    } else {
        /// Returns an empty list, since this system has no such section.
        fn list() -> &'static [LinkedPack] {
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
    list().iter().copied()
}
