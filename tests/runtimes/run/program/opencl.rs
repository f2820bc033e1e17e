//! Runs the function that its first argument names, on an OpenCL device.

use offload_gpu::run::{Device, Launch, devices};
use std::env;
use std::error::Error;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::process::ExitCode;

mod floats {
    offload_gpu::include_kernels!("floats");
}
mod doubles {
    offload_gpu::include_kernels!("doubles");
}
mod shared {
    offload_gpu::include_kernels!("shared");
}

type Result = std::result::Result<(), Box<dyn Error>>;

fn main() -> ExitCode {
    // The alarm ends a program that hangs.
    alarm(60);
    let arguments: Vec<String> = env::args().skip(1).collect();
    let result = match &*arguments[0] {
        "list" => list(),
        "named" => named(&arguments[1]),
        "doubles" => doubles(),
        "allocate" => allocate(arguments[1].parse().unwrap()),
        "raw" => raw(),
        "sizes" => sizes(),
        "elsewhere" => elsewhere(),
        "none" => none(),
        other => Err(format!("no such command: {other}").into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn list() -> Result {
    let devices = devices();
    for device in devices.list() {
        println!("{}: {}", device.name(), device.info());
    }
    for absent in devices.absent().iter().filter(|absent| absent.vendor.driver() == "opencl") {
        println!("{}", absent.why);
    }
    Ok(())
}

fn named(name: &str) -> Result {
    println!("{}", Device::named(name)?);
    Ok(())
}

/// Prints the device that the run time chooses for a kernel that uses `double`.
fn doubles() -> Result {
    println!("{}", Device::best_for(&doubles::PACK)?);
    Ok(())
}

/// Launches two kernels with several sizes of dynamic shared memory. Two of the sizes need the same
/// number of whole elements.
fn sizes() -> Result {
    let device = Device::best_for(&shared::PACK)?;
    let mut x = device.zeros::<f32>(16)?;
    for bytes in [0, 100, 112, 256, 100] {
        let launch = Launch::new(1, 16).shared_memory(bytes);
        // SAFETY: each of 16 threads uses one element of the buffer. Only the stand-in, which runs
        // no kernel, receives launches with too little shared memory.
        unsafe {
            shared::first(&mut x).launch_as(&device, &launch)?;
            shared::second(&mut x).launch_as(&device, &launch)?;
        }
    }
    Ok(())
}

/// Launches a kernel with an array in dynamic shared memory, but passes no size for this memory.
fn none() -> Result {
    let device = Device::best_for(&shared::PACK)?;
    for uses_it in [false, true] {
        let numbers: Vec<f32> = (0..256_u16).map(f32::from).collect();
        let mut x = device.buffer(&numbers)?;
        // SAFETY: each of 256 threads uses one element. The run time gives the array all remaining
        // memory.
        unsafe { shared::maybe(&mut x, uses_it).launch(&device, 1, 256)? };
        let x = x.to_vec()?;
        println!("{:?}", [x[0], x[255]]);
    }
    Ok(())
}

/// Passes a buffer of the CPU to OpenCL's device, and the other way round.
fn elsewhere() -> Result {
    let devices = [Device::named("opencl:0")?, Device::cpu()];
    let mut buffers = [devices[0].zeros::<f32>(1)?, devices[1].zeros::<f32>(1)?];
    for (device, x) in devices.iter().zip(buffers.iter_mut().rev()) {
        // SAFETY: the launch is refused.
        println!("{}", unsafe { floats::scale(x).launch(device, 1, 1) }.unwrap_err());
    }
    for (device, x) in devices.iter().zip(&mut buffers) {
        // SAFETY: the kernel uses one element.
        unsafe { floats::scale(x).launch(device, 1, 1)? };
    }
    Ok(())
}

fn allocate(size: usize) -> Result {
    let device = Device::best_for(&floats::PACK)?;
    println!("{} bytes", device.zeros::<u8>(size)?.len());
    Ok(())
}

unsafe extern "C" {
    safe fn alarm(seconds: u32) -> u32;
    fn dlopen(name: *const c_char, mode: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// Returns a function of OpenCL's loader, with the type that the caller names.
fn function<F: Copy>(name: &CStr) -> F {
    assert_eq!(size_of::<F>(), size_of::<*mut c_void>());
    // SAFETY: both names end with a NUL. The caller names the right type for the function.
    unsafe {
        let address = dlsym(dlopen(c"libOpenCL.so.1".as_ptr(), 2), name.as_ptr());
        assert!(!address.is_null(), "{name:?}");
        std::mem::transmute_copy(&address)
    }
}

type Info = unsafe extern "C" fn(*mut c_void, u32, usize, *mut c_void, *mut usize) -> c_int;
type Retain = unsafe extern "C" fn(*mut c_void) -> c_int;

const CL_PROGRAM_REFERENCE_COUNT: u32 = 0x1160;
const CL_PROGRAM_CONTEXT: u32 = 0x1161;
const CL_PROGRAM_NUM_DEVICES: u32 = 0x1162;
const CL_PROGRAM_KERNEL_NAMES: u32 = 0x1168;
const CL_KERNEL_FUNCTION_NAME: u32 = 0x1190;
const CL_KERNEL_PROGRAM: u32 = 0x1194;
const CL_CONTEXT_NUM_DEVICES: u32 = 0x1083;

/// Returns a value that OpenCL reports about a handle.
fn info<T: Default>(ask: Info, handle: *mut c_void, what: u32) -> T {
    let mut value = T::default();
    // SAFETY: the handle is alive, and there is room for the value.
    let code = unsafe {
        ask(handle, what, size_of::<T>(), (&raw mut value).cast(), std::ptr::null_mut())
    };
    assert_eq!(code, 0, "{what:#x}");
    value
}

/// Uses the raw handles as the documentation of `Loaded` allows, even after the device was dropped.
fn raw() -> Result {
    let program_info: Info = function(c"clGetProgramInfo");
    let kernel_info: Info = function(c"clGetKernelInfo");
    let context_info: Info = function(c"clGetContextInfo");
    let [retain, release] = [c"clRetainProgram", c"clReleaseProgram"].map(function::<Retain>);
    let name = |name: [u8; 16]| CStr::from_bytes_until_nul(&name).unwrap().to_owned();

    let device = Device::best_for(&floats::PACK)?;
    let loaded = floats::PACK.on(&device)?;
    let program = loaded.raw_module()?;
    let kernel = loaded.raw_function(&floats::PACK.kernel("scale"))?;
    assert_eq!(info::<usize>(kernel_info, kernel, CL_KERNEL_PROGRAM), program as usize);
    println!("kernel {:?}", name(info(kernel_info, kernel, CL_KERNEL_FUNCTION_NAME)));
    println!("devices {}", info::<u32>(program_info, program, CL_PROGRAM_NUM_DEVICES));
    let context = info::<usize>(program_info, program, CL_PROGRAM_CONTEXT) as *mut c_void;
    println!("of the context {}", info::<u32>(context_info, context, CL_CONTEXT_NUM_DEVICES));
    // A second call must return the same handles.
    assert_eq!(floats::PACK.on(&device)?.raw_module()?, program);
    assert_eq!(loaded.raw_function(&floats::PACK.kernel("scale"))?, kernel);

    // SAFETY: the program is alive.
    assert_eq!(unsafe { retain(program) }, 0);
    drop((loaded, device));
    println!("references {}", info::<u32>(program_info, program, CL_PROGRAM_REFERENCE_COUNT));
    println!("kernels {:?}", name(info(program_info, program, CL_PROGRAM_KERNEL_NAMES)));
    // SAFETY: this is the last reference.
    assert_eq!(unsafe { release(program) }, 0);
    Ok(())
}
