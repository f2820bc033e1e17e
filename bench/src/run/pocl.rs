//! Runs kernels on PoCL as OpenCL C, through the functions of `pocl.c`, because Debian's PoCL does
//! not accept SPIR-V.

use super::cpu::Row;
use libloading::Library;
use std::ffi::{CString, c_char};

/// Macros that define CUDA's names in OpenCL C.
const NAMES: &str = "
#define __global__ __kernel
#define __shared__ __local
#define __syncthreads() barrier(CLK_LOCAL_MEM_FENCE)
#define threadIdx ((uint2)(get_local_id(0), get_local_id(1)))
#define blockIdx ((uint2)(get_group_id(0), get_group_id(1)))
#define blockDim ((uint2)(get_local_size(0), get_local_size(1)))
#define atomicAdd atomic_add
#define tanhf tanh
#define sqrtf sqrt
";

type Start = unsafe extern "C" fn(*const c_char) -> i32;
type Prepare =
    unsafe extern "C" fn(*const c_char, i32, *const f32, usize, *const f32, usize) -> i32;
type Launch = unsafe extern "C" fn(*const usize, *const usize) -> i32;
type Results = unsafe extern "C" fn(*mut f32, usize) -> i32;

/// The library built from `pocl.c`, in which PoCL has compiled the kernels.
pub struct PoCl(Library);

impl PoCl {
    pub fn new() -> Self {
        let source = include_str!("../kernels/cpu.cu")
            .replace("extern \"C\" ", "")
            .replace("const float *", "__global const float *")
            .replace(", float *", ", __global float *");
        let (source, _) = source.split_once("__global__ void warp_sum").expect("it is the last");
        let source = CString::new(NAMES.to_owned() + source).expect("the source is text");
        // SAFETY: the library belongs to the bench, and its function has this type.
        let (library, code) = unsafe {
            let library = Library::new("libpocl_bench.so").expect("the bench has made it");
            let start = *library.get::<Start>("start").expect("it is there");
            (library, start(source.as_ptr()))
        };
        assert_eq!(code, 0, "PoCL compiles the kernels");
        Self(library)
    }

    /// Returns a function that performs a row's launches. If its argument is `true`, the function
    /// launches only once, and returns the results.
    pub fn launcher(&self, row: &Row, x: &[f32], y: &[f32]) -> impl FnMut(bool) -> Vec<f32> {
        let name = CString::new(row.kernel).expect("the name is text");
        let (x_size, y_size) = (size_of_val(x), size_of_val(y));
        // SAFETY: the bench's library has functions of these types; `prepare` copies the data.
        let (launch, results, code) = unsafe {
            let prepare = *self.0.get::<Prepare>("prepare").expect("it is there");
            let code = prepare(name.as_ptr(), row.n, x.as_ptr(), x_size, y.as_ptr(), y_size);
            let launch = *self.0.get::<Launch>("launch").expect("it is there");
            (launch, *self.0.get::<Results>("results").expect("it is there"), code)
        };
        assert_eq!(code, 0, "{}: PoCL has memory", row.name);
        let block = [row.block.0 as usize, row.block.1 as usize];
        let threads = [block[0] * row.grid.0 as usize, block[1] * row.grid.1 as usize];
        let (name, launches, count) = (row.name, row.launches, y.len());
        move |is_read| {
            let mut read = vec![0.0; if is_read { count } else { 0 }];
            for _ in 0..if is_read { 1 } else { launches } {
                // SAFETY: the buffers are as large as the kernel needs.
                assert_eq!(unsafe { launch(threads.as_ptr(), block.as_ptr()) }, 0, "{name} runs");
            }
            if is_read {
                // SAFETY: the vector is as long as the buffer.
                assert_eq!(unsafe { results(read.as_mut_ptr(), y_size) }, 0, "{name} has results");
            }
            read
        }
    }
}
