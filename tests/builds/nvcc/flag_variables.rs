//! Flags that nvcc reads from the environment: `NVCC_PREPEND_FLAGS` and `NVCC_APPEND_FLAGS`. nvcc
//! itself and `cuobjdump` check the results.

use super::package;
use offload_tests::judges::cuda_images;
use offload_tests::prelude::*;

/// A kernel whose name depends on a flag.
const KERNEL: &str = "#ifndef NAME\n#define NAME unnamed\n#endif\n\
    extern \"C\" __global__ void NAME(float *x) { *x = 1.0f; }\n\
    extern \"C\" void launch(float *x) { NAME<<<1, 1>>>(x); }\n";

/// Returns a package with a pack of machine code and PTX, and a static library.
fn both_kinds(name: &str) -> Scenario {
    let scenario = package(name, "");
    scenario
        .build_script(
            r#"println!("cargo::rerun-if-env-changed=AGAIN");
    let mut build = Build::new();
    build.file("kernels/named.cu").compiler(Compiler::Nvcc).archs_if_known(["sm_80", "compute_80"]);
    println!("cargo::warning=toolkit {:?}", build.toolkit_version() > offload_build::ToolkitVersion::Missing);
    build.compile("pack");
    build.compile_static("library");"#,
        )
        .write("kernels/named.cu", KERNEL);
    scenario
}

#[test(NVCC.slow())]
fn a_build_is_for_its_own_targets_whatever_the_variables_name() {
    let scenario = both_kinds("vendor_flags_with_gpus");
    let object = || scenario.output("debug", "library/0_named.sm_80.compute_80.o");
    let mut times = Vec::new();
    let (append, prepend) = ("NVCC_APPEND_FLAGS", "NVCC_PREPEND_FLAGS");
    let gencode = "-gencode arch=compute_90,code=sm_90 -DNAME=of_flag";
    let with_ptx = "-gencode=arch=compute_75,code=[sm_75,compute_75]";
    for (variable, value, names, targets) in [
        (append, gencode, "of_flag", "sm_90"),
        (append, "-arch=sm_90 -DNAME=of_flag", "of_flag", "sm_90"),
        (prepend, with_ptx, "unnamed", "sm_75;compute_75"),
        (prepend, "--gpu-architecture sm_100", "unnamed", "sm_100"),
        // These are another program's names for targets.
        (append, "--gpu-code=compute_9.0,sm_9.0", "unnamed", "compute_90;sm_90"),
    ] {
        let printed = scenario.build().env(variable, value).passes();
        printed.once(&format!("{variable}={value} names GPUs, but nvcc runs without "));
        printed.once(&format!("To build for these GPUs, set OFFLOAD_ARCH=\"{targets}\""));
        // The only warnings are the two from offload-build and from the build script.
        printed.times(2, "warning: vendor_flags_with_gpus@").once("toolkit true");
        let cubin = scenario.output("debug", "pack/sm_80.cubin");
        assert_eq!(cuda_images(&cubin), ["sm_80.cubin"], "{value}");
        let ptx = scenario.output_text("debug", "pack/compute_80.ptx");
        assert!(ptx.contains("\n.target sm_80\n"), "{value}");
        assert_eq!(cuda_images(&object()), ["sm_80.cubin", "sm_80.ptx"], "{value}");
        // The kernel's name shows that nvcc used the other flags in the variable.
        let is_named = read(&cubin).windows(names.len()).any(|it| it == names.as_bytes());
        assert!(is_named, "{value}: no kernel {names}");
        times.push(scenario.output_time("debug", "pack/sm_80.cubin"));
    }
    // A build must accept the targets in the advice.
    for targets in ["sm_75;compute_75", "compute_90;sm_90"] {
        scenario.build().env("OFFLOAD_ARCH", targets).passes();
    }
    let printed = scenario.build().env(append, "-arch=lto_80").passes();
    printed.once("To build for these GPUs, list them in OFFLOAD_ARCH");
    assert!(times[0] == times[1], "compiled again for GPUs that do not count");
    assert!(times[1] != times[2], "not compiled again without a definition");
}

#[test(NVCC.slow())]
fn a_flag_of_a_variable_that_nvcc_refuses_is_named() {
    let scenario = both_kinds("vendor_refused_flags");
    scenario.build().env("NVCC_APPEND_FLAGS", "-arch=sm_90 --such-a-flag -O1").fails().each_once([
        "nvcc fatal   : Unknown option '--such-a-flag'",
        "(nvcc also gets the flags in NVCC_APPEND_FLAGS, '--such-a-flag -O1': unset the variable \
         if they do not fit",
        "; the command was\n    NVCC_APPEND_FLAGS='--such-a-flag -O1' /",
    ]);
    // The message must not blame the variable for an error in the source.
    scenario.write("kernels/named.cu", "__global__ void f() {\n  undeclared();\n}\n");
    scenario.build().env("NVCC_APPEND_FLAGS", "-O1").fails().has("is undefined").lacks("unset the");
}
