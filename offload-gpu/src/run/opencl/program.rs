//! Modules that a driver has compiled, and their kernels.
//!
//! An OpenCL launch cannot set the size of `extern __shared__` arrays. So the module has an array
//! of fixed size, and is compiled again for each size that launches request. Each compiled version
//! is called a form, and has its own variables, so a module with variables is compiled only once,
//! for the largest size.
//!
//! As in CUDA, a kernel that uses such an array only conditionally may be launched without dynamic
//! shared memory. Such a launch also gets the largest size: only the kernel knows whether it uses
//! the array, and an out-of-bounds access may end the process, since code from Intel's compiler for
//! CPUs checks no bounds.

use super::runtime::{self, OpenCl};
use crate::run::backend::Handle;
use crate::run::error::{DriverErrors, Result, RunError};
use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::ffi::CString;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ffi::{CStr, c_uint};
use core::ptr;
use offload_format::spirv::{SpirvModule, with_memory_barriers};
use std::sync::{Mutex, PoisonError};

/// The minimum local memory of a GPU in bytes (OpenCL 3.0, `clGetDeviceInfo`,
/// `CL_DEVICE_LOCAL_MEM_SIZE`), used if the driver does not report the size.
const LEAST_LOCAL_MEMORY: u64 = 32 << 10;

/// The element size in bytes of the array for `extern __shared__`.
const ELEMENT: u64 = 16;

/// A module on a device.
pub(super) struct Program {
    compiler: Arc<Compiler>,
    /// The only form, or the largest one, for launches without dynamic shared memory.
    compiled: Compiled,
    /// The kernels requested so far.
    #[expect(clippy::vec_box, reason = "a box keeps its address, which is the kernel's handle")]
    kernels: Mutex<Vec<Box<Kernel>>>,
}

/// Compiles a module for its device, once for each size of dynamic shared memory.
struct Compiler {
    opencl: &'static OpenCl,
    driver: Driver,
    spirv: Vec<u8>,
    has_variables: bool,
    dynamic: Dynamic,
    parameters: Vec<(String, Vec<Parameter>)>,
    /// The forms for launches with dynamic shared memory, keyed by its size in bytes; shared by all
    /// kernels.
    forms: Mutex<Vec<(u64, Compiled)>>,
}

/// The device that a driver compiles for, and the driver's peculiarities.
#[derive(Clone, Copy)]
pub(super) struct Driver {
    pub(super) context: Handle,
    pub(super) device: Handle,
    pub(super) is_cpu: bool,
    /// Whether the driver accepts the option that makes addresses of variables available.
    pub(super) may_export: bool,
}

/// The forms that a module needs for launches with dynamic shared memory.
#[derive(Clone, Copy)]
enum Dynamic {
    /// No kernel uses dynamic shared memory: there is only one form.
    None,
    /// One form, for at most this many bytes.
    AtMost(u64),
    /// One form for each size.
    Any,
}

/// A compiled module.
struct Compiled {
    opencl: &'static OpenCl,
    program: Handle,
}

/// A kernel, which keeps its compiled module alive.
struct RawKernel {
    opencl: &'static OpenCl,
    kernel: Handle,
}

/// A kernel of a module.
pub(super) struct Kernel {
    pub(super) parameters: Vec<Parameter>,
    name: CString,
    /// The maximum number of threads in a block.
    pub(super) threads: usize,
    raw: RawKernel,
    compiler: Arc<Compiler>,
    /// The kernel in each form, keyed by the size of the dynamic shared memory in bytes.
    larger: Mutex<Vec<(u64, RawKernel)>>,
}

/// A parameter of a kernel.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parameter {
    /// The parameter's size in bytes.
    pub(super) size: usize,
    /// Whether the parameter is an address in device memory.
    pub(super) is_address: bool,
}

impl Program {
    pub(super) fn new(
        opencl: &'static OpenCl,
        driver: Driver,
        spirv: &[u8],
        attempted: &dyn Fn() -> String,
    ) -> Result<Self> {
        let module = parse(spirv, attempted)?;
        let mut parameters = Vec::new();
        for kernel in module.kernels() {
            let mut of_kernel = Vec::new();
            for argument in &kernel.arguments {
                let size = argument.size as usize;
                of_kernel.push(Parameter { size, is_address: argument.is_address });
            }
            parameters.push((kernel.name.to_owned(), of_kernel));
        }
        let mut first = 0;
        let mut dynamic = Dynamic::None;
        if module.has_dynamic_shared_memory() {
            let [most] = opencl.numbers(driver.device.0, runtime::CL_DEVICE_LOCAL_MEM_SIZE);
            let most = if most == 0 { LEAST_LOCAL_MEMORY } else { most };
            first = most.saturating_sub(module.padded_shared_memory()) / ELEMENT * ELEMENT;
            dynamic = if module.has_variables() { Dynamic::AtMost(first) } else { Dynamic::Any };
        }
        let compiler = Compiler {
            opencl,
            driver,
            spirv: spirv.to_vec(),
            has_variables: module.has_variables(),
            dynamic,
            parameters,
            forms: Mutex::default(),
        };
        let compiled = compiler.compile(&module, first, attempted)?;
        Ok(Self { compiler: Arc::new(compiler), compiled, kernels: Mutex::default() })
    }

    pub(super) fn raw(&self) -> Handle {
        self.compiled.program
    }

    /// Returns the kernel with this name. The kernel's address is valid as long as the module
    /// exists.
    pub(super) fn kernel(&self, name: &CStr) -> Result<&Kernel> {
        let mut kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        let known = kernels.iter().position(|kernel| kernel.name.as_c_str() == name);
        let at = match known {
            Some(at) => at,
            None => {
                let raw = self.compiled.kernel(name)?;
                let parameters = self.compiler.parameters.iter();
                let mut parameters = parameters.filter(|(of, _)| of.as_bytes() == name.to_bytes());
                let parameters = parameters.next().map(|(_, all)| all.clone()).unwrap_or_default();
                let (compiler, name) = (Arc::clone(&self.compiler), name.to_owned());
                let threads = raw.opencl.most_threads(raw.kernel.0, compiler.driver.device.0);
                let larger = Mutex::default();
                kernels.push(Box::new(Kernel { parameters, name, threads, raw, compiler, larger }));
                kernels.len() - 1
            }
        };
        let kernel: *const Kernel = &*kernels[at];
        // SAFETY: the box lives as long as the module, since the list only grows.
        Ok(unsafe { &*kernel })
    }
}

impl Kernel {
    pub(super) fn raw(&self) -> Handle {
        self.raw.kernel
    }

    /// Returns the driver's handle of the kernel for launches with this many bytes of dynamic
    /// shared memory. The module's first launch with a given size compiles the module.
    pub(super) fn for_shared_memory(&self, bytes: usize) -> Result<Handle> {
        let bytes = bytes as u64;
        match self.compiler.dynamic {
            Dynamic::AtMost(most) if bytes > most => {
                let attempted = format!("launch {}", self.name.to_string_lossy());
                let why = format!(
                    "it needs {bytes} bytes of dynamic shared memory, but its module, which has device \
                     variables, was compiled only once, for {most} bytes"
                );
                return Err(RunError::refused(attempted, why)
                    .advice("Compile the kernel without these variables, in a separate module."));
            }
            Dynamic::Any if bytes > 0 => {}
            Dynamic::None | Dynamic::AtMost(_) | Dynamic::Any => return Ok(self.raw()),
        }
        // The array has whole elements.
        let bytes = bytes.next_multiple_of(ELEMENT);
        let mut larger = self.larger.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, found)) = larger.iter().find(|(size, _)| *size == bytes) {
            return Ok(found.kernel);
        }
        let raw = self.compiler.kernel(bytes, &self.name)?;
        let kernel = raw.kernel;
        larger.push((bytes, raw));
        Ok(kernel)
    }
}

impl Compiler {
    /// Returns a kernel of the form for this many bytes of dynamic shared memory.
    fn kernel(&self, bytes: u64, name: &CStr) -> Result<RawKernel> {
        let mut forms = self.forms.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, form)) = forms.iter().find(|(size, _)| *size == bytes) {
            return form.kernel(name);
        }
        let attempted = || format!("compile the module for {bytes} bytes of dynamic shared memory");
        let form = self.compile(&parse(&self.spirv, &attempted)?, bytes, &attempted)?;
        let kernel = form.kernel(name);
        forms.push((bytes, form));
        kernel
    }

    /// Compiles the module for this many bytes of dynamic shared memory.
    fn compile(
        &self,
        module: &SpirvModule<'_>,
        bytes: u64,
        attempted: &dyn Fn() -> String,
    ) -> Result<Compiled> {
        let Driver { context, device, is_cpu, may_export } = self.driver;
        let refused =
            |error: offload_format::Error| RunError::refused(attempted(), error.to_string());
        let mut sized = module.for_driver(bytes).map_err(refused)?;
        if is_cpu {
            // Intel's compiler for CPUs (2026.2) treats a barrier as if it ordered no accesses to
            // shared memory. The compiler keeps values in registers, and moves stores out of loops.
            sized = Some(with_memory_barriers(sized.as_deref().unwrap_or(&self.spirv)));
        }
        let spirv = sized.as_deref().unwrap_or(&self.spirv);
        let exports = may_export && self.has_variables;
        let program = self.opencl.program(context.0, device.0, spirv, exports, attempted)?;
        Ok(Compiled { opencl: self.opencl, program: Handle(program) })
    }
}

impl Compiled {
    fn kernel(&self, name: &CStr) -> Result<RawKernel> {
        let attempted = || format!("find the kernel {}", name.to_string_lossy());
        let (opencl, mut code) = (self.opencl, 0);
        // SAFETY: the program is compiled, and the name ends with a NUL.
        let kernel = unsafe { (opencl.clCreateKernel)(self.program.0, name.as_ptr(), &mut code) };
        opencl.check("clCreateKernel", code, attempted)?;
        let raw = RawKernel { opencl, kernel: Handle(kernel) };
        // Arguments that are structs may contain addresses.
        let yes: c_uint = 1;
        // SAFETY: the kernel is alive, and the driver reads one number.
        let code = unsafe {
            (opencl.clSetKernelExecInfo)(
                kernel,
                runtime::INDIRECT_DEVICE_ACCESS,
                size_of_val(&yes),
                ptr::from_ref(&yes).cast(),
            )
        };
        opencl.check("clSetKernelExecInfo", code, attempted)?;
        Ok(raw)
    }
}

impl Drop for Compiled {
    fn drop(&mut self) {
        // SAFETY: the program is released once. Its kernels keep it alive.
        unsafe { (self.opencl.clReleaseProgram)(self.program.0) };
    }
}

impl Drop for RawKernel {
    fn drop(&mut self) {
        // SAFETY: the kernel is released once.
        unsafe { (self.opencl.clReleaseKernel)(self.kernel.0) };
    }
}

fn parse<'a>(spirv: &'a [u8], attempted: &dyn Fn() -> String) -> Result<SpirvModule<'a>> {
    SpirvModule::parse(spirv).map_err(|error| RunError::refused(attempted(), error.to_string()))
}
