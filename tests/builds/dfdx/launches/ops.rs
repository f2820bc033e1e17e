//! dfdx's structs that are passed by value. Each of these structs replaces the struct of a kernel.
//! It derives `Parameter`, where dfdx implements cudarc's `DeviceRepr`.

use offload_gpu::Parameter;

#[repr(C)]
#[derive(Clone, Copy, Parameter)]
pub struct AttentionReshapeOp {
    pub numel: usize,
    pub num_heads: usize,
    pub head_dim: usize,
    pub sequence_length: usize,
    pub past_length: usize,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Parameter)]
pub struct ClampKernelOp<E> {
    pub min: E,
    pub max: E,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Parameter)]
pub struct ScalarAddKernelOp<E> {
    pub scalar: E,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Parameter)]
pub struct Conv2DOp {
    pub kernel: usize,
    pub stride: usize,
    pub padding: usize,
    pub dilation: usize,
    pub groups: usize,
    pub batch: usize,
    pub chan_in: usize,
    pub chan_out: usize,
    pub h_in: usize,
    pub h_out: usize,
    pub w_in: usize,
    pub w_out: usize,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Parameter)]
#[expect(dead_code, reason = "the kinds of the kernel, in its order")]
pub enum Pool2DKind {
    Avg,
    Min,
    Max,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Parameter)]
pub struct Pool2DOp {
    pub kind: Pool2DKind,
    pub kernel: usize,
    pub stride: usize,
    pub padding: usize,
    pub dilation: usize,
    pub batch: usize,
    pub chan: usize,
    pub h_in: usize,
    pub h_out: usize,
    pub w_in: usize,
    pub w_out: usize,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Parameter)]
pub struct RollOp {
    pub axis: usize,
    pub amount: usize,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Parameter)]
pub struct Upscale2DOp {
    pub batch: usize,
    pub chan: usize,
    pub h_in: usize,
    pub h_out: usize,
    pub w_in: usize,
    pub w_out: usize,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Parameter)]
pub enum WeightDecayType {
    None,
    L2,
    Decoupled,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Parameter)]
#[expect(dead_code, reason = "the kinds of the kernel, in its order")]
pub enum MomentumType {
    None,
    Classic,
    Nesterov,
}

#[repr(C)]
#[derive(Clone, Copy, Parameter)]
pub struct CudaAdamConfig {
    pub lr: f64,
    pub beta1: f64,
    pub beta2: f64,
    pub eps: f64,
    pub weight_decay_type: WeightDecayType,
    pub weight_decay: f64,
}

#[repr(C)]
#[derive(Clone, Copy, Parameter)]
pub struct CudaSgdConfig {
    pub lr: f64,
    pub momentum_type: MomentumType,
    pub momentum: f64,
    pub weight_decay_type: WeightDecayType,
    pub weight_decay: f64,
}

#[repr(C)]
#[derive(Clone, Copy, Parameter)]
pub struct CudaRMSpropConfig {
    pub lr: f64,
    pub alpha: f64,
    pub eps: f64,
    pub centered: bool,
    pub has_momentum: bool,
    pub momentum: f64,
    pub weight_decay_type: WeightDecayType,
    pub weight_decay: f64,
}
