//! The barrier and the memory that the threads of a block share.

use crate::arch;
use core::ptr;

/// Waits until all threads of the block have called this function. After the barrier, each thread
/// sees what the other threads have written before the barrier, in global and in shared memory.
///
/// All threads of the block must reach the same barrier; otherwise a GPU hangs, or continues too
/// early.
///
/// On AMD's GPUs, the barrier makes writes visible to the whole system, because Rust has no fence
/// for a block. On gfx90a and gfx942, that writes back the L2 cache.
#[inline(always)]
#[track_caller]
pub fn barrier() {
    arch::barrier();
}

/// Returns the shared memory of the block: as many elements as fit into the memory that the launch
/// provides for each block (`Launch::shared_memory` of offload-gpu). The memory is not initialized.
///
/// Each call returns the same memory. The memory is aligned to 16 bytes. A type with a larger
/// alignment, or with size 0, is a compile error.
///
/// Each access needs `unsafe`. A [`barrier`] must be between a thread's write and another thread's
/// access to the same element.
///
/// ```no_run
/// use offload_kernel::{barrier, shared, thread_index};
///
/// let tile = shared::<f32>();
/// let own = thread_index().x as usize;
/// assert!(own < tile.len());
/// // SAFETY: the index is below the length. Each thread writes its own element, and reads the
/// // first one after the barrier.
/// let first = unsafe {
///     let tile = tile.cast::<f32>();
///     tile.add(own).write(1.0);
///     barrier();
///     tile.read()
/// };
/// ```
#[inline(always)]
pub fn shared<T>() -> *mut [T] {
    const { assert!(align_of::<T>() <= 16 && size_of::<T>() > 0) };
    let (start, size) = arch::shared();
    ptr::slice_from_raw_parts_mut(start.cast(), size / size_of::<T>())
}
