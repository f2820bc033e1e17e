//! Libraries with device code that other projects have published. This module lists these
//! libraries, finds them where set-up has put them, and reads them.
//!
//! docs/formats.md, "Published files", lists the contents of each.

use crate::judges::Listed;
use crate::tools::folder_of;
use offload_format::bundle::Bundle;
use offload_format::compressed::Found;
use offload_format::fat_file::{ContainerKind, Content, find};
use offload_format::nv_fatbin::NvFatbin;
use offload_format::target::NvidiaCode;
use std::borrow::Cow;
use std::ops::Range;
use std::path::PathBuf;

/// A library made with ROCm 7.2. It contains 95 plain bundles, one after the other.
pub const ONNXRUNTIME: &str = "onnxruntime-rocm/onnxruntime/capi/libonnxruntime_providers_rocm.so";
/// A library made with ROCm 6.2. It contains one plain bundle.
pub const JAX_ROCM60: &str = "jax-rocm60-plugin/jax_rocm60_plugin/_linalg.so";
/// A library made with ROCm 7.2. It contains two compressed bundles of version 3.
pub const JAX_ROCM7: &str = "jax-rocm7-plugin/jax_rocm7_plugin/_solver.so";
/// A library made with ROCm 6.4. It contains two compressed bundles of version 2.
pub const BITSANDBYTES_ROCM64: &str = "bitsandbytes/bitsandbytes/libbitsandbytes_rocm64.so";
/// A library made with AMD's clang 23. It contains two compressed bundles of version 3.
pub const BITSANDBYTES_ROCM715: &str = "bitsandbytes/bitsandbytes/libbitsandbytes_rocm715.so";
/// A DLL made with ROCm 7.2 for Windows. It contains two compressed bundles of version 3.
pub const BITSANDBYTES_ROCM72_DLL: &str =
    "bitsandbytes-windows/bitsandbytes/libbitsandbytes_rocm72.dll";
/// A library from Debian, made with ROCm 5.3 and clang 15. It contains one plain bundle, for
/// targets with features.
pub const ROCRAND: &str = "librocrand1/usr/lib/x86_64-linux-gnu/librocrand.so.1.1";
/// A library made with CUDA 11.8. It contains a fatbin without compression, and six fatbins with
/// LZ4 in the section `__nv_relfatbin`.
pub const BITSANDBYTES_CUDA118: &str = "bitsandbytes/bitsandbytes/libbitsandbytes_cuda118.so";
/// A library made with CUDA 13.2. It contains seven fatbins with zstd, in the two sections that can
/// contain fatbins.
pub const BITSANDBYTES_CUDA132: &str = "bitsandbytes/bitsandbytes/libbitsandbytes_cuda132.so";
/// A DLL made with CUDA 13.2 for Windows. It contains seven fatbins with zstd, in the two sections
/// that can contain fatbins.
pub const BITSANDBYTES_CUDA132_DLL: &str =
    "bitsandbytes-windows/bitsandbytes/libbitsandbytes_cuda132.dll";
/// A library made with CUDA 12.9. It contains eleven fatbins, ten of them with LZ4.
pub const NVJPEG12: &str = "nvidia-nvjpeg-cu12/nvidia/nvjpeg/lib/libnvjpeg.so.12";
/// A library made with CUDA 13. It contains ten fatbins with zstd.
pub const NVJPEG13: &str = "nvidia-nvjpeg/nvidia/cu13/lib/libnvjpeg.so.13";
/// An archive of CUDA 13.5. Its object contains a fatbin.
pub const CUDADEVRT: &str = "nvidia-cuda-runtime/nvidia/cu13/lib/libcudadevrt.a";

/// Old versions of ptxas. Each row has the newest PTX version that this ptxas accepts, and the
/// file.
pub const OLD_PTXAS: [(u32, u32, &str); 5] = [
    (7, 8, "ptxas-11.8/nvidia/cuda_nvcc/bin/ptxas"),
    (8, 0, "ptxas-12.0/nvidia/cuda_nvcc/bin/ptxas"),
    (8, 1, "ptxas-12.1/nvidia/cuda_nvcc/bin/ptxas"),
    (8, 4, "ptxas-12.4/nvidia/cuda_nvcc/bin/ptxas"),
    (8, 7, "ptxas-12.8/nvidia/cuda_nvcc/bin/ptxas"),
];

/// Python packages that read the metadata of packages. Each row has a folder for Python's path, and
/// a file.
pub const PACKAGE_READERS: [(&str, &str); 3] = [
    ("py-rattler", "py-rattler/rattler/rattler.abi3.so"),
    ("variantlib", "variantlib/variantlib/variant_dist_info.py"),
    ("packaging", "packaging/packaging/requirements.py"),
];

/// The published libraries for AMD's GPUs, from wheels.
pub const ROCM: [&str; 6] = [
    ONNXRUNTIME,
    JAX_ROCM60,
    JAX_ROCM7,
    BITSANDBYTES_ROCM64,
    BITSANDBYTES_ROCM715,
    BITSANDBYTES_ROCM72_DLL,
];

/// The published libraries for NVIDIA's GPUs.
pub const CUDA: [&str; 6] = [
    BITSANDBYTES_CUDA118,
    BITSANDBYTES_CUDA132,
    BITSANDBYTES_CUDA132_DLL,
    NVJPEG12,
    NVJPEG13,
    CUDADEVRT,
];

/// Returns the path of a published library.
pub fn path(file: &str) -> PathBuf {
    folder_of("OFFLOAD_TEST_PUBLISHED").expect("the tool was checked").join(file)
}

/// The maximum number of bytes that a decompression may allocate.
const LIMIT: u64 = 1 << 28;

/// A plain or compressed bundle in a file.
#[derive(Debug)]
pub struct OneBundle<'data> {
    /// The range of the bundle in the file.
    pub range: Range<usize>,
    /// The format version of a compressed bundle, or `None` for a plain bundle.
    pub version: Option<u16>,
    /// The bytes of the bundle, decompressed if it is compressed.
    pub bytes: Cow<'data, [u8]>,
}

impl OneBundle<'_> {
    /// Returns the bundle with its entries.
    pub fn parsed(&self) -> Bundle<'_> {
        Bundle::parse(&self.bytes).expect("a bundle")
    }

    /// Returns the position in the file from which the bundle's offsets count. For a compressed
    /// bundle, this is 0.
    pub fn start(&self) -> u64 {
        if self.version.is_none() { self.range.start as u64 } else { 0 }
    }
}

/// Returns all bundles of a file, in file order.
#[track_caller]
pub fn bundles(file: &[u8]) -> Vec<OneBundle<'_>> {
    let mut all = Vec::new();
    find(file, |place, container| {
        let Content::Container(ContainerKind::Bundle | ContainerKind::CompressedBundle, section) =
            container.unwrap_or_else(|error| panic!("{place:?}: {error}"))
        else {
            return;
        };
        assert_eq!(place.offset as usize, section.as_ptr() as usize - file.as_ptr() as usize);
        for bundle in Found::in_a_row(section, LIMIT) {
            let (at, bundle) = bundle.expect("a bundle");
            let start = (place.offset + at) as usize;
            let end = |size: u64| start + size as usize;
            all.push(match bundle {
                Found::Plain(bundle) => {
                    let range = start..end(bundle.size());
                    OneBundle { bytes: file[range.clone()].into(), range, version: None }
                }
                Found::Compressed(bundle) => OneBundle {
                    range: start..end(bundle.find_size(LIMIT).expect("a size")),
                    version: Some(bundle.version),
                    bytes: bundle.decompress(LIMIT).expect("a stream").into(),
                },
            });
        }
    });
    all
}

/// Returns the entries of bundles, except those for hosts, with their offsets and sizes.
pub fn listed(bundles: &[OneBundle<'_>]) -> Vec<Listed> {
    let mut all = Vec::new();
    for bundle in bundles {
        all.extend(bundle.parsed().entries().map(|entry| {
            let offset = bundle.start() + entry.offset;
            (entry.id_str.to_owned(), offset, entry.code_object.len() as u64)
        }));
    }
    all.retain(|(id, ..)| !id.starts_with("host"));
    all
}

/// Returns the images of a file's fatbins under the names that `cuobjdump` gives them, and the
/// offset of each fatbin.
pub fn fatbin_images(file: &[u8]) -> (Vec<(String, Vec<u8>)>, Vec<u64>) {
    let (mut all, mut starts) = (Vec::new(), Vec::new());
    find(file, |place, container| {
        let container = container.unwrap_or_else(|error| panic!("{place:?}: {error}"));
        let Content::Container(ContainerKind::Fatbin, section) = container else { return };
        for fatbin in NvFatbin::in_a_row(section) {
            let (at, fatbin) = fatbin.expect("a fatbin");
            starts.push(place.offset + at);
            for entry in fatbin.entries() {
                let payload = entry.decompress(LIMIT).expect("a payload");
                all.extend(payload.images().map(|(image, bytes)| {
                    let arch = image.arch().expect("an architecture").with_code(NvidiaCode::Cubin);
                    let extension = if image.kind.is_ptx() { "ptx" } else { "cubin" };
                    (format!("{arch}.{extension}"), bytes.to_vec())
                }));
            }
        }
    });
    (all, starts)
}
