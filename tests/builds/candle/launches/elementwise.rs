//! Elementwise functions.

use crate::core::*;
use crate::launch;
use half::{bf16, f16};

/// candle's `Affine`, `Elu`, `Powf` and its unary operations, as in `cuda_backend/mod.rs`.
fn unary<T: WithDType>(candle: &mut Candle) {
    let (el, el_count, dims) = (6_usize, 6_usize, [2_usize, 3]);
    let src = &alloc::<T>();
    let ds = alloc::<usize>();
    let src = &src.slice(1..);
    let out = alloc::<T>();
    launch!(candle, affine, kernel_name::<T>("affine");
        el, dims.len(), &ds, src, &out, T::from_f64(2.0), T::from_f64(1.0));
    if T::DTYPE.contains('u') || T::DTYPE.contains('i') {
        return;
    }
    launch!(candle, unary, kernel_name::<T>("uelu");
        el, dims.len(), &ds, T::from_f64(1.0), src, &out);
    launch!(candle, unary, kernel_name::<T>("upowf");
        el, dims.len(), &ds, T::from_f64(1.0), src, &out);
    let (null, mut out) = (0_usize, out);
    for kernel in [
        "usilu",
        "uneg",
        "urecip",
        "uexp",
        "ulog",
        "usin",
        "ucos",
        "utanh",
        "uerf",
        "uceil",
        "ufloor",
        "uround",
        "uabs",
        "usqr",
        "usqrt",
        "ugelu",
        "ugelu_erf",
        "urelu",
        "usign",
    ] {
        launch!(candle, unary, kernel_name::<T>(kernel); el_count, dims.len(), null, src, &mut out);
    }
}

/// candle's binary operations, and its comparisons, which write `u8`.
fn binary<T: WithDType>(candle: &mut Candle) {
    let (elem_count, dims) = (6_usize, [2_usize, 3]);
    let dims_and_strides = alloc::<usize>();
    let [lhs, rhs] = [alloc::<T>(), alloc()];
    let lhs = &lhs.slice(1..);
    let rhs = &rhs.slice(2..);
    let mut out = alloc::<T>();
    for kernel in ["badd", "bdiv", "bmaximum", "bminimum", "bmul", "bsub"] {
        launch!(candle, binary, kernel_name::<T>(kernel);
            elem_count, dims.len(), &dims_and_strides, lhs, rhs, &mut out);
    }
    let mut out = alloc::<u8>();
    for name in ["eq", "ne", "lt", "le", "gt", "ge"] {
        launch!(candle, binary, kernel_name::<T>(name);
            elem_count, dims.len(), &dims_and_strides, lhs, rhs, &mut out);
    }
}

/// candle's `WhereCond`. `C` is the type of the conditions.
fn where_cond<C: WithDType, T: WithDType>(candle: &mut Candle) {
    let (el, dims) = (6_usize, [2_usize, 3]);
    let ds = alloc::<usize>();
    let slice = alloc::<C>();
    let ids = slice_ptr(&slice, 1);
    let [t, f] = [alloc::<T>(), alloc()];
    let t = &t.slice(1..);
    let f = &f.slice(2..);
    let mut out = alloc::<T>();
    let name = kernel_name::<C>("where");
    launch!(candle, ternary, kernel_name::<T>(&name);
        el, dims.len(), &ds, ids, t, f, &mut out);
}

/// candle's `to_dtype`.
fn to_dtype<T: WithDType, U: WithDType>(candle: &mut Candle) {
    let (el, dims) = (6_usize, [2_usize, 3]);
    let null = 0_usize;
    let slice = alloc::<T>();
    let inp = &slice_ptr(&slice, 1);
    let mut out = alloc::<U>();
    launch!(candle, cast, format!("cast_{}_{}", T::DTYPE, U::DTYPE);
        el, dims.len(), null, *inp, &mut out);
}

/// candle's `const_set`, `copy2d` and `copy_strided_src`.
fn copies<T: WithDType>(candle: &mut Candle) {
    let (el_count, dims) = (6_usize, [2_usize, 3]);
    let ds = alloc::<usize>();
    let (d1, d2, src_s, dst_s) = (2_u32, 3_u32, 3_usize, 4_usize);
    let slices = [alloc::<T>(), alloc()];
    let s = T::from_f64(1.0);
    {
        let src = slice_ptr(&slices[0], 1);
        launch!(candle, fill, kernel_name::<T>("const_set"); el_count, dims.len(), &ds, s, src);
    }
    {
        let dst_s = dst_s as u32;
        let src_s = src_s as u32;
        let (src, dst) = (slice_ptr(&slices[0], 1), slice_ptr(&slices[1], 2));
        launch!(candle, fill, kernel_name::<T>("copy2d"); src, dst, d1, d2, src_s, dst_s);
    }
    let (src, mut dst) = (slices[0].slice(1..), slices[1].slice(2..));
    launch!(candle, unary, kernel_name::<T>("ucopy"); el_count, dims.len(), &ds, &src, &mut dst);
}

pub fn run(candle: &mut Candle) {
    macro_rules! each {
        ($function:ident: $($T:ty),*) => { $($function::<$T>(candle);)* };
        ($function:ident<$C:ty>: $($T:ty),*) => { $($function::<$C, $T>(candle);)* };
    }
    each!(unary: u8, u32, i16, i32, i64, bf16, f16, f32, f64);
    each!(binary: u8, u32, i64, bf16, f16, f32, f64);
    each!(where_cond<u8>: u8, u32, i64, bf16, f16, f32, f64);
    each!(where_cond<u32>: u8, u32, i64, bf16, f16, f32, f64);
    each!(where_cond<i64>: u8, u32, i64, bf16, f16, f32, f64);
    each!(to_dtype<u8>: u8, u32, i64, bf16, f16, f32, f64);
    each!(to_dtype<u32>: u8, u32, i64, bf16, f16, f32, f64);
    each!(to_dtype<i64>: u8, u32, i64, f32, f64);
    each!(to_dtype<bf16>: u8, u32, bf16, f16, f32, f64);
    each!(to_dtype<f16>: u8, u32, bf16, f16, f32, f64);
    each!(to_dtype<f32>: u8, u32, i64, bf16, f16, f32, f64);
    each!(to_dtype<f64>: u8, u32, i64, bf16, f16, f32, f64);
    each!(copies: u8, u32, i64, bf16, f16, f32, f64);
}
