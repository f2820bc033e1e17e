//! Commands that install missing tools on this system. Build errors and `cargo offload doctor`
//! print these commands for users to paste.
//!
//! The table `PACKAGES` lists each system's packages. Vendors' and Python's packages are listed
//! next to the commands that install them. The guide repeats the commands, and a test compares the
//! two.

mod system;

use crate::toolchain::cargo::Cargo;
use std::path::{Path, PathBuf};
pub use system::{Installer, System};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Installable {
    /// A clang of at least this major version, with lld.
    Clang(u32),
    /// The lld for this major version of clang. On systems with several versions, the package's
    /// name contains the version.
    Lld(Option<u32>),
    /// A clang whose `gpuintrin.h` contains everything that kernels need.
    NewClang,
    /// A clang that links device code.
    LinkingClang,
    /// A C++ compiler, with the variables that can name one instead.
    Cxx(&'static str),
    /// A C++ cross compiler for the host with this target triple.
    CrossCxx(String),
    /// NVIDIA's assembler. If `old`, the assembler of CUDA 12, for architectures up to `sm_72`.
    Ptxas {
        old: bool,
        /// Whether the help suggests PTX as an alternative target.
        or_ptx: bool,
    },
    Nvcc,
    Rocm,
    /// OpenCL's loader, and Intel's driver for its GPUs.
    OpenCl,
}

/// The names of the packages for one installer.
struct Packages {
    installer: Installer,
    /// clang and lld. lld's package is the last one.
    clang: &'static str,
    cxx: &'static str,
    /// The package for `pip3`. `None` on systems where NVIDIA's Python packages cannot be used.
    pip: Option<&'static str>,
    /// OpenCL's loader and Intel's driver. Empty on systems without packages for them.
    opencl: &'static str,
}

const PACKAGES: [Packages; 7] = [
    Packages {
        installer: Installer::Apt,
        clang: "clang lld",
        cxx: "g++",
        pip: Some("python3-pip"),
        opencl: "ocl-icd-libopencl1 intel-opencl-icd",
    },
    Packages {
        installer: Installer::Dnf,
        clang: "clang lld",
        cxx: "gcc-c++",
        pip: Some("python3-pip"),
        opencl: "ocl-icd intel-compute-runtime",
    },
    Packages {
        installer: Installer::Pacman,
        clang: "clang lld",
        cxx: "gcc",
        pip: Some("python-pip"),
        opencl: "ocl-icd intel-compute-runtime",
    },
    Packages {
        installer: Installer::Zypper,
        clang: "clang lld",
        cxx: "gcc-c++",
        pip: Some("python3-pip"),
        opencl: "libOpenCL1 intel-opencl",
    },
    // NVIDIA's programs need glibc, which Alpine lacks, so `pip` is `None`.
    Packages {
        installer: Installer::Apk,
        clang: "clang lld",
        cxx: "g++",
        pip: None,
        opencl: "opencl-icd-loader intel-compute-runtime",
    },
    Packages { installer: Installer::Brew, clang: "llvm lld", cxx: "", pip: None, opencl: "" },
    Packages {
        installer: Installer::Winget,
        clang: "LLVM.LLVM",
        cxx: "LLVM.LLVM",
        pip: None,
        opencl: "",
    },
];

/// The first clang whose `gpuintrin.h` contains everything that kernels need.
const NEW_CLANG: u32 = 21;

/// The first clang that links device code the way offload-build needs it.
const LINKING_CLANG: u32 = 19;

/// The folder for NVIDIA's Python packages, in the user's home folder. The commands of
/// [`Installable`] write to this folder, and builds search it. Each [`ByPip`] has its own
/// subfolder, because pip replaces the contents of its target folder.
const PYTHON_FOLDER: &str = ".local/share/offload";

/// A set of NVIDIA tools that one of [`Installable`]'s commands installs with pip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByPip {
    /// The subfolder of [`PYTHON_FOLDER`].
    folder: &'static str,
    packages: &'static str,
    /// The folder of the programs, within `folder`.
    bin: &'static str,
}

/// The ptxas of the current CUDA.
pub const PTXAS: ByPip =
    ByPip { folder: "ptxas", packages: "nvidia-cuda-nvcc", bin: "nvidia/cu13/bin" };

/// The ptxas of CUDA 12, for architectures that the current ptxas has dropped.
pub const OLD_PTXAS: ByPip =
    ByPip { folder: "ptxas-12", packages: "nvidia-cuda-nvcc-cu12", bin: "nvidia/cuda_nvcc/bin" };

/// nvcc with everything that it needs.
pub const NVCC: ByPip = ByPip {
    folder: "cuda",
    packages: "nvidia-cuda-nvcc nvidia-nvvm nvidia-cuda-crt nvidia-cuda-runtime nvidia-cuda-cccl",
    bin: "nvidia/cu13/bin",
};

/// Returns the folder with the tools of [`ByPip`], for messages.
pub fn place() -> String {
    format!("~/{PYTHON_FOLDER}")
}

impl ByPip {
    /// Returns the folder where pip installs these tools' programs.
    pub fn programs(self, cargo: &Cargo) -> Option<PathBuf> {
        let home = PathBuf::from(cargo.user_var("HOME")?);
        Some(home.join(PYTHON_FOLDER).join(self.folder).join(self.bin))
    }

    /// Returns the commands that install these tools. They use pip because it preserves the
    /// executable bit, unlike other tools that unpack wheels, and because it accepts a separate
    /// folder even on systems that manage Python's packages themselves.
    fn commands(self, system: &System, known: &Packages) -> Vec<String> {
        let Some(pip) = known.pip else { return Vec::new() };
        let install_pip = if system.has_pip { None } else { system.install(pip) };
        let unpack = format!(
            "pip3 install --upgrade --no-deps --target \"$HOME/{PYTHON_FOLDER}/{}\" {}",
            self.folder, self.packages
        );
        install_pip.into_iter().chain([unpack]).collect()
    }
}

/// Returns the prefix of GNU's compilers for this triple, if it is a Linux triple.
fn gnu_name(triple: &str) -> Option<String> {
    let (arch, system) = triple.split_once('-')?;
    // Cargo's name for RISC-V includes the extensions.
    let arch = if arch == "riscv64gc" { "riscv64" } else { arch };
    (system == "unknown-linux-gnu").then(|| format!("{arch}-linux-gnu"))
}

impl Installable {
    /// Returns what to install on this system, and how. Lines that begin with two spaces are
    /// commands.
    pub fn help(&self) -> String {
        self.help_on(&System::here())
    }

    pub fn help_on(&self, system: &System) -> String {
        let (what, instead) = self.description(system);
        match self.commands(system) {
            commands if commands.is_empty() => format!("install {what}\n{instead}"),
            commands => format!("install {what}:\n{}\n{instead}", indented(&commands)),
        }
    }

    /// Returns the missing tool's name, and the alternatives to installing it.
    fn description(&self, system: &System) -> (String, String) {
        const NAME_CLANG: &str = "or name one in OFFLOAD_CLANG";
        let own = str::to_owned;
        match self {
            Self::Clang(version) => (
                format!("clang and lld, {version} or newer (newer GPUs need newer versions)"),
                own(NAME_CLANG),
            ),
            Self::Lld(_) => (
                own("the lld that matches clang"),
                own("or name a different clang in OFFLOAD_CLANG"),
            ),
            Self::NewClang => (
                own(
                    "clang 21 or newer, and lld (gpuintrin.h needs clang 20, __gpu_kernel needs clang 21)",
                ),
                own(NAME_CLANG),
            ),
            Self::LinkingClang => (
                own("clang 19 or newer with its clang-linker-wrapper"),
                own(
                    "or name one in OFFLOAD_CLANG, or let nvcc link for NVIDIA's GPUs: .compiler(Compiler::Nvcc)",
                ),
            ),
            Self::Cxx(variables) => (own("a C++ compiler"), format!("or name one in {variables}")),
            Self::CrossCxx(triple) => {
                let variable = triple.replace('-', "_");
                let linker = gnu_name(triple).map(|name| format!("={name}-gcc"));
                let instead = format!(
                    "or name one in CXX_{variable}, or leave 'cpu' out of the targets. Cargo needs \
                     a linker for this target, too: set CARGO_TARGET_{}_LINKER{}",
                    variable.to_uppercase(),
                    linker.unwrap_or_default()
                );
                (own("a cross compiler for C++"), instead)
            }
            Self::Ptxas { old, or_ptx } => {
                const TOOLKIT: Option<&str> = Some(
                    "or install the CUDA toolkit and set CUDA_HOME, or name ptxas in OFFLOAD_PTXAS",
                );
                let (what, toolkit) = match (system.installer, old) {
                    (Installer::Brew, _) => {
                        ("ptxas on a different system: NVIDIA publishes no ptxas for macOS", None)
                    }
                    (Installer::Apk, _) => (
                        "ptxas on a different system: NVIDIA's needs glibc, which this system \
                         does not have",
                        None,
                    ),
                    (_, true) => (
                        "ptxas from CUDA 12 (that of CUDA 13 supports only sm_75 and newer)",
                        TOOLKIT,
                    ),
                    (_, false) => ("ptxas, NVIDIA's assembler", TOOLKIT),
                };
                let mut instead = Vec::new();
                instead.extend(toolkit.map(own));
                instead.extend(or_ptx.then(|| {
                    let number = if *old { 70 } else { 90 };
                    format!("or list PTX, which needs no ptxas: compute_{number} in place of sm_{number}")
                }));
                (own(what), instead.join(", "))
            }
            Self::Nvcc => (
                own("nvcc and the parts that it needs"),
                own("or install the whole CUDA toolkit and set CUDA_HOME or NVCC"),
            ),
            Self::Rocm => (
                own("HIP's headers and device libraries"),
                own("or install ROCm from AMD, and set ROCM_PATH if it is not in /opt/rocm"),
            ),
            Self::OpenCl => (
                own("OpenCL's loader, and Intel's driver for its GPUs"),
                own("or install Intel's own driver for this system"),
            ),
        }
    }

    /// Returns the commands, or an empty list if no package is known for the system.
    fn commands(&self, system: &System) -> Vec<String> {
        let installer = system.installer;
        let Some(packages) = PACKAGES.iter().find(|it| it.installer == installer) else {
            return Vec::new();
        };
        let install = |packages: &str| system.install(packages).into_iter().collect::<Vec<_>>();
        let install_all = |names: &[String]| match names {
            [] => Vec::new(),
            names => install(&names.join(" ")),
        };
        let with_path = |commands: Vec<String>| match installer {
            // These installers do not add clang to PATH, and the clang in macOS's PATH does not
            // support GPUs.
            Installer::Brew => [commands, vec![OWN_CLANG_OF_BREW.to_owned()]].concat(),
            Installer::Winget => [commands, vec![OWN_CLANG_OF_WINGET.to_owned()]].concat(),
            _ => commands,
        };
        match self {
            Self::Clang(least) => match installer {
                Installer::Apt => install_all(&system.clang_packages(*least, &["clang", "lld"])),
                _ => with_path(install(packages.clang)),
            },
            Self::Lld(Some(version)) if installer == Installer::Apt => {
                install(&format!("lld-{version}"))
            }
            Self::Lld(_) => install(packages.clang.rsplit(' ').next().unwrap_or_default()),
            Self::NewClang => Self::Clang(NEW_CLANG).commands(system),
            Self::LinkingClang => match installer {
                Installer::Apt => {
                    install_all(&system.clang_packages(LINKING_CLANG, &["clang", "lld", "llvm"]))
                }
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
            Self::Ptxas { .. } | Self::Nvcc if installer == Installer::Winget => {
                install("Nvidia.CUDA")
            }
            Self::Ptxas { old: true, .. } => OLD_PTXAS.commands(system, packages),
            Self::Ptxas { old: false, .. } => PTXAS.commands(system, packages),
            Self::Nvcc => NVCC.commands(system, packages),
            Self::Rocm => match installer {
                Installer::Apt => install("libamdhip64-dev rocm-device-libs"),
                Installer::Dnf => install("rocm-hip-devel rocm-device-libs"),
                _ => Vec::new(),
            },
            // Debian 13 has no package for Intel's driver.
            Self::OpenCl if system.release.as_deref() == Some("trixie") => Vec::new(),
            Self::OpenCl if packages.opencl.is_empty() => Vec::new(),
            Self::OpenCl => install(packages.opencl),
        }
    }
}

const OWN_CLANG_OF_BREW: &str = "export OFFLOAD_CLANG=\"$(brew --prefix llvm)/bin/clang\"";
const OWN_CLANG_OF_WINGET: &str =
    "$env:OFFLOAD_CLANG = \"C:\\Program Files\\LLVM\\bin\\clang.exe\"";

/// Returns the help for a program that cannot be started because its file is not executable.
pub fn make_executable(program: &Path) -> String {
    format!("make the program executable:\n  chmod +x '{}'", program.display())
}

fn indented(commands: &[String]) -> String {
    format!("  {}", commands.join("\n  "))
}

#[cfg(test)]
mod tests;
