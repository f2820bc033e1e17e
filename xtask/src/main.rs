//! The project's own commands, run as `cargo xtask COMMAND`.

mod apt;
mod bench;
mod budget;
mod ci;
mod elsewhere;
mod fuzz;
mod gpu;
mod links;
mod newcomer;
mod prebuilt;
mod publish;
mod published;
mod readme;
mod run;
mod rust_kernels;
mod setup;
mod test;
mod tools;
mod weight;
mod wheels;

use run::{Failure, Result};
use std::process::ExitCode;

const HELP: &str = "\
The project's own commands:

  cargo xtask setup [--check]     install what the tests need (--check: only say what is missing)
  cargo xtask test                install clang, lld and g++, then run the tests that need no more, without
                                  slow ones; it prints what it left out
  cargo xtask test --all [ARGS...] install what all tests need (2.4 GB), then `cargo test --workspace ARGS`
  cargo xtask test ARGS...        install clang, lld and g++, then `cargo test --workspace ARGS`
  cargo xtask ci [STEP...]        what CI runs: set up, then fmt, clippy, features,
                                  fmt-examples, examples, example-launchers, fmt-gpu,
                                  gpu, doc, test, model, weight, rust-kernels, fuzz,
                                  publish, elsewhere
                                  (or only STEPs); then the minutes of each step
  cargo xtask bench [NAME]        how fast readers and builds are, beside other tools
  cargo xtask weight              how many lines of LLVM IR rustc makes of the README's package, for each
                                  crate, beside the budget in CONTRIBUTING.md
  cargo xtask fuzz [--seconds N] [TARGET...]
                                  fuzz each target for N seconds (takes a nightly compiler)
  cargo xtask prebuilt [--check]  remake the prebuilt GPU images of the examples
                                  (--check: then fail if git sees a difference)
  cargo xtask rust-kernels        compile the kernels of examples/rust-kernels (unpacks Debian's Rust
                                  compiler for it: 120 MB to download, 700 MB on disk)
  cargo xtask elsewhere [HOST...] what other hosts do, without their hardware: windows, aarch64,
                                  s390x, riscv64, i686, musl, musl-dynamic (unpacks the same
                                  compiler, installs Wine and qemu: CONTRIBUTING.md has sizes)
  cargo xtask gpu [--pack DIR]    runs the checks in gpu/ on this machine's devices; with --pack, puts
                                  them into a folder for a machine with a GPU (CONTRIBUTING.md)
  cargo xtask newcomer            a user's first two days on a bare Debian 12, which debootstrap makes
                                  in target/newcomer: as root, with a network, in 10 minutes
  cargo xtask help                this text

Set-up uses apt-get (Debian, Ubuntu; as root or through sudo) and puts everything else into .tools/.
Where it cannot install, it lists what is missing, and the tests that need it say \"ignored\".
CONTRIBUTING.md says more.
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (command, rest) = match args.split_first() {
        Some((command, rest)) => (command.as_str(), rest),
        None => ("help", &[][..]),
    };
    match dispatch(command, rest) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(HELP),
    }
}

fn dispatch(command: &str, args: &[String]) -> Result {
    match command {
        "setup" => setup::command(args),
        "test" => test::command(args),
        "ci" => ci::command(args),
        "fuzz" => fuzz::command(args),
        "bench" => bench::command(args),
        "prebuilt" => prebuilt::command(args),
        "gpu" => gpu::command(args),
        "newcomer" => newcomer::command(args),
        "elsewhere" => elsewhere::command(args),
        "rust-kernels" => rust_kernels::command(args),
        "weight" => weight::command(args),
        "help" | "-h" | "--help" => {
            print!("{HELP}");
            Ok(())
        }
        other => Err(Failure::Usage(format!("there is no command `{other}`"))),
    }
}
