//! Lists the devices of this machine. A child process prints them, and its parent parses the
//! output.

use crate::driver::Driver;
use offload_gpu::run::{Vendor, devices};
use serde_json::{Value, json};
use std::fs;
use std::process::ExitCode;

/// A device, as known to the parent process.
#[derive(Debug)]
pub struct Found {
    pub name: String,
    /// The record that [`print`] printed.
    pub record: Value,
}

impl Found {
    pub fn is_gpu(&self) -> bool {
        !self.name.starts_with("cpu")
    }
}

/// Prints a line for each device (its name, a tab, JSON), and a line that starts with a tab for
/// each kind of device that is absent.
pub fn print() -> ExitCode {
    let found = devices();
    for device in found.list() {
        let mut record = json!({
            "device": device.name(),
            "product": device.product(),
            "is": device.info().to_string(),
            "memory": device.memory(),
        });
        if let Some(Ok(driver)) = Driver::loaded(device) {
            record["driver"] = driver.version().into();
            record["library"] = driver.file().into();
        }
        let file = match device.vendor() {
            Vendor::Nvidia => "/proc/driver/nvidia/version",
            Vendor::Amd => "/sys/module/amdgpu/version",
            _ => "/proc/cpuinfo",
        };
        if let Some(line) = fs::read_to_string(file).ok().and_then(|text| system_line(&text)) {
            record["system"] = line.into();
        }
        println!("{}\t{record}", device.name());
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

/// Parses the output of [`print`]: the devices, and the reasons why other kinds are absent.
pub fn parse(text: &str) -> (Vec<Found>, Vec<String>) {
    let (mut found, mut absent) = (Vec::new(), Vec::new());
    for (name, rest) in text.lines().filter_map(|line| line.split_once('\t')) {
        match name {
            "" => absent.push(rest.to_owned()),
            // Skip lines that a library printed.
            name if !["cuda:", "hip:", "opencl:", "cpu"]
                .iter()
                .any(|kind| name.starts_with(kind)) => {}
            name => found.push(Found {
                name: name.to_owned(),
                record: serde_json::from_str(rest).unwrap_or_default(),
            }),
        }
    }
    (found, absent)
}
