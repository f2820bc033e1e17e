//! Reads facts from a program's files: its identity, whether the program starts another one, and
//! whether its folder belongs to it alone.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::time::UNIX_EPOCH;

/// Returns the identity of a file for rebuild keys: its path, size and modification time.
pub fn identity(tool: &Path) -> String {
    let metadata = fs::metadata(tool).ok();
    let size = metadata.as_ref().map_or(0, fs::Metadata::len);
    let changed = metadata
        .and_then(|it| it.modified().ok())
        .and_then(|it| it.duration_since(UNIX_EPOCH).ok());
    format!("{} {size} {}", tool.display(), changed.unwrap_or_default().as_nanos())
}

/// Substrings of compiler and linker names. A program whose name contains none may be a wrapper.
const COMPILERS: [&str; 8] = ["clang", "gcc", "g++", "c++", "nvcc", "ptxas", "lld", "cl"];

/// Whether a program may start another one, which can change while the first program's file does
/// not. This applies to scripts, and to links whose target is not a compiler, such as those that
/// ccache installs in folders that precede the compilers' folders in `PATH`.
pub(super) fn is_wrapper(tool: &Path) -> bool {
    let mut start = [0; 2];
    let is_script = File::open(tool).and_then(|mut file| file.read_exact(&mut start)).is_ok()
        && start == *b"#!";
    let program = tool.canonicalize().unwrap_or_else(|_| tool.to_owned());
    let name = program.file_stem().unwrap_or_default().to_string_lossy().to_lowercase();
    is_script || !COMPILERS.iter().any(|part| name.contains(part))
}

/// Whether an installation's folder also contains other packages' files: Debian installs to `/usr`,
/// and conda to the environment's folder.
pub fn is_shared(root: &Path) -> bool {
    root == Path::new("/usr") || root.join("conda-meta").is_dir()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_and_masquerades_are_wrappers() {
        let scratch = tempfile::tempdir().unwrap();
        let file = |name: &str, bytes: &[u8]| {
            let path = scratch.path().join(name);
            fs::write(&path, bytes).unwrap();
            path
        };
        assert!(is_wrapper(&file("clang", b"#!/bin/sh\nexec /opt/clang \"$@\"\n")));
        assert!(!is_wrapper(&file("x86_64-linux-gnu-g++-12", b"\x7fELF")));
        assert!(is_wrapper(&file("ccache", b"\x7fELF")));
        #[cfg(unix)]
        {
            let link = scratch.path().join("clang++");
            std::os::unix::fs::symlink(scratch.path().join("ccache"), &link).unwrap();
            assert!(is_wrapper(&link));
        }
    }
}
