//! `elsewhere`: builds and runs programs for hosts other than x86-64 Linux. Their hardware is not
//! needed, because the programs run under Wine, under qemu-user, or with musl.
//!
//! Each host runs the libraries' unit tests, the tests of formats that need no external tools,
//! programs with packs, and the command lines. The output of the command lines must be the same as
//! on x86-64 Linux.

mod checks;
mod compare;
mod host;
mod report;
mod sysroot;
mod windows;

use crate::run::{Failure, Result, fail};
use crate::rust_kernels;
use crate::setup::{self, Scope, Setup};
use host::{Builds, HOSTS, Host, NEVER_RUN};
use report::Row;
use std::time::Instant;

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
    run(&setup::prepare(Scope::All)?, args)
}

/// Runs the checks of these hosts, or of all hosts if no host is named.
pub fn run(setup: &Setup, names: &[&str]) -> Result {
    let wanted = |host: &&Host| names.is_empty() || names.contains(&host.name);
    rust_kernels::fetch()?;
    let ran = HOSTS.iter().filter(wanted).map(|host| run_host(setup, host));
    let other = |(host, why)| Row::new(host, "never run", format!("all: {why}"));
    let rows: Vec<Row> = ran.chain(NEVER_RUN.map(other)).collect();
    eprint!("\n{}", report::table(&rows));
    let failed = rows.iter().filter(|row| row.sum.failed > 0);
    let failed: Vec<&str> = failed.map(|row| row.host).collect();
    if failed.is_empty() {
        return Ok(());
    }
    let (list, again) = (failed.join(", "), failed.join(" "));
    fail(format!("failed on {list}\nTo repeat only that: cargo xtask elsewhere {again}"))
}

/// Prepares the tools for the host, and runs its checks. Counts a failed set-up as a failed check.
fn run_host(setup: &Setup, host: &Host) -> Row {
    let (how, left_out) = host.runner.describe();
    let mut row = Row::new(host.name, how, left_out.to_owned());
    if let Err(failure) = sysroot::make_tools(host).and_then(|()| sysroot::make_std(host)) {
        eprintln!("xtask elsewhere: {} cannot be set up: {}", host.name, failure.text());
        row.sum.failed = 1;
        let left_out = format!("{left_out}; all: it cannot be set up");
        row.left_out = left_out.trim_start_matches("; ").to_owned();
        return row;
    }
    eprintln!("xtask elsewhere: {}", host.name);
    let start = Instant::now();
    checks::run(&Builds { setup, host }, &mut row);
    eprint!("\n{}", report::table(std::slice::from_ref(&row)));
    eprintln!("xtask elsewhere: {} took {} s", host.name, start.elapsed().as_secs());
    row
}
