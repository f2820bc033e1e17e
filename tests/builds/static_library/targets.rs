//! The targets of a static library's sources, and the objects that are kept for earlier lists.
//! `cuobjdump` and a log of nvcc's calls are used as checks.

use crate::nvcc::rebuilds::LoggingToolkit;
use offload_tests::registry::{NVCC, Needs, needs};
use offload_tests::scenario::Scenario;
use offload_tests::tools::{Tool, cuda, stdout, succeed};

const CLANG_CUDA: Needs = needs(&[Tool::Nvcc, Tool::Cuda, Tool::Gcc, Tool::Llvm22]);

offload_tests::tests! {
    NVCC.slow() => [each_source_has_the_targets_that_it_supports, sources_of_the_other_vendor_are_left_out, nvcc_compiles_nothing_for_an_earlier_list],
    CLANG_CUDA.slow() => [clang_compiles_nothing_for_an_earlier_list, a_prebuilt_set_beside_a_static_library],
}

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

/// Returns the cubins in an object or library, as `sm_80`.
fn cubins(scenario: &Scenario, file: &str) -> Vec<String> {
    let listed =
        stdout(&succeed(cuda("cuobjdump").arg("-lelf").arg(scenario.output("debug", file))));
    let archs = listed
        .lines()
        .filter_map(|line| line.strip_suffix(".cubin")?.rsplit('.').next().map(str::to_owned));
    archs.collect()
}

fn each_source_has_the_targets_that_it_supports() {
    let scenario = Scenario::new("static_supports");
    scenario.build_script(
        r#"let library = Build::new()
        .file("kernels/all.cu")
        .file(Source::new("kernels/some.cu").supports([">=sm_90"]))
        .file(Source::new("kernels/none.cu").supports([">=sm_100"]))
        .compiler(Compiler::Nvcc)
        .allow_empty()
        .archs(["sm_80", "sm_90"])
        .compile_static("mixed");
    println!("cargo::warning=targets {}", library.targets().join(" "));"#,
    );
    ["all", "some", "none"].into_iter().for_each(|name| write(&scenario, name));
    let printed = scenario.build().arg("-vv").passes();
    printed
        .has("targets sm_80 sm_90\n")
        .has("static library \"mixed\": kernels/some.cu built for sm_90, of sm_80, sm_90\n")
        .has("static library \"mixed\": kernels/none.cu built for none, of sm_80, sm_90\n");
    assert_eq!(cubins(&scenario, "mixed/0_all.sm_80.sm_90.o"), ["sm_80", "sm_90"]);
    assert_eq!(cubins(&scenario, "mixed/0_some.sm_90.o"), ["sm_90"]);
    assert_eq!(cubins(&scenario, "libmixed.a").len(), 3);
    // With another list, the second source is also left out, so the library has one object less.
    scenario.build().env("OFFLOAD_ARCH", "sm_80").passes().has("targets sm_80\n");
    assert_eq!(cubins(&scenario, "libmixed.a"), ["sm_80"]);
}

/// Tests a library with a source for each vendor: if the list has only NVIDIA's GPUs, the source
/// for AMD's GPUs is left out.
fn sources_of_the_other_vendor_are_left_out() {
    let scenario = Scenario::new("static_vendors");
    scenario.build_script(
        r#"Build::new()
        .file(Source::new("kernels/one.cu").supports(["nvidia"]))
        .file(Source::new("kernels/one.hip").supports(["amd"]))
        .compiler(Compiler::Nvcc)
        .allow_empty()
        .compile_static("vendors");"#,
    );
    write(&scenario, "one");
    scenario.write("kernels/one.hip", "#error \"it is not compiled\"\n");
    scenario.build().env("OFFLOAD_ARCH", "sm_80").passes();
    assert_eq!(cubins(&scenario, "libvendors.a"), ["sm_80"]);
}

/// Builds for one GPU, then for another, then for the first again. Returns the package, and nvcc's
/// calls in the last build.
fn there_and_back(name: &str, calls: &str) -> (Scenario, String) {
    let scenario = Scenario::new(name);
    scenario.build_script(&format!(
        r#"Build::new().files(["kernels/one.cu", "kernels/two.cu"]){calls}.compile_static("both");"#
    ));
    ["one", "two"].into_iter().for_each(|name| write(&scenario, name));
    let toolkit = LoggingToolkit::new(&scenario);
    let build = |arch: &str| {
        scenario.build().env("CUDA_HOME", &toolkit.root).env("OFFLOAD_ARCH", arch).passes();
        scenario.output_time("debug", &format!("both/0_one.{arch}.o"))
    };
    let first = build("sm_80");
    build("sm_75");
    toolkit.calls();
    assert!(build("sm_80") == first, "compiled again");
    let calls = toolkit.calls();
    let linked = cubins(&scenario, "libboth.a");
    assert!(!linked.is_empty() && linked.iter().all(|arch| arch == "sm_80"), "{linked:?}");
    (scenario, calls)
}

fn nvcc_compiles_nothing_for_an_earlier_list() {
    let (_, calls) = there_and_back("static_back_nvcc", ".compiler(Compiler::Nvcc).device_link()");
    assert_eq!(calls, "");
}

/// For a longer list, clang compiles only the new targets: there is one image for each target.
fn clang_compiles_nothing_for_an_earlier_list() {
    let (scenario, _) = there_and_back("static_back_clang", "");
    let time = |file: &str| scenario.output_time("debug", &format!("both/{file}"));
    let before = ["0_one.device.sm_80.cubin", "0_one.device.sm_75.cubin"].map(time);
    let build = |archs: &str| {
        scenario
            .build()
            .env("CUDA_HOME", scenario.folder.join("toolkit"))
            .env("OFFLOAD_ARCH", archs)
            .passes();
    };
    build("sm_75,sm_80,compute_80");
    assert!(
        before == ["0_one.device.sm_80.cubin", "0_one.device.sm_75.cubin"].map(time),
        "compiled again"
    );
    assert_eq!(cubins(&scenario, "both/0_one.sm_75.sm_80.compute_80.o"), ["sm_75", "sm_80"]);
    // For `compute_80`, the library has PTX and no machine code.
    build("sm_75,compute_80");
    assert_eq!(cubins(&scenario, "both/0_one.sm_75.compute_80.o"), ["sm_75"]);
}

/// A prebuilt set never contains a static library. A warning reports this when a set is made. A
/// build that may only use the set fails.
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
        "OFFLOAD_PREBUILT=update is for packs: the static library \"one\" is not in the prebuilt set, and is compiled wherever \
         this package is built",
    );
    assert!(scenario.folder.join("prebuilt/add.compute_80.ptx").is_file());
    build("OFFLOAD_PREBUILT", "only").fails().once(
        "OFFLOAD_PREBUILT is 'only', and a static library is in no prebuilt set: it has to be compiled. Set \
         OFFLOAD_PREBUILT_static_prebuilt=never for this package, or OFFLOAD_SKIP=1 if it is only to be checked",
    );
    build("OFFLOAD_PREBUILT", "only").env("OFFLOAD_PREBUILT_static_prebuilt", "never").passes();
    build("OFFLOAD_PREBUILT", "never").passes().lacks("is for packs");
    build("OFFLOAD_PREBUILT", "always")
        .fails()
        .has("OFFLOAD_PREBUILT is 'always'; it can be update, signatures, only or never");
}
