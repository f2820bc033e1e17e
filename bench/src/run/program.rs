//! Measures offload's run time (`offload_gpu::run`). The program prints a line for each run: a name
//! and nanoseconds. For a grid on the CPU, the line also has the processor time of its busier
//! thread in nanoseconds, and a hash of the results.

use libloading::Library;
use offload_gpu::run::{Buffer, Device, Loaded};
use std::env;
use std::ffi::{c_uint, c_void};
use std::hint::black_box;
use std::ptr;
use std::thread;
use std::time::Instant;

mod saxpy {
    offload_gpu::include_kernels!("saxpy");
}
mod block_sum {
    offload_gpu::include_kernels!("block_sum");
}
mod matmul {
    offload_gpu::include_kernels!("matmul");
}
mod many {
    offload_gpu::include_kernels!("many");
}
mod thousand {
    offload_gpu::include_kernels!("thousand");
}

fn main() {
    match env::args().nth(1).as_deref() {
        Some("calls") => calls(),
        Some("cpu") => cpu(),
        Some("checks") => checks(),
        _ => panic!("which task?"),
    }
}

/// `cuLaunchKernel`.
type LaunchKernel = unsafe extern "C" fn(
    *mut c_void,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    *mut c_void,
    *mut *mut c_void,
    *mut *mut c_void,
) -> i32;

/// Measures calls of the run time that reach a driver whose functions do nothing.
fn calls() {
    // SAFETY: the library is the bench's own.
    let driver = unsafe { Library::new("libcuda.so.1") }.expect("the bench has made it");
    // SAFETY: these are the types of cuda.h.
    let launch_kernel =
        *unsafe { driver.get::<LaunchKernel>("cuLaunchKernel") }.expect("it is there");
    // SAFETY: as above.
    let push =
        *unsafe { driver.get::<unsafe extern "C" fn(*mut c_void) -> i32>("cuCtxPushCurrent_v2") }
            .expect("it is there");
    // SAFETY: as above.
    let retain = *unsafe {
        driver.get::<unsafe extern "C" fn(*mut *mut c_void, i32) -> i32>("cuDevicePrimaryCtxRetain")
    }
    .expect("it is there");

    let device = Device::named("cuda:0").expect("the driver has a GPU");
    let x = device.buffer(&[1.0_f32; 1000]).expect("there is memory");
    let mut y = device.buffer(&[1.0_f32; 1000]).expect("there is memory");
    let mut on = || drop(black_box(saxpy::PACK.on(black_box(&device)).expect("an image fits")));
    // SAFETY: no kernel runs, because the driver does nothing.
    let mut launch = || unsafe {
        saxpy::saxpy(1000, 2.0, &x, &mut y).launch(&device, 4, 256).expect("nothing fails");
    };
    let mut of_many = {
        let x = ptr::null_mut::<i32>();
        let calls = include!(concat!(env!("OUT_DIR"), "/calls.rs"));
        let mut next = 0;
        let device = &device;
        move || {
            // SAFETY: as above.
            unsafe { calls[next % 64].launch(device, 1, 1) }.expect("nothing fails");
            next += 1;
        }
    };
    let mut y_of_named = device.buffer(&[1.0_f32; 1000]).expect("there is memory");
    let handle = saxpy::named("saxpy").expect("the module has it");
    let mut named = || {
        let call = handle.call((1000, 2.0_f32, &x, &mut y_of_named)).expect("the types are right");
        // SAFETY: as above.
        unsafe { call.launch(&device, 4, 256) }.expect("nothing fails");
    };
    let names: Vec<String> = (0..1000).map(|number| format!("affine_{number}_f32")).collect();
    let mut next = 0;
    let mut find = || {
        // 387 and 1000 have no common factor, so that each name is found as often.
        next = (next + 387) % names.len();
        black_box(thousand::named(black_box(&names[next])).expect("the module has it"));
    };
    const RUNS: usize = 21;
    // The first calls load the modules and look up the kernels; this happens once and is not
    // measured.
    (0..64).for_each(|_| of_many());
    launch();
    let start = Instant::now();
    find();
    println!("find-first {}", start.elapsed().as_nanos());
    for _ in 0..RUNS {
        measure("on", &mut on);
        measure("pushed", &mut launch);
        measure("named", &mut named);
        measure("find", &mut find);
        measure("many", &mut of_many);
    }
    let mut context = ptr::null_mut();
    // SAFETY: the call writes one handle, and the context stays valid.
    assert_eq!(unsafe { (retain(&mut context, 0), push(context)) }, (0, 0));
    let loaded: Loaded = saxpy::PACK.on(&device).expect("it is loaded");
    let call = saxpy::saxpy(1000, 2.0, &x, ptr::null_mut::<f32>());
    let function = loaded.raw_function(&call.kernel()).expect("it has the kernel");
    let mut pointers = call.pointers();
    for _ in 0..RUNS {
        measure("raw", || {
            let (pointers, none) = (pointers.as_mut_ptr(), ptr::null_mut());
            // SAFETY: no kernel runs, because the driver does nothing.
            let code = unsafe {
                black_box(launch_kernel)(
                    function,
                    4,
                    1,
                    1,
                    256,
                    1,
                    1,
                    0,
                    none,
                    pointers,
                    none.cast(),
                )
            };
            assert_eq!(code, 0);
        });
        measure("current", &mut launch);
    }
}

/// Prints the name, and the mean time of many calls in nanoseconds.
fn measure(name: &str, mut call: impl FnMut()) {
    const CALLS: u32 = 100_000;
    let start = Instant::now();
    (0..CALLS).for_each(|_| call());
    println!("{name} {}", start.elapsed().as_nanos() as f64 / f64::from(CALLS));
}

/// Measures grids on the CPU.
fn cpu() {
    let device = Device::cpu();
    for pack in [&saxpy::PACK, &block_sum::PACK, &matmul::PACK] {
        pack.on(&device).expect("an image fits");
    }
    let numbers = |count: usize| -> Vec<f32> {
        // Sums of these numbers are rounded, so another order of the additions gives other bits.
        (0..count).map(|i| ((i * 2_654_435_761) % 1_000_003) as f32 / 999.0).collect()
    };

    plain();
    let count = 1 << 25;
    let x = device.buffer(&numbers(count)).expect("there is memory");
    let mut y = device.buffer(&vec![1.0; count]).expect("there is memory");
    // SAFETY: both buffers have as many elements as the grid has threads.
    grid("saxpy", &mut y, |y| unsafe {
        saxpy::saxpy(count as i32, 3.0, &x, y).launch(&device, (count / 256) as u32, 256)
    });

    let count = 1 << 21;
    let x = device.buffer(&numbers(count)).expect("there is memory");
    let mut sums = device.zeros(count / 256).expect("there is memory");
    // SAFETY: the buffer has one sum for each block of 256 elements.
    grid("block_sum", &mut sums, |sums| unsafe {
        block_sum::block_sum(count as i32, &x, sums).launch(&device, (count / 256) as u32, 256)
    });

    let size = 512;
    let a = device.buffer(&numbers(size * size)).expect("there is memory");
    let mut c = device.zeros(size * size).expect("there is memory");
    let tiles = (size / 16) as u32;
    // SAFETY: all buffers have n * n elements, and the grid has as many threads.
    grid("matmul", &mut c, |c| unsafe {
        matmul::matmul(size as i32, &a, &a, c).launch(&device, (tiles, tiles), (16, 16))
    });
}

/// Measures blocks with barriers. The first launch is not measured: it allocates memory that later
/// launches use again.
fn checks() {
    let device = Device::cpu();
    let count = 200 * 256;
    let x = device.buffer(&vec![1.0_f32; count]).expect("there is memory");
    let mut sums = device.zeros(200).expect("there is memory");
    for run in 0..4 {
        let start = Instant::now();
        // SAFETY: the buffer has one sum for each block of 256 elements.
        unsafe {
            block_sum::block_sum(count as i32, &x, &mut sums)
                .launch(&device, 200, 256)
                .expect("a grid runs")
        };
        if run > 0 {
            println!("{}", start.elapsed().as_nanos());
        }
    }
}

/// Measures a plain loop on the same number of threads, which shows how much several threads can
/// gain on this machine.
fn plain() {
    const STEPS: u64 = 200_000_000;
    let threads: u64 =
        env::var("OFFLOAD_CPU_THREADS").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let work = || {
        black_box(
            (0..STEPS / threads)
                .fold(1_u64, |hash, step| (hash ^ step).wrapping_mul(0x100_0000_01b3)),
        );
    };
    let times = times(|| {
        thread::scope(|scope| {
            (1..threads).for_each(|_| drop(scope.spawn(work)));
            work();
        });
    });
    println!("loop {times} none");
}

/// Returns how long `run` takes, and the processor time of the busier of two threads: this one, or
/// the one that `run` starts. Both times are text, in nanoseconds.
fn times(run: impl FnOnce()) -> String {
    let (thread, process) = (libc::CLOCK_THREAD_CPUTIME_ID, libc::CLOCK_PROCESS_CPUTIME_ID);
    let (start, here, all) = (Instant::now(), now(thread), now(process));
    run();
    let (time, here, all) = (start.elapsed().as_nanos(), now(thread) - here, now(process) - all);
    format!("{time} {}", here.max(all - here))
}

/// Returns the time of a clock, in nanoseconds.
fn now(clock: libc::clockid_t) -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes one time.
    assert_eq!(unsafe { libc::clock_gettime(clock, &mut time) }, 0);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// Runs a grid, which writes to `result`; prints the name, the times, and a hash of the bits of
/// `result`.
fn grid(
    name: &str,
    result: &mut Buffer<f32>,
    launch: impl FnOnce(&mut Buffer<f32>) -> offload_gpu::run::Result<()>,
) {
    let times = times(|| launch(result).expect("a grid runs"));
    let values = result.to_vec().expect("there is memory");
    let hash = values.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, value| {
        (hash ^ u64::from(value.to_bits())).wrapping_mul(0x100_0000_01b3)
    });
    println!("{name} {times} {hash:016x}");
}
