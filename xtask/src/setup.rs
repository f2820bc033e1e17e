//! `setup`: finds missing tools and installs them. `test`, `ci` and `prebuilt` start with set-up.

use crate::apt;
use crate::run::{self, Failure, Result, fail};
use crate::tools::{self, Need, SHORT, SYSTEM, UNPACKED, Unpacked};
use crate::wheels::{self, Wheel};
use std::ffi::OsString;
use std::process::Command;
use std::sync::Once;

/// Which tests to install tools for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scope {
    /// The short run of the tests, which needs system packages and the workspace's crates.
    Short,
    /// All tests.
    All,
}

/// The result of set-up: the missing tools, and the variables with the installed tools' paths.
#[derive(Debug)]
pub struct Setup {
    /// A paragraph for the user about each tool that is missing.
    missing: Vec<String>,
    environment: Vec<(&'static str, OsString)>,
}

/// Runs `cargo xtask setup`; with `--check`, changes nothing.
pub fn command(is_check: bool) -> Result {
    run(is_check, Scope::All).complete()?;
    println!("xtask setup: everything that the tests need is here");
    Ok(())
}

/// Installs missing tools if possible. A tool that is still missing afterwards is an error in CI;
/// elsewhere, a notice is printed.
pub fn prepare(scope: Scope) -> Result<Setup> {
    let setup = run(false, scope);
    match setup.complete() {
        Err(failure) if !run::is_ci() => {
            let list = failure.text();
            eprintln!("xtask: {list}\nGoing on without: tests that need it say \"ignored\".\n");
        }
        result => result?,
    }
    Ok(setup)
}

impl Setup {
    /// Returns `cargo` with the variables of the installed tools, and with arguments that are
    /// separated by spaces. All steps use the same environment, because a change would run build
    /// scripts again.
    pub fn cargo(&self, args: &str) -> Command {
        let mut cargo = run::cargo(args);
        cargo.envs(self.environment.iter().map(|(name, value)| (name, value)));
        cargo
    }

    /// Returns an error if a tool is missing.
    pub fn complete(&self) -> Result {
        if self.missing.is_empty() {
            return Ok(());
        }
        fail(format!("set-up is not complete.\n\n{}", self.missing.join("\n")))
    }
}

/// Installs missing tools if possible; with `is_check`, changes nothing.
pub fn run(is_check: bool, scope: Scope) -> Setup {
    let (needs, trees, manifests) = match scope {
        Scope::Short => (&SYSTEM[..SHORT], &[][..], &MANIFESTS[..1]),
        Scope::All => (&SYSTEM[..], &UNPACKED[..], &MANIFESTS[..]),
    };
    let mut results = vec![system(is_check, needs)];
    results.extend(trees.iter().map(|tree| unpacked(is_check, tree)));
    results.extend(manifests.iter().map(|manifest| crates(is_check, manifest)));
    let missing: Vec<String> =
        results.into_iter().filter_map(Result::err).map(Failure::text).collect();
    let mut environment = tools::environment();
    if missing.is_empty() && run::var("OFFLOAD_REQUIRE").is_none() {
        let required = if scope == Scope::All { "all" } else { "short" };
        environment.push(("OFFLOAD_REQUIRE", required.into()));
    }
    Setup { missing, environment }
}

/// Runs an installation. Returns why it failed, as an explanation if files are still missing
/// afterwards. Before the first download, prints what set-up downloads.
fn attempt(is_check: bool, install: impl FnOnce() -> Result) -> String {
    static ONCE: Once = Once::new();
    if is_check {
        return "`cargo xtask setup` would fetch this".to_owned();
    }
    ONCE.call_once(|| {
        eprintln!(
            "xtask: set-up downloads what is missing: at most 140 MB for the short run of the tests, and 1.2 GB for all of \
             them (1 GB of packages of the system and 2.7 GB in .tools on disk).\n  \
             `cargo xtask setup --check` lists it. `cargo test --workspace` downloads only crates, and leaves out the tests that \
             need a missing tool."
        );
    });
    match install() {
        Ok(()) => "fetching reported success, but files or packages are missing".to_owned(),
        Err(failure) => failure.text(),
    }
}

/// Returns the missing system packages. Without apt, looks for their files instead, because the
/// packages may have other names.
pub fn missing(needs: &[Need]) -> Result<Vec<&'static str>> {
    let is_apt = apt::is_here();
    let needs = needs.iter().filter(|need| is_apt || !need.is_found());
    let packages: Vec<&str> = needs.flat_map(|need| need.packages()).collect();
    if is_apt { apt::missing(&packages) } else { Ok(packages) }
}

/// Installs system packages.
fn system(is_check: bool, needs: &[Need]) -> Result {
    let before = missing(needs)?;
    if before.is_empty() {
        return Ok(());
    }
    let (reason, by_hand) = if apt::is_here() {
        let by_hand = "By hand, as root: apt-get install --no-install-recommends ";
        (attempt(is_check, || apt::install(&before)), by_hand)
    } else {
        ("set-up installs only with apt-get".to_owned(), "Debian's names of the packages: ")
    };
    let after = missing(needs)?;
    if after.is_empty() {
        return Ok(());
    }
    let mut paragraphs = String::new();
    for need in needs {
        let mut packages = need.packages();
        packages.retain(|it| after.contains(it));
        if !packages.is_empty() {
            paragraphs += &describe(need, &packages.join(", "));
        }
    }
    fail(format!("{reason}:\n{paragraphs}{by_hand}{}\n", after.join(" ")))
}

/// Unpacks packages or wheels into their folder.
fn unpacked(is_check: bool, it: &Unpacked) -> Result {
    if it.is_complete() {
        return Ok(());
    }
    let (packages, wheels) = (it.need.packages(), it.wheels());
    let is_named = run::var(it.variable).is_some();
    let reason = if is_named {
        format!("{} leads to `{}`, which lacks files", it.variable, it.folder().display())
    } else if !wheels.is_empty() {
        attempt(is_check, || wheels::install(&wheels))
    } else if apt::is_here() {
        attempt(is_check, || apt::unpack(&packages, &it.folder()))
    } else {
        "set-up unpacks packages only with apt-get".to_owned()
    };
    if it.is_complete() {
        return Ok(());
    }
    let wheels = wheels.iter().filter(|wheel| is_named || !wheel.is_here()).map(Wheel::name);
    let parts: Vec<String> = packages.into_iter().map(str::to_owned).chain(wheels).collect();
    fail(format!("{reason}:\n{}", describe(&it.need, &parts.join(", "))))
}

/// The manifests whose crates the tests need, because some tests read or link published crates. The
/// short run needs only the crates of the first manifest.
const MANIFESTS: [&str; 5] = [
    "Cargo.toml",
    "fuzz/Cargo.toml",
    "gpu/Cargo.toml",
    "examples/Cargo.toml",
    "tests/published/Cargo.toml",
];

/// Downloads the crates in a lock file, because tests, fuzz targets and examples are built offline.
fn crates(is_check: bool, manifest: &str) -> Result {
    let mut fetch = run::cargo(&format!("fetch --locked --quiet --manifest-path {manifest}"));
    let why = "the tests run Cargo offline and need every crate that the lock file names";
    run::check(fetch.args(is_check.then_some("--offline")))
        .map_err(|failure| format!("{}:\n  {why}\n", failure.text()).into())
}

/// Returns a paragraph about a tool with missing parts.
fn describe(need: &Need, parts: &str) -> String {
    let Need { what, why, elsewhere, .. } = need;
    format!("  {what} ({parts})\n    why:       {why}\n    otherwise: {elsewhere}\n")
}
