//! Finds and installs Debian packages.

use crate::files;
use crate::run::{self, Result, fail};
use std::path::Path;
use std::process::Command;

/// Whether this system installs packages with apt.
pub fn is_here() -> bool {
    run::on_path("apt-get").is_some() && run::on_path("dpkg-query").is_some()
}

/// Returns the packages that are not installed, in the order given.
pub fn missing(packages: &[&'static str]) -> Result<Vec<&'static str>> {
    let mut query = Command::new("dpkg-query");
    query.args(["-W", "-f=${Package} ${db:Status-Status}\\n"]);
    Ok(divide(packages, &mut query, "NAME installed")?.1)
}

/// Partitions packages by whether a command lists them. `line` is the output line for a package
/// called NAME.
fn divide<'a>(
    packages: &[&'a str],
    query: &mut Command,
    line: &str,
) -> Result<(Vec<&'a str>, Vec<&'a str>)> {
    // Ignore the status, because the command fails if it does not know one of the packages.
    let (_, listing, _) = run::outcome(query.args(packages))?;
    let lines: Vec<&str> = listing.lines().collect();
    let is_listed = |name: &&str| lines.contains(&&*line.replace("NAME", name));
    Ok(packages.iter().partition(|name| is_listed(name)))
}

/// Installs the packages that apt knows, and skips the others.
pub fn install(packages: &[&'static str]) -> Result {
    let mut update = apt_get(&["update"])?;
    eprintln!("xtask setup: installing with apt: {}", packages.join(" "));
    // Continue if a source cannot be reached: the other sources may have all packages.
    let update = run::check(&mut update);
    let (known, unknown) = known(packages)?;
    if !known.is_empty() {
        let fixed = ["install", "--yes", "--no-install-recommends"];
        run::check(&mut apt_get(&[&fixed[..], &known].concat())?)?;
    }
    if unknown.is_empty() {
        return Ok(());
    }
    update?;
    fail(format!(
        "no source that apt is set up with has {}\n  \
         (Debian 12 has LLVM 22 among its security updates; LLVM's own apt repository has it for others)",
        unknown.join(" ")
    ))
}

/// Downloads the packages and unpacks them into a folder without installing them. The folder
/// appears only when it is complete.
pub fn unpack(packages: &[&'static str], folder: &Path) -> Result {
    eprintln!("xtask setup: unpacking from apt: {}", packages.join(" "));
    if !known(packages)?.1.is_empty() {
        run::check(&mut apt_get(&["update"])?)?;
    }
    download(&[&["-q", "download"], packages].concat(), folder)
}

/// Downloads packages of a different Debian release, such as `bullseye`, from the same mirror, and
/// unpacks them into a folder.
pub fn unpack_of(release: &str, packages: &[&'static str], folder: &Path) -> Result {
    let mut targets = run::command("apt-get", "indextargets --format $(REPO_URI)");
    let (_, mirrors, _) = run::outcome(targets.arg("Created-By: Packages"))?;
    // Skip other sources, such as security updates, because their releases have different names.
    let mirror = mirrors.lines().find(|it| it.trim_end_matches('/').ends_with("/debian"));
    let mirror =
        mirror.ok_or("apt knows no mirror of Debian (`apt-get update` reads its lists)")?;
    let sources = folder.with_extension("list");
    files::write(&sources, &format!("deb {mirror} {release} main\n"))?;
    let sources = format!("Dir::Etc::sourcelist={}", sources.display());
    // Without the release, apt would prefer the newer versions of the installed release.
    let packages: Vec<String> = packages.iter().map(|it| format!("{it}/{release}")).collect();
    unpack_with(&[&sources, "Dir::Etc::sourceparts=/dev/null"], &packages, folder)
}

/// Downloads packages with these apt-get options, and unpacks them into a folder. Uses separate
/// package lists, so that the system's lists stay unchanged.
pub fn unpack_with(options: &[&str], packages: &[String], folder: &Path) -> Result {
    let lists = folder.with_extension("lists");
    files::create(&lists.join("partial"))?;
    let state = format!("Dir::State::lists={}", lists.display());
    let own = [&*state, "Dir::Cache::pkgcache=", "Dir::Cache::srcpkgcache="];
    let mut command = vec!["-q"];
    command.extend(own.iter().chain(options).flat_map(|option| ["-o", option]));
    // Some sources may lack an architecture, which apt reports as an error, so ignore the status.
    run::status(Command::new("apt-get").args(&command).arg("update"))?;
    command.push("download");
    command.extend(packages.iter().map(String::as_str));
    download(&command, folder)?;
    files::remove(&lists)
}

/// Downloads packages with an apt-get command, and unpacks them into a folder. The folder appears
/// only when it is complete.
fn download(command: &[&str], folder: &Path) -> Result {
    files::make(folder, |new| {
        run::check(Command::new("apt-get").current_dir(new).args(command))?;
        run::check(Command::new("sh").current_dir(new).args(["-c", UNPACK]))
    })
}

/// A script that unpacks the packages in a folder. It links LLVM's libraries into the folders where
/// their programs search. Installed packages need no such links, because the dynamic linker
/// searches `/usr/lib/<triple>`.
const UNPACK: &str = "set -e
for package in *.deb; do dpkg-deb -x $package .; rm $package; done
for library in usr/lib/*-linux-gnu/libLLVM*; do
  for llvm in usr/lib/llvm-*/lib; do
    link=$llvm/${library##*/}
    ! [ -e $library ] || [ -e $link ] || ln -s ../../${library#usr/lib/} $link
  done
done";

/// Returns the packages that apt can install, and the others.
fn known<'a>(packages: &[&'a str]) -> Result<(Vec<&'a str>, Vec<&'a str>)> {
    let mut show = run::command("apt-cache", "show --no-all-versions");
    divide(packages, show.env("LC_ALL", "C"), "Package: NAME")
}

/// Returns apt-get with these arguments, through `sudo` unless the user is root.
fn apt_get(args: &[&str]) -> Result<Command> {
    // Set the variable with `env`, because sudo drops the caller's variables. Wait and retry,
    // because another apt (unattended upgrades) may be running, and a download may fail once.
    const APT_GET: &str = "DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 \
                           -o Acquire::Retries=3";
    let (_, id, _) = run::outcome(Command::new("id").arg("-u"))?;
    let mut command = if id.trim() == "0" {
        run::command("env", APT_GET)
    } else if run::on_path("sudo").is_some() {
        // In CI, a password prompt would wait forever, so make sudo fail instead (`-n`).
        let options = if run::is_ci() { "-n" } else { "" };
        run::command("sudo", &format!("{options} env {APT_GET}"))
    } else {
        return fail("apt-get needs root: this is not root, and there is no sudo");
    };
    command.args(args);
    Ok(command)
}
