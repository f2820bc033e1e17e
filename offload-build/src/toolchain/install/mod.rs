//! Commands that install missing tools on this system. Errors of builds and `offload doctor` print
//! complete commands to paste.
//!
//! The packages of each system are in one table, [`PACKAGES`]. The guide has these commands, too; a
//! test compares them.

mod system;

use std::path::Path;
pub(crate) use system::{Installer, System};

/// The tool to install.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Wanted {
    Clang,
    /// The lld of a clang of this major version; systems with several versions have the version in
    /// the package's name.
    Lld(Option<u32>),
    /// A clang whose `gpuintrin.h` has everything that kernels need.
    NewClang,
    /// A clang that links device code.
    LinkingClang,
    /// The C++ compiler, and the variables that can name another.
    Cxx(&'static str),
    /// The C++ compiler for another host: its target triple.
    CrossCxx(String),
    /// NVIDIA's assembler; for architectures up to `sm_72`, the assembler of CUDA 12.
    Ptxas {
        old: bool,
    },
    Nvcc,
    Rocm,
}

/// The names of the packages for one installer.
struct Packages {
    installer: Installer,
    clang: &'static str,
    lld: &'static str,
    cxx: &'static str,
    /// The package of `pip3`; `None` on systems where NVIDIA's packages for Python cannot be used.
    pip: Option<&'static str>,
}

const PACKAGES: [Packages; 7] = [
    Packages {
        installer: Installer::Apt,
        clang: "clang lld",
        lld: "lld",
        cxx: "g++",
        pip: Some("python3-pip"),
    },
    Packages {
        installer: Installer::Dnf,
        clang: "clang lld",
        lld: "lld",
        cxx: "gcc-c++",
        pip: Some("python3-pip"),
    },
    Packages {
        installer: Installer::Pacman,
        clang: "clang lld",
        lld: "lld",
        cxx: "gcc",
        pip: Some("python-pip"),
    },
    Packages {
        installer: Installer::Zypper,
        clang: "clang lld",
        lld: "lld",
        cxx: "gcc-c++",
        pip: Some("python3-pip"),
    },
    // NVIDIA's programs need glibc, which Alpine does not have, so `pip` is `None`.
    Packages { installer: Installer::Apk, clang: "clang lld", lld: "lld", cxx: "g++", pip: None },
    Packages { installer: Installer::Brew, clang: "llvm lld", lld: "lld", cxx: "", pip: None },
    Packages {
        installer: Installer::Winget,
        clang: "LLVM.LLVM",
        lld: "LLVM.LLVM",
        cxx: "LLVM.LLVM",
        pip: None,
    },
];

/// Releases whose default clang is too old or lacks the linker wrapper, each with the version of a
/// replacement from its package lists. `None` for releases whose lists have no usable clang.
const OTHER_CLANGS: [(&str, Option<u32>); 4] =
    [("bookworm", Some(22)), ("jammy", Some(15)), ("bullseye", None), ("focal", None)];

/// The folder for NVIDIA's packages for Python. Each purpose has its own folder, since pip replaces
/// the contents of a folder.
const PYTHON_FOLDER: &str = "$HOME/.local/share/offload";

/// Returns the start of the names of GNU's compilers for this triple, if it is one of Linux.
fn gnu_name(triple: &str) -> Option<String> {
    let (arch, system) = triple.split_once('-')?;
    // Cargo's name of this architecture has the extensions.
    let arch = if arch == "riscv64gc" { "riscv64" } else { arch };
    (system == "unknown-linux-gnu").then(|| format!("{arch}-linux-gnu"))
}

impl Wanted {
    /// Returns the packages to install and the commands, on this system. Lines that begin with two
    /// spaces are commands.
    pub(crate) fn help(&self) -> String {
        self.help_on(&System::here())
    }

    /// Returns the packages to install and the commands, on a given system.
    pub(crate) fn help_on(&self, system: &System) -> String {
        let (what, instead) = self.words(system);
        match self.commands(system) {
            commands if commands.is_empty() => format!("install {what}\n{instead}"),
            commands => format!("install {what}:\n{}\n{instead}", indented(&commands)),
        }
    }

    /// Returns the name of the wanted tool, and the alternatives.
    fn words(&self, system: &System) -> (&'static str, String) {
        const NAME_CLANG: &str = "or name one in OFFLOAD_CLANG";
        let named = |text: &str| text.to_owned();
        match self {
            Self::Clang => {
                ("clang and lld, 15 or newer (new GPUs need new ones)", named(NAME_CLANG))
            }
            Self::Lld(_) => {
                ("lld of clang's version", named("or name another clang in OFFLOAD_CLANG"))
            }
            Self::NewClang => {
                let what = "clang 21 or newer, and lld (gpuintrin.h came with clang 20, kernels (__gpu_kernel) with 21)";
                (what, named(NAME_CLANG))
            }
            Self::LinkingClang => (
                "clang 19 or newer with its clang-linker-wrapper",
                named(
                    "or name one in OFFLOAD_CLANG; for NVIDIA's GPUs, nvcc links too: .compiler(Compiler::Nvcc)",
                ),
            ),
            Self::Cxx(variables) => ("a C++ compiler", format!("or name one in {variables}")),
            Self::CrossCxx(triple) => {
                let variable = triple.replace('-', "_");
                let linker = gnu_name(triple).map(|name| format!("={name}-gcc"));
                let instead = format!(
                    "or name one in CXX_{variable}, or leave 'cpu' out of the targets; Cargo's linker is CARGO_TARGET_{}_LINKER{}",
                    variable.to_uppercase(),
                    linker.unwrap_or_default()
                );
                ("a cross compiler for C++", instead)
            }
            Self::Ptxas { old } => {
                let ptx = if *old {
                    "compute_70 in place of sm_70"
                } else {
                    "compute_90 in place of sm_90"
                };
                let what = match (system.installer, old) {
                    (Installer::Brew, _) => {
                        return (
                            "no ptxas: NVIDIA has none for macOS",
                            format!("but list PTX: {ptx}"),
                        );
                    }
                    (Installer::Apk, _) => {
                        let glibc =
                            "no ptxas here: NVIDIA's needs glibc, which this system does not have";
                        return (glibc, format!("but list PTX, which needs no ptxas: {ptx}"));
                    }
                    (_, true) => "ptxas of CUDA 12 (that of 13 begins with sm_75)",
                    (_, false) => "ptxas, NVIDIA's assembler",
                };
                let toolkit =
                    "or install the CUDA toolkit and set CUDA_HOME, or name ptxas in OFFLOAD_PTXAS";
                (what, format!("{toolkit}, or list PTX, which needs neither: {ptx}"))
            }
            Self::Nvcc => (
                "nvcc with its parts",
                named("or the whole CUDA toolkit, and set CUDA_HOME or NVCC"),
            ),
            Self::Rocm => (
                "HIP's headers and the libraries for devices",
                named("or ROCm from AMD, and set ROCM_PATH if it is elsewhere than in /opt/rocm"),
            ),
        }
    }

    /// Returns the commands, one a line. The list is empty if no package of the system is known.
    fn commands(&self, system: &System) -> Vec<String> {
        let installer = system.installer;
        let Some(packages) = PACKAGES.iter().find(|it| it.installer == installer) else {
            return Vec::new();
        };
        let install = |packages: &str| system.install(packages).into_iter().collect::<Vec<_>>();
        let with_path = |commands: Vec<String>| match installer {
            // Neither installer adds its clang to PATH, and the clang in macOS's PATH does not
            // support GPUs.
            Installer::Brew => [commands, vec![OWN_CLANG_OF_BREW.to_owned()]].concat(),
            Installer::Winget => [commands, vec![OWN_CLANG_OF_WINGET.to_owned()]].concat(),
            _ => commands,
        };
        let other_clang =
            OTHER_CLANGS.iter().find(|(release, _)| system.release.as_deref() == Some(*release));
        match self {
            Self::Clang => match other_clang {
                Some((_, Some(version))) => install(&format!("clang-{version} lld-{version}")),
                Some((_, None)) => Vec::new(),
                None => with_path(install(packages.clang)),
            },
            Self::Lld(Some(version)) if installer == Installer::Apt => {
                install(&format!("lld-{version}"))
            }
            Self::Lld(_) => install(packages.lld),
            Self::NewClang | Self::LinkingClang if installer == Installer::Apt => {
                // As of today, only replacement packages in `OTHER_CLANGS` are known to be new
                // enough.
                let lists_have =
                    other_clang.and_then(|(_, version)| *version).filter(|version| *version >= 21);
                let with_wrapper = |version| {
                    if *self == Self::LinkingClang {
                        format!(" llvm-{version}")
                    } else {
                        String::new()
                    }
                };
                let names = lists_have.map(|version| {
                    format!("clang-{version} lld-{version}{}", with_wrapper(version))
                });
                names.map(|names| install(&names)).unwrap_or_default()
            }
            Self::NewClang => with_path(install(packages.clang)),
            Self::LinkingClang => match installer {
                Installer::Brew | Installer::Winget => Vec::new(),
                _ => install(&format!("{} llvm", packages.clang)),
            },
            Self::Cxx(_) => match installer {
                Installer::Brew => vec!["xcode-select --install".to_owned()],
                _ => install(packages.cxx),
            },
            Self::CrossCxx(triple) => match gnu_name(triple) {
                Some(name) if installer == Installer::Apt => {
                    install(&format!("g++-{}", name.replace('_', "-")))
                }
                _ => Vec::new(),
            },
            Self::Ptxas { .. } if installer == Installer::Winget => install("Nvidia.CUDA"),
            Self::Ptxas { old } => {
                let (folder, package, path) = if *old {
                    ("ptxas-12", "nvidia-cuda-nvcc-cu12", "nvidia/cuda_nvcc/bin/ptxas")
                } else {
                    ("ptxas", "nvidia-cuda-nvcc", "nvidia/cu13/bin/ptxas")
                };
                by_pip(
                    system,
                    packages,
                    folder,
                    package,
                    &format!("OFFLOAD_PTXAS=\"{PYTHON_FOLDER}/{folder}/{path}\""),
                )
            }
            Self::Nvcc if installer == Installer::Winget => install("Nvidia.CUDA"),
            Self::Nvcc => {
                let parts = "nvidia-cuda-nvcc nvidia-nvvm nvidia-cuda-crt nvidia-cuda-runtime nvidia-cuda-cccl";
                by_pip(
                    system,
                    packages,
                    "cuda",
                    parts,
                    &format!("CUDA_HOME=\"{PYTHON_FOLDER}/cuda/nvidia/cu13\""),
                )
            }
            Self::Rocm => match installer {
                Installer::Apt => install("libamdhip64-dev rocm-device-libs"),
                Installer::Dnf => install("rocm-hip-devel rocm-device-libs"),
                _ => Vec::new(),
            },
        }
    }
}

const OWN_CLANG_OF_BREW: &str = "export OFFLOAD_CLANG=\"$(brew --prefix llvm)/bin/clang\"";
const OWN_CLANG_OF_WINGET: &str =
    "$env:OFFLOAD_CLANG = \"C:\\Program Files\\LLVM\\bin\\clang.exe\"";

/// Returns commands that unpack packages of Python into a folder and set a variable. pip keeps the
/// mode of programs, which other unpackers of wheels lose. pip accepts a separate folder even if
/// the system manages Python's packages itself.
fn by_pip(
    system: &System,
    known: &Packages,
    folder: &str,
    packages: &str,
    variable: &str,
) -> Vec<String> {
    let Some(pip) = known.pip else { return Vec::new() };
    let install_pip = if system.has_pip { None } else { system.install(pip) };
    let unpack = format!(
        "pip3 install --upgrade --no-deps --target \"{PYTHON_FOLDER}/{folder}\" {packages}"
    );
    install_pip.into_iter().chain([unpack, format!("export {variable}")]).collect()
}

/// Returns the help for a program that cannot be started because its file is not executable.
pub(crate) fn make_executable(program: &Path) -> String {
    format!("make it executable:\n  chmod +x '{}'", program.display())
}

fn indented(commands: &[String]) -> String {
    commands.iter().map(|command| format!("  {command}")).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests;
