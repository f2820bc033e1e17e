//! The functions that `include_kernels!` makes for the unchanged modules of `candle-kernels`,
//! compiled by clang without an SDK. `cuobjdump`, `llvm-readelf` and rustc check the results.

use super::{AMD, MODULES, SOME, paths};
use crate::kernel_signatures::assert_each_kernel_has_a_function;
use offload_tests::registry::{Needs, needs};
use offload_tests::scenario::Scenario;
use offload_tests::tools::Tool;

const NVIDIA: Needs = needs(&[Tool::Candle, Tool::Llvm22, Tool::Cuda, Tool::Gcc]);

const ALL: &str = "takes 30 s on 2 cores; `cargo xtask test --test builds -- candle::functions --ignored` runs it";

offload_tests::tests! {
    NVIDIA.slow() => [some_of_candle_kernels_have_functions],
    AMD.slow() => [some_of_candle_kernels_have_functions_for_amd],
    NVIDIA.on_request(ALL) => [all_of_candle_kernels_have_functions],
    AMD.on_request(ALL) => [all_of_candle_kernels_have_functions_for_amd],
}

/// The number of kernels in each module, in the order of [`MODULES`].
const KERNELS: [usize; 11] = [10, 96, 58, 66, 24, 125, 142, 71, 14, 26, 123];

fn some_of_candle_kernels_have_functions() {
    functions("candle_functions", |module| SOME.contains(&module), "sm_89");
}

fn some_of_candle_kernels_have_functions_for_amd() {
    functions("candle_functions_amd", |module| SOME.contains(&module), "gfx1100");
}

fn all_of_candle_kernels_have_functions() {
    functions("candle_functions_all", |_| true, "sm_89");
}

fn all_of_candle_kernels_have_functions_for_amd() {
    functions("candle_functions_amd_all", |_| true, "gfx1100");
}

/// Checks the functions of the selected modules, and their number. The build script defines
/// `__CUDA_ARCH__` for AMD's GPUs, because most kernels of half and bfloat16 check this macro for
/// GPU support.
fn functions(name: &str, is_wanted: fn(&str) -> bool, target: &str) {
    let modules = MODULES.map(|(module, _)| module);
    let expected: Vec<(String, usize)> = modules
        .map(str::to_owned)
        .into_iter()
        .zip(KERNELS)
        .filter(|(module, _)| is_wanted(module))
        .collect();
    let modules: Vec<&str> = modules.into_iter().filter(|module| is_wanted(module)).collect();
    let scenario = Scenario::new(name);
    scenario.build_script(&format!(
        r#"Build::new()
        .modules({})
        .flag_for("amd", "-D__CUDA_ARCH__=890")
        .flag_for("amd", "-D__CUDACC_VER_MAJOR__=12")
        .flag_for("amd", "-D__CUDACC_VER_MINOR__=9")
        .opt_level(0)
        .arch("{target}")
        .compile("candle");"#,
        paths(&modules)
    ));
    assert_eq!(assert_each_kernel_has_a_function(&scenario, "candle", target), expected);
}
