//! The program `clang-offload-packager`: the same tool as `llvm-offload-binary`.

use std::process::ExitCode;

fn main() -> ExitCode {
    offload_tools::llvm_offload_binary(std::env::args_os())
}
