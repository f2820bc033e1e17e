//! Host code and kernels in one source: `compile_static`, by nvcc and by clang, for NVIDIA's GPUs and for AMD's. The libraries
//! are linked into Rust programs, which start on machines without a driver; others list what device code they have.

use offload_tests::data::read;
use offload_tests::judges::{assert_is_for, objdump_extracts, roc_obj_lists};
use offload_tests::package::{Package, printed};
use offload_tests::registry::{GCC, NOTHING, NVCC, Needs, needs};
use offload_tests::scratch;
use offload_tests::tools::{Tool, cuda, llvm_bin, rocm, stdout, succeed};
use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

const CLANG_CUDA: Needs = needs(&[Tool::Nvcc, Tool::Cuda, Tool::Gcc, Tool::Llvm22]);

const HIP: Needs = needs(&[Tool::Rocm, Tool::Hip5, Tool::Gcc, Tool::Llvm22]);

const HIP_LISTED: Needs = needs(&[Tool::Rocm, Tool::Hip5, Tool::Gcc, Tool::Llvm22, Tool::RocObj, Tool::NoAmdGpu]);

offload_tests::tests! {
    NVCC => [a_library_by_nvcc_in_a_program, two_crates_with_libraries_in_one_program],
    CLANG_CUDA => [a_library_by_clang_in_a_program, what_only_the_device_includes_counts],
    HIP_LISTED => [a_library_for_amd_in_a_program],
    HIP => [
        a_generated_source_is_the_same_anywhere,
        what_only_an_amd_device_includes_counts,
        an_image_with_rocm_headers,
        another_rocm_is_noticed,
    ],
    GCC => [what_a_static_library_cannot_be],
    NOTHING => [nothing_is_compiled_when_skipped],
}

fn a_library_by_nvcc_in_a_program() {
    cuda_program("static_nvcc", ".compiler(Compiler::Nvcc)");
}

fn a_library_by_clang_in_a_program() {
    cuda_program("static_clang", "");
}

/// `header` is what the runtime's functions are declared in, `runtime` what they start with; `prefix` is for the names here.
fn source(header: &str, runtime: &str, prefix: &str) -> String {
    format!(
        "#include <{header}>\n#include \"factor.h\"\n\
         __global__ void {prefix}_kernel(float *x, int n) {{\n  \
           int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n)\n    x[i] *= FACTOR;\n}}\n\
         extern \"C\" int {prefix}_devices(int *count) {{ return (int){runtime}GetDeviceCount(count); }}\n\
         extern \"C\" int {prefix}_scale(float *x, int n) {{\n  {prefix}_kernel<<<(n + 255) / 256, 256>>>(x, n);\n  \
           return (int){runtime}GetLastError();\n}}\n"
    )
}

const FACTOR: &str = "#define FACTOR 2.5f\n";

/// Prints what the two functions return.
fn program(prefix: &str) -> String {
    format!(
        "unsafe extern \"C\" {{\n    fn {prefix}_devices(count: *mut i32) -> i32;\n    \
         fn {prefix}_scale(x: *mut f32, n: i32) -> i32;\n}}\n\n\
         fn main() {{\n    let mut count = 7;\n    let devices = unsafe {{ {prefix}_devices(&mut count) }};\n    \
         println!(\"devices {{devices}} launch {{}}\", unsafe {{ {prefix}_scale(std::ptr::null_mut(), 1) }});\n}}\n"
    )
}

fn package(name: &str, build: &str) -> Package {
    let package = Package::new(name);
    package.write("kernels/factor.h", FACTOR);
    package.write("build.rs", format!("use offload_build::*;\n\nfn main() {{\n    {build};\n}}\n"));
    package
}

fn cargo(package: &Package, args: &[&str]) -> Command {
    let mut command = package.cargo(args);
    for name in ["NVCC", "CUDACXX", "CUDA_PATH", "CUDA_ROOT", "CUDA_TOOLKIT_ROOT_DIR", "ROCM_PATH", "HIP_PATH", "HIPCC"]
    {
        command.env_remove(name);
    }
    command.env("OFFLOAD_CLANG", llvm_bin().join("clang"));
    if env::var_os("OFFLOAD_TEST_ROCM").is_some() {
        command.env("ROCM_PATH", rocm());
    }
    command
}

/// The shared libraries that a program asks for when it starts.
fn shared_libraries(program: &Path) -> String {
    stdout(&succeed(Command::new("ldd").arg(program)))
}

/// What a program without a driver prints: `cudaErrorInsufficientDriver`, or where there is one `cudaErrorNoDevice`. On a machine
/// with a GPU the launch of a null pointer succeeds, since it is not waited for.
fn assert_returns_an_error(text: &str) {
    let driver = Path::new("/dev/nvidiactl").exists();
    let expected: &[&str] =
        if driver { &["devices 0 launch 0", "devices 100 launch 100"] } else { &["devices 35 launch 35"] };
    assert!(expected.contains(&text.trim()), "{text}");
}

/// Three targets and PTX.
fn cuda_program(name: &str, compiler: &str) {
    let package = package(
        name,
        &format!(
            "let library = Build::new().file(\"kernels/scale.cu\"){compiler}\
             .archs([\"sm_80\", \"sm_90a\", \"sm_100\", \"compute_90\"]).compile_static(\"scale_{name}\");\n    \
             println!(\"cargo::warning=targets {{}}\", library.targets().join(\" \"))"
        ),
    );
    package.write("kernels/scale.cu", source("cuda_runtime.h", "cuda", "cuda")).write("src/main.rs", program("cuda"));
    let text = printed(&succeed(&mut cargo(&package, &["build"])));
    assert!(text.contains("targets sm_80 sm_90a sm_100 compute_90"), "{text}");
    let built = package.program("debug", name);
    let listed = stdout(&succeed(cuda("cuobjdump").args(["-lelf", "-lptx"]).arg(&built)));
    // PTX file    1: static_nvcc.1.sm_90.ptx
    let image = |line: &str| {
        let mut parts = line.rsplit('.');
        let (extension, arch) = (parts.next()?, parts.next()?);
        line.contains(" file ").then(|| format!("{arch}.{extension}"))
    };
    let mut images: Vec<String> = listed.lines().filter_map(image).collect();
    images.sort_unstable();
    // clang makes machine code beside the PTX.
    let expected = ["sm_100.cubin", "sm_80.cubin", "sm_90.cubin", "sm_90.ptx", "sm_90a.cubin"];
    let expected: Vec<&str> = expected.into_iter().filter(|it| compiler.is_empty() || *it != "sm_90.cubin").collect();
    assert_eq!(images, expected, "{listed}");
    assert!(!shared_libraries(&built).contains("cuda"), "{}", shared_libraries(&built));
    assert_returns_an_error(&stdout(&succeed(&mut Command::new(&built))));

    // Nothing changed, then a header did.
    let again = printed(&succeed(&mut cargo(&package, &["build"])));
    assert!(!again.contains("Compiling"), "{again}");
    let object = package.own_output("debug", &format!("scale_{name}/0_scale.host.o"));
    let before = fs::metadata(&object).and_then(|it| it.modified()).expect("it is there");
    package.write("kernels/factor.h", "#define FACTOR 7.5f\n");
    succeed(&mut cargo(&package, &["build"]));
    assert!(before != fs::metadata(&object).and_then(|it| it.modified()).expect("it is there"), "a header changed");
    // What lies where OUT_DIR does is what Cargo was told: nothing of what only AMD's libraries take.
    let told = object.ancestors().nth(4).expect("it lies in OUT_DIR").join("output");
    let told = String::from_utf8(read(told)).expect("Cargo is told text");
    assert!(told.contains("rerun-if-env-changed=CUDA_HOME") && !told.contains("HIPCC"), "{told}");
}

/// The runtime is a shared library, which is there; there is no GPU.
fn a_library_for_amd_in_a_program() {
    let package = package(
        "static_hip",
        "Build::new().file(\"kernels/scale.hip\").archs([\"gfx90a\", \"gfx1030\"]).compile_static(\"scale_hip\")",
    );
    package.write("kernels/scale.hip", source("hip/hip_runtime.h", "hip", "hip")).write("src/main.rs", program("hip"));
    succeed(&mut cargo(&package, &["build"]));
    // The readers leave files beside it.
    let built = package.folder.join("static_hip");
    fs::copy(package.program("debug", "static_hip"), &built).expect("it can be copied");
    let mut listed: Vec<String> = roc_obj_lists(&built).into_iter().map(|(id, ..)| id).collect();
    listed.sort_unstable();
    assert_eq!(listed, ["hipv4-amdgcn-amd-amdhsa--gfx1030", "hipv4-amdgcn-amd-amdhsa--gfx90a"]);
    let mut extracted: Vec<String> =
        objdump_extracts(&built).into_iter().map(|(id, _)| id).filter(|id| !id.starts_with("host")).collect();
    extracted.sort_unstable();
    assert_eq!(extracted, listed);
    // hipErrorNoDevice, then what a launch without a runtime that has started returns.
    let text = stdout(&succeed(&mut Command::new(&built)));
    assert!(text.starts_with("devices 100 launch ") && !text.contains("launch 0"), "{text}");
}

/// A library crate with one, used by a program that has another: the runtime is there once.
fn two_crates_with_libraries_in_one_program() {
    let build = |name: &str| {
        format!(
            "fn main() {{\n    offload_build::Build::new().file(\"kernels/{name}.cu\").compiler(offload_build::Compiler::Nvcc)\
             .archs([\"sm_80\"]).compile_static(\"{name}\");\n}}\n"
        )
    };
    let kernel = |name: &str| source("cuda_runtime.h", "cuda", name);
    let package = Package::new("static_two");
    let manifest = fs::read_to_string(package.folder.join("Cargo.toml")).expect("the package has a manifest");
    let with = manifest.replace("[dependencies]\n", "[dependencies]\nstatic_inner = { path = \"inner\" }\n");
    package.write("Cargo.toml", with).write("kernels/factor.h", FACTOR).write("inner/kernels/factor.h", FACTOR);
    package.write("inner/Cargo.toml", manifest.replace("static_two", "static_inner").replace("\n[workspace]\n", ""));
    package.write("inner/build.rs", build("inner")).write("build.rs", build("outer"));
    package.write("inner/kernels/inner.cu", kernel("inner")).write("kernels/outer.cu", kernel("outer"));
    package.write(
        "inner/src/lib.rs",
        "unsafe extern \"C\" { fn inner_devices(count: *mut i32) -> i32; }\n\
         pub fn devices() -> i32 { let mut count = 0; unsafe { inner_devices(&mut count) } }\n",
    );
    let main = program("cuda")
        .replace("cuda_", "outer_")
        .replace("println!(\"", "println!(\"inner {} ")
        .replace("}\", unsafe", "}\", static_inner::devices(), unsafe");
    package.write("src/main.rs", main);
    let built = package.program("debug", "static_two");
    succeed(&mut cargo(&package, &["build"]));
    let text = stdout(&succeed(&mut Command::new(&built)));
    let (inner, rest) =
        text.trim().strip_prefix("inner ").and_then(|rest| rest.split_once(' ')).expect("both are called");
    assert_returns_an_error(rest);
    assert!(rest.contains(&format!("devices {inner} ")), "{text}");
    let listed = stdout(&succeed(cuda("cuobjdump").arg("-lelf").arg(&built)));
    assert_eq!(listed.matches("sm_80.cubin").count(), 2, "{listed}");
}

/// clang writes a dependency file for the host's part only.
fn what_only_the_device_includes_counts() {
    let source = "#include <cuda_runtime.h>\n#ifdef __CUDA_ARCH__\n#include \"device.h\"\n#else\n#define FACTOR 1\n#endif\n\
                  __global__ void scale(float *x) { *x *= FACTOR; }\n\
                  extern \"C\" void start(float *x) { scale<<<1, 1>>>(x); }\n";
    headers_of_devices("static_device_headers", "scale.cu", source, "[\"sm_80\", \"sm_90\"]");
}

fn what_only_an_amd_device_includes_counts() {
    let source = "#include <hip/hip_runtime.h>\n#ifdef __gfx1030__\n#include \"device.h\"\n#else\n#define FACTOR 1\n#endif\n\
                  __global__ void scale(float *x) { *x *= FACTOR; }\n\
                  extern \"C\" void start(float *x) { scale<<<1, 1>>>(x); }\n";
    headers_of_devices("static_amd_headers", "scale.hip", source, "[\"gfx90a\", \"gfx1030\"]");
}

/// What clang calls host code and device code of one source by is the same wherever Cargo builds.
fn a_generated_source_is_the_same_anywhere() {
    let mut package = package(
        "static_generated",
        "let source = std::path::Path::new(&std::env::var(\"OUT_DIR\").unwrap()).join(\"scale.hip\");\n    \
         std::fs::copy(\"kernels/scale.hip\", &source).unwrap();\n    \
         Build::new().file(source).archs([\"gfx90a\"]).compile_static(\"scale_generated\")",
    );
    package.write("src/lib.rs", "").write(
        "kernels/scale.hip",
        "#include <hip/hip_runtime.h>\n__global__ void scale(float *x) { *x *= 2.0f; }\n\
         extern \"C\" void start(float *x) { scale<<<1, 1>>>(x); }\n",
    );
    let mut build = |folder: &str| {
        package.target = scratch::folder(folder);
        succeed(cargo(&package, &["build"]).env("CARGO_PROFILE_DEV_DEBUG", "false"));
        read(package.own_output("debug", "scale_generated/0_scale.host.o"))
    };
    let (one, other) = (build("static_generated_one"), build("static_generated_with_a_longer_name"));
    assert!(one == other, "the object differs with the folder that Cargo builds into");
}

fn headers_of_devices(name: &str, file: &str, source: &str, archs: &str) {
    let package =
        package(name, &format!("Build::new().file(\"kernels/{file}\").archs({archs}).compile_static(\"{name}\")"));
    package.write(&format!("kernels/{file}"), source).write("kernels/device.h", FACTOR).write("src/lib.rs", "");
    succeed(&mut cargo(&package, &["build"]));
    let object = package.own_output("debug", &format!("{name}/0_scale.host.o"));
    let before = fs::metadata(&object).and_then(|it| it.modified()).expect("it is there");
    package.write("kernels/device.h", "#define FACTOR 7.5f\n");
    succeed(&mut cargo(&package, &["build"]));
    assert!(before != fs::metadata(&object).and_then(|it| it.modified()).expect("it is there"), "a header changed");
}

/// A function of AMD's libraries for devices, whose code object version is the newest that they have.
fn an_image_with_rocm_headers() {
    let package = package(
        "static_rocm_image",
        "Build::new().file(\"kernels/sine.hip\").archs([\"gfx90a\", \"gfx1030\"]).compile(\"sine\")",
    );
    package.write("src/lib.rs", "").write(
        "kernels/sine.hip",
        "#include <hip/hip_runtime.h>\nextern \"C\" __global__ void sine(float *x) { *x = sinf(*x) * warpSize; }\n",
    );
    succeed(&mut cargo(&package, &["build"]));
    for target in ["gfx90a", "gfx1030"] {
        assert_is_for("sine", target, &package.own_output("debug", &format!("sine/{target}.hsaco")));
    }
}

/// clang lists none of its headers, which are the system's: one file stands for them.
fn another_rocm_is_noticed() {
    let package =
        package("static_another_rocm", "Build::new().file(\"kernels/sine.hip\").archs([\"gfx90a\"]).compile(\"sine\")");
    package.write("src/lib.rs", "").write(
        "kernels/sine.hip",
        "#include <hip/hip_runtime.h>\nextern \"C\" __global__ void sine(float *x) { *x = sinf(*x); }\n",
    );
    let root = package.folder.join("rocm");
    succeed(Command::new("cp").arg("-rs").arg(rocm()).arg(&root));
    let version = root.join("include/hip/hip_version.h");
    let header = read(&version);
    let write = |more: &str| {
        fs::remove_file(&version).expect("it is there");
        fs::write(&version, [&*header, more.as_bytes()].concat()).expect("the scratch folder can be written");
    };
    write("");
    let build = || {
        succeed(cargo(&package, &["build"]).env("ROCM_PATH", &root));
        let image = package.own_output("debug", "sine/gfx90a.hsaco");
        fs::metadata(image).and_then(|it| it.modified()).expect("it is there")
    };
    let first = build();
    assert_eq!(build(), first);
    write("// Another version.\n");
    assert!(build() != first, "compiled with the headers of another ROCm");
}

fn what_a_static_library_cannot_be() {
    let case = |number: usize, build: &str, expected: &str| {
        let package = package(&format!("static_refused_{number}"), build);
        package
            .write("src/lib.rs", "")
            .write("kernels/scale.cu", "")
            .write("kernels/scale.cl", "")
            .write("kernels/scale.hip", "");
        let mut command = cargo(&package, &["build"]);
        let output = command.env("CUDA_HOME", "/nowhere").output().expect("cargo starts");
        let text = printed(&output);
        assert!(!output.status.success() && text.contains(expected), "'{expected}' is not in\n{text}");
        assert!(text.contains("offload-build could not make the static library \"a\""), "{text}");
    };
    case(
        1,
        "Build::new().file(\"kernels/scale.cu\").archs([\"sm_80\", \"gfx90a\"]).compile_static(\"a\")",
        "so it is for one vendor's GPUs; the targets are sm_80, gfx90a. Say for each source",
    );
    case(
        2,
        "Build::new().modules([\"kernels/scale.cu\"]).archs([\"sm_80\"]).compile_static(\"a\")",
        "a static library has no modules, as \"scale\" would be",
    );
    case(
        3,
        "Build::new().file(\"kernels/scale.cl\").archs([\"sm_80\"]).compile_static(\"a\")",
        "kernels/scale.cl is OpenCL C, which has no host code",
    );
    case(
        4,
        "Build::new().file(\"kernels/scale.cu\").flag_for(\"sm_80\", \"-DA\").archs([\"sm_80\", \"sm_90\"])\
         .nvcc(\"/nowhere/nvcc\").compile_static(\"a\")",
        "Build::nvcc names /nowhere/nvcc, which cannot be used: there is no such file",
    );
    case(
        5,
        "Build::new().file(\"kernels/scale.cu\").compress().archs([\"sm_80\"]).compile_static(\"a\")",
        "compress() is for packs: the compiler puts device code into a static library as its own options say. Leave it",
    );
    case(
        6,
        "Build::new().file(\"kernels/scale.cu\").large_pack_script().archs([\"sm_80\"]).compile_static(\"a\")",
        "large_pack_script() is for packs: ",
    );
    case(
        7,
        "Build::new().file(Source::new(\"kernels/scale.cu\").targets([\"nvidia\"]))\
         .file(Source::new(\"kernels/scale.hip\").targets([\"amd\"])).allow_empty().archs([\"gfx90a\"])\
         .compile_static(\"a\")",
        "kernels/scale.cu is for none of the targets gfx90a; a static library needs each of its sources: make one library",
    );
}

/// For machines without compilers: the functions are declared, and nothing is linked.
fn nothing_is_compiled_when_skipped() {
    let package =
        package("static_skipped", "Build::new().file(\"kernels/scale.cu\").archs([\"sm_80\"]).compile_static(\"a\")");
    package.write("src/lib.rs", "unsafe extern \"C\" {\n    pub fn cuda_devices(count: *mut i32) -> i32;\n}\n");
    succeed(cargo(&package, &["check"]).env("OFFLOAD_SKIP", "1"));
    succeed(cargo(&package, &["check"]).env("DOCS_RS", "1"));
}
