//! LLVM's `clang-offload-bundler`, as a drop-in.

use std::process::ExitCode;

fn main() -> ExitCode {
    offload_tools::clang_offload_bundler(std::env::args_os())
}
