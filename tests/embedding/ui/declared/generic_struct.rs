//! Structs with a parameter that is not a type, with a field that is not a parameter, and without
//! fields. Enums with fields, and enums without `repr`.

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
