//! The functions of the OpenCL loader and of Intel's memory extension, and their errors.
//!
//! Names, types and numbers are as in Khronos' `CL/cl.h` and `CL/cl_ext.h` (OpenCL 3.0); the
//! extension is `cl_intel_unified_shared_memory`, version 1.0.

use crate::run::error::{Cause, DriverErrors, Result, RunError};
use crate::run::library::{self, functions};
use alloc::ffi::CString;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use core::ffi::{c_char, c_int, c_uint, c_void};
use core::ptr::{self, NonNull};
use std::sync::OnceLock;

/// The names of the loader's library.
const LIBRARIES: &[&str] =
    if cfg!(windows) { &["OpenCL.dll"] } else { &["libOpenCL.so.1", "libOpenCL.so"] };

// Errors.
const CL_SUCCESS: c_int = 0;
const CL_DEVICE_NOT_FOUND: c_int = -1;
const CL_BUILD_PROGRAM_FAILURE: c_int = -11;
const CL_PLATFORM_NOT_FOUND_KHR: c_int = -1001;

// Parameters of queries to platforms, devices and programs.
pub(super) const CL_PLATFORM_VENDOR: c_uint = 0x0903;
const CL_DEVICE_TYPE_CPU: u64 = 2;
const CL_DEVICE_TYPE_GPU: u64 = 4;
pub(super) const CL_DEVICE_MAX_WORK_GROUP_SIZE: c_uint = 0x1004;
pub(super) const CL_DEVICE_MAX_WORK_ITEM_SIZES: c_uint = 0x1005;
pub(super) const CL_DEVICE_MAX_MEM_ALLOC_SIZE: c_uint = 0x1010;
const CL_DEVICE_SINGLE_FP_CONFIG: c_uint = 0x101b;
const CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT: u64 = 1 << 7;
pub(super) const CL_DEVICE_GLOBAL_MEM_SIZE: c_uint = 0x101f;
pub(super) const CL_DEVICE_LOCAL_MEM_SIZE: c_uint = 0x1023;
pub(super) const CL_DEVICE_NAME: c_uint = 0x102b;
pub(super) const CL_DEVICE_EXTENSIONS: c_uint = 0x1030;
pub(super) const CL_DEVICE_IL_VERSION: c_uint = 0x105b;
pub(super) const CL_DEVICE_SUB_GROUP_SIZES_INTEL: c_uint = 0x4108;
const CL_PROGRAM_BUILD_LOG: c_uint = 0x1183;
const CL_KERNEL_WORK_GROUP_SIZE: c_uint = 0x11b0;
/// Lets kernels access device memory through addresses that are stored in memory.
pub(super) const INDIRECT_DEVICE_ACCESS: c_uint = 0x4201;

functions! {
    /// The loader's functions that this crate calls. Handles are opaque pointers.
    struct OpenCl {
        fn clGetPlatformIDs(c_uint, *mut *mut c_void, *mut c_uint) -> c_int;
        fn clGetPlatformInfo(*mut c_void, c_uint, usize, *mut c_void, *mut usize) -> c_int;
        fn clGetDeviceIDs(*mut c_void, u64, c_uint, *mut *mut c_void, *mut c_uint) -> c_int;
        fn clGetDeviceInfo(*mut c_void, c_uint, usize, *mut c_void, *mut usize) -> c_int;
        fn clCreateContext(
            *const isize, c_uint, *const *mut c_void, *const c_void, *mut c_void, *mut c_int,
        ) -> *mut c_void;
        fn clReleaseContext(*mut c_void) -> c_int;
        fn clCreateCommandQueueWithProperties(
            *mut c_void, *mut c_void, *const u64, *mut c_int,
        ) -> *mut c_void;
        fn clReleaseCommandQueue(*mut c_void) -> c_int;
        fn clCreateProgramWithIL(*mut c_void, *const c_void, usize, *mut c_int) -> *mut c_void;
        fn clBuildProgram(
            *mut c_void, c_uint, *const *mut c_void, *const c_char, *const c_void, *mut c_void,
        ) -> c_int;
        fn clGetProgramBuildInfo(
            *mut c_void, *mut c_void, c_uint, usize, *mut c_void, *mut usize,
        ) -> c_int;
        fn clReleaseProgram(*mut c_void) -> c_int;
        fn clCreateKernel(*mut c_void, *const c_char, *mut c_int) -> *mut c_void;
        fn clReleaseKernel(*mut c_void) -> c_int;
        fn clGetKernelWorkGroupInfo(
            *mut c_void, *mut c_void, c_uint, usize, *mut c_void, *mut usize,
        ) -> c_int;
        fn clSetKernelArg(*mut c_void, c_uint, usize, *const c_void) -> c_int;
        fn clSetKernelExecInfo(*mut c_void, c_uint, usize, *const c_void) -> c_int;
        // The arguments: the queue, the kernel, the number of dimensions, the offsets, the threads
        // of the grid, the threads of a block, the events to wait for and their number, and the
        // event.
        fn clEnqueueNDRangeKernel(
            *mut c_void, *mut c_void, c_uint, *const usize, *const usize, *const usize, c_uint,
            *const c_void, *mut c_void,
        ) -> c_int;
        fn clFlush(*mut c_void) -> c_int;
        fn clFinish(*mut c_void) -> c_int;
        fn clGetExtensionFunctionAddressForPlatform(*mut c_void, *const c_char) -> *mut c_void;
        optional
    }
}

functions! {
    /// A platform's functions from Intel's memory extension, through which memory has addresses.
    struct Memory {
        // The arguments: the context, the device, the properties, the size in bytes, the alignment,
        // and the error.
        fn clDeviceMemAllocINTEL(
            *mut c_void, *mut c_void, *const u64, usize, c_uint, *mut c_int,
        ) -> *mut c_void;
        // The function waits for commands that use the memory. The arguments: the context and the
        // address.
        fn clMemBlockingFreeINTEL(*mut c_void, *mut c_void) -> c_int;
        // The arguments: the queue, whether to wait, the destination, the source, the size in
        // bytes, the events to wait for and their number, and the event.
        fn clEnqueueMemcpyINTEL(
            *mut c_void, c_uint, *mut c_void, *const c_void, usize, c_uint, *const c_void, *mut c_void,
        ) -> c_int;
        // The arguments: the kernel, the argument's index, and the address.
        fn clSetKernelArgMemPointerINTEL(*mut c_void, c_uint, *const c_void) -> c_int;
        optional
        // `None` if the platform's programs cannot access variables of kernels. The arguments: the
        // device, the program, the name, the size, and the address.
        fn clGetDeviceGlobalVariablePointerINTEL(
            *mut c_void, *mut c_void, *const c_char, *mut usize, *mut *mut c_void,
        ) -> c_int;
    }
}

/// The option that makes Intel's compiler for GPUs expose the addresses of variables to programs.
/// Intel's compiler for CPUs always does so, and rejects the option.
///
/// Source: the plugin for Intel's GPUs in the offloading runtime of LLVM 22.
const EXPORT_VARIABLES: &str = "-cl-take-global-address";

/// A device of a platform.
#[derive(Clone, Copy)]
pub(super) struct DeviceId {
    pub(super) platform: *mut c_void,
    pub(super) device: *mut c_void,
    pub(super) is_cpu: bool,
}

/// The result of the first call to `get`.
static OPENCL: OnceLock<core::result::Result<OpenCl, String>> = OnceLock::new();

impl OpenCl {
    /// Returns the loader. The first call loads it.
    ///
    /// Returns an error message if there is no loader.
    pub(super) fn get() -> core::result::Result<&'static Self, String> {
        let load = || {
            // SAFETY: these names belong to Khronos' loader and its replacements, and the types are
            // those of its header.
            unsafe { library::open(LIBRARIES, Self::of) }.map_err(|why| format!("no OpenCL: {why}"))
        };
        OPENCL.get_or_init(load).as_ref().map_err(String::clone)
    }

    /// Returns the GPUs of all platforms, followed by the CPUs. Omits the platforms of NVIDIA and
    /// AMD, since their GPUs are used through CUDA and HIP.
    pub(super) fn devices(&self) -> Result<Vec<DeviceId>> {
        let (mut gpus, mut cpus) = (Vec::new(), Vec::new());
        for platform in self.platforms()? {
            let vendor = self.text(platform, CL_PLATFORM_VENDOR, self.clGetPlatformInfo);
            if vendor.starts_with("NVIDIA") || vendor.starts_with("Advanced Micro Devices") {
                continue;
            }
            for (list, kind) in [(&mut gpus, CL_DEVICE_TYPE_GPU), (&mut cpus, CL_DEVICE_TYPE_CPU)] {
                let is_cpu = kind == CL_DEVICE_TYPE_CPU;
                // Ignore a broken platform: the others may work.
                let found = self.devices_of(platform, kind).unwrap_or_default();
                list.extend(found.into_iter().map(|device| DeviceId { platform, device, is_cpu }));
            }
        }
        gpus.append(&mut cpus);
        Ok(gpus)
    }

    fn platforms(&self) -> Result<Vec<*mut c_void>> {
        self.list(
            "clGetPlatformIDs",
            "platforms",
            CL_PLATFORM_NOT_FOUND_KHR,
            &|room, all, count| {
                // SAFETY: `all` has space for `room` handles, and `count` is null or valid for
                // writes.
                unsafe { (self.clGetPlatformIDs)(room, all, count) }
            },
        )
    }

    fn devices_of(&self, platform: *mut c_void, kind: u64) -> Result<Vec<*mut c_void>> {
        self.list("clGetDeviceIDs", "devices", CL_DEVICE_NOT_FOUND, &|room, all, count| {
            // SAFETY: the platform is one of `platforms`, `all` has space for `room` handles, and
            // `count` is null or valid for writes.
            unsafe { (self.clGetDeviceIDs)(platform, kind, room, all, count) }
        })
    }

    /// Returns a text that a platform or a device reports; empty if there is none.
    pub(super) fn text(
        &self,
        of: *mut c_void,
        what: c_uint,
        ask: unsafe extern "C" fn(*mut c_void, c_uint, usize, *mut c_void, *mut usize) -> c_int,
    ) -> String {
        text(&|room, bytes, size| {
            // SAFETY: `bytes` has space for `room` bytes, and `size` is null or valid for writes.
            unsafe { ask(of, what, room, bytes, size) }
        })
    }

    /// Returns numbers that a device reports; zeros if the device does not report them.
    pub(super) fn numbers<const N: usize>(&self, device: *mut c_void, what: c_uint) -> [u64; N] {
        let mut numbers = [0_u64; N];
        let size = size_of_val(&numbers);
        // SAFETY: `numbers` has space for `size` bytes, and any bits are valid numbers. `size_t`
        // and `cl_ulong` have 8 bytes on the systems that have this driver.
        unsafe {
            (self.clGetDeviceInfo)(device, what, size, numbers.as_mut_ptr().cast(), ptr::null_mut())
        };
        numbers
    }

    /// Returns a device's limits; a limit that it does not report is `u64::MAX`. In that case, the
    /// driver itself rejects a request that is too large.
    pub(super) fn limits<const N: usize>(&self, device: *mut c_void, what: c_uint) -> [u64; N] {
        let mut limits = self.numbers(device, what);
        for limit in &mut limits {
            if *limit == 0 {
                *limit = u64::MAX;
            }
        }
        limits
    }

    /// Returns the maximum number of threads in a block of this kernel on the device.
    pub(super) fn most_threads(&self, kernel: *mut c_void, device: *mut c_void) -> usize {
        let mut most = usize::MAX;
        let (what, size) = (CL_KERNEL_WORK_GROUP_SIZE, size_of_val(&most));
        let to = ptr::from_mut(&mut most).cast();
        // SAFETY: kernel and device are alive, and the call writes one number. If the call fails,
        // the launch returns the driver's error.
        unsafe { (self.clGetKernelWorkGroupInfo)(kernel, device, what, size, to, ptr::null_mut()) };
        most
    }

    /// Returns the functions of the memory extension; `None` if the platform lacks them.
    pub(super) fn memory(&self, platform: *mut c_void) -> Option<Memory> {
        let find = |name: &str| {
            let name = CString::new(name).ok()?;
            // SAFETY: the platform is one of `platforms`, and the name ends with a NUL.
            NonNull::new(unsafe {
                (self.clGetExtensionFunctionAddressForPlatform)(platform, name.as_ptr())
            })
        };
        // SAFETY: the functions have the types in the extension's specification, and the last one
        // has the type in Intel's drivers.
        unsafe { Memory::of(self.name, &find) }.ok()
    }

    /// Compiles a module for a device. The error contains the compiler's log.
    pub(super) fn program(
        &self,
        context: *mut c_void,
        device: *mut c_void,
        spirv: &[u8],
        exports_variables: bool,
        attempted: &dyn Fn() -> String,
    ) -> Result<*mut c_void> {
        let mut code = CL_SUCCESS;
        // SAFETY: the context is alive, and the bytes are copied.
        let program = unsafe {
            (self.clCreateProgramWithIL)(context, spirv.as_ptr().cast(), spirv.len(), &mut code)
        };
        self.check("clCreateProgramWithIL", code, attempted)?;
        // Without this option, quotients and square roots of floats may be wrong by a few units in
        // the last place.
        let [floats] = self.numbers(device, CL_DEVICE_SINGLE_FP_CONFIG);
        let mut options = String::new();
        if floats & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT != 0 {
            options.push_str("-cl-fp32-correctly-rounded-divide-sqrt ");
        }
        if exports_variables {
            options.push_str(EXPORT_VARIABLES);
        }
        let options = CString::new(options).unwrap_or_default();
        // SAFETY: the program is alive. Without a callback, the call waits.
        let code = unsafe {
            let (options, nothing) = (options.as_ptr(), ptr::null());
            (self.clBuildProgram)(program, 1, &device, options, nothing, ptr::null_mut())
        };
        if code == CL_SUCCESS {
            return Ok(program);
        }
        let log = (code == CL_BUILD_PROGRAM_FAILURE).then(|| self.log(program, device));
        // SAFETY: the program is released once.
        unsafe { (self.clReleaseProgram)(program) };
        let mut text = name(code).to_string();
        if let Some(log) = log.filter(|log| !log.is_empty()) {
            text = format!("{text}: {log}");
        }
        let cause = Cause::Driver { function: "clBuildProgram", code, text };
        Err(RunError::new(attempted(), cause))
    }

    fn log(&self, program: *mut c_void, device: *mut c_void) -> String {
        let log = text(&|room, bytes, size| {
            // SAFETY: program and device are alive. `bytes` has space for `room` bytes, and `size`
            // is null or valid for writes.
            unsafe {
                let what = CL_PROGRAM_BUILD_LOG;
                (self.clGetProgramBuildInfo)(program, device, what, room, bytes, size)
            }
        });
        log.trim().to_string()
    }

    pub(super) fn nothing_here(&self) -> String {
        format!("OpenCL ({}) lists no GPU except those that CUDA or HIP serves", self.name)
    }

    /// Queries the number of handles, and then the handles. The code `none` means an empty list.
    /// `ask` takes the space in handles, the handles, and their number.
    fn list(
        &self,
        function: &'static str,
        what: &str,
        none: c_int,
        ask: &dyn Fn(c_uint, *mut *mut c_void, *mut c_uint) -> c_int,
    ) -> Result<Vec<*mut c_void>> {
        let (mut count, mut all) = (0, Vec::new());
        let mut code = ask(0, ptr::null_mut(), &mut count);
        if code == CL_SUCCESS {
            all.resize(count as usize, ptr::null_mut());
            code = ask(count, all.as_mut_ptr(), ptr::null_mut());
        }
        if code == none {
            return Ok(Vec::new());
        }
        self.check(function, code, || format!("list OpenCL's {what}")).map(|()| all)
    }
}

impl DriverErrors for OpenCl {
    fn text_of(&self, code: c_int) -> String {
        name(code).to_string()
    }
}

/// Queries the size of a text, and then the text up to its NUL; empty if there is none. `ask` takes
/// the space in bytes, the bytes, and their number.
fn text(ask: &dyn Fn(usize, *mut c_void, *mut usize) -> c_int) -> String {
    let mut size = 0;
    ask(0, ptr::null_mut(), &mut size);
    let mut bytes = vec![0_u8; size];
    if ask(size, bytes.as_mut_ptr().cast(), ptr::null_mut()) != CL_SUCCESS {
        return String::new();
    }
    let text = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}

/// Returns the name of an error; empty if it has none. OpenCL has no function that returns names.
pub(super) fn name(code: c_int) -> &'static str {
    match code {
        CL_DEVICE_NOT_FOUND => "CL_DEVICE_NOT_FOUND",
        -2 => "CL_DEVICE_NOT_AVAILABLE",
        -4 => "CL_MEM_OBJECT_ALLOCATION_FAILURE",
        -5 => "CL_OUT_OF_RESOURCES",
        -6 => "CL_OUT_OF_HOST_MEMORY",
        CL_BUILD_PROGRAM_FAILURE => "CL_BUILD_PROGRAM_FAILURE",
        -30 => "CL_INVALID_VALUE",
        -33 => "CL_INVALID_DEVICE",
        -34 => "CL_INVALID_CONTEXT",
        -36 => "CL_INVALID_COMMAND_QUEUE",
        -42 => "CL_INVALID_BINARY",
        -44 => "CL_INVALID_PROGRAM",
        -45 => "CL_INVALID_PROGRAM_EXECUTABLE",
        -46 => "CL_INVALID_KERNEL_NAME",
        -48 => "CL_INVALID_KERNEL",
        -49 => "CL_INVALID_ARG_INDEX",
        -50 => "CL_INVALID_ARG_VALUE",
        -51 => "CL_INVALID_ARG_SIZE",
        -52 => "CL_INVALID_KERNEL_ARGS",
        -54 => "CL_INVALID_WORK_GROUP_SIZE",
        -55 => "CL_INVALID_WORK_ITEM_SIZE",
        -59 => "CL_INVALID_OPERATION",
        -61 => "CL_INVALID_BUFFER_SIZE",
        CL_PLATFORM_NOT_FOUND_KHR => "CL_PLATFORM_NOT_FOUND_KHR",
        _ => "",
    }
}
