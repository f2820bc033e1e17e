//! Tests on fake AMD GPUs with AMD's HIP runtime 5.2, which does everything except run the kernels.
//! The runtime does not support gfx1100, so tests with that GPU use a stand-in for the runtime.

use super::{PROGRAM, run};
use offload_tests::prelude::*;
use offload_tests::stand_ins::{Staged, compile, described, hsa};

const NEEDS: Needs = needs(&[Tool::Llvm22, Tool::Gcc, Tool::Cuda, Tool::Hip5]);

/// A folder with a stand-in for the whole HIP runtime, which computes the kernels.
pub static RUNTIME: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = scratch::folder("run_time_hip");
    compile("hip_runtime.c", &["-shared", "-fPIC"], &folder.join("libamdhip64.so"));
    folder
});

/// Returns the program on GPUs simulated by the stand-in in [`RUNTIME`], without NVIDIA GPUs.
pub fn on_gpus(targets: &str) -> Staged {
    Staged::new(&PROGRAM.path, &RUNTIME)
        .with("FAKE_GPU", targets)
        .with("FAKE_KERNELS", PROGRAM.scenario.folder.join("stand_in_kernels"))
        .with("CUDA_VISIBLE_DEVICES", "")
}

static LIBRARIES: LazyLock<PathBuf> = LazyLock::new(|| hsa::libraries("run_time_hsa"));

fn on_gpu(gpu: &str) -> Staged {
    Staged::new(&PROGRAM.path, &LIBRARIES).with("FAKE_GPU", gpu).with("CUDA_VISIBLE_DEVICES", "")
}

/// Returns how the stand-in's log describes the image for a target.
fn image(target: &str) -> String {
    described(&read(PROGRAM.scenario.output("debug", &format!("math/math.{target}.hsaco"))))
}

#[test(NEEDS)]
fn threads_share_what_is_loaded() {
    let outcome = run(&on_gpu("gfx90a:sramecc+:xnack-"), &["threads", "1"]);
    outcome.succeeds().logs(1, &format!("code object: {}", image("gfx90a")));
}

#[test(NEEDS)]
fn errors_name_the_runtime() {
    let outcome = run(&on_gpu("gfx90a:sramecc+:xnack-"), &["limits"]);
    outcome.succeeds().prints(
        "a wide block: hip:0 (Fake AMD GPU): could not launch saxpy: the block has 2048 threads, but ",
    );
    run(&on_gpu("").with("OFFLOAD_DEVICE", "hip:0"), &["saxpy"])
        .fails_with("error: could not use the device \"hip:0\": the HIP runtime, libamdhip64.so, finds no GPU\nThe variable OFFLOAD_DEVICE selects this device.\n");
}

#[test(COMPILERS)]
fn each_of_three_gpus_loads_once_for_24_threads() {
    let gpus = "gfx90a:sramecc+:xnack-,gfx1100,gfx1030";
    let outcome = run(&on_gpus(gpus).with("FAKE_SLOW", "20"), &["threads", "1000"]);
    outcome.succeeds().prints("2400 loads on 3 devices\n");
    for target in ["gfx90a", "gfx1100", "gfx1030"] {
        outcome.logs(1, &format!("hipModuleLoadData: {}", image(target)));
    }
    outcome.logs(24, "hipModuleLaunchKernel");
    // `OFFLOAD_DEVICE` must select a GPU no matter which one is current.
    run(&on_gpus(gpus).with("OFFLOAD_DEVICE", "hip:1"), &["all"])
        .succeeds()
        .prints("false\nfalse\n1000\n0.5\ndone\n");
    run(&on_gpus(gpus), &["saxpy"]).succeeds().prints(
        "hip:0 (Fake GPU gfx90a:sramecc+:xnack-): the gfx90a code object computed 1000 of 1000\n",
    );
}
