//! `elsewhere`: builds for hosts other than x86-64 Linux and runs what was built, without their
//! hardware: Wine, qemu-user, musl.
//!
//! Each host runs the unit tests of the libraries, the tests of formats that need no other tools,
//! programs with packs, and the command lines. On each host, the output of the command lines must
//! equal that on x86-64 Linux for the same files.

mod builds;
mod checks;
mod compare;
mod host;
mod report;
mod sysroot;
mod windows;

use crate::run::{self, Failure, Result};
use crate::setup::{self, Scope, Setup};
use crate::{budget, rust_kernels};
use host::{HOSTS, Host, NEVER_RUN};
use report::Row;
use std::process::Command;
use std::time::{Duration, Instant};
use sysroot::Compiler;

/// Runs `cargo xtask elsewhere [HOST...]`.
pub fn command(args: &[&str]) -> Result {
    if let Some(other) = args.iter().find(|arg| !HOSTS.iter().any(|host| host.name == **arg)) {
        let names = HOSTS.map(|host| host.name).join(", ");
        let why = NEVER_RUN.iter().find(|(name, _)| name == other);
        let why = why.map(|(_, why)| format!(" ({why})")).unwrap_or_default();
        return Err(Failure::Usage(format!(
            "`elsewhere` has no host `{other}`{why}; the hosts are {names}"
        )));
    }
    let wanted = |host: &Host| args.is_empty() || args.contains(&host.name);
    let setup = setup::prepare(Scope::All)?;
    let compiler = Compiler::here();
    rust_kernels::fetch()?;
    let mut rows = Vec::new();
    for host in HOSTS.iter().filter(|host| wanted(host)) {
        rows.push(run_host(&setup, &compiler, host));
    }
    rows.extend(never_run());
    finish(&rows)
}

/// The hosts that the step of `ci` checks.
const IN_CI: [&str; 3] = ["windows", "aarch64", "s390x"];

/// The maximum time that one host takes on an idle machine, if everything is compiled again.
const WORST: Duration = Duration::from_secs(300);

/// The time to build a standard library.
const STD: Duration = Duration::from_secs(120);

/// Runs the step of `ci`: checks the hosts whose compiler, runner and linker are installed, until
/// the step's time ends. Each commit starts with a different host, so that all hosts run in turn.
pub fn in_ci(setup: &Setup) -> Result {
    let start = Instant::now();
    let minutes = budget::rows().find(|row| row.step == "elsewhere").map_or(0.0, |row| row.minutes);
    let compiler = Compiler::here();
    let commits = run::output(Command::new("git").args(["rev-list", "--count", "HEAD"]))?;
    let turn = commits.trim().parse::<usize>().expect("git prints a number") % IN_CI.len();
    let mut rows = Vec::new();
    for at in 0..IN_CI.len() {
        let name = IN_CI[(turn + at) % IN_CI.len()];
        let host = HOSTS.iter().find(|host| host.name == name).expect("the list has its names");
        let fetch = format!("`cargo xtask elsewhere {name}` fetches it");
        let why = if !compiler.is_here() {
            Some(format!("no compiler with a library for it; {fetch}"))
        } else if !sysroot::has_tools(host)? {
            Some(format!("no {}; {fetch}", host.need.what))
        } else if start.elapsed() + worst(&compiler, host) > Duration::from_secs_f64(60.0 * minutes)
        {
            Some("no time is left; another commit has it first".to_owned())
        } else {
            None
        };
        rows.push(match why {
            Some(why) => Row::left_out(host.name, &host.how(), &why),
            None => run_host(setup, &compiler, host),
        });
    }
    for host in HOSTS.iter().filter(|host| !IN_CI.contains(&host.name)) {
        let why = format!("no part of CI; `cargo xtask elsewhere {}` runs it", host.name);
        rows.push(Row::left_out(host.name, &host.how(), &why));
    }
    rows.extend(never_run());
    finish(&rows)
}

/// Returns the maximum time that a host takes.
fn worst(compiler: &Compiler, host: &Host) -> Duration {
    if compiler.has_std(host.target) { WORST } else { WORST + STD }
}

/// Returns the rows of the hosts that nothing here can run.
fn never_run() -> impl Iterator<Item = Row> {
    NEVER_RUN.iter().map(|(name, why)| Row::left_out(name, "never run", why))
}

/// Makes the tools that the host needs, and runs its checks.
fn run_host(setup: &Setup, compiler: &Compiler, host: &Host) -> Row {
    let made = sysroot::make_tools(host).and_then(|()| compiler.make_std(host));
    if let Err(failure) = made {
        return Row::not_ready(host, failure.text());
    }
    eprintln!("xtask elsewhere: {}", host.name);
    let start = Instant::now();
    let mut row = Row::new(host);
    checks::run(&builds::Builds { setup, compiler, host }, &mut row);
    eprint!("\n{}", report::table(std::slice::from_ref(&row)));
    eprintln!("xtask elsewhere: {} took {} s", host.name, start.elapsed().as_secs());
    row
}

fn finish(rows: &[Row]) -> Result {
    eprint!("\n{}", report::table(rows));
    let failed: Vec<&str> =
        rows.iter().filter(|row| row.failed > 0).map(|row| row.host.as_str()).collect();
    if failed.is_empty() {
        return Ok(());
    }
    Err(Failure::Failed(format!(
        "failed on {}\nTo repeat only that: cargo xtask elsewhere {}",
        failed.join(", "),
        failed.join(" ")
    )))
}
