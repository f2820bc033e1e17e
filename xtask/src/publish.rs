//! Tests the crates in their published form: packed, unpacked again, and built from there.

use crate::links;
use crate::run::{self, Failure, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The crates that are published, each after those that it needs.
pub const CRATES: [&str; 7] = [
    "offload-format",
    "offload-pack",
    "offload-embed-macro",
    "offload-gpu",
    "offload-kernel",
    "offload-build",
    "offload-tools",
];

/// Files that each package must contain, in addition to its sources.
const FILES: [&str; 3] = ["README.md", "LICENSE-MIT", "LICENSE-APACHE"];

/// Runs the step `publish` of `ci`.
pub fn in_ci() -> Result {
    names()?;
    let target = run::workspace().join("target/publish");
    dry_run(&target)?;
    // A dry run puts its packages where only Cargo searches for them. `cargo package` makes the
    // same packages, in a folder where the steps below can read them.
    let mut package = run::cargo();
    package.args([
        "package",
        "--offline",
        "--no-verify",
        "--locked",
        "--allow-dirty",
        "--quiet",
        "--target-dir",
    ]);
    run::check(package.arg(&target).args(CRATES.iter().flat_map(|name| ["--package", name])))?;
    let unpacked = unpack(&target)?;
    doctests(&unpacked)?;
    docs_rs(&unpacked)?;
    minimal_versions(&unpacked)
}

/// Whether Cargo may not contact the registry.
fn is_offline() -> bool {
    run::var("CARGO_NET_OFFLINE").is_some_and(|value| value == "true" || value == "1")
}

/// The registry's answer about the name of a crate.
#[derive(Debug, PartialEq, Eq)]
enum Name {
    Free,
    /// The crate's `repository` is ours.
    Ours,
    /// Another project's crate, with its `repository`.
    Taken(String),
    /// No answer, and why.
    Unknown(String),
}

/// Checks that each name is free or ours. Without an answer of the registry, prints that the check
/// is skipped.
fn names() -> Result {
    for name in CRATES {
        let answer = if is_offline() {
            Name::Unknown("CARGO_NET_OFFLINE is set".to_owned())
        } else {
            // In the workspace, Cargo would describe its member.
            let mut info = run::cargo();
            info.current_dir(std::env::temp_dir()).args(["info", "--color=never", name]);
            let output = info.stdin(Stdio::null()).output().map_err(|error| {
                Failure::Failed(format!("`cargo info {name}` does not start: {error}"))
            })?;
            let (out, err) = (output.stdout, output.stderr);
            let found = output.status.success().then(|| String::from_utf8_lossy(&out));
            answer(name, found.as_deref(), &String::from_utf8_lossy(&err), repository())
        };
        match answer {
            Name::Free => eprintln!("xtask: the name {name} is free"),
            Name::Ours => {}
            Name::Taken(of) => {
                return Err(Failure::Failed(format!(
                    "the registry has another project's crate {name} (repository: {of}), and ours is \
                     {}; choose another name",
                    repository().unwrap_or("not in Cargo.toml: fill in `repository`")
                )));
            }
            Name::Unknown(why) => {
                eprintln!("xtask: skipped: whether the name {name} is free, as {why}");
            }
        }
    }
    Ok(())
}

/// Returns the `repository` of our crates, once Cargo.toml has it.
fn repository() -> Option<&'static str> {
    let lines = include_str!("../../Cargo.toml").lines();
    lines.into_iter().find_map(|line| line.strip_prefix("repository = \"")?.strip_suffix('"'))
}

/// Reads the answer of `cargo info`: its output if it found the crate, and its errors.
fn answer(name: &str, found: Option<&str>, errors: &str, ours: Option<&str>) -> Name {
    let Some(found) = found else {
        let reason = errors.lines().find_map(|line| line.strip_prefix("error: "));
        return match reason {
            Some(reason) if reason.starts_with(&format!("could not find `{name}` in")) => {
                Name::Free
            }
            _ => Name::Unknown(format!("`cargo info {name}` failed: {}", errors.trim())),
        };
    };
    match found.lines().find_map(|line| line.strip_prefix("repository: ")) {
        Some(of) if Some(of) == ours => Name::Ours,
        of => Name::Taken(of.unwrap_or("none").to_owned()),
    }
}

/// Packs all crates, and builds each from its package, with the packages of its dependencies. Every
/// warning is an error.
fn dry_run(target: &Path) -> Result {
    forget_earlier_packages(target)?;
    let mut cargo = run::cargo();
    // Without the registry's index Cargo cannot determine whether a version is already published.
    // `cargo package` does everything else that a dry run does.
    if is_offline() {
        cargo
            .args(["package", "--offline"])
            .args(CRATES.iter().flat_map(|name| ["--package", name]))
    } else {
        cargo.args(["publish", "--dry-run", "--workspace"])
    };
    cargo.args(["--locked", "--allow-dirty", "--target-dir"]).arg(target);
    let line = run::line(&cargo);
    let output = cargo.stdin(Stdio::null()).output();
    let output =
        output.map_err(|error| Failure::Failed(format!("`{line}` does not start: {error}")))?;
    let said = String::from_utf8_lossy(&output.stderr);
    eprint!("{said}");
    if !output.status.success() {
        let advice = "without a network, CARGO_NET_OFFLINE=true packs and builds them without asking the registry";
        return Err(Failure::Failed(format!("`{line}` failed ({}); {advice}", output.status)));
    }
    let is_expected = |warning: &str| warning == "warning: aborting upload due to dry run";
    match said.lines().find(|line| line.starts_with("warning") && !is_expected(line)) {
        Some(warning) => Err(Failure::Failed(format!("`{line}` warns: {warning}"))),
        None => Ok(()),
    }
}

/// Removes the packages of an earlier run, unpacked and compiled. Cargo assumes that a package of a
/// registry never changes, so it would compile the later packages with the earlier ones.
fn forget_earlier_packages(target: &Path) -> Result {
    let remove = |folder: &Path| match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Failure::Failed(format!("cannot remove `{}`: {error}", folder.display())))
        }
        _ => Ok(()),
    };
    remove(target)?;
    let Some(home) = run::cargo_home() else { return Ok(()) };
    for registry in fs::read_dir(home.join("registry/src")).into_iter().flatten().flatten() {
        // The registry that a dry run makes has no name before the dash.
        if registry.file_name().to_string_lossy().starts_with('-') {
            for name in CRATES {
                remove(&registry.path().join(format!("{name}-{}", env!("CARGO_PKG_VERSION"))))?;
            }
        }
    }
    Ok(())
}

/// Unpacks the packages into a separate workspace. There, each package finds the others as if they
/// came from the registry.
fn unpack(target: &Path) -> Result<PathBuf> {
    let folder = target.join("unpacked");
    let failed = |what: &str, path: &Path, error: &std::io::Error| {
        Failure::Failed(format!("cannot {what} `{}`: {error}", path.display()))
    };
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(|error| failed("remove", &folder, &error))?;
    }
    fs::create_dir_all(&folder).map_err(|error| failed("create", &folder, &error))?;
    let (mut members, mut patches) = (String::new(), String::new());
    for name in CRATES {
        let version = env!("CARGO_PKG_VERSION");
        let package = format!("{name}-{version}");
        let file = target.join("package").join(format!("{package}.crate"));
        // All files of packages have the same time, so Cargo would not notice that a file has
        // changed since the last build. `--touch` sets the current time.
        run::check(
            Command::new("tar").args(["--touch", "-xzf"]).arg(&file).arg("-C").arg(&folder),
        )?;
        let missing = FILES
            .iter()
            .find(|file| !folder.join(&package).join(file).metadata().is_ok_and(|it| it.len() > 0));
        if let Some(missing) = missing {
            return Err(Failure::Failed(format!(
                "the package `{}` has no {missing}",
                file.display()
            )));
        }
        members += &format!("\"{package}\", ");
        patches += &format!("{name} = {{ path = \"{package}\" }}\n");
    }
    let manifest = format!(
        "[workspace]\nresolver = \"3\"\nmembers = [{members}]\n\n[patch.crates-io]\n{patches}"
    );
    let path = folder.join("Cargo.toml");
    fs::write(&path, manifest).map_err(|error| failed("write", &path, &error))?;
    let lock = folder.join("Cargo.lock");
    fs::copy(run::workspace().join("Cargo.lock"), &lock)
        .map_err(|error| failed("write", &lock, &error))?;
    Ok(folder)
}

/// Returns a Cargo command in the workspace of unpacked packages, with its own target folder.
fn cargo_in(folder: &Path) -> Command {
    let mut cargo = run::cargo();
    cargo.current_dir(folder).env("CARGO_TARGET_DIR", run::workspace().join("target/publish"));
    cargo
}

/// Runs the examples of the documentation, which may use only files in the packages.
fn doctests(folder: &Path) -> Result {
    run::check(cargo_in(folder).args([
        "test",
        "--doc",
        "--workspace",
        "--all-features",
        "--offline",
        "--quiet",
    ]))
}

/// Builds the documentation as docs.rs does: its configuration, its variable, and all features,
/// which the manifests request.
fn docs_rs(folder: &Path) -> Result {
    let mut doc = cargo_in(folder);
    doc.args(["doc", "--workspace", "--no-deps", "--all-features", "--offline"]);
    run::check(doc.env("RUSTDOCFLAGS", "--cfg docsrs -D warnings").env("DOCS_RS", "1"))?;
    links::check(&run::workspace().join("target/publish/doc"))
}

/// Checks the crates with the oldest versions of dependencies that the manifests allow. Cargo's
/// option for this check is unstable. That does not matter, because no user gets this build.
fn minimal_versions(folder: &Path) -> Result {
    if is_offline() {
        eprintln!("xtask: the oldest versions of dependencies are not tried without the registry");
        return Ok(());
    }
    run::check(
        cargo_in(folder).args(["update", "-Zdirect-minimal-versions"]).env("RUSTC_BOOTSTRAP", "1"),
    )?;
    run::check(cargo_in(folder).args(["check", "--workspace", "--all-features", "--locked"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_free_or_ours() {
        let ours = Some("https://example.org/offload");
        let found = |repository: &str| {
            answer("x", Some(&format!("x #gpu\nversion: 0.1.0\n{repository}")), "", ours)
        };
        assert_eq!(found("repository: https://example.org/offload\n"), Name::Ours);
        assert_eq!(
            found("repository: https://example.org/other\n"),
            Name::Taken("https://example.org/other".to_owned())
        );
        assert_eq!(found(""), Name::Taken("none".to_owned()));
        // Before `repository` is filled in, no crate of the registry is ours.
        assert_eq!(answer("x", Some("version: 1.0.0\n"), "", None), Name::Taken("none".to_owned()));
        let failed = |errors: &str| answer("x", None, errors, ours);
        let absent = "    Updating index\nerror: could not find `x` in registry `index`\n";
        assert_eq!(failed(absent), Name::Free);
        for other in
            ["error: could not find `xy` in registry `index`\n", "error: failed to fetch\n", ""]
        {
            assert!(matches!(failed(other), Name::Unknown(_)), "{other}");
        }
    }
}
