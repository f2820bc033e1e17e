//! Static libraries in Rust programs, which start on machines without a driver. `cuobjdump`,
//! `roc-obj-ls` and LLVM 22's `llvm-objdump` check the device code in the programs. `ldd` and the
//! runtimes without a driver check the programs.

use super::FACTOR;
use crate::{HIP, NVCC_AND_CLANG, copy_of_program};
use offload_tests::judges::cuda_images;
use offload_tests::judges::{objdump_extracts, roc_obj_lists, shared_libraries};
use offload_tests::prelude::*;

/// Returns a source with a kernel and two functions for the host. `header` declares the runtime's
/// functions, whose names start with `runtime`. The source's own names start with `prefix`.
pub fn source(header: &str, runtime: &str, prefix: &str) -> String {
    format!(
        r#"#include <{header}>
#include "factor.h"
__global__ void {prefix}_kernel(float *x, int n) {{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] *= FACTOR;
}}
extern "C" int {prefix}_devices(int *count) {{ return (int){runtime}GetDeviceCount(count); }}
extern "C" int {prefix}_scale(float *x, int n) {{
  {prefix}_kernel<<<(n + 255) / 256, 256>>>(x, n);
  return (int){runtime}GetLastError();
}}
"#
    )
}

/// Returns a program that prints the results of the two functions.
pub fn program(prefix: &str) -> String {
    format!(
        r#"unsafe extern "C" {{
    fn {prefix}_devices(count: *mut i32) -> i32;
    fn {prefix}_scale(x: *mut f32, n: i32) -> i32;
}}

fn main() {{
    let mut count = 7;
    let devices = unsafe {{ {prefix}_devices(&mut count) }};
    println!("devices {{devices}} launch {{}}", unsafe {{ {prefix}_scale(std::ptr::null_mut(), 1) }});
}}
"#
    )
}

/// Asserts that the program prints `cudaErrorInsufficientDriver` without a driver, or
/// `cudaErrorNoDevice` with a driver. On a machine with a GPU, the launch with a null pointer
/// succeeds, since the program does not wait for the kernel.
#[track_caller]
pub fn assert_returns_an_error(text: &str) {
    let driver = Path::new("/dev/nvidiactl").exists();
    let with_driver = ["devices 0 launch 0", "devices 100 launch 100"];
    let expected = if driver { &with_driver[..] } else { &["devices 35 launch 35"] };
    assert!(expected.contains(&text.trim()), "{text}");
}

#[test(NVCC.slow())]
fn a_library_by_nvcc_has_every_target_and_starts_without_a_driver() {
    cuda_program("static_nvcc", ".compiler(Compiler::Nvcc)", FACTOR, "factor.h");
}

#[test(NVCC_AND_CLANG.slow())]
fn a_library_by_clang_has_every_target_and_starts_without_a_driver() {
    cuda_program("static_clang", "", &of_devices("__CUDA_ARCH__"), "device.h");
}

/// Returns a `factor.h` that includes `device.h` only for devices, for which the compiler defines
/// this macro. clang writes a dependency file only for the host's part.
fn of_devices(macro_of_device: &str) -> String {
    format!("#ifdef {macro_of_device}\n#include \"device.h\"\n#else\n#define FACTOR 1\n#endif\n")
}

/// Builds a program with two cubins and PTX, and checks that the program contains these images.
/// Then changes the header `edited`.
fn cuda_program(name: &str, compiler: &str, factor: &str, edited: &str) {
    let scenario = Scenario::without_sources(name);
    scenario
        .build_script(&format!(
            r#"let library = Build::new().file("kernels/scale.cu"){compiler}
        .archs(["sm_80", "sm_90a", "compute_90"])
        .compile_static("scale_{name}");
    println!("cargo::warning=targets {{}}", library.targets().join(" "));"#
        ))
        .write("kernels/factor.h", factor)
        .write("kernels/device.h", FACTOR)
        .write("kernels/scale.cu", source("cuda_runtime.h", "cuda", "cuda"))
        .write("src/main.rs", program("cuda"));
    scenario.build().passes().has("targets sm_80 sm_90a compute_90");
    let built = scenario.program("debug", name);
    assert_eq!(cuda_images(&built), ["sm_80.cubin", "sm_90.ptx", "sm_90a.cubin"]);
    let libraries = shared_libraries(&built);
    assert!(!libraries.contains("cuda"), "{libraries}");
    assert_returns_an_error(&scenario.start("debug").passes().stdout);

    // First build without a change, and then after a change of a header.
    scenario.build().passes().lacks("Compiling");
    let object = format!("scale_{name}/0_scale.sm_80.sm_90a.compute_90.o");
    let before = scenario.output_time("debug", &object);
    scenario.write(&format!("kernels/{edited}"), "#define FACTOR 7.5f\n");
    scenario.build().passes();
    assert!(before != scenario.output_time("debug", &object), "{edited} changed");
    // The build script must not report variables to Cargo that matter only for AMD's GPUs.
    let told = read(scenario.out_dir("debug").with_file_name("output"));
    let told = String::from_utf8(told).expect("Cargo is told text");
    assert!(told.contains("rerun-if-env-changed=CUDA_HOME"), "{told}");
    assert!(!told.contains("HIPCC"), "{told}");
}

/// Builds for AMD's GPUs. The program runs with the installed shared library of AMD's runtime, but
/// without a GPU.
#[test(HIP.slow())]
fn a_library_for_amd_has_every_target_and_starts_without_a_gpu() {
    let scenario = Scenario::without_sources("static_hip");
    scenario
        .build_script(
            r#"Build::new().file("kernels/scale.hip").archs(["gfx90a", "gfx1030"]).compile_static("scale_hip");"#,
        )
        .write("kernels/factor.h", of_devices("__gfx1030__"))
        .write("kernels/device.h", FACTOR)
        .write("kernels/scale.hip", source("hip/hip_runtime.h", "hip", "hip"))
        .write("src/main.rs", program("hip"));
    let build = || {
        scenario.build().env("ROCM_PATH", rocm()).passes();
        scenario.output_time("debug", "scale_hip/0_scale.gfx90a.gfx1030.o")
    };
    let before = build();
    let built = copy_of_program(&scenario);
    let mut listed: Vec<String> = roc_obj_lists(&built).into_iter().map(|(id, ..)| id).collect();
    listed.sort_unstable();
    assert_eq!(listed, ["hipv4-amdgcn-amd-amdhsa--gfx1030", "hipv4-amdgcn-amd-amdhsa--gfx90a"]);
    assert_eq!(device_images(&built), listed);
    // The first number, 100, is hipErrorNoDevice. The second number is the result of a launch
    // without an initialized runtime.
    let printed = scenario.tool(&built).passes();
    printed.starts_with("devices 100 launch ").lacks("launch 0");

    scenario.write("kernels/device.h", "#define FACTOR 7.5f\n");
    assert!(before != build(), "a header that only one device includes changed");
}

/// Returns the sorted IDs of a program's images for GPUs, as `llvm-objdump` extracts them.
pub fn device_images(program: &Path) -> Vec<String> {
    let extracted = objdump_extracts(program).into_iter().map(|(id, _)| id);
    let mut images: Vec<String> = extracted.filter(|id| !id.starts_with("host")).collect();
    images.sort_unstable();
    images
}

/// Tests a program with a static library that uses a crate with another static library.
#[test(NVCC.slow())]
fn two_crates_with_libraries_share_one_runtime() {
    let members = [
        ("static_inner", "", ""),
        ("static_outer", "", "static_inner = { path = \"../static_inner\" }\n"),
    ];
    let scenario = Scenario::workspace("static_two", &members);
    let [inner, outer] = ["inner", "outer"].map(|name| {
        let member = scenario.member(&format!("static_{name}"));
        member
            .build_script(&format!(
                r#"Build::new().file("kernels/{name}.cu").compiler(Compiler::Nvcc).archs(["sm_80"]).compile_static("{name}");"#
            ))
            .write("kernels/factor.h", FACTOR)
            .write(&format!("kernels/{name}.cu"), source("cuda_runtime.h", "cuda", name));
        member
    });
    inner.write(
        "src/lib.rs",
        r#"unsafe extern "C" { fn inner_devices(count: *mut i32) -> i32; }
pub fn devices() -> i32 { let mut count = 0; unsafe { inner_devices(&mut count) } }
"#,
    );
    // Remove `src/lib.rs`: if the package had a Rust library, Cargo would link the static library
    // into the Rust library, and not into the program.
    fs::remove_file(outer.folder.join("src/lib.rs")).expect("a member has a library");
    let prints_both = "fn main() {\n    println!(\"inner {}\", static_inner::devices());\n";
    outer.write("src/main.rs", program("outer").replace("fn main() {\n", prints_both));
    outer.build().passes();
    let text = outer.start("debug").passes().stdout;
    let both = text.strip_prefix("inner ").and_then(|rest| rest.split_once('\n'));
    let (inner, rest) = both.expect("both libraries are called");
    assert_returns_an_error(rest);
    assert!(rest.contains(&format!("devices {inner} ")), "{text}");
    assert_eq!(cuda_images(&outer.program("debug", "static_outer")), ["sm_80.cubin"; 2]);
}
