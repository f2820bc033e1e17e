//! Pairs of kernels, one right and one wrong. Each line that a report may name ends with a comment
//! that gives the check that finds the mistake, and the kind of the finding.
#![no_std]

use core::slice;
use core::sync::atomic::{AtomicU32, Ordering};
use offload_kernel::{
    ballot, barrier, element, global_index, kernel, lane, shared, shuffle, thread_index, warp_size,
};

/// A row of a matrix.
#[repr(C)]
pub struct Row {
    /// The elements.
    pub start: *const f32,
    /// The number of elements.
    pub len: usize,
}

/// Two numbers.
#[repr(C)]
pub struct Pair {
    /// The first one.
    pub first: f32,
    /// The second one.
    pub second: f32,
}

/// Three numbers.
#[repr(C)]
struct Triple {
    numbers: [f32; 3],
}

kernel! {
    /// Counts the threads.
    pub unsafe fn count_right(count: *mut u32) {
        let count = unsafe { AtomicU32::from_ptr(count) };
        count.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts the threads without atomic additions.
    pub unsafe fn count_wrong(count: *mut u32) {
        unsafe { *count += 1 } // found: races data race
    }

    /// Reverses the elements of a block.
    pub unsafe fn reverse_right(x: *mut f32) {
        let (tile, own) = (shared::<f32>(), thread_index().x as usize);
        let count = tile.len();
        let tile = tile.cast::<f32>();
        unsafe {
            tile.add(own).write(*x.add(own));
            barrier();
            *x.add(own) = tile.add(count - 1 - own).read();
        }
    }

    /// Reverses the elements of a block without a barrier.
    pub unsafe fn reverse_wrong(x: *mut f32) {
        let (tile, own) = (shared::<f32>(), thread_index().x as usize);
        let count = tile.len();
        let tile = tile.cast::<f32>();
        unsafe {
            tile.add(own).write(*x.add(own)); // found: races data race
            *x.add(own) = tile.add(count - 1 - own).read(); // found: races data race
        }
    }

    /// Writes the sum of each element and the next one.
    pub unsafe fn neighbours_right(n: usize, x: *const f32, y: *mut f32) {
        let (x, own) = unsafe { (slice::from_raw_parts(x, n), global_index()) };
        if let Some(y) = unsafe { element(y, n - 1) } {
            *y = x[own] + unsafe { x.get_unchecked(own + 1) };
        }
    }

    /// Adds an element beyond the end.
    pub unsafe fn neighbours_wrong(n: usize, x: *const f32, y: *mut f32) {
        let (x, own) = unsafe { (slice::from_raw_parts(x, n), global_index()) };
        if let Some(y) = unsafe { element(y, n) } {
            *y = x[own] + unsafe { x.get_unchecked(own + 1) }; // found: memory a kernel that ends the process
        }
    }

    /// Adds two numbers.
    pub unsafe fn pair_right(pair: *const Pair, y: *mut f32) {
        unsafe { *y = (*pair).first + (*pair).second }
    }

    /// Reads three numbers, although the program passes only two.
    pub unsafe fn pair_wrong(pair: *const Pair, y: *mut f32) {
        let triple = pair.cast::<Triple>();
        unsafe { *y = (*triple).numbers[0] + (*triple).numbers[2] } // found: memory heap-buffer-overflow
    }

    /// Adds one to a number, wrapping around.
    pub unsafe fn next_right(y: *mut u8) {
        unsafe { *y = (*y).wrapping_add(1) }
    }

    /// Adds one to the largest number.
    pub unsafe fn next_wrong(y: *mut u8) {
        unsafe { *y += 1 } // found: memory a kernel that ends the process
    }

    /// Copies a row whose address is stored in a buffer.
    pub unsafe fn row_right(row: *const Row, y: *mut f32) {
        unsafe {
            if let Some(y) = element(y, (*row).len) {
                *y = *(*row).start.add(global_index());
            }
        }
    }

    /// Copies a row that the program has freed.
    pub unsafe fn row_wrong(row: *const Row, y: *mut f32) {
        unsafe {
            if let Some(y) = element(y, (*row).len) {
                *y = *(*row).start.add(global_index()); // found: memory heap-use-after-free
            }
        }
    }

    /// All threads reach the barrier.
    pub unsafe fn meeting_right(x: *mut f32) {
        let own = thread_index().x;
        barrier();
        if own < 8 {
            unsafe { *x.add(own as usize) += 1.0 };
        }
    }

    /// Only some threads reach the barrier.
    pub unsafe fn meeting_wrong(x: *mut f32) {
        let own = thread_index().x;
        if own < 8 {
            barrier(); // found: memory a barrier that not all threads reach
            unsafe { *x.add(own as usize) += 1.0 };
        }
    }

    /// Each lane reads the next lane's value. The last lane reads its own value.
    pub unsafe fn lanes_right(x: *mut f32) {
        let own = thread_index().x;
        assert!(ballot(true).count_ones() == warp_size());
        let next = shuffle(own as f32, (lane() + 1).min(warp_size() - 1));
        unsafe { *x.add(own as usize) = next };
    }

    /// Reads values from lanes that have returned.
    pub unsafe fn lanes_wrong(x: *mut f32) {
        let own = thread_index().x;
        if own < 16 {
            let next = shuffle(own as f32, own + 1); // found: memory a shuffle from a lane that does not take part
            unsafe { *x.add(own as usize) = next };
        }
    }
}
