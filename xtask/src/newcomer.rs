//! `newcomer`: the first two days of a user, on a minimal Debian 12 that contains only this
//! machine's Rust. Scripts follow README and guide, paste the commands that messages print, and
//! report the time of each step.

use crate::run::{self, Failure, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The script that runs inside the minimal system, and the one of the second day, which it runs at
/// its end.
const DAYS: [(&str, &str); 2] = [
    ("newcomer.sh", include_str!("newcomer.sh")),
    ("second_day.sh", include_str!("second_day.sh")),
];

/// A script that mounts folders in the minimal system, and then runs the two days in it. The
/// mounts end when the script's process ends. `$1` is the system, `$2` Rust's folder, `$3` the
/// repository.
const ENTER: &str = r#"
set -eu
mkdir -p "$1/rust" "$1/origin.git"
mount --bind "$2" "$1/rust"
mount --bind "$3" "$1/origin.git"
mount -t proc proc "$1/proc"
mount --rbind /dev "$1/dev"
exec env -i HOME=/root TERM=dumb PATH=/usr/sbin:/usr/bin:/sbin:/bin CARGO_BUILD_JOBS=2 \
  PIP_CERT=/etc/ssl/certs/ca-certificates.crt CARGO_HTTP_CAINFO=/etc/ssl/certs/ca-certificates.crt \
  chroot "$1" bash /newcomer.sh
"#;

/// Files of this machine that the minimal system needs to reach the package registries.
const REACH: [&str; 5] = [
    "etc/resolv.conf",
    "etc/hosts",
    "etc/pip.conf",
    "etc/apt/sources.list.d/debian.sources",
    "etc/apt/apt.conf.d",
];

/// Runs `cargo xtask newcomer`.
pub fn command(args: &[String]) -> Result {
    if let Some(other) = args.first() {
        return Err(Failure::Usage(format!("`newcomer` does not know `{other}`")));
    }
    for program in ["debootstrap", "unshare", "chroot", "git"] {
        if run::on_path(program).is_none() {
            let text = format!(
                "`newcomer` needs {program}, on Debian and as root: apt-get install debootstrap git"
            );
            return Err(Failure::Failed(text));
        }
    }
    let folder = run::workspace().join("target").join("newcomer");
    let system = fresh_system(&folder)?;
    let repository = folder.join("origin.git");
    remove(&repository)?;
    run::check(
        Command::new("git").args(["clone", "-q", "--bare"]).arg(run::workspace()).arg(&repository),
    )?;
    let (_, sysroot) = run::stdout(Command::new("rustc").args(["--print", "sysroot"]))?;
    for (name, script) in DAYS {
        write(&system.join(name), script)?;
    }
    let mut day = Command::new("unshare");
    day.args(["-m", "sh", "-c", ENTER, "sh"]).arg(&system).arg(sysroot.trim()).arg(&repository);
    run::check(&mut day)
}

/// Unpacks a new minimal system from an archive, which the first call makes.
fn fresh_system(folder: &Path) -> Result<PathBuf> {
    let (system, archive) = (folder.join("system"), folder.join("bare.tar"));
    std::fs::create_dir_all(folder).map_err(|error| failed("make the folder", folder, &error))?;
    remove(&system)?;
    if !archive.is_file() {
        run::check(
            Command::new("debootstrap").args(["--variant=minbase", "bookworm"]).arg(&system),
        )?;
        run::check(Command::new("tar").arg("-cf").arg(&archive).arg("-C").arg(&system).arg("."))?;
    } else {
        std::fs::create_dir_all(&system)
            .map_err(|error| failed("make the folder", &system, &error))?;
        run::check(Command::new("tar").arg("-xf").arg(&archive).arg("-C").arg(&system))?;
    }
    for path in REACH {
        let (from, to) = (Path::new("/").join(path), system.join(path));
        if from.exists() {
            let parent = to.parent().expect("a file lies in a folder");
            run::check(Command::new("cp").arg("-rL").arg(&from).arg(parent))?;
        }
    }
    // debootstrap does not list the security updates of Debian as a source of packages. Container
    // images of Debian 12 list the security updates, which contain the newest clang.
    if system.join("etc/apt/sources.list.d/debian.sources").is_file() {
        write(&system.join("etc/apt/sources.list"), "")?;
    }
    let certificates = Path::new("/etc/ssl/certs/ca-certificates.crt");
    if certificates.is_file() {
        run::check(Command::new("cp").arg(certificates).arg(system.join("host-certificates")))?;
    }
    Ok(system)
}

/// Removes a folder if it exists. Mounts in the folder have ended with the process that made them.
fn remove(folder: &Path) -> Result {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(failed("remove", folder, &error))
        }
        _ => Ok(()),
    }
}

fn write(path: &Path, text: &str) -> Result {
    std::fs::write(path, text).map_err(|error| failed("write", path, &error))
}

fn failed(what: &str, path: &Path, error: &std::io::Error) -> Failure {
    Failure::Failed(format!("could not {what} {}: {error}", path.display()))
}
