//! Placeholder.
use std::process::ExitCode;
fn main() -> ExitCode {
    offload_tests::run(vec![])
}
