//! `fuzz`: builds the fuzz targets with a nightly compiler and runs each for a while, as many in
//! parallel as there are processors. cargo-fuzz is not needed: compiler flags add the coverage
//! counters.

use crate::files;
use crate::run::{self, Failure, Result, fail};
use std::path::Path;
use std::thread;

/// Flags that add libFuzzer's coverage counters to every block and comparison.
const RUSTFLAGS: &str = "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
     -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
     -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1";

/// How many seconds to run each target by default.
pub const SECONDS: &str = "10";

/// Runs these targets, or all targets.
pub fn command(seconds: &str, names: &[&str]) -> Result {
    if seconds.parse::<u32>().is_err() {
        return Err(Failure::Usage(format!("`--seconds {seconds}` is not a number")));
    }
    let paths = files::list(&run::workspace().join("fuzz/fuzz_targets"))?;
    let mut targets: Vec<_> =
        paths.iter().map(|path| files::name(path).replace(".rs", "")).collect();
    targets.sort();
    if let Some(other) = names.iter().find(|name| !targets.iter().any(|it| it == **name)) {
        let targets = targets.join(", ");
        return Err(Failure::Usage(format!(
            "there is no fuzz target `{other}`; there are {targets}"
        )));
    }
    targets.retain(|name| names.is_empty() || names.contains(&name.as_str()));
    let host = nightly_host()
        .ok_or("fuzzing takes a nightly compiler: rustup toolchain install nightly")?;
    let target = run::workspace().join("target/fuzz");
    let build = "run nightly cargo build --release --locked --offline --quiet --target";
    let mut build = run::command("rustup", build);
    build.arg(&host).arg("--manifest-path").arg(run::workspace().join("fuzz/Cargo.toml"));
    build.arg("--target-dir").arg(&target).env("RUSTFLAGS", RUSTFLAGS);
    run::check(build.env_remove("CARGO").env_remove("RUSTUP_TOOLCHAIN"))?;

    let (programs, target) = (&target.join(host).join("release"), &target);
    let at_once = thread::available_parallelism().map_or(1, usize::from);
    for batch in targets.chunks(at_once) {
        thread::scope(|scope| {
            let start = |name| scope.spawn(move || fuzz(name, programs, target, seconds));
            let running: Vec<_> = batch.iter().map(String::as_str).map(start).collect();
            let ended = running.into_iter().map(|it| it.join().expect("the thread does not panic"));
            let failed: Vec<String> = ended.filter_map(Result::err).map(Failure::text).collect();
            if failed.is_empty() { Ok(()) } else { fail(failed.join("\n")) }
        })?;
    }
    Ok(())
}

/// Runs the fuzzing in CI: every target for a short time, if a nightly compiler is installed.
pub fn in_ci() -> Result {
    if nightly_host().is_some() {
        return command(SECONDS, &[]);
    }
    eprintln!(
        "xtask ci: no nightly compiler, so nothing is fuzzed (tests/formats/hostile.rs has read the corpus)"
    );
    Ok(())
}

/// Returns the name of the nightly compiler for this machine, if it is installed.
fn nightly_host() -> Option<String> {
    let mut rustc = run::command("rustup", "run nightly rustc --print host-tuple");
    Some(run::output(&mut rustc).ok()?.trim().to_owned())
}

/// Runs a fuzz target on the tests' corpus and on earlier findings. Adds new findings to the
/// earlier ones.
fn fuzz(name: &str, programs: &Path, target: &Path, seconds: &str) -> Result {
    let found = target.join("corpus").join(name);
    let failed = target.join("artifacts").join(name);
    files::create(&found)?;
    files::create(&failed)?;
    // The options limit each input: its size in bytes, its memory in megabytes, its seconds.
    let limits = "-max_len=16384 -rss_limit_mb=2048 -timeout=10";
    let limits = format!("-max_total_time={seconds} {limits} -print_final_stats=1");
    let mut fuzz = run::command(programs.join(name), &limits);
    fuzz.arg(format!("-artifact_prefix={}/", failed.display()));
    fuzz.arg(&found).arg(run::workspace().join("tests/corpus"));
    let (status, _, log) = run::outcome(&mut fuzz)?;
    if !status.success() {
        let start = log.lines().count().saturating_sub(40);
        let end: Vec<&str> = log.lines().skip(start).collect();
        let end = end.join("\n");
        return fail(format!("fuzz target {name} found something ({status}):\n{end}"));
    }
    let figure =
        |of: &str| log.lines().find_map(|line| line.strip_prefix(of)).unwrap_or("?").trim();
    let (runs, memory) = (figure("stat::number_of_executed_units:"), figure("stat::peak_rss_mb:"));
    eprintln!("xtask fuzz: {name}: {runs} inputs, at most {memory} MB");
    Ok(())
}
