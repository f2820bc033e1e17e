//! What the tests need: packages, wheels, where they land. No other file knows these names.

use crate::run;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

/// One thing that tests need, under the names by which the systems know it.
#[derive(Debug)]
pub struct Need {
    /// Its name in messages.
    pub what: &'static str,
    /// The packages of Debian and Ubuntu.
    pub packages: &'static [&'static str],
    /// What the tests do with it.
    pub why: &'static str,
    /// How to get it, or point at it, without those packages.
    pub elsewhere: &'static str,
    /// Files that show that it is there: of packages that are unpacked, in the folder; of others, on a system without dpkg,
    /// each in one of [`places`].
    files: &'static [&'static str],
}

/// A wheel from the Python package index, of which only the files are used.
#[derive(Debug)]
pub struct Wheel {
    /// The name in the index.
    pub name: &'static str,
    /// The only version that is taken.
    pub version: &'static str,
}

/// Everything that comes from the system.
pub const NEEDS: [Need; 5] = [
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
        what: "AMD's HIP runtime",
        packages: &["libamdhip64-5", "libamd-comgr2", "libhsa-runtime-dev"],
        why: "loads our bundles as a HIP program would (no GPU needed)",
        elsewhere: "ROCm 5 in /opt/rocm",
        files: &["libamdhip64.so.5", "libamd_comgr.so.2", "hsa/hsa.h"],
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
        why: "fetches and unpacks NVIDIA's assembler",
        elsewhere: "python3 in PATH for which `python3 -m pip` works, or a CUDA toolkit that CUDA_HOME names",
        files: &["python3"],
    },
];

/// AMD's lister of the bundles in a program, and the Perl modules that it needs: unpacked, since installing its package brings
/// two compilers and a runtime that no test needs.
pub const ROC_OBJ: Need = Need {
    what: "AMD's roc-obj-ls",
    packages: &["hipcc", "libfile-which-perl", "liburi-encode-perl"],
    why: "lists the bundles of programs, as we do",
    elsewhere: "set OFFLOAD_TEST_ROC_OBJ to a folder that has the files of these packages",
    files: &["usr/bin/roc-obj-ls", "usr/share/perl5/File/Which.pm", "usr/share/perl5/URI/Encode.pm"],
};

/// NVIDIA's PTX assembler, fatbin tools and cuobjdump, linker for running programs, fatbin library. Their trees overlay each
/// other.
pub const WHEELS: [Wheel; 4] = [
    Wheel { name: "nvidia-cuda-nvcc", version: "13.5.37" },
    Wheel { name: "nvidia-cuda-cuobjdump", version: "13.5.37" },
    Wheel { name: "nvidia-nvjitlink", version: "13.5.37" },
    Wheel { name: "nvidia-nvfatbin", version: "13.5.37" },
];

/// What the tests start out of a CUDA toolkit.
pub const CUDA_PROGRAMS: [&str; 3] = ["bin/ptxas", "bin/fatbinary", "bin/cuobjdump"];

/// Where Debian's LLVM 22 has its programs, under their plain names.
const LLVM: &str = "/usr/lib/llvm-22/bin";

/// Where libraries and headers are looked for when there is no dpkg to ask.
const FOLDERS: [&str; 8] = [
    "/usr/lib64",
    "/usr/lib",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/include",
    "/opt/rocm/lib",
    "/opt/rocm/include",
    "/usr/local/include",
];

impl Need {
    /// Whether its files are there, as far as can be told without dpkg.
    pub fn is_found(&self) -> bool {
        let places = places();
        self.files.iter().all(|file| places.iter().any(|place| place.join(file).exists()))
    }

    /// Whether its files are in the folder that its packages are unpacked into.
    pub fn is_unpacked(&self, folder: &Path) -> bool {
        self.files.iter().all(|file| folder.join(file).is_file())
    }
}

/// As pip takes it.
impl fmt::Display for Wheel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}=={}", self.name, self.version)
    }
}

/// The folder that the wheels are unpacked into.
pub fn wheel_tree(workspace: &Path) -> PathBuf {
    workspace.join(".tools").join("cuda13")
}

/// The part of [`wheel_tree`] that is laid out like an installed CUDA toolkit.
pub fn cuda_home(workspace: &Path) -> PathBuf {
    wheel_tree(workspace).join("nvidia").join("cu13")
}

/// The folder that the packages of [`ROC_OBJ`] are unpacked into.
pub fn roc_obj(workspace: &Path) -> PathBuf {
    workspace.join(".tools").join("roc-obj")
}

/// The variables that lead the tests to what is installed. A variable that the user has set stays.
pub fn environment(workspace: &Path) -> Vec<(&'static str, OsString)> {
    let candidates = [
        ("OFFLOAD_TEST_LLVM", PathBuf::from(LLVM)),
        ("CUDA_HOME", cuda_home(workspace)),
        ("OFFLOAD_TEST_ROC_OBJ", roc_obj(workspace)),
    ];
    candidates
        .into_iter()
        .filter(|(name, folder)| run::var(name).is_none() && folder.is_dir())
        .map(|(name, folder)| (name, folder.into_os_string()))
        .collect()
}

fn places() -> Vec<PathBuf> {
    let llvm = run::var("OFFLOAD_TEST_LLVM").unwrap_or_else(|| LLVM.into());
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::iter::once(PathBuf::from(llvm)).chain(std::env::split_paths(&path)).chain(FOLDERS.map(PathBuf::from)).collect()
}
