//! Collects the results of the checks on each host, and formats their table.

use super::host::Host;
use crate::run;
use crate::test::Sum;
use std::fmt::Write;
use std::process::{Command, Stdio};

/// The result of a host.
#[derive(Debug)]
pub struct Row {
    /// The host's name.
    pub host: String,
    how: String,
    passed: u64,
    /// The number of tests and other checks that failed.
    pub failed: u64,
    ignored: u64,
    left_out: Vec<String>,
}

impl Row {
    /// Returns a host's row before any check.
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

    /// Returns the row of a host whose set-up failed. Counts this as a failed check.
    pub fn not_ready(host: &Host, why: String) -> Self {
        eprintln!("xtask elsewhere: {} cannot be set up: {why}", host.name);
        let mut row = Self::new(host);
        row.failed = 1;
        row.left_out.push("all: it cannot be set up".to_owned());
        row
    }

    /// Returns the row of a host that is skipped, with the reason `why`.
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

    /// Counts a check that is not a Cargo test, and prints why it failed.
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
        let mut sum = Sum::default();
        text.lines().for_each(|line| sum.add(line));
        self.passed += sum.passed;
        self.failed += sum.failed;
        self.ignored += sum.ignored;
        let has_run = sum.passed + sum.failed > 0;
        if !has_run || (!output.status.success() && sum.failed == 0) {
            let line = run::line(&cargo);
            self.check(what, Err(format!("`{line}` ended with {}", output.status)));
        }
    }
}

/// Returns the table: a line for each host, then the skipped checks.
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

    #[test]
    fn the_table_says_what_is_left_out() {
        let table = table(&[Row::left_out("macos", "never run", "nothing runs it")]);
        assert!(table.lines().nth(1).unwrap().ends_with("all: nothing runs it"), "{table}");
    }
}
