//! Device code anywhere in a file: in sections of executables, shared objects and objects (ELF,
//! COFF, PE, Mach-O, universal Mach-O), in the members of archives, or as the file itself.
//!
//! [`find`] reports each container, in file order, and allocates memory only for an image table. It
//! reads only the sections' names, types and first bytes, and leaves the contents to the
//! containers' modules:
//!
//! | container | detected by | [`Content`] |
//! |---|---|---|
//! | bundles, plain and compressed | `.hip_fatbin`, or a section that starts with their magic | `Bundle`, `CompressedBundle` |
//! | offload binaries | ELF section type `0x6fff4c0b`, `.llvm.offloading`, or their magic | `OffloadBinary` |
//! | NVIDIA's fatbins | `.nv_fatbin`, `__nv_relfatbin`, or their magic | `Fatbin` |
//! | an object bundle | sections `__CLANG_OFFLOAD_BUNDLE__<id>` | `ObjectBundle` |
//! | a table of device images | `.tgtimg` | `ImageTable` |
//! | a text bundle | its first START line | `TextBundle` |
//! | a kernel pack | its magic | `Kpack` |
//! | bundles of cuda-oxide | `.oxart`, or their magic | `Oxart` |
//! | a library's reference to kernel packs | `.rocm_kpack_ref`, on Windows `.kpackrf` | `KpackReference` |
//! | an AMD code object, cubin, PTX, SPIR-V or bitcode | its header | `Raw` |
//! | a member of a thin archive | | `Elsewhere` |
//!
//! Archives and text bundles need the `containers` feature; host files need the `object` feature.
//!
//! `sections` returns the sizes of all sections of an object.
//!
//! Bitcode for a host may contain offload binaries among its constants. [`find`] does not search
//! for these; `Bitcode::variables_in_section` returns them.
//!
//! (The names and types are those of `clang` and `clang-linker-wrapper` 22.1.8 and nvcc 13.5. The
//! page docs/formats.md, "Sections", describes how LLVM's tools search.)
//!
//! ```
//! # #[cfg(feature = "object")] {
//! use offload_format::compressed::Found;
//! use offload_format::fat_file::{ContainerKind, Content, find};
//!
//! let object = include_bytes!("../../corpus/hip_nordc.o");
//! let mut ids = Vec::new();
//! find(object, |_, found| {
//!     if let Ok(Content::Container(ContainerKind::CompressedBundle | ContainerKind::Bundle, section)) = found {
//!         for bundle in Found::in_a_row(section, 1 << 28) {
//!             let (_, bundle) = bundle.unwrap();
//!             ids.push(format!("{bundle:?}"));
//!         }
//!     }
//! });
//! assert_eq!(ids.len(), 1);
//! assert!(ids[0].contains("hipv4-amdgcn-amd-amdhsa--gfx906"));
//! # }
//! ```

mod find;
mod found;
#[cfg(feature = "object")]
mod host;
mod kind;
#[cfg(feature = "object")]
mod sections;
#[cfg(feature = "object")]
mod wrapper;

pub use find::find;
pub(crate) use found::within;
pub use found::{Content, Place};
pub use kind::{ContainerKind, FileKind};
#[cfg(feature = "object")]
pub use sections::{SectionExtent, sections};
#[cfg(feature = "object")]
pub use wrapper::{Wrapper, WrapperKind, wrappers};
