//! Scenarios: packages as outsiders write them, with kernels, a build script and the compilers that
//! it finds, in scratch folders. Cargo builds them offline, each as a workspace of its own, against
//! this checkout.
//!
//! ```ignore
//! let scenario = Scenario::new("add_twice")
//!     .kernel("add", "1.0f")
//!     .pack("add", r#".file("kernels/add.cu").archs(["gfx90a", "cpu"])"#);
//! scenario.build().passes();
//! assert_eq!(scenario.targets("add"), ["gfx90a", "cpu"]);
//! ```

mod compilers;
mod kernels;
mod manifest;
mod outputs;
mod run;
mod target_folders;

pub use compilers::Watched;
pub use kernels::kernel;
pub use run::{Printed, Run, printed};

use crate::scratch;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A package in a scratch folder, and how it is built.
#[derive(Debug)]
pub struct Scenario {
    /// The package's folder.
    pub folder: PathBuf,
    /// Where Cargo builds it.
    pub target: PathBuf,
    /// Features of the project's crates that its manifest asks for, as `offload-build/containers`.
    features: BTreeSet<String>,
    /// Cargo's files of the package, which are removed with it; `None` for a member of a workspace.
    #[expect(dead_code, reason = "it is there to be dropped")]
    outputs: Option<Outputs>,
}

/// Cargo's files of a package: build scripts and their outputs. They are removed after a test that
/// did not fail: those of all tests would be gigabytes.
#[derive(Debug)]
struct Outputs(String);

impl Drop for Outputs {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            target_folders::forget(&self.0);
        }
    }
}

impl Scenario {
    /// A new library package, which depends on the project's crates and is empty. `name` is also
    /// that of the scratch folder.
    pub fn new(name: &str) -> Self {
        let scenario = Self::without_sources(name);
        scenario.write("src/lib.rs", "");
        scenario
    }

    /// As [`Scenario::new`], without the library: the package of a program, or one whose sources
    /// the test writes.
    pub fn without_sources(name: &str) -> Self {
        let folder = scratch::folder(name);
        scratch::write(folder.join("Cargo.toml"), manifest::new(name));
        Self::in_folder(folder, "Cargo.lock")
    }

    /// A workspace of members, each with an empty library and the same dependencies as
    /// [`Scenario::new`] writes. The two texts of a member come after its name in `[package]`, and
    /// at the end of its `[dependencies]`.
    pub fn workspace(name: &str, members: &[(&str, &str, &str)]) -> Self {
        let folder = scratch::folder(name);
        let names: Vec<&str> = members.iter().map(|member| member.0).collect();
        scratch::write(
            folder.join("Cargo.toml"),
            format!("[workspace]\nresolver = \"3\"\nmembers = {names:?}\n"),
        );
        for (member, package, dependencies) in members {
            scratch::write(
                folder.join(member).join("Cargo.toml"),
                manifest::member(member, package, dependencies),
            );
            scratch::write(folder.join(member).join("src/lib.rs"), "");
            target_folders::forget(member);
        }
        Self::in_folder(folder, "Cargo.lock")
    }

    /// A member of a workspace: its files, its build script and what that left. Cargo, started in
    /// its folder, builds it and what it depends on.
    pub fn member(&self, name: &str) -> Self {
        Self {
            folder: self.folder.join(name),
            target: self.target.clone(),
            features: self.features.clone(),
            outputs: None,
        }
    }

    /// A copy of a package of this repository, by its path in it, cut loose from the workspace. The
    /// package and its program go by `name`, as the scratch folder does, so that no other test's
    /// program has that name.
    ///
    /// # Panics
    /// If it cannot be copied.
    pub fn copy_of(path: &str, name: &str) -> Self {
        let folder = scratch::folder(name);
        copy(&scratch::workspace().join(path), &folder);
        let text = fs::read_to_string(folder.join("Cargo.toml")).expect("a package has a manifest");
        scratch::write(folder.join("Cargo.toml"), manifest::cut_loose(&text, name));
        Self::in_folder(folder, "Cargo.lock")
    }

    /// A copy of an example as somebody else would make it: nothing is changed, but that this
    /// checkout's crates stand for the registry's. `name` is that of the scratch folder; a second
    /// copy also has its own name, since Cargo takes packages of the same name for one if they lie
    /// in the same place of their workspaces.
    ///
    /// # Panics
    /// If it cannot be copied.
    pub fn example(example: &str, name: &str) -> Self {
        let folder = scratch::folder(name);
        copy(&scratch::workspace().join("examples").join(example), &folder);
        let text = fs::read_to_string(folder.join("Cargo.toml")).expect("a package has a manifest");
        let text =
            text.replacen(&format!("name = \"{example}\""), &format!("name = \"{name}\""), 1);
        scratch::write(folder.join("Cargo.toml"), manifest::patched(&text));
        Self {
            target: target_folders::of_examples(),
            ..Self::in_folder(folder, "examples/Cargo.lock")
        }
    }

    /// A package without any file, for one that is written as the registry has it: see
    /// [`Scenario::patched`].
    pub fn empty(name: &str) -> Self {
        Self {
            target: target_folders::of_examples(),
            ..Self::in_folder(scratch::folder(name), "examples/Cargo.lock")
        }
    }

    fn in_folder(folder: PathBuf, lock: &str) -> Self {
        // The versions that this checkout was tested with, and the only ones that are there without
        // a network.
        let lock = scratch::workspace().join(lock);
        fs::copy(lock, folder.join("Cargo.lock")).expect("the lock file can be copied");
        let name = folder
            .file_name()
            .and_then(|name| name.to_str())
            .expect("a scratch folder has a name")
            .to_owned();
        target_folders::forget(&name);
        let (target, features) = (target_folders::of_this_thread(), BTreeSet::new());
        Self { folder, target, features, outputs: Some(Outputs(name)) }
    }

    /// The name of the package and of its folder.
    pub fn name(&self) -> &str {
        self.folder.file_name().and_then(|name| name.to_str()).expect("a scratch folder has a name")
    }

    /// Lets Cargo build in a folder of the package's own, in which the project's crates are
    /// compiled already.
    pub fn own_target(self, folder: impl Into<PathBuf>) -> Self {
        Self { target: folder.into(), ..self }
    }
}

/// The parts of a package.
impl Scenario {
    /// Writes a file of the package.
    pub fn write(&self, path: &str, text: impl AsRef<[u8]>) -> &Self {
        scratch::write(self.folder.join(path), text);
        self
    }

    /// The text of a file of the package.
    ///
    /// # Panics
    /// If it cannot be read.
    pub fn text(&self, path: &str) -> String {
        fs::read_to_string(self.folder.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// Writes `kernels/<name>.cu`: the kernel of [`kernel`].
    pub fn kernel(&self, name: &str, value: &str) -> &Self {
        self.write(&format!("kernels/{name}.cu"), kernel(name, value))
    }

    /// Writes a build script with this body of `main`. All of offload-build's names are there.
    pub fn build_script(&self, body: &str) -> &Self {
        self.write(
            "build.rs",
            format!(
                "#[allow(unused_imports)]\nuse offload_build::*;\n\nfn main() {{\n    {body}\n}}\n"
            ),
        )
    }

    /// Writes a build script that makes one pack, with these calls between `Build::new()` and
    /// `compile`.
    pub fn pack(&self, name: &str, calls: &str) -> &Self {
        self.build_script(&format!("Build::new(){calls}.compile({name:?});"))
    }

    /// Lets the next build run the build script again, which is as it was.
    pub fn touch_build_script(&self) -> &Self {
        self.write("build.rs", self.text("build.rs"))
    }

    /// Writes an executable shell script; returns its path.
    pub fn script(&self, path: &str, text: &str) -> PathBuf {
        let path = self.folder.join(path);
        scratch::write_script(&path, text);
        path
    }

    /// Asks for a feature of one of the project's crates, which is a dependency without any.
    pub fn feature(&mut self, of: &str, name: &str) -> &mut Self {
        self.write("Cargo.toml", manifest::with_feature(&self.text("Cargo.toml"), of, name));
        self.features.insert(format!("{of}/{name}"));
        self
    }

    /// Adds lines to a section of the manifest, right under its header.
    pub fn manifest(&self, section: &str, lines: &str) -> &Self {
        self.write("Cargo.toml", manifest::with_lines(&self.text("Cargo.toml"), section, lines))
    }

    /// Changes the edition of the package.
    pub fn edition(&self, edition: &str) -> &Self {
        let text = self.text("Cargo.toml");
        self.write(
            "Cargo.toml",
            text.replace("edition = \"2024\"", &format!("edition = \"{edition}\"")),
        )
    }

    /// Lets this checkout's crates stand for the registry's in the manifest that was written.
    pub fn patched(&self) -> &Self {
        self.write("Cargo.toml", manifest::patched(&self.text("Cargo.toml")))
    }
}

/// Commands.
impl Scenario {
    /// Cargo in the package's folder: see [`Run`].
    pub fn cargo(&self, args: &[&str]) -> Run<'_> {
        Run::cargo(self, args)
    }

    /// `cargo build`
    pub fn build(&self) -> Run<'_> {
        self.cargo(&["build"])
    }

    /// `cargo check`
    pub fn check(&self) -> Run<'_> {
        self.cargo(&["check"])
    }

    /// `cargo run`, with nothing printed but what the program prints.
    pub fn run(&self) -> Run<'_> {
        self.cargo(&["run", "--quiet"])
    }

    /// Runs the program that a build of this profile's folder (`debug`, `release`) left.
    pub fn start(&self, profile: &str) -> Run<'_> {
        self.tool(self.program(profile, self.name()))
    }

    /// Another program than Cargo, in the package's folder.
    pub fn tool(&self, program: impl AsRef<OsStr>) -> Run<'_> {
        let mut command = Command::new(program);
        command.current_dir(&self.folder);
        Run::program(self, command)
    }
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
