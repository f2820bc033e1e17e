//! The package of a crate of kernels: what a build must know of it before Cargo reads it.

use offload_toolchain::compilers::Rust;
use offload_toolchain::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

/// A package with kernels.
#[derive(Debug)]
pub(crate) struct Package {
    pub(crate) manifest: PathBuf,
    /// The name of the package.
    pub(crate) name: String,
    /// The name of its library.
    pub(crate) library: String,
    /// The `Cargo.lock` beside the manifest, if it exists.
    pub(crate) lock: Option<PathBuf>,
    /// Whether Cargo makes the `Cargo.lock` beside the manifest: the package is in no workspace of
    /// a folder around it.
    pub(crate) is_root: bool,
    /// The manifest and the `Cargo.lock` of the workspace around the package, if it is in one.
    pub(crate) of_workspace: Vec<PathBuf>,
    /// Whether a dependency comes from a registry.
    pub(crate) has_registry: bool,
    /// The file that names the toolchain, if the package has one.
    pub(crate) toolchain: Option<PathBuf>,
    /// The toolchain of the kernels, for rustup.
    pub(crate) channel: String,
}

impl Package {
    /// Reads the package of a manifest. The program is in the folder `program`.
    ///
    /// Returns an error if the manifest cannot be read, or has no name of a package.
    pub(crate) fn read(manifest: &Path, program: &Path) -> Result<Self, Error> {
        let text =
            fs::read_to_string(manifest).map_err(|error| Error::io("read", manifest, error))?;
        let name = value(&text, "package", "name").ok_or_else(|| {
            Error::config(format!(
                "{} has no [package] with a name: a crate of kernels is a package of its own",
                manifest.display()
            ))
        })?;
        let library = value(&text, "lib", "name").unwrap_or_else(|| name.replace('-', "_"));
        let folder = manifest.parent().unwrap_or(Path::new(""));
        let (mut toolchain, mut channel) = (None, Rust::CHANNEL.to_owned());
        for file in ["rust-toolchain.toml", "rust-toolchain"] {
            let path = folder.join(file);
            let Ok(text) = fs::read_to_string(&path) else { continue };
            // The older form of the file is the channel alone.
            match value(&text, "toolchain", "channel") {
                Some(named) => channel = named,
                None if !text.contains('=') => channel = text.trim().to_owned(),
                None => {}
            }
            toolchain = Some(path);
            break;
        }
        let lock = Some(folder.join("Cargo.lock")).filter(|path| path.is_file());
        let locked = lock.as_deref().and_then(|path| fs::read_to_string(path).ok());
        let has_registry = match locked {
            Some(locked) => locked.contains("\nsource = \""),
            // Without a list of all dependencies, one may be in a registry.
            None => text.contains("dependencies"),
        };
        let around =
            if is_workspace(&text) { None } else { workspace_around(&program.join(folder)) };
        let (is_root, mut of_workspace) = (around.is_none(), Vec::new());
        // A package with a Cargo.lock of its own is not in the workspace, which excludes it.
        if lock.is_none()
            && let Some(around) = around
            && !is_same(&around, program)
        {
            for file in ["Cargo.toml", "Cargo.lock"] {
                of_workspace.extend(Some(around.join(file)).filter(|path| path.is_file()));
            }
        }
        let manifest = manifest.to_owned();
        Ok(Self {
            manifest,
            name,
            library,
            lock,
            is_root,
            of_workspace,
            has_registry,
            toolchain,
            channel,
        })
    }
}

/// Returns the manifest of the package that contains a source, unless it is the program's, in the
/// folder `program`: kernels do not depend on that one, which `cargo package` rewrites.
pub(crate) fn manifest_of(source: &Path, program: &Path) -> Option<PathBuf> {
    // The last folder of a relative path has no name.
    let mut folders = source.ancestors().skip(1).filter(|folder| *folder != Path::new(""));
    let folder = folders.find(|folder| folder.join("Cargo.toml").is_file())?;
    (!is_same(folder, program)).then(|| folder.join("Cargo.toml"))
}

/// Whether both are one folder. The path of a source that kernels include has `..` in it.
fn is_same(folder: &Path, other: &Path) -> bool {
    fs::canonicalize(folder).ok() == fs::canonicalize(other).ok()
}

/// Returns the path of a file from the program's folder, if both are in one folder: `../a/lib.rs`.
/// The path is then the same on every machine that has both.
pub(crate) fn from_program(file: &Path, program: &Path) -> PathBuf {
    let mut up = PathBuf::new();
    // All files are below the root.
    for folder in program.ancestors().filter(|folder| folder.parent().is_some()) {
        if let Ok(rest) = file.strip_prefix(folder) {
            return up.join(rest);
        }
        up.push("..");
    }
    file.to_owned()
}

/// Returns the folder of the workspace in a folder around a package.
fn workspace_around(package: &Path) -> Option<PathBuf> {
    let package = fs::canonicalize(package).ok()?;
    let mut folders = package.ancestors().skip(1);
    let folder = folders.find(|folder| {
        fs::read_to_string(folder.join("Cargo.toml")).is_ok_and(|text| is_workspace(&text))
    })?;
    Some(folder.to_owned())
}

/// Whether a manifest has the table `[workspace]`, or one inside of it.
fn is_workspace(manifest: &str) -> bool {
    let mut headers = manifest.lines().map(|line| line.trim_start().trim_start_matches('[').trim());
    headers.any(|header| {
        let rest = header.strip_prefix("workspace");
        rest.is_some_and(|rest| rest.trim_start().starts_with([']', '.']))
    })
}

/// Returns the text of a key in a table of a TOML file, if it is in one line of its own.
fn value(text: &str, table: &str, key: &str) -> Option<String> {
    let mut is_in_table = false;
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            let header = line.split('#').next().unwrap_or("").trim();
            is_in_table = header.trim_matches(['[', ']']).trim() == table;
        } else if is_in_table
            && let Some((name, value)) = line.split_once('=')
            && name.trim() == key
        {
            let value = value.trim();
            let quote = value.chars().next().filter(|it| matches!(it, '"' | '\''))?;
            return value[1..].split(quote).next().map(str::to_owned);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_from_the_program() {
        for (file, path) in [
            ("/home/u/program/kernels/src/lib.rs", "kernels/src/lib.rs"),
            ("/home/u/kernels/src/lib.rs", "../kernels/src/lib.rs"),
            ("/home/shared/lib.rs", "../../shared/lib.rs"),
            ("/opt/shared/lib.rs", "/opt/shared/lib.rs"),
        ] {
            assert_eq!(
                from_program(Path::new(file), Path::new("/home/u/program")),
                Path::new(path)
            );
        }
    }

    #[test]
    fn workspaces() {
        for (manifest, is_so) in [
            ("[package]\nname = \"workspace\"\n[workspace] # none\n", true),
            ("[ workspace . package ]\n", true),
            ("[package]\nworkspace = \"..\"\nversion.workspace = true\n", false),
        ] {
            assert_eq!(is_workspace(manifest), is_so, "{manifest}");
        }
    }

    #[test]
    fn values_of_tables() {
        let text = "[package] # x\nname = \"my-kernels\" # a name\n[lib]\nname='k'\n[toolchain]\nchannel=\"nightly-2026-05-01\"";
        assert_eq!(value(text, "package", "name").as_deref(), Some("my-kernels"));
        assert_eq!(value(text, "lib", "name").as_deref(), Some("k"));
        assert_eq!(value(text, "toolchain", "channel").as_deref(), Some("nightly-2026-05-01"));
        assert_eq!(value(text, "lib", "path"), None);
        assert_eq!(value("nightly", "toolchain", "channel"), None);
    }
}
