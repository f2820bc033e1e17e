//! A struct with a type parameter, an enum, and a struct without fields.

#[derive(Clone, Copy, offload_gpu::Parameter)]
#[repr(C)]
pub struct Range<T> {
    pub first: T,
}

#[derive(Clone, Copy, offload_gpu::Parameter)]
#[repr(C)]
pub enum Mode {
    Add,
}

#[derive(Clone, Copy, offload_gpu::Parameter)]
#[repr(C)]
pub struct Empty;

fn main() {}
