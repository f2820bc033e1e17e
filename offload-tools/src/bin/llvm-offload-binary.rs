//! The program `llvm-offload-binary`: the same tool as `clang-offload-packager`.

use std::process::ExitCode;

fn main() -> ExitCode {
    offload_tools::packager::run(std::env::args_os())
}
