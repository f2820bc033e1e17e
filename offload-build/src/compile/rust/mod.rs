//! Command lines that make images from a crate of kernels in Rust: Cargo, with the toolchain of the
//! kernels, then lld or ptxas.
//!
//! | target | Cargo makes | after it |
//! |---|---|---|
//! | AMD | an object | lld: code object |
//! | `compute_*` | PTX | |
//! | `sm_*` | PTX | ptxas: cubin |
//! | `cpu` | an object, with the program's own toolchain | the C++ compiler: shared object |
//!
//! The crate is compiled as a static library with link-time optimization. rustc then makes one
//! object of the crate, its dependencies and `core`, which contains only what kernels use. So PTX
//! needs no linker. Each target has its own target folder in `OUT_DIR`, because `core` is compiled
//! for the target's processor. Cargo does not know that the image is made again when its file is
//! gone: each step first removes Cargo's record of the crate, not those of its dependencies.

mod cpu;
mod package;

pub(crate) use package::Package;
pub(super) use package::manifest_of;

use super::line::Line;
use super::{Compilation, Compilations, Described};
use offload_format::target::{NvidiaArch, NvidiaCode, TargetId, Vendor};
use offload_toolchain::compilers::{Identity, Ptxas, Rust};
use offload_toolchain::exec::{DepfileBy, Step, StepKind};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// A crate of kernels, and the toolchain that compiles it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Crate<'a> {
    pub(crate) package: &'a Package,
    pub(crate) rust: &'a Rust,
}

/// The linker of AMD's code objects.
#[derive(Debug)]
pub(crate) struct Lld {
    pub(crate) program: PathBuf,
    /// The arguments before all others.
    pub(crate) first: &'static [&'static str],
    pub(crate) identity: Identity,
}

/// How Cargo compiles a crate for one target.
struct Recipe<'a> {
    triple: &'a str,
    /// The folder in which Cargo builds.
    folder: PathBuf,
    /// The flags of rustc for all crates.
    flags: Vec<String>,
    /// Whether Cargo also compiles `core`.
    builds_core: bool,
}

/// A description is of the crate alone.
const DESCRIBED: &[&str] = &["--crate-type", "lib", "--", "-Cdebuginfo=2", "-Awarnings"];

impl Compilations<'_> {
    /// Returns the compilation that makes a code object.
    pub(crate) fn rust_code_object(
        &self,
        of: Crate<'_>,
        id: TargetId<'_>,
        lld: &Lld,
    ) -> Compilation {
        let mut compilation = self.compilation("hsaco", &[&of.rust.identity, &lld.identity]);
        let mut flags = vec![format!("-Ctarget-cpu={}", id.processor())];
        let mut features = Vec::new();
        for (name, state) in id.features() {
            features.push(format!("{state}{name}"));
        }
        if !features.is_empty() {
            flags.push(format!("-Ctarget-feature={}", features.join(",")));
        }
        if let Some(version) = self.code_object_version {
            flags.push(format!("-Cllvm-args=--amdhsa-code-object-version={version}"));
        }
        let object = self.work("o");
        self.by_cargo(&mut compilation, of, self.for_gpu(Vendor::Amd, flags), "obj", &object);
        let link = Line::of(lld.first).words(&["-shared"]).one(&object);
        compilation.last(Step::new(StepKind::Link, &lld.program, link.done()));
        compilation
    }

    /// Returns the compilation that makes PTX, or machine code if there is a ptxas.
    pub(crate) fn rust_nvidia(
        &self,
        of: Crate<'_>,
        arch: NvidiaArch,
        ptxas: Option<&Ptxas>,
    ) -> Compilation {
        let mut tools = vec![&of.rust.identity];
        tools.extend(ptxas.map(|ptxas| &ptxas.identity));
        let mut compilation =
            self.compilation(if ptxas.is_some() { "cubin" } else { "ptx" }, &tools);
        let ptx = if ptxas.is_some() { self.work("ptx") } else { compilation.image.clone() };
        let flags = vec![format!("-Ctarget-cpu={}", arch.with_code(NvidiaCode::Cubin))];
        self.by_cargo(&mut compilation, of, self.for_gpu(Vendor::Nvidia, flags), "asm", &ptx);
        if let Some(ptxas) = ptxas {
            self.assemble(&mut compilation, arch, ptxas, &ptx, Vec::new());
        }
        compilation
    }

    fn for_gpu(&self, vendor: Vendor, flags: Vec<String>) -> Recipe<'static> {
        Recipe { triple: triple(vendor), folder: self.work("target"), flags, builds_core: true }
    }

    /// Adds the step in which Cargo compiles the crate to this file, and the step that describes
    /// its kernels.
    fn by_cargo(
        &self,
        to: &mut Compilation,
        of: Crate<'_>,
        recipe: Recipe<'_>,
        kind: &str,
        output: &Path,
    ) {
        self.describe(to, of, &recipe);
        let compile = self.compiling(to, of, &recipe, kind, output);
        to.then(compile);
    }

    /// Adds the step that describes the kernels of a crate, and the files of its package.
    fn describe(&self, to: &mut Compilation, of: Crate<'_>, recipe: &Recipe<'_>) {
        let env = self.variables(of, recipe);
        let described = self.work("ll");
        let line = Line::of(DESCRIBED).one(emit("llvm-ir", &described));
        let step = Step::new(StepKind::Describe { may_fail: false }, &of.rust.cargo, Vec::new());
        to.described =
            Described::BySteps(vec![self.cargo(step, of, recipe, &env, line, &described)]);
        let package = of.package;
        to.sources.push(package.manifest.clone());
        to.sources.extend(package.toolchain.clone());
        to.sources.extend(package.lock.clone());
    }

    /// Returns the step in which Cargo compiles the crate to this file, and adds its variables to
    /// those that a later run compares.
    fn compiling(
        &self,
        to: &mut Compilation,
        of: Crate<'_>,
        recipe: &Recipe<'_>,
        kind: &str,
        output: &Path,
    ) -> Step {
        let env = self.variables(of, recipe);
        for (name, value) in &env {
            let line = format!("{}={}", name.to_string_lossy(), value.to_string_lossy());
            to.identities.push(self.cargo.portable(&line));
        }
        let line = Line::of(&["--crate-type", "staticlib", "--"]).one(emit(kind, output));
        let step = Step::new(StepKind::Cargo, &of.rust.cargo, Vec::new());
        self.cargo(step, of, recipe, &env, line, output)
    }

    /// Returns the variables of Cargo.
    fn variables(&self, of: Crate<'_>, recipe: &Recipe<'_>) -> Vec<(OsString, OsString)> {
        let rust = of.rust;
        let source = self.sources()[0];
        let mut flags = recipe.flags.clone();
        // Messages of panics and debug information do not depend on folders of this machine.
        let mut remap = |folder: &Path, name: &str| {
            flags.push(format!("--remap-path-prefix={}={name}", folder.display()));
        };
        remap(&self.cargo.manifest_dir, ".");
        remap(&self.cargo.out_dir, "OUT_DIR");
        remap(&rust.sources(), "/rustc/library");
        for options in [&self.module.options, &source.options] {
            for flag in options.flags_for(self.target()) {
                flags.push(flag.to_owned());
            }
        }
        let mut env = rust.env.clone();
        let mut set = |name: &str, value: &str| env.push((name.into(), value.into()));
        set("CARGO_ENCODED_RUSTFLAGS", &flags.join("\x1f"));
        set("RUSTC", &rust.rustc.to_string_lossy());
        set("CARGO_PROFILE_RELEASE_LTO", "fat");
        set("CARGO_PROFILE_RELEASE_PANIC", "abort");
        set("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1");
        set("CARGO_TERM_COLOR", "never");
        env
    }

    /// Completes a step of Cargo: `line` has the type of the crate, and the options of rustc for it
    /// alone, which writes `output`.
    fn cargo(
        &self,
        step: Step,
        of: Crate<'_>,
        recipe: &Recipe<'_>,
        env: &[(OsString, OsString)],
        line: Line,
        output: &Path,
    ) -> Step {
        let Crate { package, rust } = of;
        let release = recipe.folder.join(recipe.triple).join("release");
        let mut start = Line::of(&["rustc", "--lib", "--release", "--quiet"])
            .when(recipe.builds_core, &["-Zbuild-std=core"])
            .one("--manifest-path")
            .one(self.cargo.manifest_dir.join(&package.manifest))
            .words(&["--target", recipe.triple, "--target-dir"])
            .one(&recipe.folder)
            .when(package.lock.is_some(), &["--locked"]);
        // Cargo resolves the dependencies of the whole standard library. The toolchain may contain
        // them; a crate without dependencies of a registry then needs no network.
        let vendored = rust.sources().join("vendor");
        if recipe.builds_core && !package.has_registry && vendored.is_dir() {
            let folder = vendored.to_string_lossy().replace('\\', "/");
            start = start
                .words(&["--offline", "--config", "source.crates-io.replace-with=\"offload-std\""])
                .words(&["--config", &format!("source.offload-std.directory=\"{folder}\"")]);
        }
        let (fingerprints, name) = (release.join(".fingerprint"), format!("{}-", package.name));
        let mut step = step
            .env(env)
            .prepare(move || forget(&fingerprints, &name))
            .depfile(release.join(format!("lib{}.d", package.library)), DepfileBy::Cargo);
        step.args = start.line(&line).done();
        step.removed_env = self.cargo.variables_of_cargo();
        step.output = Some(output.to_owned());
        if recipe.builds_core {
            step.help = rust.age();
        }
        step
    }
}

/// Returns the triple of a vendor's target in rustc.
pub(crate) fn triple(vendor: Vendor) -> &'static str {
    vendor.triple().unwrap_or_default()
}

fn emit(kind: &str, output: &Path) -> OsString {
    let mut word = OsString::from(format!("--emit={kind}="));
    word.push(output);
    word
}

/// Removes Cargo's records of the crates whose folders have this prefix.
fn forget(fingerprints: &Path, prefix: &str) {
    for entry in fs::read_dir(fingerprints).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(prefix) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}
