//! Stand-ins for the dfdx items that the launches use.

pub use super::memory::{CudaSlice, CudaViewMut};

use super::memory::{device_to_host, host_to_device};
use half::f16;
use offload_gpu::run::{Device, Launch};
use offload_gpu::{BufferEvent, DeviceBuffer};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

/// dfdx's own buffer type. dfdx implements cudarc's traits for this type in about as many lines.
pub struct CachableCudaSlice<E> {
    pub data: CudaSlice<E>,
}

impl<E> DeviceBuffer for CachableCudaSlice<E> {
    type Item = E;

    fn device_address(&self) -> *const E {
        self.data.device_address()
    }

    fn for_reading(&self) -> (*const E, Option<BufferEvent>) {
        self.data.for_reading()
    }

    fn for_writing(&mut self) -> (*mut E, Option<BufferEvent>) {
        self.data.for_writing()
    }
}

impl<E> CachableCudaSlice<E> {
    pub fn len(&self) -> usize {
        self.data.len()
    }
}

impl<E: Clone> Clone for CachableCudaSlice<E> {
    fn clone(&self) -> Self {
        vec(contents(self).to_vec())
    }
}

/// A tensor with one or more dimensions, as in dfdx.
pub struct Tensor<const N: usize, E> {
    pub data: Arc<CachableCudaSlice<E>>,
    pub shape: [usize; N],
    pub strides: [usize; N],
}

impl<const N: usize, E> Tensor<N, E> {
    pub fn new(shape: [usize; N], values: Vec<E>) -> Self {
        assert_eq!(values.len(), shape.iter().product());
        Self { data: Arc::new(vec(values)), shape, strides: strides(shape) }
    }
}

/// The strides of a tensor with contiguous elements.
pub fn strides<const N: usize>(shape: [usize; N]) -> [usize; N] {
    let mut strides = [1; N];
    for at in (1..N).rev() {
        strides[at - 1] = strides[at] * shape[at];
    }
    strides
}

/// A dfdx shape as a type, which provides the number of dimensions.
pub struct Rank<const N: usize>;

impl<const N: usize> Rank<N> {
    pub const NUM_DIMS: usize = N;
}

pub fn vec<E>(values: Vec<E>) -> CachableCudaSlice<E> {
    CachableCudaSlice { data: host_to_device(values) }
}

pub fn contents<E>(of: &CachableCudaSlice<E>) -> &[E] {
    device_to_host(&of.data)
}

pub struct Cuda {
    pub dev: Dev,
}

/// The device, and the number of launches of each kernel on it.
pub struct Dev {
    device: Device,
    pub launches: Mutex<BTreeMap<&'static str, usize>>,
}

impl Cuda {
    pub fn new() -> Self {
        Self { dev: Dev { device: Device::cpu(), launches: Mutex::default() } }
    }
}

impl Dev {
    pub fn htod_copy<T>(&self, values: Vec<T>) -> CudaSlice<T> {
        host_to_device(values)
    }

    pub fn device(&self) -> &Device {
        &self.device
    }

    pub fn count(&self, kernel: &'static str) {
        *self.launches.lock().unwrap().entry(kernel).or_default() += 1;
    }
}

pub fn launch_cfg<const NUM_THREADS: u32>(n: u32) -> Launch {
    Launch::new(n.div_ceil(NUM_THREADS), NUM_THREADS)
}

/// An element type.
pub trait Dtype: Copy + PartialEq + Debug + 'static {
    /// The maximum relative difference between the kernels' results and those of plain Rust.
    const NEAR: f64;
    fn from_f64(value: f64) -> Self;
    fn to_f64(self) -> f64;
}

macro_rules! impl_dtype {
    ($($E:ty, $near:literal, $from:expr;)*) => {$(
        impl Dtype for $E {
            const NEAR: f64 = $near;

            fn from_f64(value: f64) -> Self {
                $from(value)
            }

            fn to_f64(self) -> f64 {
                self.into()
            }
        }
    )*};
}

impl_dtype! {
    f32, 1e-5, |value| value as f32;
    f64, 1e-12, |value| value;
    f16, 4e-3, f16::from_f64;
}

/// Returns multiples of 1/16 between -4 and 4, which all element types can represent. Each seed
/// yields a different sequence.
pub fn numbers<E: Dtype>(seed: u32, count: usize) -> Vec<E> {
    let mut state = seed.wrapping_mul(2_654_435_769) ^ 12345;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        E::from_f64(f64::from((state >> 25) as u8) / 16.0 - 4.0)
    };
    (0..count).map(|_| next()).collect()
}

/// Compares a kernel's output with the results of plain Rust.
pub fn assert_close<E: Dtype>(
    kernel: &str,
    found: &CachableCudaSlice<E>,
    expected: impl IntoIterator<Item = f64>,
) {
    let expected: Vec<f64> = expected.into_iter().collect();
    assert_eq!(found.len(), expected.len(), "{kernel}");
    for (at, (found, expected)) in contents(found).iter().zip(expected).enumerate() {
        let (found, is_equal) = (found.to_f64(), found.to_f64() == expected);
        let near = E::NEAR * expected.abs().max(1.0);
        assert!(
            is_equal || (found - expected).abs() <= near,
            "{kernel}, {at}: {found}, expected {expected}"
        );
    }
}

pub fn f64s<E: Dtype>(values: &CachableCudaSlice<E>) -> Vec<f64> {
    contents(values).iter().map(|value| value.to_f64()).collect()
}
