//! Atomic operations in SPIR-V. Each instruction must have the right order and scope, both for the
//! block's memory and for the device's.

use super::table;
use offload_tests::judges::spirv_listing;
use offload_tests::prelude::*;

/// Each kernel in the table must have the instructions for its order and scope.
#[test(needs(&[Tool::Llvm22, Tool::Gcc, Tool::SpirvTools]).slow())]
fn each_order_and_scope() {
    let source = table::sources().clang;
    let scenario = Scenario::of("atomics_spirv", "k.cu", r#".arch("spirv64")"#, source);
    scenario.build().release().passes();
    let listing = spirv_listing(&scenario.output("release", "k/spirv64.spv"));
    let value = |id: &str| -> u32 {
        let constant = listing.lines().find_map(|line| line.strip_prefix(&format!("{id} = ")));
        let constant = constant.unwrap_or_else(|| panic!("{id} is no constant"));
        constant.strip_prefix("OpConstant %uint ").map_or(0, |it| it.parse().expect("a number"))
    };
    let mut count = 0;
    for kernel in listing.split("OpFunctionEnd") {
        let Some(id) = kernel.lines().find_map(|line| line.split_once(" = OpFunction ")) else {
            continue;
        };
        let name = id.0.trim_start_matches('%');
        let [operation, order, scope] = table::parts(name);
        let scope = ["system", "device", "block"].iter().position(|it| *it == scope);
        let order = match order {
            "relaxed" => 0,
            "acquire" => 0x302,
            "release" => 0x304,
            "acq_rel" => 0x308,
            _ => 0x310,
        };
        let is_loop =
            name.starts_with("fetch") && ["_f32_", "_f64_"].iter().any(|it| name.contains(it));
        let signed = if name.contains("_i32_") || name.contains("_i64_") { "S" } else { "U" };
        let instruction = match operation {
            _ if is_loop => "CompareExchange".to_owned(),
            "load" => "Load".to_owned(),
            "store" => "Store".to_owned(),
            "swap" => "Exchange".to_owned(),
            "compare" => "CompareExchange".to_owned(),
            "fetch_add" | "fetch_sub" => "IAdd".to_owned(),
            "fetch_and" => "And".to_owned(),
            "fetch_or" => "Or".to_owned(),
            "fetch_xor" => "Xor".to_owned(),
            "fetch_min" => format!("{signed}Min"),
            _ => format!("{signed}Max"),
        };
        // %4 = OpAtomicIAdd %uint %3 %scope %order %2, and OpAtomicStore %3 %scope %order %2
        let mut found = Vec::new();
        for line in kernel.lines() {
            let Some((_, line)) = line.split_once("OpAtomic") else { continue };
            let words: Vec<&str> = line.split(' ').collect();
            let at = if words[0] == "Store" { 2 } else { 3 };
            let what = (words[0].to_owned(), Some(value(words[at]) as usize), value(words[at + 1]));
            // Compare-exchange loops begin with a load.
            if words[0] != "Load" || instruction == "Load" {
                found.push(what);
            }
        }
        // Each instruction appears twice: for the device's memory and for the block's.
        assert_eq!(found, vec![(instruction, scope, order); 2], "{name}");
        count += 1;
    }
    assert_eq!(count, table::sources().count);
}

/// If clang drops an operation's order, the build must fail with an error that names the operation.
#[test(needs(&[Tool::Llvm22, Tool::Gcc, Tool::SpirvTools]).slow())]
fn what_spirv_loses_is_an_error() {
    let scenario = Scenario::new("atomics_spirv_errors");
    scenario.pack("k", r#".file("kernels/k.cu").arch("spirv64")"#);
    let build = |statement: &str| {
        let kernel = format!(
            "extern \"C\" __global__ void k(unsigned *p, unsigned *y) {{ {statement}; }}\n"
        );
        scenario.write("kernels/k.cu", kernel).build()
    };
    for (statement, lost) in [
        ("*(_Atomic(unsigned) *)p = 1", "store with the order seq_cst"),
        ("*y = __hip_atomic_load(p, __ATOMIC_ACQUIRE, 2)", "load with the order acquire"),
        ("__hip_atomic_store(p, *y, __ATOMIC_RELAXED, 4)", "store with the order monotonic"),
        ("*y = 1; __c11_atomic_thread_fence(__ATOMIC_SEQ_CST)", "fence with the order seq_cst"),
        ("*y = __sync_fetch_and_add_4(p, 1)", "fetch_add with the order seq_cst"),
    ] {
        build(statement)
            .fails()
            .has("the image for spirv64 would lose the memory order of these atomic operations")
            .has(&format!("  {lost}, in k\n"))
            .has("Use __atomic_load_n, __atomic_fetch_add and similar functions");
    }
    build("*y = __atomic_load_n(p, __ATOMIC_ACQUIRE) + atomicAdd(p, 1); __atomic_signal_fence(5)")
        .passes();
}
