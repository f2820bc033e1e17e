//! Packages as an outsider writes them, built with Cargo: offline, each in its own workspace, against this checkout.

use crate::data::read;
use crate::scratch;
use offload_format::pack_index::{Index, PackIndex};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A package in a scratch folder.
#[derive(Debug)]
pub struct Package {
    /// Its folder.
    pub folder: PathBuf,
    /// Where Cargo builds it.
    pub target: PathBuf,
}

impl Package {
    /// A new package that depends on the project's crates; its sources are written with [`Package::write`].
    /// `name` is also that of the scratch folder.
    pub fn new(name: &str) -> Self {
        let folder = scratch::folder(name);
        let crates = scratch::workspace().display();
        let manifest = format!(
            "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n\n\
             [dependencies]\noffload-format = {{ path = \"{crates}/offload-format\" }}\n\
             offload-embed-macro = {{ path = \"{crates}/offload-embed-macro\" }}\n\n\
             [build-dependencies]\noffload-build = {{ path = \"{crates}/offload-build\" }}\n"
        );
        scratch::write(folder.join("Cargo.toml"), manifest);
        Self::in_folder(folder)
    }

    /// A copy of a package of this repository, by its path in it, cut loose from the workspace. The package and its program
    /// go by `name`, as the scratch folder does, so that no other test's program has that name.
    ///
    /// # Panics
    /// If it cannot be copied.
    pub fn copy_of(path: &str, name: &str) -> Self {
        let folder = scratch::folder(name);
        copy(&scratch::workspace().join(path), &folder);
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).expect("a package has a manifest");
        let crates = scratch::workspace().display();
        let mut own = String::new();
        for line in manifest.lines() {
            // What the package takes over from the workspace, said in full.
            let line = match line.trim().strip_suffix(".workspace = true") {
                Some("version") => "version = \"0.1.0\"".to_owned(),
                Some("edition") => "edition = \"2024\"".to_owned(),
                Some(name) if name.starts_with("offload-") => format!("{name} = {{ path = \"{crates}/{name}\" }}"),
                Some(_) => continue,
                None if line.contains("{ workspace = true") => {
                    let own = line.split(' ').next().unwrap_or_default();
                    line.replace("workspace = true", &format!("path = \"{crates}/{own}\""))
                }
                None if line.starts_with("name = ") => format!("name = \"{name}\""),
                None => line.to_owned(),
            };
            if line == "[lints]" || line == "workspace = true" {
                continue;
            }
            own += &line;
            own += "\n";
        }
        scratch::write(folder.join("Cargo.toml"), own + "\n[workspace]\n");
        Self::in_folder(folder)
    }

    /// A copy of an example as somebody else would make it: nothing is changed, but that this checkout's crates stand for the
    /// registry's. `name` is that of the scratch folder; a second copy also has its own name, since Cargo takes packages of the
    /// same name for one if they lie in the same place of their workspaces.
    ///
    /// # Panics
    /// If it cannot be copied.
    pub fn copied_out(example: &str, name: &str) -> Self {
        let folder = scratch::folder(name);
        copy(&scratch::workspace().join("examples").join(example), &folder);
        let mut manifest = fs::read_to_string(folder.join("Cargo.toml")).expect("a package has a manifest");
        manifest = manifest.replacen(&format!("name = \"{example}\""), &format!("name = \"{name}\""), 1);
        scratch::write(folder.join("Cargo.toml"), with_patches(&manifest));
        Self::with_lock(folder, "examples/Cargo.lock")
    }

    /// A package without any file, for one that is written as the registry has it: see [`Package::patched`].
    pub fn empty(name: &str) -> Self {
        Self::with_lock(scratch::folder(name), "examples/Cargo.lock")
    }

    /// This checkout's crates stand for the registry's in the manifest that was written.
    ///
    /// # Panics
    /// If there is none.
    pub fn patched(&self) -> &Self {
        let path = self.folder.join("Cargo.toml");
        let manifest = fs::read_to_string(&path).expect("a package has a manifest");
        scratch::write(path, with_patches(&manifest));
        self
    }

    /// Asks for a feature of one of the project's crates that a build needs.
    pub fn feature(&self, of: &str, name: &str) -> &Self {
        let path = self.folder.join("Cargo.toml");
        let manifest = fs::read_to_string(&path).expect("a package has a manifest");
        let plain = format!("/{of}\" }}");
        assert!(manifest.contains(&plain), "{of} is a dependency without features");
        scratch::write(path, manifest.replace(&plain, &format!("/{of}\", features = [\"{name}\"] }}")));
        self
    }

    fn in_folder(folder: PathBuf) -> Self {
        Self::with_lock(folder, "Cargo.lock")
    }

    fn with_lock(folder: PathBuf, lock: &str) -> Self {
        // The versions that this checkout was tested with, and the only ones that are there without a network.
        let lock = scratch::workspace().join(lock);
        fs::copy(lock, folder.join("Cargo.lock")).expect("the lock file can be copied");
        // One for all, so that the crates are compiled once; Cargo tells packages apart by their paths.
        let package = Self { folder, target: scratch::target_dir().join("offload-tests-target") };
        // Images that an earlier run of the test left there would pass for made by this one; and Cargo, for which a package
        // and what `cargo package` made of it are one, would not always see that they are gone.
        let name = package.folder.file_name().expect("a scratch folder has a name").to_string_lossy().into_owned();
        for profile in ["debug", "release"] {
            for out in package.out_dirs(profile, &name).into_iter().chain(package.built(profile, ".fingerprint", &name))
            {
                let _ = fs::remove_dir_all(out);
            }
        }
        package
    }

    /// The folders that the build scripts of a package have written to.
    fn out_dirs(&self, profile: &str, package: &str) -> Vec<PathBuf> {
        self.built(profile, "build", package).into_iter().map(|build| build.join("out")).collect()
    }

    /// The folders that Cargo has for a package in one of its own.
    fn built(&self, profile: &str, folder: &str, package: &str) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.target.join(profile).join(folder)).into_iter().flatten().flatten();
        let prefix = format!("{package}-");
        let of_package = |name: &str| {
            // <package>-<hash>; another package's name may go on behind the dash.
            name.strip_prefix(&prefix).is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_hexdigit()))
        };
        let of_package = entries.filter(|entry| of_package(&entry.file_name().to_string_lossy()));
        of_package.map(|entry| entry.path()).collect()
    }

    /// Writes a file of the package.
    pub fn write(&self, path: &str, text: impl AsRef<[u8]>) -> &Self {
        scratch::write(self.folder.join(path), text);
        self
    }

    /// `cargo` in the package's folder, without this test's own Cargo variables.
    pub fn cargo(&self, args: &[&str]) -> Command {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            let own =
                text.starts_with("CARGO_") || text.starts_with("OFFLOAD_") || text == "RUSTFLAGS" || text == "OUT_DIR";
            // Those in which users name their GPUs.
            let targets = text.ends_with("ARCHS")
                || text.ends_with("_ARCH")
                || text.ends_with("_ARCH_LIST")
                || text.ends_with("_ARCHITECTURES")
                || text.ends_with("GPU_TARGETS")
                || text.starts_with("CUDA_COMPUTE_CAP");
            if (own || targets) && text != "CARGO_HOME" {
                command.env_remove(&name);
            }
        }
        command
            .current_dir(&self.folder)
            .env("CARGO_TARGET_DIR", &self.target)
            .env("CARGO_NET_OFFLINE", "true")
            .args(args);
        command
    }

    /// Where Cargo puts the program of this name.
    pub fn program(&self, profile: &str, name: &str) -> PathBuf {
        self.target.join(profile).join(name)
    }

    /// The file of this name that the newest build script of the package left under `OUT_DIR/offload`.
    ///
    /// # Panics
    /// If there is none.
    pub fn output(&self, profile: &str, package: &str, file: &str) -> PathBuf {
        let found = self.out_dirs(profile, package).into_iter().map(|out| out.join("offload").join(file));
        let mut found: Vec<PathBuf> = found.filter(|path| path.exists()).collect();
        found.sort_by_key(|path| fs::metadata(path).and_then(|metadata| metadata.modified()).ok());
        found.pop().unwrap_or_else(|| panic!("no build script of {package} left {file}"))
    }

    /// A file that the package's own build script left, as [`Package::output`] finds it.
    ///
    /// # Panics
    /// If there is none.
    pub fn own_output(&self, profile: &str, file: &str) -> PathBuf {
        let name = self.folder.file_name().expect("a package has a folder").to_string_lossy();
        self.output(profile, &name, file)
    }

    /// The index of a pack that the package's own build script has built.
    ///
    /// # Panics
    /// If there is none, or if the pack was skipped.
    pub fn index(&self, profile: &str, pack: &str) -> PackIndex {
        let path = self.own_output(profile, &format!("{pack}.index"));
        match Index::parse(&String::from_utf8(read(&path)).expect("an index is text")) {
            Ok(Index::Built(index)) => index,
            other => panic!("{}: {other:?}", path.display()),
        }
    }
}

/// A manifest whose registry is this checkout, for the project's own crates.
fn with_patches(manifest: &str) -> String {
    let mut patches = String::new();
    for own in
        ["offload-build", "offload-embed-macro", "offload-format"].into_iter().filter(|own| manifest.contains(own))
    {
        patches += &format!("{own} = {{ path = \"{}\" }}\n", scratch::workspace().join(own).display());
    }
    let workspace = if manifest.contains("[workspace]") { "" } else { "[workspace]\n\n" };
    format!("{manifest}\n# What a copy has in place of a registry.\n{workspace}[patch.crates-io]\n{patches}")
}

/// All that a command printed, for messages and for looking into.
pub fn printed(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).expect("the folder can be read").flatten() {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            fs::create_dir_all(&to).expect("the target folder can be written");
            copy(&from, &to);
        } else {
            fs::copy(&from, &to).expect("the file can be copied");
        }
    }
}
