//! What is too large is refused with an error, and the device works afterwards.

use super::{Outcome, failed, same};
use crate::kernels::checks::corpus;
use offload_gpu::run::{Device, DeviceKind, Launch};
use serde_json::Value;

pub fn run(device: &Device) -> Result<Outcome, String> {
    let mut figures = vec![("largest dynamic shared memory", Value::from(largest_shared(device)?))];
    let refused = |what: &str, result: Result<(), String>| match result {
        Err(error) => Ok((what.to_owned(), error)),
        Ok(()) => Err(format!("{what}: no error")),
    };
    let (what, error) = refused("2048 threads in a block", reverse(device, 2048, 8 * 2048))?;
    figures.push(("2048 threads in a block", error.into()));
    works(device, &what)?;
    if device.kind() != DeviceKind::Cpu {
        let (what, error) = refused("a gigabyte of shared memory", reverse(device, 64, 1 << 30))?;
        figures.push(("a gigabyte of shared memory", error.into()));
        works(device, &what)?;
        // More than any GPU has.
        let too_much = device.zeros::<u64>(1 << 44).map(drop).map_err(failed);
        let (what, error) = refused("128 TiB of memory", too_much)?;
        figures.push(("128 TiB of memory", error.into()));
        works(device, &what)?;
    }
    Ok(Outcome::ok(figures))
}

/// Launches `reverse` with blocks of this size, and checks the result.
fn reverse(device: &Device, size: u32, shared: usize) -> Result<(), String> {
    let values: Vec<f64> = (0..2 * size).map(f64::from).collect();
    let mut x = device.buffer(&values).map_err(failed)?;
    let launch = Launch::new(2, size).shared_memory(shared);
    // SAFETY: the buffer has one element for each thread of two blocks.
    unsafe { corpus::reverse(&mut x).launch_as(device, &launch) }.map_err(failed)?;
    let block = size as usize;
    let expected: Vec<f64> = values.chunks(block).flat_map(|it| it.iter().rev().copied()).collect();
    same("reverse", &x.to_vec().map_err(failed)?, &expected)
}

/// Returns the largest number of bytes, in steps of 16 KiB, with which a launch works: beyond
/// 48 KiB, CUDA's driver wants to be asked.
fn largest_shared(device: &Device) -> Result<usize, String> {
    let mut largest = 0;
    for kib in (16..=256).step_by(16) {
        match reverse(device, 64, kib << 10) {
            Ok(()) => largest = kib,
            Err(why) if kib <= 48 => return Err(format!("{kib} KiB of shared memory: {why}")),
            Err(_) => break,
        }
    }
    Ok(largest << 10)
}

fn works(device: &Device, after: &str) -> Result<(), String> {
    reverse(device, 64, 8 * 64).map_err(|error| format!("after {after}: {error}"))
}
