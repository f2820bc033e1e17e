//! Finds which values of a kernel are the same in all threads, or in all threads of a row.

use super::text::{Line, has, word};

/// Instructions without side effects, which may run even if their result is not needed.
pub(super) const PURE: &str = " add sub mul shl lshr ashr and or xor trunc zext sext icmp fcmp select uitofp \
    sitofp fadd fsub fmul fneg fpext fptrunc ptrtoint inttoptr bitcast freeze ";
pub(super) const PURE_CALLS: [&str; 7] = [
    "@llvm.threadlocal.address.",
    "@llvm.umin.",
    "@llvm.umax.",
    "@llvm.smin.",
    "@llvm.smax.",
    "@llvm.abs.",
    "@llvm.fshl.",
];

/// Flags in the result of `known`, besides the number for a value. `CONSTANT`: the value is loaded
/// from memory that no thread changes. `VARIES`: it differs between threads. `IN_ROW`: it differs
/// between threads of the same row. `SUM`: it is `threadIdx.x` plus values that are the same in a
/// row, or an address whose offset is such a sum. `AGREED`: it is the same in threads that run
/// together, because it depends on comparisons of such sums.
pub(super) const CONSTANT: usize = 8;
pub(super) const VARIES: usize = 16;
pub(super) const IN_ROW: usize = 32;
pub(super) const SUM: usize = 64;
pub(super) const AGREED: usize = 128;

/// If an instruction compares a sum by order, returns the signed or unsigned `<=`, the sum's type,
/// and the number of its value. Returns `None` for other instructions.
pub(super) fn comparison<'a>(
    line: &'a Line,
    of: &[usize],
) -> Option<(&'static str, &'a str, usize)> {
    let text = line.text.split_once(" = icmp ")?.1;
    let text = text.strip_prefix("samesign ").unwrap_or(text);
    let (order, ty) = (word(text, 0), word(text, 1));
    let mut sums = line.uses.iter().filter(|&&value| of[value] & IN_ROW != 0);
    let (sum, others) = (*sums.next()?, sums.next());
    let is_sum = of[sum] & SUM != 0 && others.is_none();
    let is_order = is_sum && ["i32", "i64"].contains(&ty) && !["eq", "ne"].contains(&order);
    is_order.then_some((if order.starts_with('s') { "sle" } else { "ule" }, ty, sum))
}

/// Returns what is known about a result: nothing (0), its value (1), or what it is the address of:
/// memory that no thread changes (2), a pointer to such memory (3), a part of `threadIdx` (4), or
/// `threadIdx.x` (5).
pub(super) fn known(line: &Line, of: &[usize]) -> usize {
    // Usually, an operand is unknown: find that out before searching the text.
    for &value in &line.uses {
        if of[value] == 0 {
            return 0;
        }
    }
    let text = &line.text;
    let (mut first, mut varies) = (1, 0);
    if has(text, &["%threadIdx."]) {
        (first, varies) = (if has(text, &["%threadIdx.of.0"]) { 5 } else { 4 }, VARIES);
    } else if has(text, &["%offload_cpu_"]) {
        varies = VARIES | IN_ROW | SUM;
    } else if has(text, &["%blockIdx.", "%blockDim.", "%gridDim."]) {
        first = 2;
    }
    let (mut sums, mut others) = (0, 0);
    for (at, &value) in line.uses.iter().enumerate() {
        varies |= of[value] & (VARIES | IN_ROW);
        sums += usize::from(of[value] & SUM != 0);
        others += usize::from(of[value] & (SUM | IN_ROW) == IN_ROW);
        if at == 0 {
            first = of[value] & 7;
        }
    }
    let code = line.opcode();
    let divisor = || text.split_once(", ").unwrap_or_default().1.parse::<u64>();
    let known = match code {
        "load" if has(text, &[" volatile ", " atomic "]) => 0,
        "load" if first > 3 => {
            if first == 5 {
                varies |= if has(text, &[" load i32, "]) { IN_ROW | SUM } else { IN_ROW };
            }
            1
        }
        "load" if has(text, &["!invariant.load"]) => [0, 0, 1, 2][first],
        "load" => [0, 0, 1 | CONSTANT, 2 | CONSTANT][first],
        // Prevent an early load from this address: a varying index may be out of bounds in threads
        // that do not run this instruction.
        "getelementptr" if line.uses.len() > 1 => 1,
        "getelementptr" if first == 5 => {
            if !["i64 4", "i64 8", "i32 1", "i32 2"].iter().any(|it| text.ends_with(it)) {
                varies |= IN_ROW;
            }
            4
        }
        "getelementptr" => first,
        "call" if has(text, &["@offload_cpu_place("]) => first,
        "call" => usize::from(has(text, &PURE_CALLS)),
        "urem" | "udiv" | "srem" | "sdiv" => usize::from(divisor().is_ok_and(|it| it != 0)),
        // clang allocates fixed-size variables in the first block.
        "alloca" if line.segment == 0 && line.uses.is_empty() => 1 | VARIES | IN_ROW,
        _ => usize::from(has(PURE, &[&format!(" {code} ")])),
    };
    let is_agreed = |&value: &usize| of[value] & (IN_ROW | AGREED) != IN_ROW;
    if comparison(line, of).is_some() || code != "load" && line.uses.iter().all(is_agreed) {
        varies |= AGREED;
    }
    // A row contains too few threads for their sums to wrap around twice.
    let is_difference = code == "sub" && line.uses.len() == 2 && of[line.uses[0]] & SUM != 0;
    if (is_difference || ["add", "sext", "zext", "getelementptr"].contains(&code))
        && sums == 1
        && others == 0
    {
        varies |= SUM;
    }
    if known == 0 { 0 } else { known | varies }
}
