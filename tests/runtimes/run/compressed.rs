//! Tests of compressed packs: drivers must receive the original images.

use super::{DRIVER, value};
use offload_tests::prelude::*;
use offload_tests::stand_ins::{Staged, described};

#[test(COMPILERS.slow())]
fn compressed_images_are_inflated_for_the_driver() {
    let mut scenario = Scenario::without_sources("run_time_compressed");
    scenario.feature("offload-build", "compression").feature("offload-gpu", "zstd");
    scenario
        .write("src/main.rs", MAIN)
        .write("kernels/first.cu", value("value", 1))
        .write("kernels/second.cu", value("other", 2))
        .pack(
            "pack",
            r#".modules(["kernels/first.cu", "kernels/second.cu"]).archs(["sm_80", "compute_80", "cpu"]).compress()"#,
        );
    scenario.build().passes();
    scenario.write("kernels.list", "value 0:8\nother 0:8\n");
    let program = scenario.program("debug", scenario.name());
    let run = |gpu: &str| {
        Staged::new(&program, &DRIVER)
            .with("FAKE_GPU", gpu)
            .with("HIP_VISIBLE_DEVICES", "-1")
            .with("FAKE_KERNELS", scenario.folder.join("kernels.list"))
            .run(&[], &scenario.folder.join(format!("{gpu}.log")))
    };
    for (gpu, kind, file) in [("8.0", "cubin", "sm_80.cubin"), ("9.0", "PTX", "compute_80.ptx")] {
        let outcome = run(gpu);
        outcome.succeeds().keeps_the_rules();
        // Although 8 threads request one module, the run time must decompress and load it only
        // once. The other modules must not be loaded.
        let image = described(&read(scenario.output("debug", &format!("pack/second.{file}"))));
        let load = format!("cuLibraryLoadData: GPU 0, {kind}, {image}");
        assert_eq!(outcome.logged("LoadData"), [load], "{outcome:#?}");
    }
    run("").succeeds().prints("cpu: [2]\n");
}

const MAIN: &str = r#"
mod kernels {
    offload_gpu::include_kernels!("pack");
}

fn main() {
    let device = offload_gpu::run::Device::best_for(&kernels::PACK).unwrap();
    let mut y = device.zeros::<i32>(1).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| kernels::PACK.module("second").on(&device).unwrap());
        }
    });
    // SAFETY: the kernel writes one element.
    unsafe { kernels::second::other(&mut y).launch(&device, 1, 1).unwrap() };
    println!("{}: {:?}", device.name(), y.to_vec().unwrap());
}
"#;
