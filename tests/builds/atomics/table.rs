//! Every atomic operation with every order and scope, on each number type, in three languages.

use std::collections::BTreeMap;
use std::fmt::Write;

/// A number type: its names in Rust and in C++, and whether it is a floating-point type.
const NUMBERS: [(&str, &str, bool); 6] = [
    ("u32", "unsigned", false),
    ("i32", "int", false),
    ("u64", "unsigned long long", false),
    ("i64", "long long", false),
    ("f32", "float", true),
    ("f64", "double", true),
];

/// A memory order: its names in Rust and in C++. The compiler's functions use the C++ name in
/// capitals.
const ORDERS: [(&str, &str); 5] = [
    ("Relaxed", "relaxed"),
    ("Acquire", "acquire"),
    ("Release", "release"),
    ("AcqRel", "acq_rel"),
    ("SeqCst", "seq_cst"),
];

/// A scope: its method in Rust, and its names in the compiler's functions and in CUDA.
const SCOPES: [(&str, &str, &str); 3] =
    [(".block()", "WRKGRP", "block"), (".device()", "DEVICE", "device"), ("", "SYSTEM", "system")];

const OPERATIONS: [&str; 11] = [
    "load",
    "store",
    "swap",
    "compare",
    "fetch_add",
    "fetch_sub",
    "fetch_and",
    "fetch_or",
    "fetch_xor",
    "fetch_min",
    "fetch_max",
];

/// The kernels in three languages. A kernel has the same name in all three.
pub struct Sources {
    pub rust: String,
    pub clang: String,
    pub nvcc: String,
    pub count: usize,
}

/// Returns a kernel for each combination in the table, in each language.
pub fn sources() -> Sources {
    let mut all = Sources {
        rust: "use core::sync::atomic::Ordering::*;\nuse offload_kernel::{Atomic, kernel};\n"
            .to_owned(),
        clang: String::new(),
        nvcc: "#include <cuda/atomic>\n".to_owned(),
        count: 0,
    };
    for (rust, cxx, is_float) in NUMBERS {
        for operation in OPERATIONS {
            let is_of_integers = !matches!(
                operation,
                "load" | "store" | "swap" | "compare" | "fetch_add" | "fetch_sub"
            );
            if is_float && is_of_integers {
                continue;
            }
            for order in ORDERS {
                let is_wrong = match operation {
                    "load" => matches!(order.0, "Release" | "AcqRel"),
                    "store" => matches!(order.0, "Acquire" | "AcqRel"),
                    _ => false,
                };
                for scope in SCOPES.into_iter().filter(|_| !is_wrong) {
                    all.add(operation, (rust, cxx), order, scope);
                }
            }
        }
    }
    all
}

impl Sources {
    fn add(
        &mut self,
        operation: &str,
        (number, cxx): (&str, &str),
        (order, order_cxx): (&str, &str),
        (method, scope, scope_cuda): (&str, &str, &str),
    ) {
        let name = format!("{operation}_{number}_{order_cxx}_{scope_cuda}");
        let in_rust = match operation {
            "load" => format!("*y = at.load({order})"),
            "store" => format!("at.store(*y, {order})"),
            "compare" => format!(
                "*y = match at.compare_exchange(*y, *y.add(1), {order}, Relaxed) {{ Ok(old) | Err(old) => old }}"
            ),
            other => format!("*y = at.{other}(*y, {order})"),
        };
        let by = format!("__ATOMIC_{}, __MEMORY_SCOPE_{scope}", order_cxx.to_uppercase());
        let builtin = match operation {
            "load" => format!("__scoped_atomic_load(p, y, {by})"),
            "store" => format!("__scoped_atomic_store(p, y, {by})"),
            "swap" => format!("__scoped_atomic_exchange(p, y, y, {by})"),
            "compare" => format!(
                "__scoped_atomic_compare_exchange(p, y, y + 1, false, {})",
                by.replace(", ", ", __ATOMIC_RELAXED, ")
            ),
            other => format!("*y = __scoped_atomic_{other}(p, *y, {by})"),
        };
        let by = format!("cuda::memory_order_{order_cxx}");
        let in_cuda = match operation {
            "load" => format!("*y = at.load({by})"),
            "store" => format!("at.store(*y, {by})"),
            "swap" => format!("*y = at.exchange(*y, {by})"),
            "compare" => {
                format!("at.compare_exchange_strong(*y, y[1], {by}, cuda::memory_order_relaxed)")
            }
            other => format!("*y = at.{other}(*y, {by})"),
        };
        let start = format!("extern \"C\" __global__ void {name}({cxx} *p, {cxx} *y)");
        let _ = writeln!(
            self.rust,
            "kernel! {{ pub unsafe fn {name}(p: *mut {number}, y: *mut {number}) {{\n\
             unsafe {{ let at = Atomic::from_ptr(p){method}; {in_rust} }}\n}} }}"
        );
        let _ = writeln!(self.clang, "{start} {{ {builtin}; }}");
        let _ = writeln!(
            self.nvcc,
            "{start} {{ cuda::atomic_ref<{cxx}, cuda::thread_scope_{scope_cuda}> at(*p); {in_cuda}; }}"
        );
        self.count += 1;
    }
}

/// Returns the operation, the order and the scope in a kernel's name.
pub fn parts(name: &str) -> [&str; 3] {
    let operation = OPERATIONS.iter().find(|it| name.starts_with(**it)).expect("an operation");
    let scope = name.rsplit('_').next().expect("a scope");
    let order = ORDERS.iter().find(|(_, order)| name.contains(&format!("_{order}_{scope}")));
    [operation, order.expect("an order").1, scope]
}

/// Returns each PTX kernel's atomic instructions and fences, but not its plain reads and writes.
/// The parts of an instruction's name are sorted. `u32` and `s32` become `b32` where signedness
/// does not matter.
pub fn instructions(ptx: &str) -> BTreeMap<String, Vec<String>> {
    let (mut kernels, mut kernel) = (BTreeMap::<String, Vec<String>>::new(), String::new());
    for line in ptx.lines() {
        if let Some(name) = line.strip_prefix(".visible .entry ") {
            name.trim_end_matches('(').clone_into(&mut kernel);
            kernels.entry(kernel.clone()).or_default();
        }
        let Some(word) = line.split_whitespace().find(|word| !word.starts_with('@')) else {
            continue;
        };
        let mut parts: Vec<&str> = word.trim_end_matches(';').split('.').collect();
        let is_seen = match parts[0] {
            "atom" | "red" | "fence" | "membar" => true,
            "ld" | "st" => {
                parts.iter().any(|it| matches!(*it, "relaxed" | "acquire" | "release" | "volatile"))
            }
            _ => false,
        };
        if !is_seen {
            continue;
        }
        let is_ordered = parts.iter().any(|part| matches!(*part, "min" | "max"));
        for part in &mut parts {
            *part = match *part {
                "u32" | "s32" if !is_ordered => "b32",
                "u64" | "s64" if !is_ordered => "b64",
                other => other,
            };
        }
        parts.retain(|part| *part != "global");
        parts[1..].sort_unstable();
        kernels.get_mut(&kernel).expect("an instruction is in a kernel").push(parts.join("."));
    }
    kernels
}
