//! The version in the PTX of nvcc: lowered to the oldest one that has the instructions of a source,
//! and kept where a source has instructions that the table lacks.

use super::{PLAIN, package};
use offload_format::image::PtxHeader;
use offload_tests::prelude::*;

offload_tests::tests! {
    NVCC.slow() => [nvcc_writes_the_oldest_version_that_is_known],
}

const TARGETS: [&str; 3] = ["compute_80", "compute_90a", "compute_100a"];

/// Sources with their versions for each target; `None` for the version that nvcc writes.
const SOURCES: [(&str, &str, [Option<&str>; 3]); 4] = [
    ("plain", PLAIN, [Some("7.8"), Some("8.0"), Some("8.6")]),
    (
        "elect",
        "extern \"C\" __global__ void f(int *x) {\n\
         #if __CUDA_ARCH__ >= 900\n\
         asm volatile(\"{ .reg .pred p; elect.sync _|p, -1; }\");\n\
         #endif\n\
         *x = 1; }\n",
        [Some("7.8"), None, None],
    ),
    (
        "wgmma",
        "extern \"C\" __global__ void f(int *x) {\n\
         #if __CUDA_ARCH__ == 900\n\
         asm volatile(\"wgmma.fence.sync.aligned;\");\n\
         #endif\n\
         *x = 1; }\n",
        [Some("7.8"), None, Some("8.6")],
    ),
    (
        "tensor",
        "extern \"C\" __global__ void f(int *x) {\n\
         #if __CUDA_ARCH__ >= 1000\n\
         asm volatile(\"tcgen05.wait::ld.sync.aligned;\");\n\
         #elif __CUDA_ARCH__ >= 900\n\
         asm volatile(\"red.global.add.v2.f32 [%0], {%1, %1};\" :: \"l\"(x), \"f\"(1.0f));\n\
         #endif\n\
         *x = 1; }\n",
        [Some("7.8"), Some("8.1"), None],
    ),
];

fn nvcc_writes_the_oldest_version_that_is_known() {
    let scenario = package("vendor_lowered", "");
    scenario.build_script(&format!(
        r#"println!("cargo::rerun-if-env-changed=AS_IT_IS");
    let mut build = Build::new();
    if std::env::var_os("AS_IT_IS").is_some() {{
        build.lower_ptx(false);
    }}
    build.modules({:?}).compiler(Compiler::Nvcc).archs({TARGETS:?}).compile("pack");"#,
        SOURCES.map(|(name, ..)| format!("kernels/{name}.cu")),
    ));
    for (name, source, _) in SOURCES {
        scenario.write(&format!("kernels/{name}.cu"), source);
    }
    let versions = |name: &str| {
        TARGETS.map(|target| {
            let text = scenario.output_bytes("debug", &format!("pack/{name}.{target}.ptx"));
            PtxHeader::parse(&text).expect("PTX has a header").version().to_string()
        })
    };
    let printed = scenario.build().arg("-vv").passes();
    let lowered = SOURCES.map(|(name, ..)| versions(name));
    printed
        .has("elect.compute_90a: the PTX keeps version")
        .has("has `wgmma.fence.sync.aligned` at offset");
    // With an unchanged list, nothing is made again.
    scenario.touch_build_script();
    scenario.build().passes();
    assert_eq!(SOURCES.map(|(name, ..)| versions(name)), lowered);
    scenario.build().env("AS_IT_IS", "1").passes();
    let of_nvcc = versions("plain")[0].clone();
    for ((name, _, expected), lowered) in SOURCES.iter().zip(&lowered) {
        let expected = expected.map(|version| version.unwrap_or(&of_nvcc));
        assert_eq!(*lowered, expected, "{name}");
        assert_eq!(versions(name), [(); 3].map(|()| of_nvcc.clone()), "{name}");
    }
    // The index follows the text.
    let index = fs::read_to_string(scenario.output("debug", "pack.index")).expect("it is text");
    assert!(index.contains(&of_nvcc), "{index}");
}
