//! Tests that run clang with LLVM's tools and with ours. The resulting objects and libraries must
//! be identical.

mod new_driver;
mod old_driver;

use offload_tests::prelude::*;
use std::os::unix::fs::symlink;

/// Definitions that a HIP source needs if it is compiled without ROCm.
const HIP: &str = "#define __global__ __attribute__((global))\n\
    typedef unsigned long size_t;\n\
    struct dim3 { unsigned x, y, z; };\n\
    typedef int hipError_t;\n\
    typedef struct Stream *hipStream_t;\n\
    extern \"C\" hipError_t hipLaunchKernel(const void *, dim3, dim3, void **, size_t, hipStream_t);\n\
    __global__ void store(int *out) { *out = 1; }\n\
    __attribute__((device)) int variable = 3;\n";

/// Creates links to LLVM's or our tools in the folder `tools` of clang's working folder, where
/// clang finds them.
fn put_tools(folder: &Path, tools: &Path, names: &[&str]) {
    let _ = fs::remove_dir_all(folder.join("tools"));
    fs::create_dir(folder.join("tools")).expect("the folder can be made");
    for name in names {
        symlink(tools.join(name), folder.join("tools").join(name)).expect("a link can be made");
    }
}

/// Returns a `PATH` that starts with the folders of ptxas and LLVM's tools, because LLVM's bundler
/// runs `llvm-objcopy` from the `PATH`.
fn path() -> OsString {
    let ptxas = env::var_os("CUDA_HOME").map(|home| Path::new(&home).join("bin"));
    let path = env::var_os("PATH").unwrap_or_default();
    env::join_paths(ptxas.into_iter().chain([llvm_bin()]).chain(env::split_paths(&path)))
        .expect("a list of folders")
}

/// Returns a clang command in a folder, with the arguments in `line`, separated by spaces. The
/// arguments must be the same for LLVM's tools and ours, because clang puts a hash of its options
/// into some symbols.
fn clang(folder: &Path, line: &str) -> Command {
    let mut clang = llvm("clang");
    clang.current_dir(folder).env("PATH", path()).args(["-B", "tools", "-O1"]);
    clang.args(line.split_whitespace());
    clang
}

/// Checks that clang runs the tool with this name from our folder.
#[track_caller]
fn assert_runs(folder: &Path, tool: &str, line: &str) {
    let planned = stderr(&succeed(clang(folder, line).arg("-###")));
    let is_planned = planned.contains(&format!("\"tools/{tool}\""));
    assert!(is_planned, "clang runs the tool in our folder:\n{planned}");
}

#[track_caller]
fn assert_same_files(folder: &Path, files: [&str; 2]) {
    let [ours, theirs] = files.map(|name| read(folder.join(name)));
    assert_same_bytes(&ours, &theirs, &folder.display().to_string());
}
