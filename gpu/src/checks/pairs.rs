//! The right kernels of tests/runtimes/checks: what the checks on the CPU take for right gives the
//! same values on a GPU as on the CPU.

use super::{Outcome, failed, same};
use crate::kernels::checks::{RIGHT, SIZE};
use offload_gpu::run::{Buffer, Device, Launch, RunError};

pub fn run(device: &Device) -> Result<Outcome, String> {
    let cpu = Device::cpu();
    let mut findings = Vec::new();
    for (name, launch) in RIGHT {
        let of = |device: &Device| -> Result<(Vec<u32>, Vec<u32>), RunError> {
            let mut x: Buffer<f32> = device.buffer(&[1.0; SIZE as usize])?;
            let mut n = device.zeros(SIZE as usize)?;
            // Some kernels have 64 values of dynamic shared memory.
            launch(device, &Launch::new(2, 64).shared_memory(64 * 4), &mut x, &mut n)?;
            Ok((x.to_vec()?.into_iter().map(f32::to_bits).collect(), n.to_vec()?))
        };
        let (x, n) = of(device).map_err(failed)?;
        let (expected_x, expected_n) = of(&cpu).map_err(failed)?;
        let compared = same(&format!("x of {name}"), &x, &expected_x)
            .and_then(|()| same(&format!("n of {name}"), &n, &expected_n));
        findings.extend(compared.err());
    }
    if findings.is_empty() {
        Ok(Outcome::ok([("kernels", RIGHT.len())]))
    } else {
        Err(findings.join("; "))
    }
}
