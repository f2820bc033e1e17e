//! Reads what a build needs to know about a kernel crate's package before Cargo reads it.

use super::manifest::Manifest;
use crate::toolchain::compilers::Rust;
use crate::toolchain::{Cargo, Error};
use std::fs;
use std::path::{Path, PathBuf};

/// A package with kernels.
pub(crate) struct Package {
    pub(crate) manifest: PathBuf,
    /// The name of the package.
    pub(crate) name: String,
    /// The name of the package's library.
    pub(crate) library: String,
    /// The folder of the package's workspace or, without one, the package's own folder. rustc
    /// starts in this folder.
    pub(crate) root: PathBuf,
    /// The `Cargo.lock` in `root`, if it exists.
    pub(crate) lock: Option<PathBuf>,
    /// The files, other than sources, that determine how Cargo and rustup compile the package.
    pub(crate) files: Vec<PathBuf>,
    /// Cargo's configuration files, including those in parent folders of the package.
    pub(crate) configuration: Vec<PathBuf>,
    /// The folders in which a configuration file could be added.
    pub(crate) folders: Vec<PathBuf>,
    /// Whether a dependency comes from a registry.
    pub(crate) has_registry: bool,
    /// rustup's name for the kernels' toolchain.
    pub(crate) channel: String,
    /// Cargo's variables for the `release` profile's settings, with their values.
    pub(crate) profile: Vec<(&'static str, String)>,
}

/// The `release` profile's settings that come from a manifest, with their variables and defaults.
/// Cargo's configuration is meant for the program, so it does not affect these settings.
const PROFILE: [(&str, &str, &str); 4] = [
    ("opt-level", OPT_LEVEL, "3"),
    ("debug", DEBUG, "false"),
    ("debug-assertions", "CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS", "false"),
    ("overflow-checks", "CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS", "false"),
];

/// The variable for the optimization level.
pub(super) const OPT_LEVEL: &str = "CARGO_PROFILE_RELEASE_OPT_LEVEL";

/// The variable for the amount of debug information.
pub(super) const DEBUG: &str = "CARGO_PROFILE_RELEASE_DEBUG";

impl Package {
    /// Reads the package of a manifest. `program` is the program's folder.
    ///
    /// Returns an error if the manifest cannot be read, or contains no package name.
    pub(crate) fn read(manifest: &Path, program: &Path) -> Result<Self, Error> {
        let text =
            fs::read_to_string(manifest).map_err(|error| Error::io("read", manifest, error))?;
        let own = Manifest::parse(&text);
        let name = own.value("package.name").ok_or_else(|| {
            Error::config(format!(
                "{} has no [package] section with a name: a kernel crate must be a separate \
                 package",
                manifest.display()
            ))
        })?;
        let library = own.value("lib.name").unwrap_or_else(|| name.replace('-', "_"));
        let folder = manifest.parent().unwrap_or(Path::new(""));
        let mut files = vec![manifest.to_owned()];
        let folders = own_folders(folder, program);
        let mut channel = Rust::CHANNEL.to_owned();
        if let Some((path, text)) = toolchain_file(&folders) {
            // The older form of the file contains only the channel.
            match Manifest::parse(&text).value("toolchain.channel") {
                Some(named) => channel = named,
                None if !text.contains('=') => channel = text.trim().to_owned(),
                None => {}
            }
            files.push(path);
        }
        let (mut root, mut of_root) = (folder.to_owned(), own);
        if let Some(manifest) = workspace_of(folder, program) {
            of_root = Manifest::parse(&fs::read_to_string(&manifest).unwrap_or_default());
            root = manifest.parent().unwrap_or(Path::new("")).to_owned();
            files.push(manifest);
        }
        let lock = Some(root.join("Cargo.lock")).filter(|path| path.is_file());
        files.extend(lock.clone());
        let locked = lock.as_deref().and_then(|path| fs::read_to_string(path).ok());
        // Without a `Cargo.lock`, assume that a dependency comes from a registry.
        let has_registry = locked.is_none_or(|locked| locked.contains("\nsource = \""));
        let mut profile = Vec::new();
        for (key, variable, default) in PROFILE {
            let own = of_root.value(&format!("profile.release.{key}"));
            profile.push((variable, own.unwrap_or_else(|| default.to_owned())));
        }
        Ok(Self {
            manifest: manifest.to_owned(),
            name,
            library,
            root,
            lock,
            files,
            configuration: configuration_for(folder),
            folders,
            has_registry,
            channel,
            profile,
        })
    }

    /// Returns the folder of the package, in which Cargo starts.
    pub(super) fn folder(&self, cargo: &Cargo) -> PathBuf {
        let mut folder = cargo.manifest_dir.join(&self.manifest);
        folder.pop();
        folder
    }
}

/// Returns the folder of a package, and its parent folders that do not contain the program. Files
/// in folders that contain the program belong to the program.
fn own_folders(package: &Path, program: &Path) -> Vec<PathBuf> {
    let mut folders = vec![package.to_owned()];
    let program = fs::canonicalize(program).unwrap_or_else(|_| program.to_owned());
    let mut folder = package;
    while let Some(parent) = folder.parent() {
        folder = parent;
        match fs::canonicalize(program.join(folder)) {
            Ok(absolute) if !program.starts_with(&absolute) => folders.push(folder.to_owned()),
            _ => break,
        }
    }
    folders
}

/// Returns the first file that names a toolchain, with its text. Like rustup, prefers the file name
/// without an extension.
fn toolchain_file(folders: &[PathBuf]) -> Option<(PathBuf, String)> {
    for folder in folders {
        for name in ["rust-toolchain", "rust-toolchain.toml"] {
            let path = folder.join(name);
            if let Ok(text) = fs::read_to_string(&path) {
                return Some((path, text));
            }
        }
    }
    None
}

/// Returns the configuration files that Cargo reads when it starts in this folder. They include the
/// user's file if the folder is in the user's home.
fn configuration_for(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let folder = fs::canonicalize(if folder == Path::new("") { Path::new(".") } else { folder });
    for folder in folder.unwrap_or_default().ancestors() {
        for name in [".cargo/config", ".cargo/config.toml"] {
            let path = folder.join(name);
            if path.is_file() {
                files.push(path);
            }
        }
    }
    files
}

/// Returns the manifests for a source: that of its package, and that of the workspace that the
/// package inherits from.
///
/// Excludes the program's manifest, in the folder `program`, because kernels do not depend on it
/// and `cargo package` rewrites it.
pub(crate) fn manifests_of(source: &Path, program: &Path) -> Vec<PathBuf> {
    let mut manifests = Vec::new();
    let mut folder = source;
    while let Some(parent) = folder.parent() {
        folder = parent;
        // The last parent of a relative path is empty.
        let manifest = folder.join("Cargo.toml");
        if folder == Path::new("") || !manifest.is_file() {
            continue;
        }
        if !is_same(folder, program) {
            let text = fs::read_to_string(&manifest).unwrap_or_default();
            manifests.push(manifest);
            // The package may inherit values, as in `version.workspace = true`.
            if text.contains("workspace")
                && let Some(workspace) = workspace_of(folder, program)
            {
                manifests.push(workspace);
            }
        }
        break;
    }
    manifests
}

/// Whether two paths lead to the same folder. (The path of a source that kernels include may
/// contain `..`.)
fn is_same(folder: &Path, other: &Path) -> bool {
    fs::canonicalize(folder).ok() == fs::canonicalize(other).ok()
}

/// Returns the path of a file relative to the program's folder, such as `../a/lib.rs`, if the two
/// have a common parent other than the root. The relative path is the same on every machine with
/// these folders.
pub(crate) fn from_program(file: &Path, program: &Path) -> PathBuf {
    let mut up = PathBuf::new();
    // Stop before the root, which contains all files.
    for folder in program.ancestors() {
        if folder.parent().is_none() {
            break;
        }
        if let Ok(rest) = file.strip_prefix(folder) {
            return up.join(rest);
        }
        up.push("..");
    }
    file.to_owned()
}

/// Returns the manifest of a package's workspace, as a path from the program's folder. Returns
/// `None` if the package is the root of its workspace, or is not in a workspace. Follows the rules
/// of Cargo 1.96.
fn workspace_of(package: &Path, program: &Path) -> Option<PathBuf> {
    let program = fs::canonicalize(program).ok()?;
    let package = fs::canonicalize(program.join(package)).ok()?;
    for folder in package.ancestors() {
        let manifest = folder.join("Cargo.toml");
        let Ok(text) = fs::read_to_string(&manifest) else { continue };
        let found = Manifest::parse(&text);
        if let Some(root) = found.value("package.workspace") {
            let root = fs::canonicalize(folder.join(root)).ok()?;
            return Some(from_program(&root.join("Cargo.toml"), &program));
        }
        if found.is_workspace() {
            if folder == package {
                return None;
            }
            let lists = |key| {
                let mut lists = false;
                for it in found.list(key) {
                    lists |= package.starts_with(folder.join(it));
                }
                lists
            };
            if !lists("workspace.exclude") || lists("workspace.members") {
                return Some(from_program(&manifest, &program));
            }
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

    /// Writes these files, given by path and text, to a temporary folder.
    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        folder
    }

    #[test]
    fn the_workspace_is_the_one_of_cargo() {
        let package = "[package]\nname = \"x\"\n";
        let tree = tree(&[
            (
                "Cargo.toml",
                "[workspace]\nexclude = [\n  \"gpu/\", 'k',\n]\nmembers = [\"k/member\"]\n",
            ),
            ("program/Cargo.toml", package),
            ("program/kernels/Cargo.toml", &format!("{package}[workspace]\n")),
            ("program/types/Cargo.toml", package),
            ("gpu/a/Cargo.toml", package),
            ("k/member/Cargo.toml", package),
            ("k/Cargo.toml", "[workspace]\nexclude = [\"pointer\"]\n"),
            ("k/pointer/Cargo.toml", "[package]\nworkspace = \"../k2\"\n"),
            ("k/k2/Cargo.toml", "[workspace]\n"),
        ]);
        let program = tree.path().join("program");
        for (package, manifest) in [
            ("kernels", None),
            ("types", Some("../Cargo.toml")),
            ("../gpu/a", None),
            ("../k/member", Some("../k/Cargo.toml")),
            ("../k/pointer", Some("../k/k2/Cargo.toml")),
        ] {
            let found = workspace_of(Path::new(package), &program);
            assert_eq!(found.as_deref(), manifest.map(Path::new), "{package}");
        }
    }

    #[test]
    fn the_toolchain_is_named_beside_the_crate_or_around_it() {
        let tree = tree(&[
            ("rust-toolchain.toml", "[toolchain]\nchannel = \"1.95\"\n"),
            ("program/rust-toolchain.toml", "[toolchain]\nchannel = \"1.95\"\n"),
            ("program/gpu/rust-toolchain.toml", "[toolchain]\nchannel = \"nightly-1\"\n"),
            ("program/gpu/a/Cargo.toml", "[package]\nname = \"a\"\n"),
            ("program/gpu/b/Cargo.toml", "[package]\nname = \"b\"\n"),
            ("program/gpu/b/rust-toolchain", "nightly-2\n"),
            ("program/gpu/b/rust-toolchain.toml", "[toolchain]\nchannel = \"nightly-3\"\n"),
            ("program/c/Cargo.toml", "[package]\nname = \"c\"\n"),
            ("c/Cargo.toml", "[package]\nname = \"c\"\n"),
        ]);
        let program = tree.path().join("program");
        for (package, channel) in [
            ("gpu/a", "nightly-1"),
            ("gpu/b", "nightly-2"),
            ("c", Rust::CHANNEL),
            ("../c", Rust::CHANNEL),
        ] {
            // Build scripts name paths relative to the folder in which they run.
            let manifest = program.join(package).join("Cargo.toml");
            assert_eq!(Package::read(&manifest, &program).unwrap().channel, channel, "{package}");
        }
    }
}
