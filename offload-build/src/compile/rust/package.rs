//! The package of a crate of kernels: what a build must know of it before Cargo reads it.

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
    /// Whether a dependency comes from a registry.
    pub(crate) has_registry: bool,
    /// The file that names the toolchain, if the package has one.
    pub(crate) toolchain: Option<PathBuf>,
    /// The toolchain of the kernels, for rustup.
    pub(crate) channel: String,
}

/// The toolchain of packages that name none.
const CHANNEL: &str = "nightly";

impl Package {
    /// Reads the package of a manifest.
    ///
    /// Returns an error if the manifest cannot be read, or has no name of a package.
    pub(crate) fn read(manifest: &Path) -> Result<Self, Error> {
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
        let (mut toolchain, mut channel) = (None, CHANNEL.to_owned());
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
        let manifest = manifest.to_owned();
        Ok(Self { manifest, name, library, lock, has_registry, toolchain, channel })
    }
}

/// Returns the manifest of the package that contains a source.
pub(crate) fn manifest_of(source: &Path) -> Option<PathBuf> {
    let folders = source.ancestors().skip(1);
    folders.map(|folder| folder.join("Cargo.toml")).find(|path| path.is_file())
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
    fn values_of_tables() {
        let text = "[package] # x\nname = \"my-kernels\" # a name\n[lib]\nname='k'\n[toolchain]\nchannel=\"nightly-2026-05-01\"";
        assert_eq!(value(text, "package", "name").as_deref(), Some("my-kernels"));
        assert_eq!(value(text, "lib", "name").as_deref(), Some("k"));
        assert_eq!(value(text, "toolchain", "channel").as_deref(), Some("nightly-2026-05-01"));
        assert_eq!(value(text, "lib", "path"), None);
        assert_eq!(value("nightly", "toolchain", "channel"), None);
    }
}
