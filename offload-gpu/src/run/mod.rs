//! Runs a pack's kernels: finds this machine's devices, loads packs onto them, launches kernels,
//! and manages memory. This module needs the `run` feature.
//!
//! | item | description |
//! |---|---|
//! | [`devices`], [`Device::best_for`], [`Device`] | all vendors' GPUs and the CPU; the absent vendors, each with the reason |
//! | [`KernelPack::on`](crate::KernelPack::on), [`Module::on`](crate::Module::on), [`Loaded`] | the image that fits a device, loaded once |
//! | [`Call::launch`](crate::Call::launch), [`Launch`] | launches a kernel with checked arguments |
//! | [`Buffer`], [`BufferItem`] | device memory, and the types that it can hold |
//! | [`Variable::write`](crate::Variable::write), [`Variable`](crate::Variable) | `__constant__` and `__device__` variables, copied to and from a device |
//! | [`RunError`] | the attempted operation, the device, the cause, and advice |
//!
//! | devices, in list order | names | images | handle of a module ([`Loaded::raw_module`]) |
//! |---|---|---|---|
//! | NVIDIA's GPUs | `cuda:0` | cubins, PTX | a `CUmodule` in the device's context |
//! | AMD's GPUs | `hip:0` | code objects | a `hipModule_t` |
//! | other GPUs whose OpenCL driver compiles SPIR-V, mainly Intel's | `opencl:0` | SPIR-V | a `cl_program`, built only for this device, in a `cl_context` of this crate (`CL_PROGRAM_CONTEXT`). After `clRetainProgram`, the program and its context outlive the [`Device`] |
//! | the CPU | `cpu` | shared objects | the handle of a shared library |
//!
//! This module allocates device memory only for each [`Buffer`] and, on the CPU, for the stacks of
//! kernel threads, which it keeps between launches. It exposes all driver handles, and
//! interoperates with other libraries' contexts, streams and memory: [`Device::from_cuda_context`],
//! [`Launch::stream`], [`DeviceBuffer`](crate::DeviceBuffer).
//!
//! | variable | used by |
//! |---|---|
//! | `OFFLOAD_DEVICE` | [`Device::best_for`]: `cuda:1`, `hip:0`, `opencl:0`, `cpu` |
//! | `OFFLOAD_CPU_THREADS` | launches on the CPU: how many OS threads run the blocks; by default, the number of cores. Concurrent launches share 1024 threads |
//! | `OFFLOAD_CPU_ORDER` | launches on the CPU: the order in which blocks and, between barriers, threads run, all on one OS thread: `forward`, `reverse` or `random:SEED`. If results depend on the order, the kernel has a race |
//! | `OFFLOAD_CPU_TIME_LIMIT` | launches on the CPU: a time limit in seconds. A launch that exceeds it reports the running block and thread, and ends the program. The blocks run in order, on one OS thread |
//! | `OFFLOAD_CPU_LOG` | launches on the CPU: the path of the launch log, with a line for each kernel that is launched, and for each launch that fails a check; `cargo offload test` reads the log |
//!
//! The drivers read their own variables: `CUDA_VISIBLE_DEVICES`, `HIP_VISIBLE_DEVICES` and others.
//! The system's loader searches for the drivers' libraries, regardless of this crate's variables.
//! In setuid programs, the loader ignores its own variables, too.
//!
//! # Threads, processes, exit
//!
//! [`Device`], [`Loaded`] and [`Buffer`] are `Send` and `Sync`: drivers accept handles on every
//! thread, and locks protect shared data. Each call makes the device's context current on the
//! calling thread, and restores the previous context before it returns.
//!
//! On Linux, the first launch on the CPU sets handlers for `SIGSEGV`, `SIGBUS`, `SIGFPE`, `SIGILL`
//! and `SIGTRAP`, which report crashes and stack overflows of kernels. The handlers pass signals
//! with other causes to the previous handlers.
//!
//! After a `fork`, a child has no devices. A driver's library stays loaded until the program ends.
//! Dropping a device's last clone unloads its modules. If a device is never dropped, such as one in
//! a `static`, the driver unloads its modules when the program ends.

mod backend;
mod buffer;
mod context;
mod cpu;
mod cuda;
mod device;
mod error;
mod hip;
mod launch;
mod library;
mod loaded;
mod opencl;
mod variable;

pub use buffer::{Buffer, BufferItem};
pub use bytemuck::Pod;
pub use device::{Absent, Device, Devices, devices};
pub use error::{Cause, Result, RunError};
pub use launch::{Dim, Launch};
pub use loaded::Loaded;
pub use offload_format::target::Vendor;

use alloc::string::String;
use alloc::vec::Vec;

/// The vendors, in the order in which their devices are listed.
const ORDER: [Vendor; Vendor::ALL.len()] =
    [Vendor::Nvidia, Vendor::Amd, Vendor::Intel, Vendor::Cpu];

/// Example device names, for messages.
const NAMES: &str = "cuda:0, cuda:1, hip:0, opencl:0, cpu";

/// Returns a vendor's devices, and the reason if some or all cannot be used. `named` is the number
/// of the device that the user named, if any: some devices can be used only by name.
fn of_vendor(vendor: Vendor, named: Option<i32>) -> (Vec<Device>, Option<String>) {
    let found = match vendor {
        Vendor::Nvidia => cuda::devices(),
        Vendor::Amd => hip::devices(),
        Vendor::Intel => {
            let (found, others) = opencl::devices(named);
            return (found.into_iter().map(Device).collect(), others);
        }
        Vendor::Cpu => Ok(alloc::vec![cpu::device()]),
    };
    match found {
        Ok(found) => (found.into_iter().map(Device).collect(), None),
        Err(why) => (Vec::new(), Some(why)),
    }
}
