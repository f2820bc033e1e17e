//! Messages for a static library that cannot be built as build.rs requests.

use offload_tests::prelude::*;

/// Creates a table. Each row has the calls between `Build::new()` and `compile_static`, and a part
/// of the message.
macro_rules! refused {
    ($([$($calls:tt)*] => $message:literal;)+) => {
        &[$((stringify!($($calls)*), $message)),+]
    };
}

const CASES: &[(&str, &str)] = refused! {
    [.file("kernels/scale.cu").compiler(Compiler::Nvcc).archs(["sm_75", "compute_80"])]
        => "no image for sm_75, compute_80: ";
    [.file("kernels/scale.cu").include("cutlass/include").archs(["sm_80"])]
        => "build.rs calls .include(\"cutlass/include\") for kernels/scale.cu, but there is no \
             folder /";
    [.file("kernels/scale.cu").archs(["sm_80"]).supports([">=sm_90"])]
        => "no target is left for kernels/scale.cu: the static library \"a\" is for >=sm_90, \
            according to build.rs. The targets are sm_80. Add a target, or call .allow_empty() to \
            leave out sources without targets";
    [.file("kernels/scale.cu").archs(["gfx90a", "gfx90a:xnack+"])]
        => "the targets 'gfx90a' and 'gfx90a:xnack+' (from build.rs) cannot be built together: \
            some devices match both";
    [.file("kernels/scale.cu").archs(["sm_80", "gfx90a"])]
        => "so its targets must be one vendor's GPUs, but they are sm_80, gfx90a. Limit the \
             targets of each source";
    [.modules(["kernels/scale.cu"]).archs(["sm_80"])]
        => "a static library cannot have modules, but build.rs adds the module \"scale\"";
    [.file("kernels/scale.cl").archs(["sm_80"])]
        => "kernels/scale.cl is OpenCL C, which has no host code";
    [.file("kernels/scale.cu").flag_for("sm_80", "-DA").archs(["sm_80", "sm_90"]).nvcc("/nowhere/nvcc")]
        => "Build::nvcc names /nowhere/nvcc, which cannot be used: there is no such file";
    [.file("kernels/scale.cu").compress().archs(["sm_80"])]
        => "compress() is only for packs: the compiler's own options decide how a static library \
            stores device code. To make a static library, remove this call";
    [.file("kernels/scale.cu").large_pack_script().archs(["sm_80"])]
        => "large_pack_script() is only for packs: ";
    [.file("kernels/scale.cu").lower_ptx(true).archs(["compute_80"])]
        => "lower_ptx(true) is only for packs: nvcc stores its newest PTX version in a static \
            library. To make a static library, remove this call";
    [.file("kernels/scale.cu").prebuilt("images").archs(["sm_80"])]
        => "prebuilt(...) is only for packs: a prebuilt set contains no static libraries. To make \
            a static library, remove this call";
    [
        .file("kernels/scale.cu")
        .file(Source::new("kernels/half.cu").supports([">=sm_90"]))
        .archs(["sm_75", "sm_80"])]
        => "no target is left for kernels/half.cu: kernels/half.cu is for >=sm_90, according to \
            build.rs. The targets are sm_75, sm_80. Add a target, or call .allow_empty() to leave \
            out sources without targets";
    [.file("kernels/scale.cu").cudart("dynamic").archs(["sm_80"])]
        => "build.rs calls .cudart(\"dynamic\"), but the value must be \"static\", \"shared\" or \
            \"none\"";
    [.file("kernels/scale.cu").flag("-rdc=true").archs(["sm_80"])]
        => "the flag -rdc=true of kernels/scale.cu needs a device link: remove the flag and call \
             .device_link() in build.rs";
    [.file(Source::new("kernels/scale.hip").flag("-fgpu-rdc")).archs(["gfx90a"])]
        => "the flag -fgpu-rdc of kernels/scale.hip needs a device link";
    [.file("kernels/scale.cu").compiler(Compiler::Nvcc).flag("-gencode").flag("arch=compute_75,code=sm_75").archs(["sm_80", "sm_90"])]
        => "the flag -gencode arch=compute_75,code=sm_75 of kernels/scale.cu adds device code for \
            GPUs that are not in the list of targets (sm_80, sm_90): remove the flag and list all \
            targets with .archs([...])";
    [.file(Source::new("kernels/scale.cu").flag("--gpu-architecture=native")).compiler(Compiler::Nvcc).archs(["sm_80"])]
        => "the flag --gpu-architecture=native of kernels/scale.cu adds device code";
    [.file("kernels/scale.hip").flag("--offload-arch=gfx1100").archs(["gfx90a"])]
        => "the flag --offload-arch=gfx1100 of kernels/scale.hip adds device code";
    [.file("kernels/scale.cu").device_link().archs(["sm_80", "compute_90"])]
        => "clang cannot link PTX for .device_link(): leave compute_90 out of the targets, or \
             let nvcc compile the library with";
    [.file("kernels/scale.cu").device_link().clang("old/clang").archs(["sm_80"])]
        => "old/clang (clang version 18.1.8) cannot link device code for .device_link()";
};

/// One build script contains all cases, so Cargo compiles the script only once. Cargo runs the
/// script again for each case, because the script failed before.
#[test(GCC)]
fn what_a_static_library_cannot_be() {
    let arms = CASES.iter().enumerate().map(|(number, (calls, _))| {
        format!("        \"{number}\" => drop(Build::new(){calls}.compile_static(\"a\")),\n")
    });
    let arms: String = arms.collect();
    let scenario = Scenario::new("static_refused");
    scenario.build_script(&format!(
        "match &*std::env::var(\"CASE\").unwrap() {{\n{arms}        other => panic!(\"no case {{other}}\"),\n    }}"
    ));
    scenario.write("kernels/half.cu", "").script("old/clang", "echo 'clang version 18.1.8'");
    for extension in ["cu", "cl", "hip"] {
        scenario.write(&format!("kernels/scale.{extension}"), "");
    }
    for (number, (_, expected)) in CASES.iter().enumerate() {
        let build = scenario.build().env("CUDA_HOME", "/nowhere").env("CASE", number.to_string());
        build.fails().has("offload-build could not make the static library \"a\"").has(expected);
    }
}

/// Returns a package with the library "launch", built by nvcc with these calls.
fn by_nvcc(name: &str, calls: &str) -> Scenario {
    let scenario = Scenario::new(name);
    scenario
        .build_script(&format!(
            r#"Build::new().file("kernels/launch.cu").compiler(Compiler::Nvcc){calls}.compile_static("launch");"#
        ))
        .write("kernels/launch.cu", "extern \"C\" int launch() { return 0; }\n");
    scenario
}

/// The error about the vendor must precede the search for a toolkit.
#[test(GCC)]
fn a_library_by_nvcc_is_for_nvidia() {
    let scenario = by_nvcc("static_for_nvidia", r#".archs(["sm_80"])"#);
    let build = || scenario.build().env("CUDA_HOME", "/nowhere").env("NVCC", "/nowhere/nvcc");
    build().env("OFFLOAD_ARCH", "gfx90a").fails().has(
        "OFFLOAD_ARCH lists gfx90a, but the static library \"launch\" is for nvidia alone: \
         build.rs selects nvcc, and no compiler for AMD's GPUs.\n  Add a target such as sm_80, or \
         set OFFLOAD_ARCH_static_for_nvidia=sm_80, which applies only to this package. Without \
         OFFLOAD_ARCH, the list in build.rs applies.\n",
    );
    // The message must name a source that is built for only some of the listed targets.
    let calls = r#".file(Source::new("kernels/new.cu").supports([">=sm_90"])).archs(["sm_80"])"#;
    let parts = by_nvcc("static_parts", calls);
    parts.write("kernels/new.cu", "");
    let build = parts.build().env("OFFLOAD_ARCH", "sm_80;sm_90").env("NVCC", "/nowhere/nvcc");
    let printed = build.fails();
    printed
        .has(
            "static library \"launch\": kernels/new.cu built only for sm_90, although \
             OFFLOAD_ARCH lists sm_80, sm_90\n",
        )
        .lacks("pack \"");
    // If a library is for both vendors, the message must not claim that it is for one vendor.
    let both = by_nvcc("static_for_both", r#".compiler(Compiler::ClangRocm).archs(["sm_80"])"#);
    let printed = both.build().env("OFFLOAD_ARCH", "gfx90a").env("ROCM_PATH", "/nowhere").fails();
    printed.lacks("is for nvidia alone");
}

#[test(NVCC.slow())]
fn without_targets_a_library_by_nvcc_lists_those_of_nvcc() {
    let scenario = by_nvcc("static_no_targets", "");
    let printed = scenario.build().env("AMDGPU_TARGETS", "gfx90a").fails();
    let list = |option: &str| {
        let text = stdout(&succeed(cuda("nvcc").arg(option)));
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let (code, arch) = (list("--list-gpu-code"), list("--list-gpu-arch"));
    let known = format!(") compiles for {code} {arch}. The GPUs of this machine are detected only");
    assert!(known.contains(" sm_80 ") && known.contains(" compute_80 "), "{known}");
    printed.has(&known).lacks("gfx90a,").lacks("using targets from");
    printed.each_once([
        "List targets in build.rs, as in .archs([\"sm_80\", \"compute_80\"]), or set \
         OFFLOAD_ARCH=\"sm_80;compute_80\" or CUDA_COMPUTE_CAP=80",
        "the static library \"launch\" is for nvidia alone: build.rs selects nvcc, and no \
         compiler for AMD's GPUs",
        "AMDGPU_TARGETS is 'gfx90a', which lists GPUs of a different vendor",
    ]);
    // If build.rs has default targets, the other vendor's variable is ignored, and the default
    // targets are built.
    let scenario = by_nvcc("static_default", r#".default_archs(["compute_80"])"#);
    let printed = scenario.build().env("AMDGPU_TARGETS", "gfx90a").passes();
    printed.lacks("using targets from");
}
