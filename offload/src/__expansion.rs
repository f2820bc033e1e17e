//! What the expansion of `include_offload!` uses. Nothing in here is kept from one version to the next: macro and crate have
//! the same version, which the macro checks.

pub use crate::list_pack;
pub use crate::pack::disk::load as load_from_disk;
pub use crate::pack::registered::{Kernels, Wrapper};
pub use crate::pack::{ImageRecord, KernelPack, ModuleRecord, StreamRecord};
pub use offload_embed_macro::include_offload;
pub use offload_format::pack_index::{Origin, PackImageKind};
pub use offload_format::target::PtxVersion;

if_packs_are_linked! {
    pub use crate::pack::Entry;
}

/// A pack in the program: bytes and table are checked against each other while the program is compiled.
pub const fn linked(
    name: &'static str,
    section: &'static str,
    bytes: &'static [u8],
    images: &'static [ImageRecord],
    modules: &'static [ModuleRecord],
) -> KernelPack {
    KernelPack::linked(name, section, bytes, images, modules)
}

/// A compressed pack in the program: each module is a stream.
pub const fn compressed(
    name: &'static str,
    section: &'static str,
    bytes: &'static [u8],
    images: &'static [ImageRecord],
    modules: &'static [ModuleRecord],
    streams: &'static [StreamRecord],
) -> KernelPack {
    KernelPack::compressed(name, section, bytes, images, modules, streams)
}

/// A pack that was not built, and why. The modules are those that it would have, without images.
pub const fn not_built(name: &'static str, why: &'static str, modules: &'static [ModuleRecord]) -> KernelPack {
    KernelPack::not_built(name, why, modules)
}

/// A file whose images are not known, and why.
pub const fn opaque(
    name: &'static str,
    section: &'static str,
    bytes: &'static [u8],
    why: &'static str,
    modules: &'static [ModuleRecord],
) -> KernelPack {
    KernelPack::opaque(name, section, bytes, why, modules)
}

/// A pack that `load` reads when it is asked for. Images and modules are those that it has while the program is compiled.
pub const fn on_disk(
    name: &'static str,
    section: &'static str,
    images: &'static [ImageRecord],
    modules: &'static [ModuleRecord],
    load: fn() -> &'static KernelPack,
) -> KernelPack {
    KernelPack::on_disk(name, section, images, modules, load)
}
