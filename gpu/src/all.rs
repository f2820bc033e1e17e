//! `gpu-checks all`: runs each check on each device, in a separate process, and writes a table and
//! a JSON file.

use crate::checks::this;
use crate::child::{self, Ended, How};
use crate::machine::{self, Found};
use crate::plan::{CHECKS, Check};
use crate::report::{self, Outcome, rounded};
use serde_json::{Map, Value, json};
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The options of the command.
#[derive(Debug)]
pub struct Options {
    json: Option<PathBuf>,
    seconds: u64,
    devices: Vec<String>,
    only: Vec<String>,
    /// The time limit of each check in seconds, in place of the limits in the list of checks.
    limit: Option<u64>,
}

impl Options {
    /// Parses the arguments after `all`.
    pub fn parse(arguments: &[&str]) -> Result<Self, String> {
        let mut options =
            Self { json: None, seconds: 420, devices: Vec::new(), only: Vec::new(), limit: None };
        let mut arguments = arguments.iter();
        while let Some(&name) = arguments.next() {
            let value = arguments.next().ok_or_else(|| format!("{name} needs a value"))?;
            match name {
                "--json" => options.json = Some(value.into()),
                "--seconds" | "--limit" => {
                    let seconds = value
                        .parse()
                        .map_err(|_| format!("{name} {value}: expected a number of seconds"))?;
                    if *name == *"--limit" {
                        options.limit = Some(seconds);
                    } else {
                        options.seconds = seconds;
                    }
                }
                "--device" => options.devices.push((*value).to_owned()),
                "--only" => {
                    if !CHECKS.iter().any(|check| check.name == *value) {
                        return Err(format!(
                            "--only {value}: no check has this name; `gpu-checks list` lists them"
                        ));
                    }
                    options.only.push((*value).to_owned());
                }
                _ => return Err(format!("unknown option {name}")),
            }
        }
        Ok(options)
    }
}

/// The result of one check on one device.
struct Done {
    device: String,
    outcome: Outcome,
    /// The check's record for the JSON file.
    record: Value,
}

struct All<'a> {
    options: &'a Options,
    start: Instant,
    started: u64,
    found: Vec<Found>,
    absent: Vec<String>,
    done: Vec<Done>,
}

/// The time limit for listing devices; a driver's first call may be slow.
const DEVICES: Duration = Duration::from_secs(60);

pub fn run(options: &Options) -> ExitCode {
    let started = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let mut all = All {
        options,
        start: Instant::now(),
        started,
        found: Vec::new(),
        absent: Vec::new(),
        done: Vec::new(),
    };
    all.find_devices();
    let wanted = |check: &&Check| {
        options.only.is_empty() || options.only.iter().any(|name| name == check.name)
    };
    // Run one check on all devices before the next check, the most informative checks first. GPUs
    // of the same product as an earlier GPU come last.
    let is_first = |at: &usize| {
        let product = |found: &Found| found.record["product"].clone();
        let found = &all.found[*at];
        !found.is_gpu() || !all.found[..*at].iter().any(|it| product(it) == product(found))
    };
    let (first, others): (Vec<_>, Vec<_>) = (0..all.found.len()).partition(is_first);
    for group in [first, others] {
        for check in CHECKS.iter().filter(wanted) {
            group.iter().for_each(|at| all.run(check, *at));
        }
    }
    all.end()
}

impl All<'_> {
    fn find_devices(&mut self) {
        let ended = child::run(&mut this(&["devices"]), DEVICES);
        (self.found, self.absent) = machine::parse(&ended.stdout);
        if ended.how != How::Status(0) {
            let text = format!(
                "the process that lists the devices {}{}",
                ended.how.words(),
                printed(&ended)
            );
            self.found.retain(|device| !device.is_gpu());
            print!("{:<16} {:<8} ", "devices", "-");
            self.add(new("devices", "-", Outcome::Finding, text), ended.time);
        }
        if self.found.is_empty() {
            self.found.push(Found { name: "cpu".to_owned(), record: json!({"device": "cpu"}) });
        }
        let wanted = &self.options.devices;
        if !wanted.is_empty() {
            // `cpu:0` and `cpu` are the same device.
            let is = |name: &str, wanted: &str| {
                wanted == name || wanted.strip_suffix(":0") == Some(name)
            };
            for name in wanted
                .iter()
                .filter(|wanted| !self.found.iter().any(|device| is(&device.name, wanted)))
            {
                self.absent.push(format!("{name}: there is no such device"));
            }
            self.found.retain(|device| wanted.iter().any(|wanted| is(&device.name, wanted)));
        }
        for absent in &self.absent {
            println!("absent: {absent}");
        }
        for Found { name, record } in &self.found {
            let text = |field| record[field].as_str().unwrap_or("unknown");
            println!("{name}: {}, {}, driver {}", text("product"), text("is"), text("driver"));
        }
        println!();
        self.write();
    }

    fn left(&self) -> Duration {
        Duration::from_secs(self.options.seconds).saturating_sub(self.start.elapsed())
    }

    fn run(&mut self, check: &Check, at: usize) {
        let device = self.found[at].name.clone();
        if !check.vendors.iter().any(|vendor| device.starts_with(vendor.driver())) {
            return;
        }
        // If the machine stops, this line shows which check was running.
        print!("{:<16} {device:<8} ", check.name);
        let _ = io::stdout().flush();
        let allowed = Duration::from_secs(self.options.limit.unwrap_or(check.seconds));
        let left = self.left();
        let over = format!("the {} s of all checks were over", self.options.seconds);
        if left < Duration::from_secs(1) {
            self.add(new(check.name, &device, Outcome::NotRun, over), Duration::ZERO);
            return;
        }
        let mut command = this(&["run", check.name, "--device", &device]);
        let ended = child::run(&mut command, allowed.min(left));
        // Libraries may print lines after the result.
        let mut lines = ended.stdout.lines().rev();
        let record = lines.find_map(|line| serde_json::from_str::<Map<String, Value>>(line).ok());
        let record = record.map(Value::Object);
        let outcome = [Outcome::Ok, Outcome::Finding, Outcome::Skipped]
            .into_iter()
            .find(|outcome| ended.how == How::Status(outcome.status().into()));
        let done = match (outcome, record) {
            (Some(outcome), Some(record)) => Done { device, outcome, record },
            // The check had already finished when a driver ended the process or kept it running.
            (_, Some(mut record)) => {
                let how = ended.how.words();
                let text = record["text"].as_str().unwrap_or_default();
                record["text"] = format!("the check {how}, after its result: {text}").into();
                record["result"] = Outcome::Finding.word().into();
                Done { device, outcome: Outcome::Finding, record }
            }
            // The time for all checks ran out, not this check's own time limit.
            _ if left < allowed && matches!(ended.how, How::TooLong(_)) => {
                new(check.name, &device, Outcome::NotRun, over)
            }
            _ => {
                let text = format!("the check {}{}", ended.how.words(), printed(&ended));
                new(check.name, &device, Outcome::Finding, text)
            }
        };
        self.add(done, ended.time);
    }

    /// Adds a result: prints the rest of the table line, and adds an object to the JSON file.
    fn add(&mut self, mut done: Done, time: Duration) {
        let seconds = time.as_secs_f64();
        let text = |field| done.record[field].as_str().unwrap_or_default();
        println!(
            "{:<8} {seconds:>6.1} s   {}",
            done.outcome.word(),
            text("text").replace('\n', "\n                                              ")
        );
        // The check cannot report how long its process took, so add the time here.
        done.record["seconds"] = rounded(seconds).into();
        self.done.push(done);
        self.write();
    }

    /// Rewrites the JSON file. If the process ends during the write, the old file stays.
    fn write(&self) {
        let Some(path) = &self.options.json else { return };
        let count = |outcome| self.done.iter().filter(|done| done.outcome == outcome).count();
        let counts = [Outcome::Ok, Outcome::Finding, Outcome::Skipped, Outcome::NotRun]
            .map(|outcome| (outcome.word().to_owned(), Value::from(count(outcome))));
        let file = json!({
            "program": concat!("gpu-checks ", env!("CARGO_PKG_VERSION")),
            "started": self.started,
            "seconds": rounded(self.start.elapsed().as_secs_f64()),
            "results": Value::Object(counts.into_iter().collect()),
            "devices": self.found.iter().map(|found| &found.record).collect::<Vec<_>>(),
            "absent": self.absent,
            "checks": self.done.iter().map(|done| &done.record).collect::<Vec<_>>(),
        });
        let beside = path.with_extension("json.new");
        let text = format!("{file:#}\n");
        let written = fs::write(&beside, text).and_then(|()| fs::rename(&beside, path));
        if let Err(error) = written {
            eprintln!("warning: could not write {}: {error}", path.display());
        }
    }

    fn end(&self) -> ExitCode {
        let has = |outcome| self.done.iter().any(|done| done.outcome == outcome);
        let ran_on_a_gpu = self.done.iter().any(|done| {
            done.outcome == Outcome::Ok
                && self.found.iter().any(|it| it.is_gpu() && it.name == done.device)
        });
        let is_missing = |device: &Found| {
            let mut of_device = self.done.iter().filter(|done| done.device == device.name);
            of_device.any(|done| done.outcome == Outcome::NotRun)
        };
        let (status, words) = if has(Outcome::Finding) {
            (1, "there are findings")
        } else if !ran_on_a_gpu {
            (3, "no GPU ran")
        } else if self.found.iter().all(|it| !it.is_gpu() || is_missing(it)) {
            (4, "all that ran is right, and some checks did not run")
        } else if has(Outcome::NotRun) {
            (0, "a GPU ran every check, and everything is right; some checks on others did not run")
        } else {
            (0, "everything is right")
        };
        println!("\n{words}, after {:.0} s", self.start.elapsed().as_secs_f64());
        if let Some(path) = &self.options.json {
            println!("the results are in {}", path.display());
        }
        ExitCode::from(status)
    }
}

/// Returns a result that the check itself did not print.
fn new(check: &str, device: &str, outcome: Outcome, text: String) -> Done {
    let record = report::record(check, device, outcome, Map::new(), &text);
    Done { device: device.to_owned(), outcome, record }
}

/// Describes a process's output, for a message.
fn printed(ended: &Ended) -> String {
    let text = if ended.stderr.trim().is_empty() { &ended.stdout } else { &ended.stderr };
    match child::tail(text) {
        text if text.is_empty() => " and printed nothing".to_owned(),
        text => format!(", having printed\n{text}"),
    }
}
