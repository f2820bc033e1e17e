//! A library without std, as in firmware or an operating system's kernel. It may link only core,
//! alloc, offload-gpu and offload-format, and has its own panic handler and allocator.
#![no_std]

extern crate alloc;

use core::alloc::{GlobalAlloc, Layout};
use core::panic::PanicInfo;
use core::slice;
use offload_format::bundle::Bundle;
use offload_format::compressed;
#[cfg(feature = "object")]
use offload_format::fat_file;
use offload_format::offload_binary::OffloadBinary;
use offload_format::target::TargetId;

unsafe extern "C" {
    fn malloc(size: usize) -> *mut u8;
    fn free(pointer: *mut u8);
    fn abort() -> !;
}

struct Malloc;

// SAFETY: malloc's results are aligned for every type in this library, and are released with free.
unsafe impl GlobalAlloc for Malloc {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: malloc accepts any size.
        unsafe { malloc(layout.size()) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, _layout: Layout) {
        // SAFETY: the pointer is from `alloc`.
        unsafe { free(pointer) }
    }
}

#[global_allocator]
static ALLOCATOR: Malloc = Malloc;

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    // SAFETY: `abort` only ends the process.
    unsafe { abort() }
}

/// The device code in a file.
#[repr(C)]
pub struct Found {
    /// The size of the code object that is selected from a bundle for a gfx906 device; -1 if none
    /// fits, -2 if the file is not a bundle.
    code_object: i64,
    /// The number of consecutive bundles and offload binaries, counted from the file's start.
    containers: usize,
    /// The number of places with device code; 0 without the `object` feature.
    places: usize,
}

/// Examines a file with these bytes.
///
/// # Safety
/// `data` must point to `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn examine(data: *const u8, size: usize) -> Found {
    // SAFETY: the caller guarantees that `data` points to `size` bytes.
    let data = unsafe { slice::from_raw_parts(data, size) };
    let containers = compressed::Found::in_a_row(data, 0).flatten().count()
        + OffloadBinary::in_a_row(data).flatten().count();
    Found { code_object: code_object_size(data), containers, places: count_places(data) }
}

fn code_object_size(data: &[u8]) -> i64 {
    let Ok(bundle) = Bundle::parse(data) else { return -2 };
    let Ok(device) = TargetId::parse("gfx906") else { return -3 };
    let mut fitting = bundle.entries().filter(|entry| {
        entry.id().is_ok_and(|id| id.target_id().is_some_and(|it| it.provides_for(&device)))
    });
    fitting.next().map_or(-1, |entry| entry.code_object.len() as i64)
}

static SAXPY: offload_gpu::KernelPack = offload_gpu::include_offload!(path = "saxpy.ptx");

/// Returns the size in bytes of the image selected from this library's pack for a GPU with compute
/// capability 9.0; 0 if no image fits.
#[unsafe(no_mangle)]
pub extern "C" fn pack_image_size() -> usize {
    let h100 = offload_gpu::DeviceInfo::cuda(
        offload_gpu::ComputeCapability { major: 9, minor: 0 },
        13_000,
    );
    SAXPY.select(&h100).map_or(0, |image| image.bytes().len())
}

mod kernels {
    offload_gpu::include_kernels!(
        path = "saxpy.ptx",
        extern "C" {
            fn saxpy(n: i32, a: f32, x: *const f32, y: *mut f32);
        }
    );
}

/// Returns the size in bytes of the arguments of a kernel found by name; 0 on error.
#[unsafe(no_mangle)]
pub extern "C" fn named_arguments_size() -> usize {
    let pointers = (core::ptr::null::<f32>(), core::ptr::null_mut::<f32>());
    let call = kernels::named("saxpy").and_then(|it| it.call((1, 2.0_f32, pointers.0, pointers.1)));
    call.and_then(|call| call.buffer()).map_or(0, |(_, size)| size)
}

#[cfg(feature = "object")]
fn count_places(data: &[u8]) -> usize {
    let mut places = 0;
    fat_file::find(data, |_, container| places += usize::from(container.is_ok()));
    places
}

#[cfg(not(feature = "object"))]
fn count_places(_: &[u8]) -> usize {
    0
}
