//! Compiles a call for each type in the table of `reference/arguments.md`.

use super::page::text_of;
use offload_tests::prelude::*;
use std::fmt::Write;

const PAGE: &str = "docs/guide/src/reference/arguments.md";

const SOURCE: &str = "#include <cuda_bf16.h>\n#include <cuda_fp16.h>\n#include <cuda_fp8.h>\n\
    typedef unsigned long uintptr_t;\ntypedef long ssize_t;\nstruct Range { int first, count; };\n";

const MAIN: &str = r#"#![allow(dead_code, unused_imports)]
use cudarc::driver::{CudaSlice, CudaView, CudaViewMut};
use half::{bf16, f16};
use offload_gpu::run::Buffer;
use offload_gpu::types::*;
use std::ffi::c_void;

mod kernels {
    offload_gpu::include_kernels!("table");
}

fn main() {}
"#;

/// A row of the table: the parameters in C++, and the Rust types that may be passed, and those that
/// may not.
type Row<'a> = [Vec<&'a str>; 3];

/// Returns the rows of the table, reduced to the texts in backticks.
fn rows<'a>(page: &'a str) -> Vec<Row<'a>> {
    let cell = |cell| str::split(cell, '`').skip(1).step_by(2).collect();
    let row = |line: &'a str| {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").collect();
        <[&str; 3]>::try_from(cells).expect("a row has three columns").map(cell)
    };
    page.lines().filter(|line| line.starts_with("| `")).map(row).collect()
}

#[test(CLANG.slow())]
fn the_table_of_arguments_is_right() {
    let page = text_of(&scratch::workspace().join(PAGE));
    let rows = rows(&page);
    assert!(rows.len() > 20, "{rows:?}");
    let mut scenario = Scenario::without_sources("guide_arguments");
    let half = "half = { version = \"2\", default-features = false }\n";
    scenario.with_cudarc().manifest("dependencies", half);

    let (mut source, mut right, mut wrong) = (SOURCE.to_owned(), MAIN.to_owned(), MAIN.to_owned());
    let (mut kernels, mut lines) = (0, Vec::new());
    for [parameters, passed, refused] in &rows {
        assert!(!parameters.is_empty() && !passed.is_empty(), "{parameters:?}");
        for parameter in parameters {
            let name = format!("k{kernels}");
            kernels += 1;
            let _ = writeln!(
                source,
                "extern \"C\" __global__ void {name}({parameter} it) {{ (void)it; }}"
            );
            let call = |(at, ty): (usize, &&str)| {
                format!("fn {name}_{at}(it: {ty}) {{ let _ = kernels::{name}(it); }}\n")
            };
            right.extend(passed.iter().enumerate().map(call));
            if parameter.contains(['*', '&']) {
                let _ = writeln!(right, "fn {name}_null() {{ let _ = kernels::{name}(None); }}");
            }
            for case in refused.iter().enumerate() {
                wrong += &call(case);
                lines.push((wrong.lines().count(), format!("{} for {parameter}", case.1)));
            }
        }
    }
    scenario
        .write("kernels/table.cu", source)
        .pack("table", r#".file("kernels/table.cu").archs(["gfx90a", "compute_80"])"#)
        .write("src/main.rs", right);
    scenario.check().passes();
    scenario.write("src/main.rs", wrong);
    let printed = scenario.check().fails();
    for (line, case) in &lines {
        assert!(
            printed.stderr.contains(&format!("src/main.rs:{line}:")),
            "{case} compiles:\n{printed}"
        );
    }
    printed.times(lines.len(), "cannot be passed\n");
}
