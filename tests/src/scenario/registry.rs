//! A registry that has the project's crates as they are published, and `cargo package` with it.

use super::{Run, Scenario, manifest, target_folders};
use crate::scratch;
use crate::tools::succeed;
use std::ffi::OsString;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

impl Scenario {
    /// Returns a run of `cargo package`, for which the registry has the project's crates.
    ///
    /// # Panics
    /// Panics if the crates cannot be packed.
    pub fn package(&self) -> Run<'_> {
        let packages = packages();
        let folder = scratch::folder(&format!("{}-registry", self.name()));
        // The other projects' crates, as Cargo has them.
        let vendor = self.cargo(&["vendor", "--quiet", "--versioned-dirs"]);
        vendor.args(manifest::patch_options()).arg(&folder).passes();
        for package in packages {
            succeed(Command::new("tar").arg("-xzf").arg(package).arg("-C").arg(&folder));
            let name = package.file_stem().expect("a package has a name");
            // Cargo expects a list of checksums, and checks only the files in it.
            scratch::write(
                folder.join(name).join(".cargo-checksum.json"),
                "{\"files\":{},\"package\":null}",
            );
        }
        self.cargo(&["package", "--allow-dirty"])
            .args(["--config", "source.crates-io.replace-with=\"packed\"", "--config"])
            .arg(format!("source.packed.directory={folder:?}"))
            .env("CARGO_TARGET_DIR", target_folders::of_registry())
    }

    /// Returns the folder that the run of [`Scenario::package`] has made.
    pub fn packaged(&self) -> PathBuf {
        target_folders::of_registry().join("package").join(format!("{}-0.1.0", self.name()))
    }
}

/// Packs the project's libraries once, and returns their files.
fn packages() -> &'static [PathBuf] {
    static PACKAGES: OnceLock<Vec<PathBuf>> = OnceLock::new();
    PACKAGES.get_or_init(|| {
        const LIBRARIES: [&str; 4] =
            ["offload-format", "offload-embed-macro", "offload-gpu", "offload-build"];
        let target = target_folders::of_registry();
        let folder = target.with_extension("packed");
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
        let mut package = Command::new(cargo);
        package
            .current_dir(scratch::workspace())
            .args(["package", "--offline", "--no-verify", "--allow-dirty", "--quiet"])
            .args(LIBRARIES.iter().flat_map(|name| ["--package", name]));
        succeed(package.arg("--target-dir").arg(&folder));
        let packages = LIBRARIES.map(|name| {
            let version = env!("CARGO_PKG_VERSION");
            folder.join("package").join(format!("{name}-{version}.crate"))
        });
        forget_others(&target, &packages);
        packages.to_vec()
    })
}

/// Removes what was compiled of other packages. Cargo assumes that a package of a registry never
/// changes, so it would not compile the new ones.
fn forget_others(target: &Path, packages: &[PathBuf]) {
    let mut hasher = DefaultHasher::new();
    for package in packages {
        fs::read(package).expect("Cargo has packed it").hash(&mut hasher);
    }
    let (hash, record) = (hasher.finish().to_string(), target.join("packages"));
    if fs::read_to_string(&record).is_ok_and(|known| known == hash) {
        return;
    }
    let _ = fs::remove_dir_all(target);
    scratch::write(record, hash);
}
