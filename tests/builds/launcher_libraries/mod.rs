//! Packages that are built as described in the guide's page "A library of launchers". They imitate
//! published packages that launch kernels: the same structure, with fewer files and small kernels
//! of our own.
//!
//! | file | shaped like | with |
//! |---|---|---|
//! | `newer_gpus.rs` | mistralrs-quant | files in folders, some for newer GPUs only, and `cfg` flags |
//! | `instantiations.rs` | candle-flash-attn | files that instantiate templates of a headers crate, two compilers at a time |
//! | `device_linked.rs` | risc0-sys | two crates with `links`, device code that is linked, C++ of the host |
//!
//! Sources that include `runtime.h` are for both vendors.

mod device_linked;
mod instantiations;
mod newer_gpus;

use offload_tests::judges::roc_obj_lists;
use offload_tests::registry::{Needs, needs};
use offload_tests::scenario::Scenario;
use offload_tests::tools::{Tool, cuda, stdout, succeed};
use std::fs;
use std::path::Path;

offload_tests::tests! {
    ;
    device_linked::tests(),
    instantiations::tests(),
    newer_gpus::tests(),
}

const HIP: Needs =
    needs(&[Tool::Rocm, Tool::Hip5, Tool::Gcc, Tool::Llvm22, Tool::RocObj, Tool::NoAmdGpu]);

/// The header `runtime.h`. It includes the vendor's runtime and defines the same names for both
/// vendors.
const RUNTIME: &str = "#pragma once
#ifdef __HIP__
#include <hip/hip_runtime.h>
#define gpuGetLastError hipGetLastError
#else
#include <cuda_runtime.h>
#define gpuGetLastError cudaGetLastError
#endif
";

/// Makes a member the headers crate: its build script passes the path of its folder `include` to
/// dependents.
fn pass_headers_on(member: &Scenario) {
    member.write(
        "build.rs",
        "fn main() {\n    println!(\"cargo::rerun-if-changed=build.rs\");\n    \
         println!(\"cargo::metadata=include={}/include\", std::env::var(\"CARGO_MANIFEST_DIR\").unwrap());\n}\n",
    );
}

/// Returns the sorted kernels of a library or program for a target, as `cuobjdump` lists them.
fn kernels(file: &Path, target: &str) -> Vec<String> {
    let listed =
        stdout(&succeed(cuda("cuobjdump").args(["-res-usage", "-arch", target]).arg(file)));
    let names =
        listed.lines().filter_map(|line| line.trim().strip_prefix("Function ")?.strip_suffix(':'));
    let mut names: Vec<String> = names.map(str::to_owned).collect();
    names.sort_unstable();
    names
}

/// Returns the number of sources for which a program has code objects for this processor, as
/// `roc-obj-ls` lists them.
fn code_objects(program: &Path, target: &str) -> usize {
    // `roc-obj-ls` leaves files next to its input, so it gets a copy.
    let copy = program.with_extension("copy");
    fs::copy(program, &copy).expect("it can be copied");
    roc_obj_lists(&copy).iter().filter(|(id, ..)| id.ends_with(target)).count()
}

/// Returns the possible results of a launch: without a driver `cudaErrorInsufficientDriver`, with a
/// driver and no GPU `cudaErrorNoDevice`. On a machine with a GPU, a launch succeeds, since the
/// program does not wait for the kernel.
fn results_of_a_launch() -> &'static [&'static str] {
    if Path::new("/dev/nvidiactl").exists() { &["0", "100"] } else { &["35"] }
}
