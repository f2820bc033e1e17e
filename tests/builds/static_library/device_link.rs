//! Sources of one static library that call each other's device functions. The checks use the
//! linkers of nvcc and clang, the program's linker, `cuobjdump`, LLVM 22's readers, and the
//! runtimes without a driver.

use super::programs::{assert_returns_an_error, program};
use crate::nvcc::rebuilds::LoggingToolkit;
use offload_tests::data::read;
use offload_tests::judges::objdump_extracts;
use offload_tests::registry::{NVCC, Needs, needs};
use offload_tests::scenario::{Run, Scenario};
use offload_tests::tools::{Tool, cuda, llvm, rocm, stdout, succeed};
use std::fs;

const CLANG_CUDA: Needs = needs(&[Tool::Nvcc, Tool::Cuda, Tool::Gcc, Tool::Llvm22]);

const HIP: Needs = needs(&[Tool::Rocm, Tool::Hip5, Tool::Gcc, Tool::Llvm22, Tool::NoAmdGpu]);

offload_tests::tests! {
    NVCC.slow() => [nvcc_links_sources_and_nothing_is_done_again, sources_may_support_fewer_targets],
    CLANG_CUDA.slow() => [clang_links_sources_for_nvidia, one_program_has_several_linked_libraries],
    HIP.slow() => [clang_links_sources_for_amd],
}

/// Writes a kernel whose source declares a device function, and the source that defines this
/// function.
fn sources(scenario: &Scenario, extension: &str, header: &str, runtime: &str) {
    scenario
        .write(
            &format!("kernels/launch.{extension}"),
            format!(
                r#"#include <{header}>
__device__ float factor(float x);
__global__ void linked_kernel(float *x, int n) {{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] = factor(x[i]);
}}
extern "C" int linked_devices(int *count) {{ return (int){runtime}GetDeviceCount(count); }}
extern "C" int linked_scale(float *x, int n) {{
  linked_kernel<<<(n + 255) / 256, 256>>>(x, n);
  return (int){runtime}GetLastError();
}}
"#
            ),
        )
        .write(
            &format!("kernels/factor.{extension}"),
            format!(
                "#include <{header}>\n__device__ float factor(float x) {{ return x * 2.5f; }}\n"
            ),
        )
        .write("src/main.rs", program("linked"));
}

/// Returns a package with a program and the library of both sources.
fn package(name: &str, calls: &str) -> Scenario {
    let scenario = Scenario::without_sources(name);
    scenario.build_script(&format!(
        r#"println!("cargo::rerun-if-env-changed=AGAIN");
    println!("cargo::rerun-if-env-changed=APART");
    let mut build = Build::new();
    build{calls};
    if std::env::var_os("APART").is_none() {{
        build.device_link();
    }}
    build.compile_static("linked_{name}");"#
    ));
    scenario
}

/// Returns the images of a program, as `cuobjdump` lists them: `sm_80.cubin`.
fn images(scenario: &Scenario) -> Vec<String> {
    let program = scenario.program("debug", scenario.name());
    let listed = stdout(&succeed(cuda("cuobjdump").arg("-lelf").arg(program)));
    let mut found: Vec<String> = listed
        .lines()
        .filter_map(|line| line.rsplit_once(".sm_").map(|(_, end)| format!("sm_{end}")))
        .collect();
    found.sort_unstable();
    found
}

/// Returns `cuobjdump`'s dump of a program's device code for one target, which names the kernels
/// and the device functions.
fn functions(scenario: &Scenario, target: &str) -> String {
    let program = scenario.program("debug", scenario.name());
    stdout(&succeed(cuda("cuobjdump").args(["-elf", "-arch", target]).arg(program)))
}

/// Asserts that a build without `.device_link()` shows the compiler's own message, and then advises
/// to call `.device_link()`.
fn assert_advises(run: Run<'_>, message: &str) {
    run.env("APART", "1").fails().has(message).once(
        "each source of a static library is a device program of its own; call .device_link() in build.rs if another source of \
         the library defines it",
    );
}

fn nvcc_links_sources_and_nothing_is_done_again() {
    let scenario = package(
        "static_linked_nvcc",
        r#".files(["kernels/launch.cu", "kernels/factor.cu"]).compiler(Compiler::Nvcc).max_parallel(1)
        .archs(["sm_80", "sm_90", "compute_90"])"#,
    );
    sources(&scenario, "cu", "cuda_runtime.h", "cuda");
    let toolkit = LoggingToolkit::new(&scenario);
    let build = |again: &str| scenario.build().env("CUDA_HOME", &toolkit.root).env("AGAIN", again);
    let calls = |again: &str| {
        build(again).passes();
        toolkit.calls()
    };
    // Two compilations and the link run one after the other.
    assert_eq!(calls("1"), "start\nend\n".repeat(3));
    assert_returns_an_error(&scenario.start("debug").passes().stdout);
    assert_eq!(images(&scenario), ["sm_80.cubin", "sm_90.cubin"]);
    for target in ["sm_80", "sm_90"] {
        let code = functions(&scenario, target);
        assert!(
            code.contains(".text._Z13linked_kernelPfi") && code.contains("_Z6factorf"),
            "{target}: {code}"
        );
    }
    assert_eq!(calls("2"), "", "nothing changed");

    let factor =
        "#include <cuda_runtime.h>\n__device__ float factor(float x) { return x * 7.5f; }\n";
    scenario.write("kernels/factor.cu", factor);
    assert_eq!(calls("2"), "start\nend\n".repeat(2), "one source and the link");

    scenario.write("kernels/factor.cu", "#include <cuda_runtime.h>\n");
    build("2").fails().has("nvlink error   : Undefined reference to '_Z6factorf'").once(
        "none of the sources of this static library that support the target defines it: add the file that does, for the same \
         targets",
    );
    scenario.write("kernels/factor.cu", factor);
    assert_advises(build("2"), "Unresolved extern function '_Z6factorf'");
}

/// Each target is built from the sources that support it. For targets without the source that
/// defines the function, no code calls the function.
fn sources_may_support_fewer_targets() {
    let scenario = package(
        "static_linked_fewer",
        r#".file("kernels/launch.cu").file("kernels/factor.cu")
        .file(Source::new("kernels/new.cu").supports([">=sm_90"]))
        .compiler(Compiler::Nvcc)
        .archs(["sm_80", "sm_90"])"#,
    );
    sources(&scenario, "cu", "cuda_runtime.h", "cuda");
    scenario.write(
        "kernels/new.cu",
        "__device__ float factor(float x);\n\
         __global__ void new_kernel(float *x) { *x = factor(*x); }\n\
         extern \"C\" int start_new(float *x) { new_kernel<<<1, 1>>>(x); return (int)cudaGetLastError(); }\n",
    );
    scenario.build().passes().lacks("nvlink warning");
    assert!(!functions(&scenario, "sm_80").contains("new_kernel"));
    let code = functions(&scenario, "sm_90");
    assert!(
        code.contains(".text._Z10new_kernelPf") && code.contains(".text._Z13linked_kernelPfi"),
        "{code}"
    );
    assert_returns_an_error(&scenario.start("debug").passes().stdout);
}

fn clang_links_sources_for_nvidia() {
    let scenario = package(
        "static_linked_clang",
        r#".files(["kernels/launch.cu", "kernels/factor.cu"]).archs(["sm_80", "sm_90"])"#,
    );
    sources(&scenario, "cu", "cuda_runtime.h", "cuda");
    scenario.build().passes();
    assert_returns_an_error(&scenario.start("debug").passes().stdout);
    assert_eq!(images(&scenario), ["sm_80.cubin", "sm_90.cubin"]);
    let code = functions(&scenario, "sm_80");
    assert!(code.contains(".text._Z13linked_kernelPfi") && code.contains("_Z6factorf"), "{code}");
    assert_registers_kernels(&scenario, 1);
    relinks_what_changed(
        &scenario,
        "cu",
        "device_link.sm_80.sm_90.o",
        scenario.build().env("AGAIN", "2"),
    );
    assert_advises(scenario.build(), "Unresolved extern function '_Z6factorf'");
}

/// nvcc or clang links each library separately, and each library registers its own kernels.
/// Functions of two libraries cannot have the same name: nvcc's objects have a host symbol with
/// this name.
fn one_program_has_several_linked_libraries() {
    let scenario = Scenario::without_sources("static_linked_four");
    let names = ["linked", "b", "c", "d"];
    let (mut script, mut main) = (String::new(), String::new());
    for (number, name) in names.into_iter().enumerate() {
        let compiler = if number < 2 { ".compiler(Compiler::Nvcc)" } else { "" };
        script += &format!(
            "Build::new().files([\"{name}/launch.cu\", \"{name}/factor.cu\"]){compiler}.device_link().archs([\"sm_80\"])\n        \
             .compile_static(\"four_{name}\");\n    "
        );
        main += &format!("    {name}::main();\n");
        sources(&scenario, "cu", "cuda_runtime.h", "cuda");
        for file in ["launch", "factor"] {
            let text = String::from_utf8(read(scenario.folder.join(format!("kernels/{file}.cu"))))
                .expect("it is text");
            scenario.write(
                &format!("{name}/{file}.cu"),
                text.replace("linked_", &format!("{name}_"))
                    .replace("factor(", &format!("factor_{name}(")),
            );
        }
        scenario
            .write(&format!("src/{name}.rs"), program(name).replace("fn main()", "pub fn main()"));
    }
    let modules: String = names.map(|name| format!("mod {name};\n")).concat();
    scenario
        .build_script(&script)
        .write("src/main.rs", format!("{modules}\nfn main() {{\n{main}}}\n"));
    scenario.build().passes();
    let printed = scenario.start("debug").passes();
    printed.stdout.lines().for_each(assert_returns_an_error);
    assert_eq!(printed.stdout.lines().count(), 4, "{printed}");
    assert_eq!(images(&scenario), ["sm_80.cubin"; 4]);
    assert_registers_kernels(&scenario, 2);
}

/// Builds for AMD's GPUs. The program runs with an installed shared library as runtime, but without
/// a GPU.
fn clang_links_sources_for_amd() {
    let scenario = package(
        "static_linked_hip",
        r#".files(["kernels/launch.hip", "kernels/factor.hip"]).archs(["gfx90a", "gfx1030"])"#,
    );
    sources(&scenario, "hip", "hip/hip_runtime.h", "hip");
    let build = || scenario.build().env("ROCM_PATH", rocm());
    build().passes();
    scenario.start("debug").passes().starts_with("devices 100 launch ").lacks("launch 0");
    // `llvm-objdump` leaves files next to its input, so it gets a copy.
    let built = scenario.folder.join("linked");
    fs::copy(scenario.program("debug", scenario.name()), &built).expect("it can be copied");
    let mut images: Vec<String> = objdump_extracts(&built).into_iter().map(|(id, _)| id).collect();
    images.retain(|id| !id.starts_with("host"));
    images.sort_unstable();
    assert_eq!(images, ["hip-amdgcn-amd-amdhsa--gfx1030", "hip-amdgcn-amd-amdhsa--gfx90a"]);
    assert_registers_kernels(&scenario, 1);
    relinks_what_changed(
        &scenario,
        "hip",
        "device_link.gfx90a.gfx1030.o",
        build().env("AGAIN", "2"),
    );
    assert_advises(build(), "undefined hidden symbol: factor(float)");
}

/// Asserts that a program has a section with kernels to register for each of the libraries that
/// clang linked. The registering code refers only to the bounds of such a section, so a linker may
/// treat the section as unused and remove it.
#[track_caller]
fn assert_registers_kernels(scenario: &Scenario, libraries: usize) {
    let program = scenario.program("debug", scenario.name());
    let sections = stdout(&succeed(llvm("llvm-readelf").arg("-SW").arg(program)));
    assert_eq!(sections.matches(" llvm_offload_entries_").count(), libraries, "{sections}");
}

/// Asserts that the device code is linked again only after a change of a source. `linked` is the
/// file name of the linked object.
fn relinks_what_changed(scenario: &Scenario, extension: &str, linked: &str, again: Run<'_>) {
    let file = |name: &str| scenario.output("debug", &format!("linked_{}/{name}", scenario.name()));
    let time =
        |name: &str| fs::metadata(file(name)).and_then(|it| it.modified()).expect("it is there");
    let (before, bytes) = (time(linked), read(file(linked)));
    again.passes();
    assert!(before == time(linked), "nothing changed");
    let path = format!("kernels/factor.{extension}");
    let source = String::from_utf8(read(scenario.folder.join(&path))).expect("it is text");
    scenario.write(&path, source.replace("2.5f", "7.5f"));
    let run = scenario.build();
    let run = if extension == "hip" { run.env("ROCM_PATH", rocm()) } else { run };
    run.passes();
    assert!(bytes != read(file(linked)), "a device function changed");
}
