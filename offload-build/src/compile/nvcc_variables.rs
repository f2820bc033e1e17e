//! Sets the environment of every step that runs nvcc.

use crate::toolchain::Cargo;
use crate::toolchain::compilers::Cxx;
use crate::toolchain::exec::NvccFlags;
use std::ffi::OsString;

/// Returns nvcc's environment: the host compiler's variables, and the variables with nvcc's flags.
/// Removes options that name GPUs from these flags, and warns about them.
pub(super) fn nvcc_env(ccbin: &Cxx, cargo: &Cargo) -> Vec<(OsString, OsString)> {
    let mut env = ccbin.env.clone();
    for flags in NvccFlags::set(cargo) {
        if !flags.gpu_options.is_empty() {
            cargo.warn_once(&format!(
                "{}={} names GPUs, but nvcc runs without {}: only build.rs and OFFLOAD_ARCH list \
                 the targets of a build. To build for these GPUs, {}",
                flags.name,
                flags.value,
                flags.gpu_options,
                flags.advice()
            ));
        }
        env.push((flags.name.into(), flags.others.into()));
    }
    env
}
