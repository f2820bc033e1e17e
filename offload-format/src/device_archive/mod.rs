//! Heterogeneous device archives, and the device-specific archives taken from them.
//!
//! A heterogeneous device archive (HDA) is an archive whose members hold code objects for many
//! targets: object bundles, binary bundles, or compressed bundles. A device-specific archive (DSA)
//! has the code objects for one target, for a device linker (LLVM's ClangOffloadBundler page; names
//! and bytes checked against LLVM 22.1.8).
//!
//! The DSA is a GNU archive. A member's name comes from the HDA's member and the bundle entry ID:
//!
//! | part | is |
//! |---|---|
//! | stem | the HDA's member's file name without its extension |
//! | `-` | |
//! | ID | the bundle entry ID as stored |
//! | stem | once more |
//! | extension | `.bc` if the ID's target ID has `gfx` in it, `.cubin` if `sm_`, else that of the HDA's member |
//!
//! In the name, `_` replaces every `:`, so a name is
//! `saxpy-hip-amdgcn-amd-amdhsa--gfx90a_xnack+saxpy.bc`.

mod symbols;
mod unbundle;

pub use symbols::member_symbols;
pub use unbundle::{DeviceArchive, UnbundleOptions, unbundle};
