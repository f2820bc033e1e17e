//! The results of a check: figures, findings, and the line of JSON for a parent process.

use offload_gpu::run::Device;
use serde_json::{Map, Value, json};
use std::error::Error;
use std::fmt::{self, Write};

/// The result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Ok,
    Finding,
    Skipped,
    /// No time was left for the check.
    NotRun,
}

impl Outcome {
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Finding => "finding",
            Self::Skipped => "skipped",
            Self::NotRun => "not run",
        }
    }

    /// Returns the exit status of a process that ran one check.
    pub fn status(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::Finding => 1,
            Self::Skipped | Self::NotRun => 2,
        }
    }
}

/// Why a check ends early.
#[derive(Debug)]
pub enum Stop {
    /// The check has a finding.
    Finding(String),
    /// The check does not apply; the string says why.
    Skip(String),
}

impl<E: Error> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Finding(error.to_string())
    }
}

/// Ends a check that does not apply.
pub fn skip<T>(why: impl Into<String>) -> Result<T> {
    Err(Stop::Skip(why.into()))
}

/// Ends a check with a finding.
pub fn finding<T>(what: impl Into<String>) -> Result<T> {
    Err(Stop::Finding(what.into()))
}

pub type Result<T = ()> = std::result::Result<T, Stop>;

/// A running check: its device, and what it has found so far.
#[derive(Debug)]
pub struct Run {
    pub device: Device,
    figures: Map<String, Value>,
    findings: Vec<String>,
}

/// The maximum number of findings that are shown per check; further findings are only counted.
const MOST_FINDINGS: usize = 12;

impl Run {
    pub fn new(device: Device) -> Self {
        Self { device, figures: Map::new(), findings: Vec::new() }
    }

    /// Records a figure.
    pub fn figure(&mut self, name: impl Into<String>, value: impl Into<Value>) {
        self.figures.insert(name.into(), value.into());
    }

    /// Adds a finding and lets the check continue. Like [`step`], prints it immediately, because
    /// the process may be ended early.
    pub fn finding(&mut self, what: impl Into<String>) {
        let what = short(&what.into());
        eprintln!("finding: {what}");
        self.findings.push(what);
    }

    /// Runs one part of a check, and adds the part's finding, if any. The check continues.
    pub fn attempt(&mut self, name: &str, part: impl FnOnce() -> Result) {
        step(name);
        self.part(name, part());
    }

    /// Adds the finding of one part of a check, if any. The check continues.
    pub fn part(&mut self, name: &str, result: Result) {
        match result {
            Ok(()) => {}
            Err(Stop::Finding(what)) => self.finding(format!("{name}: {what}")),
            Err(Stop::Skip(why)) => self.figure(format!("{name}, skipped"), why),
        }
    }

    /// Prints the result as a line of JSON, and returns the outcome.
    pub fn end(self, check: &str, result: Result<String>) -> Outcome {
        let Self { device, figures, mut findings } = self;
        let (outcome, text) = match result {
            Err(Stop::Skip(why)) if findings.is_empty() => (Outcome::Skipped, why),
            Ok(text) if findings.is_empty() => (Outcome::Ok, text),
            result => {
                if let Err(Stop::Finding(what)) = result {
                    findings.push(short(&what));
                }
                let more = findings.len().saturating_sub(MOST_FINDINGS);
                findings.truncate(MOST_FINDINGS);
                let mut text = findings.join("\n");
                if more > 0 {
                    let _ = write!(text, "\nand {more} more");
                }
                (Outcome::Finding, text)
            }
        };
        println!("{}", record(check, &device.name(), outcome, figures, &text));
        outcome
    }
}

/// Prints the next step of a check. If a driver ends this process, the parent process shows the
/// last step.
pub fn step(name: impl fmt::Display) {
    eprintln!("at {name}");
}

/// Truncates a long text, to keep the results file small.
pub fn short(text: &str) -> String {
    text.chars().take(1000).collect()
}

/// Creates the record of a result.
pub fn record(
    check: &str,
    device: &str,
    outcome: Outcome,
    figures: Map<String, Value>,
    text: &str,
) -> Value {
    json!({"check": check, "device": device, "result": outcome.word(), "figures": figures, "text": text})
}

/// Rounds a measured number to three decimals.
pub fn rounded(number: f64) -> f64 {
    (number * 1000.0).round() / 1000.0
}

/// Compares values with the expected ones. If they differ, returns a finding with the first
/// difference.
pub fn compare<T: PartialEq + fmt::Debug>(what: &str, found: &[T], expected: &[T]) -> Result {
    if found.len() != expected.len() {
        return finding(format!("{what}: {} values, not {}", found.len(), expected.len()));
    }
    let wrong = found.iter().zip(expected).filter(|(found, expected)| found != expected).count();
    match found.iter().zip(expected).position(|(found, expected)| found != expected) {
        None => Ok(()),
        Some(at) => finding(format!(
            "{what}: {wrong} of {} values are wrong; the first is element {at}: {:?}, not {:?}",
            found.len(),
            found[at],
            expected[at]
        )),
    }
}
