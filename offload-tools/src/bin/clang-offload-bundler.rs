//! LLVM's `clang-offload-bundler`, as a drop-in.

use std::process::ExitCode;

fn main() -> ExitCode {
    offload_tools::bundler::run(std::env::args_os())
}
