//! `test`: runs `cargo test` with the tools that set-up has found: a short run, or all tests.

use crate::files;
use crate::run::{self, Result};
use crate::setup::{self, Scope, Setup};
use std::collections::BTreeMap;
use std::fs;

/// Runs `cargo xtask test [--all] [ARGS...]`. Without arguments, this is the short run: the fast
/// tests, and the slow tests of README's claims (tests/src/registry.rs).
pub fn command(args: &[&str]) -> Result {
    let short = [("OFFLOAD_TEST_SHORT", "1")];
    let (scope, args, variables) = match *args {
        // Skip doctests, because each is a program that must be linked separately.
        [] => (Scope::Short, &["--lib", "--bins", "--tests"][..], &short[..]),
        ["--all", ref args @ ..] => {
            if args.is_empty() {
                eprintln!(
                    "xtask test --all: all tests take 12 minutes on two idle cores, and longer \
                     beside other work. `cargo xtask test` is the short run."
                );
            }
            (Scope::All, args, &[][..])
        }
        _ => (Scope::Short, args, &[][..]),
    };
    run_with(&setup::prepare(scope)?, args, variables)
}

/// The features that tests need: the drop-in tools, which tests start, and compression, which has
/// its own unit tests. Building the drop-in tools separately would compile the code that they share
/// with `cargo-offload` a second time.
const FEATURES: &str = "--features=offload-tools/drop-in,offload-build/compression";

/// Runs the tests with additional environment variables. Prints the totals of all test programs,
/// the longest tests, and the skipped tests. Cargo prints the failures.
pub fn run_with(setup: &Setup, args: &[&str], variables: &[(&str, &str)]) -> Result {
    let path = run::workspace().join("target/test-times");
    files::write(&path, "")?;
    let mut cargo = setup.cargo("test");
    cargo.envs(variables.iter().copied()).env(RECORD, &path);
    let own = args.split(|arg| *arg == "--").next().unwrap_or_default();
    let is_given =
        |starts: &[&str]| own.iter().any(|arg| starts.iter().any(|it| arg.starts_with(it)));
    // Cargo treats `--workspace -p NAME` as the whole workspace, but the user means only that
    // package.
    if !is_given(&["-p", "--package", "--manifest-path"]) {
        cargo.args(["--workspace", FEATURES]);
    }
    // Let Cargo run the remaining test programs after a failed one.
    cargo.args((!is_given(&["--no-fail-fast"])).then_some("--no-fail-fast")).args(args);
    let mut sum = Sum::default();
    let status = run::status_of_piped(&mut cargo, &mut |line| sum.add(line))?;
    if sum.programs > 0 {
        eprintln!("{}", sum.text(status.success()));
    }
    let record = fs::read_to_string(&path).unwrap_or_default();
    let times = sorted_times(&record);
    let all: String = times.iter().map(|(line, _)| line.as_str()).collect();
    if !times.is_empty() && fs::write(&path, &all).is_ok() {
        let sum: f64 = times.iter().map(|time| time.1).sum();
        let most: String = all.split_inclusive('\n').take(SHOWN).collect();
        eprint!(
            "xtask test: the tests with tools, and crates that they share, took {sum:.0} seconds of \
             processor time; all in {}\n processor     wall  the {} longest\n{most}",
            path.display(),
            times.len().min(SHOWN)
        );
    }
    eprint!("{}", left_out(&record));
    run::passes(status)
}

/// The variable with the path of the file to which each test in the package `offload-tests` adds a
/// line.
const RECORD: &str = "OFFLOAD_TEST_RECORD";

/// How many tests to show in the table at the end of a run.
const SHOWN: usize = 10;

/// Returns the tests in a record that ran, with their processor times, longest first. A line of the
/// record contains a test's name, followed by its wall time and processor time or by the reason why
/// it did not run.
fn sorted_times(record: &str) -> Vec<(String, f64)> {
    let times = record.lines().filter_map(|line| {
        let (name, times) = line.split_once('\t')?;
        let (wall, processor) = times.split_once('\t')?;
        let (wall, processor): (f64, f64) = (wall.parse().ok()?, processor.parse().ok()?);
        Some((format!("{processor:>10.2} {wall:>8.2}  {name}\n"), processor))
    });
    let mut times: Vec<_> = times.collect();
    times.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    times
}

/// Returns a line about the skipped tests: how many tests are slow, and how many need each missing
/// tool. Each line of the record contains a test's name, a tab, and the test's result.
fn left_out(record: &str) -> String {
    let slow = record.lines().filter(|line| line.contains("\tleft out\tslow")).count();
    let mut tools = BTreeMap::new();
    for (_, tool) in record.lines().filter_map(|line| line.split_once("\tignored\tneeds ")) {
        *tools.entry(tool.split(':').next().unwrap_or(tool)).or_insert(0) += 1;
    }
    let without: usize = tools.values().sum();
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

/// The total numbers of tests in all test programs.
#[derive(Debug, Default)]
pub struct Sum {
    programs: u64,
    pub passed: u64,
    pub failed: u64,
    pub ignored: u64,
}

impl Sum {
    /// Adds a test program's totals, if the line contains them.
    pub fn add(&mut self, line: &str) {
        let Some((_, numbers)) = line.split_once("test result: ") else { return };
        let Some((_, numbers)) = numbers.split_once(". ") else { return };
        self.programs += 1;
        for part in numbers.split("; ") {
            let Some((number, what)) = part.trim().split_once(' ') else { continue };
            let number: u64 = number.parse().unwrap_or(0);
            match what {
                "passed" => self.passed += number,
                "failed" => self.failed += number,
                "ignored" => self.ignored += number,
                _ => {}
            }
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

#[cfg(test)]
mod tests {
    use super::{Sum, left_out, sorted_times};

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
        let times = sorted_times(record);
        assert_eq!(times.iter().map(|time| time.1).collect::<Vec<_>>(), [0.7, 0.5]);
        assert_eq!(times[0].0, "      0.70     0.40  c::d\n");
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
}
