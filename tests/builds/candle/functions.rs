//! The functions that `include_kernels!` makes for the unchanged modules of `candle-kernels`,
//! compiled by clang without an SDK. `cuobjdump`, `llvm-readelf` and rustc check the results.

use super::{AMD, MODULES, SOME, paths};
use crate::kernel_signatures::assert_each_kernel_has_a_function;
use offload_tests::registry::{Needs, needs};
use offload_tests::scenario::Scenario;
use offload_tests::tools::Tool;

const NVIDIA: Needs = needs(&[Tool::Candle, Tool::Llvm22, Tool::Cuda, Tool::Gcc]);

const ALL: Needs =
    AMD.on_request("takes 30 s on 2 cores; `cargo xtask test --test builds -- candle::functions --ignored` runs it");

offload_tests::tests! {
    NVIDIA.slow() => [all_of_candle_kernels_have_functions],
    AMD.slow() => [some_of_candle_kernels_have_functions_for_amd],
    ALL => [all_of_candle_kernels_have_functions_for_amd],
}

/// The number of kernels in each module, in the order of [`MODULES`].
const KERNELS: [usize; 11] = [10, 96, 58, 66, 24, 125, 142, 71, 14, 26, 123];

fn all_of_candle_kernels_have_functions() {
    all("candle_functions", "sm_89");
}

fn some_of_candle_kernels_have_functions_for_amd() {
    functions("candle_functions_amd", &SOME, "gfx1100");
}

fn all_of_candle_kernels_have_functions_for_amd() {
    all("candle_functions_amd_all", "gfx1100");
}

fn all(name: &str, target: &str) {
    let modules = MODULES.map(|(module, _)| module);
    let expected: Vec<(String, usize)> =
        modules.map(str::to_owned).into_iter().zip(KERNELS).collect();
    assert_eq!(functions(name, &modules, target), expected);
}

/// Returns the number of functions of each module. The build script defines `__CUDA_ARCH__` for
/// AMD's GPUs, because most kernels of half and bfloat16 check this macro for GPU support.
fn functions(name: &str, modules: &[&str], target: &str) -> Vec<(String, usize)> {
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
        paths(modules)
    ));
    assert_each_kernel_has_a_function(&scenario, "candle", target)
}
