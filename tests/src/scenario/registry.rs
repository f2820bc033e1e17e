//! A registry that contains the project's crates as they are published, and `cargo package` with
//! this registry.

use super::run::cargo;
use super::{Run, Scenario, target_folders};
use crate::tools::succeed;
use crate::{processes, scratch};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

impl Scenario {
    /// Returns a run of `cargo package` with a registry that contains the project's crates.
    pub fn package(&self) -> Run<'_> {
        self.cargo(&["package", "--allow-dirty"])
            .args(options(registry()))
            .env("CARGO_TARGET_DIR", target_folders::of_registry())
    }

    /// Returns the folder that [`Scenario::package`] creates.
    pub fn packaged(&self) -> PathBuf {
        target_folders::of_registry().join("package").join(format!("{}-0.1.0", self.name()))
    }
}

/// Packages the project's libraries once, into the folder of a registry, together with the crates
/// on which they depend. Returns the folder. The folder is kept, so Cargo compiles the crates only
/// once for all packages.
fn registry() -> &'static Path {
    static REGISTRY: OnceLock<PathBuf> = OnceLock::new();
    REGISTRY.get_or_init(|| {
        let target = target_folders::of_registry();
        let folder = target.with_extension("crates");
        processes::shared("crates: a registry of the packed crates", || {
            let packages = packages(&target.with_extension("packed"));
            if forget_others(&target, &packages) {
                let _ = fs::remove_dir_all(&folder);
                unpack(&packages, &folder);
                compile(&folder);
            }
        });
        folder
    })
}

/// Packages the project's libraries, and returns their files.
fn packages(folder: &Path) -> [PathBuf; 5] {
    const LIBRARIES: [&str; 5] =
        ["offload-format", "offload-pack", "offload-embed-macro", "offload-gpu", "offload-build"];
    let mut package = cargo(scratch::workspace(), folder);
    package
        .args(["package", "--no-verify", "--allow-dirty", "--quiet"])
        .args(LIBRARIES.iter().flat_map(|name| ["--package", name]));
    succeed(&mut package);
    LIBRARIES.map(|name| {
        let version = env!("CARGO_PKG_VERSION");
        folder.join("package").join(format!("{name}-{version}.crate"))
    })
}

/// Fills a registry's folder.
fn unpack(packages: &[PathBuf], folder: &Path) {
    // Copy other projects' crates from Cargo's cache.
    let package = folder.with_extension("package");
    target_folders::write_package(&package, super::FEATURES);
    let mut vendor = cargo(&package, folder);
    succeed(vendor.args(["vendor", "--quiet", "--versioned-dirs"]).arg(folder));
    for package in packages {
        succeed(Command::new("tar").arg("-xzf").arg(package).arg("-C").arg(folder));
        let unpacked = folder.join(package.file_stem().expect("a package has a name"));
        // Cargo requires a list of checksums, but checks only the files in the list.
        let checksums = r#"{"files":{},"package":null}"#;
        scratch::write(unpacked.join(".cargo-checksum.json"), checksums);
    }
}

/// Returns the options that make Cargo use this folder as its registry.
fn options(folder: &Path) -> [String; 4] {
    let packed = format!("source.packed.directory={folder:?}");
    let replaced = "source.crates-io.replace-with=\"packed\"".to_owned();
    ["--config".to_owned(), replaced, "--config".to_owned(), packed]
}

/// Compiles the crates in a registry's folder, as `cargo package` does to verify a package.
fn compile(folder: &Path) {
    let package = folder.with_extension("package");
    let manifest = "[package]\nname = \"all-crates\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n\n\
                    [dependencies]\noffload-gpu = \"0.1\"\n\n[build-dependencies]\noffload-build = \"0.1\"\n";
    scratch::write(package.join("Cargo.toml"), manifest);
    let mut build = cargo(&package, &target_folders::of_registry());
    succeed(build.args(["build", "--quiet"]).args(options(folder)));
}

/// Removes the compiled files if they come from different packages. Returns whether they did. Cargo
/// assumes that a registry's package never changes, so Cargo would not compile the new packages.
fn forget_others(target: &Path, packages: &[PathBuf]) -> bool {
    let mut hasher = DefaultHasher::new();
    for package in packages {
        fs::read(package).expect("Cargo has packed it").hash(&mut hasher);
    }
    let (hash, record) = (hasher.finish().to_string(), target.join("packages"));
    if fs::read_to_string(&record).is_ok_and(|known| known == hash) {
        return false;
    }
    let _ = fs::remove_dir_all(target);
    scratch::write(record, hash);
    true
}
