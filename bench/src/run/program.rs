//! Measures offload's run time (`offload_gpu::run`). The program prints a line for each
//! measurement: a name, and a time in nanoseconds.

use libloading::Library;
use offload_gpu::run::{Device, Loaded};
use std::env;
use std::ffi::{c_uint, c_void};
use std::hint::black_box;
use std::ptr;
use std::time::Instant;

mod cpu;
mod pocl;

mod saxpy {
    offload_gpu::include_kernels!("saxpy");
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
        Some(peer @ ("cpu" | "opencl:0" | "pocl" | "rust")) => cpu::run(peer),
        _ => panic!("which task?"),
    }
}

/// The type of `cuLaunchKernel`.
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

/// Measures calls through offload-gpu, with a driver whose functions do nothing.
fn calls() {
    // SAFETY: the library belongs to the bench.
    let driver = unsafe { Library::new("libcuda.so.1") }.expect("the bench has made it");
    // SAFETY: the function has this type in cuda.h.
    let launch_kernel =
        *unsafe { driver.get::<LaunchKernel>("cuLaunchKernel") }.expect("it is there");
    // SAFETY: the function has this type in cuda.h.
    let push =
        *unsafe { driver.get::<unsafe extern "C" fn(*mut c_void) -> i32>("cuCtxPushCurrent_v2") }
            .expect("it is there");
    // SAFETY: the function has this type in cuda.h.
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
            // SAFETY: no kernel runs, because the driver does nothing.
            unsafe { calls[next % 64].launch(device, 1, 1) }.expect("nothing fails");
            next += 1;
        }
    };
    let mut y_of_named = device.buffer(&[1.0_f32; 1000]).expect("there is memory");
    let handle = saxpy::named("saxpy").expect("the module has it");
    let mut named = || {
        let call = handle.call((1000, 2.0_f32, &x, &mut y_of_named)).expect("the types are right");
        // SAFETY: no kernel runs, because the driver does nothing.
        unsafe { call.launch(&device, 4, 256) }.expect("nothing fails");
    };
    let names: Vec<String> = (0..1000).map(|number| format!("affine_{number}_f32")).collect();
    let mut next = 0;
    let mut find = || {
        // 387 and 1000 have no common factor, so each name is looked up equally often.
        next = (next + 387) % names.len();
        black_box(thousand::named(black_box(&names[next])).expect("the module has it"));
    };
    const RUNS: usize = 21;
    // The first calls load the modules and look up the kernels. Exclude these calls from the
    // measurement, because later ones do neither.
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
    // SAFETY: `retain` writes one handle, and the context stays valid.
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

/// Returns the time of a clock, in nanoseconds.
fn now(clock: libc::clockid_t) -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes one time.
    assert_eq!(unsafe { libc::clock_gettime(clock, &mut time) }, 0);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}
