//! The checks that run on each host.

use super::host::{Builds, Runner};
use super::report::Row;
use super::{compare, windows};
use crate::run::{self, Result, fail};
use std::process::Command;

/// The command lines' package, with all programs.
pub const TOOLS: &str = "--package=offload-tools --features=offload-tools/drop-in";

/// Runs all checks for the host.
pub fn run(builds: &Builds<'_>, row: &mut Row) {
    let host = builds.host;
    let libraries = ["format", "pack", "gpu", "build"].map(|it| format!("--package=offload-{it}"));
    let unit = format!("test --lib --no-fail-fast {} {TOOLS}", libraries.join(" "));
    row.tests("the libraries' unit tests", builds.cargo(&unit));

    // Under emulation, skip the tests that damage each corpus file in every way, because they take
    // minutes per file.
    let is_emulated = matches!(host.runner, Runner::Qemu(_));
    let hostile = if is_emulated { "hostile::malformed" } else { "hostile" };
    for module in ["golden", "properties", hostile] {
        let formats = format!("test --package=offload-tests --test=formats -- {module}");
        row.tests(module, builds.cargo(&formats));
    }
    if host.has_packs {
        for profile in ["dev", "release"] {
            let options = format!("--no-fail-fast --profile {profile}");
            let packs = builds.cargo(&format!("test --package=offload-elsewhere {options}"));
            row.tests(&format!("packs in programs, {profile}"), packs);
        }
        row.check("packs in a static library", static_library(builds));
        examples(builds, row);
    } else {
        // On a 32-bit or big-endian host, a build with a pack fails with an error.
        let build = builds.cargo("build --quiet --package=offload-elsewhere");
        let refused = says(build, "packs can be embedded only in");
        row.check("packs are refused with an error", refused);
        let mut empty = builds.cargo("test --package=offload-elsewhere");
        empty.env("ELSEWHERE_ALLOW_EMPTY", "1");
        row.tests("empty packs", empty);
    }
    if let Err(why) = build_tools(builds) {
        return row.check("the command lines are built", Err(why));
    }
    if host.runner.is_windows() {
        windows::run(builds, row);
    }
    compare::run(builds, row);
}

/// Runs the examples that use the CPU.
fn examples(builds: &Builds<'_>, row: &mut Row) {
    for (name, options, result) in [
        ("one-source", "--manifest-path=examples/Cargo.toml --package=one-source", "all right"),
        ("saxpy", "--package=saxpy", "right"),
    ] {
        let mut cargo = builds.cargo(&format!("run --quiet {options}"));
        cargo.env("OFFLOAD_DEVICE", "cpu");
        // Static programs cannot load images.
        let is_static = builds.host.runner == Runner::StaticMusl;
        row.check(name, says(cargo, if is_static { "this program is static" } else { result }));
    }
}

/// Checks that a command prints this text.
fn says(mut command: Command, expected: &str) -> Result {
    let (_, text, errors) = run::outcome(&mut command)?;
    if text.contains(expected) || errors.contains(expected) {
        return Ok(());
    }
    fail(format!("`{}` does not say '{expected}':\n{text}{errors}", run::line(&command)))
}

/// Tests packs in a static Rust library that the host's C compiler links into a C program.
fn static_library(builds: &Builds<'_>) -> Result {
    // rustc prints the libraries that its own library needs in a note, which Cargo repeats if
    // nothing is built.
    let mut cargo = builds.cargo(
        "rustc --package=offload-elsewhere --lib --crate-type=staticlib -- --print=native-static-libs",
    );
    let (_, _, text) = run::outcome(&mut cargo)?;
    let needs = text.lines().find_map(|line| line.split_once("native-static-libs: "));
    let Some((_, needs)) = needs else {
        return fail(format!("`{}` names no libraries:\n{text}", run::line(&cargo)));
    };
    let folder = builds.programs();
    let program = folder.join(format!("static-library{}", builds.host.runner.exe()));
    let mut link = builds.host.linker();
    link.arg(run::workspace().join("tests/elsewhere/tests/program.c"));
    link.arg(folder.join("liboffload_elsewhere.a")).args(needs.split_whitespace());
    run::check(link.arg("-o").arg(&program))?;
    let listed = if builds.host.runner.is_windows() { 0 } else { 2 };
    says(builds.program(&program), &format!("3 whole, {listed} listed"))
}

/// Builds the command lines for the host and, as the reference, for this machine.
fn build_tools(builds: &Builds<'_>) -> Result {
    run::check(&mut builds.cargo(&format!("build --quiet {TOOLS} --bins")))?;
    run::check(&mut builds.setup.cargo(&format!("build --quiet --locked {TOOLS} --bins")))
}
