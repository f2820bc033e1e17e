//! Eight threads use one device at the same time.

use super::{Outcome, failed, same};
use crate::kernels::checks::corpus;
use offload_gpu::run::Device;
use std::thread;

const THREADS: usize = 8;
const ROUNDS: usize = 50;

pub fn run(device: &Device) -> Result<Outcome, String> {
    let name = device.name();
    thread::scope(|scope| {
        let start = |thread| {
            let name = name.clone();
            scope.spawn(move || one(&name, thread))
        };
        let started: Vec<_> = (0..THREADS).map(start).collect();
        for thread in started {
            thread.join().map_err(|_| "a thread panicked".to_owned())??;
        }
        Ok(Outcome::ok([("threads", THREADS), ("launches of each", ROUNDS)]))
    })
}

/// Takes the device anew in each round, so that it is loaded and released while others use it.
fn one(name: &str, thread: usize) -> Result<(), String> {
    for round in 0..ROUNDS {
        let device = Device::named(name).map_err(failed)?;
        let values: Vec<f32> = (0..256).map(|i| ((i * thread + round) % 97) as f32).collect();
        let x = device.buffer(&values).map_err(failed)?;
        let mut sums = device.zeros::<f32>(2).map_err(failed)?;
        // SAFETY: the kernel reads one element for each thread, and writes one for each block.
        unsafe { corpus::tree_sum(&x, &mut sums).launch(&device, 2, 128) }.map_err(failed)?;
        let expected: Vec<f32> = values.chunks(128).map(|block| block.iter().sum()).collect();
        same(
            &format!("thread {thread}, round {round}"),
            &sums.to_vec().map_err(failed)?,
            &expected,
        )?;
    }
    Ok(())
}
