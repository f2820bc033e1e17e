//! Creates packages in scratch folders, and builds them with Cargo as a user would.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Variables that make Cargo compile crates in a folder like crates from a registry: without
/// incremental compilation and without lints.
pub const AS_FROM_REGISTRY: [(&str, &str); 2] =
    [("CARGO_INCREMENTAL", "0"), ("RUSTFLAGS", "--cap-lints=allow")];

/// A folder with a package or a workspace, and a separate target folder.
pub struct Package {
    pub folder: PathBuf,
}

impl Package {
    /// Returns the package in `folder`. The folder need not exist yet.
    pub fn at(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Writes a file, creating its folders.
    pub fn write(&self, path: impl AsRef<Path>, text: &str) {
        let path = self.folder.join(path);
        fs::create_dir_all(path.parent().expect("a file lies in a folder"))
            .expect("the target folder can be written");
        fs::write(path, text).expect("the target folder can be written");
    }

    /// Returns a Cargo command for the package's folder, without the environment variables of the
    /// Cargo that runs this program.
    pub fn cargo(&self, args: &[&str]) -> Command {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            let own = text.starts_with("CARGO_")
                || text.starts_with("OFFLOAD_")
                || text.ends_with("MAKEFLAGS");
            if own && text != "CARGO_HOME" {
                command.env_remove(&name);
            }
        }
        command.current_dir(&self.folder).args(args);
        command
    }
}
