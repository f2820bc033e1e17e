//! Kernels that a program declares. If no source describes the kernels, the program's functions
//! come from its declarations.

use super::{SAXPY, with_source};
use crate::NVCC_AND_CLANG;
use offload_tests::prelude::*;

/// Prints the offsets and sizes of a call's arguments.
const PRINT: &str = "fn print<const N: usize, const BYTES: usize>(call: &offload_gpu::Call<N, BYTES>) {\n\
    let (start, size) = call.buffer();\n\
    let offsets = call.pointers().map(|pointer| pointer.addr() - start.addr());\n\
    println!(\"{} {offsets:?} {size}\", call.kernel().name());\n}\n";

const DECLARED: &str = "extern { fn saxpy(n: i32, a: f32, x: *const f32, y: *mut f32); }";

#[test]
fn kernels_of_files() {
    let mut scenario = Scenario::without_sources("declared_files");
    scenario.feature("offload-gpu", "files");
    let mut program = PRINT.to_owned();
    let mut calls = String::new();
    for (module, file) in [
        ("amd", "saxpy.gfx90a.hsaco"),
        ("cubin", "saxpy.sm_90.cubin"),
        ("ptx", "saxpy.compute_80.ptx"),
    ] {
        scenario
            .write(&format!("src/{file}"), read(workspace().join("tests/corpus/image").join(file)));
        program += &format!(
            "mod {module} {{ offload_gpu::include_kernels!(path = \"{file}\", {DECLARED}); }}\n"
        );
        calls += &format!(
            "print(&{module}::saxpy(1, 2.0, std::ptr::null::<f32>(), std::ptr::null_mut()));\n"
        );
        calls += &format!("assert_eq!({module}::PACK.images().len(), 1);\n");
    }
    scenario
        .write("src/main.rs", format!("#![forbid(unsafe_code)]\n{program}fn main() {{ {calls} }}"));
    assert_eq!(scenario.run().passes().stdout, "saxpy [0, 4, 8, 16] 24\n".repeat(3));
}

const TYPES: &str = r#"
struct Inner { char tag; double weight; };
struct alignas(16) Wide { float lanes[4]; };
struct __attribute__((packed)) Packed { char tag; double weight; };
struct Outer { Inner inner[2]; short last; };
template <typename T> __global__ void scale(T *x, T by) { *x *= by; }
template __global__ void scale<double>(double *, double);
extern "C" __global__ void all(bool b, char c, short s, long l, Inner inner, Wide wide, Packed packed, Outer outer,
                               void *any, const void *same, unsigned char last) {
  *(double *)any = inner.weight + wide.lanes[1] + packed.weight + outer.last + b + c + s + l + last + *(const char *)same;
}
extern "C" __global__ void nothing() {}
"#;

const DECLARED_TYPES: &str = r#"
use std::ffi::c_void;
use offload_gpu::Parameter;

#[derive(Clone, Copy, Parameter)] #[repr(C)] pub struct Inner { pub tag: i8, pub weight: f64 }
#[derive(Clone, Copy, Parameter)] #[repr(C, align(16))] pub struct Wide(pub [f32; 4]);
#[derive(Clone, Copy, Parameter)] #[repr(C, packed)] pub struct Packed { pub tag: i8, pub weight: f64 }
#[derive(Clone, Copy, Parameter)] #[repr(C)] pub struct Outer { pub inner: [Inner; 2], pub last: i16 }
/// An address, as cust and cudarc represent it.
type Address = u64;

mod of_source { offload_gpu::include_kernels!("pack"); }
mod declared {
    use super::*;
    offload_gpu::include_kernels!("pack", extern "C" {
        /// All types.
        #[must_use]
        pub fn all(b: bool, c: i8, s: i16, l: i64, inner: Inner, wide: Wide, packed: Packed, outer: Outer,
            any: *mut c_void, same: *const std::ffi::c_void, last: u8);
        #[link_name = "_Z5scaleIdEvPT_S0_"]
        fn scale_f64(x: Address, _: f64,);
        unsafe fn nothing();
    });
}

fn main() {
    let null = std::ptr::null_mut::<f32>();
    let inner = Inner { tag: 1, weight: 2.0 };
    let (wide, packed, outer) = (Wide([0.0; 4]), Packed { tag: 1, weight: 2.0 }, Outer { inner: [inner; 2], last: 3 });
    print(&declared::all(true, 1, 2, 3, inner, wide, packed, outer, null, null.cast_const(), 4));
    let inner = of_source::Inner { tag: 1, weight: 2.0 };
    let wide = of_source::Wide { lanes: [0.0; 4] };
    let packed = of_source::Packed { tag: 1, weight: 2.0 };
    let outer = of_source::Outer { inner: [inner; 2], last: 3 };
    print(&of_source::all(true, 1, 2, 3, inner, wide, packed, outer, null, null, 4));
    print(&declared::scale_f64(8, 2.0));
    print(&of_source::scale_double(null.cast(), 2.0));
    print(&declared::nothing());
    print(&of_source::nothing());
}
"#;

#[test(CLANG.slow())]
fn what_is_declared_lies_where_the_source_has_it() {
    let scenario = with_source("declared_types", TYPES.as_bytes());
    scenario.write("src/main.rs", format!("{PRINT}{DECLARED_TYPES}"));
    let printed = scenario.run().passes();
    printed.lacks("warning");
    let lines: Vec<&str> = printed.stdout.lines().collect();
    let [all, of_source, scale, scale_of_source, nothing, nothing_of_source] = lines[..] else {
        panic!("{printed}")
    };
    assert_eq!(all, "all [0, 1, 2, 8, 16, 32, 48, 64, 104, 112, 120] 121");
    assert_eq!([all, scale, nothing], [of_source, scale_of_source, nothing_of_source]);

    // The program declares the kernels of one of the pack's modules.
    scenario.build_script(
        r#"Build::new().modules(["kernels/types.cu", "kernels/add.cu"]).arch("compute_80").compile("pack");"#,
    );
    scenario.kernel("add", "1.0f");
    let main = |declared: &str| {
        format!("{PRINT}pub struct Unused;\nmod kernels {{ use super::Unused as _; offload_gpu::include_kernels!(\"pack\", extern {{ {declared} }}); }}
            fn main() {{ print(&kernels::types::nothing()); }}")
    };
    scenario.write("src/main.rs", main("mod types { fn nothing(); }"));
    assert_eq!(scenario.run().passes().stdout, "nothing [] 0\n");
    scenario.write("src/main.rs", main("fn nothing();"));
    scenario.build().fails().once(
        "the pack \"pack\" has several modules. Declare the kernel in one of them: \
         mod types { ... }, mod add { ... }",
    );

    // Nothing was built, so the macro has no information about the kernels, and accepts every
    // declaration.
    scenario.write("src/main.rs", main("mod types { fn unknown(a: f32); fn nothing(); }"));
    scenario.check().env("OFFLOAD_SKIP", "1").passes();
}

const CALL_DECLARED: &str = "mod kernels { offload_gpu::include_kernels!(\"pack\", DECLARED); }\n\
    fn main() { print(&kernels::saxpy(1, 2.0, std::ptr::null::<f32>(), std::ptr::null_mut())); }";

pub(super) const BY_NVCC: &str = r#"Build::new().file("kernels/types.cu").compiler(Compiler::Nvcc).archs(["sm_80", "compute_80"])"#;

#[test(NVCC.slow())]
fn kernels_that_nvcc_compiles() {
    let scenario = with_source("declared_nvcc", SAXPY.as_bytes());
    scenario.build_script(&format!("{BY_NVCC}.compile(\"pack\");"));
    scenario
        .write("src/main.rs", format!("{PRINT}{}", CALL_DECLARED.replace("DECLARED", DECLARED)));
    assert_eq!(scenario.run().passes().stdout, "saxpy [0, 4, 8, 16] 24\n");
    let wrong = DECLARED.replace("a: f32", "a: u32");
    scenario.write("src/main.rs", format!("{PRINT}{}", CALL_DECLARED.replace("DECLARED", &wrong)));
    // A cubin contains no types, but PTX does.
    scenario.build().fails().once(
        "parameter 2, `a`, of the kernel `saxpy` is declared as `u32` (4 bytes), but in the image for compute_80 \
         it is a floating-point number of 4 bytes",
    );
}

#[test(NVCC_AND_CLANG.slow())]
fn clang_reads_what_nvcc_compiles() {
    let source = format!(
        "#include <cuda_fp16.h>\n#include <cuda/std/limits>\n#include \"factor.h\"\n\
         #if __CUDACC_VER_MAJOR__ < 12\n#error version\n#endif\n{SAXPY}\n\
         __global__ void checked(uint n) {{ assert(n > 0); }}\n__global__ void halves(__half2 *x, __half by) {{ *x = __halves2half2(by, by); }}"
    );
    let scenario = with_source("described_nvcc", source.as_bytes());
    scenario.write("kernels/factor.h", "#ifndef FACTOR\n#error FACTOR\n#endif\n");
    scenario.build_script(&format!(
        "{BY_NVCC}.clang_signatures(true).define(\"FACTOR\", \"2\").flag(\"--use_fast_math\").compile(\"pack\");"
    ));
    let declared_nowhere = CALL_DECLARED.replace(", DECLARED", "");
    scenario.write("src/main.rs", format!("{PRINT}{declared_nowhere}"));
    assert_eq!(scenario.run().passes().stdout, "saxpy [0, 4, 8, 16] 24\n");
    assert!(super::signatures(&scenario, "debug").contains("comment Adds.\nparameter n i32\n"));
    // After the source changes, the build must read the signatures again.
    let signatures = super::signatures(&scenario, "debug");
    scenario.write("kernels/types.cu", source.replace("float a", "int a"));
    scenario.build().fails().has("parameter 2, `a`, of the kernel `saxpy` is `i32`");
    assert_ne!(super::signatures(&scenario, "debug"), signatures);
}

/// Two sources in one module, one of them only for nvcc. clang reads both before nvcc starts.
#[test(NVCC_AND_CLANG.slow())]
fn kernels_that_clang_refuses() {
    let scenario = with_source("described_refused", SAXPY.as_bytes());
    let refused = "#if defined(__clang__)\n#error for nvcc alone\n#endif\n\
                   extern \"C\" __global__ void refused(int *x) { *x = 1; }\n";
    scenario.write("kernels/refused.cu", refused);
    scenario.build_script(
        r#"Build::new().files(["kernels/refused.cu", "kernels/types.cu"]).compiler(Compiler::Nvcc).arch("sm_80")
        .clang_signatures(true).compile("pack");"#,
    );
    let called = CALL_DECLARED.replace(", DECLARED", "");
    let program =
        format!("{PRINT}const K: offload_gpu::Kernel<'static> = kernels::refused;\n{called}");
    scenario.write(
        "src/main.rs",
        program.replace("fn main() {", "fn main() { println!(\"{}\", K.name());"),
    );
    let log = scenario.folder.join("log");
    let clang = scenario.script(
        "clang",
        &format!(
            "case \"$*\" in *.ll*) (echo reads; find '{}' -path '*described_refused*' -name '*.cubin') >> '{}';; esac\n\
             exec '{}' \"$@\"",
            scenario.target.display(),
            log.display(),
            llvm_bin().join("clang").display()
        ),
    );
    let run = |run: Run<'_>| run.env("OFFLOAD_CLANG", &clang).env("OFFLOAD_JOBS", "1").passes();
    run(scenario.build())
        .once("\"pack\", although nvcc compiles it. The program gets a constant for each")
        .once("kernels/refused.cu:2:2: error: for nvcc alone");
    let calls = fs::read_to_string(&log).expect("clang has run");
    assert!(calls.lines().count() >= 2 && calls.lines().all(|line| line == "reads"), "{calls}");
    assert_eq!(run(scenario.run()).stdout, "refused\nsaxpy [0, 4, 8, 16] 24\n");
    // Once clang accepts the source, its kernel must have a function.
    scenario.write(
        "src/main.rs",
        "mod kernels { offload_gpu::include_kernels!(\"pack\"); }\nfn main() {}\n",
    );
    scenario.write("kernels/refused.cu", refused.replace("__clang__", "NOWHERE"));
    run(scenario.build()).lacks("although nvcc compiles it");
    assert!(super::signatures(&scenario, "debug").contains("refused"));
    // clang for AMD's GPUs accepts the source, so the source's kernels have functions.
    let for_nvidia = "__clang__) && !defined(__HIP__";
    scenario.write("kernels/refused.cu", refused.replace("__clang__", for_nvidia));
    run(scenario.build().env("OFFLOAD_ARCH", "sm_80,gfx90a")).once(
        "although nvcc compiles it. The functions of the module's kernels use the parameters found \
         for other GPUs",
    );
}
