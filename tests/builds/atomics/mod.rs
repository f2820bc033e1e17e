//! Atomic operations must keep their orders and scopes. For NVIDIA's GPUs, the output of each clang
//! is compared with nvcc's output for `cuda::atomic_ref`. AMD's GPUs and SPIR-V have separate
//! tests. An operation that would lose its order or scope must be an error.

pub mod amd;
mod spirv;
pub mod table;

use offload_tests::prelude::*;
use offload_tests::published;
use offload_tests::tools::clangs;

/// Compiles a source with the kit's header to PTX with a given clang.
fn ptx_by(clang: &Path, arch: u32, level: u32, source: &Path) -> String {
    let version = match arch {
        50 => 40,
        60 => 50,
        70 => 60,
        _ => 70,
    };
    let out = source.with_extension(format!("{arch}.ptx"));
    let mut compile = Command::new(clang);
    compile
        .args(["-x", "cuda", "--cuda-device-only", "-nogpuinc", "-nogpulib", "-std=c++17", "-S"])
        .args(["-fms-extensions", "-Wall", "-Werror", "-Wno-unknown-cuda-version"])
        .arg(format!("--offload-arch=sm_{arch}"))
        .arg(format!("--cuda-feature=+ptx{version}"))
        .arg(format!("-O{level}"))
        .arg("-I")
        .arg(scratch::workspace().join("offload-build/include"))
        .args(["-include", "offload/kernel.h"]);
    succeed(compile.arg(source).arg("-o").arg(&out));
    fs::read_to_string(out).expect("PTX")
}

/// Compiles the table with nvcc, and returns each kernel's instructions.
pub fn instructions_by_nvcc(folder: &Path, source: &str) -> BTreeMap<String, Vec<String>> {
    scratch::write(folder.join("cuda.cu"), source);
    run(cuda("nvcc"), folder, "-w -std=c++17 -arch=sm_80 -ptx cuda.cu -o cuda.ptx");
    table::instructions(&fs::read_to_string(folder.join("cuda.ptx")).expect("PTX"))
}

/// Asserts that each kernel has the same instructions in both maps.
#[track_caller]
pub fn assert_same(
    found: &BTreeMap<String, Vec<String>>,
    expected: &BTreeMap<String, Vec<String>>,
    of: &str,
) {
    assert_eq!(found.len(), expected.len(), "{of}");
    for (name, instructions) in expected {
        assert!(!instructions.is_empty(), "nvcc: {name}");
        assert_eq!(&found[name], instructions, "{of}: {name}");
    }
}

#[test(needs(&[Tool::Oldest, Tool::Clangs, Tool::Llvm22, Tool::Gcc, Tool::Cuda, Tool::Nvcc]).slow())]
fn each_order_and_scope_is_that_of_cuda() {
    let folder = scratch::folder("atomics-table");
    let sources = table::sources();
    let expected = instructions_by_nvcc(&folder, &sources.nvcc);
    assert_eq!(expected.len(), sources.count);
    for (version, clang) in clangs() {
        let source = folder.join(format!("clang{version}.cu"));
        scratch::write(&source, &sources.clang);
        let ptx = ptx_by(&clang, 80, 2, &source);
        assert_same(&table::instructions(&ptx), &expected, &format!("clang {version}"));
        assert_assembles(&source, 80);
    }
}

/// Asserts that ptxas accepts the PTX of a source.
#[track_caller]
fn assert_assembles(source: &Path, arch: u32) {
    let ptx = source.with_extension(format!("{arch}.ptx"));
    // CUDA 13's ptxas does not support older architectures.
    let (.., old) = published::OLD_PTXAS[3];
    let ptxas = if arch < 75 { published::path(old) } else { cuda("ptxas").get_program().into() };
    let mut assemble = Command::new(ptxas);
    assemble.arg(format!("-arch=sm_{arch}")).arg(&ptx).arg("-o").arg(ptx.with_extension("cubin"));
    succeed(&mut assemble);
}

/// More forms of the compiler's atomic functions. Each row has a statement with `p` and `y`, which
/// point to `unsigned`, and the statement's instructions for `sm_80`. The parts of an instruction's
/// name are sorted.
const FORMS: &str = "
*y = __atomic_fetch_add(p, 1, __ATOMIC_ACQ_REL)                         | atom.acq_rel.add.b32.sys
*y = __atomic_fetch_add(p, 1, __ATOMIC_RELAXED)                         | atom.add.b32.relaxed.sys
*y = __atomic_or_fetch((volatile unsigned *)p, 2, __ATOMIC_SEQ_CST)     | fence.sc.sys atom.acquire.b32.or.sys
*y = __atomic_fetch_nand(p, 3, __ATOMIC_RELEASE)                        | ld.b32.relaxed.sys atom.b32.cas.release.sys
*y = __atomic_load_n((const unsigned *)p, __ATOMIC_CONSUME)             | ld.acquire.b32.sys
__atomic_load(p, y, __ATOMIC_SEQ_CST)                                   | fence.sc.sys ld.acquire.b32.sys
__atomic_store(p, y, __ATOMIC_RELEASE)                                  | st.b32.release.sys
__atomic_exchange(p, y, y + 1, __ATOMIC_ACQUIRE)                        | atom.acquire.b32.exch.sys
__atomic_compare_exchange(p, y, y + 1, true, __ATOMIC_RELEASE, __ATOMIC_ACQUIRE) | atom.acq_rel.b32.cas.sys
__atomic_compare_exchange_n(p, y, 2, false, __ATOMIC_RELAXED, __ATOMIC_SEQ_CST) | fence.sc.sys atom.acquire.b32.cas.sys
*y = __atomic_test_and_set(p, __ATOMIC_ACQUIRE)                         | ld.relaxed.sys.u8 ld.acquire.b32.sys atom.acquire.b32.cas.sys
__atomic_clear(p, __ATOMIC_RELEASE)                                     | st.release.sys.u8
__atomic_thread_fence(__ATOMIC_ACQUIRE)                                 | fence.acq_rel.sys
__atomic_signal_fence(__ATOMIC_SEQ_CST)                                 |
__scoped_atomic_thread_fence(__ATOMIC_SEQ_CST, __MEMORY_SCOPE_WRKGRP)   | fence.cta.sc
*y = __scoped_atomic_max_fetch((int *)p, 7, __ATOMIC_RELEASE, __MEMORY_SCOPE_DEVICE) | atom.gpu.max.release.s32
*y = __sync_fetch_and_sub(p, 1, y)                                      | fence.sc.sys atom.acquire.add.b32.sys
*y = __sync_bool_compare_and_swap(p, 1, 2)                              | fence.sc.sys atom.acquire.b32.cas.sys
*y = __sync_lock_test_and_set(p, 1)                                     | atom.acquire.b32.exch.sys
__sync_lock_release(p)                                                  | st.b32.release.sys
__sync_synchronize()                                                    | fence.sc.sys
*(int **)y = __atomic_fetch_add((int **)p, 4, __ATOMIC_RELEASE)         | atom.add.b64.release.sys
__atomic_store_n((int **)p, nullptr, __ATOMIC_RELEASE)                  | st.b64.release.sys
*y = __atomic_fetch_add((short *)p, 1, __ATOMIC_ACQ_REL)                | ld.relaxed.sys.u16 ld.acquire.b32.sys atom.acq_rel.b32.cas.sys
*y = __atomic_exchange_n((bool *)p, true, __ATOMIC_RELEASE)             | ld.relaxed.sys.u8 ld.b32.relaxed.sys atom.b32.cas.release.sys
*(float *)y = __atomic_fetch_max((float *)p, 1.5f, __ATOMIC_ACQUIRE)    | ld.b32.relaxed.sys atom.acquire.b32.cas.sys
*y = atomicAdd(p, 1)                                                    | atom.add.b32
";

/// Forms for GPUs that express orders only by fences. The columns are the statement, the
/// instructions for `sm_60`, and those for `sm_50`, which has no scopes either.
const OLD_FORMS: &str = "
*y = __atomic_fetch_add(p, 1, __ATOMIC_ACQ_REL)       | membar.sys atom.add.b32.sys membar.sys  | membar.sys atom.add.b32 membar.sys
*y = __atomic_load_n(p, __ATOMIC_ACQUIRE)             | ld.b32.volatile membar.sys              | ld.b32.volatile membar.sys
__atomic_store_n(p, 1, __ATOMIC_RELEASE)              | membar.sys st.b32.volatile              | membar.sys st.b32.volatile
*y = __atomic_exchange_n(p, 1, __ATOMIC_RELEASE)      | membar.sys atom.b32.exch.sys            | membar.sys atom.b32.exch
*y = __scoped_atomic_fetch_max(p, 7, __ATOMIC_SEQ_CST, __MEMORY_SCOPE_DEVICE) \
                                                      | membar.gl atom.gpu.max.u32 membar.gl    | membar.gl atom.max.u32 membar.gl
__atomic_thread_fence(__ATOMIC_RELEASE)               | membar.sys                              | membar.sys
*(double *)y = __atomic_fetch_add((double *)p, 1, __ATOMIC_RELAXED) \
                                                      | atom.add.f64.sys                        | ld.b64.volatile atom.b64.cas
";

#[test(needs(&[Tool::Oldest, Tool::Clangs, Tool::Llvm22, Tool::Gcc, Tool::Cuda, Tool::OldPtxas]).slow())]
fn each_form_has_its_order() {
    let folder = scratch::folder("atomics-forms");
    for (forms, column, arch) in
        [(FORMS, 1, 80), (FORMS, 1, 70), (OLD_FORMS, 1, 60), (OLD_FORMS, 2, 50)]
    {
        // Host headers also call atomic functions.
        let mut source = "#include <atomic>\n\
            int host(std::atomic<int> &x, int *y) { return ++x + __atomic_fetch_add(y, 1, __ATOMIC_ACQ_REL); }\n\
            struct wide { long a, b; };\n\
            struct pair { int a, b; };\n\
            int host(std::atomic<pair> &x) { x.store(x.load()); return x.exchange({1, 2}).a; }\n\
            long host(std::atomic<wide> &x, __int128 *y) {\n  \
            x.store(x.load());\n  return long(__atomic_fetch_add(y, 1, __ATOMIC_ACQ_REL));\n}\n"
            .to_owned();
        let mut expected = BTreeMap::new();
        for (number, row) in forms.lines().filter(|row| !row.is_empty()).enumerate() {
            let row: Vec<&str> = row.split(" |").map(str::trim).collect();
            let name = format!("k{number}");
            source += &format!(
                "extern \"C\" __global__ void {name}(unsigned *p, unsigned *y) {{ {}; }}\n",
                row[0]
            );
            let list = row[column].split_whitespace().map(str::to_owned);
            expected.insert(name, list.collect::<Vec<String>>());
        }
        for (version, clang) in clangs() {
            let file = folder.join(format!("clang{version}.cu"));
            scratch::write(&file, &source);
            let found = table::instructions(&ptx_by(&clang, arch, 2, &file));
            assert_eq!(found, expected, "clang {version}, sm_{arch}");
            assert_assembles(&file, arch);
            if version == 22 {
                // Without optimization, the PTX contains the instructions for all orders.
                ptx_by(&clang, arch, 0, &file);
                assert_assembles(&file, arch);
            }
        }
    }
}

/// If clang drops an operation's order, the build must fail with an error that names the operation,
/// in every language. Operations without an order must compile.
#[test(CLANG.slow())]
fn what_clang_loses_is_an_error() {
    let scenario = Scenario::new("atomics_errors");
    let errors = |file: &str, source: &str, targets: &[&str]| {
        scenario.pack("k", &format!(".file(\"kernels/{file}\").archs({targets:?})"));
        scenario.write(&format!("kernels/{file}"), source).build()
    };
    let c = |order: &str| {
        format!(
            "#include <gpuintrin.h>\n__gpu_kernel void k(unsigned *p, unsigned *y) {{\n  *y = __atomic_fetch_add(p, 1, {order});\n}}\n"
        )
    };
    let text = "the image for compute_80 would lose the memory order of these atomic operations";
    errors("k.c", &c("__ATOMIC_ACQ_REL"), &["compute_80"])
        .fails()
        .has(text)
        .has("fetch_add with the order acq_rel, in k\n")
        .has("put fences around an operation with __ATOMIC_RELAXED");
    errors("k.c", &c("__ATOMIC_RELAXED"), &["compute_80"]).passes();
    // If inlining turns an order into a constant, the operation must not count as one with every
    // order.
    let inlined = c("order").replace("{\n", "{\n  const int order = relaxed();\n");
    let inlined = "static int relaxed(void) { return __ATOMIC_RELAXED; }\n".to_owned() + &inlined;
    errors("k.c", &inlined, &["compute_80"]).passes();
    // AMD's GPUs support the order.
    errors("k.c", &c("__ATOMIC_ACQ_REL"), &["gfx90a"]).passes();
    let ir = |order: &str| {
        format!(
            "target triple = \"nvptx64-nvidia-cuda\"\n\
             define ptx_kernel void @k(ptr %p) {{\n  %old = atomicrmw xchg ptr %p, i64 1 {order}, align 8\n  \
             %read = load atomic i32, ptr %p acquire, align 4\n  ret void\n}}\n"
        )
    };
    errors("k.ll", &ir("seq_cst"), &["compute_80"])
        .fails()
        .has(text)
        .has("swap with the order seq_cst, in k");
    let bitcode = scenario.folder.join("kernels/k.bc");
    succeed(llvm("llvm-as").arg(scenario.folder.join("kernels/k.ll")).arg("-o").arg(&bitcode));
    scenario.pack("k", r#".file("kernels/k.bc").arch("compute_80")"#);
    scenario.build().fails().has(text).has("swap with the order seq_cst, in k");
    errors("k.ll", &ir("monotonic"), &["compute_80"]).passes();
}

/// The compiler's atomic functions must compile for all targets. Operators on `_Atomic` types would
/// lose their orders on NVIDIA's GPUs, so they must be an error there.
#[test(CLANG.slow())]
fn one_source_for_all_targets() {
    let scenario = Scenario::new("atomics_all");
    let build = |targets: &[&str], statement: &str| {
        let kernel = format!(
            "#include <stdatomic.h>\n\
             extern \"C\" __global__ void k(unsigned *p, unsigned *y) {{ {statement}; }}\n"
        );
        scenario.pack("k", &format!(".file(\"kernels/k.cu\").archs({targets:?})"));
        scenario.write("kernels/k.cu", kernel).build()
    };
    let all = ["compute_80", "gfx90a", "gfx1100", "spirv64", "cpu"];
    build(&all, "*y = __atomic_fetch_add(p, 1, __ATOMIC_ACQ_REL)").passes();
    build(&["compute_80"], "++*(_Atomic(unsigned) *)p")
        .fails()
        .has("_Atomic loses its orders on NVIDIA's GPUs: use __atomic_fetch_add and kin");
    // No atomic instruction supports 8 bytes that are aligned only to 4.
    for target in ["compute_80", "spirv64"] {
        let statement =
            "struct pair { int a, b; } v = {1, 2}; __atomic_store((pair *)p, &v, __ATOMIC_RELEASE)";
        build(&[target], statement).fails().has("'this_type_needs_alignas_with_its_size<pair>'");
    }
    // CUDA's atomic functions have no order to lose.
    build(&["compute_80"], "*y = atomicAdd(p, 1) + atomicCAS(p, 1, 2) + atomicInc(p, 9)").passes();
    for (statement, lost) in UNUSUAL {
        build(&["compute_80"], statement)
            .fails()
            .has("the image for compute_80 would lose the memory order of these atomic operations")
            .has(&format!("{lost}, in k\n"))
            .has("where __atomic_fetch_add and similar functions keep their orders");
    }
}

/// Less common atomic functions of the compiler, and the orders that they would lose.
const UNUSUAL: [(&str, &str); 6] = [
    (
        "*y = atomic_fetch_add_explicit((atomic_uint *)p, 1, memory_order_acq_rel)",
        "fetch_add with the order acq_rel",
    ),
    ("*y = __hip_atomic_exchange(p, 2, __ATOMIC_RELEASE, 4)", "swap with the order release"),
    ("*y = __sync_fetch_and_or_4(p, 1)", "fetch_or with the order seq_cst"),
    ("*y = _InterlockedIncrement((int *)p)", "fetch_add with the order seq_cst"),
    ("++*(_Atomic unsigned *)p", "fetch_add with the order seq_cst"),
    ("*y = _InterlockedExchange((int *)p, 1) + atomicExch(p, 2)", "swap with the order seq_cst"),
];

/// CUDA's headers declare their own atomic functions for PTX. Even with these headers, the
/// compiler's functions must keep their orders.
#[test(crate::NVCC_AND_CLANG.slow())]
fn orders_with_the_headers_of_cuda() {
    let scenario = Scenario::new("atomics_cuda");
    scenario
        .pack("k", r#".file("kernels/k.cu").compiler(Compiler::ClangCuda).archs(["compute_80"])"#);
    let source = "#include <cooperative_groups.h>\n#include <cuda/atomic>\n#include <memory>\n\
             extern \"C\" __global__ void builtin(unsigned *p, unsigned *y) {\n  *y = __atomic_fetch_add(p, 1, __ATOMIC_ACQ_REL);\n}\n\
             extern \"C\" __global__ void reference(unsigned *p, unsigned *y) {\n  \
               *y = cuda::atomic_ref<unsigned>(*p).fetch_add(1, cuda::memory_order_acq_rel);\n}\n\
             extern \"C\" __global__ void plain(unsigned *p, unsigned *y) {\n  *y = atomicAdd(p, 1);\n}\n";
    for (statement, lost) in UNUSUAL {
        let unusual = format!(
            "{source}#include <stdatomic.h>\n\
             extern \"C\" __global__ void k(unsigned *p, unsigned *y) {{ {statement}; }}\n"
        );
        scenario.write("kernels/k.cu", unusual).build().fails().has(&format!("  {lost}, in k\n"));
    }
    scenario.write("kernels/k.cu", source);
    scenario.build().release().passes();
    let found = table::instructions(&scenario.output_text("release", "k/compute_80.ptx"));
    assert_eq!(found["builtin"], ["atom.acq_rel.add.b32.sys"]);
    assert_eq!(found["reference"], found["builtin"]);
    assert_eq!(found["plain"], ["atom.add.b32"]);
}
