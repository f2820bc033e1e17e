//! `setup`: finds missing tools and installs them. `test`, `ci` and `prebuilt` begin with it.

use crate::run::{self, Failure, Result};
use crate::tools::{self, CLANGS, Need, OLDEST, OTHERS, ROC_OBJ, ROC_RAND, ROCM, SHORT};
use crate::{apt, published, wheels};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Once;

/// Whether set-up may change the machine.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Mode {
    Install,
    Check,
}

/// The tests whose tools set-up installs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scope {
    /// The short run of the tests: packages of the system, and the crates of the workspace.
    Short,
    /// All tests.
    All,
}

/// The result of set-up: the missing tools, and the variables that name the installed ones.
#[derive(Debug)]
pub struct Setup {
    /// Tools that the tests will lack, each as a paragraph for the user.
    missing: Vec<String>,
    environment: Vec<(&'static str, OsString)>,
}

/// Runs `cargo xtask setup [--check]`.
pub fn command(args: &[String]) -> Result {
    let mode = if run::only_flag("setup", "--check", args)? { Mode::Check } else { Mode::Install };
    let setup = run(mode, Scope::All);
    if setup.missing.is_empty() {
        println!("xtask setup: everything that the tests need is here");
        return Ok(());
    }
    Err(Failure::Failed(setup.list()))
}

/// Installs the missing tools that it can install. Anything still missing is an error in CI and a
/// notice elsewhere.
pub fn prepare(scope: Scope) -> Result<Setup> {
    let setup = run(Mode::Install, scope);
    if setup.missing.is_empty() {
        return Ok(setup);
    }
    if run::is_ci() {
        return Err(Failure::Failed(setup.list()));
    }
    eprintln!("xtask: {}\nGoing on without: tests that need it say \"ignored\".\n", setup.list());
    Ok(setup)
}

/// Like [`prepare`], but anything missing is an error, for work that needs everything.
pub fn prepare_all() -> Result<Setup> {
    let setup = run(Mode::Install, Scope::All);
    if setup.missing.is_empty() { Ok(setup) } else { Err(Failure::Failed(setup.list())) }
}

impl Setup {
    /// Returns `cargo` with the variables of the installed tools. All steps have the same
    /// environment, because a change of it would run build scripts again.
    pub fn cargo(&self) -> Command {
        let mut cargo = run::cargo();
        cargo.envs(self.environment.iter().map(|(name, value)| (name, value)));
        cargo
    }

    fn list(&self) -> String {
        format!("set-up is not complete.\n\n{}", self.missing.join("\n"))
    }
}

fn run(mode: Mode, scope: Scope) -> Setup {
    let workspace = run::workspace();
    let results = match scope {
        Scope::Short => vec![system(mode, SHORT.iter()), crates(mode, &["Cargo.toml"])],
        Scope::All => everything(mode, &workspace),
    };
    let missing: Vec<String> =
        results.into_iter().filter_map(Result::err).map(|failure| failure.text()).collect();
    let mut environment = tools::environment(&workspace);
    if missing.is_empty() && run::var("OFFLOAD_REQUIRE").is_none() {
        let required = if scope == Scope::All { "all" } else { "short" };
        environment.push(("OFFLOAD_REQUIRE", required.into()));
    }
    Setup { missing, environment }
}

/// Installs the tools of all tests.
fn everything(mode: Mode, workspace: &Path) -> Vec<Result> {
    let folder = |variable, default| run::var(variable).map_or(default, PathBuf::from);
    let roc_obj = folder("OFFLOAD_TEST_ROC_OBJ", tools::roc_obj(workspace));
    let published = folder("OFFLOAD_TEST_PUBLISHED", tools::published(workspace));
    let rocm = folder("OFFLOAD_TEST_ROCM", tools::rocm(workspace));
    vec![
        system(mode, SHORT.iter().chain(&OTHERS)),
        unpacked(mode, &ROC_OBJ, "OFFLOAD_TEST_ROC_OBJ", &roc_obj),
        unpacked(mode, &ROCM, "OFFLOAD_TEST_ROCM", &rocm),
        unpacked(
            mode,
            &OLDEST,
            "OFFLOAD_TEST_OLDEST",
            &folder("OFFLOAD_TEST_OLDEST", tools::oldest(workspace)),
        ),
        unpacked(
            mode,
            &CLANGS,
            "OFFLOAD_TEST_CLANGS",
            &folder("OFFLOAD_TEST_CLANGS", tools::clangs(workspace)),
        ),
        cuda(mode, workspace),
        files(mode, &published),
        unpacked(mode, &ROC_RAND, "OFFLOAD_TEST_PUBLISHED", &tools::roc_rand(&published)),
        crates(mode, &MANIFESTS),
    ]
}

/// Installs something. Before the first download, prints what set-up downloads.
fn announced(install: impl FnOnce() -> Result) -> Result {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        eprintln!(
            "xtask: set-up downloads what is missing: at most 140 MB for the short run of the tests, and 1.1 GB for all of \
             them (1 GB of packages of the system and 2.4 GB in .tools on disk).\n  \
             `cargo xtask setup --check` lists it. `cargo test --workspace` downloads only crates, and leaves out the tests that \
             need a missing tool."
        );
    });
    install()
}

/// Installs packages of the system.
fn system(mode: Mode, needs: impl Iterator<Item = &'static Need> + Clone) -> Result {
    if !apt::is_here() {
        return without_apt(needs);
    }
    let all: Vec<&str> = needs.clone().flat_map(|need| need.packages).copied().collect();
    let before = apt::missing(&all)?;
    if before.is_empty() {
        return Ok(());
    }
    let reason = match mode {
        Mode::Check => "`cargo xtask setup` would install these packages".to_owned(),
        Mode::Install => match announced(|| apt::install(&before)) {
            Ok(()) => "apt-get reported success, but dpkg does not list these packages".to_owned(),
            Err(failure) => failure.text(),
        },
    };
    let after = apt::missing(&all)?;
    if after.is_empty() {
        Ok(())
    } else {
        Err(Failure::Failed(format!("{reason}:\n{}", packages(needs, &after))))
    }
}

/// Checks a system without apt by the files that exist, because its packages have other names.
fn without_apt(needs: impl Iterator<Item = &'static Need>) -> Result {
    let needs: String =
        needs.filter(|need| !need.is_found()).map(|need| describe(need, need.packages)).collect();
    if needs.is_empty() {
        return Ok(());
    }
    Err(Failure::Failed(format!(
        "Not found; set-up installs only with apt-get (package names are Debian's):\n{needs}"
    )))
}

/// Returns the missing packages, grouped by the need that each serves.
fn packages(needs: impl Iterator<Item = &'static Need>, missing: &[&str]) -> String {
    let paragraphs = needs.filter_map(|need| {
        let packages: Vec<&str> =
            need.packages.iter().copied().filter(|package| missing.contains(package)).collect();
        (!packages.is_empty()).then(|| describe(need, &packages))
    });
    let by_hand = "By hand, as root: apt-get install --no-install-recommends";
    format!("{}{by_hand} {}\n", paragraphs.collect::<String>(), missing.join(" "))
}

/// Unpacks the packages of a need into a folder. `variable` is the environment variable with which
/// the user may choose this folder.
fn unpacked(mode: Mode, need: &Need, variable: &str, folder: &Path) -> Result {
    if need.is_unpacked(folder) {
        return Ok(());
    }
    let reason = match mode {
        _ if run::var(variable).is_some() => {
            format!("{variable} leads to `{}`, which lacks files", folder.display())
        }
        _ if !apt::is_here() => "set-up unpacks packages only with apt-get".to_owned(),
        Mode::Check => "`cargo xtask setup` would unpack these packages".to_owned(),
        Mode::Install => match announced(|| apt::unpack(need.packages, folder)) {
            Ok(()) if need.is_unpacked(folder) => return Ok(()),
            Ok(()) => "these packages do not have the files that they have on Debian 12".to_owned(),
            Err(failure) => failure.text(),
        },
    };
    Err(Failure::Failed(format!("{reason}:\n{}", describe(need, need.packages))))
}

/// Checks the CUDA toolkit that the user names; otherwise installs wheels with NVIDIA's compiler.
fn cuda(mode: Mode, workspace: &Path) -> Result {
    if let Some(home) = run::var("CUDA_HOME") {
        let home = Path::new(&home);
        let lacking: Vec<&str> = tools::CUDA_PROGRAMS
            .into_iter()
            .filter(|program| !home.join(program).exists())
            .collect();
        if lacking.is_empty() {
            return Ok(());
        }
        return Err(Failure::Failed(format!(
            "CUDA_HOME is `{}`, which has no {}.\nUnset CUDA_HOME to have set-up fetch NVIDIA's tools into .tools, \
             or name a complete toolkit.\n",
            home.display(),
            lacking.join(", ")
        )));
    }
    let tree = tools::wheel_tree(workspace);
    let missing = wheels::missing(&tree);
    if missing.is_empty() {
        return Ok(());
    }
    let reason = match mode {
        Mode::Check => "`cargo xtask setup` would fetch them".to_owned(),
        Mode::Install => match announced(|| wheels::install(&tree)) {
            Ok(()) => return Ok(()),
            Err(failure) => failure.text(),
        },
    };
    let names: Vec<String> = missing.iter().map(ToString::to_string).collect();
    Err(Failure::Failed(format!(
        "{reason}:\n  NVIDIA's compiler and fatbin tools (wheels {})\n    \
         why:       nvcc compiles CUDA sources, ptxas makes cubins of PTX; fatbinary, cuobjdump and nvJitLink judge what we write\n    \
         otherwise: a CUDA toolkit of version 13; set CUDA_HOME to its folder\n",
        names.join(", ")
    )))
}

/// Installs files that other projects have published in wheels.
fn files(mode: Mode, folder: &Path) -> Result {
    let missing = published::missing(folder);
    if missing.is_empty() {
        return Ok(());
    }
    let reason = match mode {
        _ if run::var("OFFLOAD_TEST_PUBLISHED").is_some() => {
            format!("OFFLOAD_TEST_PUBLISHED is `{}`, which lacks files", folder.display())
        }
        Mode::Check => "`cargo xtask setup` would fetch them".to_owned(),
        Mode::Install => match announced(|| published::install(&missing, folder)) {
            Ok(()) => return Ok(()),
            Err(failure) => failure.text(),
        },
    };
    let names: Vec<String> =
        missing.iter().map(|it| format!("{} for {}", it.wheel, it.platform)).collect();
    Err(Failure::Failed(format!(
        "{reason}:\n  files that other projects have published (wheels {})\n    \
         why:       device code that this project did not make is read, and other tools judge what was read\n    \
         otherwise: set OFFLOAD_TEST_PUBLISHED to the `.tools/published` of a machine where set-up worked\n",
        names.join(", ")
    )))
}

/// The manifests whose crates all tests need: some tests read or link published crates.
const MANIFESTS: [&str; 7] = [
    "Cargo.toml",
    "fuzz/Cargo.toml",
    "gpu/Cargo.toml",
    "examples/Cargo.toml",
    "tests/builds/candle/Cargo.toml",
    "tests/builds/dfdx/Cargo.toml",
    "tests/runtimes/run/cust/Cargo.toml",
];

/// Fetches the crates that the lock files name: tests, fuzz targets and examples are built offline.
fn crates(mode: Mode, manifests: &[&str]) -> Result {
    for &manifest in manifests {
        let mut fetch = run::cargo();
        fetch.args(["fetch", "--locked", "--quiet", "--manifest-path", manifest]);
        if mode == Mode::Check {
            if !run::succeeds(fetch.arg("--offline")) {
                let line = format!("cargo fetch --locked --manifest-path {manifest}");
                return Err(Failure::Failed(format!(
                    "Crates are not downloaded: `{line}` does it\n"
                )));
            }
            continue;
        }
        run::check(&mut fetch).map_err(|failure| {
            let why = "the tests run Cargo offline and need every crate that the lock file names";
            Failure::Failed(format!("{}:\n  {why}\n", failure.text()))
        })?;
    }
    Ok(())
}

fn describe(need: &Need, packages: &[&str]) -> String {
    format!(
        "  {} (packages {})\n    why:       {}\n    otherwise: {}\n",
        need.what,
        packages.join(" "),
        need.why,
        need.elsewhere
    )
}
