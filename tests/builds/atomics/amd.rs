//! Atomic operations on AMD's GPUs. Checks the instructions that write back and invalidate caches,
//! which are listed under "Memory Model" in LLVM's "User Guide for AMDGPU Backend".

use super::table;
use offload_tests::prelude::*;

/// The targets, whose cache instructions all differ.
const TARGETS: [&str; 3] = ["gfx90a", "gfx942", "gfx1100"];

/// Returns the cache instructions for a release and for an acquire in this scope.
fn caches(target: &str, scope: &str) -> [&'static [&'static str]; 2] {
    match (target, scope) {
        ("gfx90a" | "gfx942", "block") => [&[], &[]],
        ("gfx90a", "device") => [&[], &["buffer_wbinvl1_vol"]],
        ("gfx90a", _) => [&["buffer_wbl2"], &["buffer_invl2", "buffer_wbinvl1_vol"]],
        ("gfx942", "device") => [&["buffer_wbl2 sc1"], &["buffer_inv sc1"]],
        ("gfx942", _) => [&["buffer_wbl2 sc0 sc1"], &["buffer_inv sc0 sc1"]],
        (_, "block") => [&[], &["buffer_gl0_inv"]],
        _ => [&[], &["buffer_gl1_inv", "buffer_gl0_inv"]],
    }
}

/// Asserts that each kernel in the table has the instructions for its order and scope. If
/// `is_for_system` is set, every kernel must have the instructions for the system scope.
#[track_caller]
pub fn assert_orders(target: &str, image: &Path, is_for_system: bool) {
    let code = stdout(&succeed(llvm("llvm-objdump").args(["-d", "--no-show-raw-insn"]).arg(image)));
    let mut kernels = 0;
    for kernel in code.split("\n\n") {
        // 0000000000001a00 <swap_u32_acq_rel_system>:
        let Some((name, code)) = kernel.split_once(">:\n") else { continue };
        let name = name.split_once('<').expect("an address and a name").1;
        let [operation, order, scope] = table::parts(name);
        let found: Vec<&str> = code
            .lines()
            .filter_map(|line| line.split("//").next().map(str::trim))
            .filter(|line| line.starts_with("buffer_"))
            .collect();
        let [release, acquire] = caches(target, if is_for_system { "system" } else { scope });
        let mut expected: Vec<&str> = Vec::new();
        if matches!(order, "release" | "acq_rel" | "seq_cst") && operation != "load" {
            expected.extend(release);
        }
        if matches!(order, "acquire" | "acq_rel" | "seq_cst") && operation != "store" {
            expected.extend(acquire);
        }
        assert_eq!(found, expected, "{target}: {name}");
        kernels += 1;
    }
    assert_eq!(kernels, table::sources().count, "{target}");
}

#[test(LLVM.slow())]
fn each_order_and_scope_by_clang() {
    let folder = scratch::folder("atomics-amd");
    let source = folder.join("k.cu");
    scratch::write(&source, table::sources().clang);
    for target in TARGETS {
        let image = folder.join(format!("{target}.o"));
        let mut compile = Command::new(llvm_bin().join("clang"));
        compile
            .args(["-x", "hip", "--cuda-device-only", "-nogpuinc", "-nogpulib", "-std=c++17", "-c"])
            .args(["-O2", "--no-gpu-bundle-output", "-fms-extensions", "-I"])
            .arg(scratch::workspace().join("offload-build/include"))
            .args(["-include", "offload/kernel.h"])
            .arg(format!("--offload-arch={target}"));
        succeed(compile.arg(&source).arg("-o").arg(&image));
        assert_orders(target, &image, false);
    }
}
