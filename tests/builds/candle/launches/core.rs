//! Stand-ins for the candle-core items that the launches use, and cudarc's buffers.

pub use cudarc::driver::CudaSlice;

use cudarc::driver::{CudaContext, CudaStream};
use half::{bf16, f16};
use offload_gpu::types::F8E4M3;
use offload_gpu::{AnyArgument, CallError, DeviceBuffer};
use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

/// The results of all launches.
#[derive(Default)]
pub struct Candle {
    kernels: BTreeSet<String>,
    launches: usize,
    refused: Vec<String>,
}

impl Candle {
    pub fn record(&mut self, name: &str, checked: Result<(), CallError>) {
        self.launches += 1;
        match checked {
            Ok(()) => drop(self.kernels.insert(name.to_owned())),
            Err(error) => self.refused.push(format!("{name}: {error}")),
        }
    }

    pub fn report(&self, what: &str) {
        let (kernels, launches, refused) = (self.kernels.len(), self.launches, self.refused.len());
        println!("{what}: {launches} launches, {kernels} kernels, {refused} refused");
        self.refused.iter().for_each(|refused| println!("{refused}"));
    }
}

/// Creates a buffer of eight elements.
pub fn alloc<T>() -> CudaSlice<T> {
    static STREAM: LazyLock<Arc<CudaStream>> = LazyLock::new(|| {
        let context = CudaContext::new(0).unwrap();
        // SAFETY: there is only one stream. candle disables event tracking, too.
        unsafe { context.disable_event_tracking() };
        context.new_stream().unwrap()
    });
    const COUNT: usize = 8;
    let bytes = STREAM.alloc_zeros::<u8>(COUNT * size_of::<T>()).unwrap();
    // SAFETY: the buffer has as many bytes as `COUNT` elements.
    unsafe { STREAM.upgrade_device_ptr(bytes.leak(), COUNT) }
}

/// An element type.
pub trait WithDType: AnyArgument + Copy + 'static {
    const DTYPE: &'static str;
    fn from_f64(value: f64) -> Self;
}

macro_rules! impl_with_dtype {
    ($($T:ty, $name:literal, $from:expr;)*) => {$(
        impl WithDType for $T {
            const DTYPE: &'static str = $name;

            fn from_f64(value: f64) -> Self {
                $from(value)
            }
        }
    )*};
}

impl_with_dtype! {
    u8, "u8", |value| value as u8;
    u32, "u32", |value| value as u32;
    i16, "i16", |value| value as i16;
    i32, "i32", |value| value as i32;
    i64, "i64", |value| value as i64;
    bf16, "bf16", bf16::from_f64;
    f16, "f16", f16::from_f64;
    f32, "f32", |value| value as f32;
    f64, "f64", |value| value;
    F8E4M3, "f8e4m3", |_| F8E4M3::from_bits(0x38);
}

pub fn kernel_name<T: WithDType>(root: &str) -> String {
    format!("{root}_{}", T::DTYPE)
}

/// Returns the address of a buffer's element.
pub fn slice_ptr<T>(slice: &CudaSlice<T>, from: usize) -> u64 {
    slice.slice(from..).device_address().addr() as u64
}
