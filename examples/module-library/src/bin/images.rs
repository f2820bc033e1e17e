//! Prints which image of each module a device gets: `images sm_90`.

use std::env;
use std::error::Error;
use std::process::ExitCode;

use module_library::KERNELS;
use offload_gpu::DeviceInfo;

fn main() -> ExitCode {
    let device = env::args().nth(1).unwrap_or_else(|| "cpu".to_owned());
    let Err(error) = list(&device) else { return ExitCode::SUCCESS };
    eprintln!("error: {error}");
    ExitCode::FAILURE
}

fn list(device: &str) -> Result<(), Box<dyn Error>> {
    let device = DeviceInfo::parse(device)?;
    for module in KERNELS.modules() {
        let choice = module.select(&device)?;
        println!(
            "{}: {} {}, {} bytes",
            module.name(),
            choice.target(),
            choice.kind(),
            choice.bytes().len()
        );
    }
    Ok(())
}
