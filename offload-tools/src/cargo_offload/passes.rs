//! The runs of `cargo test`.

use super::arguments::Asked;
use super::interrupt;
use super::log::Log;
use super::results::Results;
use crate::text::shell_word;
use offload_pack::checks::{self, Check};
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, TryLockError};
use std::io::{BufRead, BufReader};
use std::path::{self, Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

/// A run of `cargo test`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pass {
    pub kind: PassKind,
    /// The number of lanes in a warp; `None` if the environment decides.
    pub lanes: Option<u32>,
}

/// The kind of a run of `cargo test`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PassKind {
    /// A run with images that check their kernels.
    Check(Check),
    /// A run with ordinary images, in several orders of blocks and threads.
    Orders,
}

/// The environment variables that configure the runner.
pub mod variables {
    /// The folder for the logs of the pass.
    pub const LOG: &str = "OFFLOAD_TEST_LOG";
    /// The check of the pass.
    pub const CHECK: &str = "OFFLOAD_TEST_CHECK";
    /// In how many orders of blocks and threads to run a program.
    pub const ORDERS: &str = "OFFLOAD_TEST_ORDERS";
    /// The seed of the first random order.
    pub const SEED: &str = "OFFLOAD_TEST_SEED";
}

/// Returns the requested passes. Passes with the same number of lanes share a build.
pub fn of(asked: &Asked) -> Vec<Pass> {
    let checks = asked.checks.iter().copied().map(PassKind::Check);
    let kinds: Vec<PassKind> =
        checks.chain((asked.orders > 0).then_some(PassKind::Orders)).collect();
    let mut lanes: Vec<Option<u32>> = asked.lanes.iter().copied().map(Some).collect();
    if lanes.is_empty() {
        lanes.push(None);
    }
    lanes.iter().flat_map(|&lanes| kinds.iter().map(move |&kind| Pass { kind, lanes })).collect()
}

impl Pass {
    /// Describes how this pass runs the tests.
    pub fn title(self) -> String {
        let title = match self.kind {
            PassKind::Check(Check::Memory) => "checked for memory errors",
            PassKind::Check(Check::Races) => "checked for races",
            PassKind::Check(Check::Undefined) => "checked for undefined behaviour",
            PassKind::Check(Check::MemoryAndUndefined) => {
                "checked for memory errors and undefined behaviour"
            }
            PassKind::Orders => "in several orders of blocks and threads",
        };
        match self.lanes {
            Some(lanes) => format!("{title}, with warps of {lanes} lanes"),
            None => title.to_owned(),
        }
    }

    /// Returns the name of the folder for the pass's logs. It must not contain a comma, because it
    /// is part of the sanitizer option `log_path`, which a comma would end.
    fn folder(self) -> String {
        let name = match self.kind {
            PassKind::Check(check) => check.name().replace(',', "-"),
            PassKind::Orders => "orders".to_owned(),
        };
        self.lanes.map_or(name.clone(), |lanes| format!("{name}-{lanes}"))
    }

    /// Returns the command that runs only this pass, quoted for a shell.
    pub fn command(self, asked: &Asked) -> String {
        let mut option = match self.kind {
            PassKind::Check(check) => format!("--check {}", check.name()),
            PassKind::Orders => format!("--orders {}", asked.orders),
        };
        if let Some(lanes) = self.lanes {
            option += &format!(" --lanes {lanes}");
        }
        let words = asked.cargo.iter().map(|word| word.to_string_lossy());
        words.fold(format!("cargo offload test {option}"), |command, word| {
            command + " " + &shell_word(&word)
        })
    }
}

/// The folders for builds and logs, and the name of Cargo's variable for the runner.
#[derive(Debug)]
pub struct PassFolders {
    /// Cargo's target folder: `target`.
    target_folder: PathBuf,
    /// `target/offload-check`: the target folder of all checks, with the logs in `log`.
    folder: PathBuf,
    /// The name of the environment variable that sets Cargo's runner: the program that starts test
    /// programs.
    runner: String,
}

impl PassFolders {
    /// Finds the folders and the name of the variable with the help of Cargo and rustc.
    ///
    /// Returns a message if this fails, for example because there is no package.
    pub fn find(asked: &Asked) -> Result<Self, String> {
        let mut metadata = cargo();
        metadata.args(["metadata", "--no-deps", "--format-version=1"]);
        for name in ["--manifest-path", "--config"] {
            metadata.args(value_of(&asked.cargo, name).map(|value| format!("{name}={value}")));
        }
        let metadata = output(&mut metadata)?;
        let metadata: serde_json::Value = serde_json::from_str(&metadata)
            .map_err(|error| format!("cannot parse the output of cargo metadata: {error}"))?;
        let target_folder = match value_of(&asked.cargo, "--target-dir") {
            // Make the path absolute, because Cargo starts test programs in other folders.
            Some(folder) => path::absolute(&folder)
                .map_err(|error| format!("cannot resolve --target-dir {folder}: {error}"))?
                .display()
                .to_string(),
            None => metadata["target_directory"]
                .as_str()
                .ok_or("cargo metadata reports no target folder")?
                .to_owned(),
        };
        let target = match value_of(&asked.cargo, "--target")
            .or_else(|| env::var("CARGO_BUILD_TARGET").ok())
        {
            Some(target) => target,
            None => {
                let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
                let version = output(Command::new(rustc).arg("-vV"))?;
                let host = version.lines().find_map(|line| line.strip_prefix("host: "));
                host.ok_or("rustc -vV reports no host")?.to_owned()
            }
        };
        let runner =
            format!("CARGO_TARGET_{}_RUNNER", target.to_uppercase().replace(['-', '.'], "_"));
        let target_folder = PathBuf::from(target_folder);
        Ok(Self { folder: target_folder.join("offload-check"), target_folder, runner })
    }

    pub fn target_folder(&self, pass: &Pass) -> &Path {
        match pass.kind {
            PassKind::Check(_) => &self.folder,
            PassKind::Orders => &self.target_folder,
        }
    }

    /// Returns the folder for the logs of a pass's programs.
    pub fn folder(&self, pass: &Pass) -> PathBuf {
        self.folder.join("log").join(pass.folder())
    }
}

/// Locks a file beside a pass's folder until the returned file is closed, because a second command
/// in the same target folder would otherwise remove the logs. If the file system cannot lock files,
/// the returned file is not locked. Returns `None` if the file cannot be created, or if a test of
/// the same pass runs this command, which would wait for itself.
pub fn lock(folder: &Path) -> Option<File> {
    if env::var_os(variables::LOG).is_some() {
        return None;
    }
    fs::create_dir_all(folder.parent()?).ok()?;
    let file = File::create(folder.with_extension("lock")).ok()?;
    let mut is_waiting = false;
    while matches!(file.try_lock(), Err(TryLockError::WouldBlock)) && !interrupt::came() {
        if !is_waiting {
            anstream::eprintln!(
                "offload: another `cargo offload test` is using {}; waiting for it to end",
                folder.display()
            );
            is_waiting = true;
        }
        // A blocking lock call would not notice an interrupt.
        thread::sleep(Duration::from_millis(100));
    }
    Some(file)
}

/// Runs `cargo test`. Returns the exit status and the output of the test programs, and prints that
/// output if a test fails or the user requested test output.
///
/// Returns a message if Cargo cannot be started.
pub fn run(
    pass: &Pass,
    asked: &Asked,
    folders: &PassFolders,
    log: &Log,
) -> Result<(ExitStatus, String), String> {
    let mut command = cargo();
    command.args(["test", "--no-fail-fast"]).args(without_target_folder(&asked.cargo));
    if !asked.program.is_empty() {
        command.arg("--").args(&asked.program);
    }
    let this = env::current_exe()
        .map_err(|error| format!("cannot find the path of this program: {error}"))?;
    // Cargo splits the value of its runner variable at spaces, so the path must not contain spaces.
    if this.to_string_lossy().contains(char::is_whitespace) {
        return Err(format!(
            "Cargo cannot start {}, because the path contains spaces. Move the program to a path \
             without spaces",
            this.display()
        ));
    }
    let mut runner = this.into_os_string();
    runner.push(" run");
    command
        .env(&folders.runner, runner)
        .env(checks::variables::TIME_LIMIT, asked.time_limit.to_string())
        .env(checks::variables::LOG, log.kernels())
        .env(variables::LOG, &log.folder);
    // Respect the user's `OFFLOAD_DEVICE`. If it is not the CPU, the pass may check nothing, which
    // the summary reports.
    if env::var_os("OFFLOAD_DEVICE").is_none() {
        command.env("OFFLOAD_DEVICE", "cpu");
    }
    if let Some(lanes) = pass.lanes {
        command.env(checks::variables::LANES, lanes.to_string());
    }
    match pass.kind {
        // One build contains the images of all checks, so the next check compiles nothing.
        PassKind::Check(check) => command
            .env(checks::variables::CHECK, "all")
            .env(variables::CHECK, check.name())
            .env("CARGO_TARGET_DIR", &folders.folder)
            .env_remove(variables::ORDERS),
        // This pass needs the same images as a plain `cargo test`, so it uses the same target
        // folder.
        PassKind::Orders => command
            .env("CARGO_TARGET_DIR", &folders.target_folder)
            .env_remove(checks::variables::CHECK)
            .env_remove(variables::CHECK)
            .env(variables::ORDERS, asked.orders.to_string())
            .env(variables::SEED, asked.seed.to_string()),
    };
    let program = command.get_program().to_owned();
    let failed = |error| format!("cannot start {}: {error}", program.display());
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(failed)?;
    let shows = asked.program.iter().any(|word| {
        matches!(word.to_str(), Some("--nocapture" | "--no-capture" | "--show-output" | "--list"))
    });
    let mut output = Vec::new();
    let mut from = BufReader::new(child.stdout.take().expect("the output is piped"));
    loop {
        let start = output.len();
        // Treat a read error as the end of the output, because the exit status shows whether the
        // tests passed.
        if from.read_until(b'\n', &mut output).unwrap_or(0) == 0 {
            break;
        }
        if shows {
            anstream::print!("{}", String::from_utf8_lossy(&output[start..]));
        }
    }
    let status = child.wait().map_err(failed)?;
    let output = String::from_utf8_lossy(&output).into_owned();
    let is_understood = status.success() && Results::read(&output).is_known;
    if !shows && !is_understood {
        anstream::print!("{output}");
    }
    Ok((status, output))
}

/// Returns a command for the Cargo that started this program, or for the `cargo` in `PATH`.
fn cargo() -> Command {
    Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

fn output(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().display().to_string();
    let output = command.output().map_err(|error| format!("cannot start {name}: {error}"))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(format!("{name} failed:\n{}", String::from_utf8_lossy(&output.stderr).trim_end()))
    }
}

/// Returns the value of the option called `name` in Cargo's arguments.
fn value_of(arguments: &[OsString], name: &str) -> Option<String> {
    let mut words = arguments.iter().map(|word| word.to_string_lossy());
    while let Some(word) = words.next() {
        match word.strip_prefix(name) {
            Some("") => return words.next().map(|value| value.into_owned()),
            Some(rest) if rest.starts_with('=') => return Some(rest[1..].to_owned()),
            _ => {}
        }
    }
    None
}

/// Returns the arguments without `--target-dir`, because each pass sets its target folder with
/// `CARGO_TARGET_DIR`.
fn without_target_folder(arguments: &[OsString]) -> impl Iterator<Item = &OsStr> {
    let mut is_value = false;
    arguments.iter().map(OsString::as_os_str).filter(move |word| {
        let was_value = std::mem::replace(&mut is_value, *word == "--target-dir");
        !was_value && !word.to_string_lossy().starts_with("--target-dir")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn cargos_options_are_found() {
        let line = words("-p x --target-dir a/b --target=riscv64 --manifest-path x/Cargo.toml");
        assert_eq!(value_of(&line, "--target-dir").unwrap(), "a/b");
        assert_eq!(value_of(&line, "--target").unwrap(), "riscv64");
        assert_eq!(value_of(&line, "--config"), None);
        let rest: Vec<&OsStr> = without_target_folder(&line).collect();
        assert_eq!(rest, ["-p", "x", "--target=riscv64", "--manifest-path", "x/Cargo.toml"]);
    }
}
