//! `test`: runs `cargo test` with the tools that set-up has found, for a short run or everything.

use crate::run::{self, Failure, Result};
use crate::setup::{self, Scope, Setup};
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// Runs `cargo xtask test [--all] [ARGS...]`. Without arguments, this is the short run.
pub fn command(args: &[String]) -> Result {
    match args.split_first() {
        None => short(&setup::prepare(Scope::Short)?),
        Some((flag, args)) if flag == "--all" => {
            if args.is_empty() {
                eprintln!(
                    "xtask test --all: all tests take 12 minutes on two idle cores, and longer \
                     beside other work. `cargo xtask test` is the short run."
                );
            }
            run_with(&setup::prepare(Scope::All)?, args, &[])
        }
        Some(_) => run_with(&setup::prepare(Scope::Short)?, args, &[]),
    }
}

/// Runs the tests with additional environment variables. Cargo prints the failures, so nothing is
/// added to its output.
pub fn run_with(setup: &Setup, args: &[String], variables: &[(&str, &str)]) -> Result {
    let mut cargo = setup.cargo();
    cargo.arg("test").envs(variables.iter().copied());
    if !names_packages(args) {
        cargo.args(["--workspace", FEATURES]);
    }
    let record = Record::new()?;
    let result = passes(cargo.args(going_on(args)).args(args).env(RECORD, &record.path));
    let left_out = left_out(&record.text());
    eprint!("{}{left_out}", record.times());
    result
}

/// The variable that names the file to which each test of the package `offload-tests` adds a line.
const RECORD: &str = "OFFLOAD_TEST_RECORD";

/// The file with a line for each test that ran or was left out.
struct Record {
    path: PathBuf,
}

impl Record {
    /// Begins an empty record in `target`.
    fn new() -> Result<Self> {
        let folder = run::workspace().join("target");
        let path = folder.join("test-times");
        let started = fs::create_dir_all(&folder).and_then(|()| fs::write(&path, ""));
        started.map_err(|error| {
            Failure::Failed(format!("{} cannot be written: {error}", path.display()))
        })?;
        Ok(Self { path })
    }

    fn text(&self) -> String {
        fs::read_to_string(&self.path).unwrap_or_default()
    }

    /// Returns the table of the tests that took most processor time. The file then has all tests,
    /// sorted.
    fn times(&self) -> String {
        let text = self.text();
        let times = sorted_times(&text);
        let line = |(processor, wall, name): &(f64, f64, &str)| {
            format!("{processor:>10.2} {wall:>8.2}  {name}\n")
        };
        let all: String = times.iter().map(line).collect();
        if times.is_empty() || fs::write(&self.path, &all).is_err() {
            return String::new();
        }
        let sum: f64 = times.iter().map(|time| time.0).sum();
        let most: String = all.split_inclusive('\n').take(SHOWN).collect();
        format!(
            "xtask test: the tests with tools, and crates that they share, took {sum:.0} seconds of \
             processor time; all in {}\n processor     wall  the {} longest\n{most}",
            self.path.display(),
            times.len().min(SHOWN)
        )
    }
}

/// The number of tests in the table at the end of a run.
const SHOWN: usize = 40;

/// Returns the processor time, wall time and name of each test in a record, longest first.
fn sorted_times(record: &str) -> Vec<(f64, f64, &str)> {
    let mut times: Vec<_> = record.lines().filter_map(times).collect();
    times.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.2.cmp(b.2)));
    times
}

/// Returns the processor time, wall time and name in a line of a record. Returns `None` for a test
/// that did not run: its line has a reason.
fn times(line: &str) -> Option<(f64, f64, &str)> {
    let (name, times) = line.split_once('\t')?;
    let (wall, processor) = times.split_once('\t')?;
    Some((processor.parse().ok()?, wall.parse().ok()?, name))
}

/// Returns the option with which a failed test program does not keep Cargo from the others.
fn going_on(args: &[String]) -> Option<&'static str> {
    let is_given = args.iter().take_while(|arg| *arg != "--").any(|arg| arg == "--no-fail-fast");
    (!is_given).then_some("--no-fail-fast")
}

/// The features that tests need: the drop-in tools, and compression. Tests start the drop-in tools.
/// If they were built separately, Cargo would compile the code that they share with `cargo-offload`
/// again. Compression has its own unit tests.
const FEATURES: &str = "--features=offload-tools/drop-in,offload-build/compression";

/// Runs the fast tests, and the slow ones of README's claims (tests/src/registry.rs).
fn short(setup: &Setup) -> Result {
    let record = Record::new()?;
    let mut cargo = setup.cargo();
    // Doctests are left out, because each doctest is a separate program to link.
    cargo.args(["test", "--workspace", FEATURES, "--lib", "--bins", "--tests", "--no-fail-fast"]);
    cargo.env("OFFLOAD_TEST_SHORT", "1").env(RECORD, &record.path);
    let result = passes(&mut cargo);
    eprint!("{}", left_out(&record.text()));
    result
}

/// Returns a line about the tests that a run left out: how many are slow, and how many need each of
/// the missing tools. Each line of the record contains a test's name, a tab, and its result.
fn left_out(record: &str) -> String {
    let mut tools = BTreeMap::new();
    let (mut slow, mut without) = (0, 0);
    for line in record.lines() {
        if line.contains("\tleft out\tslow") {
            slow += 1;
        } else if let Some((_, tool)) = line.split_once("\tignored\tneeds ") {
            without += 1;
            *tools.entry(tool.split(':').next().unwrap_or(tool)).or_insert(0) += 1;
        }
    }
    if slow + without == 0 {
        return String::new();
    }
    let tools: Vec<String> = tools.iter().map(|(tool, count)| format!("{tool} {count}")).collect();
    let tools = if tools.is_empty() { String::new() } else { format!(" ({})", tools.join(", ")) };
    format!(
        "xtask test left out {slow} slow tests, and {without} that need more tools{tools}.\n\
         cargo xtask test --all installs what set-up can (CONTRIBUTING.md), and runs all.\n"
    )
}

/// Runs `cargo test`, and prints the sum of all test programs.
fn passes(cargo: &mut Command) -> Result {
    let mut sum = Sum::default();
    let status = run::status_of_piped(cargo, &mut |line| sum.add(line))?;
    if sum.programs > 0 {
        eprintln!("{}", sum.text(status.success()));
    }
    if status.success() {
        return Ok(());
    }
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Err(Failure::Said(code.unwrap_or(1)))
}

/// The numbers of tests of all test programs.
#[derive(Debug, Default)]
struct Sum {
    programs: u64,
    passed: u64,
    failed: u64,
    ignored: u64,
}

impl Sum {
    /// Adds the result of a test program, if the line is one.
    fn add(&mut self, line: &str) {
        let Some((_, numbers)) = line.split_once("test result: ") else { return };
        let Some((_, numbers)) = numbers.split_once(". ") else { return };
        self.programs += 1;
        for part in numbers.split("; ") {
            let Some((number, what)) = part.trim().split_once(' ') else { continue };
            let count = match what {
                "passed" => &mut self.passed,
                "failed" => &mut self.failed,
                "ignored" => &mut self.ignored,
                _ => continue,
            };
            *count += number.parse::<u64>().unwrap_or(0);
        }
    }

    fn text(&self, is_success: bool) -> String {
        let Self { programs, passed, failed, ignored } = self;
        let other = if !is_success && *failed == 0 {
            "; a program did not compile, or ended without a result"
        } else {
            ""
        };
        format!(
            "xtask test: {passed} passed, {failed} failed, {ignored} ignored in {programs} program{}{other}",
            if *programs == 1 { "" } else { "s" }
        )
    }
}

/// Whether the user names packages: Cargo treats `--workspace -p NAME` as the whole workspace, but
/// this user means only that package.
fn names_packages(args: &[String]) -> bool {
    args.iter().take_while(|arg| *arg != "--").any(|arg| {
        arg.starts_with("-p") || arg.starts_with("--package") || arg.starts_with("--manifest-path")
    })
}

#[cfg(test)]
mod tests {
    use super::{Sum, going_on, left_out, names_packages, sorted_times};

    #[test]
    fn what_is_left_out_is_counted() {
        let record = "a\tleft out\tslow, and\nb::c\t0.20\nd\tignored\tneeds Cuda: no\ne\tleft out\ttakes 3 minutes\n";
        let text = left_out(record);
        assert!(text.contains("1 slow tests, and 1 that need more tools (Cuda 1)"), "{text}");
        assert_eq!(left_out("b::c\t0.20\n"), "");
    }

    #[test]
    fn the_longest_tests_come_first() {
        let record = "a\t1.00\t0.50\nb\tignored\tneeds X\nc::d\t0.40\t0.70\n";
        assert_eq!(sorted_times(record), [(0.7, 0.4, "c::d"), (0.5, 1.0, "a")]);
    }

    #[test]
    fn results_are_added() {
        let mut sum = Sum::default();
        for line in [
            "running 2 tests",
            "test result: ok. 229 passed; 0 failed; 3 ignored; 0 measured; 0 filtered out; finished in 1.0s",
            "test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 5 filtered out; finished in 0s",
        ] {
            sum.add(line);
        }
        let text = "xtask test: 230 passed, 2 failed, 3 ignored in 2 programs";
        assert_eq!(sum.text(false), text);
        let without = Sum { programs: 1, passed: 4, ..Sum::default() };
        assert!(without.text(false).contains("without a result"));
        assert!(!without.text(true).contains("without a result"));
    }

    #[test]
    fn one_failure_does_not_stop_the_others() {
        let args = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(going_on(&args("--test tools -- --no-fail-fast")), Some("--no-fail-fast"));
        assert_eq!(going_on(&args("--no-fail-fast --test tools")), None);
    }

    #[test]
    fn named_packages_are_all_that_runs() {
        let names = |line: &str| {
            let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            names_packages(&args)
        };
        assert!(names("-p offload-format"));
        assert!(names("--release --package=xtask"));
        assert!(!names("--profile release bundle -- -p"));
        assert!(!names(""));
    }
}
