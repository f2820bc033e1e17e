//! The list of checks, in the order of running: the most telling first.

use crate::checks::{arguments, halves, header, math, readme, select};
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
];
