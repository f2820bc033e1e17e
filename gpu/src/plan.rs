//! The list of checks, in the order of running: the most telling first.

use crate::checks::{
    arguments, contexts, examples, faults, halves, header, limits, math, pairs, processes, readme,
    select, speed, threads,
};
use crate::report::{Result, Run};
use offload_gpu::run::DeviceKind;

/// A check.
#[derive(Debug)]
pub struct Check {
    pub name: &'static str,
    /// The seconds after which a process with this check is ended.
    pub seconds: u64,
    pub sentence: &'static str,
    /// The kinds of devices that the check fits.
    pub kinds: &'static [DeviceKind],
    pub run: fn(&mut Run) -> Result<String>,
}

const ALL: &[DeviceKind] = &[DeviceKind::Cuda, DeviceKind::Hip, DeviceKind::Cpu];

/// Returns all checks.
pub const CHECKS: &[Check] = &[
    Check {
        name: "readme",
        seconds: 30,
        sentence: "the kernel of README's program computes what Rust computes",
        kinds: ALL,
        run: readme::run,
    },
    Check {
        name: "select",
        seconds: 60,
        sentence: "the driver loads and runs the images that `select` accepts, and refuses the others",
        kinds: ALL,
        run: select::run,
    },
    Check {
        name: "examples",
        seconds: 90,
        sentence: "README's program and the examples, in the folder bin, print what they should",
        kinds: ALL,
        run: examples::run,
    },
    Check {
        name: "header",
        seconds: 60,
        sentence: "indices, shared memory, barriers, warp functions and atomics of the kernel header",
        kinds: ALL,
        run: header::run,
    },
    Check {
        name: "math",
        seconds: 40,
        sentence: "mathematical functions of float and double, within the documented errors",
        kinds: ALL,
        run: math::run,
    },
    Check {
        name: "halves",
        seconds: 30,
        sentence: "half, bfloat16 and 8-bit numbers: every code, and many floats",
        kinds: ALL,
        run: halves::run,
    },
    Check {
        name: "arguments",
        seconds: 40,
        sentence: "kernels with random lists of parameters get the bytes that were passed",
        kinds: ALL,
        run: arguments::run,
    },
    Check {
        name: "limits",
        seconds: 30,
        sentence: "launches beyond limits are refused before the driver sees them, and no others",
        kinds: ALL,
        run: limits::run,
    },
    Check {
        name: "shared-memory",
        seconds: 30,
        sentence: "dynamic shared memory of all sizes, beyond 48 KiB too",
        kinds: ALL,
        run: limits::shared_memory,
    },
    Check {
        name: "threads",
        seconds: 40,
        sentence: "8 threads share a device, its modules and its memory",
        kinds: ALL,
        run: threads::run,
    },
    Check {
        name: "contexts",
        seconds: 30,
        sentence: "contexts, streams and memory of cudarc",
        kinds: &[DeviceKind::Cuda],
        run: contexts::run,
    },
    Check {
        name: "memory",
        seconds: 30,
        sentence: "too large an allocation is an error, after which memory works",
        kinds: ALL,
        run: threads::memory,
    },
    Check {
        name: "faults",
        seconds: 60,
        sentence: "a kernel that faults: what is told, and that other processes go on",
        kinds: ALL,
        run: faults::run,
    },
    Check {
        name: "fork",
        seconds: 20,
        sentence: "after a fork the parent keeps its devices, and the child ends",
        kinds: ALL,
        run: processes::fork,
    },
    Check {
        name: "visible",
        seconds: 40,
        sentence: "CUDA_VISIBLE_DEVICES and HIP_VISIBLE_DEVICES hide devices",
        kinds: &[DeviceKind::Cuda, DeviceKind::Hip],
        run: processes::visible,
    },
    Check {
        name: "late",
        seconds: 40,
        sentence: "devices and buffers that are dropped late or never",
        kinds: ALL,
        run: processes::late,
    },
    Check {
        name: "pairs",
        seconds: 90,
        sentence: "right kernels of the corpus of mistakes are right, wrong ones harm nobody else",
        kinds: ALL,
        run: pairs::run,
    },
    Check {
        name: "speed",
        seconds: 60,
        sentence: "launches beside the driver's and cudarc's, first loads, selection: figures only",
        kinds: ALL,
        run: speed::run,
    },
];
