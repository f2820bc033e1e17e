//! The published crate `candle-kernels`, built with offload-build from the registry's sources, as
//! an example for other projects. Modules that programs load become a pack. Sources that contain
//! launches become a static library.
//!
//! `cargo xtask test --test builds -- candle` builds part of the crate. With `--include-ignored` at
//! the end, the command builds the whole crate, which takes 8 minutes on 2 cores.

mod compressed;
mod functions;
mod launches;
mod lowered_ptx;
mod nvidia;

use offload_tests::prelude::*;
use offload_tests::tools::candle_kernels;

const NVIDIA: Needs = needs(&[Tool::Candle, Tool::Nvcc, Tool::Cuda, Tool::Gcc]);

/// The modules that programs load, with their numbers of kernels.
const MODULES: [(&str, usize); 11] = [
    ("affine", 10),
    ("binary", 96),
    ("cast", 58),
    ("conv", 66),
    ("fill", 24),
    ("indexing", 125),
    ("quantized", 142),
    ("reduce", 71),
    ("sort", 14),
    ("ternary", 26),
    ("unary", 123),
];

/// The modules that compile quickly.
const SOME: [&str; 4] = ["affine", "fill", "sort", "ternary"];

/// Returns a path in the crate.
fn path(file: &str) -> PathBuf {
    candle_kernels().expect("Tool::Candle was checked").join(file)
}

/// Returns the paths of modules as a list in Rust.
fn paths(modules: &[&str]) -> String {
    let path = |module: &&str| path(&format!("src/{module}.cu"));
    format!("{:?}", modules.iter().map(path).collect::<Vec<_>>())
}
