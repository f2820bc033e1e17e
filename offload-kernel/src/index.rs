//! The index of this thread in the grid, and the elements that belong to the thread.

use crate::arch::{self, Index};

/// Returns the index of this thread in its block.
#[inline(always)]
pub fn thread_index() -> Index {
    arch::thread_index()
}

/// Returns the index of this thread's block in the grid.
#[inline(always)]
pub fn block_index() -> Index {
    arch::block_index()
}

/// Returns the number of threads in a block, in each dimension.
#[inline(always)]
pub fn block_size() -> Index {
    arch::block_size()
}

/// Returns the number of blocks in the grid, in each dimension.
#[inline(always)]
pub fn grid_size() -> Index {
    arch::grid_size()
}

/// Returns the number of this thread in the first dimension of the grid.
#[inline(always)]
pub fn global_x() -> usize {
    block_index().x as usize * block_size().x as usize + thread_index().x as usize
}

/// Returns the number of this thread in the second dimension of the grid.
#[inline(always)]
pub fn global_y() -> usize {
    block_index().y as usize * block_size().y as usize + thread_index().y as usize
}

/// Returns the number of this thread in the third dimension of the grid.
#[inline(always)]
pub fn global_z() -> usize {
    block_index().z as usize * block_size().z as usize + thread_index().z as usize
}

/// Returns the number of this thread among all threads of the grid. Each thread has a different
/// number.
///
/// The threads of a block have consecutive numbers, in which x changes fastest. The blocks of a
/// grid follow each other in the same order. If a launch uses only the first dimension, the number
/// is [`global_x`].
#[inline(always)]
pub fn global_index() -> usize {
    let (block, thread, size) = (block_index(), thread_index(), block_size());
    let block = if block.y == 0 && block.z == 0 {
        // Avoid `grid_size`: AMD's GPUs store the grid's size in threads, so its size in blocks
        // needs a division.
        block.x as usize
    } else {
        let grid = grid_size();
        let row = block.z as usize * grid.y as usize + block.y as usize;
        row * grid.x as usize + block.x as usize
    };
    // A block has at most 1024 threads. A grid could have more than 2^64 threads, but no GPU runs
    // as many in a lifetime, so the numbers do not wrap.
    let thread = (thread.z * size.y + thread.y) * size.x + thread.x;
    block * (size.x * size.y * size.z) as usize + thread as usize
}

/// Returns the element whose number is [`global_index`], or `None` if there are fewer elements.
///
/// # Safety
/// `start` points to `len` consecutive elements, which are valid during the launch. As long as the
/// result is in use, nothing else uses this element: this thread does not call the function again
/// for this memory, and no other code accesses the element.
///
/// Each thread may use its own element at the same time, because the elements differ.
#[inline(always)]
pub unsafe fn element<'a, T>(start: *mut T, len: usize) -> Option<&'a mut T> {
    let index = global_index();
    // SAFETY: the index is below `len`, and the caller guarantees the elements. No other thread has
    // the same index, so this is the only reference.
    (index < len).then(|| unsafe { &mut *start.add(index) })
}
