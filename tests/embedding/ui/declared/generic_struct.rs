//! Structs with a parameter that is no type, a field that is no parameter, and no fields; enums
//! with fields and without `repr`.

#[derive(Clone, Copy, offload_gpu::Parameter)]
#[repr(C)]
pub struct Range<const N: usize> {
    pub first: [i32; N],
}

#[derive(Clone, Copy, offload_gpu::Parameter)]
#[repr(C)]
pub struct Pair<T> {
    pub first: T,
    pub second: &'static str,
}

#[derive(Clone, Copy, offload_gpu::Parameter)]
#[repr(C)]
pub enum Mode {
    Add,
    Scale(f32),
}

#[derive(Clone, Copy, offload_gpu::Parameter)]
pub enum Sign {
    Plus,
    Minus,
}

#[derive(Clone, Copy, offload_gpu::Parameter)]
#[repr(C)]
pub struct Empty;

fn main() {}
