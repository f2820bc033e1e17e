//! Reports an error for compressed packs if this crate is built without the `compression` feature.

use crate::output::OutDir;
use crate::pack::layout::{ModuleImages, PackLayout};
use crate::toolchain::Error;
use offload_format::section::DeviceSection;

pub(crate) fn compress(
    _: &[ModuleImages],
    _: DeviceSection,
    _: &OutDir,
) -> Result<PackLayout, Error> {
    Err(Error::config(
        "build.rs requests a compressed pack, but this build of offload-build cannot \
         compress.\nEnable the feature `compression` of offload-build in [build-dependencies], \
         and, to let the program decompress the pack, the feature `zstd` of offload-gpu in \
         [dependencies]."
            .to_owned(),
    ))
}
