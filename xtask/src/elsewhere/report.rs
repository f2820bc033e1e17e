//! The checks that ran on each host, and their table.

use super::host::Host;
use crate::run;
use std::fmt::Write;
use std::process::{Command, Stdio};

/// The result of a host.
#[derive(Debug)]
pub struct Row {
    /// The host's name.
    pub host: String,
    how: String,
    passed: usize,
    /// The number of tests and other checks that failed.
    pub failed: usize,
    ignored: usize,
    left_out: Vec<String>,
}

impl Row {
    /// Returns the row of a host before any check.
    pub fn new(host: &Host) -> Self {
        Self {
            host: host.name.to_owned(),
            how: host.how(),
            passed: 0,
            failed: 0,
            ignored: 0,
            left_out: host.left_out.iter().map(ToString::to_string).collect(),
        }
    }

    /// Returns the row of a host that cannot be set up, which is a failure.
    pub fn not_ready(host: &Host, why: String) -> Self {
        eprintln!("xtask elsewhere: {} cannot be set up: {why}", host.name);
        let mut row = Self::new(host);
        row.failed = 1;
        row.left_out.push("all: it cannot be set up".to_owned());
        row
    }

    /// Returns the row of a host whose checks do not run; `why` is the reason.
    pub fn left_out(host: &str, how: &str, why: &str) -> Self {
        Self {
            host: host.to_owned(),
            how: how.to_owned(),
            passed: 0,
            failed: 0,
            ignored: 0,
            left_out: vec![format!("all: {why}")],
        }
    }

    /// Counts a check that is not one of Cargo's tests, and prints why it failed.
    pub fn check(&mut self, what: &str, result: std::result::Result<(), String>) {
        match result {
            Ok(()) => self.passed += 1,
            Err(why) => {
                eprintln!("xtask elsewhere: {}: {what} failed: {why}", self.host);
                self.failed += 1;
            }
        }
    }

    /// Runs tests, and counts them.
    pub fn tests(&mut self, what: &str, mut cargo: Command) {
        eprintln!("xtask elsewhere: {}: {what}", self.host);
        let output = match cargo.stderr(Stdio::inherit()).output() {
            Ok(output) => output,
            Err(error) => return self.check(what, Err(format!("cannot start Cargo: {error}"))),
        };
        let text = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() {
            eprint!("{text}");
        }
        let before = self.failed;
        let ran = self.count(&text);
        if ran == 0 || (!output.status.success() && self.failed == before) {
            let line = run::line(&cargo);
            self.check(what, Err(format!("`{line}` ended with {}", output.status)));
        }
    }

    /// Counts the tests in Cargo's output. Returns the number of tests that ran.
    fn count(&mut self, output: &str) -> usize {
        let mut ran = 0;
        for line in output.lines().filter(|line| line.starts_with("test result: ")) {
            let [passed, failed, ignored] = ["passed", "failed", "ignored"].map(|word| {
                let words: Vec<&str> = line.split([' ', ';', '.']).collect();
                let at = words.iter().position(|it| *it == word);
                at.and_then(|at| words[at.checked_sub(1)?].parse::<usize>().ok()).unwrap_or(0)
            });
            self.passed += passed;
            self.failed += failed;
            self.ignored += ignored;
            ran += passed + failed;
        }
        ran
    }
}

/// Returns the table: a line for each host, then the omitted checks.
pub fn table(rows: &[Row]) -> String {
    let mut table = format!(
        "{:<13} {:<18} {:>6} {:>6} {:>7}  left out\n",
        "host", "how it is run", "passed", "failed", "ignored"
    );
    for row in rows {
        let left_out =
            if row.left_out.is_empty() { "nothing".to_owned() } else { row.left_out.join("; ") };
        let _ = writeln!(
            table,
            "{:<13} {:<18} {:>6} {:>6} {:>7}  {left_out}",
            row.host, row.how, row.passed, row.failed, row.ignored
        );
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elsewhere::host::HOSTS;

    #[test]
    fn tests_are_counted_over_all_executables() {
        let mut row = Row::new(&HOSTS[0]);
        let output = "running 3 tests\ntest result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; \
                      0 filtered out; finished in 0.00s\n\
                      test result: FAILED. 4 passed; 1 failed; 0 ignored; 0 measured\n";
        assert_eq!(row.count(output), 7);
        assert_eq!((row.passed, row.failed, row.ignored), (6, 1, 1));
        assert_eq!(row.count("error: could not compile"), 0);
    }

    #[test]
    fn the_table_says_what_is_left_out() {
        let table = table(&[Row::left_out("macos", "never run", "nothing runs it")]);
        assert!(table.lines().nth(1).unwrap().ends_with("all: nothing runs it"), "{table}");
    }
}
