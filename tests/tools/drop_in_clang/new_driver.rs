//! Tests of objects that clang's new driver creates by running `llvm-offload-binary`.

use super::{HIP, assert_runs, assert_same_files, clang, put_tools};
use offload_format::offload_binary::MAGIC;
use offload_tests::prelude::*;

const PACKAGER: &str = "llvm-offload-binary";

const CUDA: &str = "typedef unsigned long size_t;\n\
    struct dim3 { unsigned x, y, z; };\n\
    extern \"C\" int cudaLaunchKernel(const void *, dim3, dim3, void **, size_t, void *);\n\
    __attribute__((global)) void store(int *out) { *out = 1; }\n";
const OPENMP: &str = "int sum(int *values, int count) {\n\
    int sum = 0;\n\
    _Pragma(\"omp target teams distribute parallel for reduction(+:sum) map(to: values[:count])\")\n\
    for (int i = 0; i < count; i++) sum += values[i];\n\
    return sum;\n}\n";

/// Compiles with LLVM's tools and with ours, and checks that the objects are identical. Returns the
/// folder with the objects `theirs` and `ours`.
fn compile(name: &str, line: &str) -> PathBuf {
    let folder = scratch::folder(&format!("drop_in_clang/{name}"));
    scratch::write(folder.join("a.hip"), HIP);
    scratch::write(folder.join("a.cu"), CUDA);
    scratch::write(folder.join("a.c"), OPENMP);
    let line = format!("{line} -o out");
    for (output, tools) in [("theirs", llvm_bin()), ("ours", own::folder())] {
        put_tools(&folder, &tools, &[PACKAGER]);
        succeed(&mut clang(&folder, &line));
        fs::rename(folder.join("out"), folder.join(output)).expect("it was written");
    }
    assert_runs(&folder, PACKAGER, &line);
    assert_same_files(&folder, ["ours", "theirs"]);
    folder
}

/// Compiles like [`compile`], and checks that the objects contain an unchanged offload binary.
fn assert_has_binary(name: &str, line: &str) -> PathBuf {
    let folder = compile(name, line);
    let ours = read(folder.join("ours"));
    assert!(ours.windows(MAGIC.len()).any(|bytes| bytes == MAGIC), "{line}");
    folder
}

#[test(LLVM.slow())]
fn hip_with_the_new_driver() {
    for (number, archs) in [
        "--offload-arch=gfx906",
        "--offload-arch=gfx90a:xnack+ --offload-arch=gfx90a:xnack- --offload-arch=gfx1100",
    ]
    .iter()
    .enumerate()
    {
        let options = "-x hip -nogpuinc -nogpulib --offload-new-driver -fgpu-rdc -c a.hip";
        assert_has_binary(&format!("hip_{number}"), &format!("{options} {archs}"));
        // With `-fno-gpu-rdc`, the packed images are not bitcode.
        compile(&format!("hip_no_rdc_{number}"), &format!("{options} {archs} -fno-gpu-rdc"));
    }
}

#[test(LLVM.slow())]
fn openmp() {
    for (name, archs) in [
        ("openmp_1", "--offload-arch=gfx906"),
        ("openmp_3", "--offload-arch=gfx906 --offload-arch=gfx90a --offload-arch=gfx1100"),
        ("openmp_features", "--offload-arch=gfx90a:sramecc+:xnack- -g -fPIC"),
    ] {
        assert_has_binary(name, &format!("-fopenmp -nogpulib -c a.c {archs}"));
    }
    // With link-time optimization, the object is bitcode, and the offload binary is one of its
    // constants.
    compile("openmp_lto", "-fopenmp -nogpulib -c a.c --offload-arch=gfx90a -flto");
}

/// Compares builds whose objects contain cubins from ptxas.
#[test(needs(&[Tool::Llvm22, Tool::Cuda]).slow())]
fn images_for_nvidia() {
    for (name, options) in [
        ("nvidia_openmp", "-fopenmp a.c"),
        ("nvidia_openmp_and_amd", "--offload-arch=gfx90a -fopenmp a.c"),
        ("nvidia_cuda", "-x cuda -nogpuinc --offload-new-driver -fgpu-rdc a.cu"),
    ] {
        let nvidia = "--offload-arch=sm_80 --cuda-feature=+ptx70 -nogpulib -c";
        assert_has_binary(name, &format!("{nvidia} {options}"));
    }
}
