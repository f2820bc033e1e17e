//! Element-wise functions on vectors. Each is a module of one pack, which is loaded when it is first called.
//!
//! They run the images for the CPU. On a GPU a module is loaded as in the examples cuda-vector-add and hip-vector-add, by
//! `MODULE.select(&device)`.

mod cpu;
pub mod python;

use std::sync::OnceLock;

use cpu::CpuModule;
pub use cpu::Result;
use offload::{DeviceInfo, KernelPack, Module, include_offload};

/// All modules, with all their images.
pub static KERNELS: KernelPack = include_offload!("kernels");

// A name that the pack does not have does not compile.
const LIMIT: Module = KERNELS.module("limit");
const SCALE: Module = KERNELS.module("scale");
const SHIFT: Module = KERNELS.module("shift");

/// x = min(x, to)
pub fn limit(x: &mut [f32], to: f32) -> Result<()> {
    static LOADED: Loaded = Loaded::new();
    run(LIMIT, &LOADED, x, to)
}

/// x = by * x
pub fn scale(x: &mut [f32], by: f32) -> Result<()> {
    static LOADED: Loaded = Loaded::new();
    run(SCALE, &LOADED, x, by)
}

/// x = x + by
pub fn shift(x: &mut [f32], by: f32) -> Result<()> {
    static LOADED: Loaded = Loaded::new();
    run(SHIFT, &LOADED, x, by)
}

/// A module, once it is loaded; or why it cannot be.
type Loaded = OnceLock<std::result::Result<CpuModule, String>>;

/// Runs the kernel that is called as its module is.
fn run(module: Module, loaded: &Loaded, x: &mut [f32], operand: f32) -> Result<()> {
    // The first call loads; calls on other threads wait for that.
    let load = || -> Result<CpuModule> { CpuModule::load(module.select(&DeviceInfo::cpu())?.into_image()) };
    let loaded = loaded.get_or_init(|| load().map_err(|error| error.to_string())).as_ref().map_err(String::as_str)?;
    // SAFETY: all kernels have this type in their sources.
    let kernel = unsafe { loaded.kernel::<unsafe extern "C" fn(i32, f32, *mut f32)>(module.name())? };
    let n = i32::try_from(x.len())?;
    let x = x.as_mut_ptr();
    const BLOCK: u32 = 256;
    loaded.launch([n.unsigned_abs().div_ceil(BLOCK), 1, 1], [BLOCK, 1, 1], || {
        // SAFETY: it touches the first `n` elements of `x`, which is how many it has.
        unsafe { kernel(n, operand, x) }
    })
}
