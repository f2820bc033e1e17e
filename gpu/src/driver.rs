//! Offers images to the vendors' drivers, without our rules.

use libloading::{Library, Symbol};
use offload_gpu::run::{Device, DeviceKind};
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::ptr;

/// Asks the device's driver to load an image. Returns `None` if no driver is asked: on the CPU, and
/// if its library cannot be loaded.
///
/// `image` is a cubin, PTX that ends in a NUL, or a code object.
pub fn accepts(device: &Device, image: &[u8]) -> Option<bool> {
    match device.kind() {
        DeviceKind::Cuda => cuda(device.ordinal(), image),
        DeviceKind::Hip => hip(device.ordinal(), image),
        _ => None,
    }
}

/// Calls a function of a driver; the types are those of the vendor's header.
macro_rules! call {
    ($library:expr, $name:literal($($ty:ty),*), $($argument:expr),*) => {{
        // SAFETY: each use has the types of the header; the library stays loaded during the call.
        let function: Symbol<unsafe extern "C" fn($($ty),*) -> c_int> = unsafe { $library.get($name).ok()? };
        unsafe { function($($argument),*) }
    }};
}

fn cuda(ordinal: c_int, image: &[u8]) -> Option<bool> {
    // SAFETY: the run time has loaded this library already. The calls below have the types of
    // cuda.h; each handle is used while it is valid.
    let library = unsafe { Library::new("libcuda.so.1") }.ok()?;
    let (mut context, mut popped) = (ptr::null_mut::<c_void>(), ptr::null_mut::<c_void>());
    let mut device = 0;
    call!(library, b"cuInit\0"(c_uint), 0);
    let found = call!(library, b"cuDeviceGet\0"(*mut c_int, c_int), &mut device, ordinal);
    let retained = call!(
        library,
        b"cuDevicePrimaryCtxRetain\0"(*mut *mut c_void, c_int),
        &mut context,
        device
    );
    if found != 0 || retained != 0 {
        return None;
    }
    call!(library, b"cuCtxPushCurrent_v2\0"(*mut c_void), context);
    let mut module = ptr::null_mut::<c_void>();
    let status = call!(
        library,
        b"cuModuleLoadData\0"(*mut *mut c_void, *const c_char),
        &mut module,
        image.as_ptr().cast()
    );
    if status == 0 {
        call!(library, b"cuModuleUnload\0"(*mut c_void), module);
    }
    call!(library, b"cuCtxPopCurrent_v2\0"(*mut *mut c_void), &mut popped);
    call!(library, b"cuDevicePrimaryCtxRelease_v2\0"(c_int), device);
    Some(status == 0)
}

fn hip(ordinal: c_int, image: &[u8]) -> Option<bool> {
    let names = ["libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"];
    // SAFETY: as in `cuda`, with the types of hip_runtime_api.h.
    let library = names.iter().find_map(|name| unsafe { Library::new(*name) }.ok())?;
    call!(library, b"hipSetDevice\0"(c_int), ordinal);
    let mut module = ptr::null_mut::<c_void>();
    let status = call!(
        library,
        b"hipModuleLoadData\0"(*mut *mut c_void, *const c_void),
        &mut module,
        image.as_ptr().cast()
    );
    if status == 0 {
        call!(library, b"hipModuleUnload\0"(*mut c_void), module);
    }
    Some(status == 0)
}
