//! Optimizers. Their settings are passed by value, as structs of numbers, booleans and enums.

use super::cuda::*;
use crate::launch;
use crate::ops::*;
use half::f16;

const COUNT: usize = 300;

macro_rules! adam {
    ($cuda:expr, $E:ty, $kernel:ident) => {{
        let cuda: &Cuda = $cuda;
        let t: i32 = 3;
        let opt_cfg = CudaAdamConfig {
            lr: 0.125,
            beta1: 0.875,
            beta2: 0.75,
            eps: 0.0625,
            weight_decay_type: WeightDecayType::Decoupled,
            weight_decay: 0.25,
        };
        let mut of = [1, 2, 3].map(|seed| vec(numbers::<$E>(seed, COUNT)));
        of[2] = vec(f64s(&of[2]).iter().map(|v| <$E>::from_f64(v.abs())).collect());
        let before = of.each_ref().map(f64s);
        let [param, moment1, moment2] = &mut of;
        let grad = &vec(numbers::<$E>(4, COUNT));
        let numel = param.len();
        let cfg = launch_cfg::<128>(numel as u32);
        launch!(cuda, cfg, adam::$kernel(opt_cfg, numel, t, param, moment1, moment2, grad));
        let grad = f64s(grad);
        let moment = |at: usize| {
            (
                0.875 * before[1][at] + 0.125 * grad[at],
                0.75 * before[2][at] + 0.25 * grad[at].powi(2),
            )
        };
        let step = |at: usize| {
            let (m, v) = moment(at);
            let (m, v) = (m / (1.0 - 0.875_f64.powi(t)), v / (1.0 - 0.75_f64.powi(t)));
            before[0][at] - (0.125 * m / (v.sqrt() + 0.0625) + 0.25 * 0.125 * before[0][at])
        };
        assert_close(stringify!($kernel), &of[1], (0..COUNT).map(|at| moment(at).0));
        assert_close(stringify!($kernel), &of[2], (0..COUNT).map(|at| moment(at).1));
        assert_close(stringify!($kernel), &of[0], (0..COUNT).map(step));
    }};
}

macro_rules! sgd {
    ($cuda:expr, $E:ty, $kernel:ident) => {{
        let cuda: &Cuda = $cuda;
        let opt_cfg = CudaSgdConfig {
            lr: 0.5,
            momentum_type: MomentumType::Nesterov,
            momentum: 0.25,
            weight_decay_type: WeightDecayType::L2,
            weight_decay: 0.125,
        };
        let mut of = [5, 6].map(|seed| vec(numbers::<$E>(seed, COUNT)));
        let before = of.each_ref().map(f64s);
        let [param, velocity] = &mut of;
        let grad = &vec(numbers::<$E>(7, COUNT));
        let numel = param.len();
        let cfg = launch_cfg::<128>(numel as u32);
        launch!(cuda, cfg, sgd::$kernel(opt_cfg, numel, param, velocity, grad));
        let grad = f64s(grad);
        let decayed = |at: usize| grad[at] + 0.125 * before[0][at];
        let velocity = |at: usize| decayed(at) + 0.25 * before[1][at];
        assert_close(stringify!($kernel), &of[1], (0..COUNT).map(velocity));
        let step = |at: usize| before[0][at] - (decayed(at) + 0.25 * velocity(at)) * 0.5;
        assert_close(stringify!($kernel), &of[0], (0..COUNT).map(step));
    }};
}

macro_rules! rmsprop {
    ($cuda:expr, $E:ty, $kernel:ident) => {{
        let cuda: &Cuda = $cuda;
        let opt_cfg = CudaRMSpropConfig {
            lr: 0.125,
            alpha: 0.75,
            eps: 0.5,
            centered: false,
            has_momentum: true,
            momentum: 0.5,
            weight_decay_type: WeightDecayType::None,
            weight_decay: 0.0,
        };
        let mut of = [8, 9, 10, 11].map(|seed| vec(numbers::<$E>(seed, COUNT)));
        of[2] = vec(f64s(&of[2]).iter().map(|s| <$E>::from_f64(s.abs())).collect());
        let before = of.each_ref().map(f64s);
        let [param, momentum, square_avg, grad_avg] = &mut of;
        let grad = &vec(numbers::<$E>(12, COUNT));
        let numel = param.len();
        let cfg = launch_cfg::<128>(numel as u32);
        launch!(cuda, cfg, rmsprop::$kernel(
            opt_cfg, numel, param, momentum, square_avg, grad_avg, grad
        ));
        let grad = f64s(grad);
        let square = |at: usize| before[2][at] + 0.25 * (grad[at].powi(2) - before[2][at]);
        let momentum = |at: usize| before[1][at] * 0.5 + grad[at] / (square(at) + 0.5).sqrt();
        assert_close(stringify!($kernel), &of[2], (0..COUNT).map(square));
        assert_close(stringify!($kernel), &of[1], (0..COUNT).map(momentum));
        assert_close(stringify!($kernel), &of[3], before[3].iter().copied());
        assert_close(
            stringify!($kernel),
            &of[0],
            (0..COUNT).map(|at| before[0][at] - momentum(at) * 0.125),
        );
    }};
}

pub fn run(cuda: &Cuda) {
    adam!(cuda, f32, adam_update_f32);
    adam!(cuda, f64, adam_update_f64);
    adam!(cuda, f16, adam_update_f16);
    adam!(cuda, f16, adam_update_amp_f16);
    sgd!(cuda, f32, sgd_update_f32);
    sgd!(cuda, f64, sgd_update_f64);
    sgd!(cuda, f16, sgd_update_f16);
    sgd!(cuda, f16, sgd_update_amp_f16);
    rmsprop!(cuda, f32, rmsprop_update_f32);
    rmsprop!(cuda, f64, rmsprop_update_f64);
    rmsprop!(cuda, f16, rmsprop_update_f16);
    rmsprop!(cuda, f16, rmsprop_update_amp_f16);
}
