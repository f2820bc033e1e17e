//! Kernels in Rust, for `nvptx64-nvidia-cuda` and `amdgcn-amd-amdhsa`. Both targets, and the
//! features in the attributes `feature`, are unstable.
#![no_std]
#![feature(abi_gpu_kernel)]
#![cfg_attr(target_arch = "amdgpu", feature(link_llvm_intrinsics))]
#![cfg_attr(target_arch = "nvptx64", feature(stdarch_nvptx))]
#![allow(internal_features)]

/// Computes y = a * x + y for each element. Blocks have [`BLOCK`] threads.
///
/// # Safety
/// `x` and `y` must have `n` elements.
#[unsafe(no_mangle)]
pub unsafe extern "gpu-kernel" fn saxpy(n: u32, a: f32, x: *const f32, y: *mut f32) {
    let i = index();
    if i < n {
        // SAFETY: `i` is below `n`, and no other thread has this `i`.
        unsafe { *y.add(i as usize) += a * *x.add(i as usize) }
    }
}

/// The number of threads in a block. The program has the same number, because Rust has no safe or
/// stable way to read it on AMD's GPUs.
pub const BLOCK: u32 = 256;

/// Returns the number of this thread in the grid.
fn index() -> u32 {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the functions only read registers.
    let (block, thread) = unsafe { (core::arch::nvptx::_block_idx_x() as u32, core::arch::nvptx::_thread_idx_x() as u32) };
    #[cfg(target_arch = "amdgpu")]
    // SAFETY: the functions only read registers.
    let (block, thread) = unsafe { (workgroup_id_x(), workitem_id_x()) };
    block * BLOCK + thread
}

#[cfg(target_arch = "amdgpu")]
unsafe extern "C" {
    #[link_name = "llvm.amdgcn.workgroup.id.x"]
    fn workgroup_id_x() -> u32;
    #[link_name = "llvm.amdgcn.workitem.id.x"]
    fn workitem_id_x() -> u32;
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}
