//! This project's own programs.

use crate::scratch::workspace;
use std::env;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

/// One of the programs of offload-tools, built with all features when the first one is asked for.
///
/// # Panics
/// If they do not build.
pub fn tool(name: &str) -> PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        // <target>/<profile>: the profile that the tests were built with.
        let profile = env::current_exe().expect("a test knows its own path");
        let profile = profile.ancestors().nth(2).expect("a test lies in <target>/<profile>/deps").to_owned();
        let name = match profile.file_name().and_then(|name| name.to_str()) {
            Some("debug") | None => "dev",
            Some(name) => name,
        };
        let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args([
            "build",
            "--quiet",
            "--offline",
            "--package",
            "offload-tools",
            "--all-features",
            "--profile",
            name,
        ]);
        cargo.arg("--target-dir").arg(crate::scratch::target_dir()).current_dir(workspace());
        let status = cargo.status().expect("cargo starts");
        assert!(status.success(), "{cargo:?}: {status}");
        profile
    });
    folder.join(name).with_extension(env::consts::EXE_EXTENSION)
}
