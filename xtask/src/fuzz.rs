//! `fuzz`: builds the fuzz targets with a nightly compiler and lets each run for a while, as many
//! at once as there are processors. This replaces cargo-fuzz: the flags make the compiler count
//! which code ran.

use crate::run::{self, Failure, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

/// Flags for coverage counters in every block and comparison, for libFuzzer.
const RUSTFLAGS: &str = "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
     -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
     -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1";

/// The number of seconds for which each target runs by default.
const SECONDS: &str = "20";

/// The maximum size of an input, in bytes.
const MAX_LEN: &str = "-max_len=16384";

/// Limits for every input: megabytes of memory, seconds.
const LIMITS: [&str; 2] = ["-rss_limit_mb=2048", "-timeout=10"];

/// Runs `cargo xtask fuzz [--seconds N] [TARGET...]`.
pub fn command(args: &[String]) -> Result {
    let (seconds, names) = match args {
        [flag, seconds, names @ ..] if flag == "--seconds" && seconds.parse::<u32>().is_ok() => {
            (seconds.as_str(), names)
        }
        names => (SECONDS, names),
    };
    let targets = targets()?;
    if let Some(other) = names.iter().find(|name| !targets.contains(*name)) {
        return Err(Failure::Usage(format!(
            "there is no fuzz target `{other}`; there are {}",
            targets.join(", ")
        )));
    }
    if !has_nightly() {
        return Err(Failure::Failed(
            "fuzzing takes a nightly compiler: rustup toolchain install nightly".to_owned(),
        ));
    }
    let names = if names.is_empty() { &targets } else { names };
    run(names, seconds)
}

/// Runs CI's part: every target for a short time, if a nightly compiler is installed.
pub fn in_ci() -> Result {
    if has_nightly() {
        return run(&targets()?, SECONDS);
    }
    eprintln!(
        "xtask ci: no nightly compiler, so nothing is fuzzed (tests/formats/hostile.rs has read the corpus)"
    );
    Ok(())
}

fn has_nightly() -> bool {
    run::succeeds(Command::new("rustup").args(["run", "nightly", "rustc", "--version"]))
}

fn folder() -> PathBuf {
    run::workspace().join("fuzz")
}

/// Returns the names of the fuzz targets.
fn targets() -> Result<Vec<String>> {
    let entries = fs::read_dir(folder().join("fuzz_targets"));
    let entries = entries
        .map_err(|error| Failure::Failed(format!("fuzz/fuzz_targets cannot be read: {error}")))?;
    let names =
        entries.flatten().filter_map(|entry| Some(entry.path().file_stem()?.to_str()?.to_owned()));
    let mut names: Vec<String> = names.collect();
    names.sort();
    Ok(names)
}

fn run(names: &[String], seconds: &str) -> Result {
    let host = run::stdout(Command::new("rustup").args([
        "run",
        "nightly",
        "rustc",
        "--print",
        "host-tuple",
    ]))?
    .1;
    let target = run::workspace().join("target").join("fuzz");
    let mut build = Command::new("rustup");
    build.args([
        "run",
        "nightly",
        "cargo",
        "build",
        "--release",
        "--locked",
        "--offline",
        "--quiet",
        "--target",
        host.trim(),
    ]);
    build.arg("--manifest-path").arg(folder().join("Cargo.toml")).arg("--target-dir").arg(&target);
    run::check(
        build.env("RUSTFLAGS", RUSTFLAGS).env_remove("CARGO").env_remove("RUSTUP_TOOLCHAIN"),
    )?;

    let at_once = thread::available_parallelism().map_or(1, usize::from);
    let programs = target.join(host.trim()).join("release");
    for batch in names.chunks(at_once) {
        let started: Vec<(&String, Result<Child>)> =
            batch.iter().map(|name| (name, start(name, &programs, &target, seconds))).collect();
        for (name, child) in started {
            finish(name, child?, &target)?;
        }
    }
    Ok(())
}

/// Starts a fuzz target, which reads the corpus of the tests and its earlier findings, and adds new
/// findings.
fn start(name: &str, programs: &Path, target: &Path, seconds: &str) -> Result<Child> {
    let found = target.join("corpus").join(name);
    let failed = target.join("artifacts").join(name);
    for folder in [&found, &failed] {
        fs::create_dir_all(folder)
            .map_err(|error| Failure::Failed(format!("{}: {error}", folder.display())))?;
    }
    let mut command = Command::new(programs.join(name));
    command.arg(format!("-max_total_time={seconds}")).arg(MAX_LEN).args(LIMITS);
    command
        .arg(format!("-artifact_prefix={}/", failed.display()))
        .arg("-print_final_stats=1")
        .arg(&found);
    command.arg(run::workspace().join("tests").join("corpus"));
    let log =
        fs::File::create(log(name, target)).map_err(|error| Failure::Failed(error.to_string()))?;
    command.stdout(Stdio::null()).stderr(log);
    command.spawn().map_err(|error| {
        Failure::Failed(format!("`{}` does not start: {error}", run::line(&command)))
    })
}

fn log(name: &str, target: &Path) -> PathBuf {
    target.join(format!("{name}.log"))
}

fn finish(name: &str, mut child: Child, target: &Path) -> Result {
    let status = child.wait().map_err(|error| Failure::Failed(error.to_string()))?;
    let log = fs::read_to_string(log(name, target)).unwrap_or_default();
    if !status.success() {
        let start = log.lines().count().saturating_sub(40);
        let end: Vec<&str> = log.lines().skip(start).collect();
        return Err(Failure::Failed(format!(
            "fuzz target {name} found something ({status}):\n{}",
            end.join("\n")
        )));
    }
    let runs = log.lines().find_map(|line| line.strip_prefix("stat::number_of_executed_units:"));
    let memory = log.lines().find_map(|line| line.strip_prefix("stat::peak_rss_mb:"));
    let (runs, memory) = (runs.unwrap_or("?").trim(), memory.unwrap_or("?").trim());
    eprintln!("xtask fuzz: {name}: {runs} inputs, at most {memory} MB");
    Ok(())
}
