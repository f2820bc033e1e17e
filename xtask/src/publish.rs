//! Tests the crates in their published form: packaged by Cargo, and built from the packages.

use crate::run::{self, Result, fail};
use crate::{files, tools};
use std::path::{Path, PathBuf};

/// The published crates. Each crate comes after the crates that it needs.
pub const CRATES: [&str; 7] = [
    "offload-format",
    "offload-pack",
    "offload-embed-macro",
    "offload-gpu",
    "offload-kernel",
    "offload-build",
    "offload-tools",
];

/// The version of the crates.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Runs the `publish` step of `ci`.
pub fn in_ci() -> Result {
    if is_offline() {
        eprintln!("xtask: skipped without the registry: the names, and the oldest dependencies");
    } else {
        names()?;
    }
    let target = run::workspace().join("target/publish");
    dry_run(&target)?;
    let packages = join(&target)?;
    // Documentation examples may use only files in the packages.
    let cargo = |args| {
        let mut cargo = run::cargo(args);
        cargo.current_dir(&packages).env("CARGO_TARGET_DIR", &target);
        cargo
    };
    run::check(&mut cargo("test --doc --workspace --all-features --offline --quiet"))?;
    // docs.rs sets this variable and configuration, and the manifests request all features.
    let mut doc = cargo("doc --workspace --no-deps --all-features --offline");
    run::check(doc.env("RUSTDOCFLAGS", "--cfg docsrs -D warnings").env("DOCS_RS", "1"))?;
    links(&target.join("doc"))?;
    if is_offline() {
        return Ok(());
    }
    // Test the oldest versions of dependencies that the manifests allow. Cargo's option for this is
    // unstable, which does not matter, because no user gets this build.
    run::check(cargo("update -Zdirect-minimal-versions").env("RUSTC_BOOTSTRAP", "1"))?;
    run::check(&mut cargo("check --workspace --all-features --locked"))
}

/// Whether Cargo must not contact the registry.
fn is_offline() -> bool {
    run::var("CARGO_NET_OFFLINE").is_some_and(|value| value == "true" || value == "1")
}

/// Checks that no crate's name belongs to a different project in the registry. A name that the
/// registry does not have is free.
fn names() -> Result {
    let repository = |text: &str, start: &str| {
        let found = text.lines().find_map(|line| line.strip_prefix(start));
        found.map(|url| url.trim_matches('"').to_owned())
    };
    let ours = repository(include_str!("../../Cargo.toml"), "repository = ");
    for name in CRATES {
        // Inside the workspace, Cargo would describe the workspace's own crate.
        let mut info = run::cargo(&format!("info --color=never {name}"));
        let (status, text, errors) = run::outcome(info.current_dir(std::env::temp_dir()))?;
        if !status.success() {
            if !errors.contains(&format!("could not find `{name}`")) {
                eprintln!("xtask: skipped: whether the name {name} is free: {}", errors.trim());
            }
            continue;
        }
        let of = repository(&text, "repository: ");
        if of.is_none() || of != ours {
            return fail(format!(
                "the registry has another project's crate {name} (repository: {of:?}, ours is {ours:?}): choose another name"
            ));
        }
    }
    Ok(())
}

/// Packages all crates. Builds each crate from its package, with the packages of its dependencies.
/// Treats every warning as an error.
fn dry_run(target: &Path) -> Result {
    forget_earlier_packages(target)?;
    // Without the registry's index, Cargo cannot determine whether a version is already published.
    // `cargo package` does everything else that a dry run does.
    let mut cargo = if is_offline() {
        run::cargo(&format!("package --offline --package {}", CRATES.join(" --package ")))
    } else {
        run::cargo("publish --dry-run --workspace")
    };
    cargo.args(["--locked", "--allow-dirty", "--target-dir"]).arg(target);
    let line = run::line(&cargo);
    let (status, _, said) = run::outcome(&mut cargo)?;
    eprint!("{said}");
    if !status.success() {
        let advice = "without a network, CARGO_NET_OFFLINE=true packs and builds them without asking the registry";
        return fail(format!("`{line}` failed ({status}); {advice}"));
    }
    let is_expected = |warning: &str| warning == "warning: aborting upload due to dry run";
    match said.lines().find(|line| line.starts_with("warning") && !is_expected(line)) {
        Some(warning) => fail(format!("`{line}` warns: {warning}")),
        None => Ok(()),
    }
}

/// Removes the unpacked and compiled packages of an earlier run. Cargo assumes that packages in a
/// registry never change, so it would reuse the earlier ones.
fn forget_earlier_packages(target: &Path) -> Result {
    files::remove(target)?;
    // Cargo's folder for registry packages.
    let home = run::var("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(Path::new(&run::var("HOME")?).join(".cargo")));
    let registries = home.and_then(|home| files::list(&home.join("registry/src")).ok());
    // The registry that a dry run creates has a name that starts with a dash.
    for registry in registries.iter().flatten().filter(|it| files::name(it).starts_with('-')) {
        for name in CRATES {
            files::remove(&registry.join(format!("{name}-{VERSION}")))?;
        }
    }
    Ok(())
}

/// Creates a workspace from the packages, in the folder where the dry run unpacked them. Its
/// members find each other as if they came from the registry.
fn join(target: &Path) -> Result<PathBuf> {
    let folder = target.join("package");
    let members = CRATES.map(|name| format!("\"{name}-{VERSION}\"")).join(", ");
    let patches = CRATES.map(|name| format!("{name} = {{ path = \"{name}-{VERSION}\" }}\n"));
    let manifest = format!(
        "[workspace]\nresolver = \"3\"\nmembers = [{members}]\n\n[patch.crates-io]\n{}",
        patches.concat()
    );
    files::write(&folder.join("Cargo.toml"), &manifest)?;
    files::copy(&run::workspace().join("Cargo.lock"), &folder.join("Cargo.lock"))?;
    Ok(folder)
}

/// Checks every link between the HTML pages in a folder, and between the repository's documents,
/// including anchors. Does not follow links to other hosts.
fn links(pages: &Path) -> Result {
    let documents = run::output(&mut run::command("git", "ls-files *.md"))?;
    let options = "--offline --include-fragments --no-progress";
    let mut lychee = run::command(tools::lychee(), options);
    // Exclude rustdoc's source pages, because they contain text that looks like links, and a script
    // resolves the line numbers in links to them. The other excluded pages link to a list of crates
    // that rustdoc does not write.
    lychee.args(["--exclude-path", "/doc/src/|/(help|settings)\\.html$"]);
    lychee.args(["--exclude", "/doc/src/.*#"]);
    // Exclude links to Rust paths, which come from a comment in a dependency (bytemuck) whose pages
    // are not built. In our own comments, rustdoc rejects such links.
    lychee.args(["--exclude", "::"]);
    run::check(lychee.arg(pages).args(documents.lines()))
}
