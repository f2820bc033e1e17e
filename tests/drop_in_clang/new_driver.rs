//! Objects of the new driver, which come by way of `llvm-offload-binary`.

use super::{HIP, LLVM, clang, put_tools};
use libtest_mimic::Trial;
use offload_tests::data::read;
use offload_tests::tools::{Tool, llvm, llvm_bin, stderr, succeed};
use offload_tests::{own, scratch, test};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

pub fn tests() -> Vec<Trial> {
    vec![
        test("hip_with_the_new_driver", LLVM, hip_with_the_new_driver),
        test("openmp", LLVM, openmp),
        test("images_for_nvidia", &[Tool::Llvm22, Tool::Cuda], images_for_nvidia),
        test("openmp_in_bitcode", LLVM, openmp_in_bitcode),
        test("device_libraries_by_the_linker_wrapper", LLVM, device_libraries_by_the_linker_wrapper),
    ]
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

/// Compiles with clang's own tools and with ours, and returns the folder, with `theirs` and `ours` in it.
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
    assert!(planned.contains("\"tools/llvm-offload-binary\""), "clang runs the tool in our folder:\n{planned}");
    folder
}

fn assert_same(name: &str, arguments: &[&str]) -> PathBuf {
    let folder = compile(name, arguments);
    let [ours, theirs] = ["ours", "theirs"].map(|name| read(folder.join(name)));
    assert!(ours == theirs, "{arguments:?}: objects of {} and {} bytes differ", ours.len(), theirs.len());
    assert!(ours.windows(4).any(|bytes| bytes == offload_format::offload_binary::MAGIC), "{arguments:?}");
    folder
}

const HIP_OPTIONS: [&str; 6] = ["-x", "hip", "-nogpuinc", "-nogpulib", "--offload-new-driver", "-fgpu-rdc"];

fn hip_with_the_new_driver() {
    for (number, archs) in [&["gfx906"][..], &["gfx90a:xnack+", "gfx90a:xnack-", "gfx1100"]].iter().enumerate() {
        let archs: Vec<String> = archs.iter().map(|arch| format!("--offload-arch={arch}")).collect();
        let mut arguments = HIP_OPTIONS.to_vec();
        arguments.extend(archs.iter().map(String::as_str));
        arguments.extend(["-c", "a.hip"]);
        assert_same(&format!("hip_{number}"), &arguments);
        // What is packed is no bitcode with this one.
        arguments.push("-fno-gpu-rdc");
        let folder = compile(&format!("hip_no_rdc_{number}"), &arguments);
        assert!(read(folder.join("ours")) == read(folder.join("theirs")));
    }
}

fn openmp() {
    let options = ["-fopenmp", "-nogpulib", "-c", "a.c"];
    for archs in [&["gfx906"][..], &["gfx906", "gfx90a", "gfx1100"]] {
        let archs: Vec<String> = archs.iter().map(|arch| format!("--offload-arch={arch}")).collect();
        let mut arguments = options.to_vec();
        arguments.extend(archs.iter().map(String::as_str));
        assert_same(&format!("openmp_{}", archs.len()), &arguments);
    }
    let features = ["--offload-arch=gfx90a:sramecc+:xnack-", "-g", "-fPIC"];
    assert_same("openmp_features", &[&options[..], &features].concat());
}

/// Cubins, which ptxas makes.
fn images_for_nvidia() {
    let options = ["--offload-arch=sm_80", "--cuda-feature=+ptx70", "-nogpulib", "-c"];
    assert_same("nvidia_openmp", &[&options[..], &["-fopenmp", "a.c"]].concat());
    assert_same("nvidia_openmp_and_amd", &[&options[..], &["--offload-arch=gfx90a", "-fopenmp", "a.c"]].concat());
    let cuda = ["-x", "cuda", "-nogpuinc", "--offload-new-driver", "-fgpu-rdc", "a.cu"];
    assert_same("nvidia_cuda", &[&options[..], &cuda].concat());
}

/// Objects of a build with link-time optimization are bitcode, with the offload binary among its constants.
fn openmp_in_bitcode() {
    let options = ["-fopenmp", "-nogpulib", "--offload-arch=gfx90a", "--offload-arch=gfx1100", "-flto", "-c", "a.c"];
    let folder = compile("openmp_in_bitcode", &options);
    assert!(read(folder.join("ours")) == read(folder.join("theirs")));
    let extract = |tool: &Path, output: &str| {
        succeed(Command::new(tool).current_dir(&folder).args(["ours", "--archive", &format!("--image=file={output}")]));
        read(folder.join(output))
    };
    let ours = extract(&own::tool("llvm-offload-binary"), "ours.a");
    assert!(ours == extract(&llvm_bin().join("llvm-offload-binary"), "theirs.a"));
    assert!(ours.len() > 1000);
}

/// What a library for devices is built with: objects, then the images for one target out of each.
fn device_libraries_by_the_linker_wrapper() {
    let folder = assert_same("libraries", &["-fopenmp", "-nogpulib", "--offload-arch=gfx90a", "-c", "a.c"]);
    succeed(llvm("llvm-ar").current_dir(&folder).args(["rcD", "fat.a", "ours", "theirs"]));
    let image = "--image=triple=amdgcn-amd-amdhsa,arch=gfx90a,kind=openmp,file=";
    for (tool, output) in
        [(own::tool("llvm-offload-binary"), "ours.a"), (llvm_bin().join("llvm-offload-binary"), "theirs.a")]
    {
        succeed(Command::new(tool).current_dir(&folder).args(["fat.a", "--archive", &format!("{image}{output}")]));
    }
    let library = read(folder.join("ours.a"));
    assert!(library == read(folder.join("theirs.a")));
    let names = succeed(llvm("llvm-ar").current_dir(&folder).args(["t", "ours.a"]));
    assert_eq!(names.stdout, b"ours\ntheirs\n");
    assert!(library.windows(4).any(|bytes| bytes == b"BC\xc0\xde"), "images are bitcode");
}
