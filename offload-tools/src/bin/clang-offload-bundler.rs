//! The program `clang-offload-bundler`, a drop-in for LLVM's tool.

use std::process::ExitCode;

fn main() -> ExitCode {
    offload_tools::clang_offload_bundler(std::env::args_os())
}
