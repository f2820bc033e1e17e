//! Pooling, upscaling and convolution of images.

use super::cuda::*;
use crate::launch;
use crate::ops::*;
use half::f16;
use std::sync::Arc;

const BATCH: usize = 2;
const CHANNELS: usize = 3;
const SIZE: usize = 6;

/// Returns the index of an element in a tensor with these dimensions.
fn at([_, channels, height, width]: [usize; 4], [b, c, y, x]: [usize; 4]) -> usize {
    ((b * channels + c) * height + y) * width + x
}

/// The indexes of a tensor's elements, in order.
fn indexes([batch, channels, height, width]: [usize; 4]) -> impl Iterator<Item = [usize; 4]> {
    (0..batch * channels * height * width).map(move |at| {
        let (at, x) = (at / width, at % width);
        let (at, y) = (at / height, at % height);
        [at / channels, at % channels, y, x]
    })
}

/// Launches max pooling of two-by-two blocks of elements, and its derivative.
macro_rules! pool2d {
    ($cuda:expr, $E:ty, $fwd:ident, $bwd:ident) => {{
        let cuda: &Cuda = $cuda;
        let (large, small) = ([BATCH, CHANNELS, SIZE, SIZE], [BATCH, CHANNELS, SIZE / 2, SIZE / 2]);
        let op = Pool2DOp {
            kind: Pool2DKind::Max,
            kernel: 2,
            stride: 2,
            padding: 0,
            dilation: 1,
            batch: BATCH,
            chan: CHANNELS,
            h_in: SIZE,
            h_out: SIZE / 2,
            w_in: SIZE,
            w_out: SIZE / 2,
        };
        let inp: Tensor<4, $E> = Tensor::new(large, numbers(1, large.iter().product()));
        let mut out: Tensor<4, $E> = Tensor::new(small, numbers(2, small.iter().product()));
        let inp_strides = cuda.dev.htod_copy(inp.strides.into());
        let out_strides = cuda.dev.htod_copy(out.strides.into());
        let cfg = launch_cfg::<128>(out.data.len() as u32);
        launch!(cuda, cfg, pool2d::$fwd(
            op, &inp_strides, &out_strides, inp.data.as_ref(), Arc::make_mut(&mut out.data)
        ));
        let values = f64s(&inp.data);
        let most: Vec<f64> = indexes(small)
            .map(|[b, c, y, x]| {
                let of = [[0, 0], [0, 1], [1, 0], [1, 1]]
                    .map(|[v, u]| values[at(large, [b, c, 2 * y + v, 2 * x + u])]);
                of.into_iter().fold(f64::MIN, f64::max)
            })
            .collect();
        assert_close(stringify!($fwd), &out.data, most.iter().copied());

        let grad_out = &vec(numbers::<$E>(3, out.data.len()));
        let by = f64s(grad_out);
        let mut grad = vec(vec![<$E>::from_f64(0.0); inp.data.len()]);
        let grad_inp = &mut grad;
        let cfg = launch_cfg::<128>(inp.data.len() as u32);
        launch!(cuda, cfg, pool2d::$bwd(
            op, &inp_strides, &out_strides, inp.data.as_ref(), grad_inp, out.data.as_ref(), grad_out
        ));
        let expected = indexes(large).zip(&values).map(|([b, c, y, x], value)| {
            let from = at(small, [b, c, y / 2, x / 2]);
            if most[from] == *value { by[from] } else { 0.0 }
        });
        assert_close(stringify!($bwd), &grad, expected);
    }};
}

/// Upscales images to twice the size, and computes the derivatives.
macro_rules! upscale2d {
    ($cuda:expr, $E:ty, $fwd:ident, $bwd:ident) => {{
        let cuda: &Cuda = $cuda;
        let (small, large) = ([BATCH, CHANNELS, SIZE, SIZE], [BATCH, CHANNELS, 2 * SIZE, 2 * SIZE]);
        let op = Upscale2DOp {
            batch: BATCH,
            chan: CHANNELS,
            h_in: SIZE,
            h_out: 2 * SIZE,
            w_in: SIZE,
            w_out: 2 * SIZE,
        };
        let inp: Tensor<4, $E> = Tensor::new(small, numbers(4, small.iter().product()));
        let mut out: Tensor<4, $E> = Tensor::new(large, numbers(5, large.iter().product()));
        let strides = cuda.dev.htod_copy(inp.strides.into());
        let cfg = launch_cfg::<128>(out.data.len() as u32);
        launch!(cuda, cfg, upscale2d::$fwd(
            op, &strides, inp.data.as_ref(), Arc::make_mut(&mut out.data)
        ));
        let from = |[b, c, y, x]: [usize; 4]| at(small, [b, c, y / 2, x / 2]);
        let values = f64s(&inp.data);
        assert_close(stringify!($fwd), &out.data, indexes(large).map(|it| values[from(it)]));

        let grad_out = out.data.as_ref();
        let mut grad = vec(vec![<$E>::from_f64(0.0); inp.data.len()]);
        let grad_inp = &mut grad;
        launch!(cuda, cfg, upscale2d::$bwd(op, &strides, grad_inp, grad_out));
        assert_close(stringify!($bwd), &grad, values.iter().map(|value| 4.0 * value));
    }};
}

/// Launches the steps of a convolution with one-element filters, and of its derivatives. With such
/// filters, the steps only copy or add elements.
macro_rules! conv2d {
    ($cuda:expr, $E:ty, $unfold:ident, $unfold_out:ident, $transpose:ident, $sum:ident) => {{
        let cuda: &Cuda = $cuda;
        let out_channels = 4;
        let op = Conv2DOp {
            kernel: 1,
            stride: 1,
            padding: 0,
            dilation: 1,
            groups: 1,
            batch: BATCH,
            chan_in: CHANNELS,
            chan_out: out_channels,
            h_in: SIZE,
            h_out: SIZE,
            w_in: SIZE,
            w_out: SIZE,
        };
        let images = [BATCH, CHANNELS, SIZE, SIZE];
        let img: Tensor<4, $E> = Tensor::new(images, numbers(6, images.iter().product()));
        let img_strides = cuda.dev.htod_copy(img.strides.into());
        let mut workspace = cuda.dev.htod_copy(numbers::<$E>(7, img.data.len()));
        let mut patches: CudaViewMut<$E> = workspace.slice_mut(..);
        let cfg = launch_cfg::<128>((op.batch * op.chan_in * op.h_out * op.w_out) as u32);
        launch!(cuda, cfg, conv2d::$unfold(op, img.data.as_ref(), &img_strides, &mut patches));
        assert_close(stringify!($unfold), &CachableCudaSlice { data: workspace }, f64s(&img.data));

        let grad_out = &vec(numbers::<$E>(8, BATCH * out_channels * SIZE * SIZE));
        let mut workspace = cuda.dev.htod_copy(numbers::<$E>(9, grad_out.len()));
        let mut patches: CudaViewMut<$E> = workspace.slice_mut(..);
        let cfg = launch_cfg::<128>((op.batch * op.chan_out * op.h_in * op.w_in) as u32);
        launch!(cuda, cfg, conv2d::$unfold_out(op, grad_out, &mut patches));
        assert_close(stringify!($unfold_out), &CachableCudaSlice { data: workspace }, f64s(grad_out));

        let rhs: Tensor<4, $E> =
            Tensor::new([out_channels, CHANNELS, 1, 1], numbers(10, out_channels * CHANNELS));
        let f_strides = cuda.dev.htod_copy(rhs.strides.into());
        let filters = rhs.data.len();
        let mut ftr: CachableCudaSlice<$E> = vec(numbers(11, filters));
        let cfg = launch_cfg::<128>(filters as u32);
        launch!(cuda, cfg, conv2d::$transpose(op, rhs.data.as_ref(), &f_strides, &mut ftr));
        let values = f64s(&rhs.data);
        let transposed = |at: usize| values[at % out_channels * CHANNELS + at / out_channels];
        assert_close(stringify!($transpose), &ftr, (0..filters).map(transposed));

        let grad_ftr = vec(contents(&ftr).repeat(BATCH));
        let mut grad = vec(vec![<$E>::from_f64(1.0); filters]);
        let grad_rhs = &mut grad;
        launch!(cuda, cfg, conv2d::$sum(op, &grad_ftr, grad_rhs, &f_strides));
        assert_close(
            stringify!($sum),
            &grad,
            values.iter().map(|value| 1.0 + BATCH as f64 * value),
        );
    }};
}

pub fn run(cuda: &Cuda) {
    pool2d!(cuda, f32, pool2d_fwd_f32, pool2d_bwd_f32);
    pool2d!(cuda, f64, pool2d_fwd_f64, pool2d_bwd_f64);
    pool2d!(cuda, f16, pool2d_fwd_f16, pool2d_bwd_f16);
    upscale2d!(cuda, f32, nearest_upscale2d_fwd_f32, nearest_upscale2d_bwd_f32);
    upscale2d!(cuda, f64, nearest_upscale2d_fwd_f64, nearest_upscale2d_bwd_f64);
    upscale2d!(cuda, f16, nearest_upscale2d_fwd_f16, nearest_upscale2d_bwd_f16);
    conv2d!(cuda, f32, unfold_input_into_patches_f32, unfold_output_into_patches_f32, transpose_filters_f32, sum_transposed_filters_f32);
    conv2d!(cuda, f64, unfold_input_into_patches_f64, unfold_output_into_patches_f64, transpose_filters_f64, sum_transposed_filters_f64);
    conv2d!(cuda, f16, unfold_input_into_patches_f16, unfold_output_into_patches_f16, transpose_filters_f16, sum_transposed_filters_f16);
}
