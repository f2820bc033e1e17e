//! Builds the command lines that turn a Rust kernel crate into images: Cargo with the kernels'
//! toolchain, then lld or ptxas.
//!
//! | target | Cargo makes | next step |
//! |---|---|---|
//! | AMD | an object | lld: code object |
//! | `compute_*` | PTX | |
//! | `sm_*` | PTX | ptxas: cubin |
//! | `cpu` | an object, with the program's own toolchain | the C++ compiler: shared object |
//!
//! Cargo compiles the crate as a static library with link-time optimization, so rustc emits one
//! object for the crate, its dependencies and `core`, with only the code that kernels use. PTX
//! therefore needs no linker. Each target has a separate target folder in `OUT_DIR`, because `core`
//! is compiled for the target's processor. Cargo does not notice a missing image file, so each step
//! first removes Cargo's record of the crate, but keeps those of its dependencies.

mod cpu;
mod inputs;
mod manifest;
mod package;

pub(super) use inputs::add_inputs;
pub(crate) use package::Package;
use package::{from_program, manifests_of};

use super::line::Line;
use super::{Compilation, Compilations};
use crate::toolchain::compilers::{Identity, Ptxas, Rust};
use crate::toolchain::exec::{DepfileBy, Step, StepKind};
use crate::toolchain::{Cargo, ContentHash, files};
use offload_format::target::{NvidiaArch, NvidiaCode, TargetId, Vendor};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// The rustc option for full debug information.
const DEBUG_INFO: &str = "-Cdebuginfo=2";

/// rustc's `--emit` kind that outputs PTX for NVIDIA's GPUs.
const PTX: &str = "asm";

/// A kernel crate, and the toolchain that compiles it.
#[derive(Clone, Copy)]
pub(crate) struct Crate<'a> {
    pub(crate) package: &'a Package,
    pub(crate) rust: &'a Rust,
}

pub(crate) struct Lld {
    pub(crate) program: PathBuf,
    /// The arguments that come before all other arguments.
    pub(crate) first: &'static [&'static str],
    pub(crate) identity: Identity,
}

/// Cargo's settings for compiling a crate for one target.
struct Recipe<'a> {
    triple: &'a str,
    /// Cargo's target folder.
    folder: PathBuf,
    /// The rustc flags for all crates.
    flags: Vec<String>,
    /// Whether Cargo also compiles `core`.
    builds_core: bool,
}

impl Compilations<'_> {
    pub(crate) fn rust_code_object(
        &self,
        of: Crate<'_>,
        id: TargetId<'_>,
        lld: &Lld,
    ) -> Compilation {
        let mut compilation = self.compilation("hsaco", &[&of.rust.identity, &lld.identity]);
        let mut flags = vec![format!("-Ctarget-cpu={}", id.processor())];
        // Without this flag, LLVM replaces kernels with identical code by aliases, which no runtime
        // finds.
        flags.push("-Zmerge-functions=disabled".to_owned());
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

    /// Returns the compilation to PTX or, with `ptxas`, to machine code.
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
        self.by_cargo(&mut compilation, of, self.for_gpu(Vendor::Nvidia, flags), PTX, &ptx);
        if let Some(ptxas) = ptxas {
            self.assemble(&mut compilation, arch, ptxas, &ptx, Vec::new());
        }
        compilation
    }

    fn for_gpu(&self, vendor: Vendor, flags: Vec<String>) -> Recipe<'static> {
        Recipe { triple: triple(vendor), folder: self.work("target"), flags, builds_core: true }
    }

    /// Adds the step in which Cargo compiles the crate to `output`, and the step that describes the
    /// crate's kernels.
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

    /// Adds the step that describes a crate's kernels, and the package's files as inputs.
    fn describe(&self, to: &mut Compilation, of: Crate<'_>, recipe: &Recipe<'_>) {
        // Describe only the crate itself.
        let described = self.work("ll");
        let line = Line::of(&["--crate-type", "lib", "--", DEBUG_INFO, "-Awarnings"]);
        let line = line.one(emit("llvm-ir", &described));
        let kind = StepKind::Describe { may_fail: false };
        to.describing = vec![self.step(kind, of, recipe, line, &described)];
        // Adding or removing one of these files may change what Cargo compiles.
        for file in &of.package.files {
            to.identities.push(self.cargo.portable(&file.to_string_lossy()));
            to.sources.push(file.clone());
        }
        for file in &of.package.configuration {
            self.cargo.watch(file);
            to.identities.extend(ContentHash::of_file(file).map(|hash| hash.to_string()).ok());
        }
    }

    /// Returns the step in which Cargo compiles the crate to `output`. Adds the values that a later
    /// run compares.
    fn compiling(
        &self,
        to: &mut Compilation,
        of: Crate<'_>,
        recipe: &Recipe<'_>,
        kind: &str,
        output: &Path,
    ) -> Step {
        to.identities.push(self.cargo.portable(&self.flags(of, recipe).join("\x1f")));
        for (name, value) in self.variables(of, recipe) {
            let line = format!("{}={}", name.to_string_lossy(), value.to_string_lossy());
            to.identities.push(self.cargo.portable(&line));
        }
        let mut line = Line::of(&["--crate-type", "staticlib", "--"]).one(emit(kind, output));
        if kind == PTX {
            // The same rustc call emits the PTX and the LLVM IR that the PTX is generated from.
            let ir = self.work("ordered.ll");
            line = line.one(emit("llvm-ir", &ir));
            to.ordered.push(output.to_owned());
            to.ordered.push(ir);
        }
        self.step(StepKind::Cargo, of, recipe, line, output)
    }

    fn flags(&self, of: Crate<'_>, recipe: &Recipe<'_>) -> Vec<String> {
        let mut flags = Vec::new();
        // If an option is repeated, rustc uses the last one, so flags from build.rs come first and
        // cannot weaken checks.
        for flag in self.module.flags_for(self.sources()[0], self.target()) {
            flags.push(flag.to_owned());
        }
        flags.extend_from_slice(&recipe.flags);
        // Keep this machine's folders out of panic messages and debug information.
        let mut remap = |folder: &Path, name: &str| {
            flags.push(format!("--remap-path-prefix={}={name}", folder.display()));
        };
        remap(&self.cargo.manifest_dir, ".");
        remap(&self.cargo.out_dir, "OUT_DIR");
        remap(&of.rust.sources(), "/rustc/library");
        flags
    }

    /// Returns a Cargo step. `line` contains the crate type, and the rustc options for this crate
    /// alone, which make rustc write `output`.
    fn step(
        &self,
        kind: StepKind,
        of: Crate<'_>,
        recipe: &Recipe<'_>,
        line: Line,
        output: &Path,
    ) -> Step {
        let Crate { package, rust } = of;
        let mut flags = self.flags(of, recipe);
        if matches!(kind, StepKind::Describe { .. })
            && flags.iter().any(|it| it.contains("debuginfo"))
        {
            // Flags from build.rs come after the options for this crate alone, and rustc uses the
            // last one. The description needs full debug information, so request it again.
            flags.push(DEBUG_INFO.to_owned());
        }
        // Replace the paths of crates outside the package with relative paths. rustc uses the last
        // matching prefix, so these flags come first. The identities omit them, because images do
        // not depend on them.
        let mut name = String::new();
        for folder in self.cargo.manifest_dir.ancestors().skip(1) {
            name = if name.is_empty() { "..".to_owned() } else { format!("../{name}") };
            if folder.parent().is_some() {
                flags.insert(0, format!("--remap-path-prefix={}={name}", folder.display()));
            }
        }
        flags.insert(0, "--check-cfg=cfg(offload_cpu)".to_owned());
        let mut env = self.variables(of, recipe);
        env.push(("CARGO_ENCODED_RUSTFLAGS".into(), flags.join("\x1f").into()));
        let mut start = Line::of(&["rustc", "--lib", "--release", "--quiet"])
            .when(recipe.builds_core, &["-Zbuild-std=core"])
            .one("--manifest-path")
            .one(self.cargo.manifest_dir.join(&package.manifest))
            .words(&["--target", recipe.triple, "--target-dir"])
            .one(&recipe.folder)
            .when(package.lock.is_some(), &["--locked"]);
        if recipe.builds_core {
            start = without_network(start, of);
        }
        let release = recipe.folder.join(recipe.triple).join("release");
        let depfile = release.join(format!("lib{}.d", package.library));
        let name = package.name.clone();
        let mut step = Step::new(kind, &rust.cargo, start.line(&line).done())
            .env(&env)
            .prepare(move || forget(&release, &name))
            .depfile(depfile, DepfileBy::Cargo);
        step.folder = Some(package.folder(self.cargo));
        step.removed_env = self.cargo.variables_of_cargo();
        step.output = Some(output.to_owned());
        if recipe.builds_core {
            step.help = rust.age();
        }
        step
    }

    /// Returns Cargo's variables, except the one for rustc's flags. They override Cargo's
    /// configuration, which is meant for the program.
    fn variables(&self, of: Crate<'_>, recipe: &Recipe<'_>) -> Vec<(OsString, OsString)> {
        let mut env = of.rust.env.clone();
        let mut set = |name: &str, value: &str| env.push((name.into(), value.into()));
        set("RUSTC", &of.rust.rustc.to_string_lossy());
        // The program's wrappers may start a different compiler.
        set("RUSTC_WRAPPER", "");
        set("RUSTC_WORKSPACE_WRAPPER", "");
        set("CARGO_INCREMENTAL", "0");
        set("CARGO_PROFILE_RELEASE_LTO", "fat");
        set("CARGO_PROFILE_RELEASE_PANIC", "abort");
        set("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1");
        let (own, module) = (&self.sources()[0].options, &self.module.options);
        let level = own.opt_level.or(module.opt_level).map(|level| level.to_string());
        let debug = own.debug.or(module.debug).map(|debug| debug.to_string());
        let is_nvidia = self.target().vendor() == Vendor::Nvidia;
        for (name, value) in &of.package.profile {
            let value = match *name {
                package::OPT_LEVEL => level.as_ref().unwrap_or(value),
                package::DEBUG => match debug.as_ref().unwrap_or(value).as_str() {
                    none @ ("false" | "0" | "none") => none,
                    // ptxas rejects any other debug information from rustc 1.96.
                    _ if is_nvidia => "line-directives-only",
                    other => other,
                },
                _ => value,
            };
            set(name, value);
        }
        set("CARGO_TERM_COLOR", "never");
        // Cargo's intermediate files also go to the target folder.
        set("CARGO_BUILD_BUILD_DIR", &recipe.folder.to_string_lossy());
        // No source is in this folder, so Cargo lists absolute paths.
        set("CARGO_BUILD_DEP_INFO_BASEDIR", &recipe.folder.to_string_lossy());
        env
    }
}

/// Returns the step that creates a crate's `Cargo.lock`.
pub(crate) fn lock(of: Crate<'_>, cargo: &Cargo) -> Step {
    let start = Line::of(&["generate-lockfile", "--quiet", "--manifest-path"])
        .one(cargo.manifest_dir.join(&of.package.manifest));
    let mut step = Step::new(StepKind::Cargo, &of.rust.cargo, start.done());
    step.folder = Some(of.package.folder(cargo));
    step.env = of.rust.env.clone();
    step.env.push(("RUSTC".into(), of.rust.rustc.clone().into()));
    step.removed_env = cargo.variables_of_cargo();
    step
}

/// Keeps Cargo offline if the crate needs no network and the toolchain contains the dependencies of
/// the whole standard library, which Cargo also resolves.
fn without_network(line: Line, of: Crate<'_>) -> Line {
    let vendored = of.rust.sources().join("vendor");
    if of.package.has_registry || !vendored.is_dir() {
        return line;
    }
    let folder = vendored.to_string_lossy().replace('\\', "/");
    line.words(&["--offline", "--config", "source.crates-io.replace-with=\"offload-std\""])
        .words(&["--config", &format!("source.offload-std.directory=\"{folder}\"")])
}

pub(crate) fn triple(vendor: Vendor) -> &'static str {
    vendor.triple().unwrap_or_default()
}

/// Returns the AMD and NVIDIA processors that a toolchain compiles for, such as `sm_90`.
pub(crate) fn processors(rust: &Rust) -> (Vec<String>, Vec<String>) {
    let of = |vendor, prefix| rust.processors(triple(vendor), prefix);
    (of(Vendor::Amd, "gfx"), of(Vendor::Nvidia, "sm_"))
}

fn emit(kind: &str, output: &Path) -> OsString {
    let mut word = OsString::from(format!("--emit={kind}="));
    word.push(output);
    word
}

/// Removes Cargo's records of a package from a profile's folder.
fn forget(release: &Path, package: &str) {
    // Newer versions of Cargo create a folder for each package.
    let _ = fs::remove_dir_all(release.join("build").join(package));
    let start = format!("{package}-");
    let folder = release.join(".fingerprint");
    for name in files::entries(&folder) {
        if name.starts_with(&start) {
            let _ = fs::remove_dir_all(folder.join(name));
        }
    }
}
