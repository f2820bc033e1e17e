//! The names that `offload/kernel.h` defines for kernels, compiled for GPUs and the CPU. clang,
//! g++, the images' metadata and loops in Rust check the results.

mod cpu;
mod expected;
mod float16;
mod gpu;
mod hip;
mod host;
mod keywords;
mod lanes;
mod math;
mod names;
mod standard_library;
mod vendors;

use offload_tests::prelude::*;

/// Returns the folder for `-I` that contains `offload/kernel.h`.
fn header_folder() -> PathBuf {
    scratch::workspace().join("offload-build/include")
}

/// Returns a command that runs a compiler with the header and with `options`, which are separated
/// by spaces.
fn compiler(program: impl AsRef<OsStr>, options: &str) -> Command {
    let mut command = Command::new(program);
    command.args(options.split_whitespace()).arg("-I").arg(header_folder());
    command.args(["-include", "offload/kernel.h"]);
    command
}

/// Writes a source into a folder, and returns a command that checks the source with LLVM 22's
/// clang.
fn checked(folder: &Path, source: &str, options: &str) -> Command {
    checked_by(llvm_bin().join("clang++"), folder, source, options)
}

/// Returns a command like [`checked`], but with the given compiler.
fn checked_by(program: impl AsRef<OsStr>, folder: &Path, source: &str, options: &str) -> Command {
    scratch::write(folder.join("k.cu"), source);
    let mut command = compiler(program, &format!("{options} -fsyntax-only"));
    command.arg(folder.join("k.cu"));
    command
}

/// Asserts that a compiler refuses a source, and that its first error contains this text.
#[track_caller]
fn assert_refuses(mut command: Command, expected: &str) {
    let output = command.output().expect("the compiler starts");
    let text = stderr(&output);
    let first = text.lines().find(|line| line.contains("error: ")).unwrap_or_default();
    assert!(!output.status.success() && first.contains(expected), "{text}");
}

/// Compiles a kernel for a GPU to assembly or LLVM IR, and returns this text.
fn text_for(target: &str, source: &str, options: &str, name: &str) -> String {
    text_by(&llvm_bin().join("clang"), target, source, options, name)
}

/// Compiles a kernel as [`text_for`] does, but with the given clang.
fn text_by(clang: &Path, target: &str, source: &str, options: &str, name: &str) -> String {
    let folder = scratch::folder(name);
    scratch::write(folder.join("k.cu"), source);
    let of_vendor = if target.starts_with("gfx") {
        format!("-x hip --no-gpu-bundle-output --offload-arch={target}")
    } else if target == "spirv64" {
        format!("-x hip --offload={target}")
    } else {
        format!("-x cuda -Xclang -target-feature -Xclang +ptx70 --offload-arch={target}")
    };
    let mut clang = compiler(
        clang,
        &format!(
            "{of_vendor} --cuda-device-only -nogpuinc -nogpulib -std=c++17 -fms-extensions \
             -Wno-unknown-cuda-version -S {options}"
        ),
    );
    let out = folder.join("k.s");
    succeed(clang.arg(folder.join("k.cu")).arg("-o").arg(&out));
    std::fs::read_to_string(out).expect("text")
}

/// Returns a code object's instructions, and checks that it has no undefined symbols.
fn disassembly(image: &Path) -> String {
    let undefined = succeed(llvm("llvm-nm").args(["--dynamic", "--undefined-only"]).arg(image));
    assert_eq!(stdout(&undefined).trim(), "", "{}", image.display());
    stdout(&succeed(llvm("llvm-objdump").args(["-d", "--no-show-raw-insn"]).arg(image)))
}

/// Runs a release build of the pack "k" from one source for these targets.
fn built(name: &str, targets: &[&str], source: &str) -> Scenario {
    let scenario = Scenario::of(name, "k.cu", &format!(".archs({targets:?})"), source);
    scenario.build().release().passes();
    scenario
}

/// Each header and name in this source once failed to compile for some target.
#[test(CLANG.slow())]
fn headers_of_the_standard_library_and_names_of_users_live_beside_it() {
    let scenario = built(
        "header_neighbours",
        &["gfx90a", "gfx1100", "compute_80", "spirv64", "cpu"],
        "#include <algorithm>\n#include <cmath>\n#include <cstdint>\n#include <cstdio>\n#include <cstdlib>\n\
         #include <math.h>\n\
         #include <memory>\n#include <new>\n#include <utility>\n\
         #if defined(OFFLOAD_SPIRV) && (defined(__HIP__) || defined(__HIPCC__) || defined(__HIP_DEVICE_COMPILE__))\n\
         #error\n#endif\n\
         struct Properties { int warpSize; };\n\
         __noinline__ __device__ int lanes(Properties p) { return p.warpSize + warpSize; }\n\
         extern \"C\" __global__ void k(int32_t *y) {\n\
           dim3 all(gridDim.x * blockDim.x);\n\
           Properties p = {int(all.x)};\n\
           float x = sqrtf(y[0]) + sin(float(y[1])) + fabs(2.5) + (isnan(float(y[2])) ? 1 : 0) + __expf(1.0f) + pow(2, 0.5f) + sqrt(y[5]);\n\
           y[threadIdx.x] = lanes(p) + int(x) + abs(y[3]) + min(y[4], 5);\n\
         #if !defined(OFFLOAD_AMDGPU) && !defined(OFFLOAD_SPIRV)\n  printf(\"%d %f\\n\", y[0], x);\n#endif\n}\n",
    );
    let ptx = scenario.output_text("release", "k/compute_80.ptx");
    assert!(ptx.contains("vprintf, "), "{ptx}");
}

/// With `-O1`, as in checked builds, g++ must still inline a function that another one calls.
#[test(CLANG.slow())]
fn functions_that_are_always_inlined_may_be_passed_to_others() {
    let source = "#include <cooperative_groups/reduce.h>\nnamespace cg = cooperative_groups;\n\
        __device__ __forceinline__ float add(float a, float b) { return a + b; }\n\
        __global__ void k(float *x) {\n\
          *x = cg::reduce(cg::tiled_partition<32>(cg::this_thread_block()), *x, add);\n}\n";
    let scenario = Scenario::of("header_passed", "k.cu", r#".arch("cpu").opt_level(1)"#, source);
    scenario.build().env("CXX", "g++").passes();
}

/// The options with which clang compiles a kernel for each kind of target.
const AMD: &str = "-x hip --offload-arch=gfx90a --offload-device-only -nogpulib -nogpuinc";
const NVIDIA: &str = "-x cuda --offload-arch=sm_80 --offload-device-only -nogpulib -nogpuinc";
const SPIRV: &str = "-x hip --offload=spirv64 --offload-device-only -nogpulib -nogpuinc -std=c++17 \
                     -U__HIP__ -U__HIPCC__ -U__HIP_DEVICE_COMPILE__";
const CPU: &str = "-x c++ -std=c++17";

/// Users copy the examples' kernels into projects that enable warnings.
#[test(CLANG.slow())]
fn kernels_of_the_examples_have_no_warnings() {
    let mut compiled = 0;
    for kernel in scratch::files_with(&scratch::workspace().join("examples"), "cu") {
        // A source with host launch code needs the vendor's headers.
        if String::from_utf8_lossy(&read(&kernel)).contains("<<<") {
            continue;
        }
        compiled += 1;
        let clang = llvm_bin().join("clang++");
        for (program, options) in [("g++".as_ref(), CPU), (&*clang, AMD), (&*clang, SPIRV)] {
            let options = format!("{options} -Wall -Wextra -Werror -fsyntax-only");
            succeed(compiler(program, &options).arg(&kernel));
        }
    }
    assert!(compiled >= 8, "{compiled} kernels");
}

/// `printf` on AMD's GPUs and in SPIR-V must cause a warning, and `sync` of a grid must be an error
/// for all targets.
#[test(CLANG)]
fn missing_parts_of_cuda_have_advice() {
    let folder = scratch::folder("header-missing");
    let compile = |source: &str, options: &str| checked(&folder, source, options);
    let prints = "__global__ void k(int *x) { printf(\"%d\", x[0]); }\n";
    for source in [prints, &format!("#include <cstdio>\n{prints}")] {
        for (options, warns) in [(AMD, true), (SPIRV, true), (NVIDIA, false), (CPU, false)] {
            let text = stderr(&succeed(&mut compile(source, options)));
            assert_eq!(text.contains("warning: printf prints nothing here: "), warns, "{text}");
        }
    }

    let groups = "#include <cooperative_groups.h>\n#include <cooperative_groups/reduce.h>\n\
                  template <int> __global__ void t() { cooperative_groups::this_grid().sync(); }\n\
                  #if !defined(WITHOUT)\n\
                  __global__ void k() { cooperative_groups::this_grid().sync(); }\n#endif\n";
    // A user's header with this name must take precedence.
    let own = folder.join("own");
    scratch::write(
        own.join("cooperative_groups.h"),
        "#pragma once\nnamespace cooperative_groups { struct grid { __device__ void sync() {} };\n\
         __device__ inline grid this_grid() { return {}; } }\n",
    );
    for options in [AMD, NVIDIA, SPIRV, CPU] {
        assert_refuses(
            compile(groups, options),
            "the blocks of a launch cannot wait for each other: use two launches",
        );
        succeed(compile(groups, options).arg("-I").arg(&own));
        // A template without instances does not wait.
        succeed(compile(groups, options).arg("-DWITHOUT"));
    }
}

/// Sources for CUDA contain functions with inline PTX. For other GPUs, such a function may cause an
/// error only if a kernel calls it.
#[test(CLANG)]
fn inline_ptx_is_an_error_at_its_use() {
    let folder = scratch::folder("header-ptx");
    let ptx =
        "{ float y; asm volatile(\"cvt.f32.f16 %0, %1;\" : \"=f\"(y) : \"h\"(x)); return y; }\n";
    let source = format!(
        "#include <cstdio>\n#include <functional>\n\
         inline __device__ float f(short x) {ptx}template <int> __device__ float g(short x) {ptx}\
         static __device__ int h(int x) {{ short y = 0; asm(\"cvt.s16.s32 %0, %1;\" : \"=h\"(y) : \"r\"(x)); return y; }}\n\
         __global__ void k(volatile float *x) {{ x[0] = USE; }}\n"
    );
    for value in ["f(1)", "g<2>(1)", "h(1)", "2"] {
        for target in [AMD, SPIRV] {
            let output = checked(&folder, &source, &format!("{target} -DUSE={value}")).output();
            let output = output.expect("clang starts");
            assert_eq!(output.status.success(), value == "2", "{value}");
            let refused = stderr(&output).contains("constraint '");
            assert_eq!(refused, value != "2", "{}", stderr(&output));
        }
    }
    let own = "__global__ void k(int *x) {\n  int y = 5;\n  if (x[0])\n    \
               asm volatile(\"v_not_b32 %0, %1\" : \"=v\"(y) : \"v\"(x[1]));\n  else\n    \
               asm(\"v_bfrev_b32 %0, %1\" : \"=v\"(y) : \"v\"(y));\n  x[2] = y;\n}\n";
    let text = text_for("gfx90a", own, "-O2 -S", "header_own_instructions");
    assert!(text.contains("v_not_b32") && text.contains("v_bfrev_b32"), "{text}");
}
