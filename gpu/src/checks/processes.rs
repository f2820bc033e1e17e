//! Tests forks, variables that hide devices, and objects that are dropped after `main`.

use super::{part_of, readme};
use crate::child::{self, How};
use crate::machine;
use crate::report::{Result, Run, finding};
use crate::system;
use offload_gpu::run::{Buffer, Device, Vendor};
use std::cell::RefCell;
use std::env;
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

/// Forks after using the device. Drivers promise nothing for the child, but the parent must be able
/// to use its devices.
pub fn fork(run: &mut Run) -> Result<String> {
    let device = run.device.clone();
    readme::saxpy(&device, 1000)?;
    // SAFETY: the child exits without running code of this process's other threads.
    let child = unsafe { system::fork() };
    if child == 0 {
        // A driver may wait for threads that the child does not have, so set an alarm.
        system::alarm(5);
        let status = match readme::saxpy(&device, 1000) {
            Err(_) => 10,
            Ok(()) => 11,
        };
        // SAFETY: `_exit` ends the process immediately.
        unsafe { system::_exit(status) };
    }
    let mut status = 0;
    // SAFETY: `waitpid` waits for the child and writes one number to `status`.
    unsafe { system::waitpid(child, &mut status, 0) };
    let fate = match (status & 0x7f, status >> 8 & 0xff) {
        (0, 10) => "gets an error".to_owned(),
        (0, 11) => "computes".to_owned(),
        (0, code) => format!("ends with status {code}"),
        (signal, _) => format!("is ended by signal {signal}"),
    };
    run.figure("the child", fate.clone());
    readme::saxpy(&device, 2000)?;
    Ok(format!("the child {fate}, and the parent goes on"))
}

/// Hides devices with the driver's own variable.
pub fn visible(run: &mut Run) -> Result<String> {
    let variable = match run.device.vendor() {
        Vendor::Nvidia => "CUDA_VISIBLE_DEVICES",
        _ => "HIP_VISIBLE_DEVICES",
    };
    let driver = run.device.vendor().driver();
    // If the user has set the variable, use its first device: others may not exist or be free.
    let set = env::var(variable).unwrap_or_default();
    let first = set.split(',').next().filter(|first| !first.is_empty()).unwrap_or("0");
    for (value, expected) in [("-1", 0), (first, 1)] {
        // Results are published, so do not show a UUID, which would identify the machine.
        let shown = if ["-1", "0"].contains(&value) { value } else { "(the first that is set)" };
        let mut command = super::this(&["devices"]);
        let ended = child::run(command.env(variable, value), Duration::from_secs(30));
        if ended.how != How::Status(0) {
            run.finding(format!("{variable}={shown}: the process {}", ended.how.words()));
            continue;
        }
        let (found, absent) = machine::parse(&ended.stdout);
        let count = found.iter().filter(|device| device.name.starts_with(driver)).count();
        // Parts of a GPU (MIG instances) may not have numbers.
        let is_unnamed = count == 0 && value == "0" && run.device.product().contains("MIG");
        if count != expected && !is_unnamed {
            run.finding(format!("{variable}={shown}: {count} devices, not {expected}"));
        }
        run.figure(format!("{variable}={shown}"), format!("{count} devices; absent: {absent:?}"));
    }
    Ok(format!("{variable} hides devices"))
}

/// The programs of [`late`]: each ends differently.
pub const LATE: [&str; 3] = ["in-static", "in-thread-local", "after-main"];

/// Tests devices and buffers that are dropped late or never.
pub fn late(run: &mut Run) -> Result<String> {
    for name in LATE {
        let ended = part_of(name, &run.device, &[], Duration::from_secs(20));
        run.figure(name, ended.how.words());
        if ended.how != How::Status(0) {
            run.finding(format!("{name}: the process {}\n{}", ended.how.words(), ended.stderr));
        }
    }
    Ok(format!("{} processes end well", LATE.len()))
}

/// Runs one of the programs of [`late`].
pub fn late_part(name: &str, device: Device) -> Result {
    static KEPT: OnceLock<Device> = OnceLock::new();
    static DROPPED: Mutex<Option<(Device, Buffer<f32>)>> = Mutex::new(None);
    thread_local!(static LOCAL: RefCell<Option<Device>> = const { RefCell::new(None) });
    extern "C" fn end() {
        let kept = DROPPED.lock().ok().and_then(|mut kept| kept.take());
        if let Some((device, buffer)) = kept {
            let _ = buffer.to_vec();
            drop((buffer, device));
        }
    }
    readme::saxpy(&device, 1000)?;
    match name {
        "in-static" => {
            let _ = KEPT.set(device);
        }
        "in-thread-local" => LOCAL.set(Some(device)),
        "after-main" => {
            // SAFETY: `end` may be called when the process ends.
            unsafe { system::atexit(end) };
            let buffer = device.zeros(10)?;
            if let Ok(mut kept) = DROPPED.lock() {
                *kept = Some((device, buffer));
            }
        }
        _ => return finding(format!("no program {name}")),
    }
    Ok(())
}
