//! `gpu-checks all`: each check on each device, in a process of its own; a table, and a JSON file.

use crate::checks::this;
use crate::child::{self, Ended, How};
use crate::machine::{self, Found};
use crate::plan::{CHECKS, Check};
use crate::report::{self, Outcome, Value};
use std::collections::BTreeMap;
use std::fs;
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
    /// At most so many seconds for each check.
    limit: u64,
}

impl Options {
    /// Reads the command line after `all`.
    pub fn parse(arguments: &[&str]) -> Result<Self, String> {
        let mut options = Self {
            json: None,
            seconds: 420,
            devices: Vec::new(),
            only: Vec::new(),
            limit: u64::MAX,
        };
        let mut arguments = arguments.iter();
        while let Some(&name) = arguments.next() {
            let value = arguments.next().ok_or_else(|| format!("{name} needs a value"))?;
            match name {
                "--json" => options.json = Some(value.into()),
                "--seconds" | "--limit" => {
                    let seconds = value
                        .parse()
                        .map_err(|_| format!("{name} {value}: expected a number of seconds"))?;
                    let option =
                        if *name == *"--limit" { &mut options.limit } else { &mut options.seconds };
                    *option = seconds;
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

/// A result, with what the parent knows of it.
struct Done {
    device: String,
    outcome: Outcome,
    /// The line of the JSON file.
    json: String,
}

struct All<'a> {
    options: &'a Options,
    start: Instant,
    started: u64,
    found: Vec<Found>,
    absent: Vec<String>,
    done: Vec<Done>,
}

/// The seconds in which devices are listed; the first call of a driver may take long.
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
    for check in CHECKS.iter().filter(wanted) {
        for at in 0..all.found.len() {
            all.run(check, at);
        }
    }
    all.end()
}

impl All<'_> {
    fn find_devices(&mut self) {
        let ended = child::run(&mut this(&["devices"]), DEVICES);
        let (found, absent) = machine::parse(&ended.stdout);
        (self.found, self.absent) = (found, absent);
        if ended.how != How::Status(0) {
            let text = format!(
                "the process that lists the devices {}{}",
                ended.how.words(),
                printed(&ended)
            );
            self.found.retain(|device| !device.is_gpu());
            self.add("devices", "-", Outcome::Finding, ended.time, "{}", &text, None);
        }
        if self.found.is_empty() {
            let json = Value::Object(vec![("device".into(), "cpu".into())]).to_string();
            self.found.push(Found { name: "cpu".to_owned(), json });
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
        for device in &self.found {
            println!("device: {}", device.json);
        }
        println!();
        self.write();
    }

    fn left(&self) -> Duration {
        Duration::from_secs(self.options.seconds).saturating_sub(self.start.elapsed())
    }

    fn run(&mut self, check: &Check, at: usize) {
        let device = self.found[at].name.clone();
        if !check.kinds.iter().any(|kind| device.starts_with(&kind.to_string())) {
            return;
        }
        let allowed = Duration::from_secs(check.seconds.min(self.options.limit));
        let left = self.left();
        if left < Duration::from_secs(1) {
            let text = format!("the {} s of all checks were over", self.options.seconds);
            self.add(check.name, &device, Outcome::NotRun, Duration::ZERO, "{}", &text, None);
            return;
        }
        let mut command = this(&["run", check.name, "--device", &device]);
        let ended = child::run(&mut command, allowed.min(left));
        let last = ended.stdout.trim_end().rsplit('\n').next().unwrap_or_default();
        let outcome = [Outcome::Ok, Outcome::Finding, Outcome::Skipped]
            .into_iter()
            .find(|outcome| ended.how == How::Status(outcome.status().into()))
            .filter(|_| last.starts_with("{\"check\": "));
        match outcome {
            Some(outcome) => {
                let (_, text) = last.rsplit_once("\"text\": \"").unwrap_or_default();
                let text = text.trim_end_matches("\"}").replace("\\n", "\n").replace("\\\"", "\"");
                self.add(check.name, &device, outcome, ended.time, "", &text, Some(last));
            }
            // The time of all checks was over, not the check's own.
            None if left < allowed && matches!(ended.how, How::TooLong(_)) => {
                let text =
                    format!("ended when the {} s of all checks were over", self.options.seconds);
                self.add(check.name, &device, Outcome::NotRun, ended.time, "{}", &text, None);
            }
            None => {
                let text = format!("the check {}{}", ended.how.words(), printed(&ended));
                self.add(check.name, &device, Outcome::Finding, ended.time, "{}", &text, None);
            }
        }
    }

    /// Adds a result: a line of the table, and an object of the JSON file.
    #[expect(clippy::too_many_arguments, reason = "they are the columns")]
    fn add(
        &mut self,
        check: &str,
        device: &str,
        outcome: Outcome,
        time: Duration,
        figures: &str,
        text: &str,
        line: Option<&str>,
    ) {
        let seconds = time.as_secs_f64();
        let shown = text.replace('\n', "\n                                              ");
        println!("{check:<16} {device:<8} {:<8} {seconds:>6.1} s   {shown}", outcome.word());
        let json = line.map_or_else(
            || {
                let figures = Value::Json(figures.to_owned());
                report::line(check, device, outcome, figures, text).to_string()
            },
            str::to_owned,
        );
        // The time is known to the parent alone.
        let json = json.strip_suffix('}').unwrap_or(&json);
        let json = format!("{json}, \"seconds\": {}}}", Value::from(seconds));
        self.done.push(Done { device: device.to_owned(), outcome, json });
        self.write();
    }

    /// Writes the JSON file anew. What was there stays, if the process ends meanwhile.
    fn write(&self) {
        let Some(path) = &self.options.json else { return };
        let rows = |rows: Vec<&str>| rows.join(",\n    ");
        let absent: Vec<String> =
            self.absent.iter().map(|why| Value::from(why.as_str()).to_string()).collect();
        let count = |outcome| self.done.iter().filter(|done| done.outcome == outcome).count();
        let counts: BTreeMap<&str, usize> =
            [Outcome::Ok, Outcome::Finding, Outcome::Skipped, Outcome::NotRun]
                .into_iter()
                .map(|outcome| (outcome.word(), count(outcome)))
                .collect();
        let counts = counts.into_iter().map(|(name, count)| (name.into(), count.into())).collect();
        let text = format!(
            "{{\n  \"program\": \"gpu-checks {}\",\n  \"started\": {},\n  \"seconds\": {},\n  \"results\": {},\n  \
             \"devices\": [\n    {}\n  ],\n  \"absent\": [\n    {}\n  ],\n  \"checks\": [\n    {}\n  ]\n}}\n",
            env!("CARGO_PKG_VERSION"),
            self.started,
            Value::from(self.start.elapsed().as_secs_f64()),
            Value::Object(counts),
            rows(self.found.iter().map(|device| device.json.as_str()).collect()),
            rows(absent.iter().map(String::as_str).collect()),
            rows(self.done.iter().map(|done| done.json.as_str()).collect()),
        );
        let beside = path.with_extension("json.new");
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
        let (status, words) = if has(Outcome::Finding) {
            (1, "there are findings")
        } else if !ran_on_a_gpu {
            (3, "no GPU ran")
        } else if has(Outcome::NotRun) {
            (4, "all that ran is right, and some checks did not run")
        } else {
            (0, "everything is right")
        };
        println!("\n{words}, after {:.0} s", self.start.elapsed().as_secs_f64());
        ExitCode::from(status)
    }
}

/// Returns what a process printed before it ended, for a message.
fn printed(ended: &Ended) -> String {
    let text = if ended.stderr.trim().is_empty() { &ended.stdout } else { &ended.stderr };
    match child::tail(text) {
        text if text.is_empty() => " and printed nothing".to_owned(),
        text => format!(", having printed\n{text}"),
    }
}
