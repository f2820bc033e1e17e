//! Runs our `clang-offload-bundler` and LLVM 22's with the same command lines and files. Compares
//! output, exit status and every remaining file. Tests of intentional differences check both tools'
//! results.

mod archives;
mod command_line;
mod compression;
mod differences;
mod forms;
mod next_llvm;
mod targets;

use offload_tests::side_by_side::{Case, Whose};

const HOST: &str = "host-x86_64-unknown-linux-gnu-";
const GFX906: &str = "hip-amdgcn-amd-amdhsa--gfx906";
const GFX908: &str = "hip-amdgcn-amd-amdhsa--gfx908";

/// Returns a command line of the bundler, split at spaces, with the files that most tests use.
/// `HOST`, `GFX906` and `GFX908` stand for the entry IDs in the constants.
fn bundler(line: &str) -> Case {
    let line = line.replace("HOST", HOST).replace("GFX906", GFX906).replace("GFX908", GFX908);
    let case = Case::new("clang-offload-bundler", line.split_whitespace());
    case.file("host", "host's own\n")
        .file("one", "code for one\n")
        .file("two", "CODE FOR TWO")
        .file("empty", "")
}

/// Returns a command line that reads the file `x` with these bytes.
fn reading(bytes: impl Into<Vec<u8>>, line: &str) -> Case {
    bundler(&format!("{line} -input=x")).file("x", bytes)
}

/// Returns the file `x` as written by LLVM's tool.
fn written(case: &Case) -> Vec<u8> {
    case.run(Whose::Llvm).success().file("x").to_vec()
}
