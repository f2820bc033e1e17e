//! Counts the allocations of a thread.
//!
//! A test file installs the allocator with `#[global_allocator] static ALLOCATOR: Counting =
//! Counting;`. C libraries do not use this allocator, so allocations by libzstd are not counted.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, which also counts the allocations of each thread.
#[derive(Debug)]
pub struct Counting;

/// A thread's requests to the allocator.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Allocated {
    /// The number of requests.
    pub count: u64,
    /// The total size of all requests in bytes, including memory that was freed.
    pub total: u64,
    /// The size of the largest request in bytes.
    pub largest: u64,
}

thread_local! {
    // The tally needs neither initialization nor a destructor, so the allocator can use it at any
    // time in a thread's life.
    static TALLY: Cell<Allocated> = const { Cell::new(Allocated { count: 0, total: 0, largest: 0 }) };
}

impl Allocated {
    /// Runs `work`. Returns its result, and the requests that this thread has made to the allocator
    /// meanwhile.
    pub fn during<T>(work: impl FnOnce() -> T) -> (T, Self) {
        TALLY.set(Self::default());
        let result = work();
        (result, TALLY.get())
    }

    fn with(self, size: usize) -> Self {
        let size = size as u64;
        Self {
            count: self.count + 1,
            total: self.total.saturating_add(size),
            largest: self.largest.max(size),
        }
    }
}

fn count(size: usize) {
    TALLY.set(TALLY.get().with(size));
}

// SAFETY: each function passes its arguments unchanged to the same function of `System`, and
// returns the result. The caller's promises are therefore exactly those that `System` needs.
// Counting neither allocates nor unwinds.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: see above.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: see above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        // SAFETY: see above.
        unsafe { System.realloc(block, layout, size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: see above.
        unsafe { System.dealloc(block, layout) }
    }
}
