//! Tests of objects of clang's new driver, which runs `llvm-offload-binary`.

use super::{HIP, clang, put_tools};
use offload_tests::data::{assert_same_bytes, read};
use offload_tests::registry::{LLVM, needs};
use offload_tests::tools::{Tool, llvm, llvm_bin, stderr, succeed};
use offload_tests::{own, scratch};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

offload_tests::tests! {
    LLVM => [
        hip_with_the_new_driver,
        openmp,
        openmp_in_bitcode,
        device_libraries_by_the_linker_wrapper,
    ],
    needs(&[Tool::Llvm22, Tool::Cuda]) => [images_for_nvidia],
}

const CUDA: &str = "typedef unsigned long size_t;\n\
    struct dim3 { unsigned x, y, z; };\n\
    extern \"C\" int cudaLaunchKernel(const void *, dim3, dim3, void **, size_t, void *);\n\
    __attribute__((global)) void store(int *out) { *out = 1; }\n";
const OPENMP: &str = "int sum(int *values, int count) {\n\
    int sum = 0;\n\
    _Pragma(\"omp target teams distribute parallel for reduction(+:sum) map(to: values[:count])\")\n\
    for (int i = 0; i < count; i++) sum += values[i];\n\
    return sum;\n}\n";

/// Compiles with clang's own tools and with ours. Returns the folder that contains the two objects,
/// `theirs` and `ours`.
fn compile(name: &str, arguments: &[&str]) -> PathBuf {
    let folder = scratch::folder(&format!("drop_in_clang/{name}"));
    scratch::write(folder.join("a.hip"), HIP);
    scratch::write(folder.join("a.cu"), CUDA);
    scratch::write(folder.join("a.c"), OPENMP);
    let clang = |more: &[&str]| {
        let mut clang = clang(&folder);
        clang.args(arguments).args(more);
        clang
    };
    for (output, tools) in [("theirs", llvm_bin()), ("ours", own::folder())] {
        put_tools(&folder, &tools, &["llvm-offload-binary"]);
        succeed(&mut clang(&["-o", "out"]));
        fs::rename(folder.join("out"), folder.join(output)).expect("it was written");
    }
    let planned = stderr(&succeed(&mut clang(&["-###", "-o", "out"])));
    assert!(
        planned.contains("\"tools/llvm-offload-binary\""),
        "clang runs the tool in our folder:\n{planned}"
    );
    folder
}

#[track_caller]
fn assert_same_files(folder: &Path, files: [&str; 2]) {
    let [ours, theirs] = files.map(|name| read(folder.join(name)));
    assert_same_bytes(&ours, &theirs, &folder.display().to_string());
}

/// Compiles with both tools, and asserts that the two objects are equal and contain an offload
/// binary.
fn assert_same(name: &str, arguments: &[&str]) -> PathBuf {
    let folder = compile(name, arguments);
    assert_same_files(&folder, ["ours", "theirs"]);
    let ours = read(folder.join("ours"));
    assert!(
        ours.windows(4).any(|bytes| bytes == offload_format::offload_binary::MAGIC),
        "{arguments:?}"
    );
    folder
}

const HIP_OPTIONS: [&str; 6] =
    ["-x", "hip", "-nogpuinc", "-nogpulib", "--offload-new-driver", "-fgpu-rdc"];

fn hip_with_the_new_driver() {
    for (number, archs) in
        [&["gfx906"][..], &["gfx90a:xnack+", "gfx90a:xnack-", "gfx1100"]].iter().enumerate()
    {
        let archs: Vec<String> =
            archs.iter().map(|arch| format!("--offload-arch={arch}")).collect();
        let mut arguments = HIP_OPTIONS.to_vec();
        arguments.extend(archs.iter().map(String::as_str));
        arguments.extend(["-c", "a.hip"]);
        assert_same(&format!("hip_{number}"), &arguments);
        // With `-fno-gpu-rdc`, the packed images are not bitcode.
        arguments.push("-fno-gpu-rdc");
        let folder = compile(&format!("hip_no_rdc_{number}"), &arguments);
        assert_same_files(&folder, ["ours", "theirs"]);
    }
}

fn openmp() {
    let options = ["-fopenmp", "-nogpulib", "-c", "a.c"];
    for archs in [&["gfx906"][..], &["gfx906", "gfx90a", "gfx1100"]] {
        let archs: Vec<String> =
            archs.iter().map(|arch| format!("--offload-arch={arch}")).collect();
        let mut arguments = options.to_vec();
        arguments.extend(archs.iter().map(String::as_str));
        assert_same(&format!("openmp_{}", archs.len()), &arguments);
    }
    let features = ["--offload-arch=gfx90a:sramecc+:xnack-", "-g", "-fPIC"];
    assert_same("openmp_features", &[&options[..], &features].concat());
}

/// Compares builds with cubins, which ptxas makes.
fn images_for_nvidia() {
    let options = ["--offload-arch=sm_80", "--cuda-feature=+ptx70", "-nogpulib", "-c"];
    assert_same("nvidia_openmp", &[&options[..], &["-fopenmp", "a.c"]].concat());
    assert_same(
        "nvidia_openmp_and_amd",
        &[&options[..], &["--offload-arch=gfx90a", "-fopenmp", "a.c"]].concat(),
    );
    let cuda = ["-x", "cuda", "-nogpuinc", "--offload-new-driver", "-fgpu-rdc", "a.cu"];
    assert_same("nvidia_cuda", &[&options[..], &cuda].concat());
}

/// Compares objects of a build with link-time optimization: they are bitcode, with the offload
/// binary among its constants.
fn openmp_in_bitcode() {
    let options = [
        "-fopenmp",
        "-nogpulib",
        "--offload-arch=gfx90a",
        "--offload-arch=gfx1100",
        "-flto",
        "-c",
        "a.c",
    ];
    let folder = compile("openmp_in_bitcode", &options);
    assert_same_files(&folder, ["ours", "theirs"]);
    let extract = |tool: &Path, output: &str| {
        succeed(Command::new(tool).current_dir(&folder).args([
            "ours",
            "--archive",
            &format!("--image=file={output}"),
        ]));
        read(folder.join(output)).len()
    };
    let size = extract(&own::tool("llvm-offload-binary"), "ours.a");
    extract(&llvm_bin().join("llvm-offload-binary"), "theirs.a");
    assert_same_files(&folder, ["ours.a", "theirs.a"]);
    assert!(size > 1000, "{size} bytes");
}

/// Builds a library for devices: first an archive of objects, then the images for one target from
/// each of these objects.
fn device_libraries_by_the_linker_wrapper() {
    let folder =
        assert_same("libraries", &["-fopenmp", "-nogpulib", "--offload-arch=gfx90a", "-c", "a.c"]);
    succeed(llvm("llvm-ar").current_dir(&folder).args(["rcD", "fat.a", "ours", "theirs"]));
    let image = "--image=triple=amdgcn-amd-amdhsa,arch=gfx90a,kind=openmp,file=";
    for (tool, output) in [
        (own::tool("llvm-offload-binary"), "ours.a"),
        (llvm_bin().join("llvm-offload-binary"), "theirs.a"),
    ] {
        succeed(Command::new(tool).current_dir(&folder).args([
            "fat.a",
            "--archive",
            &format!("{image}{output}"),
        ]));
    }
    assert_same_files(&folder, ["ours.a", "theirs.a"]);
    let library = read(folder.join("ours.a"));
    let names = succeed(llvm("llvm-ar").current_dir(&folder).args(["t", "ours.a"]));
    assert_eq!(names.stdout, b"ours\ntheirs\n");
    assert!(library.windows(4).any(|bytes| bytes == b"BC\xc0\xde"), "images are bitcode");
}
