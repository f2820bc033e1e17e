//! Memory of the program, in place of a device's.

#[cfg(not(unix))]
pub(super) use elsewhere::{allocate, free};
#[cfg(unix)]
pub(super) use unix::{allocate, free};

/// The alignment of memory, the same as on GPUs.
const ALIGN: usize = 256;

/// The C library's. Nothing of ours is next to it, so that AddressSanitizer sees accesses on either
/// side.
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

    /// Returns memory of so many bytes, or null.
    pub(in super::super) fn allocate(size: usize) -> *mut u8 {
        let mut memory = ptr::null_mut();
        // SAFETY: the alignment is a power of two, and a multiple of a pointer's size.
        let error = unsafe { c::posix_memalign(&raw mut memory, ALIGN, size) };
        if error == 0 { memory.cast() } else { ptr::null_mut() }
    }

    /// # Safety
    /// The memory comes from [`allocate`], and is freed once.
    pub(in super::super) unsafe fn free(memory: *mut u8) {
        // SAFETY: the caller answers for it.
        unsafe { c::free(memory.cast()) }
    }
}

/// Rust's own, which wants to know the size again: it is kept before the memory.
#[cfg(not(unix))]
mod elsewhere {
    use super::ALIGN;
    use alloc::alloc::{Layout, alloc, dealloc};
    use core::ptr;

    fn layout(size: usize) -> Option<Layout> {
        Layout::from_size_align(size.checked_add(ALIGN)?, ALIGN).ok()
    }

    /// Returns memory of so many bytes, or null.
    pub(in super::super) fn allocate(size: usize) -> *mut u8 {
        let Some(layout) = layout(size) else { return ptr::null_mut() };
        // SAFETY: the size is not 0.
        let start = unsafe { alloc(layout) };
        if start.is_null() {
            return start;
        }
        // SAFETY: the memory has room for a number, is aligned for it, and has `ALIGN` bytes before
        // the returned address.
        unsafe {
            start.cast::<usize>().write(size);
            start.add(ALIGN)
        }
    }

    /// # Safety
    /// The memory comes from [`allocate`], and is freed once.
    pub(in super::super) unsafe fn free(memory: *mut u8) {
        // SAFETY: `allocate` has put the size before it.
        unsafe {
            let start = memory.sub(ALIGN);
            if let Some(layout) = layout(start.cast::<usize>().read()) {
                dealloc(start, layout);
            }
        }
    }
}
