//! Heterogeneous device archives, and the device-specific archives extracted from them.
//!
//! A heterogeneous device archive (HDA) is an archive whose members contain code objects for many
//! targets: object bundles, binary bundles, or compressed bundles. A device-specific archive (DSA)
//! contains the code objects for one target, for a device linker (LLVM's ClangOffloadBundler page;
//! names and bytes checked against LLVM 22.1.8).
//!
//! The DSA is a GNU archive. A member's name combines the name of the HDA's member with the bundle
//! entry ID:
//!
//! | part | content |
//! |---|---|
//! | stem | the file name of the HDA's member, without its extension |
//! | `-` | |
//! | ID | the bundle entry ID as stored |
//! | stem | again |
//! | extension | `.bc` if the target ID contains `gfx`, `.cubin` if it contains `sm_`, otherwise the extension of the HDA's member |
//!
//! In the name, `_` replaces every `:`, as in `saxpy-hip-amdgcn-amd-amdhsa--gfx90a_xnack+saxpy.bc`.

mod symbols;
mod unbundle;

pub use symbols::member_symbols;
pub use unbundle::{DeviceArchive, UnbundleOptions, unbundle};
