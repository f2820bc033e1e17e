//! Packages that are built as described in the guide's page "A library of launchers". They imitate
//! the structure of published packages that launch kernels, but with fewer files and with small
//! kernels of our own. `runtimes/guide` tests the page itself, including its headers crate with a
//! template.
//!
//! | file | shaped like | with |
//! |---|---|---|
//! | `cxx_by_nvcc.rs` | packages with `cc::Build::cuda(true)` | C++ that nvcc compiles |
//! | `newer_gpus.rs` | mistralrs-quant | files in folders, some for newer GPUs only, `cfg` flags, two compilers at a time |
//! | `device_linked.rs` | risc0-sys | two crates with `links`, device code that is linked, C++ of the host |
//!
//! Sources that include `runtime.h` are for both NVIDIA's and AMD's GPUs.

mod cxx_by_nvcc;
mod device_linked;
mod newer_gpus;

use crate::copy_of_program;
use offload_tests::judges::roc_obj_lists;
use offload_tests::prelude::*;

/// The header `runtime.h`. The header includes CUDA's or HIP's runtime, and defines the same names
/// for both.
const RUNTIME: &str = "#pragma once
#ifdef __HIP__
#include <hip/hip_runtime.h>
#define gpuGetLastError hipGetLastError
#else
#include <cuda_runtime.h>
#define gpuGetLastError cudaGetLastError
#endif
";

/// Returns the sorted names of the kernels that `cuobjdump` lists for a target in a library or
/// program.
fn kernels(file: &Path, target: &str) -> Vec<String> {
    let mut usage = cuda("cuobjdump");
    let listed = stdout(&succeed(usage.args(["-res-usage", "-arch", target]).arg(file)));
    let name =
        |line: &str| Some(line.trim().strip_prefix("Function ")?.strip_suffix(':')?.to_owned());
    let mut names: Vec<String> = listed.lines().filter_map(name).collect();
    names.sort_unstable();
    names
}

/// Returns the number of code objects for this processor that `roc-obj-ls` lists in the package's
/// program.
fn code_objects(package: &Scenario, target: &str) -> usize {
    let listed = roc_obj_lists(&copy_of_program(package));
    listed.iter().filter(|(id, ..)| id.ends_with(target)).count()
}

/// Returns the possible results of a launch: `cudaErrorInsufficientDriver` without a driver, or
/// `cudaErrorNoDevice` with a driver but no GPU. On a machine with a GPU, a launch succeeds,
/// because the program does not wait for the kernel.
fn results_of_a_launch() -> &'static [&'static str] {
    if Path::new("/dev/nvidiactl").exists() { &["0", "100"] } else { &["35"] }
}
