//! Runs kernels that fault, and checks which error is reported and what still works afterwards.

use super::limits::kernels;
use super::{part_of, readme};
use crate::child::How;
use crate::report::{Result, Run, finding, short, step};
use offload_gpu::run::{Device, Vendor};
use std::time::Duration;

const FAULTS: [&str; 3] = ["address", "trap", "endless"];

/// The text printed before the launch.
const READY: &str = "the GPU is ready";

pub fn run(run: &mut Run) -> Result<String> {
    let device = run.device.clone();
    let mut told = Vec::new();
    for name in FAULTS {
        let is_endless = name == "endless";
        // On the CPU, an endless kernel is an endless loop in the process, so there is nothing to
        // report.
        if is_endless && device.vendor() == Vendor::Cpu {
            continue;
        }
        step(name);
        let limit = if is_endless { 6 } else { 20 };
        let ended = part_of("fault", &device, &[name], Duration::from_secs(limit));
        let lines: Vec<&str> = ended.stdout.lines().collect();
        let printed = [&lines[..], &ended.stderr.lines().take(1).collect::<Vec<_>>()].concat();
        let fate = format!("{name}: the process {}; {}", ended.how.words(), printed.join("; "));
        told.push(short(&fate));
        let is_told = ended.stdout.contains("told: ");
        let is_expected = match device.vendor() {
            // A GPU with a watchdog ends the kernel.
            _ if is_endless => {
                is_told || matches!(ended.how, How::TooLong(_)) && ended.stdout.contains(READY)
            }
            // NVIDIA's driver returns an error, and the process continues.
            Vendor::Nvidia => ended.how == How::Status(0) && is_told,
            // AMD's runtime may end the process. On the CPU, the fault itself ends it.
            Vendor::Amd => is_told || matches!(ended.how, How::Signal(_)),
            _ => matches!(ended.how, How::Signal(_)),
        };
        if !is_expected {
            run.finding(fate);
        }
        // The fault must not affect a different process.
        let after = part_of("saxpy", &device, &[], Duration::from_secs(30));
        if after.how != How::Status(0) {
            run.finding(format!(
                "after the fault {name}, another process {}: {}",
                after.how.words(),
                after.stderr.trim()
            ));
        }
    }
    run.figure("told", told);
    readme::saxpy(&device, 1000)?;
    Ok("faults are told, and other processes go on".to_owned())
}

/// Launches a kernel that faults, and prints the reported error.
pub fn part(name: &str, device: &Device) -> Result {
    let y = device.zeros::<i32>(1)?;
    println!("{READY}");
    // SAFETY: the kernels break the rules on purpose, but they do not access other programs'
    // memory.
    let launched = unsafe {
        match name {
            "address" => kernels::fault_address(8).launch(device, 1, 1),
            "trap" => kernels::fault_trap(0).launch(device, 1, 1),
            "endless" => {
                kernels::fault_endless(offload_gpu::DeviceBuffer::device_address(&y).cast_mut())
                    .launch(device, 1, 1)
            }
            _ => return finding(format!("no fault {name}")),
        }
    };
    if let Err(error) = launched {
        println!("the launch told: {error}");
    }
    match device.synchronize() {
        Ok(()) => println!("synchronize returned no error"),
        Err(error) => println!("synchronize told: {error}"),
    }
    match y.to_vec() {
        Ok(_) => println!("a copy works"),
        Err(error) => println!("a copy told: {error}"),
    }
    // The CPU must remain usable in this process.
    match readme::saxpy(&Device::cpu(), 1000) {
        Ok(()) => println!("the CPU computes"),
        Err(stop) => println!("the CPU: {stop:?}"),
    }
    Ok(())
}
