//! Tests `cuda_fp16.h`, `cuda_bf16.h` and `cuda_fp8.h` with every number of each type, and with
//! numbers of wider types around each boundary. The reference is a program for the host with
//! NVIDIA's headers. Directed roundings are compared with those of the CPU.

use super::{CPU, built, compiler};
use offload_tests::judges::{assert_is_for, image_file_name};
use offload_tests::prelude::*;

/// Prints a line for each of the 256 parts of each group of results.
const MAIN: &str = "#include <cstdio>\nint main() {\n  \
                      for (unsigned i = 0; i < GROUPS * 256; ++i)\n    \
                        printf(\"group %u, part %02x: %llx\\n\", i / 256, i % 256, result(i / 256, i % 256));\n}\n";

#[test(needs(&[Tool::Llvm22, Tool::Gcc, Tool::Cuda, Tool::Nvcc]).slow())]
fn conversions_and_roundings_are_those_of_nvidias_headers() {
    let folder = scratch::folder("kernel_header_float16");
    let source = folder.join("main.cpp");
    scratch::write(&source, format!("{}{MAIN}", include_str!("conversions.cu")));
    let printed_by = |mut compile: Command, name: &str| {
        let program = folder.join(name);
        succeed(compile.arg(&source).arg("-o").arg(&program));
        stdout(&succeed(&mut Command::new(program)))
    };
    let mut nvcc = cuda("nvcc");
    nvcc.args(["-std=c++17", "-O1", "--cudart=none"]);
    let expected = printed_by(nvcc, "nvidia");
    assert_eq!(expected.lines().count(), 7 * 256);
    for program in [PathBuf::from("g++"), llvm_bin().join("clang++")] {
        for level in ["-O0", "-O3 -march=native -ffp-contract=fast"] {
            let compile = compiler(&program, &format!("{CPU} {level} -Wall -Wextra -Werror"));
            let printed = printed_by(compile, "ours");
            let wrong = printed.lines().zip(expected.lines()).find(|(ours, theirs)| ours != theirs);
            assert_eq!(wrong, None, "{} {level}", program.display());
        }
    }
}

#[test(needs(&[Tool::Llvm22, Tool::Gcc]).slow())]
fn directed_roundings_are_those_of_the_cpu() {
    let folder = scratch::folder("kernel_header_roundings");
    scratch::write(folder.join("main.cpp"), include_str!("roundings.cpp"));
    for program in [PathBuf::from("g++"), llvm_bin().join("clang++")] {
        for level in ["-O0", "-O2", "-O3 -march=native -ffp-contract=fast"] {
            let mut compile = compiler(&program, &format!("{CPU} {level} -frounding-math -w"));
            let to = folder.join("roundings");
            succeed(compile.arg(folder.join("main.cpp")).arg("-o").arg(&to));
            let outcome = Command::new(to).output().expect("the program starts");
            assert_eq!(stdout(&outcome), "", "{} {level}", program.display());
            assert!(outcome.status.success());
        }
    }
}

#[test(needs(&[Tool::Llvm22, Tool::Gcc, Tool::SpirvTools]).slow())]
fn small_numbers_compile_for_every_target() {
    let source = "#include <cuda_fp8.h>\n#include <cuda_runtime.h>\n\
                  extern \"C\" __global__ void k(__half *x, __nv_bfloat16 *y, __nv_fp8_e4m3 *z, float4 *v, __half2 *w) {\n  \
                    int i = threadIdx.x;\n  x[i] = hexp(x[i]) * __half(2.0f) + __hmax_nan(x[i], x[i + 1]);\n  \
                    y[i] = __hfma(y[i], __nv_bfloat16(v[i].x), y[i]) - y[i];\n  z[i] = __nv_fp8_e4m3(float(x[i]));\n  \
                    w[i] = __hmul2(w[i], __float22half2_rn(make_float2(v[i].y, v[i].z)));\n  atomicAdd(x, x[i]);\n}\n";
    const GPUS: [&str; 5] = ["gfx90a", "gfx1100", "compute_80", "compute_90", "spirv64"];
    let scenario = built("kernel_header_small", &[&GPUS[..], &["cpu"]].concat(), source);
    for target in GPUS {
        let image = format!("k/{}", image_file_name(target));
        assert_is_for("k", target, &scenario.output("release", &image));
    }
}
