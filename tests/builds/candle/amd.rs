//! The unchanged modules of `candle-kernels`, built without an SDK for AMD's GPUs, which their
//! authors did not support. `llvm-readelf` checks the images.

use super::{AMD, MODULES, SOME, path};
use offload_tests::judges::assert_is_for;
use offload_tests::registry::Needs;
use offload_tests::scenario::Scenario;

const ALL: Needs = AMD.on_request(
    "takes 2 minutes on 2 cores; `cargo xtask test --test builds -- candle::amd --ignored` runs it",
);

offload_tests::tests! {
    AMD.slow() => [some_of_candle_kernels_for_amd],
    ALL => [all_of_candle_kernels_for_amd],
}

fn some_of_candle_kernels_for_amd() {
    for_amd("candle_amd_some", |module| SOME.contains(&module));
}

fn all_of_candle_kernels_for_amd() {
    for_amd("candle_amd_all", |_| true);
}

/// Checks that the selected modules build for AMD's GPUs. The test reports each module that fails,
/// with the compiler's first error. Most kernels of half and bfloat16 check `__CUDA_ARCH__` for GPU
/// support, so the build script defines this macro.
fn for_amd(name: &str, is_wanted: fn(&str) -> bool) {
    let scenario = Scenario::new(name);
    scenario.build_script(
        r#"println!("cargo::rerun-if-env-changed=MODULE");
    let pack = Build::new()
        .modules([std::env::var("MODULE").unwrap()])
        .flag_for("amd", "-D__CUDA_ARCH__=890")
        .flag_for("amd", "-D__CUDACC_VER_MAJOR__=12")
        .flag_for("amd", "-D__CUDACC_VER_MINOR__=9")
        .archs(["gfx1100"])
        .compile("candle");
    for image in pack.images() {
        println!("cargo::warning=kernels {:?}", image.kernels().unwrap());
    }"#,
    );
    let mut failures = String::new();
    for (module, kernel) in MODULES.into_iter().filter(|(module, _)| is_wanted(module)) {
        let printed =
            scenario.build().release().env("MODULE", path(&format!("src/{module}.cu"))).ends();
        let text = printed.text();
        if !printed.status.success() {
            let is_error = |line: &&str| line.contains("error: ") && line.contains(".cu");
            let error = text.lines().find(is_error).unwrap_or(&text);
            failures += &format!("{module}: {error}\n");
            continue;
        }
        let image = scenario.output("release", &format!("candle/{module}.gfx1100.hsaco"));
        assert_is_for(module, "gfx1100", &image);
        let kernels = text.lines().find_map(|line| Some(line.split_once("kernels ")?.1));
        let kernels = kernels.unwrap_or_default();
        if !kernels.contains(&format!("\"{kernel}")) {
            failures += &format!("{module} has no {kernel}: {kernels}\n");
        }
    }
    assert!(failures.is_empty(), "{failures}");
}
