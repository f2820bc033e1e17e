//! Host memory, which the CPU uses as device memory.

#[cfg(not(unix))]
pub(super) use other_hosts::{allocate, free};
#[cfg(unix)]
pub(super) use unix::{allocate, free};

/// The alignment of allocations, as on GPUs.
const ALIGN: usize = 256;

/// Whether the system can allocate this many bytes.
pub(super) fn is_left(size: usize) -> bool {
    let start = allocate(size);
    if start.is_null() {
        return false;
    }
    // SAFETY: the memory comes from `allocate`.
    unsafe { free(start) };
    true
}

/// Memory from the C library. This crate stores no data next to it, so AddressSanitizer detects
/// out-of-bounds accesses.
#[cfg(unix)]
mod unix {
    use super::ALIGN;
    use core::ffi::{c_int, c_void};
    use core::ptr;

    mod c {
        use super::{c_int, c_void};
        unsafe extern "C" {
            pub(super) fn posix_memalign(
                memory: *mut *mut c_void,
                alignment: usize,
                size: usize,
            ) -> c_int;
            pub(super) fn free(memory: *mut c_void);
        }
    }

    /// Returns memory of `size` bytes, or null.
    pub(in super::super) fn allocate(size: usize) -> *mut u8 {
        let mut memory = ptr::null_mut();
        // SAFETY: the alignment is a power of two, and a multiple of a pointer's size.
        let error = unsafe { c::posix_memalign(&raw mut memory, ALIGN, size) };
        if error == 0 { memory.cast() } else { ptr::null_mut() }
    }

    /// # Safety
    /// The memory comes from [`allocate`], and is freed once.
    pub(in super::super) unsafe fn free(memory: *mut u8) {
        // SAFETY: the caller guarantees the condition of this function.
        unsafe { c::free(memory.cast()) }
    }
}

/// Memory from Rust's allocator. The size, which is needed to free the memory, is stored in front
/// of it.
#[cfg(not(unix))]
mod other_hosts {
    use super::ALIGN;
    use alloc::alloc::{Layout, alloc, dealloc};
    use core::ptr;

    fn layout(size: usize) -> Option<Layout> {
        Layout::from_size_align(size.checked_add(ALIGN)?, ALIGN).ok()
    }

    /// Returns memory of `size` bytes, or null.
    pub(in super::super) fn allocate(size: usize) -> *mut u8 {
        let Some(layout) = layout(size) else { return ptr::null_mut() };
        // SAFETY: the size is not 0.
        let start = unsafe { alloc(layout) };
        if start.is_null() {
            return start;
        }
        // SAFETY: the `ALIGN` bytes before the returned address are large enough and aligned for a
        // `usize`.
        unsafe {
            start.cast::<usize>().write(size);
            start.add(ALIGN)
        }
    }

    /// # Safety
    /// The memory comes from [`allocate`], and is freed once.
    pub(in super::super) unsafe fn free(memory: *mut u8) {
        // SAFETY: `allocate` stored the size in front of the memory.
        unsafe {
            let start = memory.sub(ALIGN);
            if let Some(layout) = layout(start.cast::<usize>().read()) {
                dealloc(start, layout);
            }
        }
    }
}
