//! Tests threads that share a device, and requests for more memory than is available.

use super::readme;
use crate::report::{Result, Run, finding};
use offload_gpu::run::{Cause, Device, Vendor};
use std::thread;

/// The number of threads, each of which loads the modules [`LOADS`] times.
const THREADS: usize = 8;
const LOADS: usize = 100;

pub fn run(run: &mut Run) -> Result<String> {
    let device = &run.device;
    let work = |number: usize| -> Result {
        for _ in 0..LOADS {
            readme::kernels::PACK.on(device)?;
            super::header::kernels::PACK.on(device)?;
        }
        for round in 0..10 {
            readme::saxpy(device, 1000 + 100 * number + round)?;
        }
        // A separately created device is the same device.
        readme::saxpy(&Device::named(&device.name())?, 5000)
    };
    let results: Vec<Result> = thread::scope(|scope| {
        let started: Vec<_> =
            (0..THREADS).map(|number| scope.spawn(move || work(number))).collect();
        let end = |thread: thread::ScopedJoinHandle<'_, Result>| {
            thread.join().unwrap_or_else(|_| finding("it panicked"))
        };
        started.into_iter().map(end).collect()
    });
    for (number, result) in results.into_iter().enumerate() {
        run.part(&format!("thread {number}"), result);
    }
    Ok(format!("{THREADS} threads, {LOADS} loads and 11 launches each"))
}

/// Requests more memory than is available.
pub fn memory(run: &mut Run) -> Result<String> {
    let device = run.device.clone();
    let all = device.memory().unwrap_or(1 << 50);
    // AMD's runtime may also use host memory, so request even more.
    let times = if device.vendor() == Vendor::Amd { 16 } else { 1 };
    let bytes = usize::try_from(times * all).unwrap_or(usize::MAX / 4).saturating_add(1 << 30);
    match device.zeros::<u8>(bytes) {
        Ok(_) => run.finding(format!("{bytes} bytes were allocated, of {all}")),
        Err(error) => {
            run.figure("the error", error.to_string());
            if device.vendor() != Vendor::Cpu && !matches!(error.cause(), Cause::Driver { .. }) {
                run.finding(format!("the error is not the driver's: {error}"));
            }
        }
    }
    readme::saxpy(&device, 1000)?;
    // Large copies must work, and freed memory must be reusable.
    let piece = 64 << 20;
    let rounds = if device.vendor() == Vendor::Cpu { 4 } else { 16 };
    for _ in 0..rounds {
        let buffer = device.buffer(&vec![7_u8; piece])?;
        if buffer.to_vec()?[piece - 1] != 7 {
            return finding("a buffer lost what was copied to it");
        }
    }
    Ok(format!("{bytes} bytes are refused, and memory works after that"))
}
