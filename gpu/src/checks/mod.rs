//! The checks, and helpers that run parts of them in separate processes.

pub mod arguments;
pub mod contexts;
pub mod examples;
pub mod faults;
pub mod halves;
pub mod header;
pub mod limits;
pub mod math;
mod numbers;
pub mod pairs;
pub mod processes;
pub mod readme;
pub mod select;
pub mod speed;
pub mod threads;

use crate::child::{self, Ended};
use crate::report::{Result, Stop, finding};
use offload_gpu::run::Device;
use std::env;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Duration;

/// Returns this program's path. In a sandbox without /proc, which contains the path, returns
/// argument 0, which is the path because `run.sh` starts the program by its path.
pub fn own_path() -> PathBuf {
    let path = env::current_exe().ok().or_else(|| env::args_os().next().map(PathBuf::from));
    path.unwrap_or_else(|| "gpu-checks".into())
}

/// Returns a command for this program with these arguments.
pub fn this(arguments: &[&str]) -> Command {
    let mut command = Command::new(own_path());
    command.args(arguments);
    command
}

/// Runs a part of a check in a separate process.
fn part_of(name: &str, device: &Device, rest: &[&str], limit: Duration) -> Ended {
    let mut command = this(&["part", name, "--device", &device.name()]);
    child::run(command.args(rest), limit)
}

/// Runs a part of a check in this process.
pub fn part(name: &str, device: &str, rest: &[&str]) -> ExitCode {
    match run_part(name, device, rest) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Stop::Finding(why) | Stop::Skip(why)) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

fn run_part(name: &str, device: &str, rest: &[&str]) -> Result {
    let device = Device::named(device)?;
    match (name, rest) {
        ("saxpy", []) => readme::saxpy(&device, 1000),
        ("pair", [.., kernel]) => pairs::part(kernel, &device),
        ("load", [form]) => speed::load(form, &device),
        ("limits", []) => limits::part(&device),
        ("fault", [fault]) => faults::part(fault, &device),
        (late, []) if processes::LATE.contains(&late) => processes::late_part(late, device),
        _ => finding(format!("no part is called {name}")),
    }
}
