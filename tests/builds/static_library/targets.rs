//! The targets of a static library's sources, and the objects that are kept for earlier lists.
//! `cuobjdump` and a log of nvcc's calls check the results.

use crate::NVCC_AND_CLANG;
use crate::nvcc::rebuilds::LoggingToolkit;
use offload_tests::judges::cuda_images;
use offload_tests::prelude::*;

/// Writes a source that launches a kernel with this name.
fn write(scenario: &Scenario, name: &str) {
    scenario.write(
        &format!("kernels/{name}.cu"),
        format!(
            "#include <cuda_runtime.h>\n\
             __global__ void {name}_kernel(float *x) {{ *x *= 2.0f; }}\n\
             extern \"C\" int {name}(float *x) {{ {name}_kernel<<<1, 1>>>(x); return (int)cudaGetLastError(); }}\n"
        ),
    );
}

/// Returns the images in one of the package's objects or libraries, as [`cuda_images`] does.
fn images(scenario: &Scenario, file: &str) -> Vec<String> {
    cuda_images(&scenario.output("debug", file))
}

/// A source that supports none of the targets is left out, even if it is for the other vendor's
/// GPUs.
#[test(NVCC.slow())]
fn each_source_has_the_targets_that_it_supports() {
    let scenario = Scenario::new("static_supports");
    scenario.build_script(
        r#"let library = Build::new()
        .file("kernels/all.cu")
        .file(Source::new("kernels/some.cu").supports([">=sm_90"]))
        .file(Source::new("kernels/none.cu").supports([">=sm_100"]))
        .file(Source::new("kernels/amd.hip").supports(["amd"]))
        .file(Source::new("kernels/beside.cpp").language(offload_build::Language::Cuda))
        .compiler(Compiler::Nvcc)
        .allow_empty()
        .archs(["sm_80", "sm_90"])
        .compile_static("mixed");
    println!("cargo::warning=targets {}", library.targets().join(" "));"#,
    );
    ["all", "some", "none"].into_iter().for_each(|name| write(&scenario, name));
    scenario.write("kernels/amd.hip", "#error \"it is not compiled\"\n");
    // nvcc also compiles C++ without kernels. Its images are empty.
    scenario.write("kernels/beside.cpp", "extern \"C\" int beside() { return 1; }\n");
    let printed = scenario.build().arg("-vv").passes();
    printed
        .has("targets sm_80 sm_90\n")
        .has(
            "static library \"mixed\": kernels/some.cu built only for sm_90, although the build's \
             targets are sm_80, sm_90\n",
        )
        .has(
            "static library \"mixed\": kernels/none.cu, kernels/amd.hip built for no target, \
             although the build's targets are sm_80, sm_90\n",
        );
    let both = ["sm_80.cubin", "sm_90.cubin"];
    assert_eq!(images(&scenario, "mixed/0_all.sm_80.sm_90.o"), both);
    assert_eq!(images(&scenario, "mixed/0_some.sm_90.o"), both[1..]);
    assert_eq!(images(&scenario, "mixed/0_beside.sm_80.sm_90.o"), both);
    assert_eq!(images(&scenario, "libmixed.a"), [both[0], both[0], both[1], both[1], both[1]]);
    // With this list, the second source is also left out, so the library has one object fewer.
    scenario.build().env("OFFLOAD_ARCH", "sm_80").passes().has("targets sm_80\n");
    assert_eq!(images(&scenario, "libmixed.a"), [both[0], both[0]]);
}

/// Builds for one GPU, then for another GPU, then for the first again. Returns the package, and
/// nvcc's calls in the last build.
fn there_and_back(name: &str, calls: &str) -> (Scenario, String) {
    let scenario = Scenario::new(name);
    scenario.build_script(&format!(
        r#"Build::new().file("kernels/one.cu"){calls}.compile_static("back");"#
    ));
    write(&scenario, "one");
    let toolkit = LoggingToolkit::new(&scenario);
    let build = |arch: &str| {
        scenario.build().env("CUDA_HOME", &toolkit.root).env("OFFLOAD_ARCH", arch).passes();
        scenario.output_time("debug", &format!("back/0_one.{arch}.o"))
    };
    let first = build("sm_80");
    build("sm_75");
    toolkit.calls();
    assert!(build("sm_80") == first, "compiled again");
    let calls = toolkit.calls();
    let mut linked = images(&scenario, "libback.a");
    linked.dedup();
    assert_eq!(linked, ["sm_80.cubin"]);
    (scenario, calls)
}

#[test(NVCC.slow())]
fn nvcc_compiles_nothing_for_an_earlier_list() {
    let (_, calls) = there_and_back("static_back_nvcc", ".compiler(Compiler::Nvcc).device_link()");
    assert_eq!(calls, "");
}

/// For a longer list, clang compiles only the new targets, because there is one image per target.
#[test(NVCC_AND_CLANG.slow())]
fn clang_compiles_nothing_for_an_earlier_list() {
    let (scenario, _) = there_and_back("static_back_clang", "");
    let time = |file: &str| scenario.output_time("debug", &format!("back/{file}"));
    let earlier = ["0_one.device.sm_80.cubin", "0_one.device.sm_75.cubin"];
    let before = earlier.map(time);
    let build = |archs: &str| {
        let build = scenario.build().env("CUDA_HOME", scenario.folder.join("toolkit"));
        build.env("OFFLOAD_ARCH", archs).passes();
    };
    build("sm_75,sm_80,compute_80");
    assert!(before == earlier.map(time), "compiled again");
    let listed = images(&scenario, "back/0_one.sm_75.sm_80.compute_80.o");
    assert_eq!(listed, ["sm_75.cubin", "sm_80.cubin", "sm_80.ptx"]);
    // For `compute_80`, the library has PTX but no machine code.
    build("sm_75,compute_80");
    let listed = images(&scenario, "back/0_one.sm_75.compute_80.o");
    assert_eq!(listed, ["sm_75.cubin", "sm_80.ptx"]);
}

/// A prebuilt set never contains a static library. The build that generates a set must print a
/// warning about this, and a build that may use only the set must fail.
#[test(NVCC_AND_CLANG.slow())]
fn a_prebuilt_set_beside_a_static_library() {
    let scenario = Scenario::new("static_prebuilt");
    scenario
        .build_script(
            r#"Build::new().file("kernels/add.cu").archs(["compute_80"]).compile("add");
    Build::new().file("kernels/one.cu").compiler(Compiler::Nvcc).archs(["sm_80"]).compile_static("one");"#,
        )
        .kernel("add", "1.0f");
    write(&scenario, "one");
    let build = |variable: &str, value: &str| scenario.build().release().env(variable, value);
    build("OFFLOAD_PREBUILT", "update").passes().once(
        "OFFLOAD_PREBUILT=update is only for packs: the static library \"one\" is not in the \
         prebuilt set, so it is compiled wherever this package is built",
    );
    assert!(scenario.folder.join("prebuilt/add.compute_80.ptx").is_file());
    build("OFFLOAD_PREBUILT", "only").fails().once(
        "OFFLOAD_PREBUILT is 'only', but a prebuilt set contains no static libraries, so this \
         library must be compiled. Set OFFLOAD_PREBUILT_static_prebuilt=never for this package, or \
         OFFLOAD_SKIP=1 if you only want to check the package",
    );
    build("OFFLOAD_PREBUILT", "only").env("OFFLOAD_PREBUILT_static_prebuilt", "never").passes();
    build("OFFLOAD_PREBUILT", "never").passes().lacks("is only for packs");
}

/// Tests machines without compilers. The program declares the functions, but nothing is linked.
#[test]
fn nothing_is_compiled_when_skipped() {
    let scenario = Scenario::new("static_skipped");
    scenario
        .build_script(
            r#"let mut build = Build::new();
    build.file("kernels/scale.cu").archs(["sm_80"]).supports(["amd"]).allow_empty();
    let library = build.compile_static("a");
    assert!(library.path().is_none());
    println!("cargo::warning=skipped {}", library.is_skipped());"#,
        )
        .write(
            "src/lib.rs",
            "unsafe extern \"C\" {\n    pub fn cuda_devices(count: *mut i32) -> i32;\n}\n",
        );
    scenario.build().env("OFFLOAD_SKIP", "1").passes().has("skipped true");
    scenario.build().env("DOCS_RS", "1").passes().has("skipped true");
    // If the filter leaves no target, the library is missing, too, but the build does not count as
    // skipped.
    scenario.write("kernels/scale.cu", "__global__ void scale() {}\n");
    scenario.build().passes().has("skipped false");
}
