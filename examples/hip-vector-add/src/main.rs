//! Adds two vectors on the first AMD GPU: four threads, each with a quarter of them, and one module.

mod modules;

use std::error::Error;
use std::ffi::{c_int, c_void};
use std::process::ExitCode;
use std::{ptr, thread};

use cubecl_hip_sys as hip;
use modules::{LoadError, Modules, check};
use offload::DeviceBuffer;

/// The pack, and a function for each kernel, whose arguments the compiler checks.
mod kernels {
    offload::include_kernels!("vector_add");
}

static MODULES: Modules = Modules::new(&kernels::PACK);

const THREADS: usize = 4;
const LEN: usize = 1 << 20;
const BLOCK: u32 = 256;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    modules::gpu_count()?;
    let gpu = 0;

    // Small whole numbers: their sums are exact.
    let a: Vec<f32> = (1..=1009_u16).map(f32::from).cycle().take(LEN).collect();
    let b: Vec<f32> = (0..1000_u16).map(f32::from).cycle().take(LEN).collect();
    let mut sum = vec![0.0; LEN];
    let part = LEN / THREADS;
    thread::scope(|scope| {
        let parts = a.chunks(part).zip(b.chunks(part)).zip(sum.chunks_mut(part));
        let threads: Vec<_> = parts.map(|((a, b), sum)| scope.spawn(move || add(gpu, a, b, sum))).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("`add` does not panic"))
    })?;

    let image = MODULES.on(gpu)?.image;
    if let Some(i) = (0..LEN).find(|&i| sum[i] != a[i] + b[i]) {
        return Err(format!("wrong result: element {i} is {}, not {}", sum[i], a[i] + b[i]).into());
    }
    println!("GPU {gpu}: the {} {} computed {LEN} sums, all right.", image.target(), image.kind());
    Ok(())
}

/// sum = a + b, on the GPU.
fn add(gpu: c_int, a: &[f32], b: &[f32], sum: &mut [f32]) -> Result<(), LoadError> {
    let module = MODULES.on(gpu)?.module;
    let mut kernel = ptr::null_mut();
    // SAFETY: it writes the handle; the name ends with a NUL.
    let found = unsafe { hip::hipModuleGetFunction(&mut kernel, module, c"vector_add".as_ptr()) };
    check("hipModuleGetFunction", found)?;

    let (a, b, mut result) = (Buffer::with_contents(a)?, Buffer::with_contents(b)?, Buffer::with_contents(sum)?);
    let threads = u32::try_from(sum.len()).expect("it is a part of LEN");
    let call = kernels::vector_add(threads.cast_signed(), &a, &b, &mut result);
    let (blocks, mut arguments) = (threads.div_ceil(BLOCK), call.pointers());
    // SAFETY: the runtime copies the arguments before it returns. The kernel touches the first `n` elements of the three
    // vectors, which is how many each has; they live until it is done.
    unsafe {
        let launched = hip::hipModuleLaunchKernel(
            kernel,
            blocks,
            1,
            1,
            BLOCK,
            1,
            1,
            0,
            ptr::null_mut(),
            arguments.as_mut_ptr(),
            ptr::null_mut(),
        );
        check("hipModuleLaunchKernel", launched)?;
        check("hipDeviceSynchronize", hip::hipDeviceSynchronize())?;
    }
    result.read(sum)
}

/// Memory on the current GPU.
struct Buffer {
    address: *mut c_void,
    size: usize,
}

impl Buffer {
    fn with_contents(contents: &[f32]) -> Result<Self, LoadError> {
        let mut buffer = Self { address: ptr::null_mut(), size: size_of_val(contents) };
        // SAFETY: it writes the address; then both sides of the copy have `size` bytes.
        unsafe {
            check("hipMalloc", hip::hipMalloc(&mut buffer.address, buffer.size))?;
            let direction = hip::hipMemcpyKind_hipMemcpyHostToDevice;
            check("hipMemcpy", hip::hipMemcpy(buffer.address, contents.as_ptr().cast(), buffer.size, direction))?;
        }
        Ok(buffer)
    }

    fn read(&self, into: &mut [f32]) -> Result<(), LoadError> {
        assert_eq!(self.size, size_of_val(into));
        let direction = hip::hipMemcpyKind_hipMemcpyDeviceToHost;
        // SAFETY: both sides have `size` bytes, and each pattern of bits is an `f32`.
        check("hipMemcpy", unsafe { hip::hipMemcpy(into.as_mut_ptr().cast(), self.address, self.size, direction) })
    }
}

/// It may be passed for a pointer of a kernel.
impl DeviceBuffer for Buffer {
    type Item = f32;

    fn device_address(&self) -> *const f32 {
        self.address.cast_const().cast()
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: it was allocated here and is freed once; null is nothing to free.
        unsafe { hip::hipFree(self.address) };
    }
}
