//! The checks, in the order in which they run: the most telling first.

mod corpus;
mod images;
mod limits;
mod math;
mod pairs;
mod programs;
mod speed;
mod threads;

use offload_gpu::run::Device;
use serde_json::{Map, Value, json};
use std::fmt::Display;
use std::process::ExitCode;

/// A check.
pub struct Check {
    pub name: &'static str,
    /// The most seconds that it may take.
    pub seconds: u64,
    /// One sentence for people.
    pub compares: &'static str,
    /// Returns the outcome, or the text of a finding.
    pub run: fn(&Device) -> Result<Outcome, String>,
}

pub const CHECKS: &[Check] = &[
    Check {
        name: "programs",
        seconds: 60,
        compares: "the examples of this project find their results right",
        run: programs::run,
    },
    Check {
        name: "images",
        seconds: 60,
        compares: "each image that fits computes by itself, and the driver loads no image that does not fit",
        run: images::run,
    },
    Check {
        name: "corpus",
        seconds: 60,
        compares: "barriers, shared memory, warp functions and atomic functions give what loops give",
        run: corpus::run,
    },
    Check {
        name: "math",
        seconds: 60,
        compares: "mathematical functions are within the bounds of offload/math.h",
        run: math::run,
    },
    Check {
        name: "threads",
        seconds: 60,
        compares: "eight threads that load, launch and copy at the same time get their own results",
        run: threads::run,
    },
    Check {
        name: "limits",
        seconds: 60,
        compares: "launches and allocations that are too large are refused, and the device still works",
        run: limits::run,
    },
    Check {
        name: "pairs",
        seconds: 60,
        compares: "kernels that the checks on the CPU find right give what they give on the CPU",
        run: pairs::run,
    },
    Check {
        name: "speed",
        seconds: 60,
        compares: "figures only: loading, a second `on`, a launch, selecting an image",
        run: speed::run,
    },
];

/// What a check found.
pub struct Outcome {
    word: &'static str,
    text: String,
    figures: Map<String, Value>,
}

impl Outcome {
    /// The check passed; the figures are for the table.
    pub fn ok<K: Into<String>, V: Into<Value>>(figures: impl IntoIterator<Item = (K, V)>) -> Self {
        let figures = figures.into_iter().map(|(name, value)| (name.into(), value.into()));
        Self { word: "ok", text: String::new(), figures: figures.collect() }
    }

    /// Something is not as it should be; the text becomes one line.
    pub fn finding(text: &str) -> Self {
        Self { word: "finding", text: text.replace('\n', " "), figures: Map::new() }
    }

    /// The outcome as one line of JSON.
    pub fn json(&self, check: &str, device: &str) -> Value {
        json!({"check": check, "device": device, "result": self.word, "text": self.text, "figures": self.figures})
    }

    /// The exit status of the process.
    pub fn status(&self) -> ExitCode {
        ExitCode::from(u8::from(self.word == "finding"))
    }
}

/// Returns an error as the text of a finding.
pub fn failed(error: impl Display) -> String {
    error.to_string()
}

/// Compares results with expected values.
///
/// Returns a finding with the first place that differs.
pub fn same<T: PartialEq + std::fmt::Debug>(
    what: &str,
    found: &[T],
    expected: &[T],
) -> Result<(), String> {
    if found.len() != expected.len() {
        return Err(format!("{what}: {} values, not {}", found.len(), expected.len()));
    }
    match found.iter().zip(expected).position(|(found, expected)| found != expected) {
        None => Ok(()),
        Some(at) => Err(format!("{what}: value {at} is {:?}, not {:?}", found[at], expected[at])),
    }
}
