//! A program that calls the kernels in the crate.

use offload_gpu::run::{Buffer, Device};

mod kernels {
    offload_gpu::include_kernels!("pack");
}

/// Compiles only if the functions match the kernels' declarations.
#[expect(dead_code, reason = "there is no GPU")]
fn launch(gpu: &Device, y: &mut Buffer<f32>, pair: &Buffer<kernels::Pair>, z: &mut Buffer<i64>) {
    // SAFETY: the pair and the numbers are there.
    unsafe {
        kernels::scale(2.0, pair, &mut *y, 1_usize).launch(gpu, 1, 1).unwrap();
        kernels::fill(&mut *z, 1_i8, true).launch(gpu, 1, 1).unwrap();
    }
    // WRONG
}

fn main() {
    for image in kernels::PACK.images() {
        println!("{} {}", image.target(), image.origin());
    }
}
