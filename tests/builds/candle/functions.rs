//! The unchanged modules of `candle-kernels`, compiled by clang without an SDK. The targets are
//! NVIDIA's GPUs, and AMD's GPUs, which candle does not support. `include_kernels!` generates a
//! function for each kernel. `cuobjdump`, `llvm-readelf` and rustc check the results.

use super::{MODULES, SOME, paths};
use crate::kernel_signatures::assert_each_kernel_has_a_function;
use offload_tests::judges::{assert_is_for, image_file_name};
use offload_tests::prelude::*;

const NVIDIA: Needs = needs(&[Tool::Candle, Tool::Llvm22, Tool::Cuda, Tool::Gcc]);

const AMD: Needs = needs(&[Tool::Candle, Tool::Llvm22, Tool::Gcc]);

const ALL: &str = "takes 3 minutes on 2 cores; `cargo xtask test --all --test builds -- candle::functions --ignored` runs it";

#[test(NVIDIA.slow())]
fn some_of_candle_kernels_have_functions() {
    functions("candle_functions", |module| SOME.contains(&module), "sm_89", 0);
}

#[test(AMD.slow())]
fn some_of_candle_kernels_have_functions_for_amd() {
    functions("candle_functions_amd", |module| SOME.contains(&module), "gfx1100", 3);
}

#[test(NVIDIA.on_request(ALL))]
fn all_of_candle_kernels_have_functions() {
    functions("candle_functions_all", |_| true, "sm_89", 0);
}

#[test(AMD.on_request(ALL))]
fn all_of_candle_kernels_have_functions_for_amd() {
    functions("candle_functions_amd_all", |_| true, "gfx1100", 3);
}

/// Checks the images and functions of the selected modules, and the number of kernels. For AMD's
/// GPUs, the build script defines `__CUDA_ARCH__`, because most kernels for half and bfloat16 check
/// this macro for GPU support.
fn functions(name: &str, is_wanted: fn(&str) -> bool, target: &str, opt_level: u32) {
    let mut expected = MODULES.map(|(module, kernels)| (module.to_owned(), kernels)).to_vec();
    expected.retain(|(module, _)| is_wanted(module));
    let modules: Vec<&str> = expected.iter().map(|(module, _)| &**module).collect();
    let scenario = Scenario::new(name);
    scenario.build_script(&format!(
        r#"Build::new()
        .modules({})
        .flag_for("amd", "-D__CUDA_ARCH__=890")
        .flag_for("amd", "-D__CUDACC_VER_MAJOR__=12")
        .flag_for("amd", "-D__CUDACC_VER_MINOR__=9")
        .opt_level({opt_level})
        .arch("{target}")
        .compile("candle");"#,
        paths(&modules)
    ));
    assert_eq!(assert_each_kernel_has_a_function(&scenario, "candle", target), expected);
    for module in modules {
        let image = format!("candle/{module}.{}", image_file_name(target));
        assert_is_for(module, target, &scenario.output("debug", &image));
    }
}
