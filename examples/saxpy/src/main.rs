//! One kernel, y = a * x + y, for every GPU that the build script lists and for the CPU.
//!
//! The images are inside this program. The program looks for devices and runs the image that fits
//! the best of them. It then compares every element with the result that Rust computes. Neither
//! CUDA nor ROCm is needed to build or to start the program. The program loads the CUDA driver and
//! the HIP runtime if they are installed.
//!
//! * `main`: reads the command line, launches the kernel, and returns the exit status.
//! * `args`: the command line.
//! * `saxpy`: the input, the expected result, and the check of the device's result.
//! * `report`: prints the tables of images and devices.

mod args;
mod report;
mod saxpy;

use std::env;
use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;

use offload_gpu::DeviceInfo;
use offload_gpu::run::{Device, devices};

use crate::args::Command;
use crate::saxpy::{BLOCK, Problem};

/// A result whose error is a message for the user: the attempted operation, the cause, and advice.
type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The pack that `build.rs` compiled from `kernels/saxpy.cu`: one image for each target, and a
/// function for each kernel. The compiler checks the functions' arguments.
mod kernels {
    offload_gpu::include_kernels!("saxpy");
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

/// Prints which image `device` would get. No kernel runs, so the device need not be in this
/// machine.
fn explain(device: &DeviceInfo) -> Result<()> {
    let choice = kernels::PACK.select(device)?;
    report::explain(&mut io::stdout(), &kernels::PACK, device, &choice)?;
    Ok(())
}

/// Runs the kernel on the device named `wanted`, or on the best one.
fn run(wanted: Option<&str>) -> Result<()> {
    let mut out = io::stdout();
    let found = devices();
    report::images(&mut out, &kernels::PACK)?;
    report::devices(&mut out, &kernels::PACK, &found)?;

    let device = match wanted {
        Some(name) => Device::named(name)?,
        None => found.best_for(&kernels::PACK)?,
    };
    // A launch would load the image, too. Because of this call, the program fails before it
    // allocates memory if no image fits.
    let image = kernels::PACK.on(&device)?.image();
    let mut problem = Problem::new();
    let x = device.buffer(&problem.x)?;
    let mut y = device.buffer(&problem.y)?;
    // SAFETY: the kernel accesses only the first `n` elements of `x` and `y`, and each has `n`
    // elements.
    unsafe {
        kernels::saxpy(problem.n(), problem.a, &x, &mut y).launch(
            &device,
            problem.blocks(),
            BLOCK,
        )?
    };
    y.download(&mut problem.y)?;
    problem.check()?;

    let (target, kind, name, len) = (image.target(), image.kind(), device.name(), problem.len());
    writeln!(out, "Ran the {target} {kind} on {name}: all {len} elements are right.")?;
    Ok(())
}
