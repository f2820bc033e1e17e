//! NVIDIA's GPUs. The functions have the names from LLVM 22: "User Guide for NVPTX Back-end" and
//! `IntrinsicsNVVM.td`. The instructions are from the PTX ISA; comments here name its sections.

use super::Index;
use core::arch::{asm, global_asm, nvptx};

unsafe extern "C" {
    // "Special Registers: %laneid".
    #[link_name = "llvm.nvvm.read.ptx.sreg.laneid"]
    safe fn laneid() -> u32;
    // "Parallel Synchronization and Communication Instructions: bar.warp.sync".
    #[link_name = "llvm.nvvm.bar.warp.sync"]
    safe fn bar_warp_sync(mask: u32);
    // "Parallel Synchronization and Communication Instructions: vote.sync".
    #[link_name = "llvm.nvvm.vote.ballot.sync"]
    safe fn vote_ballot_sync(mask: u32, condition: bool) -> u32;
    // "Data Movement and Conversion Instructions: shfl.sync".
    #[link_name = "llvm.nvvm.shfl.sync.idx.i32"]
    safe fn shfl_sync_idx(mask: u32, word: u32, source: u32, clamp: u32) -> u32;
}

/// The mask of all lanes. The hardware does not wait for lanes that have returned.
const ALL: u32 = u32::MAX;

#[inline(always)]
pub(crate) fn thread_index() -> Index {
    // SAFETY: the functions read registers.
    unsafe {
        Index { x: nvptx::_thread_idx_x(), y: nvptx::_thread_idx_y(), z: nvptx::_thread_idx_z() }
    }
}

#[inline(always)]
pub(crate) fn block_index() -> Index {
    // SAFETY: the functions read registers.
    unsafe {
        Index { x: nvptx::_block_idx_x(), y: nvptx::_block_idx_y(), z: nvptx::_block_idx_z() }
    }
}

#[inline(always)]
pub(crate) fn block_size() -> Index {
    // SAFETY: the functions read registers.
    unsafe {
        Index { x: nvptx::_block_dim_x(), y: nvptx::_block_dim_y(), z: nvptx::_block_dim_z() }
    }
}

#[inline(always)]
pub(crate) fn grid_size() -> Index {
    // SAFETY: the functions read registers.
    unsafe { Index { x: nvptx::_grid_dim_x(), y: nvptx::_grid_dim_y(), z: nvptx::_grid_dim_z() } }
}

#[inline(always)]
pub(crate) fn barrier() {
    // SAFETY: the instruction, `bar.sync 0`, has no conditions for memory. It also orders the
    // accesses of the waiting threads ("bar, barrier").
    unsafe { nvptx::_syncthreads() }
}

// A launch provides memory for each block. The module declares this memory as an external array
// without a size ("State Spaces: Shared State Space").
global_asm!(".extern .shared .align 16 .b8 offload_kernel_shared[];");

#[inline(always)]
pub(crate) fn shared() -> (*mut u8, usize) {
    let (start, size): (*mut u8, u32);
    // SAFETY: the instructions only read an address and a register ("Special Registers:
    // %dynamic_smem_size").
    unsafe {
        asm!(
            "mov.u64 {start}, offload_kernel_shared;",
            "cvta.shared.u64 {start}, {start};",
            "mov.u32 {size}, %dynamic_smem_size;",
            start = out(reg64) start,
            size = out(reg32) size,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    (start, size as usize)
}

#[inline(always)]
pub(crate) fn warp_size() -> u32 {
    32
}

#[inline(always)]
pub(crate) fn lane() -> u32 {
    laneid()
}

#[inline(always)]
pub(crate) fn sync_warp() {
    bar_warp_sync(ALL);
}

#[inline(always)]
pub(crate) fn ballot(condition: bool) -> u64 {
    u64::from(vote_ballot_sync(ALL, condition))
}

#[inline(always)]
pub(crate) fn shuffle(word: u32, source: u32) -> u32 {
    // With this last operand, the warp is not divided into groups.
    shfl_sync_idx(ALL, word, source, 31)
}

pub(crate) fn trap() -> ! {
    // SAFETY: the instruction ends the launch.
    unsafe { nvptx::trap() }
}
