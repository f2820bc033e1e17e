//! What a check found: figures, findings, and the line of JSON that a parent process reads.

use offload_gpu::run::Device;
use std::error::Error;
use std::fmt::{self, Write};

/// A value in JSON.
#[derive(Debug, Clone)]
pub enum Value {
    Text(String),
    Number(f64),
    Whole(u64),
    List(Vec<Value>),
    Object(Vec<(String, Value)>),
    /// Text that is JSON already.
    Json(String),
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Whole(number)
    }
}

impl From<usize> for Value {
    fn from(number: usize) -> Self {
        Self::Whole(number as u64)
    }
}

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(list: Vec<T>) -> Self {
        Self::List(list.into_iter().map(Into::into).collect())
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => quoted(f, text),
            // JSON has no infinity and no NaN.
            Self::Number(number) if !number.is_finite() => quoted(f, &number.to_string()),
            Self::Number(number) => write!(f, "{}", (number * 1000.0).round() / 1000.0),
            Self::Whole(number) => write!(f, "{number}"),
            Self::Json(text) => f.write_str(text),
            Self::List(list) => {
                f.write_char('[')?;
                for (at, value) in list.iter().enumerate() {
                    write!(f, "{}{value}", if at > 0 { ", " } else { "" })?;
                }
                f.write_char(']')
            }
            Self::Object(fields) => {
                f.write_char('{')?;
                for (at, (name, value)) in fields.iter().enumerate() {
                    f.write_str(if at > 0 { ", " } else { "" })?;
                    quoted(f, name)?;
                    write!(f, ": {value}")?;
                }
                f.write_char('}')
            }
        }
    }
}

fn quoted(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_char('"')?;
    for c in text.chars() {
        match c {
            '"' | '\\' => write!(f, "\\{c}")?,
            '\n' => f.write_str("\\n")?,
            c if c.is_control() => write!(f, "\\u{:04x}", u32::from(c))?,
            c => f.write_char(c)?,
        }
    }
    f.write_char('"')
}

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
    /// The check found an error.
    Finding(String),
    /// The check does not apply here, for this reason.
    Skip(String),
}

impl<E: Error> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Finding(error.to_string())
    }
}

/// Ends a check that does not apply here.
pub fn skip<T>(why: impl Into<String>) -> Result<T> {
    Err(Stop::Skip(why.into()))
}

/// Ends a check with a finding.
pub fn finding<T>(what: impl Into<String>) -> Result<T> {
    Err(Stop::Finding(what.into()))
}

pub type Result<T = ()> = std::result::Result<T, Stop>;

/// A check that runs: its device, and what it has found so far.
#[derive(Debug)]
pub struct Run {
    pub device: Device,
    figures: Vec<(String, Value)>,
    findings: Vec<String>,
}

/// So many findings of one check are shown; the others are counted.
const MOST_FINDINGS: usize = 12;

impl Run {
    pub fn new(device: Device) -> Self {
        Self { device, figures: Vec::new(), findings: Vec::new() }
    }

    /// Records a figure.
    pub fn figure(&mut self, name: impl Into<String>, value: impl Into<Value>) {
        self.figures.push((name.into(), value.into()));
    }

    /// Records a finding; the check goes on.
    pub fn finding(&mut self, what: impl Into<String>) {
        self.findings.push(what.into());
    }

    /// Records the error of one part of a check; the check goes on.
    pub fn part(&mut self, name: &str, result: Result) {
        match result {
            Ok(()) => {}
            Err(Stop::Finding(what)) => self.finding(format!("{name}: {what}")),
            Err(Stop::Skip(why)) => self.figure(format!("{name}, skipped"), why),
        }
    }

    /// Prints the result as a line of JSON, and returns it.
    pub fn end(self, check: &str, result: Result<String>) -> Outcome {
        let Self { device, figures, mut findings } = self;
        let (outcome, text) = match result {
            Err(Stop::Skip(why)) if findings.is_empty() => (Outcome::Skipped, why),
            Ok(text) if findings.is_empty() => (Outcome::Ok, text),
            result => {
                if let Err(Stop::Finding(what)) = result {
                    findings.push(what);
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
        println!("{}", line(check, &device.name(), outcome, Value::Object(figures), &text));
        outcome
    }
}

/// Returns the line of JSON of a result.
pub fn line(check: &str, device: &str, outcome: Outcome, figures: Value, text: &str) -> Value {
    Value::Object(vec![
        ("check".into(), check.into()),
        ("device".into(), device.into()),
        ("result".into(), outcome.word().into()),
        ("figures".into(), figures),
        ("text".into(), text.into()),
    ])
}

/// Compares values with the expected ones; the text names the first that differs.
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
