//! The devices of this machine, as a child process prints them for its parent.

use crate::driver::Driver;
use crate::report::Value;
use offload_gpu::run::{DeviceKind, devices};
use std::fs;
use std::process::ExitCode;

/// A device, as far as the parent knows it.
#[derive(Debug)]
pub struct Found {
    pub name: String,
    /// What [`print`] has printed of it.
    pub json: String,
}

impl Found {
    pub fn is_gpu(&self) -> bool {
        !self.name.starts_with("cpu")
    }
}

/// Prints a line for each device (its name, a tab, JSON), and for each kind that is absent (a tab
/// first).
pub fn print() -> ExitCode {
    let found = devices();
    for device in found.list() {
        let mut fields: Vec<(String, Value)> = vec![
            ("device".into(), device.name().into()),
            ("product".into(), device.product().into()),
            ("is".into(), device.info().to_string().into()),
        ];
        if let Some(memory) = device.memory() {
            fields.push(("memory".into(), memory.into()));
        }
        let driver = Driver::of(device).and_then(|driver| driver.ok()?.version());
        if let Some(version) = driver {
            fields.push(("driver".into(), version.into()));
        }
        let file = match device.kind() {
            DeviceKind::Cuda => "/proc/driver/nvidia/version",
            DeviceKind::Hip => "/sys/module/amdgpu/version",
            _ => "/proc/cpuinfo",
        };
        if let Some(line) = fs::read_to_string(file).ok().and_then(|text| system_line(&text)) {
            fields.push(("system".into(), line.into()));
        }
        println!("{}\t{}", device.name(), Value::Object(fields));
    }
    for absent in found.absent() {
        println!("\t{}", absent.why.replace('\n', " "));
    }
    ExitCode::SUCCESS
}

/// Returns the first line of a file about a driver, or the name of the CPU.
fn system_line(text: &str) -> Option<String> {
    let cpu = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let line = cpu.map_or_else(|| text.lines().next(), |(_, name)| Some(name))?;
    Some(line.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Reads what [`print`] has printed: the devices, and why others are absent.
pub fn parse(text: &str) -> (Vec<Found>, Vec<String>) {
    let (mut found, mut absent) = (Vec::new(), Vec::new());
    for (name, rest) in text.lines().filter_map(|line| line.split_once('\t')) {
        match name {
            "" => absent.push(rest.to_owned()),
            name => found.push(Found { name: name.to_owned(), json: rest.to_owned() }),
        }
    }
    (found, absent)
}
