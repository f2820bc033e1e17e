//! The launches in candle's `quantized/cuda.rs`, where blocks of quantized numbers are byte
//! buffers.

use crate::core::*;
use crate::launch;
use half::f16;

pub fn run(candle: &mut Candle) {
    struct Data {
        inner: CudaSlice<u8>,
    }
    let data = Data { inner: alloc() };
    let y = alloc::<f32>();
    let y = &y.slice(0..);
    let y_q8_1 = alloc::<u8>();
    let ids = alloc::<u32>();
    let ids = &ids.slice(0..);
    let mut dst = alloc::<f32>();
    let (ncols, nrows, ncols_padded) = (256_usize, 4_usize, 512_usize);

    {
        let (k, kx_padded) = (ncols, ncols_padded);
        let dst = alloc::<u8>();
        let src_chunk = y;
        let mut dst_chunk = dst.slice(0..);
        launch!(candle, quantized, "quantize_q8_1"; src_chunk, &mut dst_chunk, k as i32, kx_padded as i32);
    }
    for is_k in [true, false] {
        let of = if is_k {
            ["q2_K", "q3_K", "q4_K", "q5_K", "q6_K", "q8_K"]
        } else {
            ["q4_0", "q4_1", "q5_0", "q5_1", "q8_0", ""]
        };
        for name in of.into_iter().filter(|name| !name.is_empty()) {
            let nb32 = ncols / 32;
            let mut half = alloc::<f16>();
            if is_k {
                launch!(candle, quantized, format!("dequantize_block_{name}_f32"); &data.inner, &mut dst);
                launch!(candle, quantized, format!("dequantize_block_{name}_f16"); &data.inner, &mut half);
            } else {
                launch!(candle, quantized, format!("dequantize_block_{name}_f32"); &data.inner, &mut dst, nb32 as i32);
                launch!(candle, quantized, format!("dequantize_block_{name}_f16"); &data.inner, &mut half, nb32 as i32);
            }
        }
    }
    let (hidden, row_stride) = (ncols, 144_usize);
    for name in ["q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "q2_K", "q3_K", "q4_K", "q5_K", "q6_K"] {
        launch!(candle, quantized, format!("get_rows_{name}"); &data.inner, ids, &mut dst, hidden as i64, row_stride);
    }
    // `dequantize_mul_mat_vec_q5_k` is in `wrong.rs`.
    for name in [
        "q4_0_cuda",
        "q4_1_cuda",
        "q5_0_cuda",
        "q5_1_cuda",
        "q8_0_cuda",
        "q2_k",
        "q3_k",
        "q4_k",
        "q6_k",
    ] {
        launch!(candle, quantized, format!("dequantize_mul_mat_vec_{name}");
            &data.inner, y, &mut dst, ncols as i32, nrows as i32);
    }
    for name in ["q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "q2_K", "q3_K", "q4_K", "q5_K", "q6_K"] {
        for b_size in 1..=8 {
            launch!(candle, quantized, format!("mul_mat_vec_{name}_q8_1_cuda{b_size}");
                &data.inner, &y_q8_1, &mut dst, ncols as i32, nrows as i32, ncols_padded as i32, nrows as i32);
        }
        let (x_rows, x_cols, y_cols, k_padded) = (nrows, ncols, 1_usize, ncols_padded);
        launch!(candle, quantized, format!("mul_mat_{name}");
            &data.inner, &y_q8_1, &mut dst, x_cols as i32, x_rows as i32, y_cols as i32, k_padded as i32,
            x_rows as i32);
    }
    let (weight, input_quant, mut out) = (&data.inner.slice(0..), alloc::<u8>(), dst);
    let (n, k, batch, topk, k_padded, input_dim1) =
        (nrows, ncols, 2_usize, 1_usize, ncols_padded, 1_usize);
    for name in ["q2k", "q3k", "q4k", "q5k", "q6k", "q8_0"] {
        launch!(candle, quantized, format!("indexed_moe_forward_{name}_q8_1");
            weight, &input_quant, ids, &mut out, n as i32, k as i32, batch as i32, topk as i32, k_padded as i32,
            input_dim1 as i32);
    }
}
