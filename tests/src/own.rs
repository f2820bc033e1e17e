//! The project's own command lines, built as users get them.

use crate::scratch;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

/// The program of that name, one of offload-tools.
///
/// # Panics
/// If offload-tools cannot be built.
pub fn tool(name: &str) -> PathBuf {
    folder().join(name).with_extension(std::env::consts::EXE_EXTENSION)
}

/// The folder in which all of them are. They are built when it is first asked for.
///
/// # Panics
/// If offload-tools cannot be built.
pub fn folder() -> PathBuf {
    static BUILT: OnceLock<()> = OnceLock::new();
    BUILT.get_or_init(|| {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut build = Command::new(cargo);
        build.args(["build", "--offline", "--quiet", "-p", "offload-tools", "--features", "drop-in"]);
        let status = build.current_dir(scratch::workspace()).status().expect("cargo runs");
        assert!(status.success(), "offload-tools is built: {status}");
    });
    scratch::target_dir().join("debug")
}
