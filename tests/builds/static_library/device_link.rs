//! Sources in one static library that call each other's device functions. nvcc's and clang's
//! linkers, the program's linker, `cuobjdump`, LLVM 22's readers, and the runtimes without a driver
//! check the results.

use super::programs::{assert_returns_an_error, device_images, program};
use crate::nvcc::rebuilds::LoggingToolkit;
use crate::{NVCC_AND_CLANG, copy_of_program};
use offload_tests::judges::cuda_images;
use offload_tests::prelude::*;

const HIP: Needs = needs(&[Tool::Rocm, Tool::Hip5, Tool::Gcc, Tool::Llvm22, Tool::NoAmdGpu]);

/// Returns a source that defines a library's device function. The source includes no headers, so it
/// compiles in a third of the time.
fn factor(library: &str, value: &str) -> String {
    format!("__device__ float factor_{library}(float x) {{ return x * {value}; }}\n")
}

/// Writes a kernel whose source declares a device function, and the source that defines this
/// function. `src/<library>.rs` is a program that calls the library.
fn sources(scenario: &Scenario, library: &str, extension: &str, header: &str, runtime: &str) {
    let launch = format!(
        r#"#include <{header}>
__device__ float factor_{library}(float x);
__global__ void {library}_kernel(float *x, int n) {{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] = factor_{library}(x[i]);
}}
extern "C" int {library}_devices(int *count) {{ return (int){runtime}GetDeviceCount(count); }}
extern "C" int {library}_scale(float *x, int n) {{
  {library}_kernel<<<(n + 255) / 256, 256>>>(x, n);
  return (int){runtime}GetLastError();
}}
"#
    );
    scenario
        .write(&format!("kernels/{library}_launch.{extension}"), launch)
        .write(&format!("kernels/{library}_factor.{extension}"), factor(library, "2.5f"))
        .write(
            &format!("src/{library}.rs"),
            program(library).replace("fn main()", "pub fn main()"),
        );
}

/// Returns a package with a program that calls these libraries. Each library has a name, the calls
/// in build.rs, and the extension of its two sources. If the variable `APART` names a library,
/// build.rs does not call `.device_link()` for it.
fn package(name: &str, libraries: &[(&str, &str, &str)]) -> Scenario {
    let scenario = Scenario::without_sources(name);
    let (mut script, mut modules, mut main) = (String::new(), String::new(), String::new());
    for (library, calls, extension) in libraries {
        script += &format!(
            r#"let mut build = Build::new();
    build.files(["kernels/{library}_launch.{extension}", "kernels/{library}_factor.{extension}"]){calls}.max_parallel(1);
    if std::env::var("APART").as_deref() != Ok("{library}") {{
        build.device_link();
    }}
    build.compile_static("linked_{library}");
    "#
        );
        modules += &format!("mod {library};\n");
        main += &format!("    {library}::main();\n");
    }
    scenario
        .build_script(&format!(
            "for name in [\"AGAIN\", \"APART\"] {{ println!(\"cargo::rerun-if-env-changed={{name}}\"); }}\n    {script}"
        ))
        .write("src/main.rs", format!("{modules}\nfn main() {{\n{main}}}\n"));
    scenario
}

/// Asserts that a build without `.device_link()` shows the compiler's own message, then advises to
/// call `.device_link()`.
#[track_caller]
fn assert_advises(run: Run<'_>, library: &str, message: &str) {
    run.env("APART", library).fails().has(message).once(
        "each source of a static library is a separate device program. Call .device_link() in \
         build.rs if another source of the library defines the function",
    );
}

/// nvcc or clang links each library separately, and each library registers its own kernels. The
/// names of device functions must differ between libraries, because nvcc's objects contain a host
/// symbol for each device function.
#[test(NVCC_AND_CLANG.slow())]
fn each_library_of_a_program_is_linked_by_itself() {
    let libraries = [
        ("a", r#".compiler(Compiler::Nvcc).archs(["sm_80", "compute_90"])"#, "cu"),
        // Each target's image comes from the sources that support this target.
        (
            "b",
            r#".file(Source::new("kernels/new.cu").supports([">=sm_90"]))
        .compiler(Compiler::Nvcc).archs(["sm_80", "sm_90"])"#,
            "cu",
        ),
        ("c", r#".archs(["sm_80", "sm_90"])"#, "cu"),
        ("d", r#".arch("sm_80")"#, "cu"),
    ];
    let scenario = package("static_linked", &libraries);
    libraries.iter().for_each(|it| sources(&scenario, it.0, "cu", "cuda_runtime.h", "cuda"));
    scenario.write(
        "kernels/new.cu",
        "__device__ float factor_b(float x);\n\
         __global__ void new_kernel(float *x) { *x = factor_b(*x); }\n\
         extern \"C\" int start_new(float *x) { new_kernel<<<1, 1>>>(x); return (int)cudaGetLastError(); }\n",
    );
    let toolkit = LoggingToolkit::new(&scenario);
    let build = |again: &str| scenario.build().env("CUDA_HOME", &toolkit.root).env("AGAIN", again);
    build("1").passes().lacks("nvlink warning");
    // nvcc runs once per source and target: four times for the first library, and five times for
    // the second. It also runs once per library as the linker. Two nvcc processes never run at the
    // same time.
    assert_eq!(toolkit.calls(), "start\nend\n".repeat(4 + 5 + 2));
    let printed = scenario.start("debug").passes();
    printed.stdout.lines().for_each(assert_returns_an_error);
    assert_eq!(printed.stdout.lines().count(), 4, "{printed}");

    let program = scenario.program("debug", scenario.name());
    let [one, other] = ["sm_80.cubin", "sm_90.cubin"];
    assert_eq!(cuda_images(&program), [one, one, one, one, other, other]);
    for (target, names) in [("sm_80", &["a", "b", "c", "d"][..]), ("sm_90", &["b", "c"])] {
        // The dump must contain each library's kernel and device function.
        let dump = succeed(cuda("cuobjdump").args(["-elf", "-arch", target]).arg(&program));
        let code = stdout(&dump);
        for name in names {
            let is_whole = code.contains(&format!(".text._Z8{name}_kernelPfi"))
                && code.contains(&format!("_Z8factor_{name}f"));
            assert!(is_whole, "{name}, {target}: {code}");
        }
        assert_eq!(code.contains(".text._Z10new_kernelPf"), target == "sm_90", "{code}");
    }
    assert_registers_kernels(&scenario, 2);

    let linked = "linked_c/device_link.sm_80.sm_90.o";
    relinks_what_changed(&scenario, linked, "kernels/c_factor.cu", build);
    assert_eq!(toolkit.calls(), "", "nothing changed for nvcc");
    assert_advises(build("2"), "c", "Unresolved extern function '_Z8factor_cf'");
    scenario.write("kernels/a_factor.cu", factor("a", "7.5f"));
    build("2").passes();
    assert_eq!(toolkit.calls(), "start\nend\n".repeat(3), "two targets and the link");
    scenario.write("kernels/a_factor.cu", "// It defines nothing.\n");
    build("2").fails().has("nvlink error   : Undefined reference to '_Z8factor_af'").once(
        "no source of this static library defines the function for this target: add the file that \
         defines it, for the same targets",
    );
    assert_advises(build("2"), "a", "Unresolved extern function '_Z8factor_af'");
}

/// Builds for AMD's GPUs. The program runs with the installed shared library of AMD's runtime, but
/// without a GPU.
#[test(HIP.slow())]
fn clang_links_sources_for_amd() {
    let scenario =
        package("static_linked_hip", &[("linked", r#".archs(["gfx90a", "gfx1030"])"#, "hip")]);
    sources(&scenario, "linked", "hip", "hip/hip_runtime.h", "hip");
    let build = |again: &str| scenario.build().env("ROCM_PATH", rocm()).env("AGAIN", again);
    build("1").passes();
    scenario.start("debug").passes().starts_with("devices 100 launch ").lacks("launch 0");
    let images = device_images(&copy_of_program(&scenario));
    assert_eq!(images, ["hip-amdgcn-amd-amdhsa--gfx1030", "hip-amdgcn-amd-amdhsa--gfx90a"]);
    assert_registers_kernels(&scenario, 1);
    let linked = "linked_linked/device_link.gfx90a.gfx1030.o";
    relinks_what_changed(&scenario, linked, "kernels/linked_factor.hip", build);
    assert_advises(build("2"), "linked", "undefined hidden symbol: factor_linked(float)");
}

/// Asserts that the program contains a section of kernels for each library that clang linked. The
/// code that registers the kernels refers only to the section's bounds, so a linker could treat the
/// section as unused and remove it.
#[track_caller]
fn assert_registers_kernels(scenario: &Scenario, libraries: usize) {
    let program = scenario.program("debug", scenario.name());
    let sections = stdout(&succeed(llvm("llvm-readelf").arg("-SW").arg(program)));
    assert_eq!(sections.matches(" llvm_offload_entries_").count(), libraries, "{sections}");
}

/// Asserts that the device code in the object `linked` is relinked only if `source` changes.
/// `build` runs the script again if its argument changes.
fn relinks_what_changed<'a>(
    scenario: &Scenario,
    linked: &str,
    source: &str,
    build: impl Fn(&str) -> Run<'a>,
) {
    let before = scenario.output_time("debug", linked);
    let bytes = scenario.output_bytes("debug", linked);
    build("2").passes();
    assert!(before == scenario.output_time("debug", linked), "nothing changed");
    scenario.write(source, scenario.text(source).replace("2.5f", "7.5f"));
    build("2").passes();
    assert!(bytes != scenario.output_bytes("debug", linked), "a device function changed");
}
