//! Warps of 64 lanes: those of AMD's gfx9, and of the image for the CPU on request.

use offload_format::checks::variables;
use offload_toolchain::cargo::Cargo;
use offload_toolchain::compilers::Cxx;
use offload_toolchain::error::Error;

/// The option for 64 lanes in the image for the CPU.
const CPU_LANES: &str = "-DOFFLOAD_CPU_LANES=64";

/// Gives the image for the CPU the lanes that `OFFLOAD_CPU_LANES` requests.
pub(crate) fn set_for_cpu(cxx: &mut Cxx, cargo: &Cargo) -> Result<(), Error> {
    match cargo.user_var(variables::LANES).as_deref() {
        None | Some("32") => {}
        Some("64") => cxx.args.push(CPU_LANES.into()),
        Some(other) => {
            return Err(Error::config(format!(
                "{} is '{other}'; it is the number of lanes in a warp of the image for the CPU: 32 or 64",
                variables::LANES
            )));
        }
    }
    Ok(())
}
