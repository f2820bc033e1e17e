//! Every check on every device, each in a process of its own: a check that hangs or dies is a
//! finding, and the next one runs.

use crate::checks::{CHECKS, Check};
use offload_gpu::run::{Device, DeviceKind, devices};
use serde_json::{Map, Value, json};
use std::env;
use std::fs;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The options of `gpu-checks all`.
struct Options<'a> {
    json: Option<&'a str>,
    seconds: u64,
    devices: Vec<&'a str>,
}

impl<'a> Options<'a> {
    fn parse(words: &[&'a str]) -> Result<Self, String> {
        let mut options = Self { json: None, seconds: 420, devices: Vec::new() };
        let (pairs, rest) = words.as_chunks::<2>();
        if let [word] = rest {
            return Err(format!("{word} has no value"));
        }
        for [name, value] in pairs {
            match *name {
                "--json" => options.json = Some(value),
                "--seconds" => {
                    options.seconds =
                        value.parse().map_err(|_| format!("--seconds {value} is no number"))?;
                }
                "--device" => options.devices.push(value),
                _ => return Err(format!("there is no option {name}")),
            }
        }
        Ok(options)
    }
}

/// Runs the suite. The exit status is 0 if a GPU ran every check, 1 after a finding, and 3 if no
/// GPU ran.
pub fn run(words: &[&str]) -> ExitCode {
    let options = match Options::parse(words) {
        Ok(options) => options,
        Err(why) => {
            eprintln!("error: {why}");
            return ExitCode::from(2);
        }
    };
    let end = Instant::now() + Duration::from_secs(options.seconds);
    let found = devices();
    let chosen: Vec<&Device> = found
        .list()
        .iter()
        .filter(|device| options.devices.is_empty() || options.devices.contains(&&*device.name()))
        .collect();
    let mut record = json!({
        "version": 1,
        "absent": found.absent().iter().map(|it| it.why.clone()).collect::<Vec<_>>(),
        "devices": chosen.iter().map(|device| describe(device)).collect::<Vec<_>>(),
        "checks": [],
    });
    for device in &chosen {
        println!("{device}: {}", device.info());
    }
    for absent in found.absent() {
        println!("no {} device: {}", absent.kind, absent.why);
    }
    println!();
    let (mut findings, mut left_out, mut gpus) = (0, 0, 0);
    // One check on all devices, and then the next one: what tells most comes first.
    for check in CHECKS {
        for device in &chosen {
            let outcome = if Instant::now() < end {
                one(check, device, end)
            } else {
                left_out += 1;
                finished("not run", format!("the {} seconds are over", options.seconds), 0.0)
            };
            let result = outcome["result"].as_str().unwrap_or("finding");
            findings += usize::from(result == "finding");
            gpus += usize::from(result == "ok" && device.kind() != DeviceKind::Cpu);
            let seconds = outcome["seconds"].as_f64().unwrap_or_default();
            println!(
                "{:<8} {:<8} {result:<8} {seconds:>6.1} s  {}",
                device.name(),
                check.name,
                summary(&outcome)
            );
            let list = record["checks"].as_array_mut().expect("it is a list");
            list.push(with_names(outcome, check, device));
            if let Some(path) = options.json
                && let Err(error) = fs::write(path, format!("{record:#}\n"))
            {
                eprintln!("error: cannot write {path}: {error}");
                return ExitCode::from(2);
            }
        }
    }
    println!("\n{findings} findings, {left_out} checks not run");
    match (findings + left_out, gpus) {
        (0, 0) => {
            println!("no GPU ran");
            ExitCode::from(3)
        }
        (0, _) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

fn describe(device: &Device) -> Value {
    json!({
        "name": device.name(),
        "product": device.product(),
        "info": device.info().to_string(),
        "memory": device.memory(),
    })
}

fn with_names(mut outcome: Value, check: &Check, device: &Device) -> Value {
    outcome["check"] = check.name.into();
    outcome["device"] = device.name().into();
    outcome
}

/// Returns the text of a finding, or the figures that fit into a line.
fn summary(outcome: &Value) -> String {
    let text = outcome["text"].as_str().unwrap_or_default();
    if !text.is_empty() {
        return text.to_owned();
    }
    let figures = outcome["figures"].as_object().cloned().unwrap_or_default();
    let short = |value: &Value| match value {
        Value::Number(number) => Some(number.to_string()),
        Value::Array(list) => Some(format!("{} of them", list.len())),
        _ => None,
    };
    let shown =
        figures.iter().filter_map(|(name, value)| Some(format!("{name} {}", short(value)?)));
    shown.take(4).collect::<Vec<_>>().join(", ")
}

fn finished(result: &str, text: String, seconds: f64) -> Value {
    json!({"result": result, "text": text, "figures": Map::new(), "seconds": seconds})
}

/// Runs one check in a process of its own.
fn one(check: &Check, device: &Device, end: Instant) -> Value {
    let start = Instant::now();
    let limit = Duration::from_secs(check.seconds).min(end - start);
    let mut outcome = match process(check, device, limit) {
        Ok((status, text)) => judge(status, &text),
        Err(why) => finished("finding", why, 0.0),
    };
    outcome["seconds"] = ((start.elapsed().as_secs_f64() * 1000.0).round() / 1000.0).into();
    outcome
}

/// Returns how a process ended, and what it printed.
fn process(
    check: &Check,
    device: &Device,
    limit: Duration,
) -> Result<(ExitStatus, String), String> {
    let mut command = Command::new(own_path()?);
    command.args(["run", check.name, &device.name()]).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child =
        command.spawn().map_err(|error| format!("the check does not start: {error}"))?;
    let mut stdout = child.stdout.take().expect("it is piped");
    let reader = thread::spawn(move || {
        let mut text = Vec::new();
        let _ = stdout.read_to_end(&mut text);
        String::from_utf8_lossy(&text).into_owned()
    });
    let status = wait(&mut child, limit)?;
    Ok((status, reader.join().unwrap_or_default()))
}

/// Returns the path of this program. A sandbox may lack /proc, which tells it; `run.sh` starts the
/// program by its path.
pub fn own_path() -> Result<PathBuf, String> {
    let path = env::current_exe().ok().or_else(|| env::args_os().next().map(PathBuf::from));
    path.ok_or_else(|| "this program does not know its own path".to_owned())
}

/// Waits for a process until the limit, and ends it then.
fn wait(child: &mut Child, limit: Duration) -> Result<ExitStatus, String> {
    let start = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status),
            Ok(None) if start.elapsed() < limit => thread::sleep(Duration::from_millis(5)),
            Ok(None) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("it took longer than {} s and was ended", limit.as_secs()));
            }
            Err(error) => return Err(format!("it cannot be waited for: {error}")),
        }
    }
}

/// Returns the outcome that a process printed; one that printed none has died.
fn judge(status: ExitStatus, text: &str) -> Value {
    let last = text.lines().last().and_then(|line| serde_json::from_str::<Value>(line).ok());
    match last.filter(Value::is_object) {
        Some(outcome) if status.code().is_some_and(|code| code < 2) => outcome,
        _ => finished("finding", format!("its process died: {status}"), 0.0),
    }
}
