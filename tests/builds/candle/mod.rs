//! The published crate `candle-kernels`, built with offload-build from the registry's sources: a
//! model for other projects. Modules that programs load become a pack; modules with launches become
//! a static library.
//!
//! `cargo xtask test --test builds -- candle` builds some of it. With `--include-ignored` after it,
//! the command builds the whole crate, which needs 8 minutes on 2 cores.

mod amd;
mod compressed;
mod functions;
mod nvidia;

use offload_tests::registry::{Needs, needs};
use offload_tests::tools::{Tool, candle_kernels};
use std::path::PathBuf;

const NVIDIA: Needs = needs(&[Tool::Candle, Tool::Nvcc, Tool::Cuda, Tool::Gcc]);

const AMD: Needs = needs(&[Tool::Candle, Tool::Llvm22, Tool::Gcc]);

offload_tests::tests! {
    ;
    amd::tests(),
    compressed::tests(),
    functions::tests(),
    nvidia::tests(),
}

/// The modules that programs load, each with a kernel that needs a newer GPU; some have an empty
/// text instead.
const MODULES: [(&str, &str); 11] = [
    ("affine", "affine_f8_e4m3"),
    ("binary", "badd_bf16"),
    ("cast", "cast_bf16_f16"),
    ("conv", ""),
    ("fill", ""),
    ("indexing", ""),
    ("quantized", ""),
    ("reduce", "softmax_bf16"),
    ("sort", ""),
    ("ternary", "where_u8_bf16"),
    ("unary", "ugelu_f16"),
];

/// The modules that compile quickly.
const SOME: [&str; 4] = ["affine", "fill", "sort", "ternary"];

/// Returns a path in the crate.
fn path(file: &str) -> PathBuf {
    candle_kernels().expect("Tool::Candle was checked").join(file)
}

/// Returns the paths of modules as a list in Rust.
fn paths(modules: &[&str]) -> String {
    let paths: Vec<PathBuf> =
        modules.iter().map(|module| path(&format!("src/{module}.cu"))).collect();
    format!("{paths:?}")
}
