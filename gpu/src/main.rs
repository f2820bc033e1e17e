//! `gpu-checks`: checks on a machine with a GPU, which compare the GPU's results with numbers
//! computed in Rust.
//!
//! | command | does |
//! |---|---|
//! | `gpu-checks list` | prints each check's name, time limit in seconds, and a description |
//! | `gpu-checks run NAME --device cuda:0` | runs one check in this process; the last line is JSON |
//! | `gpu-checks all` | runs each check on each device, in separate processes |
//! | `gpu-checks devices` | prints the devices, for `all`: a driver may end the process that loads it |
//!
//! Exit statuses of `run`: 0 the results are right, 1 a finding, 2 the check does not apply. Exit
//! statuses of `all`: 0 a GPU ran every check that applies to it, 1 a finding, 2 wrong arguments, 3
//! no GPU ran, 4 the time ran out before some checks.

mod all;
mod checks;
mod child;
mod driver;
mod machine;
mod plan;
mod report;
mod system;

use offload_gpu::run::Device;
use report::Run;
use std::env;
use std::process::ExitCode;

const USAGE: &str = "usage: gpu-checks list
       gpu-checks run NAME --device KIND:ORDINAL
       gpu-checks all [--json FILE] [--seconds 420] [--limit SECONDS-OF-EACH] [--device KIND:ORDINAL]...
                      [--only NAME]...";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["list"] => list(),
        ["devices"] => {
            system::end_with_parent();
            machine::print()
        }
        ["run", name, "--device", device] => {
            system::end_with_parent();
            run(name, device)
        }
        ["part", name, "--device", device, ref rest @ ..] => {
            // Under a tool, the thread that started this process may end first, and must not end
            // this process.
            if !rest.contains(&checks::pairs::IN_TOOL) {
                system::end_with_parent();
            }
            system::alarm(60);
            checks::part(name, device, rest)
        }
        ["all", ref rest @ ..] => match all::Options::parse(rest) {
            Ok(options) => all::run(&options),
            Err(error) => wrong(&error),
        },
        _ => wrong("unknown arguments"),
    }
}

fn wrong(error: &str) -> ExitCode {
    eprintln!("error: {error}\n\n{USAGE}");
    ExitCode::from(2)
}

fn list() -> ExitCode {
    for check in plan::CHECKS {
        println!("{}\t{}\t{}", check.name, check.seconds, check.sentence);
    }
    ExitCode::SUCCESS
}

fn run(name: &str, device: &str) -> ExitCode {
    let Some(check) = plan::CHECKS.iter().find(|check| check.name == name) else {
        return wrong(&format!("no check is called {name}: `gpu-checks list` lists them"));
    };
    let device = match Device::named(device) {
        Ok(device) => device,
        Err(error) => return wrong(&error.to_string()),
    };
    let mut run = Run::new(device);
    let result = if check.vendors.contains(&run.device.vendor()) {
        (check.run)(&mut run)
    } else {
        report::skip(format!("{} has nothing for this check", run.device.name()))
    };
    ExitCode::from(run.end(name, result).status())
}
