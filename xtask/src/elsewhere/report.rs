//! Collects the results of the checks on each host, and formats their table.

use crate::run::{self, Result, fail};
use crate::test::Sum;
use std::fmt::Write;
use std::process::{Command, Stdio};

/// The results of a host's checks.
#[derive(Debug)]
pub struct Row {
    /// The host's name.
    pub host: &'static str,
    how: &'static str,
    /// The totals of tests and other checks.
    pub sum: Sum,
    /// The skipped checks.
    pub left_out: String,
}

impl Row {
    /// Returns a host's row before any check.
    pub fn new(host: &'static str, how: &'static str, left_out: String) -> Self {
        Self { host, how, sum: Sum::default(), left_out }
    }

    /// Counts a check that is not a Cargo test, and prints why it failed.
    pub fn check(&mut self, what: &str, result: Result) {
        match result {
            Ok(()) => self.sum.passed += 1,
            Err(why) => {
                eprintln!("xtask elsewhere: {}: {what} failed: {}", self.host, why.text());
                self.sum.failed += 1;
            }
        }
    }

    /// Runs tests, and counts them.
    pub fn tests(&mut self, what: &str, mut cargo: Command) {
        eprintln!("xtask elsewhere: {}: {what}", self.host);
        let (status, text) = match run::outcome(cargo.stderr(Stdio::inherit())) {
            Ok((status, text, _)) => (status, text),
            Err(failure) => return self.check(what, Err(failure)),
        };
        if !status.success() {
            eprint!("{text}");
        }
        let (ran, failed) = (self.sum.passed + self.sum.failed, self.sum.failed);
        text.lines().for_each(|line| self.sum.add(line));
        let has_run = self.sum.passed + self.sum.failed > ran;
        if !has_run || (!status.success() && self.sum.failed == failed) {
            let line = run::line(&cargo);
            self.check(what, fail(format!("`{line}` ended with {status}")));
        }
    }
}

/// Returns the table: a line for each host, then the skipped checks.
pub fn table(rows: &[Row]) -> String {
    let head = "host          how it is run      passed failed ignored  left out\n";
    let mut table = head.to_owned();
    for Row { host, how, sum: Sum { passed, failed, ignored, .. }, left_out } in rows {
        let left_out = if left_out.is_empty() { "nothing" } else { left_out };
        let _ = writeln!(
            table,
            "{host:<13} {how:<18} {passed:>6} {failed:>6} {ignored:>7}  {left_out}"
        );
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_says_what_is_left_out() {
        let table = table(&[Row::new("macos", "never run", "all: nothing runs it".to_owned())]);
        assert!(table.lines().nth(1).unwrap().ends_with("all: nothing runs it"), "{table}");
    }
}
