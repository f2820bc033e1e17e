//! AMD's GPUs. The functions have the names from LLVM 22: `IntrinsicsAMDGPU.td` and "User Guide for
//! AMDGPU Backend". Comments here name the guide's sections.

use super::Index;
use core::arch::amdgpu;
use core::intrinsics;
use core::ptr;
use core::sync::atomic::{Ordering, compiler_fence, fence};

unsafe extern "C" {
    // "LLVM IR Intrinsics": reads a register of the hardware.
    #[link_name = "llvm.amdgcn.s.getreg"]
    safe fn s_getreg(register: i32) -> u32;
    // Whether an address is in shared memory.
    #[link_name = "llvm.amdgcn.is.shared"]
    safe fn is_shared(address: *const u8) -> bool;
}

/// The packet that starts a launch: HSA Platform System Architecture Specification 1.2, section
/// 2.9.6, "Kernel dispatch packet".
#[repr(C)]
struct Packet {
    header: u16,
    setup: u16,
    workgroup_size: [u16; 3],
    reserved: u16,
    grid_size: [u32; 3],
    private_segment_size: u32,
    group_segment_size: u32,
}

#[inline(always)]
fn packet() -> &'static Packet {
    // SAFETY: the packet has this layout, and does not change during the launch.
    unsafe { &*intrinsics::gpu::amdgpu_dispatch_ptr().cast::<Packet>() }
}

#[inline(always)]
pub(crate) fn thread_index() -> Index {
    Index { x: amdgpu::workitem_id_x(), y: amdgpu::workitem_id_y(), z: amdgpu::workitem_id_z() }
}

#[inline(always)]
pub(crate) fn block_index() -> Index {
    Index { x: amdgpu::workgroup_id_x(), y: amdgpu::workgroup_id_y(), z: amdgpu::workgroup_id_z() }
}

#[inline(always)]
pub(crate) fn block_size() -> Index {
    let [x, y, z] = packet().workgroup_size.map(u32::from);
    Index { x, y, z }
}

#[inline(always)]
pub(crate) fn grid_size() -> Index {
    // The packet has the number of threads. HIP launches only whole blocks.
    let (grid, block) = (packet().grid_size, block_size());
    Index { x: grid[0] / block.x, y: grid[1] / block.y, z: grid[2] / block.z }
}

#[inline(always)]
pub(crate) fn barrier() {
    // "Memory Model": the barrier instruction itself orders no accesses.
    fence(Ordering::Release);
    amdgpu::s_barrier();
    fence(Ordering::Acquire);
}

#[inline(always)]
pub(crate) fn shared() -> (*mut u8, usize) {
    // From gfx9 to gfx11, `hwreg(HW_REG_SH_MEM_BASES, 16, 16)` contains the upper 16 bits of all
    // addresses of shared memory ("Address Spaces": "Local"). As in LLVM's `AMDGPU::Hwreg`, the
    // operand consists of the register's number (15), the first bit (16), and the number of bits
    // less 1 (15).
    const SHARED_BASE: i32 = 15 | 16 << 6 | 15 << 11;
    let base = (s_getreg(SHARED_BASE) as usize) << 48;
    let base = if is_shared(ptr::without_provenance(base)) { base } else { search_shared_base() };
    // The compiler may allocate shared memory for a kernel. The launch's shared memory follows it.
    let first = amdgpu::groupstaticsize().next_multiple_of(16);
    let start = ptr::with_exposed_provenance_mut(base | first as usize);
    (start, packet().group_segment_size.saturating_sub(first) as usize)
}

/// Returns the start of the addresses of shared memory. This is for GPUs whose register has a
/// different number, or that lack the register, such as gfx12. The instruction of `is_shared` works
/// on all of them. The drivers for Linux choose 1 << 48.
#[inline(always)]
fn search_shared_base() -> usize {
    for upper in 1..1 << 16 {
        let base = upper << 48;
        if is_shared(ptr::without_provenance(base)) {
            return base;
        }
    }
    trap()
}

#[inline(always)]
pub(crate) fn warp_size() -> u32 {
    amdgpu::wavefrontsize()
}

#[inline(always)]
pub(crate) fn lane() -> u32 {
    amdgpu::mbcnt_hi(u32::MAX, amdgpu::mbcnt_lo(u32::MAX, 0))
}

#[inline(always)]
pub(crate) fn sync_warp() {
    // "Memory Model": a fence for a wavefront needs no instruction, so a compiler fence is enough.
    compiler_fence(Ordering::Release);
    amdgpu::wave_barrier();
    compiler_fence(Ordering::Acquire);
}

#[inline(always)]
pub(crate) fn ballot(condition: bool) -> u64 {
    amdgpu::ballot(condition)
}

#[inline(always)]
pub(crate) fn shuffle(word: u32, source: u32) -> u32 {
    // SAFETY: the instruction has no conditions for memory. An inactive lane may pass any value.
    unsafe { amdgpu::ds_bpermute(source * 4, word) }
}

pub(crate) fn trap() -> ! {
    intrinsics::abort()
}
