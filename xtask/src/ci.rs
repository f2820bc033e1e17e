//! `ci`: runs CI's steps in order up to the first failure, then prints the time of each step and
//! its budget.

use crate::run::{self, Failure, Result};
use crate::setup::{self, Scope, Setup};
use crate::{budget, elsewhere, fuzz, publish, rust_kernels, test, weight};
use std::process::Command;
use std::time::{Duration, Instant};

/// The steps: each has a name, and Cargo's arguments. The steps for features, tests, Rust kernels,
/// other hosts, fuzzing and publishing are not single Cargo commands.
const STEPS: [(&str, &[&str]); 16] = [
    ("fmt", &["fmt", "--all", "--check"]),
    (
        "clippy",
        &[
            "clippy",
            "--workspace",
            "--all-targets",
            "--features=offload-tools/drop-in",
            "--locked",
            "--",
            "-D",
            "warnings",
        ],
    ),
    // The workspace enables all features together. This step finds code that lacks a condition for
    // a disabled feature.
    ("features", &["clippy", "--all-targets", "--no-default-features", "--locked"]),
    // The examples are a separate workspace.
    ("fmt-examples", &["fmt", "--all", "--check", "--manifest-path", "examples/Cargo.toml"]),
    (
        "examples",
        &[
            "clippy",
            "--workspace",
            "--exclude=cuda-launchers",
            "--all-targets",
            "--manifest-path",
            "examples/Cargo.toml",
            "--locked",
            "--",
            "-D",
            "warnings",
        ],
    ),
    // This example cannot be built without nvcc, but `OFFLOAD_SKIP` lets clippy check its code.
    (
        "example-launchers",
        &[
            "clippy",
            "--config=env.OFFLOAD_SKIP=\"1\"",
            "--package=cuda-launchers",
            "--all-targets",
            "--manifest-path",
            "examples/Cargo.toml",
            "--locked",
            "--",
            "-D",
            "warnings",
        ],
    ),
    // The checks for a GPU, with images for the CPU alone.
    ("fmt-gpu", &["fmt", "--check", "--manifest-path", "gpu/Cargo.toml"]),
    (
        "gpu",
        &[
            "clippy",
            "--config=env.GPU_CHECKS_TARGETS=\"cpu\"",
            "--config=env.GPU_CHECKS_RANDOM=\"9\"",
            "--manifest-path",
            "gpu/Cargo.toml",
            "--target-dir=target",
            "--locked",
            "--",
            "-D",
            "warnings",
        ],
    ),
    ("doc", &["doc", "--workspace", "--no-deps", "--locked"]),
    ("test", &["--locked", "--", "--skip", "model::stand_in"]),
    // The step runs 500 sequences of edits; the test suite tries 89 of them.
    ("model", &["--locked", "--test", "builds", "--", "model::stand_in"]),
    ("weight", &[]),
    ("rust-kernels", &[]),
    ("fuzz", &[]),
    ("publish", &[]),
    // CI's log ends with the table of hosts.
    ("elsewhere", &[]),
];

/// The libraries with their groups of features. Each set of features contains one choice from each
/// group; a choice may be several features, separated by commas.
const FEATURES: [(&str, &[&[&str]]); 4] = [
    (
        "offload-gpu",
        &[
            &["", "run"],
            &["", "macros", "files", "half", "cudarc"],
            &["", "zlib", "zstd", "zlib,zstd"],
        ],
    ),
    (
        "offload-format",
        &[
            // Each feature enables the earlier ones that it needs.
            &[
                "",
                "packs",
                "containers",
                "zlib",
                "zstd",
                "zlib,zstd",
                "object",
                "object,zlib",
                "object,zlib,zstd",
            ],
        ],
    ),
    ("offload-pack", &[&["", "expansion", "images"]]),
    ("offload-build", &[&["", "containers"], &["", "compression"], &["", "doctor"]]),
];

/// Returns all sets of features that contain one of each group.
fn sets(groups: &[&[&str]]) -> Vec<String> {
    groups.iter().fold(vec![String::new()], |sets, group| {
        sets.iter()
            .flat_map(|set| group.iter().map(move |features| format!("{set},{features}")))
            .collect()
    })
}

/// Runs `cargo xtask ci [STEP...]`.
pub fn command(args: &[String]) -> Result {
    let is_step = |name: &String| STEPS.iter().any(|(step, _)| step == name);
    if let Some(other) = args.iter().find(|arg| !is_step(arg)) {
        let steps = STEPS.map(|(name, _)| name).join(", ");
        return Err(Failure::Usage(format!("`ci` has no step `{other}`; the steps are {steps}")));
    }
    let wanted = |name: &str| args.is_empty() || args.iter().any(|arg| arg == name);
    // The components are checked before set-up, which can take a minute.
    for component in ["fmt", "clippy"].into_iter().filter(|name| wanted(name)) {
        require_component(component)?;
    }
    let mut measured = Vec::new();
    let result = steps(STEPS.into_iter().filter(|(name, _)| wanted(name)), &mut measured);
    eprint!("\n{}", budget::table(&measured));
    if result.is_ok() {
        eprintln!("xtask ci: all steps passed");
    }
    result
}

/// Runs set-up and these steps, and measures them.
fn steps(
    steps: impl Iterator<Item = (&'static str, &'static [&'static str])>,
    measured: &mut Vec<(&'static str, Duration)>,
) -> Result {
    let mut measure = |name, start: Instant| measured.push((name, start.elapsed()));
    let start = Instant::now();
    let setup = setup::prepare(Scope::All);
    measure("setup", start);
    let setup = setup?;
    for (name, arguments) in steps {
        eprintln!("xtask ci: {name}");
        let start = Instant::now();
        let result = step(&setup, name, arguments);
        measure(name, start);
        result?;
    }
    Ok(())
}

/// Returns the names of the steps, without set-up.
#[cfg(test)]
pub fn step_names() -> impl Iterator<Item = &'static str> {
    STEPS.into_iter().map(|(name, _)| name)
}

fn step(setup: &Setup, name: &str, arguments: &[&str]) -> Result {
    let failed = |line: &str| {
        Failure::Failed(format!(
            "step `{name}` failed: {line}\nTo repeat only this step: cargo xtask ci {name}"
        ))
    };
    if name == "test" || name == "model" {
        let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
        let variables: &[(&str, &str)] =
            if name == "model" { &[("OFFLOAD_TEST_SEQUENCES", "113")] } else { &[] };
        return test::run_with(setup, &arguments, variables)
            .map_err(|_| failed(&format!("cargo xtask test --all {}", arguments.join(" "))));
    }
    if name == "weight" {
        return weight::in_ci(setup);
    }
    if name == "rust-kernels" {
        return rust_kernels::in_ci(setup);
    }
    if name == "elsewhere" {
        return elsewhere::in_ci(setup);
    }
    if name == "fuzz" {
        return fuzz::in_ci();
    }
    if name == "publish" {
        return publish::in_ci();
    }
    let mut plain = Command::new("cargo");
    let mut cargo = setup.cargo();
    if name == "features" {
        let all = FEATURES
            .iter()
            .flat_map(|(package, groups)| sets(groups).into_iter().map(move |set| (package, set)));
        for (package, set) in all {
            let features = format!("--features={set}");
            let mut cargo = setup.cargo();
            cargo.args(arguments).args(["--package", package, &features, "--", "-D", "warnings"]);
            if !run::status(&mut cargo)?.success() {
                return Err(failed(&run::line(&cargo)));
            }
        }
        return Ok(());
    }
    if name == "doc" {
        plain.env("RUSTDOCFLAGS", "-D warnings");
        cargo.env("RUSTDOCFLAGS", "-D warnings");
    }
    let line = run::line(plain.args(arguments));
    let status = run::status(cargo.args(arguments))?;
    if status.success() { Ok(()) } else { Err(failed(&line)) }
}

/// Returns an error if a component is missing, which Cargo would report as an unknown command.
fn require_component(name: &str) -> Result {
    if run::succeeds(run::cargo().args([name, "--version"])) {
        return Ok(());
    }
    let component = if name == "fmt" { "rustfmt" } else { name };
    Err(Failure::Failed(format!(
        "`cargo {name}` does not work: {component} is not installed for this Rust.\n\
         With rustup: rustup component add {component}"
    )))
}
