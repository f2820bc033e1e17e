//! Tools that the tests need: packages, wheels, and their folders. Only this folder contains the
//! names of packages and wheels. `wheels.txt` lists the wheels.

use crate::run;
use crate::wheels::Wheel;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A tool that the tests require, with its names on each system.
#[derive(Debug)]
pub struct Need {
    /// The tool's name in messages.
    pub what: &'static str,
    /// The packages of Debian and Ubuntu. Spaces separate packages that belong together.
    packages: &'static [&'static str],
    /// Why the tests need the tool.
    pub why: &'static str,
    /// How to get the tool without these packages, or how to set its path.
    pub elsewhere: &'static str,
    /// Files that show that the tool is installed. If set-up unpacks the packages, the files are in
    /// the folder of the unpacked packages. Otherwise, on a system without dpkg, each file is in
    /// LLVM's folder, in `PATH`, or in one of [`FOLDERS`].
    files: &'static [&'static str],
}

/// A requirement whose files are in a folder of `.tools`: Debian packages that are unpacked but not
/// installed, or wheels.
#[derive(Debug)]
pub struct Unpacked {
    /// The tool. If it has no packages, its files come from the wheels for its folder.
    pub need: Need,
    /// The variable that passes the folder to the tests. If the user has set it, nothing is
    /// unpacked.
    pub variable: &'static str,
    /// The folder in `.tools` that the variable names.
    home: &'static str,
    /// The folder in `home` that contains the files.
    at: &'static str,
}

/// How many tools at the start of [`SYSTEM`] the short run of the tests needs.
pub const SHORT: usize = 2;

/// The system packages that the tests need.
pub const SYSTEM: [Need; 12] = [
    Need {
        what: "LLVM 22",
        packages: &["clang-22", "lld-22", "llvm-22", "llvm-22-tools", "clang-tools-22"],
        why: "compiles the kernels, and its offload tools judge what we write",
        elsewhere: "any LLVM 22 with clang, lld and clang-offload-bundler; set OFFLOAD_TEST_LLVM to its bin folder",
        files: &["clang", "ld.lld", "llvm-readelf", "llvm-offload-binary", "clang-offload-bundler"],
    },
    Need {
        what: "C++ compiler and GNU binutils",
        packages: &["g++", "binutils"],
        why: "make host objects that are not clang's, and link with GNU ld",
        elsewhere: "g++ and ld in PATH",
        files: &["g++", "ld", "objdump"],
    },
    Need {
        what: "LLVM 22's sanitizers",
        packages: &["libclang-rt-22-dev"],
        why: "check kernels on the CPU, as g++'s do",
        elsewhere: "compiler-rt of LLVM 22 where its clang looks for it",
        files: &["libclang_rt.tsan-x86_64.so"],
    },
    Need {
        what: "C++ compiler for AArch64",
        packages: &["g++-aarch64-linux-gnu"],
        why: "compiles kernels for the CPU of such hosts, with other constraints than clang",
        elsewhere: "aarch64-linux-gnu-g++ in PATH",
        files: &["aarch64-linux-gnu-g++"],
    },
    Need {
        what: "mold",
        packages: &["mold"],
        why: "links programs with packs, as GNU ld and rustc's own lld do",
        elsewhere: "mold in PATH",
        files: &["mold"],
    },
    Need {
        what: "AMD's HIP runtime",
        packages: &["libamdhip64-5", "libamd-comgr2", "libhsa-runtime-dev"],
        why: "loads our bundles as a HIP program would (no GPU needed)",
        elsewhere: "ROCm 5 in /opt/rocm",
        files: &["libamdhip64.so.5", "libamd_comgr.so.2", "hsa/hsa.h"],
    },
    Need {
        what: "LLVM's offloading runtime",
        packages: &["liboffload-22"],
        why: "runs our images for the CPU (no GPU needed)",
        elsewhere: "libomptarget.so.22.1 where the dynamic linker finds it",
        files: &["libomptarget.so.22.1"],
    },
    Need {
        what: "Perl",
        packages: &["perl"],
        why: "runs AMD's roc-obj-ls, which needs its standard modules",
        elsewhere: "perl in PATH",
        files: &["perl"],
    },
    Need {
        what: "Python with pip",
        packages: &["python3", "python3-pip", "ca-certificates"],
        why: "fetches and unpacks NVIDIA's assembler, and libraries of other projects",
        elsewhere: "python3 in PATH for which `python3 -m pip` works, or a CUDA toolkit that CUDA_HOME names",
        files: &["python3"],
    },
    Need {
        what: "distcc",
        packages: &["distcc"],
        why: "compiles on two servers of the tests' own what launchers are given",
        elsewhere: "distcc and distccd in PATH",
        files: &["distcc", "distccd"],
    },
    Need {
        what: "SPIR-V tools",
        packages: &["spirv-tools"],
        why: "check and list modules of SPIR-V",
        elsewhere: "spirv-val, spirv-dis and spirv-as in PATH",
        files: &["spirv-val", "spirv-dis", "spirv-as"],
    },
    Need {
        what: "strace",
        packages: &["strace"],
        why: "shows which processes a build starts and which files it writes",
        elsewhere: "strace in PATH",
        files: &["strace"],
    },
];

/// Everything that set-up unpacks into `.tools`.
pub const UNPACKED: [Unpacked; 7] = [
    // AMD's tool that lists the bundles in a program, and its Perl modules. They are only unpacked,
    // because installing the package would add two compilers and a runtime that no test needs.
    Need {
        what: "AMD's roc-obj-ls",
        packages: &["hipcc", "libfile-which-perl", "liburi-encode-perl"],
        why: "lists the bundles of programs, as we do",
        elsewhere: "set OFFLOAD_TEST_ROC_OBJ to a folder that has the files of these packages",
        files: &[
            "usr/bin/roc-obj-ls",
            "usr/share/perl5/File/Which.pm",
            "usr/share/perl5/URI/Encode.pm",
        ],
    }
    .unpacked("OFFLOAD_TEST_ROC_OBJ", "roc-obj"),
    // HIP's headers, AMD's libraries for device code, and the HIP runtime to link with. They are
    // only unpacked, so that no test finds ROCm in its usual folder.
    Need {
        what: "HIP's headers, libraries for devices and runtime",
        packages: &["libamdhip64-dev", "libamdhip64-5", "rocm-device-libs"],
        why: "sources that include ROCm's own headers are compiled, and programs linked with its \
              runtime",
        elsewhere: "set OFFLOAD_TEST_ROCM to a folder that has the files of these packages",
        files: &[
            "usr/include/hip/hip_runtime.h",
            "usr/lib/x86_64-linux-gnu/amdgcn/bitcode/ocml.bc",
            "usr/lib/x86_64-linux-gnu/libamdhip64.so.5",
        ],
    }
    .unpacked("OFFLOAD_TEST_ROCM", "rocm5"),
    // The oldest supported compilers (docs/guide/src/build.md) that Debian 12 has. They are
    // unpacked, so that no other test finds them.
    Need {
        what: "the oldest clang and g++",
        packages: &[
            "clang-15 libclang-cpp15 libllvm15 libclang-common-15-dev lld-15",
            "g++-11 gcc-11 cpp-11 libgcc-11-dev libstdc++-11-dev",
        ],
        why: "compile kernels for all targets, as the newest do",
        elsewhere: "set OFFLOAD_TEST_OLDEST to a folder that has the files of these packages",
        files: &["usr/lib/llvm-15/bin/clang", "usr/lib/llvm-15/bin/lld", "usr/bin/g++-11"],
    }
    .unpacked("OFFLOAD_TEST_OLDEST", "oldest"),
    // Versions of clang in Debian 12 between the oldest and LLVM 22. Users have these versions, and
    // each supports different targets. They are only unpacked, so that no other test finds them.
    Need {
        what: "clang 16 and clang 19",
        packages: &[
            "clang-16 libclang-cpp16 libllvm16 libclang-common-16-dev lld-16",
            "clang-19 libclang-cpp19 libllvm19 libclang-common-19-dev lld-19",
        ],
        why: "compile the README's package and the targets that each knows",
        elsewhere: "set OFFLOAD_TEST_CLANGS to a folder that has the files of these packages",
        files: &[
            "usr/lib/llvm-16/bin/clang",
            "usr/lib/llvm-16/bin/lld",
            "usr/lib/llvm-19/bin/clang",
            "usr/lib/llvm-19/bin/lld",
        ],
    }
    .unpacked("OFFLOAD_TEST_CLANGS", "clangs"),
    // NVIDIA's compiler and tools, in a folder laid out like an installed CUDA toolkit.
    Need {
        what: "NVIDIA's compiler and fatbin tools",
        packages: &[],
        why: "nvcc compiles CUDA sources, ptxas makes cubins of PTX; fatbinary, cuobjdump and \
              nvJitLink judge what we write",
        elsewhere: "a CUDA toolkit of version 13; set CUDA_HOME to its folder",
        files: &["bin/nvcc", "bin/ptxas", "bin/fatbinary", "bin/cuobjdump", "nvvm/bin/cicc"],
    }
    .unpacked("CUDA_HOME", "cuda13/nvidia/cu13"),
    PUBLISHED,
    // A library that Debian built for AMD's GPUs, whose bundle has target IDs with features. It is
    // only unpacked, because tests only read it.
    Unpacked {
        at: "librocrand1",
        ..Need {
            what: "a library with bundles, of Debian",
            packages: &["librocrand1"],
            why: "device code for targets with features, which wheels do not have",
            elsewhere: "a folder `librocrand1` with the files of this package, in the one that \
                        OFFLOAD_TEST_PUBLISHED names",
            files: &["usr/lib/x86_64-linux-gnu/librocrand.so.1.1"],
        }
        .unpacked("OFFLOAD_TEST_PUBLISHED", "published")
    },
];

/// A Rust compiler on LLVM 22 with the targets for GPUs, and the matching sources of `core`. They
/// are only unpacked, because the project is built with a different Rust. The name of the last
/// package contains the compiler's version.
pub const RUST_GPU: Unpacked = Need {
    what: "Rust compiler with its sources",
    packages: &["rustc-web", "rust-web-src", "libstd-rust-web-dev", "libstd-rust-web-1.96"],
    why: "compiles the kernels of examples/rust-kernels",
    elsewhere: "set OFFLOAD_TEST_RUST_GPU to a folder with these packages of Debian 12, unpacked",
    files: &["usr/bin/rustc", "usr/lib/rustlib/src/rust/library/Cargo.lock"],
}
.unpacked("OFFLOAD_TEST_RUST_GPU", "rust-gpu");

/// The package of [`RUST_GPU`] with the standard library, which Debian also has for other
/// architectures.
pub const RUST_STD: &str = "libstd-rust-web-dev";

/// Packages that run and link programs for Windows. `cargo xtask elsewhere` installs the packages
/// for the hosts on its command line.
pub const WINE: Need = Need {
    what: "Wine and mingw-w64",
    packages: &["wine64", "wine", "gcc-mingw-w64-x86-64-win32", "g++-mingw-w64-x86-64-win32"],
    why: "link programs for Windows and run them",
    elsewhere: "wine64 in /usr/lib/wine, and x86_64-w64-mingw32-g++ in PATH",
    files: &["x86_64-w64-mingw32-g++"],
};

/// Packages that run and link programs for a processor, given its name in Debian and in qemu. See
/// [`WINE`].
macro_rules! qemu {
    ($name:literal, $qemu:literal) => {
        Need {
            what: concat!("qemu and the compiler for ", $name),
            packages: &["qemu-user-static", concat!("g++-", $name, "-linux-gnu")],
            why: concat!("link programs for ", $name, " and run them"),
            elsewhere: concat!("qemu-", $qemu, "-static and ", $name, "-linux-gnu-g++ in PATH"),
            files: &[concat!("qemu-", $qemu, "-static"), concat!($name, "-linux-gnu-g++")],
        }
    };
}
pub const AARCH64: Need = qemu!("aarch64", "aarch64");
pub const RISCV64: Need = qemu!("riscv64", "riscv64");
pub const I686: Need = qemu!("i686", "i386");
/// The big-endian processor.
pub const S390X: Need = qemu!("s390x", "s390x");

/// Packages that link programs with musl. See [`WINE`].
pub const MUSL: Need = Need {
    what: "musl",
    packages: &["musl-tools"],
    why: "links programs with musl, static and dynamic",
    elsewhere: "musl-gcc in PATH",
    files: &["musl-gcc"],
};

/// The package with LLVM's unwinder. Programs for musl are linked with it.
pub const UNWINDER: &str = "libunwind-22-dev";

/// Wine's program in Debian's package `wine64`, because the program in `PATH` needs a display.
pub const WINE_PROGRAM: &str = "/usr/lib/wine/wine64";

/// Programs and libraries that other projects have published.
const PUBLISHED: Unpacked = Need {
    what: "files that other projects have published",
    packages: &[],
    why: "device code that this project did not make is read, and other tools judge what was \
          read",
    elsewhere: "set OFFLOAD_TEST_PUBLISHED to the `.tools/published` of a machine where set-up \
                worked",
    files: &[],
}
.unpacked("OFFLOAD_TEST_PUBLISHED", "published");

/// Returns the path of the link checker, which is the only file of its wheel.
pub fn lychee() -> PathBuf {
    let wheel = PUBLISHED.wheels().into_iter().find(|it| it.folder == "published/lychee");
    PUBLISHED.folder().join("lychee").join(wheel.expect("the list has this wheel").files[0])
}

/// The folder of Debian's LLVM 22, which has the programs under their plain names.
const LLVM: &str = "/usr/lib/llvm-22/bin";

/// The folders to search for libraries and headers on systems without dpkg, in the form of `PATH`.
const FOLDERS: &str = "/usr/lib64:/usr/lib:/usr/lib/x86_64-linux-gnu:/usr/lib/aarch64-linux-gnu:\
    /usr/include:/opt/rocm/lib:/opt/rocm/include:/usr/local/include:\
    /usr/lib/llvm-22/lib/clang/22/lib/linux";

impl Need {
    /// Turns the tool into one with files in the folder `home` of `.tools`, named by `variable`.
    const fn unpacked(self, variable: &'static str, home: &'static str) -> Unpacked {
        Unpacked { need: self, variable, home, at: "" }
    }

    /// Returns the packages of Debian and Ubuntu.
    pub fn packages(&self) -> Vec<&'static str> {
        self.packages.iter().flat_map(|it| it.split(' ')).collect()
    }

    /// Whether each of the tool's files is in one of the usual folders, for systems without dpkg.
    pub fn is_found(&self) -> bool {
        let llvm = run::var("OFFLOAD_TEST_LLVM").unwrap_or_else(|| LLVM.into());
        let places = [llvm, run::var("PATH").unwrap_or_default(), FOLDERS.into()];
        let is_there = |file: &&str| {
            places.iter().flat_map(std::env::split_paths).any(|place| place.join(file).exists())
        };
        self.files.iter().all(is_there)
    }
}

impl Unpacked {
    /// Returns the folder with the files, which may not exist yet.
    pub fn folder(&self) -> PathBuf {
        let home = run::var(self.variable).map_or_else(|| folder(self.home), PathBuf::from);
        if self.at.is_empty() { home } else { home.join(self.at) }
    }

    /// Whether all files are there.
    pub fn is_complete(&self) -> bool {
        // A folder set by the user replaces `home`.
        let (folder, is_named) = (self.folder(), run::var(self.variable).is_some());
        let is_here = |wheel: &Wheel| match Path::new(wheel.folder).strip_prefix(self.home) {
            Ok(part) if is_named => wheel.is_in(&folder.join(part)),
            _ => is_named || wheel.is_here(),
        };
        self.need.files.iter().all(|file| folder.join(file).is_file())
            && self.wheels().iter().all(is_here)
    }

    /// Returns the wheels with the files. Returns none if the files come from packages.
    pub fn wheels(&self) -> Vec<Wheel> {
        let mut wheels = if self.need.packages.is_empty() { crate::wheels::all() } else { vec![] };
        wheels.retain(|wheel| wheel.folder.split('/').next() == self.home.split('/').next());
        wheels
    }
}

/// Returns a folder of `.tools`.
pub fn folder(path: &str) -> PathBuf {
    run::workspace().join(".tools").join(path)
}

/// Returns the variables that tell the tests where the tools are. Does not change variables that
/// the user has set.
pub fn environment() -> Vec<(&'static str, OsString)> {
    let mut all = vec![("OFFLOAD_TEST_LLVM", OsString::from(LLVM))];
    all.extend(UNPACKED.iter().map(|it| (it.variable, folder(it.home).into())));
    all.retain(|(name, folder)| Path::new(folder).is_dir() && run::var(name).is_none());
    // OpenCL drivers on the machine would add devices that the tests do not expect. Tests of a
    // driver set the variable to a different folder.
    if run::var("OFFLOAD_TEST_GPU").is_none() {
        all.push(("OCL_ICD_VENDORS", run::workspace().join("target/no-drivers").into()));
    }
    all
}
