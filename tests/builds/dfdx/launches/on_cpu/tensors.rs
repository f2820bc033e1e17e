//! Operations that move or add elements of tensors.

use super::cuda::*;
use crate::launch;
use crate::ops::*;
use half::f16;

const ROWS: usize = 12;
const COLUMNS: usize = 25;
const COUNT: usize = ROWS * COLUMNS;

macro_rules! roll {
    ($cuda:expr, $E:ty, $fwd_kernel:ident, $bwd_kernel:ident) => {{
        type S = Rank<2>;
        let cuda: &Cuda = $cuda;
        let op = RollOp { axis: 1, amount: 3 };
        let inp: Tensor<2, $E> = Tensor::new([ROWS, COLUMNS], numbers(1, COUNT));
        let numel = COUNT;
        let cfg = launch_cfg::<128>(numel as u32);
        let dims = cuda.dev.htod_copy(inp.shape.into());
        let inp_strides = cuda.dev.htod_copy(inp.strides.into());
        let out_strides = cuda.dev.htod_copy(strides(inp.shape).into());
        let mut out: CachableCudaSlice<$E> = vec(numbers(2, numel));
        launch!(cuda, cfg, roll::$fwd_kernel(
            op, S::NUM_DIMS, numel, &dims, &inp_strides, &out_strides, inp.data.as_ref(), &mut out
        ));
        let values = f64s(&inp.data);
        let from = |at: usize, by: usize| at / COLUMNS * COLUMNS + (at % COLUMNS + by) % COLUMNS;
        assert_close(
            stringify!($fwd_kernel),
            &out,
            (0..COUNT).map(|at| values[from(at, COLUMNS - 3)]),
        );

        let grad_out = &out;
        let mut grad = vec(vec![<$E>::from_f64(0.0); numel]);
        let grad_inp = &mut grad;
        launch!(cuda, cfg, roll::$bwd_kernel(
            op, S::NUM_DIMS, numel, &dims, &inp_strides, &out_strides, grad_inp, grad_out
        ));
        assert_close(stringify!($bwd_kernel), &grad, values);
    }};
}

macro_rules! attention_reshape {
    ($cuda:expr, $E:ty, $kernel:ident) => {{
        let cuda: &Cuda = $cuda;
        let (num_heads, head_dim, sequence_length, past_length) = (2, 3, 4, 5);
        let (hidden, total) = (num_heads * head_dim, sequence_length + past_length);
        let qkv: Tensor<2, $E> =
            Tensor::new([sequence_length, 3 * hidden], numbers(3, sequence_length * 3 * hidden));
        let past_key: Tensor<3, $E> =
            Tensor::new([num_heads, head_dim, past_length], numbers(4, hidden * past_length));
        let past_value: Tensor<3, $E> =
            Tensor::new([num_heads, past_length, head_dim], numbers(5, hidden * past_length));
        let [mut q_storage, mut k_storage, mut v_storage] = [sequence_length, total, total]
            .map(|length| vec(vec![<$E>::from_f64(0.0); length * hidden]));
        let numel = hidden * (sequence_length + 2 * total);
        let op = AttentionReshapeOp { numel, num_heads, head_dim, sequence_length, past_length };
        let cfg = launch_cfg::<128>(numel as u32);
        launch!(cuda, cfg, attention_reshape::$kernel(
            op, qkv.data.as_ref(), past_key.data.as_ref(), past_value.data.as_ref(), &mut q_storage,
            &mut k_storage, &mut v_storage
        ));
        let [qkv, past_key, past_value] =
            [&qkv.data, &past_key.data, &past_value.data].map(|it| f64s(it));
        let of = |which: usize, row: usize, head: usize, at: usize| {
            qkv[(row * 3 + which) * hidden + head * head_dim + at]
        };
        let (mut q, mut k, mut v) = (Vec::new(), Vec::new(), Vec::new());
        for head in 0..num_heads {
            for row in 0..sequence_length {
                q.extend((0..head_dim).map(|at| of(0, row, head, at)));
            }
            for at in 0..head_dim {
                k.extend_from_slice(
                    &past_key[(head * head_dim + at) * past_length..][..past_length],
                );
                k.extend((0..sequence_length).map(|row| of(1, row, head, at)));
            }
            v.extend_from_slice(
                &past_value[head * past_length * head_dim..][..past_length * head_dim],
            );
            for row in 0..sequence_length {
                v.extend((0..head_dim).map(|at| of(2, row, head, at)));
            }
        }
        assert_close(stringify!($kernel), &q_storage, q);
        assert_close(stringify!($kernel), &k_storage, k);
        assert_close(stringify!($kernel), &v_storage, v);
    }};
}

macro_rules! choose {
    ($cuda:expr, $E:ty, $fwd:ident, $bwd:ident) => {{
        type S = Rank<2>;
        let cuda: &Cuda = $cuda;
        let shape = [ROWS, COLUMNS];
        let cond: Tensor<2, bool> = Tensor::new(shape, (0..COUNT).map(|at| at % 3 == 0).collect());
        let lhs: Tensor<2, $E> = Tensor::new(shape, numbers(6, COUNT));
        let rhs: Tensor<2, $E> = Tensor::new(shape, numbers(7, COUNT));
        let numel = COUNT;
        let cfg = launch_cfg::<128>(numel as u32);
        let mut storage: CachableCudaSlice<$E> = vec(numbers(8, numel));
        let dims: CudaSlice<usize> = cuda.dev.htod_copy(shape.into());
        let cond_strides: CudaSlice<usize> = cuda.dev.htod_copy(cond.strides.into());
        let lhs_strides: CudaSlice<usize> = cuda.dev.htod_copy(lhs.strides.into());
        let rhs_strides: CudaSlice<usize> = cuda.dev.htod_copy(rhs.strides.into());
        launch!(cuda, cfg, choose::$fwd(
            numel, S::NUM_DIMS, &dims, cond.data.as_ref(), &cond_strides, lhs.data.as_ref(),
            &lhs_strides, rhs.data.as_ref(), &rhs_strides, &mut storage
        ));
        let (x, y) = (f64s(&lhs.data), f64s(&rhs.data));
        let pick = |at: usize, x: f64, y: f64| if at % 3 == 0 { x } else { y };
        assert_close(stringify!($fwd), &storage, (0..COUNT).map(|at| pick(at, x[at], y[at])));

        let grad_out = &storage;
        let mut grads = [0, 1].map(|_| vec(vec![<$E>::from_f64(0.0); numel]));
        let [grad_lhs, grad_rhs] = &mut grads;
        launch!(cuda, cfg, choose::$bwd(
            numel, S::NUM_DIMS, &dims, cond.data.as_ref(), &cond_strides, grad_lhs, &lhs_strides,
            grad_rhs, &rhs_strides, grad_out
        ));
        assert_close(stringify!($bwd), &grads[0], (0..COUNT).map(|at| pick(at, x[at], 0.0)));
        assert_close(stringify!($bwd), &grads[1], (0..COUNT).map(|at| pick(at, 0.0, y[at])));
    }};
}

/// Selects four elements of each row, and one element of each row.
macro_rules! gather_and_select {
    ($cuda:expr, $E:ty, $gather_fwd:ident, $gather_bwd:ident, $select_fwd:ident, $select_bwd:ident) => {{
        let cuda: &Cuda = $cuda;
        let inp: Tensor<2, $E> = Tensor::new([ROWS, COLUMNS], numbers(9, COUNT));
        let values = f64s(&inp.data);
        {
            type Src = Rank<2>;
            type Idx = Rank<2>;
            type Dst = Rank<2>;
            let from: Vec<usize> = (0..ROWS * 4).map(|at| at * 7 % COLUMNS).collect();
            let idx: Tensor<2, usize> = Tensor::new([ROWS, 4], from.clone());
            let numel = ROWS * 4;
            let cfg = launch_cfg::<128>(numel as u32);
            let mut storage: CachableCudaSlice<$E> = vec(numbers(10, numel));
            let inp_dims = cuda.dev.htod_copy(inp.shape.into());
            let idx_dims = cuda.dev.htod_copy(idx.shape.into());
            let inp_strides = cuda.dev.htod_copy(inp.strides.into());
            let idx_strides = cuda.dev.htod_copy(idx.strides.into());
            launch!(cuda, cfg, gather::$gather_fwd(
                numel, inp.data.as_ref(), Src::NUM_DIMS, &inp_dims, &inp_strides, idx.data.as_ref(),
                Idx::NUM_DIMS, &idx_dims, &idx_strides, &mut storage, Dst::NUM_DIMS
            ));
            let expected: Vec<f64> =
                (0..numel).map(|at| values[at / 4 * COLUMNS + from[at]]).collect();
            assert_close(stringify!($gather_fwd), &storage, expected.iter().copied());

            let grad_out = &storage;
            let mut grad = vec(vec![<$E>::from_f64(0.0); COUNT]);
            let grad_inp = &mut grad;
            launch!(cuda, cfg, gather::$gather_bwd(
                numel, grad_inp, Src::NUM_DIMS, &inp_dims, &inp_strides, idx.data.as_ref(),
                Idx::NUM_DIMS, &idx_dims, &idx_strides, grad_out, Dst::NUM_DIMS
            ));
            let mut sums = vec![0.0; COUNT];
            expected
                .iter()
                .enumerate()
                .for_each(|(at, by)| sums[at / 4 * COLUMNS + from[at]] += by);
            assert_close(stringify!($gather_bwd), &grad, sums);
        }
        {
            type Src = Rank<2>;
            type Idx = Rank<1>;
            let from: Vec<usize> = (0..ROWS).map(|at| at * 7 % COLUMNS).collect();
            let idx: Tensor<1, usize> = Tensor::new([ROWS], from.clone());
            let dst = [ROWS];
            let numel = ROWS;
            let cfg = launch_cfg::<128>(numel as u32);
            let mut storage: CachableCudaSlice<$E> = vec(numbers(10, numel));
            let inp_dims = cuda.dev.htod_copy(inp.shape.into());
            let idx_dims = cuda.dev.htod_copy(idx.shape.into());
            let dst_dims = cuda.dev.htod_copy(dst.into());
            let inp_strides = cuda.dev.htod_copy(inp.strides.into());
            let idx_strides = cuda.dev.htod_copy(idx.strides.into());
            let dst_strides = cuda.dev.htod_copy(strides(dst).into());
            launch!(cuda, cfg, select::$select_fwd(
                numel, inp.data.as_ref(), Src::NUM_DIMS, &inp_dims, &inp_strides, idx.data.as_ref(),
                Idx::NUM_DIMS, &idx_dims, &idx_strides, &mut storage, &dst_dims, &dst_strides
            ));
            let expected: Vec<f64> = (0..numel).map(|at| values[at * COLUMNS + from[at]]).collect();
            assert_close(stringify!($select_fwd), &storage, expected.iter().copied());

            let (out_dims, out_strides) = (dst_dims, dst_strides);
            let grad_out = &storage;
            let mut grad = vec(vec![<$E>::from_f64(0.0); COUNT]);
            let grad_inp = &mut grad;
            launch!(cuda, cfg, select::$select_bwd(
                numel, grad_inp, Src::NUM_DIMS, &inp_dims, &inp_strides, idx.data.as_ref(),
                Idx::NUM_DIMS, &idx_dims, &idx_strides, grad_out, &out_dims, &out_strides
            ));
            let mut sums = vec![0.0; COUNT];
            expected.iter().enumerate().for_each(|(at, by)| sums[at * COLUMNS + from[at]] += by);
            assert_close(stringify!($select_bwd), &grad, sums);
        }
    }};
}

/// Selects the rows from the third to the seventh.
macro_rules! slice_fwd {
    ($cuda:expr, $E:ty, $fwd:ident, $of:expr) => {{
        type Src = Rank<2>;
        let cuda: &Cuda = $cuda;
        let of: fn(usize) -> $E = $of;
        let inp: Tensor<2, $E> = Tensor::new([ROWS, COLUMNS], (0..COUNT).map(of).collect());
        let dst = [5, COLUMNS];
        let start_idx = 2 * COLUMNS;
        let numel = 5 * COLUMNS;
        let cfg = launch_cfg::<128>(numel as u32);
        let mut storage: CachableCudaSlice<$E> = vec(vec![of(0); numel]);
        let dims: CudaSlice<usize> = cuda.dev.htod_copy(dst.into());
        let strides: CudaSlice<usize> = cuda.dev.htod_copy(inp.strides.into());
        launch!(cuda, cfg, slice::$fwd(
            numel, Src::NUM_DIMS, &dims, &strides, start_idx, inp.data.as_ref(), &mut storage
        ));
        assert_eq!(contents(&storage), &contents(&inp.data)[start_idx..][..numel], "{}", stringify!($fwd));
    }};
}

macro_rules! slice_bwd {
    ($cuda:expr, $E:ty, $bwd:ident) => {{
        type Src = Rank<2>;
        let cuda: &Cuda = $cuda;
        let start_idx = 2 * COLUMNS;
        let numel = 5 * COLUMNS;
        let cfg = launch_cfg::<128>(numel as u32);
        let dims: CudaSlice<usize> = cuda.dev.htod_copy([5, COLUMNS].into());
        let strides: CudaSlice<usize> = cuda.dev.htod_copy(strides([ROWS, COLUMNS]).into());
        let grad_out = &vec(numbers::<$E>(11, numel));
        let mut grad = vec(numbers::<$E>(12, COUNT));
        let mut expected = f64s(&grad);
        let grad_inp = &mut grad;
        launch!(cuda, cfg, slice::$bwd(
            numel, Src::NUM_DIMS, &dims, &strides, start_idx, grad_inp, grad_out
        ));
        expected[start_idx..].iter_mut().zip(f64s(grad_out)).for_each(|(sum, by)| *sum += by);
        assert_close(stringify!($bwd), &grad, expected);
    }};
}

/// Computes the sum and the maximum of each row.
macro_rules! reduce {
    ($cuda:expr, $E:ty, $sum_fwd:ident, $sum_bwd:ident, $max_fwd:ident, $max_bwd:ident, $fill_with:ident) => {{
        type Src = Rank<2>;
        let cuda: &Cuda = $cuda;
        let inp: Tensor<2, $E> = Tensor::new([ROWS, COLUMNS], numbers(13, COUNT));
        let dst = ROWS;
        let rows: Vec<Vec<f64>> = f64s(&inp.data).chunks(COLUMNS).map(<[f64]>::to_vec).collect();
        let (dims, strides) = (inp.shape, inp.strides);
        let num_dims = dims.len();
        let info = cuda.dev.htod_copy([dims, strides].concat());
        let elems_per_thread = <$E>::from_f64(1.0);
        let physical_numel = inp.data.len();
        let chunk_len = physical_numel / dst;
        let cfg = launch_cfg::<128>(physical_numel as u32);

        let mut storage: CachableCudaSlice<$E> = vec(vec![<$E>::from_f64(0.0); dst]);
        launch!(cuda, cfg, sum_to::$sum_fwd(
            physical_numel, num_dims, elems_per_thread, chunk_len, &info, inp.data.as_ref(),
            &mut storage
        ));
        assert_close(stringify!($sum_fwd), &storage, rows.iter().map(|row| row.iter().sum()));

        let mut storage: CachableCudaSlice<$E> = vec(numbers(14, dst));
        let few = launch_cfg::<128>(dst as u32);
        launch!(cuda, few, max_to::$fill_with(&mut storage, <$E>::NEG_INFINITY, dst));
        assert_close(stringify!($fill_with), &storage, vec![f64::NEG_INFINITY; dst]);
        launch!(cuda, cfg, max_to::$max_fwd(
            physical_numel, num_dims, chunk_len, &info, inp.data.as_ref(), &mut storage
        ));
        let most: Vec<f64> =
            rows.iter().map(|row| row.iter().copied().fold(f64::MIN, f64::max)).collect();
        assert_close(stringify!($max_fwd), &storage, most.iter().copied());

        let out_strides = [1, 0];
        let info = cuda.dev.htod_copy([inp.shape, inp.strides, out_strides].concat());
        let out = Tensor::new([dst], contents(&storage).to_vec());
        let grad_out = &vec(numbers::<$E>(15, dst));
        let by = f64s(grad_out);
        let mut grad = vec(vec![<$E>::from_f64(0.0); physical_numel]);
        let grad_inp = &mut grad;
        launch!(cuda, cfg, sum_to::$sum_bwd(
            physical_numel, Src::NUM_DIMS, elems_per_thread, &info, grad_inp, grad_out
        ));
        assert_close(stringify!($sum_bwd), &grad, (0..COUNT).map(|at| by[at / COLUMNS]));
        let mut grad = vec(vec![<$E>::from_f64(0.0); physical_numel]);
        let grad_inp = &mut grad;
        launch!(cuda, cfg, max_to::$max_bwd(
            physical_numel, Src::NUM_DIMS, elems_per_thread, &info, inp.data.as_ref(), grad_inp,
            out.data.as_ref(), grad_out
        ));
        let is_most = |at: usize| rows[at / COLUMNS][at % COLUMNS] == most[at / COLUMNS];
        assert_close(
            stringify!($max_bwd),
            &grad,
            (0..COUNT).map(|at| if is_most(at) { by[at / COLUMNS] } else { 0.0 }),
        );
    }};
}

pub fn run(cuda: &Cuda) {
    roll!(cuda, f32, roll_fwd_f32, roll_bwd_f32);
    roll!(cuda, f64, roll_fwd_f64, roll_bwd_f64);
    roll!(cuda, f16, roll_fwd_f16, roll_bwd_f16);
    attention_reshape!(cuda, f32, attention_reshape_f32);
    attention_reshape!(cuda, f64, attention_reshape_f64);
    attention_reshape!(cuda, f16, attention_reshape_f16);
    choose!(cuda, f32, choose_fwd_f32, choose_bwd_f32);
    choose!(cuda, f64, choose_fwd_f64, choose_bwd_f64);
    choose!(cuda, f16, choose_fwd_f16, choose_bwd_f16);
    gather_and_select!(cuda, f32, gather_fwd_f32, gather_bwd_f32, select_fwd_f32, select_bwd_f32);
    gather_and_select!(cuda, f64, gather_fwd_f64, gather_bwd_f64, select_fwd_f64, select_bwd_f64);
    gather_and_select!(cuda, f16, gather_fwd_f16, gather_bwd_f16, select_fwd_f16, select_bwd_f16);
    slice_fwd!(cuda, f32, slice_fwd_f32, |at| at as f32);
    slice_fwd!(cuda, f64, slice_fwd_f64, |at| at as f64);
    slice_fwd!(cuda, f16, slice_fwd_f16, |at| f16::from_f64(at as f64));
    slice_fwd!(cuda, u8, slice_fwd_u8, |at| at as u8);
    slice_fwd!(cuda, u16, slice_fwd_u16, |at| at as u16);
    slice_fwd!(cuda, u32, slice_fwd_u32, |at| at as u32);
    slice_fwd!(cuda, u64, slice_fwd_u64, |at| at as u64);
    slice_fwd!(cuda, usize, slice_fwd_usize, |at| at);
    slice_fwd!(cuda, i8, slice_fwd_i8, |at| at as i8);
    slice_fwd!(cuda, i16, slice_fwd_i16, |at| at as i16);
    slice_fwd!(cuda, i32, slice_fwd_i32, |at| at as i32);
    slice_fwd!(cuda, i64, slice_fwd_i64, |at| at as i64);
    slice_fwd!(cuda, isize, slice_fwd_isize, |at| at as isize);
    slice_fwd!(cuda, bool, slice_fwd_bool, |at| at % 3 == 0);
    slice_bwd!(cuda, f32, slice_bwd_f32);
    slice_bwd!(cuda, f64, slice_bwd_f64);
    slice_bwd!(cuda, f16, slice_bwd_f16);
    reduce!(cuda, f32, sum_to_fwd_f32, sum_to_bwd_f32, max_to_fwd_f32, max_to_bwd_f32, fill_with_f32);
    reduce!(cuda, f64, sum_to_fwd_f64, sum_to_bwd_f64, max_to_fwd_f64, max_to_bwd_f64, fill_with_f64);
    reduce!(cuda, f16, sum_to_fwd_f16, sum_to_bwd_f16, max_to_fwd_f16, max_to_bwd_f16, fill_with_f16);
}
