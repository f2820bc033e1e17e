//! Kernels in Rust, for AMD's and NVIDIA's GPUs and for the CPU.
#![no_std]

use core::slice;
use core::sync::atomic::{AtomicU32, Ordering};
use offload_kernel::{
    barrier, block_size, element, global_index, global_x, global_y, grid_size, kernel, lane,
    shared, shuffle_down, thread_index, warp_size,
};

/// A line: y = slope * x + offset.
#[repr(C)]
pub struct Line {
    /// The growth of y for each x.
    pub slope: f32,
    /// The y where x is 0.
    pub offset: f32,
}

/// The number of rows and columns of a [`Tile`].
const TILE: usize = 16;

/// A part of a matrix, in shared memory.
type Tile = [[f32; TILE]; TILE];

kernel! {
    /// Computes y = a * x + y for each element.
    ///
    /// # Safety
    /// `x` and `y` have `n` elements, and nothing else uses `y` during the launch.
    pub unsafe fn saxpy(n: usize, a: f32, x: *const f32, y: *mut f32) {
        // SAFETY: the caller guarantees the elements, and this thread asks once for its own.
        let (x, y) = unsafe { (slice::from_raw_parts(x, n), element(y, n)) };
        if let Some(y) = y {
            *y += a * x[global_index()];
        }
    }

    /// Computes the y of a line for each x.
    ///
    /// # Safety
    /// `line` points to a line, `x` and `y` have `n` elements, and nothing else uses `y` during the
    /// launch.
    pub unsafe fn evaluate(line: *const Line, n: usize, x: *const f32, y: *mut f32) {
        // SAFETY: the caller guarantees the memory, and this thread asks once for its own element.
        let (line, x, y) = unsafe { (&*line, slice::from_raw_parts(x, n), element(y, n)) };
        if let Some(y) = y {
            *y = line.slope * x[global_index()] + line.offset;
        }
    }

    /// Adds `n` numbers to `total`. Grid and block have one dimension. A block has whole warps, and
    /// 4 bytes of shared memory for each warp.
    ///
    /// # Safety
    /// `x` has `n` elements, and `total` has one.
    pub unsafe fn sum(n: usize, x: *const u32, total: *mut u32) {
        // SAFETY: the caller guarantees the elements. All threads use the total atomically.
        let (x, total) = unsafe { (slice::from_raw_parts(x, n), AtomicU32::from_ptr(total)) };
        let threads = block_size().x as usize * grid_size().x as usize;
        let own = x.iter().skip(global_x()).step_by(threads);
        let of_warp = sum_of_warp(own.sum());

        let (warp, warps) = (thread_index().x / warp_size(), block_size().x / warp_size());
        let of_warps = shared::<u32>();
        assert!(of_warps.len() >= warps as usize, "too little shared memory");
        let of_warps = of_warps.cast::<u32>();
        if lane() == 0 {
            // SAFETY: there is a number for each warp, and only this lane writes that of its warp.
            unsafe { of_warps.add(warp as usize).write(of_warp) };
        }
        barrier();
        if warp == 0 {
            let lane = lane();
            let of_warp = if lane < warps {
                // SAFETY: all warps have written their numbers before the barrier.
                unsafe { of_warps.add(lane as usize).read() }
            } else {
                0
            };
            let of_block = sum_of_warp(of_warp);
            if lane == 0 {
                total.fetch_add(of_block, Ordering::Relaxed);
            }
        }
    }

    /// Computes c = a * b, for matrices with `n` rows and columns, a multiple of 16. Blocks have
    /// 16 x 16 threads, and 2048 bytes of shared memory. There is a thread for each element.
    ///
    /// # Safety
    /// Each matrix has `n` x `n` elements, and nothing else uses `c` during the launch.
    pub unsafe fn multiply(n: usize, a: *const f32, b: *const f32, c: *mut f32) {
        // SAFETY: the caller guarantees the elements.
        let (a, b) = unsafe { (slice::from_raw_parts(a, n * n), slice::from_raw_parts(b, n * n)) };
        let (x, y) = (thread_index().x as usize, thread_index().y as usize);
        let (column, row) = (global_x(), global_y());
        let tiles = shared::<Tile>();
        assert!(x < TILE && y < TILE && tiles.len() >= 2, "a wrong block");
        assert!(n.is_multiple_of(TILE) && column < n && row < n, "a wrong grid");
        let of_a = tiles.cast::<Tile>();
        // SAFETY: there are two tiles.
        let of_b = unsafe { of_a.add(1) };
        let mut sum = 0.0;
        for tile in (0..n).step_by(TILE) {
            // SAFETY: the indices are below `TILE`. Each thread writes its own elements. A barrier
            // comes before others read them, and another one before they are written again.
            unsafe {
                (*of_a)[y][x] = a[row * n + tile + x];
                (*of_b)[y][x] = b[(tile + y) * n + column];
                barrier();
                for k in 0..TILE {
                    sum += (*of_a)[y][k] * (*of_b)[k][x];
                }
                barrier();
            }
        }
        // SAFETY: the row and the column are below `n`, and no other thread has both of them.
        unsafe { c.add(row * n + column).write(sum) };
    }
}

/// Returns the sum of the values of all lanes, in lane 0.
fn sum_of_warp(mut value: u32) -> u32 {
    let mut by = warp_size() / 2;
    while by > 0 {
        value += shuffle_down(value, by);
        by /= 2;
    }
    value
}
