//! `clang-offload-packager`: one tool by two names.

use std::process::ExitCode;

fn main() -> ExitCode {
    offload_tools::packager::run(std::env::args_os())
}
