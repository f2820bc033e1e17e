//! The program `llvm-offload-binary`: the same tool as `clang-offload-packager`.

use std::process::ExitCode;

fn main() -> ExitCode {
    offload_tools::llvm_offload_binary(std::env::args_os())
}
