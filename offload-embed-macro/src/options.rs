//! Checks that the macro's options fit a pack.

use crate::input::Options;
use crate::sorted;
use offload_format::section::DeviceSection;
use offload_pack::pack_index::{Index, IndexModule};
use syn::{Error, Result};

/// Checks the options for a pack of the build script.
pub(crate) fn check_for_pack(options: &Options, index: &Index) -> Result<()> {
    let decided = |option: &str, what: &str, why: &str| {
        format!(
            "`{option}` is only for files, embedded with path = \"...\". For a pack, offload-build \
             sets the {what}: {why}"
        )
    };
    if let Some(section) = &options.section {
        let why =
            ".hip_fatbin if all targets are AMD's, otherwise .llvm.offloading, as tools expect";
        return Err(Error::new(section.span(), decided("section", "section", why)));
    }
    if let Some(align) = &options.align {
        let why = "4096 in .hip_fatbin, 8 in .llvm.offloading, as runtimes and tools expect";
        return Err(Error::new(align.span(), decided("align", "alignment", why)));
    }
    if let Some(word) = &options.trusts_cpu {
        let message = "`unsafe(cpu)` is only for files: the images for the CPU in a pack come from this build";
        return Err(Error::new(word.span(), message));
    }
    match (options.register, index) {
        (Some(register), Index::Built(pack)) if pack.section != DeviceSection::HipFatbin => {
            Err(Error::new(register, not_for_amd(&pack.modules)))
        }
        _ => Ok(()),
    }
}

/// Returns why a pack cannot be registered with HIP's runtime. The message lists the targets that
/// are not AMD GPUs.
fn not_for_amd(modules: &[IndexModule]) -> String {
    let mut others = Vec::new();
    for module in modules {
        for image in &module.images {
            if !image.target.starts_with("gfx") {
                others.push(&*image.target);
            }
        }
    }
    format!(
        "only packs for AMD alone can be registered with HIP's runtime, but this pack has images \
         for {}: make two packs in build.rs",
        sorted::texts(others).join(", ")
    )
}
