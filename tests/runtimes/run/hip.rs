//! On pretended GPUs of AMD, below AMD's own HIP runtime of version 5.2: all happens but the kernel. It knows no gfx1100.

use super::{PROGRAM, count, run};
use offload_tests::data::read;
use offload_tests::registry::{Needs, needs};
use offload_tests::stand_ins::hsa;
use offload_tests::stand_ins::{Staged, described};
use offload_tests::tools::Tool;
use std::path::PathBuf;
use std::sync::LazyLock;

const NEEDS: Needs = needs(&[Tool::Llvm22, Tool::Gcc, Tool::Cuda, Tool::Hip5]);

offload_tests::tests! {
    NEEDS => [
        the_runtime_gets_the_image_of_each_gpu,
        threads_share_what_is_loaded,
        errors_name_the_runtime,
    ],
}

static LIBRARIES: LazyLock<PathBuf> = LazyLock::new(|| hsa::libraries("run_time_hsa"));

fn on_gpu(gpu: &str) -> Staged {
    Staged::new(&PROGRAM.path, &LIBRARIES).with("FAKE_GPU", gpu).with("CUDA_VISIBLE_DEVICES", "")
}

/// How the log speaks of the image for a target.
fn image(target: &str) -> String {
    described(&read(PROGRAM.scenario.output("debug", &format!("math/math.{target}.hsaco"))))
}

fn the_runtime_gets_the_image_of_each_gpu() {
    for (gpu, target) in [("gfx90a:sramecc+:xnack-", "gfx90a"), ("gfx1030", "gfx1030")] {
        let outcome = run(&on_gpu(gpu), &["saxpy"]);
        // 0 of 1000: no kernel runs. The first of them is 0 anyway.
        outcome.succeeds().prints(&format!("hip:0 (Fake AMD GPU): the {target} code object computed 1 of 1000\n"));
        assert_eq!(count(&outcome, &format!("code object: {}", image(target))), 1, "{outcome:#?}");
        assert!(outcome.log.contains(&"symbol: saxpy.kd".to_owned()), "{outcome:#?}");
    }
}

fn threads_share_what_is_loaded() {
    let outcome = run(&on_gpu("gfx90a:sramecc+:xnack-"), &["threads", "1"]);
    outcome.succeeds();
    assert_eq!(count(&outcome, &format!("code object: {}", image("gfx90a"))), 1, "{outcome:#?}");
}

fn errors_name_the_runtime() {
    let outcome = run(&on_gpu("gfx90a:sramecc+:xnack-"), &["limits"]);
    outcome.succeeds().prints("a wide block: hip:0 (Fake AMD GPU): could not launch saxpy: a block of 2048 threads; ");
    run(&on_gpu("").with("OFFLOAD_DEVICE", "hip:0"), &["saxpy"])
        .fails_with("error: could not use the device \"hip:0\": the HIP runtime, libamdhip64.so.5, finds no GPU\nthe variable OFFLOAD_DEVICE names it\n");
}
