//! Host memory, which the CPU uses as device memory.
//!
//! It comes from the system's allocator even if the program sets another one. On Unix, that is the
//! C library, which stores no data next to this memory, so AddressSanitizer detects out-of-bounds
//! accesses.

use alloc::alloc::{GlobalAlloc, Layout};
use core::ptr;
use std::alloc::System;

/// The alignment of allocations, as on GPUs.
const ALIGN: usize = 256;

/// Whether the system can allocate this many bytes.
pub(super) fn is_left(size: usize) -> bool {
    let start = allocate(size);
    if !start.is_null() {
        // SAFETY: the memory comes from `allocate`, and has this size.
        unsafe { free(start, size) };
    }
    !start.is_null()
}

/// Returns memory of `size` bytes, or null. `size` is not 0.
pub(super) fn allocate(size: usize) -> *mut u8 {
    // SAFETY: the size is not 0.
    Layout::from_size_align(size, ALIGN)
        .map_or(ptr::null_mut(), |layout| unsafe { System.alloc(layout) })
}

/// # Safety
/// The memory comes from [`allocate`] with this size, and is freed once.
pub(super) unsafe fn free(memory: *mut u8, size: usize) {
    // SAFETY: `allocate` used the same layout, which is valid.
    unsafe { System.dealloc(memory, Layout::from_size_align_unchecked(size, ALIGN)) }
}
