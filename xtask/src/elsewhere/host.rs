//! The hosts: their names, targets, and the programs that run and link for them.

use crate::tools::{self, Need};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

/// A system other than this machine's. Programs for it are built and run here, without its
/// hardware.
#[derive(Debug)]
pub struct Host {
    /// The host's name, as an argument of `cargo xtask elsewhere` and in the table of results.
    pub name: &'static str,
    /// Rust's name for the host.
    pub target: &'static str,
    /// Debian's name for the host, if Debian's compiler has a standard library for it.
    pub debian: Option<&'static str>,
    /// The packages that run and link its programs.
    pub need: &'static Need,
    /// How the host's programs run.
    pub runner: Runner,
    /// The prefix of the host's compilers.
    pub compilers: &'static str,
    /// Whether the host's programs can contain packs. If not, a build with a pack fails.
    pub has_packs: bool,
    /// Whether the host's programs can load images for the CPU.
    pub loads_images: bool,
    /// The checks that are skipped for the host, with the reasons.
    pub left_out: &'static [&'static str],
}

/// The program that runs a host's programs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Runner {
    /// Wine.
    Wine,
    /// qemu-user, with its name for the processor.
    Qemu(&'static str),
    /// This machine runs the programs, which use musl, as static programs or with a shared library.
    Musl { is_static: bool },
}

/// Checks that are too slow under qemu.
const SLOW: &[&str] = &["hostile files, but for those of corpus/malformed: too slow"];

/// All hosts, in running order.
pub const HOSTS: [Host; 7] = [
    Host {
        name: "windows",
        target: "x86_64-pc-windows-gnu",
        debian: None,
        need: &tools::WINE,
        runner: Runner::Wine,
        compilers: "x86_64-w64-mingw32-",
        has_packs: true,
        loads_images: true,
        left_out: &["MSVC, drivers, Windows itself", "tests that start LLVM's programs"],
    },
    Host {
        name: "aarch64",
        target: "aarch64-unknown-linux-gnu",
        debian: Some("arm64"),
        need: &tools::AARCH64,
        runner: Runner::Qemu("aarch64"),
        compilers: "aarch64-linux-gnu-",
        has_packs: true,
        loads_images: true,
        left_out: SLOW,
    },
    Host {
        name: "s390x",
        target: "s390x-unknown-linux-gnu",
        debian: None,
        need: &tools::S390X,
        runner: Runner::Qemu("s390x"),
        compilers: "s390x-linux-gnu-",
        has_packs: false,
        loads_images: false,
        left_out: SLOW,
    },
    Host {
        name: "riscv64",
        target: "riscv64gc-unknown-linux-gnu",
        debian: None,
        need: &tools::RISCV64,
        runner: Runner::Qemu("riscv64"),
        compilers: "riscv64-linux-gnu-",
        has_packs: true,
        loads_images: true,
        left_out: SLOW,
    },
    Host {
        name: "i686",
        target: "i686-unknown-linux-gnu",
        debian: Some("i386"),
        need: &tools::I686,
        runner: Runner::Qemu("i386"),
        compilers: "i686-linux-gnu-",
        has_packs: false,
        loads_images: false,
        left_out: SLOW,
    },
    Host {
        name: "musl",
        target: "x86_64-unknown-linux-musl",
        debian: None,
        need: &tools::MUSL,
        runner: Runner::Musl { is_static: true },
        compilers: "",
        has_packs: true,
        loads_images: false,
        left_out: &["kernels on the CPU: a static program loads no image"],
    },
    Host {
        name: "musl-dynamic",
        target: "x86_64-unknown-linux-musl",
        debian: None,
        need: &tools::MUSL,
        runner: Runner::Musl { is_static: false },
        compilers: "",
        has_packs: true,
        loads_images: true,
        left_out: &[],
    },
];

/// Hosts whose programs never run here, with the reasons.
pub const NEVER_RUN: [(&str, &str); 2] = [
    ("loongarch64", "Debian 12 has no C library and no linker for it"),
    ("macos", "nothing on Linux runs its programs; links by ld64.lld are among the tests"),
];

impl Host {
    /// Describes how the host's programs run.
    pub fn how(&self) -> String {
        match self.runner {
            Runner::Wine => "Wine".to_owned(),
            Runner::Qemu(_) => "qemu-user".to_owned(),
            Runner::Musl { is_static: true } => "directly, static".to_owned(),
            Runner::Musl { is_static: false } => "directly, dynamic".to_owned(),
        }
    }

    /// Returns the command's words before a program's path.
    pub fn runner(&self) -> Vec<String> {
        match self.runner {
            Runner::Wine => vec![tools::WINE_PROGRAM.to_owned()],
            Runner::Qemu(processor) => {
                let root = format!("/usr/{}", self.compilers.trim_end_matches('-'));
                let mut words = vec![format!("qemu-{processor}-static"), "-L".to_owned()];
                // This machine's list of libraries may contain 32-bit libraries, which do not match
                // the loader below the root. Threads would hang.
                let libraries = format!("LD_LIBRARY_PATH={root}/lib");
                words.extend([root, "-E".to_owned(), libraries]);
                words
            }
            Runner::Musl { .. } => Vec::new(),
        }
    }

    /// Returns the C compiler with options that link a program for the host.
    pub fn linker(&self) -> Command {
        match self.runner {
            Runner::Musl { is_static } => {
                let mut link = Command::new(MUSL_CC);
                link.arg("-L").arg(musl_folder());
                if is_static {
                    link.args(["-static", "-no-pie", "-Wl,--eh-frame-hdr"]);
                }
                link
            }
            Runner::Wine | Runner::Qemu(_) => Command::new(format!("{}gcc", self.compilers)),
        }
    }

    /// Returns the suffix of the host's program names.
    pub fn exe(&self) -> &'static str {
        if self.is_windows() { ".exe" } else { "" }
    }

    /// Whether the host is Windows.
    pub fn is_windows(&self) -> bool {
        self.runner == Runner::Wine
    }

    /// Returns the variables that tell Cargo, `cc` and the runner where their tools are.
    pub fn environment(&self) -> Vec<(String, OsString)> {
        let small = self.target.replace('-', "_");
        let cargo = |what| format!("CARGO_TARGET_{}_{what}", small.to_uppercase());
        // The crate `cc` finds cross compilers by their usual names, but Cargo does not find the
        // linker.
        let mut list = vec![(cargo("LINKER"), OsString::from(format!("{}gcc", self.compilers)))];
        if !self.runner().is_empty() {
            list.push((cargo("RUNNER"), self.runner().join(" ").into()));
        }
        match self.runner {
            Runner::Wine => list.extend([
                ("WINEPREFIX".to_owned(), wine_prefix().into()),
                ("WINEDEBUG".to_owned(), "-all".into()),
                // Under Wine, tests find Linux programs as files but cannot start them. So make
                // tests treat LLVM as missing.
                ("OFFLOAD_TEST_LLVM".to_owned(), "none".into()),
                ("OFFLOAD_REQUIRE".to_owned(), "".into()),
            ]),
            Runner::Qemu(_) => {}
            Runner::Musl { is_static } => {
                let musl = musl_folder();
                let model = if is_static {
                    "relocation-model=static -C link-arg=-Wl,--eh-frame-hdr"
                } else {
                    "target-feature=-crt-static"
                };
                let flags =
                    format!("-C link-self-contained=no -L native={} -C {model}", musl.display());
                list[0].1 = MUSL_CC.into();
                list.extend([
                    (cargo("RUSTFLAGS"), flags.into()),
                    (format!("CC_{small}"), MUSL_CC.into()),
                    (format!("CXX_{small}"), musl.join(MUSL_CXX).into()),
                ]);
            }
        }
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

/// The C compiler for musl.
pub const MUSL_CC: &str = "musl-gcc";

/// The name of the script that compiles C++ for musl.
pub const MUSL_CXX: &str = "musl-g++";
