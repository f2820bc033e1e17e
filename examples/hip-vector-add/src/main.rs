//! Adds two vectors on the first AMD GPU, in a program that allocates memory through
//! cubecl-hip-sys. Each of four threads adds a quarter of the vectors, and all threads share one
//! module.

use std::error::Error;
use std::ffi::{CStr, c_void};
use std::process::ExitCode;
use std::{ptr, thread};

use cubecl_hip_sys as hip;
use offload_gpu::DeviceBuffer;
use offload_gpu::run::Device;

/// The embedded pack, and a function for each kernel. The compiler checks the functions' arguments.
mod kernels {
    offload_gpu::include_kernels!("vector_add");
}

const THREADS: usize = 4;
const LEN: usize = 1 << 20;
const BLOCK: u32 = 256;

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    // Without a runtime, any call to cubecl-hip-sys would panic. `Device::from_hip_device` returns
    // an error instead, which lists the places that were searched for the runtime.
    let gpu = Device::from_hip_device(0)?;

    // The elements are small integers, so their sums are exact.
    let a: Vec<f32> = (1..=1009_u16).map(f32::from).cycle().take(LEN).collect();
    let b: Vec<f32> = (0..1000_u16).map(f32::from).cycle().take(LEN).collect();
    let mut sum = vec![0.0; LEN];
    let part = LEN / THREADS;
    thread::scope(|scope| {
        let parts = a.chunks(part).zip(b.chunks(part)).zip(sum.chunks_mut(part));
        let gpu = &gpu;
        let threads: Vec<_> =
            parts.map(|((a, b), sum)| scope.spawn(move || add(gpu, a, b, sum))).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("`add` does not panic"))
    })?;

    if let Some(i) = (0..LEN).find(|&i| sum[i] != a[i] + b[i]) {
        return Err(format!("wrong result: element {i} is {}, not {}", sum[i], a[i] + b[i]).into());
    }
    let image = kernels::PACK.on(&gpu)?.image();
    println!(
        "{}: the {} {} computed {LEN} sums, all right.",
        gpu.name(),
        image.target(),
        image.kind()
    );
    Ok(())
}

/// Computes sum = a + b on the GPU.
fn add(gpu: &Device, a: &[f32], b: &[f32], sum: &mut [f32]) -> Result<()> {
    // SAFETY: the function returns an error if the number is out of range.
    check("hipSetDevice", unsafe { hip::hipSetDevice(gpu.ordinal()) })?;
    let (a, b, mut result) =
        (Buffer::with_contents(a)?, Buffer::with_contents(b)?, Buffer::with_contents(sum)?);
    let threads = u32::try_from(sum.len()).expect("it is a part of LEN");
    let call = kernels::vector_add(threads.cast_signed(), &a, &b, &mut result);
    // SAFETY: the kernel accesses only the first `n` elements of the three vectors. Each vector has
    // `n` elements, and lives until the kernel is done.
    unsafe { call.launch(gpu, threads.div_ceil(BLOCK), BLOCK)? };
    gpu.synchronize()?;
    result.read(sum)
}

/// Returns an error unless `code` means success.
fn check(function: &str, code: hip::hipError_t) -> Result<()> {
    if code == hip::HIP_SUCCESS {
        return Ok(());
    }
    // SAFETY: the function returns a static string for any code.
    let name = unsafe { CStr::from_ptr(hip::hipGetErrorName(code)) };
    Err(format!("{function} returned {} ({code})", name.to_string_lossy()).into())
}

/// Memory on the current GPU.
struct Buffer {
    address: *mut c_void,
    size: usize,
}

impl Buffer {
    fn with_contents(contents: &[f32]) -> Result<Self> {
        let mut buffer = Self { address: ptr::null_mut(), size: size_of_val(contents) };
        // SAFETY: `hipMalloc` writes the address of `size` bytes, and `contents` has as many.
        unsafe {
            check("hipMalloc", hip::hipMalloc(&mut buffer.address, buffer.size))?;
            let direction = hip::hipMemcpyKind_hipMemcpyHostToDevice;
            check(
                "hipMemcpy",
                hip::hipMemcpy(buffer.address, contents.as_ptr().cast(), buffer.size, direction),
            )?;
        }
        Ok(buffer)
    }

    fn read(&self, into: &mut [f32]) -> Result<()> {
        assert_eq!(self.size, size_of_val(into));
        let direction = hip::hipMemcpyKind_hipMemcpyDeviceToHost;
        // SAFETY: both buffers have `size` bytes, and any bit pattern is a valid `f32`.
        check("hipMemcpy", unsafe {
            hip::hipMemcpy(into.as_mut_ptr().cast(), self.address, self.size, direction)
        })
    }
}

/// Allows a program to pass a `Buffer` for a kernel's pointer parameter.
impl DeviceBuffer for Buffer {
    type Item = f32;

    fn device_address(&self) -> *const f32 {
        self.address.cast_const().cast()
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: `with_contents` allocated the memory, and only this call frees it. `hipFree`
        // ignores a null pointer.
        unsafe { hip::hipFree(self.address) };
    }
}
