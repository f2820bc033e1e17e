//! Reductions, indexing, convolutions and sorting.

use crate::core::*;
use crate::launch;
use half::{bf16, f16};

/// candle's `FastReduce` and `ArgSort`.
fn reduce<T: WithDType>(candle: &mut Candle) {
    let (src_el, el_to_sum_per_block, src_dims) = (6_usize, 3_usize, [2_usize, 3]);
    let ds = alloc::<usize>();
    let slice = alloc::<T>();
    let src = &slice.slice(1..);
    let kernel_numel = src_el;
    let mut out = alloc::<T>();
    for name in ["fast_sum", "fast_sum_small", "fast_min", "fast_max"] {
        launch!(candle, reduce, kernel_name::<T>(name);
            kernel_numel, el_to_sum_per_block, src_dims.len(), &ds, src, &mut out);
    }
    let mut out = alloc::<u32>();
    for name in ["fast_argmin", "fast_argmax"] {
        launch!(candle, reduce, kernel_name::<T>(name);
            kernel_numel, el_to_sum_per_block, src_dims.len(), &ds, src, &mut out);
    }
    let (ncols, ncols_pad) = (3_usize, 4_usize);
    let slice = slice.slice(0..6);
    let mut dst = alloc::<u32>();
    for name in ["asort_asc", "asort_desc"] {
        let ncols = ncols as i32;
        let ncols_pad = ncols_pad as i32;
        launch!(candle, sort, kernel_name::<T>(name); &slice, &mut dst, ncols, ncols_pad);
    }
}

/// candle's `IndexSelect`, `Gather`, `IndexAdd`, `Scatter` and `ScatterAdd`. `I` is the index type.
fn index<I: WithDType, T: WithDType>(candle: &mut Candle) {
    let of = |name: &str| kernel_name::<T>(&kernel_name::<I>(name));
    let slice = alloc::<I>();
    let ids = slice_ptr(&slice, 1);
    let [src, dst] = [alloc::<T>(), alloc()];
    let src = src.slice(0..6);
    {
        let (dst_el, ids_dims) = (6_usize, [2_usize]);
        let ds = alloc::<usize>();
        let (left_size, src_dim_size, ids_dim_size, right_size) =
            (1_usize, 2_usize, 2_usize, 3_usize);
        let mut out = alloc::<T>();
        launch!(candle, indexing, of("is");
            dst_el, ids_dims.len(), &ds, ids, &src, &mut out, left_size, src_dim_size, ids_dim_size,
            right_size);
    }
    let (left_sz, src_dim_sz, dst_dim_sz, ids_dim_sz, right_sz) =
        (1_usize, 2_usize, 2_usize, 2_usize, 3_usize);
    {
        let el = 6_usize;
        let mut out = alloc::<T>();
        launch!(candle, indexing, of("gather");
            el, ids, &src, &mut out, left_sz, src_dim_sz, ids_dim_sz, right_sz);
    }
    let mut dst = dst.slice(0..6);
    launch!(candle, indexing, of("ia");
        ids, ids_dim_sz, &src, &mut dst, left_sz, src_dim_sz, dst_dim_sz, right_sz);
    launch!(candle, indexing, of("s"); ids, &src, &mut dst, left_sz, src_dim_sz, dst_dim_sz, right_sz);
    launch!(candle, indexing, of("sa"); ids, &src, &mut dst, left_sz, src_dim_sz, dst_dim_sz, right_sz);
}

/// The settings of candle's convolutions.
struct Params {
    l_k: usize,
    h_k: usize,
    w_k: usize,
    stride: usize,
    padding: usize,
    output_padding: usize,
    dilation: usize,
}

/// candle's `Conv1D`, `Conv2D`, `ConvTranspose1D`, `ConvTranspose2D` and their steps.
fn convolve<T: WithDType>(candle: &mut Candle) {
    let p =
        Params { l_k: 3, h_k: 3, w_k: 3, stride: 1, padding: 0, output_padding: 0, dilation: 1 };
    let this = &p;
    let (el, l_out, out_w, out_h) = (6_usize, 2_usize, 2_usize, 2_usize);
    let ds = alloc::<usize>();
    let [inp, k] = [alloc::<T>(), alloc()];
    let inp = &inp.slice(1..);
    let k = &k.slice(1..);
    let mut out = alloc::<T>();
    launch!(candle, conv, kernel_name::<T>("conv1d");
        el, l_out, p.stride, p.padding, p.dilation, &ds, inp, k, &mut out);
    launch!(candle, conv, kernel_name::<T>("conv2d");
        el, out_w, out_h, p.stride, p.padding, p.dilation, &ds, inp, k, &mut out);
    launch!(candle, conv, kernel_name::<T>("conv_transpose1d");
        el, l_out, p.stride, p.padding, p.output_padding, p.dilation, &ds, inp, k, &mut out);
    launch!(candle, conv, kernel_name::<T>("conv_transpose2d");
        el, out_w, out_h, p.stride, p.padding, p.output_padding, p.dilation, &ds, inp, k, &mut out);
    {
        let (dst_el, l_in, c_out, k_size, stride) = (6_usize, 2_usize, 1_usize, 3_usize, 1_usize);
        let (col, mut im) = (&alloc::<T>(), alloc::<T>());
        launch!(candle, conv, kernel_name::<T>("col2im1d");
            dst_el, l_out, l_in, c_out, k_size, stride, col, &mut im);
    }
    let (src, mut dst) = (inp, alloc::<T>());
    {
        let threads = 6_usize;
        launch!(candle, conv, kernel_name::<T>("im2col1d");
            threads, l_out, this.l_k, this.stride, this.padding, this.dilation, &ds, src, &mut dst);
    }
    let (dst_el, h_out, w_out) = (6_usize, 2_usize, 2_usize);
    launch!(candle, conv, kernel_name::<T>("im2col");
        dst_el, h_out, w_out, this.h_k, this.w_k, this.stride, this.padding, this.dilation, &ds, src,
        &mut dst);
}

/// The settings of candle's `Pool2D` and `UpsampleBilinear2D`.
struct Images {
    w_k: usize,
    h_k: usize,
    w_stride: usize,
    h_stride: usize,
    align_corners: bool,
    scale_h_factor: Option<f64>,
    scale_w_factor: Option<f64>,
}

/// candle's `Pool2D`, `UpsampleNearest2D` and `UpsampleBilinear2D`.
fn images<T: WithDType>(candle: &mut Candle) {
    let this = Images {
        w_k: 2,
        h_k: 2,
        w_stride: 2,
        h_stride: 2,
        align_corners: true,
        scale_h_factor: Some(2.0),
        scale_w_factor: None,
    };
    let (el, dims, out_w, out_h) = (16_usize, [1_usize, 1, 4, 4], 2_usize, 2_usize);
    let ds = alloc::<usize>();
    let inp = alloc::<T>();
    let inp = &inp.slice(1..);
    let mut out = alloc::<T>();
    for kname in ["max_pool2d", "avg_pool2d"] {
        launch!(candle, conv, kernel_name::<T>(kname);
            el, this.w_k, this.h_k, this.w_stride, this.h_stride, &ds, inp, &mut out);
    }
    let scale_w = dims[2] as f64 / out_w as f64;
    let scale_h = dims[3] as f64 / out_h as f64;
    launch!(candle, conv, kernel_name::<T>("upsample_nearest2d");
        out_w, out_h, scale_w, scale_h, &ds, inp, &mut out);
    launch!(candle, conv, kernel_name::<T>("upsample_bilinear2d");
        out_w, out_h, this.align_corners, this.scale_h_factor.is_some(), this.scale_h_factor.unwrap_or(0.0),
        this.scale_w_factor.is_some(), this.scale_w_factor.unwrap_or(0.0), &ds, inp, &mut out);
}

pub fn run(candle: &mut Candle) {
    macro_rules! each {
        ($function:ident: $($T:ty),*) => { $($function::<$T>(candle);)* };
        ($function:ident<$I:ty>: $($T:ty),*) => { $($function::<$I, $T>(candle);)* };
    }
    each!(reduce: u8, u32, i64, bf16, f16, f32, f64);
    each!(index<u8>: u8, u32, i64, bf16, f16, f32, f64);
    each!(index<u32>: u8, u32, i64, bf16, f16, f32, f64);
    each!(index<i64>: u8, u32, i64, bf16, f16, f32, f64);
    each!(convolve: u8, u32, bf16, f16, f32, f64);
    each!(images: u8, u32, bf16, f16, f32, f64);
}
