//! `rust-kernels`: compiles the Rust kernels of examples/rust-kernels. A stage of its own, since it takes a compiler that nothing
//! else needs and minutes of building `core`, and since the targets are unstable.

use crate::run::{self, Failure, Result};
use crate::{apt, setup, tools};
use std::path::PathBuf;

/// `cargo xtask rust-kernels`
pub fn command(args: &[String]) -> Result {
    if let Some(other) = args.first() {
        return Err(Failure::Usage(format!("`rust-kernels` does not know `{other}`")));
    }
    let setup = setup::prepare()?;
    let folder = run::var(tools::RUST_GPU_VARIABLE)
        .map_or_else(|| run::workspace().join(".tools").join("rust-gpu"), PathBuf::from);
    if !tools::RUST_GPU.is_unpacked(&folder) {
        if !apt::is_here() {
            let need = tools::RUST_GPU;
            eprintln!("xtask rust-kernels: skipped: no {} in `{}`; {}", need.what, folder.display(), need.elsewhere);
            return Ok(());
        }
        apt::unpack(tools::RUST_GPU.packages, &folder)?;
    }
    let mut test = setup.cargo();
    test.args(["test", "--locked", "--package", "offload-tests", "--test", "examples", "--", "rust_kernels"]);
    run::check(test.env(tools::RUST_GPU_VARIABLE, folder))
}
