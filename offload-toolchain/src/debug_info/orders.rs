//! The orders of atomic operations, in LLVM IR and in PTX that was made from it.
//!
//! Checked with the IR of clang 15 to 22 and of rustc 1.96, and with LLVM's PTX.

/// Returns the names of all atomic instructions that have no order: `atom.global.add.u32`.
pub fn without_order(ptx: &str) -> String {
    let mut names = String::new();
    for line in ptx.lines() {
        for word in line.split_whitespace() {
            let mut is_plain = word.starts_with("atom.") || word.starts_with("red.");
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

/// The operations of LLVM IR with their instructions in PTX, and their names in sources. Operations
/// without an instruction become loops around `cas`, as those of one or two bytes do.
const OPERATIONS: [[&str; 3]; 17] = [
    [" i8 ", CAS, "fetch_update"],
    [" i16 ", CAS, "fetch_update"],
    [" nand ", CAS, "fetch_update"],
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
];

const CAS: &str = ".cas.";

/// Returns a line for each operation that has an order in the LLVM IR, and whose instruction is one
/// of the names in `plain`.
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
        let mut order = "";
        for word in [" acquire", " release", " acq_rel", " seq_cst"] {
            if line.contains(word) {
                order = word;
            }
        }
        if order.is_empty() || !(line.contains(" atomicrmw ") || line.contains(" cmpxchg ")) {
            continue;
        }
        for [operation, instruction, name] in &OPERATIONS {
            if line.contains(operation) {
                if plain.contains(instruction) || plain.contains(CAS) {
                    let function = definition.split(['@', '(']).nth(1).unwrap_or_default();
                    lines += &format!("  {name} with the order{order}, in {function}\n");
                }
                break;
            }
        }
    }
    lines
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
  %8 = load atomic i32, ptr %p acquire, align 4
  fence seq_cst
}
define void @\"a b\"() {
  %release = atomicrmw fadd ptr %acquire, float 1.0 acquire, align 4
  %acq_rel = add i32 %release, 1
}
";

    #[test]
    fn orders_that_are_lost() {
        // As LLVM 22 writes it.
        let ptx = "\tatom.global.add.u32 \t%r1, [%rd1], 1;\n\t@%p1 atom.shared.exch.b64 \t%rd2, [x], %rd3;\n\
                   \tatom.global.max.u32 \t%r2, [%rd1], 1;\n\tatom.acq_rel.sys.global.cas.b32 \t%r3, [%rd1], 0, 1;\n";
        let (first, last) = (
            "  fetch_add with the order acq_rel, in k\n  swap with the order release, in k\n",
            "  fetch_add with the order acquire, in \"a b\"\n",
        );
        assert_eq!(lost(IR, &without_order(ptx)), format!("{first}{last}"));
        // As older versions do.
        let others = "  fetch_update with the order seq_cst, in k\n  fetch_update with the order acquire, in k\n  \
                      compare_exchange with the order acquire, in k\n";
        let old = format!("{ptx}\tatom.cas.b32 \t%r3, [%rd1], 0, 1;\n");
        assert_eq!(lost(IR, &without_order(&old)), format!("{first}{others}{last}"));
        // As a version that keeps all orders could do.
        assert_eq!(lost(IR, &without_order(&ptx.replace("atom.", "atom.relaxed.sys."))), "");
    }
}
