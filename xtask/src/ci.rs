//! `ci`: runs CI's steps in order until one fails, then prints the time of each step and its
//! budget.

use crate::run::{self, Failure, Result, fail};
use crate::setup::{self, Scope, Setup};
use crate::{budget, elsewhere, fuzz, publish, rust_kernels, test, weight};
use std::time::{Duration, Instant};

/// The work of a step.
pub enum Step {
    /// Runs Cargo with these arguments.
    Cargo(&'static str),
    /// Runs Cargo's clippy with these options. Every warning is an error.
    Clippy(&'static str),
    /// Runs clippy on all targets in the workspace of the examples, with these options.
    ClippyOfExamples(&'static str),
    /// Runs the tests with these arguments and variables.
    Test(&'static str, &'static [(&'static str, &'static str)]),
    /// Runs one of this program's commands.
    Own(fn(&Setup) -> Result),
}
use Step::{Cargo, Clippy, ClippyOfExamples, Own, Test};

/// The steps.
pub const STEPS: [(&str, Step); 16] = [
    ("fmt", Cargo("fmt --all --check")),
    ("clippy", Clippy("--workspace --all-targets --features=offload-tools/drop-in")),
    ("features", Own(features)),
    // The examples are a separate workspace.
    ("fmt-examples", Cargo("fmt --all --check --manifest-path examples/Cargo.toml")),
    ("examples", ClippyOfExamples("--workspace --exclude=cuda-launchers")),
    // This example cannot be built without nvcc, but with `OFFLOAD_SKIP` clippy can check its code.
    (
        "example-launchers",
        ClippyOfExamples("--config=env.OFFLOAD_SKIP=\"1\" --package=cuda-launchers"),
    ),
    // The checks for machines with a GPU, here with images only for the CPU.
    ("fmt-gpu", Cargo("fmt --check --manifest-path gpu/Cargo.toml")),
    (
        "gpu",
        Clippy(
            "--config=env.GPU_CHECKS_TARGETS=\"cpu\" --config=env.GPU_CHECKS_RANDOM=\"9\" --manifest-path gpu/Cargo.toml \
             --target-dir=target",
        ),
    ),
    (
        "doc",
        Cargo("doc --config=build.rustdocflags=[\"-Dwarnings\"] --workspace --no-deps --locked"),
    ),
    ("test", Test("--locked -- --skip model::stand_in", &[])),
    // Runs 500 sequences of edits. The test suite runs only 89 of them.
    (
        "model",
        Test("--locked --test builds -- model::stand_in", &[("OFFLOAD_TEST_SEQUENCES", "113")]),
    ),
    ("weight", Own(weight::command)),
    ("rust-kernels", Own(rust_kernels::in_ci)),
    ("fuzz", Own(|_| fuzz::in_ci())),
    ("publish", Own(|_| publish::in_ci())),
    // This step comes last, so that CI's log ends with the table of hosts.
    ("elsewhere", Own(|setup| elsewhere::run(setup, &["aarch64"]))),
];

/// The libraries with their feature groups. A feature set has one choice from each group. `|`
/// separates a group's choices, each of which may consist of several features.
const FEATURES: [(&str, &[&str]); 4] = [
    ("offload-gpu", &["|run", "|macros|files|half|cudarc", "|zlib|zstd|zlib,zstd"]),
    // Each feature also enables the features to its left that it needs.
    (
        "offload-format",
        &["|packs|containers|zlib|zstd|zlib,zstd|object|object,zlib|object,zlib,zstd"],
    ),
    ("offload-pack", &["|expansion|images"]),
    ("offload-build", &["|containers", "|compression", "|doctor"]),
];

/// Checks each library with each feature set. Builds of the workspace enable all features together,
/// so only this step finds code that lacks its `#[cfg(feature = …)]`.
fn features(setup: &Setup) -> Result {
    for (package, groups) in FEATURES {
        let mut sets = vec![String::new()];
        for group in groups {
            let with = |set| group.split('|').map(move |choice| format!("{set},{choice}"));
            sets = sets.iter().flat_map(with).collect();
        }
        for set in sets {
            run::check(&mut setup.cargo(&format!(
                "clippy --all-targets --no-default-features --locked --package {package} --features={set} -- -D warnings"
            )))?;
        }
    }
    Ok(())
}

/// Runs `cargo xtask ci [STEP...]`.
pub fn command(args: &[&str]) -> Result {
    if let Some(other) = args.iter().find(|arg| !STEPS.iter().any(|(step, _)| step == *arg)) {
        let steps = STEPS.map(|(name, _)| name).join(", ");
        return Err(Failure::Usage(format!("`ci` has no step `{other}`; the steps are {steps}")));
    }
    let wanted = |name: &str| args.is_empty() || args.contains(&name);
    // Check the components before set-up, which can take a minute. If one is missing, Cargo would
    // report an unknown command.
    for (name, component) in [("fmt", "rustfmt"), ("clippy", "clippy")] {
        if wanted(name) && !run::succeeds(&mut run::cargo(&format!("{name} --version"))) {
            return fail(format!(
                "`cargo {name}` does not work: {component} is not installed for this Rust.\n\
                 With rustup: rustup component add {component}"
            ));
        }
    }
    let mut measured = Vec::new();
    let result = steps(STEPS.into_iter().filter(|(name, _)| wanted(name)), &mut measured);
    eprint!("\n{}", budget::table(&measured));
    match result?.join(", ").as_str() {
        "" => eprintln!("xtask ci: all steps passed"),
        some => eprintln!("xtask ci: no time was left for {some}; all other steps passed"),
    }
    Ok(())
}

/// Runs set-up and these steps, and measures them. Returns the steps that are left out because they
/// might not end before CI's time limit. If CI ended the run, the results of earlier steps would be
/// lost, too.
fn steps(
    steps: impl Iterator<Item = (&'static str, Step)>,
    measured: &mut Vec<(&'static str, Duration)>,
) -> Result<Vec<&'static str>> {
    let start = Instant::now();
    let mut left_out = Vec::new();
    let setup = setup::prepare(Scope::All);
    measured.push(("setup", start.elapsed()));
    let setup = setup?;
    let cargo = |words: &str| {
        run::check(&mut setup.cargo(words)).map_err(|_| format!("cargo {words}").into())
    };
    let clippy = |words: &str| cargo(&format!("clippy {words} --locked -- -D warnings"));
    for (name, step) in steps {
        if !budget::fits(name, start.elapsed()) {
            left_out.push(name);
            continue;
        }
        eprintln!("xtask ci: {name}");
        let start = Instant::now();
        let result = match step {
            Cargo(words) => cargo(words),
            Clippy(words) => clippy(words),
            ClippyOfExamples(words) => {
                clippy(&format!("{words} --all-targets --manifest-path examples/Cargo.toml"))
            }
            Test(words, variables) => {
                test::run_with(&setup, &words.split(' ').collect::<Vec<_>>(), variables)
            }
            Own(step) => step(&setup),
        };
        measured.push((name, start.elapsed()));
        result.map_err(|failure| {
            let failure = failure.text();
            format!(
                "step `{name}` failed: {failure}\nTo repeat only this step: cargo xtask ci {name}"
            )
        })?;
    }
    Ok(left_out)
}
