//! Adds two vectors on the first NVIDIA GPU. A host function in `kernels/vector_add.cu` launches
//! the kernel, which is in the same file.

mod cuda;

use std::error::Error;
use std::ffi::c_int;
use std::process::ExitCode;

unsafe extern "C" {
    fn launch_vector_add(n: c_int, a: *const f32, b: *const f32, sum: *mut f32) -> c_int;
}

const LEN: usize = 1 << 20;

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
    let gpus = cuda::gpus()?;

    // The elements are small integers, so their sums are exact.
    let a: Vec<f32> = (1..=1009_u16).map(f32::from).cycle().take(LEN).collect();
    let b: Vec<f32> = (0..1000_u16).map(f32::from).cycle().take(LEN).collect();
    let sum = add(&a, &b)?;
    if let Some(i) = (0..LEN).find(|&i| sum[i] != a[i] + b[i]) {
        return Err(format!("wrong result: element {i} is {}, not {}", sum[i], a[i] + b[i]).into());
    }
    println!("The first of {gpus} GPUs computed {LEN} sums, all right.");
    Ok(())
}

/// Returns a + b, computed on the GPU.
fn add(a: &[f32], b: &[f32]) -> Result<Vec<f32>, Box<dyn Error>> {
    let n = a.len().min(b.len());
    let mut sum = vec![0.0; n];
    // SAFETY: the declaration matches the source. Before it returns, the function reads `n`
    // elements of `a` and of `b`, and writes `n` elements of `sum`.
    let code =
        unsafe { launch_vector_add(n.try_into()?, a.as_ptr(), b.as_ptr(), sum.as_mut_ptr()) };
    cuda::check("launch_vector_add", code)?;
    Ok(sum)
}
