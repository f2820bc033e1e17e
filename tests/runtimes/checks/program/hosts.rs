//! Programs whose threads share data and launch kernels. All except one are correct and must not
//! cause reports.

use crate::{SIZE, address, launch};
use offload_gpu::run::{Buffer, Device, Launch};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, OnceLock, mpsc};
use std::thread;

/// The number of times that each program repeats its work.
const ROUNDS: usize = 6;

pub fn run(name: &str) {
    match name {
        "mutex" => mutex(),
        "channel" => channel(),
        "scoped_threads" => scoped_threads(),
        "pool" => pool(),
        "reused_allocations" => reused_allocations(),
        "shared_device" => shared_device(),
        "spin_lock" => spin_lock(),
        "overlapping_launches" => overlapping_launches(),
        other => panic!("no host program {other}"),
    }
}

struct Data {
    x: Buffer<f32>,
    n: Buffer<u32>,
}

impl Data {
    fn new() -> Self {
        let device = Device::cpu();
        Self { x: device.buffer(&[1_f32; SIZE]).unwrap(), n: device.zeros(SIZE).unwrap() }
    }

    /// Runs three kernels on the data, then restores `x`.
    fn step(&mut self) {
        for kernel in ["blocks_right", "barrier_right", "warp_right"] {
            let (x, n) = (address(&mut self.x), address(&mut self.n));
            launch(kernel, &Device::cpu(), &Launch::new(2, 64), x, n).unwrap();
        }
        self.x.upload(&[1_f32; SIZE]).unwrap();
    }

    fn sum(&self) -> f32 {
        self.x.to_vec().unwrap().iter().sum()
    }
}

fn mutex() {
    let data = Mutex::new(Data::new());
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..ROUNDS).for_each(|_| data.lock().unwrap().step()));
        }
    });
    assert_eq!(data.lock().unwrap().sum(), SIZE as f32);
}

fn channel() {
    let (to, from) = mpsc::channel::<Data>();
    let receiver = thread::spawn(move || {
        for mut data in from {
            data.step();
        }
    });
    for _ in 0..ROUNDS {
        let mut data = Data::new();
        data.step();
        to.send(data).unwrap();
    }
    drop(to);
    receiver.join().unwrap();
}

fn scoped_threads() {
    let mut all: Vec<Data> = (0..4).map(|_| Data::new()).collect();
    for _ in 0..ROUNDS {
        thread::scope(|scope| {
            for data in &mut all {
                scope.spawn(|| data.step());
            }
        });
        // In the next round, each thread uses buffers that a different thread used in this round.
        all.rotate_left(1);
    }
}

/// Runs threads that take the number of the next job from a counter.
fn pool() {
    let jobs: Vec<Mutex<Data>> = (0..8).map(|_| Mutex::new(Data::new())).collect();
    let next = AtomicUsize::new(0);
    let done = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    job.lock().unwrap().step();
                    done.fetch_add(1, Ordering::Release);
                }
            });
        }
    });
    assert_eq!(done.load(Ordering::Acquire), 8);
}

/// Allocates and frees buffers in several threads, so one thread may receive memory that another
/// thread has freed.
fn reused_allocations() {
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| (0..ROUNDS).for_each(|_| Data::new().step()));
        }
    });
}

fn shared_device() {
    static DEVICE: OnceLock<Device> = OnceLock::new();
    let device = DEVICE.get_or_init(Device::cpu);
    let shared = Arc::new(Mutex::new(Data::new()));
    let threads: Vec<_> = (0..3)
        .map(|_| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                device.synchronize().unwrap();
                shared.lock().unwrap().step();
            })
        })
        .collect();
    drop(shared);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// Protects the data with a spin lock, which no tool recognizes as a lock.
fn spin_lock() {
    struct Lock(AtomicBool, std::cell::UnsafeCell<Data>);
    // SAFETY: only the thread that has set the flag uses the data.
    unsafe impl Sync for Lock {}
    let lock = &Lock(AtomicBool::new(false), Data::new().into());
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..ROUNDS {
                    while lock.0.swap(true, Ordering::Acquire) {
                        thread::yield_now();
                    }
                    // SAFETY: the flag was not set before, so this thread owns the data.
                    unsafe { (*lock.1.get()).step() };
                    lock.0.store(false, Ordering::Release);
                }
            });
        }
    });
}

/// Launches a kernel from two threads on the same memory without synchronization. A race detector
/// must report this.
fn overlapping_launches() {
    let mut data = Data::new();
    let (x, n) = (address(&mut data.x) as usize, address(&mut data.n) as usize);
    let start = Barrier::new(2);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                start.wait();
                for _ in 0..50 {
                    let launched = launch(
                        "second_barrier_right",
                        &Device::cpu(),
                        &Launch::new(2, 64),
                        x as *mut f32,
                        n as *mut u32,
                    );
                    launched.unwrap();
                }
            });
        }
    });
}
