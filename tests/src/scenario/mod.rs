//! Scenarios are packages in scratch folders, as users of the crates write them. A scenario has
//! kernels, a build script, and the compilers that the build script finds. Cargo builds each
//! package offline, as a separate workspace, with the crates of this checkout.
//!
//! ```ignore
//! let scenario = Scenario::new("add_twice")
//!     .kernel("add", "1.0f")
//!     .pack("add", r#".file("kernels/add.cu").archs(["gfx90a", "cpu"])"#);
//! scenario.build().passes();
//! assert_eq!(scenario.targets("add"), ["gfx90a", "cpu"]);
//! ```

mod compilers;
mod manifest;
mod outputs;
mod registry;
mod run;
mod rust;
mod target_folders;

pub use compilers::{Calls, Watched};
pub use manifest::patch_options;
pub use run::{Printed, Run, printed};
pub use rust::rust_compiler;

use crate::scratch;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns a kernel `name(int n, const float *x, float *y)` in the CUDA dialect that compiles for
/// every target. The kernel sets `y[i]` to `x[i] + value`. The expression `value` may contain
/// `x[i]` and `y[i]`.
pub fn kernel(name: &str, value: &str) -> String {
    format!(
        "extern \"C\" __global__ void {name}(int n, const float *x, float *y) {{\n  \
           int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n)\n    y[i] = x[i] + {value};\n}}\n"
    )
}

/// A package in a scratch folder, with methods that build it.
#[derive(Debug)]
pub struct Scenario {
    /// The package's folder.
    pub folder: PathBuf,
    /// The folder that Cargo builds into.
    pub target: PathBuf,
    /// The features of the project's crates that the manifest enables.
    features: Features,
    /// Cargo's files for the package, which are removed when the scenario is dropped. `None` for a
    /// workspace member, and for a package of this repository.
    #[expect(dead_code, reason = "it is there to be dropped")]
    outputs: Option<Outputs>,
}

/// Features of the project's crates: the name of each crate, and the names of its features.
type Features = &'static [(&'static str, &'static [&'static str])];

/// The features of most packages that enable features. The tests use few sets of features, because
/// the crates are compiled again for each set.
const FEATURES: Features = &[
    ("offload-build", &["containers", "compression"]),
    ("offload-gpu", &["files", "half", "zstd"]),
];

/// `FEATURES` without one feature, for tests of messages that name this feature. Most crates are
/// compiled as with `FEATURES`.
const WITHOUT: [(&str, Features); 2] = [
    ("compression", &[("offload-build", &["containers"])]),
    ("zstd", &[FEATURES[0], ("offload-gpu", &["files", "half"])]),
];

/// Only the `files` feature. Without `zstd`, that crate's C code need not be compiled for each
/// profile.
const FILES: Features = &[("offload-gpu", &["files"])];

/// `FEATURES` with cudarc.
const WITH_CUDARC: Features = &[FEATURES[0], ("offload-gpu", &["files", "cudarc", "half", "zstd"])];

/// Cargo's files for a package: build scripts and their outputs. These files are removed after each
/// test that passes, because the files of all tests together would need gigabytes.
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
    /// Creates an empty library package that depends on the project's crates. `name` is also the
    /// scratch folder's name.
    pub fn new(name: &str) -> Self {
        let scenario = Self::without_sources(name);
        scenario.write("src/lib.rs", "");
        scenario
    }

    /// Creates a package like [`Scenario::new`] with a source in the folder `kernels`. The build
    /// script makes a pack with the source's name and these calls.
    pub fn of(name: &str, source: &str, calls: &str, text: impl AsRef<[u8]>) -> Self {
        let scenario = Self::new(name);
        let (pack, _) = source.split_once('.').expect("a source has an extension");
        scenario.pack(pack, &format!(".file(\"kernels/{source}\"){calls}"));
        scenario.write(&format!("kernels/{source}"), text);
        scenario
    }

    /// Creates a package like [`Scenario::of`] from the kernel `add`.
    pub fn add(name: &str, calls: &str) -> Self {
        Self::of(name, "add.cu", calls, kernel("add", "1.0f"))
    }

    /// Creates a package like [`Scenario::new`], but without a library, for example for a program.
    pub fn without_sources(name: &str) -> Self {
        let folder = scratch::folder(name);
        scratch::write(folder.join("Cargo.toml"), manifest::new(name));
        Self::in_folder(folder, "Cargo.lock")
    }

    /// Creates a workspace whose members are empty libraries with the dependencies of
    /// [`Scenario::new`]. Each member has a name and two texts. The first text goes into
    /// `[package]`, and the second to the end of `[dependencies]`.
    pub fn workspace(name: &str, members: &[(&str, &str, &str)]) -> Self {
        let folder = scratch::folder(name);
        let names: Vec<&str> = members.iter().map(|member| member.0).collect();
        let manifest = format!("[workspace]\nresolver = \"3\"\nmembers = {names:?}\n");
        scratch::write(folder.join("Cargo.toml"), manifest);
        for (member, package, dependencies) in members {
            let manifest = manifest::member(member, package, dependencies);
            scratch::write(folder.join(member).join("Cargo.toml"), manifest);
            scratch::write(folder.join(member).join("src/lib.rs"), "");
            target_folders::forget(member);
        }
        Self::in_folder(folder, "Cargo.lock")
    }

    /// Returns a workspace member, as a package with files, a build script and the script's
    /// outputs. Cargo runs in the member's folder, so it builds this member and the member's
    /// dependencies.
    pub fn member(&self, name: &str) -> Self {
        let (folder, target) = (self.folder.join(name), self.target.clone());
        Self { folder, target, features: self.features, outputs: None }
    }

    /// Copies the package at a path of this repository, and separates it from the workspace: the
    /// copy has the manifest of [`Scenario::new`]. The package, its program and the scratch folder
    /// are all called `name`, because the programs of different tests must have different names.
    pub fn copy_of(path: &str, name: &str) -> Self {
        let scenario = Self::without_sources(name);
        copy(&scratch::workspace().join(path), &scenario.folder);
        scenario.write("Cargo.toml", manifest::new(name));
        scenario
    }

    /// Returns the package at a path of this repository, without copying it. Cargo uses the
    /// repository's lock file. The package enables the features of `FEATURES`.
    pub fn in_place(path: &str) -> Self {
        let folder = scratch::workspace().join(path);
        let target = target_folders::of_this_thread();
        Self { folder, target, features: FEATURES, outputs: None }
    }

    /// Copies an example as a user would. The only difference is that this checkout's crates
    /// replace those of the registry. `name` is the name of the scratch folder and of the package.
    /// If two copies had the same name at the same place in their workspaces, Cargo would confuse
    /// them.
    pub fn example(example: &str, name: &str) -> Self {
        let folder = scratch::folder(name);
        copy(&scratch::workspace().join("examples").join(example), &folder);
        let text = fs::read_to_string(folder.join("Cargo.toml")).expect("a package has a manifest");
        let [old, new] = [example, name].map(|name| format!("name = \"{name}\""));
        let text = manifest::patched(&text.replacen(&old, &new, 1));
        scratch::write(folder.join("Cargo.toml"), text);
        Self::in_folder(folder, "examples/Cargo.lock").own_target(target_folders::of_examples())
    }

    /// Creates a package without files. The test must write a manifest that depends on the crates
    /// in the registry: see [`Scenario::patched`].
    pub fn empty(name: &str) -> Self {
        let package = Self::in_folder(scratch::folder(name), "examples/Cargo.lock");
        package.own_target(target_folders::of_examples())
    }

    /// Declares that the package's own manifest enables features of `FEATURES`. Cargo can then
    /// reuse compiled parts of the crates with these features, such as zstd's C code.
    pub fn has_features(&mut self) {
        self.features = FEATURES;
    }

    fn in_folder(folder: PathBuf, lock: &str) -> Self {
        // The lock file contains the versions that this checkout was tested with. Without a
        // network, no other versions are available.
        let lock = scratch::workspace().join(lock);
        fs::copy(lock, folder.join("Cargo.lock")).expect("the lock file can be copied");
        let target = target_folders::of_this_thread();
        let package = Self { folder, target, features: &[], outputs: None };
        let name = package.name().to_owned();
        target_folders::forget(&name);
        Self { outputs: Some(Outputs(name)), ..package }
    }

    /// Returns the name of the package and of its folder.
    pub fn name(&self) -> &str {
        self.folder.file_name().and_then(|name| name.to_str()).expect("a scratch folder has a name")
    }

    /// Makes Cargo build into this folder, which no other package may use. Cargo does not recompile
    /// the project's crates, because their compiled files are linked into the folder.
    pub fn own_target(self, folder: impl Into<PathBuf>) -> Self {
        Self { target: folder.into(), ..self }
    }
}

/// Methods that change a package, and methods that run it.
impl Scenario {
    /// Writes a file in the package.
    pub fn write(&self, path: &str, text: impl AsRef<[u8]>) -> &Self {
        scratch::write(self.folder.join(path), text);
        self
    }

    /// Copies a folder of this repository to the package's folder `src`.
    pub fn sources(&self, folder: &str) -> &Self {
        copy(&scratch::workspace().join(folder), &self.folder.join("src"));
        self
    }

    /// Returns the text of a file in the package.
    pub fn text(&self, path: &str) -> String {
        fs::read_to_string(self.folder.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// Returns the sorted names of the files in one of the package's folders, such as a prebuilt
    /// set.
    pub fn files(&self, folder: &str) -> Vec<String> {
        let paths = scratch::times(&self.folder.join(folder)).into_keys();
        let name = |path: PathBuf| Some(path.file_name()?.to_string_lossy().into_owned());
        let mut names: Vec<String> = paths.filter_map(name).collect();
        names.sort_unstable();
        names
    }

    /// Writes `kernels/<name>.cu` with the kernel of [`kernel`].
    pub fn kernel(&self, name: &str, value: &str) -> &Self {
        self.write(&format!("kernels/{name}.cu"), kernel(name, value))
    }

    /// Writes a build script with this body of `main`. All of offload-build's names are in scope.
    pub fn build_script(&self, body: &str) -> &Self {
        let uses = "#[allow(unused_imports)]\nuse offload_build::*;\n\n";
        self.write("build.rs", format!("{uses}fn main() {{\n    {body}\n}}\n"))
    }

    /// Writes a build script that makes one pack, with these calls between `Build::new()` and
    /// `compile`.
    pub fn pack(&self, name: &str, calls: &str) -> &Self {
        self.build_script(&format!("Build::new(){calls}.compile({name:?});"))
    }

    /// Makes the next build run the unchanged build script again.
    pub fn touch_build_script(&self) -> &Self {
        self.write("build.rs", self.text("build.rs"))
    }

    /// Writes an executable shell script, and returns its path.
    pub fn script(&self, path: &str, text: &str) -> PathBuf {
        let path = self.folder.join(path);
        scratch::write_script(&path, text);
        path
    }

    /// Enables a feature of one of the project's crates. All other features of `FEATURES` are
    /// enabled, too.
    pub fn feature(&mut self, of: &str, name: &str) -> &mut Self {
        let is_it = |(other, names): &(&str, &[&str])| *other == of && names.contains(&name);
        assert!(FEATURES.iter().any(is_it), "{of} is compiled without {name}");
        self.features(FEATURES)
    }

    /// Enables the features of `FEATURES`, except this one.
    pub fn features_without(&mut self, name: &str) -> &mut Self {
        let without = WITHOUT.into_iter().find(|(missing, _)| *missing == name);
        self.features(without.unwrap_or_else(|| panic!("no set without {name}")).1)
    }

    /// Enables only the `files` feature.
    pub fn files_alone(&mut self) -> &mut Self {
        self.features(FILES)
    }

    /// Enables the features of `FEATURES` and `cudarc`, and adds the dependency on cudarc.
    pub fn with_cudarc(&mut self) -> &mut Self {
        let line = "cudarc = { version = \"0.19\", default-features = false }\n";
        self.features(WITH_CUDARC).manifest("dependencies", line);
        self
    }

    fn features(&mut self, features: Features) -> &mut Self {
        if self.features != features {
            self.write("Cargo.toml", manifest::with_features(&self.text("Cargo.toml"), features));
            self.features = features;
        }
        self
    }

    /// Adds lines to a section of the manifest, directly after its header.
    pub fn manifest(&self, section: &str, lines: &str) -> &Self {
        self.write("Cargo.toml", manifest::with_lines(&self.text("Cargo.toml"), section, lines))
    }

    /// Changes the edition of the package.
    pub fn edition(&self, edition: &str) -> &Self {
        let text = self.text("Cargo.toml");
        let is_other = |line: &&str| !line.starts_with("edition = ");
        let lines: Vec<&str> = text.lines().filter(is_other).collect();
        let text = format!("{}\n", lines.join("\n"));
        let line = format!("edition = \"{edition}\"\n");
        self.write("Cargo.toml", manifest::with_lines(&text, "package", &line))
    }

    /// Makes the manifest use this checkout's crates in place of the registry's.
    pub fn patched(&self) -> &Self {
        self.write("Cargo.toml", manifest::patched(&self.text("Cargo.toml")))
    }
}

/// Methods that return commands.
impl Scenario {
    /// Returns a run of Cargo in the package's folder: see [`Run`].
    pub fn cargo(&self, args: &[&str]) -> Run<'_> {
        Run::cargo(self, args)
    }

    /// Returns a run of `cargo build`.
    pub fn build(&self) -> Run<'_> {
        self.cargo(&["build"])
    }

    /// Returns a run of `cargo check`.
    pub fn check(&self) -> Run<'_> {
        self.cargo(&["check"])
    }

    /// Returns a run of `cargo run` that prints only the program's output.
    pub fn run(&self) -> Run<'_> {
        self.cargo(&["run", "--quiet"])
    }

    /// Returns a run of the program that a build has left in a profile's folder (`debug` or
    /// `release`).
    pub fn start(&self, profile: &str) -> Run<'_> {
        self.tool(self.program(profile, self.name()))
    }

    /// Returns a run of a program other than Cargo, in the package's folder.
    pub fn tool(&self, program: impl AsRef<OsStr>) -> Run<'_> {
        let mut command = Command::new(program);
        command.current_dir(&self.folder);
        Run::program(self, command)
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("the target folder can be written");
    for entry in fs::read_dir(from).expect("the folder can be read").flatten() {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy(&from, &to);
        } else {
            fs::copy(&from, &to).expect("the file can be copied");
        }
    }
}
