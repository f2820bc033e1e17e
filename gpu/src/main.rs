//! `gpu-checks`: what a machine with a GPU can tell about this project.
//!
//! | command | does |
//! |---|---|
//! | `gpu-checks list` | a line for each check: its name, the seconds that it may take, what it compares |
//! | `gpu-checks run CHECK DEVICE` | one check on one device, in this process; the last line is a JSON object |
//! | `gpu-checks all [--json FILE] [--seconds N] [--device DEVICE]` | every check on every device, each in a process of its own |
//!
//! Expected values come from plain Rust, never from a GPU.

mod checks;
mod driver;
mod kernels;
mod suite;

use checks::{CHECKS, Outcome};
use offload_gpu::run::Device;
use std::env;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["list"] => {
            for check in CHECKS {
                println!("{}\t{}\t{}", check.name, check.seconds, check.compares);
            }
            ExitCode::SUCCESS
        }
        ["run", check, device] => run(check, device),
        ["all", ref options @ ..] => suite::run(options),
        _ => {
            eprintln!(
                "usage: gpu-checks list\n       gpu-checks run CHECK DEVICE\n       gpu-checks all [--json FILE] [--seconds N] [--device DEVICE]"
            );
            ExitCode::from(2)
        }
    }
}

/// Runs one check in this process, and prints its outcome.
fn run(name: &str, device: &str) -> ExitCode {
    let Some(check) = CHECKS.iter().find(|check| check.name == name) else {
        eprintln!("error: no check is called {name}: `gpu-checks list` has them");
        return ExitCode::from(2);
    };
    let outcome = match Device::named(device) {
        Ok(device) => (check.run)(&device).unwrap_or_else(|finding| Outcome::finding(&finding)),
        Err(error) => Outcome::finding(&error.to_string()),
    };
    println!("{}", outcome.json(name, device));
    outcome.status()
}
