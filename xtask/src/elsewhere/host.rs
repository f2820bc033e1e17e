//! The hosts: their names, targets, and the programs that run and link for them.

use super::sysroot;
use crate::run;
use crate::setup::Setup;
use crate::tools::{self, Need};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A system other than this machine's. Programs for it are built and run here, without its
/// hardware.
#[derive(Debug)]
pub struct Host {
    /// The host's name, as an argument of `cargo xtask elsewhere` and in the table of results.
    pub name: &'static str,
    /// Rust's name for the host.
    pub target: &'static str,
    /// The packages that run and link its programs.
    pub need: &'static Need,
    /// How the host's programs run.
    pub runner: Runner,
    /// Debian's name for the host, if Debian's compiler has a standard library for it.
    pub debian: Option<&'static str>,
    /// Whether the host's programs can contain packs. If not, a build with a pack fails.
    pub has_packs: bool,
}

/// The program that runs a host's programs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Runner {
    /// Wine.
    Wine,
    /// qemu-user, with its name for the processor.
    Qemu(&'static str),
    /// This machine runs the programs, which use musl as a shared library.
    Musl,
    /// This machine runs the programs, which are static and use musl.
    StaticMusl,
}
use Runner::{Musl, Qemu, StaticMusl, Wine};

/// All hosts, in running order.
pub const HOSTS: [Host; 7] = [
    host("windows", "x86_64-pc-windows-gnu", &tools::WINE, Wine),
    Host {
        debian: Some("arm64"),
        ..host("aarch64", "aarch64-unknown-linux-gnu", &tools::AARCH64, Qemu("aarch64"))
    },
    Host {
        has_packs: false,
        ..host("s390x", "s390x-unknown-linux-gnu", &tools::S390X, Qemu("s390x"))
    },
    host("riscv64", "riscv64gc-unknown-linux-gnu", &tools::RISCV64, Qemu("riscv64")),
    Host { has_packs: false, ..host("i686", "i686-unknown-linux-gnu", &tools::I686, Qemu("i386")) },
    host("musl", "x86_64-unknown-linux-musl", &tools::MUSL, StaticMusl),
    host("musl-dynamic", "x86_64-unknown-linux-musl", &tools::MUSL, Musl),
];

const fn host(
    name: &'static str,
    target: &'static str,
    need: &'static Need,
    runner: Runner,
) -> Host {
    Host { name, target, need, runner, debian: None, has_packs: true }
}

/// Hosts whose programs never run here, with the reasons.
pub const NEVER_RUN: [(&str, &str); 2] = [
    ("loongarch64", "Debian 12 has no C library and no linker for it"),
    ("macos", "nothing on Linux runs its programs; links by ld64.lld are among the tests"),
];

impl Runner {
    /// Describes how the host's programs run, and which checks are skipped, with the reasons.
    pub fn describe(self) -> (&'static str, &'static str) {
        match self {
            Wine => ("Wine", "MSVC, drivers, Windows itself; tests that start LLVM's programs"),
            Qemu(_) => ("qemu-user", "hostile files, but for those of corpus/malformed: too slow"),
            Musl => ("directly, dynamic", ""),
            StaticMusl => {
                ("directly, static", "kernels on the CPU: a static program loads no image")
            }
        }
    }

    /// Whether the host is Windows.
    pub fn is_windows(self) -> bool {
        self == Wine
    }

    /// Returns the suffix of program names.
    pub fn exe(self) -> &'static str {
        if self.is_windows() { ".exe" } else { "" }
    }
}

impl Host {
    /// Returns the host's name in the names of GNU's tools.
    pub fn gnu(&self) -> String {
        if self.runner.is_windows() {
            return "x86_64-w64-mingw32".to_owned();
        }
        format!("{}-linux-gnu", self.name)
    }

    /// Returns the name of the C compiler.
    pub fn compiler(&self) -> String {
        match self.runner {
            Musl | StaticMusl => "musl-gcc".to_owned(),
            Wine | Qemu(_) => format!("{}-gcc", self.gnu()),
        }
    }

    /// Returns the words of a command that precede a program's path.
    fn runner(&self) -> String {
        match self.runner {
            Wine => tools::WINE_PROGRAM.to_owned(),
            Qemu(processor) => {
                let root = format!("/usr/{}", self.gnu());
                // This machine's list of libraries may contain 32-bit libraries, which do not match
                // the loader below the root, so that threads would hang.
                format!("qemu-{processor}-static -L {root} -E LD_LIBRARY_PATH={root}/lib")
            }
            Musl | StaticMusl => String::new(),
        }
    }

    /// Returns the C compiler with options that link a program for the host.
    pub fn linker(&self) -> Command {
        let is_static = self.runner == StaticMusl;
        let options = if is_static { "-static -no-pie -Wl,--eh-frame-hdr" } else { "" };
        let mut link = run::command(self.compiler(), options);
        if let Musl | StaticMusl = self.runner {
            link.arg("-L").arg(musl_folder());
        }
        link
    }

    /// Returns the variables that tell Cargo, `cc` and the runner where their tools are.
    pub fn environment(&self) -> Vec<(String, OsString)> {
        let small = self.target.replace('-', "_");
        let cargo = |what| format!("CARGO_TARGET_{}_{what}", small.to_uppercase());
        // The crate `cc` finds cross compilers by their usual names, but Cargo does not find the
        // linker.
        let mut list = vec![(cargo("LINKER"), self.compiler().into())];
        if !self.runner().is_empty() {
            list.push((cargo("RUNNER"), self.runner().into()));
        }
        let model = match self.runner {
            Wine => {
                list.extend([
                    ("WINEPREFIX".to_owned(), wine_prefix().into()),
                    ("WINEDEBUG".to_owned(), "-all".into()),
                    // Under Wine, tests find Linux programs as files but cannot start them, so make
                    // tests treat LLVM as missing.
                    ("OFFLOAD_TEST_LLVM".to_owned(), "none".into()),
                    ("OFFLOAD_REQUIRE".to_owned(), "".into()),
                ]);
                return list;
            }
            Qemu(_) => return list,
            Musl => "target-feature=-crt-static",
            StaticMusl => "relocation-model=static -C link-arg=-Wl,--eh-frame-hdr",
        };
        let musl = musl_folder();
        let flags = format!("-C link-self-contained=no -L native={} -C {model}", musl.display());
        list.extend([
            (cargo("RUSTFLAGS"), flags.into()),
            (format!("CC_{small}"), self.compiler().into()),
            (format!("CXX_{small}"), musl.join(MUSL_CXX).into()),
        ]);
        list
    }
}

/// Returns the folder of Wine's files, which represents a Windows machine.
pub fn wine_prefix() -> PathBuf {
    tools::folder("elsewhere/wine")
}

/// Returns the folder with the musl libraries that Debian lacks.
pub fn musl_folder() -> PathBuf {
    tools::folder("elsewhere/musl")
}

/// The name of the script that compiles C++ for musl.
pub const MUSL_CXX: &str = "musl-g++";

/// The commands that build a host's programs, and the commands that run them.
#[derive(Debug)]
pub struct Builds<'a> {
    /// The tools that tests need.
    pub setup: &'a Setup,
    /// The host.
    pub host: &'a Host,
}

impl Builds<'_> {
    /// Returns `cargo COMMAND --target ...`, with the variables that the host needs. `command` may
    /// have options, which are separated by spaces.
    pub fn cargo(&self, command: &str) -> Command {
        let (command, options) = command.split_once(' ').unwrap_or((command, ""));
        let words = format!("{command} --locked --target {} {options}", self.host.target);
        let mut cargo = self.setup.cargo(&words);
        sysroot::lead(&mut cargo);
        cargo.envs(self.host.environment()).env_remove("DISPLAY");
        // All hosts share the folder, so that dependencies of build scripts are compiled only once.
        cargo.env("CARGO_TARGET_DIR", run::workspace().join("target/elsewhere"));
        cargo
    }

    /// Returns a command that runs a program built for the host, under Wine or qemu if needed.
    pub fn program(&self, program: &Path) -> Command {
        let runner = self.host.runner();
        let mut words = runner.split_whitespace().map(OsStr::new).chain([program.as_os_str()]);
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words).envs(self.host.environment()).env_remove("DISPLAY");
        command
    }

    /// Returns Cargo's output folder for programs.
    pub fn programs(&self) -> PathBuf {
        run::workspace().join("target/elsewhere").join(self.host.target).join("debug")
    }
}
