//! Modules that a driver has compiled, and their kernels.
//!
//! OpenCL has no dynamic shared memory whose size the launch says. A module for `extern __shared__`
//! has an array instead, and is compiled once for each size that launches ask for: the length of
//! the array is a number in the module.

use super::runtime::{self, OpenCl};
use crate::run::backend::Handle;
use crate::run::error::{Result, RunError};
use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::ffi::CString;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::ffi::{CStr, c_uint};
use core::ptr;
use offload_format::spirv::SpirvModule;
use std::sync::{Mutex, PoisonError};

/// A module on a device.
pub(super) struct Program {
    compiler: Compiler,
    /// The module for launches without dynamic shared memory.
    program: Handle,
    /// The kernels that were asked for.
    #[expect(clippy::vec_box, reason = "a box keeps its address, which is the kernel's handle")]
    kernels: Mutex<Vec<Box<Kernel>>>,
}

/// A module with its device: it is compiled again for each size of dynamic shared memory.
#[derive(Clone)]
struct Compiler {
    opencl: &'static OpenCl,
    context: Handle,
    device: Handle,
    spirv: Vec<u8>,
    /// The offset in the module of the size of dynamic shared memory, if kernels use any.
    size_at: Option<usize>,
    parameters: Vec<(String, Vec<Parameter>)>,
}

/// A kernel of a module.
pub(super) struct Kernel {
    pub(super) parameters: Vec<Parameter>,
    name: CString,
    raw: Handle,
    compiler: Compiler,
    /// Forms of the same kernel for sizes of dynamic shared memory.
    larger: Mutex<Vec<Larger>>,
}

struct Larger {
    size: usize,
    program: Handle,
    kernel: Handle,
}

/// A parameter of a kernel.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parameter {
    /// Its size in bytes.
    pub(super) size: usize,
    /// Whether it is an address in the device's memory.
    pub(super) is_address: bool,
}

impl Program {
    pub(super) fn new(
        opencl: &'static OpenCl,
        context: Handle,
        device: Handle,
        spirv: &[u8],
        attempted: &dyn Fn() -> String,
    ) -> Result<Self> {
        let module = SpirvModule::parse(spirv)
            .map_err(|error| RunError::refused(attempted(), error.to_string()))?;
        let parameters = module.kernels().iter().map(|kernel| {
            let of = kernel.arguments.iter().map(|argument| Parameter {
                size: argument.size as usize,
                is_address: argument.is_address,
            });
            (kernel.name.to_owned(), of.collect())
        });
        let compiler = Compiler {
            opencl,
            context,
            device,
            spirv: spirv.to_vec(),
            size_at: module.dynamic_shared_memory_at().map(|at| at as usize),
            parameters: parameters.collect(),
        };
        let program = compiler.program(0, attempted)?;
        Ok(Self { compiler, program, kernels: Mutex::default() })
    }

    /// Returns the driver's handle of the module.
    pub(super) fn raw(&self) -> Handle {
        self.program
    }

    /// Returns the kernel of this name. Its address stays valid as long as the module.
    pub(super) fn kernel(&self, name: &CStr) -> Result<&Kernel> {
        let mut kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        let known = kernels.iter().position(|kernel| kernel.name.as_c_str() == name);
        let at = match known {
            Some(at) => at,
            None => {
                let raw = self.compiler.kernel(self.program, name)?;
                let parameters = self.compiler.parameters.iter();
                let mut parameters = parameters.filter(|(of, _)| of.as_bytes() == name.to_bytes());
                let parameters = parameters.next().map(|(_, all)| all.clone()).unwrap_or_default();
                let compiler = self.compiler.clone();
                let name = name.to_owned();
                kernels.push(Box::new(Kernel {
                    parameters,
                    name,
                    raw,
                    compiler,
                    larger: Mutex::default(),
                }));
                kernels.len() - 1
            }
        };
        let kernel: *const Kernel = &*kernels[at];
        // SAFETY: the box lives as long as the module: the list only grows.
        Ok(unsafe { &*kernel })
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: the program is released once. The kernels keep it alive until they are dropped.
        unsafe { (self.compiler.opencl.clReleaseProgram)(self.program.0) };
    }
}

impl Kernel {
    /// Returns the driver's handle of the kernel for launches with this many bytes of dynamic
    /// shared memory. The first launch with a size compiles the module; sizes are rounded up to a
    /// power of two.
    pub(super) fn for_shared_memory(&self, bytes: usize) -> Result<Handle> {
        if bytes == 0 || self.compiler.size_at.is_none() {
            return Ok(self.raw);
        }
        let size = bytes.next_power_of_two();
        let mut larger = self.larger.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = larger.iter().find(|larger| larger.size == size) {
            return Ok(found.kernel);
        }
        let attempted = || format!("compile the module for {size} bytes of dynamic shared memory");
        let program = self.compiler.program(size, &attempted)?;
        let kernel = self.compiler.kernel(program, &self.name)?;
        larger.push(Larger { size, program, kernel });
        Ok(kernel)
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        let opencl = self.compiler.opencl;
        let larger = self.larger.get_mut().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: each handle is released once.
        unsafe {
            for larger in larger {
                (opencl.clReleaseKernel)(larger.kernel.0);
                (opencl.clReleaseProgram)(larger.program.0);
            }
            (opencl.clReleaseKernel)(self.raw.0);
        }
    }
}

impl Compiler {
    /// Compiles the module for this many bytes of dynamic shared memory; 0 stands for the number in
    /// the module.
    fn program(&self, shared_memory: usize, attempted: &dyn Fn() -> String) -> Result<Handle> {
        let changed = match self.size_at {
            Some(at) if shared_memory > 0 => {
                let mut spirv = self.spirv.clone();
                let size = u32::try_from(shared_memory).unwrap_or(u32::MAX);
                spirv[at..at + 4].copy_from_slice(&size.to_le_bytes());
                Some(spirv)
            }
            _ => None,
        };
        let spirv = changed.as_deref().unwrap_or(&self.spirv);
        self.opencl.program(self.context.0, self.device.0, spirv, attempted).map(Handle)
    }

    fn kernel(&self, program: Handle, name: &CStr) -> Result<Handle> {
        let attempted = || format!("find the kernel {}", name.to_string_lossy());
        let mut code = 0;
        // SAFETY: the program is compiled, and the name ends with a NUL.
        let kernel = unsafe { (self.opencl.clCreateKernel)(program.0, name.as_ptr(), &mut code) };
        self.opencl.check("clCreateKernel", code, attempted)?;
        // Structs may have addresses.
        let yes: c_uint = 1;
        // SAFETY: the kernel is alive, and the driver reads one number.
        let code = unsafe {
            (self.opencl.clSetKernelExecInfo)(
                kernel,
                runtime::INDIRECT_DEVICE_ACCESS,
                size_of_val(&yes),
                ptr::from_ref(&yes).cast(),
            )
        };
        self.opencl.check("clSetKernelExecInfo", code, attempted)?;
        Ok(Handle(kernel))
    }
}
