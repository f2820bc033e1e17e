//! candle's launches that a checked call refuses: wrong launches, and launches that must be written
//! differently.

use crate::core::*;
use crate::launch;
use offload_gpu::types::F8E4M3;

/// candle passes five arguments to a kernel with four parameters, and names kernels that
/// candle-kernels lacks.
fn wrong(candle: &mut Candle) {
    let (data, y, mut dst) =
        (alloc::<u8>(), alloc::<f32>(), alloc::<f32>());
    let (ncols, nrows) = (256_usize, 4_usize);
    launch!(candle, quantized, "dequantize_mul_mat_vec_q5_k"; &data, &y, &mut dst, ncols as i32, nrows as i32);
    missing::<i16>(candle);
    missing::<i32>(candle);
    ucopy::<F8E4M3>(candle);
    // Kernels for `F8E4M3` are called `…_f8_e4m3` or `…_fp8_e4m3`, but candle uses `f8e4m3`.
    launch!(candle, affine, kernel_name::<F8E4M3>("affine"); 0_usize);
    launch!(candle, unary, kernel_name::<F8E4M3>("uneg"); 0_usize);
    launch!(candle, cast, format!("cast_{}_f32", F8E4M3::DTYPE); 0_usize);
}

fn missing<T: WithDType>(candle: &mut Candle) {
    let (el_count, dims, null) = (6_usize, [2_usize, 3], None::<*const usize>);
    let slice = alloc::<T>();
    let src = slice_ptr(&slice, 0);
    launch!(candle, fill, kernel_name::<T>("const_set"); el_count, dims.len(), null, T::from_f64(1.0), src);
    launch!(candle, fill, kernel_name::<T>("copy2d"); src, src, 1_u32, 1_u32, 1_u32, 1_u32);
    ucopy::<T>(candle);
}

fn ucopy<T: WithDType>(candle: &mut Candle) {
    let (el_count, dims, null) = (6_usize, [2_usize, 3], None::<*const usize>);
    let (src, mut dst) = (alloc::<T>(), alloc::<T>());
    launch!(candle, unary, kernel_name::<T>("ucopy"); el_count, dims.len(), null, &src, &mut dst);
}

/// A correct launch with an argument that a checked call requires in a different form. candle
/// passes a byte buffer that contains a row's numbers.
fn other(candle: &mut Candle) {
    let (data, ids, mut out) = (alloc::<u8>(), alloc::<u32>(), alloc::<f32>());
    let (hidden, row_stride) = (256_usize, 1024_usize);
    launch!(candle, quantized, "get_rows_f32"; &data, &ids, &mut out, hidden as i64, row_stride);
}

pub fn run(candle: &mut Candle) {
    wrong(candle);
    other(candle);
}
