//! Detects the system to install on: its installer and its release.

use offload_format::target::OLDEST_CLANG;
use std::fs;
use std::path::Path;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Installer {
    /// Debian, Ubuntu and their derivatives.
    Apt,
    /// Fedora, Red Hat Enterprise Linux and their derivatives.
    Dnf,
    /// Arch Linux.
    Pacman,
    /// openSUSE, SLES.
    Zypper,
    /// Alpine.
    Apk,
    /// Homebrew, on macOS.
    Brew,
    /// Windows.
    Winget,
    Unknown,
}

/// The installer for each name in `ID` and `ID_LIKE` of `/etc/os-release`.
const BY_ID: [(&str, Installer); 12] = [
    ("debian", Installer::Apt),
    ("ubuntu", Installer::Apt),
    ("fedora", Installer::Dnf),
    ("rhel", Installer::Dnf),
    ("centos", Installer::Dnf),
    ("amzn", Installer::Dnf),
    ("arch", Installer::Pacman),
    ("archlinux", Installer::Pacman),
    ("alpine", Installer::Apk),
    ("suse", Installer::Zypper),
    ("opensuse", Installer::Zypper),
    ("sles", Installer::Zypper),
];

/// The clang versions packaged for a Debian or Ubuntu release.
struct Clangs {
    release: &'static str,
    /// The version of the package `clang`.
    default: u32,
    /// The newest N for which there is a package `clang-N`.
    newest: u32,
}

const CLANGS: [Clangs; 6] = [
    Clangs { release: "trixie", default: 19, newest: 19 },
    Clangs { release: "bookworm", default: 14, newest: 22 },
    Clangs { release: "bullseye", default: 11, newest: 13 },
    Clangs { release: "noble", default: 18, newest: 20 },
    Clangs { release: "jammy", default: 14, newest: 15 },
    Clangs { release: "focal", default: 10, newest: 12 },
];

/// The clang versions to assume for a release missing from the table. Most such releases offer
/// newer ones.
const UNKNOWN_RELEASE: Clangs = Clangs { release: "", default: OLDEST_CLANG, newest: OLDEST_CLANG };

/// A system on which tools are installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct System {
    pub(super) installer: Installer,
    /// The code name of a Debian or Ubuntu release.
    pub(super) release: Option<String>,
    /// Whether the installer's commands need `sudo`.
    pub(super) needs_sudo: bool,
    /// Whether `pip3` is installed.
    pub(super) has_pip: bool,
}

impl System {
    pub fn here() -> Self {
        let read = |path| fs::read_to_string(path).ok();
        let os_release =
            read("/etc/os-release").or_else(|| read("/usr/lib/os-release")).unwrap_or_default();
        let has_pip =
            ["/usr/bin/pip3", "/usr/local/bin/pip3"].iter().any(|path| Path::new(path).is_file());
        Self { needs_sudo: !is_root(), has_pip, ..Self::of(std::env::consts::OS, &os_release) }
    }

    /// Returns the system for `os` (Rust's name) and the text of `/etc/os-release`, assuming root
    /// and no pip.
    pub(super) fn of(os: &str, os_release: &str) -> Self {
        let value = |name: &str| {
            let line =
                os_release.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='))?;
            Some(line.trim().trim_matches(['"', '\'']).to_owned())
        };
        // `ID_LIKE` lists related systems, the closest first.
        let [id, like] = ["ID", "ID_LIKE"].map(|name| value(name).unwrap_or_default());
        let mut installer = match os {
            "macos" => Installer::Brew,
            "windows" => Installer::Winget,
            _ => Installer::Unknown,
        };
        // `opensuse-leap` and similar IDs are found through their `ID_LIKE`.
        for id in format!("{id} {like}").split_whitespace() {
            let known = BY_ID.iter().find(|(known, _)| *known == id);
            if let (Installer::Unknown, Some((_, by_id))) = (installer, known) {
                installer = *by_id;
            }
        }
        // A derivative uses the packages of an Ubuntu or Debian release, which the first two
        // variables name.
        let release = ["UBUNTU_CODENAME", "DEBIAN_CODENAME", "VERSION_CODENAME"]
            .iter()
            .find_map(|name| value(name));
        Self { installer, release, needs_sudo: false, has_pip: false }
    }

    /// Returns the Debian or Ubuntu packages for these parts of clang, version `least` or newer.
    /// Returns an empty list if the release has no such clang.
    pub(super) fn clang_packages(&self, least: u32, parts: &[&str]) -> Vec<String> {
        let release = self.release.as_deref().unwrap_or_default();
        let clangs = CLANGS.iter().find(|it| it.release == release).unwrap_or(&UNKNOWN_RELEASE);
        let mut names = Vec::new();
        if clangs.newest >= least {
            for part in parts {
                names.push(if clangs.default >= least {
                    (*part).to_owned()
                } else {
                    format!("{part}-{}", clangs.newest)
                });
            }
        }
        names
    }

    pub(super) fn install(&self, packages: &str) -> Option<String> {
        let sudo = if self.needs_sudo { "sudo " } else { "" };
        Some(match self.installer {
            Installer::Apt => {
                format!(
                    "{sudo}apt-get update && {sudo}apt-get install -y --no-install-recommends {packages}"
                )
            }
            Installer::Dnf => format!("{sudo}dnf install -y {packages}"),
            // Arch does not support partial upgrades, so updating the list requires updating all
            // packages.
            Installer::Pacman => format!("{sudo}pacman -Syu --noconfirm {packages}"),
            Installer::Zypper => format!("{sudo}zypper --non-interactive install {packages}"),
            Installer::Apk => format!("{sudo}apk add -U {packages}"),
            Installer::Brew => format!("brew install {packages}"),
            Installer::Winget => format!("winget install --exact --id {packages}"),
            Installer::Unknown => return None,
        })
    }
}

/// Whether this process may install packages, as far as can be detected.
#[cfg(target_os = "linux")]
fn is_root() -> bool {
    // `/proc/self` belongs to the user who runs this process.
    fs::metadata("/proc/self").is_ok_and(|it| std::os::unix::fs::MetadataExt::uid(&it) == 0)
}

#[cfg(not(target_os = "linux"))]
fn is_root() -> bool {
    false
}
