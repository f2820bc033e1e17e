//! For unit tests of this crate: a thread of the operating system is a thread of a block.

use super::Index;
use std::cell::RefCell;
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::vec::Vec;

/// The state that the threads of a block share.
struct Block {
    barrier: Barrier,
    warps: Vec<Warp>,
    memory: Mutex<Vec<u128>>,
}

struct Warp {
    barrier: Barrier,
    words: Mutex<[u32; 32]>,
}

/// A thread, with the sizes of its grid.
#[derive(Clone)]
struct Thread {
    thread: Index,
    block: Index,
    block_size: Index,
    grid_size: Index,
    shared: Arc<Block>,
}

std::thread_local! {
    static THREAD: RefCell<Option<Thread>> = const { RefCell::new(None) };
}

/// Returns all indices below a size.
fn indices(size: Index) -> impl Iterator<Item = Index> {
    let of_plane =
        move |z| (0..size.y).flat_map(move |y| (0..size.x).map(move |x| Index { x, y, z }));
    (0..size.z).flat_map(of_plane)
}

/// Runs a grid, block after block. Each block has `shared` times 16 bytes of shared memory.
pub(crate) fn run(grid: [u32; 3], block: [u32; 3], shared: usize, kernel: impl Fn() + Sync) {
    let index = |[x, y, z]: [u32; 3]| Index { x, y, z };
    let (grid_size, block_size) = (index(grid), index(block));
    let threads: u32 = block.iter().product();
    for block in indices(grid_size) {
        let lanes = (0..threads).step_by(32).map(|first| 32.min(threads - first));
        let warp =
            |lanes| Warp { barrier: Barrier::new(lanes as usize), words: Mutex::new([0; 32]) };
        let shared = Arc::new(Block {
            barrier: Barrier::new(threads as usize),
            warps: lanes.map(warp).collect(),
            memory: Mutex::new(std::vec![u128::MAX; shared]),
        });
        thread::scope(|scope| {
            for thread in indices(block_size) {
                let own = Thread { thread, block, block_size, grid_size, shared: shared.clone() };
                let kernel = &kernel;
                scope.spawn(move || {
                    THREAD.set(Some(own));
                    kernel();
                });
            }
        });
    }
}

fn this() -> Thread {
    THREAD.with_borrow(|thread| thread.clone().expect("a thread of a grid calls this function"))
}

pub(crate) fn thread_index() -> Index {
    this().thread
}

pub(crate) fn block_index() -> Index {
    this().block
}

pub(crate) fn block_size() -> Index {
    this().block_size
}

pub(crate) fn grid_size() -> Index {
    this().grid_size
}

pub(crate) fn barrier() {
    this().shared.barrier.wait();
}

pub(crate) fn shared() -> (*mut u8, usize) {
    let block = this().shared;
    let mut memory = block.memory.lock().expect("no thread panics");
    (memory.as_mut_ptr().cast(), memory.len() * 16)
}

pub(crate) fn warp_size() -> u32 {
    32
}

/// Returns the number of this thread in its block.
fn number() -> u32 {
    let Thread { thread, block_size, .. } = this();
    (thread.z * block_size.y + thread.y) * block_size.x + thread.x
}

pub(crate) fn lane() -> u32 {
    number() % 32
}

/// Returns the word that each lane of the warp passes; for missing lanes, an old word.
fn exchange(word: u32) -> [u32; 32] {
    let block = this().shared;
    let warp = &block.warps[number() as usize / 32];
    warp.words.lock().expect("no thread panics")[lane() as usize] = word;
    warp.barrier.wait();
    let words = *warp.words.lock().expect("no thread panics");
    warp.barrier.wait();
    words
}

pub(crate) fn sync_warp() {
    exchange(0);
}

pub(crate) fn ballot(condition: bool) -> u64 {
    let words = exchange(u32::from(condition));
    words.iter().rev().fold(0, |bits, &word| bits << 1 | u64::from(word))
}

pub(crate) fn shuffle(word: u32, source: u32) -> u32 {
    // A panic here would leave other threads waiting.
    exchange(word).get(source as usize).copied().unwrap_or(u32::MAX)
}
