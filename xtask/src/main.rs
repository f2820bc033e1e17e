//! The project's own commands, run as `cargo xtask COMMAND`.

mod apt;
mod budget;
mod ci;
mod elsewhere;
mod files;
mod fuzz;
mod gpu;
mod prebuilt;
mod publish;
mod readme;
mod run;
mod rust_kernels;
mod setup;
mod test;
mod tools;
mod weight;
mod wheels;

use run::{Failure, Result};
use setup::Scope;
use std::process::ExitCode;

const HELP: &str = "\
The project's own commands:

  cargo xtask setup [--check]     install what the tests need (--check: only say what is missing)
  cargo xtask test                install clang, lld and g++, then run the tests that need no more, without
                                  slow ones; it prints what it left out
  cargo xtask test --all [ARGS...] install what all tests need (3.7 GB), then `cargo test --workspace ARGS`
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
  cargo xtask prebuilt [--check]  regenerate the prebuilt GPU images of the examples
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
    match dispatch(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(HELP),
    }
}

fn dispatch(args: &[String]) -> Result {
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words[..] {
        ["setup"] => setup::command(false),
        ["setup", "--check"] => setup::command(true),
        ["test", ref args @ ..] => test::command(args),
        ["ci", ref steps @ ..] => ci::command(steps),
        ["fuzz", "--seconds", seconds, ref targets @ ..] => fuzz::command(seconds, targets),
        ["fuzz", ref targets @ ..] => fuzz::command(fuzz::SECONDS, targets),
        ["bench", ref args @ ..] => bench(args),
        ["prebuilt"] => prebuilt::command(false),
        ["prebuilt", "--check"] => prebuilt::command(true),
        ["gpu"] => gpu::command(None),
        ["gpu", "--pack", folder] => gpu::command(Some(folder)),
        ["newcomer"] => {
            run::check(&mut run::command("unshare", "--mount bash xtask/src/newcomer/system.sh"))
        }
        ["elsewhere", ref hosts @ ..] => elsewhere::command(hosts),
        ["rust-kernels"] => rust_kernels::command(),
        ["weight"] => weight::command(&setup::prepare(Scope::All)?),
        [] | ["help" | "-h" | "--help"] => {
            print!("{HELP}");
            Ok(())
        }
        _ => Err(Failure::Usage(format!("there is no command `{}`", words.join(" ")))),
    }
}

/// Runs the benchmarks, which compare our tools with the tools that set-up has found.
fn bench(args: &[&str]) -> Result {
    let setup = setup::prepare(Scope::All)?;
    let build = "build --quiet --release --locked --package offload-tools --features drop-in";
    run::check(&mut setup.cargo(build))?;
    let run = "run --quiet --release --locked --package offload-bench --";
    run::passes(run::status(setup.cargo(run).args(args))?)
}
