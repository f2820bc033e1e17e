//! The folders that Cargo builds scratch packages in.
//!
//! Cargo locks a folder while it builds there. With only one folder, tests would wait for each
//! other's builds, so there are several. The project's crates are compiled once, in a separate
//! folder, and their files are linked into the other folders. Cargo accepts these files, because
//! its hashes of crates do not depend on the folder.

use super::run::cargo;
use super::{Features, Scenario, manifest};
use crate::tools::succeed;
use crate::{processes, scratch};
use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Settings for scratch packages: a development build without data that only a debugger or a later
/// build would use.
pub const PROFILE: [(&str, &str); 8] = [
    ("CARGO_PROFILE_DEV_DEBUG", "line-tables-only"),
    // By default, Cargo omits debug information if only build scripts need a crate. Cargo would
    // then compile the crate again for a different set of features.
    ("CARGO_PROFILE_DEV_BUILD_OVERRIDE_DEBUG", "line-tables-only"),
    ("CARGO_PROFILE_DEV_INCREMENTAL", "false"),
    // Each codegen unit needs additional time, and machines with few cores cannot compile many
    // units in parallel.
    ("CARGO_PROFILE_DEV_CODEGEN_UNITS", "2"),
    ("CARGO_PROFILE_DEV_BUILD_OVERRIDE_CODEGEN_UNITS", "2"),
    ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "2"),
    ("CARGO_PROFILE_RELEASE_BUILD_OVERRIDE_CODEGEN_UNITS", "2"),
    // Remove debug information from the programs and build scripts, because there are hundreds of
    // them.
    ("CARGO_PROFILE_DEV_STRIP", "debuginfo"),
];

/// Cargo options for scratch packages. They disable the optimization of zstd's C code, which would
/// take longer than everything else in a release build.
pub const CONFIG: [&str; 2] = ["--config", "profile.release.package.zstd-sys.opt-level=0"];

/// The names of the folders. Each test thread always uses the same one of the first two folders.
/// The last folder is for the examples, and for other packages with the same dependencies. These
/// dependencies are compiled there only once.
const FOLDERS: [&str; 3] = ["one", "two", "examples"];

fn root() -> PathBuf {
    scratch::target_dir().join("offload-tests-target")
}

/// Returns the folder in which the calling thread always builds.
pub fn of_this_thread() -> PathBuf {
    static THREADS: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static NUMBER: usize = THREADS.fetch_add(1, Ordering::Relaxed);
    }
    root().join(FOLDERS[NUMBER.with(|number| number % 2)])
}

/// Returns the folder of the examples.
pub fn of_examples() -> PathBuf {
    root().join(FOLDERS[2])
}

/// Returns the folder for packages that Cargo builds with a registry's crates.
pub fn of_registry() -> PathBuf {
    root().join("registry")
}

/// Removes a package's files from earlier runs. Otherwise, tests would find old images. Cargo also
/// treats a package and the result of its `cargo package` as the same package. If these files
/// remained, Cargo would not always notice that a package was removed.
pub fn forget(package: &str) {
    for folder in FOLDERS {
        for profile in ["debug", "release"] {
            let profile = root().join(folder).join(profile);
            for folder in ["build", ".fingerprint"] {
                for path in built(&profile, folder, package) {
                    let _ = fs::remove_dir_all(path);
                }
            }
        }
    }
}

/// Returns Cargo's folders for a package in `build` or `.fingerprint` of a profile's folder.
pub fn built(profile: &Path, folder: &str, package: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(profile.join(folder)).into_iter().flatten().flatten();
    let prefix = format!("{package}-");
    let is_of_package = |name: &str| {
        // The form is `<package>-<hash>`. A different package's name may continue after the dash.
        name.strip_prefix(&prefix)
            .is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_hexdigit()))
    };
    let of_package = entries.filter(|entry| is_of_package(&entry.file_name().to_string_lossy()));
    of_package.map(|entry| entry.path()).collect()
}

/// A kind of build, which determines what Cargo compiles of the crates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The code of a development build.
    Debug,
    /// The code of a release build.
    Release,
    /// Only the metadata that `cargo check` needs.
    Check,
}

/// Compiles the project's crates with a scenario's features, if necessary, and links their files
/// into a target folder.
pub fn prepare(scenario: &Scenario, target: &Path, kind: Kind) {
    static DONE: Mutex<Option<HashSet<String>>> = Mutex::new(None);
    let (name, profile) = match kind {
        Kind::Debug => ("debug", "debug"),
        Kind::Release => ("release", "release"),
        Kind::Check => ("check", "debug"),
    };
    let name = format!("{name} {}", name_of(scenario.features));
    // Hold the lock during compilation, so other threads wait here instead of waiting for Cargo's
    // lock.
    let mut done = DONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let done = done.get_or_insert_default();
    let compiled = root().join("crates");
    if done.insert(name.clone()) {
        processes::shared(&format!("crates: {}", name.trim_end()), || {
            compile(&compiled, scenario.features, kind);
        });
    }
    if done.insert(format!("{name} {}", target.display())) {
        for part in ["deps", "build", ".fingerprint"] {
            let (from, to) = (compiled.join(profile).join(part), target.join(profile).join(part));
            let linked = link_all(&from, &to);
            linked.unwrap_or_else(|error| panic!("{from:?} into {to:?}: {error}"));
        }
    }
}

/// Returns the features' names, such as `offload-build/compression offload-gpu/zstd`.
fn name_of(features: Features) -> String {
    let names = |(of, names): &(&str, &[&str])| {
        names.iter().map(|name| format!("{of}/{name}")).collect::<Vec<_>>()
    };
    features.iter().flat_map(names).collect::<Vec<_>>().join(" ")
}

/// Compiles the project's crates as for a scratch package.
fn compile(target: &Path, features: Features, kind: Kind) {
    let folder = root().join("crates-package").join(name_of(features).replace(['/', ' '], "-"));
    write_package(&folder, features);
    let mut cargo = cargo(&folder, target);
    cargo.args([if kind == Kind::Check { "check" } else { "build" }, "--quiet"]);
    cargo.args((kind == Kind::Release).then_some("--release"));
    succeed(&mut cargo);
}

/// Writes a package that depends on the project's crates.
pub fn write_package(folder: &Path, features: Features) {
    let manifest = manifest::with_features(&manifest::new("all-crates"), features);
    scratch::write(folder.join("Cargo.toml"), manifest);
    scratch::write(folder.join("src/lib.rs"), "");
    // Cargo must link the build script, so a broken linker is reported here.
    scratch::write(folder.join("build.rs"), "fn main() {}\n");
    fs::copy(scratch::workspace().join("Cargo.lock"), folder.join("Cargo.lock"))
        .expect("the lock file can be copied");
}

/// Hard-links the files of one folder into another. Links are safe, because Cargo and rustc replace
/// files instead of writing into them. Cargo writes in place only into some small files, so small
/// files are copied instead.
fn link_all(from: &Path, to: &Path) -> io::Result<()> {
    const SMALL: u64 = 16 << 10;
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        let metadata = entry.metadata()?;
        if metadata.is_dir() {
            link_all(&entry.path(), &to)?;
            continue;
        }
        let is_there = fs::metadata(&to).is_ok_and(|there| {
            there.len() == metadata.len() && there.modified().ok() == metadata.modified().ok()
        });
        if is_there {
            continue;
        }
        let _ = fs::remove_file(&to);
        if metadata.len() > SMALL && fs::hard_link(entry.path(), &to).is_ok() {
            continue;
        }
        fs::copy(entry.path(), &to)?;
        fs::File::options().write(true).open(&to)?.set_modified(metadata.modified()?)?;
    }
    Ok(())
}
