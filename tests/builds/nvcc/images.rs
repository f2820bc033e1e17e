//! Images from nvcc, and from clang with CUDA's headers. Tests their kernels, and their targets as
//! `cuobjdump` reads them.

use super::package;
use crate::NVCC_AND_CLANG;
use offload_tests::judges::{assert_is_for, image_file_name};
use offload_tests::prelude::*;

/// Asserts that the pack's image for each target is for this target, according to other tools. The
/// names of the files start with `module`.
fn assert_are_for(scenario: &Scenario, module: &str, targets: &[&str]) {
    for target in targets {
        let image = scenario.output("debug", &format!("pack/{module}{}", image_file_name(target)));
        // cuobjdump does not show a family's letter.
        assert_is_for(module, target.trim_end_matches('f'), &image);
    }
}

/// NVIDIA's GPUs get the version with `cub` from the guide. The CPU computes the sums with the
/// other version.
#[test(NVCC_AND_CLANG.slow())]
fn the_guides_kernel_with_cub_has_all_images() {
    let page = scratch::workspace().join("docs/guide/src/reference/compilers.md");
    let page = fs::read_to_string(page).expect("the page");
    let (_, section) = page.split_once("\n## cub and thrust\n").expect("the section");
    let block = |language: &str| {
        let (_, block) = section.split_once(&format!("```{language}\n")).expect("a block");
        block.split_once("```").expect("a block ends").0
    };
    let scenario = Scenario::without_sources("vendor_cub");
    scenario
        .write("kernels/sums.cu", block("cpp"))
        .write(
            "src/main.rs",
            "mod kernels { offload_gpu::include_kernels!(\"sums\"); }\nfn main() {\n  \
             let device = offload_gpu::run::Device::cpu();\n  \
             let x: Vec<f32> = (0..256).map(|i| i as f32).collect();\n  \
             let (x, mut y) = (device.buffer(&x).unwrap(), device.zeros::<f32>(2).unwrap());\n  \
             unsafe { kernels::sums(&x, &mut y).launch(&device, 2, 128).unwrap() };\n  \
             assert_eq!(y.to_vec().unwrap(), [8128.0, 24512.0]);\n}\n",
        )
        .build_script(block("rust"));
    scenario.run().passes();
    let ptx = fs::read_to_string(scenario.output("debug", "sums/compute_80.ptx"));
    assert!(ptx.expect("the image").contains("shfl.sync.down"), "cub reduces by shuffles down");
}

/// Makes images for plain, architecture-specific and family-specific targets, and PTX. One module
/// has two sources that nvlink links.
#[test(NVCC.slow())]
fn nvcc_makes_every_kind_of_image() {
    const HALF: [&str; 4] = ["sm_80", "sm_90a", "sm_100f", "compute_90"];
    const LINKED: [&str; 2] = ["sm_80", "sm_90a"];
    let scenario = package("vendor_nvcc", "");
    scenario.build_script(
        r#"let pack = Build::new()
        .modules(["kernels/half.cu"])
        .module(Module::new("linked").files(["kernels/caller.cu", "kernels/called.cu"]).supports(["sm_80", "sm_90a"]))
        .compiler(Compiler::Nvcc)
        .flag("-std=c++17")
        .archs(["sm_80", "sm_90a", "sm_100f", "compute_90"])
        .compile("pack");
    for image in pack.images() {
        println!("cargo::warning={} {:?}", image.target(), image.kernels().unwrap());
    }"#,
    );
    let printed = scenario.build().passes();
    assert_are_for(&scenario, "half.", &HALF);
    assert_are_for(&scenario, "linked.", &LINKED);
    for target in HALF {
        printed.has(&format!("{target} [\"scale\"]"));
    }
    for target in LINKED {
        printed.has(&format!("{target} [\"call\"]"));
    }
}

/// Uses a release build, because the line information of a dev build contains folder names.
#[test(NVCC.slow())]
fn nvcc_makes_the_same_bytes_in_any_folder() {
    const CALLS: &str =
        r#".file("kernels/half.cu").compiler(Compiler::Nvcc).archs(["sm_80", "compute_80"])"#;
    let images = ["vendor_same_a", "vendor_same_another"].map(|name| {
        let scenario = package(name, CALLS);
        scenario.build().release().passes();
        ["sm_80.cubin", "compute_80.ptx"]
            .map(|image| read(scenario.output("release", &format!("pack/{image}"))))
    });
    assert!(images[0][0] == images[1][0], "two packages, two cubins");
    assert!(images[0][1] == images[1][1], "two packages, two texts of PTX");
}

#[test(NVCC_AND_CLANG.slow())]
fn clang_compiles_with_cuda_headers() {
    const TARGETS: [&str; 2] = ["sm_80", "compute_90"];
    let calls =
        r#".file("kernels/half.cu").compiler(Compiler::ClangCuda).requires_kernel("scale")"#;
    let scenario = package("vendor_clang_cuda", &format!("{calls}.archs({TARGETS:?})"));
    // Also test a function of libdevice.
    let sine = "extern \"C\" __global__ void s(float *x) { *x = sinf(*x); }\n";
    scenario.write("kernels/half.cu", format!("{}{sine}", super::HALF));
    // clang must print no warning.
    scenario.build().passes().lacks("warning: vendor_clang_cuda");
    assert_are_for(&scenario, "", &TARGETS);
}
