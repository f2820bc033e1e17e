//! Tests dfdx's launches, which `launches/` contains, for each element type. Their argument
//! expressions are those in dfdx's `cuda_kernel.rs` files. The program runs the launches on the
//! CPU, and compares the results with plain Rust. The same source is also compiled with cudarc's
//! buffers.
//!
//! Where dfdx passes `0u64` for a null pointer, these launches pass `None`. dfdx's types replace
//! the kernels' structs, except for empty structs and `PowfKernelOp`, whose field has no name.

use super::{ALL, NEEDS, folder, sources};
use offload_tests::prelude::*;

/// The modules that the launches need.
const MODULES: [&str; 25] = [
    "abs",
    "adam",
    "attention_reshape",
    "axpy",
    "binary_add",
    "binary_mul",
    "boolean",
    "choose",
    "clamp",
    "cmp",
    "conv2d",
    "dropout",
    "exp",
    "gather",
    "max_to",
    "pool2d",
    "pow",
    "rmsprop",
    "roll",
    "scalar_add",
    "select",
    "sgd",
    "slice",
    "sum_to",
    "upscale2d",
];

#[test(NEEDS.on_request(ALL))]
fn each_launch_compiles_and_is_right() {
    let mut scenario = Scenario::without_sources("dfdx_launches");
    scenario
        .with_cudarc()
        .manifest("dependencies", "half = { version = \"2\", default-features = false }\n")
        .sources("tests/builds/dfdx/launches");
    let sources = sources();
    scenario.build_script(&format!(
        r#"Build::new()
        .modules({:?})
        .include({:?})
        .archs(["compute_80", "cpu"])
        .compile("dfdx");"#,
        MODULES.map(|module| &sources[module]),
        folder().join("src/tensor_ops/utilities"),
    ));
    scenario.build().passes().lacks("warning: unused");
    scenario.start("debug").passes().has("168 kernels, 195 launches\n");
}
