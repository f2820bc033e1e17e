//! Compares the memory orders of atomic operations in LLVM IR with those in the PTX or SPIR-V
//! generated from the IR.
//!
//! Checked with the IR of clang 15 to 22 and of rustc 1.96, and with LLVM's PTX and SPIR-V.

use super::ir::name_length;

/// The instructions that lose their order in LLVM's SPIR-V: atomic loads and stores become plain
/// loads and stores, and the orders of the other instructions apply to no memory.
pub const NO_ORDER_IN_SPIRV: &str = ".load.store.fence.cas.";

/// Returns the names of all atomic instructions without an order, such as `atom.global.add.u32`.
#[inline]
pub fn without_order(ptx: &str) -> String {
    let mut names = String::new();
    for line in ptx.lines() {
        for word in line.split_whitespace() {
            if !(word.starts_with("atom.") || word.starts_with("red.")) {
                continue;
            }
            let mut is_plain = true;
            for order in [".relaxed.", ".acquire.", ".release.", ".acq_rel."] {
                is_plain &= !word.contains(order);
            }
            if is_plain {
                names += word;
            }
        }
    }
    names
}

/// The atomic operations of LLVM IR, with their PTX instructions and their names in sources. LLVM
/// compiles all other operations, and those on one or two bytes, to loops around `cas`. The last
/// matching row wins.
const OPERATIONS: [[&str; 3]; 19] = [
    [" cmpxchg ", CAS, "compare_exchange"],
    [" xchg ", ".exch.", "swap"],
    [" add ", ".add.", "fetch_add"],
    [" sub ", ".add.", "fetch_sub"],
    [" and ", ".and.", "fetch_and"],
    [" or ", ".or.", "fetch_or"],
    [" xor ", ".xor.", "fetch_xor"],
    [" max ", ".max.", "fetch_max"],
    [" umax ", ".max.", "fetch_max"],
    [" min ", ".min.", "fetch_min"],
    [" umin ", ".min.", "fetch_min"],
    [" fadd ", ".add.", "fetch_add"],
    [" uinc_wrap ", ".inc.", "fetch_inc"],
    [" udec_wrap ", ".dec.", "fetch_dec"],
    [" i8 ", CAS, FETCH_UPDATE],
    [" i16 ", CAS, FETCH_UPDATE],
    [" load atomic ", ".load.", "load"],
    [" store atomic ", ".store.", "store"],
    [" fence ", ".fence.", "fence"],
];

const CAS: &str = ".cas.";
const FETCH_UPDATE: &str = "fetch_update";

/// Returns a line for each operation with an order in the LLVM IR whose instruction is among the
/// names in `plain`.
///
/// Skips the compiler's own static functions, whose names begin with `__`. For example,
/// `__iAtomicAdd` implements CUDA's `atomicAdd`, which guarantees no order but is `seq_cst` in IR.
///
/// ```text
/// %2 = atomicrmw volatile add ptr %1, i32 1 syncscope("block") acq_rel, align 4, !dbg !9
/// %3 = cmpxchg weak ptr %1, i32 %a, i32 %b release monotonic, align 4
/// ```
pub fn lost(ir: &str, plain: &str) -> String {
    let (mut lines, mut definition) = (String::new(), "");
    for line in ir.lines() {
        if line.starts_with("define ") {
            definition = line;
        }
        // Skip lines that are not instructions, such as strings.
        if !line.starts_with(' ') {
            continue;
        }
        let is_loop = line.contains(" atomicrmw ") || line.contains(" cmpxchg ");
        if !is_loop && !line.contains(" atomic ") && !line.contains(" fence ") {
            continue;
        }
        let mut order = if line.contains(" monotonic") && !is_loop { " monotonic" } else { "" };
        for word in [" acquire", " release", " acq_rel", " seq_cst"] {
            if line.contains(word) {
                order = word;
            }
        }
        let name = definition.split_once('@').unwrap_or_default().1;
        let function = &name[..name_length(name)];
        if order.is_empty() || is_of_compiler(function) {
            continue;
        }
        let mut found = &["", CAS, FETCH_UPDATE];
        for operation in &OPERATIONS {
            if line.contains(operation[0]) {
                found = operation;
            }
        }
        let [_, instruction, name] = found;
        if plain.contains(instruction) || is_loop && plain.contains(CAS) {
            lines += &format!("  {name} with the order{order}, in {function}\n");
        }
    }
    lines
}

/// Whether a mangled name, such as `_ZL12__iAtomicAddPii`, is that of a static function named `__`
/// plus 8 to 17 letters.
fn is_of_compiler(function: &str) -> bool {
    function.starts_with("_ZL1") && function.find("__") == Some(5)
}

#[cfg(test)]
mod tests {
    use super::*;

    const IR: &str = "define ptx_kernel void @k(ptr %p) !dbg !2 {
  %1 = atomicrmw add ptr %p, i32 1 acq_rel, align 4, !dbg !5
  %2 = atomicrmw volatile xchg ptr addrspacecast (ptr addrspace(3) @x to ptr), i64 %v syncscope(\"block\") release, align 8
  %3 = atomicrmw umax ptr %p, i32 1 monotonic, align 4
  %4 = atomicrmw nand ptr %p, i32 1 seq_cst, align 4
  %5 = atomicrmw or ptr %p, i8 1 acquire, align 1
  %6 = cmpxchg weak ptr %p, i32 0, i32 1 acquire monotonic, align 4
  %7 = cmpxchg ptr %p, ptr null, ptr %q monotonic monotonic, align 8
  %8 = load atomic i8, ptr %p acquire, align 1
  fence seq_cst
  store atomic volatile ptr null, ptr %p syncscope(\"block\") monotonic, align 8
}
!0 = !{!\" fence or atomicrmw acquire\"}
define void @\"a b\"() {
  %release = atomicrmw fadd ptr %acquire, float 1.0 acquire, align 4
  %acq_rel = add i32 %release, 1
  %1 = atomicrmw fsub ptr %p, float 1.0 release, align 4
  %2 = atomicrmw fmin ptr %p, double 1.0 acq_rel, align 8
  %3 = atomicrmw usub_sat ptr %p, i32 1 seq_cst, align 4
}
define internal i32 @_ZL12__iAtomicAddPii(ptr %p, i32 %v) {
  %1 = atomicrmw add ptr %p, i32 %v seq_cst, align 4
}
define noundef align 4 dereferenceable(4) ptr @_Z9own__Add1Pi(ptr %p) {
  %1 = atomicrmw add ptr %p, i32 1 seq_cst, align 4
}
";

    #[test]
    fn orders_that_are_lost() {
        // This is PTX as LLVM 22 writes it.
        let ptx = "\tatom.global.add.u32 \t%r1, [%rd1], 1;\n\t@%p1 atom.shared.exch.b64 \t%rd2, [x], %rd3;\n\
                   \tatom.global.max.u32 \t%r2, [%rd1], 1;\n\tatom.acq_rel.sys.global.cas.b32 \t%r3, [%rd1], 0, 1;\n";
        let lines = |known: &[(&str, &str, &str)]| -> String {
            let line = |(name, order, function): &_| {
                format!("  {name} with the order {order}, in {function}\n")
            };
            known.iter().map(line).collect()
        };
        let (first, last) = (
            lines(&[("fetch_add", "acq_rel", "k"), ("swap", "release", "k")]),
            lines(&[("fetch_add", "acquire", "\"a b\"")]),
        );
        let own = lines(&[("fetch_add", "seq_cst", "_Z9own__Add1Pi")]);
        assert_eq!(lost(IR, &without_order(ptx)), format!("{first}{last}{own}"));
        // This is PTX as older versions write it.
        let others = lines(&[
            ("fetch_update", "seq_cst", "k"),
            ("fetch_update", "acquire", "k"),
            ("compare_exchange", "acquire", "k"),
        ]);
        let loops = lines(&[
            ("fetch_update", "release", "\"a b\""),
            ("fetch_update", "acq_rel", "\"a b\""),
            ("fetch_update", "seq_cst", "\"a b\""),
        ]);
        let old = format!("{ptx}\tatom.cas.b32 \t%r3, [%rd1], 0, 1;\n");
        let expected = format!("{first}{others}{last}{loops}{own}");
        assert_eq!(lost(IR, &without_order(&old)), expected);
        let accesses = lines(&[
            ("load", "acquire", "k"),
            ("fence", "seq_cst", "k"),
            ("store", "monotonic", "k"),
        ]);
        let expected = format!("{first}{others}{accesses}{last}{loops}{own}");
        assert_eq!(lost(IR, NO_ORDER_IN_SPIRV), expected);
        // A version that keeps all orders could write this PTX.
        assert_eq!(lost(IR, &without_order(&ptx.replace("atom.", "atom.relaxed.sys."))), "");
    }
}
