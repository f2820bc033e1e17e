//! Simulates a machine without GPU compilers by hiding this machine's compilers.

use crate::command_lines::wrapped;
use crate::scratch::symlink;
use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The programs that remain in `PATH`. A build of a Rust program or this module starts them.
const TOOLS: [&str; 11] =
    ["sh", "cc", "c++", "gcc", "g++", "ld", "ld.bfd", "as", "ar", "mount", "unshare"];

/// A script that mounts empty folders over the usual folders of compilers, and then runs the
/// script's arguments as a command. This hides the compilers even from programs that do not use
/// `PATH`.
const HIDE: &str = "for folder in /usr/lib/llvm-* /opt/rocm /usr/local/cuda* /opt/cuda; do\n  \
                    if [ -d \"$folder\" ]; then mount -t tmpfs none \"$folder\"; fi\ndone\nexec \"$@\"";

/// Returns a command that runs `command`, which then finds no GPU compiler in `PATH` or in the
/// usual folders. Fills the folder `tools` with links to the programs that remain. Needs
/// [`Tool::OwnMounts`](crate::tools::Tool::OwnMounts).
pub fn without_compilers(command: &Command, tools: &Path) -> Command {
    fs::create_dir_all(tools).expect("the scratch folder can be written");
    let folders: Vec<_> = env::split_paths(&env::var_os("PATH").expect("PATH is set")).collect();
    for name in TOOLS {
        let found = folders.iter().map(|folder| folder.join(name)).find(|path| path.is_file());
        let Some(found) = found.and_then(|path| path.canonicalize().ok()) else {
            panic!("no {name} in PATH")
        };
        // The link may exist from an earlier call.
        let _ = symlink(found, tools.join(name));
    }
    let mut hidden = Command::new(tools.join("unshare"));
    hidden.args(["-rm", "sh", "-c", HIDE, "sh"]);
    let mut hidden = wrapped(hidden, command);
    for name in ["CUDA_HOME", "CUDA_PATH", "CUDA_ROOT", "CUDA_TOOLKIT_ROOT_DIR", "ROCM_PATH"] {
        hidden.env_remove(name);
    }
    // Add Cargo's folder, which also contains rustc, to `PATH`.
    let cargo = env::var_os("CARGO")
        .map(|cargo| Path::new(&cargo).parent().unwrap_or(Path::new("")).to_owned());
    let path = env::join_paths([tools.to_owned()].into_iter().chain(cargo))
        .expect("folders of PATH make a PATH");
    hidden.env("PATH", path);
    hidden
}
