//! The list of checks in running order: the most informative first.

use crate::checks::{
    arguments, contexts, examples, faults, halves, header, limits, math, pairs, processes, readme,
    select, speed, threads,
};
use crate::report::{Result, Run};
use offload_gpu::run::Vendor;

/// A check.
#[derive(Debug)]
pub struct Check {
    pub name: &'static str,
    /// The time limit in seconds for a process that runs this check.
    pub seconds: u64,
    pub sentence: &'static str,
    /// The vendors to whose devices the check applies.
    pub vendors: &'static [Vendor],
    pub run: fn(&mut Run) -> Result<String>,
}

const ALL: &[Vendor] = &[Vendor::Nvidia, Vendor::Amd, Vendor::Intel, Vendor::Cpu];

/// The vendors whose images and drivers the checks can name.
const WITH_DRIVER: &[Vendor] = &[Vendor::Nvidia, Vendor::Amd, Vendor::Cpu];

const GPUS: &[Vendor] = &[Vendor::Nvidia, Vendor::Amd];
const CUDA: &[Vendor] = &[Vendor::Nvidia];

const fn of(
    vendors: &'static [Vendor],
    name: &'static str,
    seconds: u64,
    sentence: &'static str,
    run: fn(&mut Run) -> Result<String>,
) -> Check {
    Check { name, seconds, sentence, vendors, run }
}

/// All checks.
pub const CHECKS: &[Check] = &[
    of(
        ALL,
        "readme",
        30,
        "the kernel of README's program computes what Rust computes",
        readme::run,
    ),
    of(
        WITH_DRIVER,
        "select",
        100,
        "the driver loads and runs the images that `select` accepts, and refuses the others",
        select::run,
    ),
    of(
        WITH_DRIVER,
        "examples",
        90,
        "README's program and the examples, in the folder bin, print what they should",
        examples::run,
    ),
    of(
        ALL,
        "header",
        60,
        "indices, shared memory, barriers, warp functions and atomics of the kernel header",
        header::run,
    ),
    of(
        ALL,
        "math",
        40,
        "mathematical functions of float and double, within the documented errors",
        math::run,
    ),
    of(
        ALL,
        "halves",
        30,
        "half, bfloat16 and 8-bit numbers: every code, and many floats",
        halves::run,
    ),
    of(
        ALL,
        "arguments",
        40,
        "kernels with random lists of parameters get the bytes that were passed",
        arguments::run,
    ),
    of(
        ALL,
        "limits",
        30,
        "launches beyond limits are refused before the driver sees them, and no others",
        limits::run,
    ),
    of(
        ALL,
        "shared-memory",
        30,
        "dynamic shared memory of all sizes, beyond 48 KiB too",
        limits::shared_memory,
    ),
    of(ALL, "threads", 40, "8 threads share a device, its modules and its memory", threads::run),
    of(CUDA, "contexts", 30, "contexts, streams and memory of cudarc", contexts::run),
    of(
        ALL,
        "memory",
        30,
        "too large an allocation is an error, after which memory works",
        threads::memory,
    ),
    of(
        ALL,
        "fork",
        20,
        "after a fork the parent keeps its devices, and the child ends",
        processes::fork,
    ),
    of(
        GPUS,
        "visible",
        40,
        "CUDA_VISIBLE_DEVICES and HIP_VISIBLE_DEVICES hide devices",
        processes::visible,
    ),
    of(ALL, "late", 40, "devices and buffers that are dropped late or never", processes::late),
    of(
        WITH_DRIVER,
        "speed",
        60,
        "launches beside the driver's and cudarc's, first loads, selection: figures only",
        speed::run,
    ),
    // A GPU may not work after this check, so only the check of wrong kernels comes later.
    of(
        WITH_DRIVER,
        "faults",
        60,
        "a kernel that faults: what is told, and that other processes go on",
        faults::run,
    ),
    of(
        ALL,
        "pairs",
        110,
        "right kernels of the corpus of mistakes are right, wrong ones harm nobody else",
        pairs::run,
    ),
];
