//! Elementwise functions. A macro contains the launches of dfdx's `tensor_ops/utilities`, which are
//! generic over the operation. Some launches are separate.

use super::cuda::*;
use crate::kernels;
use crate::launch;
use crate::ops::{ClampKernelOp, ScalarAddKernelOp};
use half::f16;
use std::sync::Arc;

const COUNT: usize = 300;

/// Returns an operand's buffer, or `None` if the derivative is not computed from this operand.
macro_rules! operand {
    (x x $of:ident) => { $of.data.as_ref() };
    (fx fx $of:ident) => { $of.data.as_ref() };
    (xy xy $of:ident) => { $of.data.as_ref() };
    ($operand:ident $from:ident $of:ident) => { None };
}

/// Launches a unary operation, and its derivative from `x`, from the result `fx`, or from neither.
macro_rules! unary {
    ($cuda:expr, $E:ty, $module:ident, $fwd:ident, $bwd:ident($from:ident), $op:expr, $f:expr, $df:expr) => {{
        let (cuda, op, f, df): (&Cuda, _, fn(f64) -> f64, fn(f64, f64) -> f64) = ($cuda, $op, $f, $df);
        let inp: Tensor<1, $E> = Tensor::new([COUNT], numbers(1, COUNT));
        let expected: Vec<f64> = f64s(&inp.data).into_iter().map(f).collect();

        let numel = inp.data.len();
        let cfg = launch_cfg::<128>(numel as u32);
        let mut storage: CachableCudaSlice<$E> = vec(numbers(2, numel));
        launch!(cuda, cfg, $module::$fwd(op, numel, inp.data.as_ref(), &mut storage));
        assert_close(stringify!($fwd), &storage, expected.iter().copied());
        let out = Tensor { data: Arc::new(storage), ..inp };

        let grad_out = &vec(numbers::<$E>(3, numel));
        let mut grad = vec(numbers::<$E>(4, numel));
        let before = f64s(&grad);
        let grad_inp = &mut grad;
        launch!(cuda, cfg, $module::$bwd(
            op, numel, operand!(x $from inp), grad_inp, operand!(fx $from out), grad_out
        ));
        let values = f64s(&inp.data).into_iter().zip(f64s(&out.data));
        let gradients = f64s(grad_out).into_iter().zip(before);
        let expected_grad = values.zip(gradients).map(|((x, fx), (by, before))| before + df(x, fx) * by);
        assert_close(stringify!($bwd), &grad, expected_grad);

        // In place.
        let mut inp = inp;
        launch!(cuda, cfg, $module::$fwd(op, numel, None, Arc::make_mut(&mut inp.data)));
        assert_close(stringify!($fwd), &inp.data, expected);
    }};
}

/// Launches a binary operation on tensors of the same shape, and its derivatives.
macro_rules! binary {
    ($cuda:expr, $E:ty, $module:ident, $fwd:ident, $bwd_lhs:ident, $bwd_rhs:ident($from:ident), $op:expr, $f:expr, $dx:expr, $dy:expr) => {{
        type S = Rank<2>;
        type F = fn(f64, f64) -> f64;
        let (cuda, op, f, dx, dy): (&Cuda, _, F, F, F) = ($cuda, $op, $f, $dx, $dy);
        let shape = [COUNT / 20, 20];
        let numel = COUNT;
        let cfg = launch_cfg::<128>(numel as u32);
        let mut lhs: Tensor<2, $E> = Tensor::new(shape, numbers(5, numel));
        let mut rhs: Tensor<2, $E> = Tensor::new(shape, numbers(6, numel));
        let values: Vec<(f64, f64)> = f64s(&lhs.data).into_iter().zip(f64s(&rhs.data)).collect();
        let expected: Vec<f64> = values.iter().map(|&(x, y)| f(x, y)).collect();

        let info = cuda.dev.htod_copy([shape, lhs.strides, rhs.strides].concat());
        let mut storage: CachableCudaSlice<$E> = vec(numbers(7, numel));
        launch!(cuda, cfg, $module::$fwd(
            op, numel, S::NUM_DIMS, &info, lhs.data.as_ref(), rhs.data.as_ref(), &mut storage
        ));
        assert_close(stringify!($fwd), &storage, expected.iter().copied());

        let all = [shape, strides(shape), rhs.strides, shape, strides(shape), lhs.strides];
        let bwd_info = cuda.dev.htod_copy(all.concat());
        let grad_out = &vec(numbers::<$E>(8, numel));
        let mut grads = [vec(vec![<$E>::from_f64(0.0); numel]), vec(vec![<$E>::from_f64(0.0); numel])];
        let [grad_lhs, grad_rhs] = &mut grads;
        launch!(cuda, cfg, $module::$bwd_lhs(
            op.clone(), numel, S::NUM_DIMS, &bwd_info, operand!(xy $from lhs), grad_lhs,
            numel / lhs.data.len(), operand!(xy $from rhs), grad_out
        ));
        launch!(cuda, cfg, $module::$bwd_rhs(
            op, numel, S::NUM_DIMS, &bwd_info, operand!(xy $from lhs), operand!(xy $from rhs),
            grad_rhs, numel / rhs.data.len(), grad_out
        ));
        let by = f64s(grad_out);
        let gradient = |d: F| values.iter().zip(&by).map(move |(&(x, y), by)| d(x, y) * by);
        assert_close(stringify!($bwd_lhs), &grads[0], gradient(dx));
        assert_close(stringify!($bwd_rhs), &grads[1], gradient(dy));

        // In place, so that the result overwrites one of the operands.
        let kept = rhs.data.clone();
        launch!(cuda, cfg, $module::$fwd(
            op, numel, S::NUM_DIMS, &info, lhs.data.as_ref(), None, Arc::make_mut(&mut rhs.data)
        ));
        assert_close(stringify!($fwd), &rhs.data, expected.iter().copied());
        rhs.data = kept;
        launch!(cuda, cfg, $module::$fwd(
            op, numel, S::NUM_DIMS, &info, None, rhs.data.as_ref(), Arc::make_mut(&mut lhs.data)
        ));
        assert_close(stringify!($fwd), &lhs.data, expected);
    }};
}

/// Launches comparisons of two tensors, and of a tensor with a number.
macro_rules! compare {
    ($cuda:expr, $E:ty, $fwd:ident, $scalar_fwd:ident, $is:tt) => {{
        type S = Rank<2>;
        let cuda: &Cuda = $cuda;
        let shape = [15, 20];
        let numel = COUNT;
        let cfg = launch_cfg::<128>(numel as u32);
        let lhs: Tensor<2, $E> = Tensor::new(shape, numbers(9, numel));
        let rhs: Tensor<2, $E> = Tensor::new(shape, numbers(10, numel));
        let scalar = <$E>::from_f64(0.5);
        let dims: CudaSlice<usize> = cuda.dev.htod_copy(shape.into());
        let lhs_strides: CudaSlice<usize> = cuda.dev.htod_copy(lhs.strides.into());
        let rhs_strides: CudaSlice<usize> = cuda.dev.htod_copy(rhs.strides.into());
        let out_strides: CudaSlice<usize> = cuda.dev.htod_copy(strides(shape).into());

        let mut storage: CachableCudaSlice<bool> = vec(vec![false; numel]);
        launch!(cuda, cfg, cmp::$fwd(
            numel, S::NUM_DIMS, &dims, lhs.data.as_ref(), &lhs_strides, rhs.data.as_ref(),
            &rhs_strides, &mut storage, &out_strides
        ));
        let expected = contents(&lhs.data).iter().zip(contents(&rhs.data)).map(|(x, y)| x $is y);
        assert_eq!(contents(&storage), expected.collect::<Vec<bool>>(), "{}", stringify!($fwd));

        launch!(cuda, cfg, cmp::$scalar_fwd(
            numel, S::NUM_DIMS, &dims, lhs.data.as_ref(), &lhs_strides, scalar, &mut storage,
            &out_strides
        ));
        let expected = contents(&lhs.data).iter().map(|x| *x $is scalar);
        assert_eq!(contents(&storage), expected.collect::<Vec<bool>>(), "{}", stringify!($scalar_fwd));
    }};
}

macro_rules! axpy {
    ($cuda:expr, $E:ty, $kernel:ident) => {{
        let cuda: &Cuda = $cuda;
        let mut start = vec(numbers::<$E>(11, COUNT));
        let b = &vec(numbers::<$E>(12, COUNT));
        let (alpha, beta) = (<$E>::from_f64(0.5), <$E>::from_f64(-2.0));
        let expected: Vec<f64> =
            f64s(&start).into_iter().zip(f64s(b)).map(|(a, b)| 0.5 * a - 2.0 * b).collect();
        let a = &mut start;
        let numel = a.len();
        let cfg = launch_cfg::<128>(numel as u32);
        launch!(cuda, cfg, axpy::$kernel(numel, a, alpha, b, beta));
        assert_close(stringify!($kernel), &start, expected);
    }};
}

macro_rules! dropout {
    ($cuda:expr, $E:ty, $fwd:ident, $bwd:ident) => {{
        let cuda: &Cuda = $cuda;
        let inp: Tensor<1, $E> = Tensor::new([COUNT], numbers(13, COUNT));
        let mask = cuda.dev.htod_copy((0..COUNT).map(|at| at % 3 == 0).collect::<Vec<bool>>());
        let by = |at: usize| if at % 3 == 0 { 0.0 } else { 2.0 };
        let prob = <$E>::from_f64(0.5);
        let numel = inp.data.len();
        let cfg = launch_cfg::<128>(numel as u32);
        let mut storage: CachableCudaSlice<$E> = vec(numbers(14, numel));
        launch!(cuda, cfg, dropout::$fwd(prob, numel, inp.data.as_ref(), &mask, &mut storage));
        let expected = f64s(&inp.data).into_iter().enumerate().map(|(at, x)| x * by(at));
        assert_close(stringify!($fwd), &storage, expected);

        let grad_out = &vec(numbers::<$E>(15, numel));
        let mut grad = vec(vec![<$E>::from_f64(1.0); numel]);
        let grad_inp = &mut grad;
        launch!(cuda, cfg, dropout::$bwd(prob, numel, &mask, grad_inp, grad_out));
        let expected = f64s(grad_out).into_iter().enumerate().map(|(at, x)| 1.0 + x * by(at));
        assert_close(stringify!($bwd), &grad, expected);
    }};
}

macro_rules! boolean {
    ($cuda:expr, $kernel:ident, $of:tt) => {{
        type S = Rank<2>;
        let cuda: &Cuda = $cuda;
        let shape = [15, 20];
        let numel = COUNT;
        let cfg = launch_cfg::<128>(numel as u32);
        let lhs: Tensor<2, bool> = Tensor::new(shape, (0..numel).map(|at| at % 2 == 0).collect());
        let rhs: Tensor<2, bool> = Tensor::new(shape, (0..numel).map(|at| at % 3 == 0).collect());
        let mut storage = vec(vec![false; numel]);
        let dims: CudaSlice<usize> = cuda.dev.htod_copy(shape.into());
        let lhs_strides: CudaSlice<usize> = cuda.dev.htod_copy(lhs.strides.into());
        let rhs_strides: CudaSlice<usize> = cuda.dev.htod_copy(rhs.strides.into());
        launch!(cuda, cfg, boolean::$kernel(
            numel, S::NUM_DIMS, &dims, lhs.data.as_ref(), &lhs_strides, rhs.data.as_ref(),
            &rhs_strides, &mut storage
        ));
        let expected = contents(&lhs.data).iter().zip(contents(&rhs.data)).map(|(&x, &y)| x $of y);
        assert_eq!(contents(&storage), expected.collect::<Vec<bool>>(), "{}", stringify!($kernel));
    }};
}

fn boolean_not(cuda: &Cuda) {
    let inp: Tensor<1, bool> = Tensor::new([COUNT], (0..COUNT).map(|at| at % 5 == 0).collect());
    let numel = inp.data.len();
    let cfg = launch_cfg::<128>(numel as u32);
    let mut storage = vec(vec![false; numel]);
    launch!(cuda, cfg, boolean::boolean_not(numel, inp.data.as_ref(), &mut storage));
    assert_eq!(contents(&storage), contents(&inp.data).iter().map(|x| !x).collect::<Vec<bool>>());
}

pub fn run(cuda: &Cuda) {
    macro_rules! each {
        ($E:ty, $abs:tt $clamp:tt $pow:tt $add:tt $exp:tt $badd:tt $bmul:tt $cmp:tt $axpy:ident $dropout:tt) => {
            each!(@ unary $E, abs, $abs(x), kernels::abs::AbsKernelOp, |x| x.abs(), |x, _| if x == 0.0 { 0.0 } else { x.signum() });
            each!(@ unary $E, exp, $exp(fx), kernels::exp::ExpKernelOp, f64::exp, |_, fx| fx);
            each!(@ unary $E, clamp, $clamp(x), ClampKernelOp { min: <$E>::from_f64(-1.0), max: <$E>::from_f64(2.0) },
                |x| x.clamp(-1.0, 2.0), |x, _| if (-1.0..=2.0).contains(&x) { 1.0 } else { 0.0 });
            each!(@ pow $E, $pow, |x| x * x, |x, _| 2.0 * x);
            each!(@ unary $E, scalar_add, $add(none), ScalarAddKernelOp { scalar: <$E>::from_f64(0.75) }, |x| x + 0.75, |_, _| 1.0);
            each!(@ binary $E, binary_add, $badd(none), kernels::binary_add::BinaryAddOp, |x, y| x + y, |_, _| 1.0, |_, _| 1.0);
            each!(@ binary $E, binary_mul, $bmul(xy), kernels::binary_mul::BinaryMulKernalOp, |x, y| x * y, |_, y| y, |x, _| x);
            each!(@ cmp $E, $cmp);
            axpy!(cuda, $E, $axpy);
            each!(@ dropout $E, $dropout);
        };
        (@ unary $E:ty, $module:ident, ($fwd:ident $bwd:ident)($from:ident), $op:expr, $f:expr, $df:expr) => {
            unary!(cuda, $E, $module, $fwd, $bwd($from), $op, $f, $df)
        };
        // dfdx's struct is `PowfKernelOp<E>(E)`, whose field has no name.
        (@ pow $E:ty, ($fwd:ident $bwd:ident $op:ident), $f:expr, $df:expr) => {
            unary!(cuda, $E, pow, $fwd, $bwd(x), kernels::pow::$op { rhs: <$E>::from_f64(2.0).into() }, $f, $df)
        };
        (@ binary $E:ty, $module:ident, ($fwd:ident $lhs:ident $rhs:ident)($from:ident), $op:expr, $f:expr, $dx:expr, $dy:expr) => {
            binary!(cuda, $E, $module, $fwd, $lhs, $rhs($from), $op, $f, $dx, $dy)
        };
        (@ cmp $E:ty, ($($fwd:ident $scalar_fwd:ident $is:tt),*)) => { $(compare!(cuda, $E, $fwd, $scalar_fwd, $is);)* };
        (@ dropout $E:ty, ($fwd:ident $bwd:ident)) => { dropout!(cuda, $E, $fwd, $bwd) };
    }
    each!(f32, (abs_fwd_f32 abs_bwd_f32) (clamp_fwd_f32 clamp_bwd_f32)
        (pow_fwd_f32 pow_bwd_f32 PowFKernelOp_float) (sadd_fwd_f32 sadd_bwd_f32)
        (exp_fwd_f32 exp_bwd_f32) (badd_fwd_f32 badd_bwd_lhs_f32 badd_bwd_rhs_f32)
        (bmul_fwd_f32 bmul_bwd_lhs_f32 bmul_bwd_rhs_f32)
        (eq_fwd_f32 scalar_eq_fwd_f32 ==, lt_fwd_f32 scalar_lt_fwd_f32 <) axpy_f32 (dropout_fwd_f32 dropout_bwd_f32));
    each!(f64, (abs_fwd_f64 abs_bwd_f64) (clamp_fwd_f64 clamp_bwd_f64)
        (pow_fwd_f64 pow_bwd_f64 PowFKernelOp_double) (sadd_fwd_f64 sadd_bwd_f64)
        (exp_fwd_f64 exp_bwd_f64) (badd_fwd_f64 badd_bwd_lhs_f64 badd_bwd_rhs_f64)
        (bmul_fwd_f64 bmul_bwd_lhs_f64 bmul_bwd_rhs_f64)
        (ne_fwd_f64 scalar_ne_fwd_f64 !=, ge_fwd_f64 scalar_ge_fwd_f64 >=) axpy_f64 (dropout_fwd_f64 dropout_bwd_f64));
    each!(f16, (abs_fwd_f16 abs_bwd_f16) (clamp_fwd_f16 clamp_bwd_f16)
        (pow_fwd_f16 pow_bwd_f16 PowFKernelOp___half) (sadd_fwd_f16 sadd_bwd_f16)
        (exp_fwd_f16 exp_bwd_f16) (badd_fwd_f16 badd_bwd_lhs_f16 badd_bwd_rhs_f16)
        (bmul_fwd_f16 bmul_bwd_lhs_f16 bmul_bwd_rhs_f16)
        (gt_fwd_f16 scalar_gt_fwd_f16 >, le_fwd_f16 scalar_le_fwd_f16 <=) axpy_f16 (dropout_fwd_f16 dropout_bwd_f16));
    boolean!(cuda, boolean_and, &);
    boolean!(cuda, boolean_or, |);
    boolean!(cuda, boolean_xor, ^);
    boolean_not(cuda);
}
