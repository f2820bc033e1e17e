//! Debian's packages: finds missing ones and installs them.

use crate::run::{self, Failure, Result};
use std::path::Path;
use std::process::Command;
use std::{fs, io};

/// Whether this system installs its packages with apt.
pub fn is_here() -> bool {
    run::on_path("apt-get").is_some() && run::on_path("dpkg-query").is_some()
}

/// Returns the packages that are not installed, in the order given.
pub fn missing(packages: &[&'static str]) -> Result<Vec<&'static str>> {
    let mut query = Command::new("dpkg-query");
    query.args(["-W", "-f=${Package} ${db:Status-Status}\\n"]).args(packages);
    // dpkg-query fails if it does not know a name; that package is missing, so the status does not
    // matter.
    let (_, listing) = run::stdout(&mut query)?;
    let installed: Vec<&str> =
        listing.lines().filter_map(|line| line.strip_suffix(" installed")).collect();
    Ok(packages.iter().copied().filter(|package| !installed.contains(package)).collect())
}

/// Installs the packages; skips those that no apt source has, so that the others are still
/// installed.
pub fn install(packages: &[&'static str]) -> Result {
    let privilege = privilege()?;
    eprintln!("xtask setup: installing with apt: {}", packages.join(" "));
    // An unreachable source is no reason to stop: the other sources may have all packages.
    let update = run::check(&mut apt_get(&privilege, &["update"]));
    let known = known(packages)?;
    if !known.is_empty() {
        let fixed = ["install", "--yes", "--no-install-recommends"];
        run::check(&mut apt_get(&privilege, &[&fixed[..], &known].concat()))?;
    }
    let unknown: Vec<_> = packages.iter().copied().filter(|p| !known.contains(p)).collect();
    match (unknown.is_empty(), update) {
        (true, _) => Ok(()),
        (false, Err(failed)) => Err(failed),
        (false, Ok(())) => Err(Failure::Failed(format!(
            "no source that apt is set up with has {}\n  \
             (Debian 12 has LLVM 22 among its security updates; LLVM's own apt repository has it for others)",
            unknown.join(" ")
        ))),
    }
}

/// Downloads the packages and unpacks them into a folder, without installing them. The folder
/// appears only when it is complete.
pub fn unpack(packages: &[&'static str], folder: &Path) -> Result {
    eprintln!("xtask setup: unpacking from apt: {}", packages.join(" "));
    if known(packages)?.len() < packages.len() {
        run::check(&mut apt_get(&privilege()?, &["update"]))?;
    }
    download(&["download"], packages, folder)
}

/// Downloads packages of another release of Debian, such as `bullseye`, from the same mirrors, and
/// unpacks them into a folder.
pub fn unpack_of(release: &str, packages: &[&'static str], folder: &Path) -> Result {
    let read = |path: &Path| fs::read_to_string(path).map_err(|error| failed("read", path, &error));
    let system = read(Path::new("/etc/os-release"))?;
    let own = system.lines().find_map(|line| line.strip_prefix("VERSION_CODENAME="));
    let own = own.unwrap_or_default().trim_matches('"').to_owned();
    // Files of apt's own, so that the system's lists and sources stay as they are.
    let apt = folder.with_extension("apt");
    let [parts, lists] = ["parts", "lists"].map(|name| apt.join(name));
    let create = |folder: &Path| {
        fs::create_dir_all(folder).map_err(|error| failed("create", folder, &error))
    };
    create(&parts)?;
    create(&lists.join("partial"))?;
    let mut sources = vec![Path::new("/etc/apt/sources.list").to_owned()];
    let more = fs::read_dir("/etc/apt/sources.list.d").into_iter().flatten().flatten();
    sources.extend(more.map(|entry| entry.path()));
    let is_source = |path: &Path| {
        path.extension().is_some_and(|extension| extension == "list" || extension == "sources")
    };
    for source in sources.iter().filter(|source| is_source(source) && source.is_file()) {
        let text = read(source)?;
        // Sources of others have other names for their releases.
        if text.contains(&own) {
            let copy = parts.join(source.file_name().unwrap_or_default());
            fs::write(&copy, text.replace(&own, release))
                .map_err(|error| failed("write", &copy, &error))?;
        }
    }
    let options = [
        "Dir::Etc::sourcelist=/dev/null".to_owned(),
        format!("Dir::Etc::sourceparts={}", parts.display()),
        format!("Dir::State::lists={}", lists.display()),
        "Dir::Cache::pkgcache=".to_owned(),
        "Dir::Cache::srcpkgcache=".to_owned(),
    ];
    let options: Vec<&str> = options.iter().flat_map(|option| ["-o", option]).collect();
    run::check(Command::new("apt-get").args(["-q"]).args(&options).arg("update"))?;
    let of_release: Vec<String> = packages.iter().map(|it| format!("{it}/{release}")).collect();
    let of_release: Vec<&str> = of_release.iter().map(String::as_str).collect();
    download(&[&options[..], &["download"]].concat(), &of_release, folder)
}

/// Downloads packages by a command of apt-get, and unpacks them into a folder, which appears only
/// when it is complete.
pub fn download(command: &[&str], packages: &[&str], folder: &Path) -> Result {
    let new = folder.with_extension(format!("new-{}", std::process::id()));
    let result = download_into(&new, command, packages).and_then(|()| {
        // This removes what an older set-up has left.
        let _ = fs::remove_dir_all(folder);
        fs::rename(&new, folder).map_err(|error| failed("put in place", folder, &error))
    });
    let _ = fs::remove_dir_all(&new);
    result
}

fn download_into(folder: &Path, command: &[&str], packages: &[&str]) -> Result {
    fs::create_dir_all(folder).map_err(|error| failed("create", folder, &error))?;
    run::check(Command::new("apt-get").current_dir(folder).arg("-q").args(command).args(packages))?;
    let entries = fs::read_dir(folder).map_err(|error| failed("list", folder, &error))?;
    for package in entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|e| e == "deb"))
    {
        run::check(Command::new("dpkg-deb").arg("-x").arg(&package).arg(folder))?;
        fs::remove_file(&package).map_err(|error| failed("remove", &package, &error))?;
    }
    link_llvm(folder)
}

/// Links LLVM's libraries of unpacked packages into the folders where their programs search.
/// Installed packages need no links, because the dynamic linker searches `/usr/lib/<triple>`.
fn link_llvm(folder: &Path) -> Result {
    let lib = folder.join("usr/lib");
    let names = |folder: &Path| -> Vec<String> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
    };
    let folders = names(&lib);
    for triple in folders.iter().filter(|name| name.ends_with("-linux-gnu")) {
        let libraries = names(&lib.join(triple));
        let libraries = libraries.iter().filter(|name| name.starts_with("libLLVM"));
        for library in libraries {
            for llvm in folders.iter().filter(|name| name.starts_with("llvm-")) {
                let link = lib.join(llvm).join("lib").join(library);
                if !link.exists() {
                    symlink(Path::new("../..").join(triple).join(library), &link)
                        .map_err(|error| failed("make the link", &link, &error))?;
                }
            }
        }
    }
    Ok(())
}

#[cfg(unix)]
pub use std::os::unix::fs::symlink;

/// Packages of apt exist only on Linux.
#[cfg(not(unix))]
pub fn symlink(_: impl AsRef<Path>, _: impl AsRef<Path>) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

fn failed(what: &str, path: &Path, error: &io::Error) -> Failure {
    Failure::Failed(format!("cannot {what} `{}`: {error}", path.display()))
}

/// Returns the packages that apt could install.
fn known(packages: &[&'static str]) -> Result<Vec<&'static str>> {
    let mut show = Command::new("apt-cache");
    show.env("LC_ALL", "C").args(["show", "--no-all-versions"]).args(packages);
    let (_, listing) = run::stdout(&mut show)?;
    let names: Vec<&str> = listing.lines().filter_map(|l| l.strip_prefix("Package: ")).collect();
    Ok(packages.iter().copied().filter(|package| names.contains(package)).collect())
}

/// Returns the command before `apt-get`: nothing for root, otherwise sudo.
fn privilege() -> Result<Vec<&'static str>> {
    let (_, id) = run::stdout(Command::new("id").arg("-u"))?;
    if id.trim() == "0" {
        return Ok(Vec::new());
    }
    if run::on_path("sudo").is_none() {
        return Err(Failure::Failed(
            "apt-get needs root: this is not root, and there is no sudo".to_owned(),
        ));
    }
    // In CI a password prompt would wait forever, so sudo fails instead of asking (`-n`).
    Ok(if run::is_ci() { vec!["sudo", "-n"] } else { vec!["sudo"] })
}

fn apt_get(privilege: &[&str], args: &[&str]) -> Command {
    // `env` sets the variable, because sudo drops the caller's variables.
    let fixed = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q"];
    // Another apt may be at work (unattended upgrades), and a download may fail once: apt waits,
    // and tries again.
    let options = ["-o", "DPkg::Lock::Timeout=300", "-o", "Acquire::Retries=3"];
    let words = [privilege, &fixed, &options, args].concat();
    let mut command = Command::new(words[0]);
    command.args(&words[1..]);
    command
}
