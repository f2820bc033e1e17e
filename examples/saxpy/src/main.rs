//! One kernel, y = a * x + y, for every GPU that the build script lists and for the CPU.
//!
//! The images are inside this program. It looks for devices, chooses the image that fits the best of them, runs it and
//! compares every element with the same sum done in Rust. Neither CUDA nor ROCm is needed to build or to start it: the
//! CUDA driver and the HIP runtime are loaded where they are found.
//!
//! * `main`: from the command line to the exit status.
//! * `args`: the command line.
//! * `saxpy`: the numbers, and whether they came out right.
//! * `runtime`: the devices of this machine, and what the next three share.
//! * `cuda`, `hip`, `cpu`: find devices, run an image on one of them.
//! * `report`: the tables.

mod args;
mod cpu;
mod cuda;
mod hip;
mod report;
mod runtime;
mod saxpy;

use std::env;
use std::io::{self, Write};
use std::process::ExitCode;

use offload::DeviceInfo;

use crate::args::Command;
use crate::runtime::{Machine, Result};
use crate::saxpy::Problem;

/// What `build.rs` compiled from `kernels/saxpy.cu`: one image for each target, and a function for each kernel, whose
/// arguments the compiler checks.
mod kernels {
    offload::include_kernels!("saxpy");
}

fn main() -> ExitCode {
    let command = match args::parse(env::args_os().skip(1)) {
        Ok(command) => command,
        Err(error) => {
            eprintln!("error: {error}\n\n{}", args::USAGE);
            return ExitCode::from(2);
        }
    };
    let done = match command {
        Command::Help => help(),
        Command::Explain(device) => explain(&device),
        Command::Run { device } => run(device.as_deref()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn help() -> Result<()> {
    write!(io::stdout(), "{}", args::HELP)?;
    Ok(())
}

/// Prints which image `device` would get. Nothing runs, so the device need not be in this machine.
fn explain(device: &DeviceInfo) -> Result<()> {
    let choice = kernels::PACK.select(device)?;
    report::explain(&mut io::stdout(), &kernels::PACK, device, &choice)?;
    Ok(())
}

/// Runs the kernel on the device named `wanted`, or on the best one.
fn run(wanted: Option<&str>) -> Result<()> {
    let mut out = io::stdout();
    let machine = Machine::find();
    report::images(&mut out, &kernels::PACK)?;
    report::devices(&mut out, &kernels::PACK, &machine)?;

    let device = match wanted {
        Some(name) => machine.device(name)?,
        None => machine.best_device(&kernels::PACK)?,
    };
    let image = kernels::PACK.select(&device.device)?;

    let mut problem = Problem::new();
    device.run(&image, &mut problem)?;
    problem.check()?;
    writeln!(
        out,
        "Ran the {} {} on {}: all {} elements are right.",
        image.target(),
        image.kind(),
        device.name(),
        problem.len(),
    )?;
    Ok(())
}
