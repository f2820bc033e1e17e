//! `elsewhere`: builds and runs programs for hosts other than x86-64 Linux. Their hardware is not
//! needed, because the programs run under Wine, under qemu-user, or with musl.
//!
//! Each host runs the libraries' unit tests, the tests of formats that need no external tools,
//! programs with packs, and the command lines. The output of the command lines must be the same as
//! on x86-64 Linux.

mod builds;
mod checks;
mod compare;
mod host;
mod report;
mod sysroot;
mod windows;

use crate::run::{Failure, Result};
use crate::rust_kernels;
use crate::setup::{self, Scope, Setup};
use host::{HOSTS, Host, NEVER_RUN};
use report::Row;
use std::time::Instant;
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
    run(&setup::prepare(Scope::All)?, args)
}

/// Runs the checks of these hosts, or of all hosts if no host is named.
pub fn run(setup: &Setup, names: &[&str]) -> Result {
    let wanted = |host: &Host| names.is_empty() || names.contains(&host.name);
    let compiler = Compiler::here();
    rust_kernels::fetch()?;
    let mut rows = Vec::new();
    for host in HOSTS.iter().filter(|host| wanted(host)) {
        rows.push(run_host(setup, &compiler, host));
    }
    rows.extend(never_run());
    finish(&rows)
}

/// Returns the rows of the hosts that this machine cannot run.
fn never_run() -> impl Iterator<Item = Row> {
    NEVER_RUN.iter().map(|(name, why)| Row::left_out(name, "never run", why))
}

/// Prepares the tools for the host, and runs its checks.
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
