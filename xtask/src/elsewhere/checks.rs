//! The checks that run on each host.

use super::builds::Builds;
use super::host::Runner;
use super::report::Row;
use super::{compare, windows};
use crate::run;
use std::process::Command;

/// Runs all checks for the host.
pub fn run(builds: &Builds<'_>, row: &mut Row) {
    let host = builds.host;
    let libraries = ["format", "pack", "gpu", "build"].map(|it| format!("--package=offload-{it}"));
    let tools = ["--package=offload-tools", "--features=offload-tools/drop-in"];
    let mut unit = builds.cargo("test");
    unit.args(["--lib", "--no-fail-fast"]).args(libraries).args(tools);
    row.tests("the libraries' unit tests", unit);

    // Under emulation, skip the tests that damage each corpus file in every way, because they take
    // minutes per file.
    let is_emulated = matches!(host.runner, Runner::Qemu(_));
    let hostile = if is_emulated { "hostile::malformed" } else { "hostile" };
    for module in ["golden", "properties", hostile] {
        let mut formats = builds.cargo("test");
        formats.args(["--package=offload-tests", "--test=formats", "--", module]);
        row.tests(module, formats);
    }
    if host.has_packs {
        for profile in ["dev", "release"] {
            let mut packs = builds.cargo("test");
            packs.args(["--package=offload-elsewhere", "--no-fail-fast", "--profile", profile]);
            row.tests(&format!("packs in programs, {profile}"), packs);
        }
        row.check("packs in a static library", static_library(builds));
        examples(builds, row);
    } else {
        row.check("packs are refused with an error", packs_are_refused(builds));
        let mut empty = builds.cargo("test");
        empty.args(["--package=offload-elsewhere"]).env("ELSEWHERE_ALLOW_EMPTY", "1");
        row.tests("empty packs", empty);
    }
    if let Err(why) = build_tools(builds) {
        row.check("the command lines are built", Err(why));
        return;
    }
    if host.is_windows() {
        windows::run(builds, row);
    }
    compare::run(builds, row);
}

/// Runs the examples that use the CPU.
fn examples(builds: &Builds<'_>, row: &mut Row) {
    let one_source = ["--manifest-path=examples/Cargo.toml", "--package=one-source"];
    for (name, package) in [("one-source", &one_source[..]), ("saxpy", &["--package=saxpy"][..])] {
        let mut cargo = builds.cargo("run");
        cargo.args(["--quiet"]).args(package).env("OFFLOAD_DEVICE", "cpu");
        let expected = match name {
            _ if !builds.host.loads_images => STATIC,
            "saxpy" => "right",
            _ => "all right",
        };
        row.check(name, says(cargo, expected));
    }
}

/// A part of the error message of static programs, which cannot load images.
const STATIC: &str = "this program is static";

/// Checks that a command prints this text.
fn says(mut command: Command, expected: &str) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("cannot start it: {error}"))?;
    let both = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&both);
    if text.contains(expected) {
        return Ok(());
    }
    Err(format!("`{}` does not say '{expected}':\n{text}", run::line(&command)))
}

/// Checks that a build fails with an error for a pack for a 32-bit or big-endian host.
fn packs_are_refused(builds: &Builds<'_>) -> Result<(), String> {
    let mut cargo = builds.cargo("build");
    cargo.args(["--quiet", "--package=offload-elsewhere"]);
    says(cargo, "packs can be embedded only in")
}

/// Tests packs in a static Rust library that the host's C compiler links into a C program.
fn static_library(builds: &Builds<'_>) -> Result<(), String> {
    let mut cargo = builds.cargo("rustc");
    cargo.args(["--package=offload-elsewhere", "--lib", "--crate-type=staticlib"]);
    // In a note, rustc prints the libraries that its own library needs. Cargo repeats this note if
    // nothing is built.
    let output = cargo
        .args(["--", "--print=native-static-libs"])
        .output()
        .map_err(|error| format!("cannot start Cargo: {error}"))?;
    let text = String::from_utf8_lossy(&output.stderr);
    let needs = text.lines().find_map(|line| line.split_once("native-static-libs: "));
    let Some((_, needs)) = needs else {
        return Err(format!("`{}` names no libraries:\n{text}", run::line(&cargo)));
    };
    let folder = builds.programs("debug");
    let name = format!("static-library{}", builds.host.exe());
    let mut link = builds.host.linker();
    link.arg(run::workspace().join("tests/elsewhere/tests/program.c"))
        .arg(folder.join("liboffload_elsewhere.a"))
        .args(needs.split_whitespace())
        .arg("-o")
        .arg(folder.join(&name));
    run::check(&mut link).map_err(run::Failure::text)?;
    let listed = if builds.host.is_windows() { 0 } else { 2 };
    says(builds.program(&folder.join(name)), &format!("3 whole, {listed} listed"))
}

fn build_tools(builds: &Builds<'_>) -> Result<(), String> {
    let tools = ["--package=offload-tools", "--features=offload-tools/drop-in", "--bins"];
    let mut cargo = builds.cargo("build");
    cargo.args(["--quiet"]).args(tools);
    run::check(&mut cargo).map_err(run::Failure::text)?;
    // The tools for this machine are the reference for the host's tools.
    let mut own = builds.setup.cargo();
    own.args(["build", "--quiet", "--locked"]).args(tools);
    run::check(&mut own).map_err(run::Failure::text)
}
