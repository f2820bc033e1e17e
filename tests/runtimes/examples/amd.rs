//! Tests of the example for AMD GPUs: with a stand-in for the runtime, and with AMD's own runtime
//! on a fake GPU.

use super::{Example, HIDDEN, NO_AMD_GPU, NO_GPU, on_gpus, read_log, utf8};
use offload_tests::prelude::*;
use offload_tests::stand_ins::{compile, described, empty_library, hsa};

#[test(GCC.slow())]
fn hip_vector_add() {
    let example = Example::new("hip-vector-add");
    let libraries = scratch::folder("examples-hip");
    compile("hip_runtime.c", &["-shared", "-fPIC"], &libraries.join("libamdhip64.so"));
    // cubecl-hip-sys also searches for this library, but uses none of its functions.
    empty_library(&libraries, "libhiprtc.so");
    let log = libraries.join("log");
    let on_gpu = |gpu, failure| {
        let mut variables = on_gpus(gpu, &log);
        variables[0].1 = utf8(&libraries);
        [variables, vec![("FAKE_ERROR", failure)]].concat()
    };

    // Four threads request the module at the same time, but it must be loaded only once.
    example.follow(0, &on_gpu("gfx90a:sramecc+:xnack-", ""), &[]);
    let mut lines = read_log(&log);
    let image = described(&example.prebuilt("vector_add.gfx90a.hsaco"));
    assert_eq!(lines.remove(0), format!("hipModuleLoadData: {image}"));
    assert_eq!(lines, ["hipModuleLaunchKernel: 1024 blocks of 256 threads"; 4]);

    example.follow(1, &HIDDEN, &NO_GPU);

    for (gpu, failure, error) in [
        ("", "", &*format!("could not use the device \"hip:0\": {NO_AMD_GPU}\n")),
        ("gfx1201", "", "no image for gfx1201\n  gfx90a         code for another processor\n"),
        (
            "",
            "hipGetDeviceCount=999",
            "could not use the device \"hip:0\": could not count the GPUs: hipGetDeviceCount returned hipErrorUnknown (999)\n",
        ),
        (
            "a GPU",
            "",
            "could not use the device \"hip:0\": could not use hip:0: its driver reports an invalid target: 'a GPU': ",
        ),
        (
            "gfx1100",
            "hipModuleLoadData=200",
            "hip:0 (Fake GPU gfx1100): could not load the gfx11-generic code object (4720 bytes): hipModuleLoadData returned \
             hipErrorInvalidImage (200)\nThe HIP runtime may be too old for this image: update ROCm.\n",
        ),
        ("gfx942", "hipMalloc=2", "hipMalloc returned hipErrorUnknown (2)\n"),
        ("gfx942", "hipSetDevice=101", "hipSetDevice returned hipErrorUnknown (101)\n"),
    ] {
        example.fails("cargo run", &on_gpu(gpu, failure)).starts_with(&format!("error: {error}"));
    }
}

/// Runs the example with version 5 of AMD's runtime on a fake GPU. The example needs HIP 6, so
/// `hip6_names.c` adds the function that version 5 lacks. The runtime loads the image, but no
/// kernel runs.
#[test(needs(&[Tool::Gcc, Tool::Llvm22, Tool::Hip5]).slow())]
fn hip_vector_add_with_the_real_runtime() {
    let libraries = hsa::libraries_of_hip_6("examples-hip-runtime");

    // This runtime accepts only version 4 code objects. Add `-O2`, because without optimization a
    // kernel needs a buffer for messages to the host, which the stand-in does not provide.
    let example = Example::copied("hip-vector-add", "hip-vector-add-5");
    let script = example.scenario.text("build.rs");
    let version_4 = script.replace(".compile(", ".code_object_version(4).flag(\"-O2\").compile(");
    assert_ne!(version_4, script);
    example.scenario.write("build.rs", version_4);
    let (clang, log) = (llvm_bin().join("clang"), libraries.join("log"));
    let variables = [
        ("OFFLOAD_CLANG", utf8(&clang)),
        ("OFFLOAD_PREBUILT", "never"),
        ("OFFLOAD_ARCH", "gfx90a gfx1030"),
        ("LD_LIBRARY_PATH", utf8(&libraries)),
        ("FAKE_GPU", "gfx90a:sramecc+:xnack-"),
        ("FAKE_LOG", utf8(&log)),
    ];
    let printed = example.fails("cargo run", &variables);
    let lines = read_log(&log);
    assert_eq!(printed.text(), "error: wrong result: element 0 is 0, not 1\n", "{lines:#?}");
    let image = described(&read(example.scenario.output("debug", "vector_add/gfx90a.hsaco")));
    // Four threads requested the image at the same time, but it must be loaded only once.
    let loads = lines.iter().filter(|line| **line == format!("code object: {image}")).count();
    assert_eq!(loads, 1, "{lines:#?}");
    assert!(lines.iter().any(|line| line == "symbol: vector_add.kd"), "{lines:#?}");
}
