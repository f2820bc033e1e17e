//! To come.

use std::process::ExitCode;

fn main() -> ExitCode {
    offload_tests::run(Vec::new())
}
