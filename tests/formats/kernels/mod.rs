//! Compares what images state about their kernels with the output of LLVM's readelf and NVIDIA's
//! cuobjdump for the same files.

mod code_objects;
mod cubins;
mod hostile;
mod ptx_parameters;
mod spirv;

use offload_format::ErrorKind;
use offload_format::image::{ImageHeader, Kernel, Kernels};
use offload_format::target::SpirvVersion;
use offload_tests::prelude::*;

const BOTH: Needs = needs(&[Tool::Llvm22, Tool::Cuda]);
const PUBLISHED_ROCM: Needs = needs(&[Tool::Llvm22, Tool::PublishedRocm]);
const PUBLISHED_CUDA: Needs = needs(&[Tool::Llvm22, Tool::Cuda, Tool::PublishedCuda]);

/// Kernels with arguments of all sizes, memory of all kinds, and so many live values that a
/// compiler with few registers must spill some.
const SOURCE: &str = r#"
struct Odd { char a; short b; double d; };
struct Inner { int x[10]; char c; };
struct Outer { Inner inner[3]; short tail[5]; };
struct Three { float x, y, z; };
struct alignas(16) Aligned { float v[4]; };

extern "C" __global__ void scalars(char c, short s, int i, long l, float f, double d, bool b, const float *p, float *out) {
  out[threadIdx.x] = c + s + i + l + f + d + b + p[0];
}
__global__ void structs(Odd o, Inner i, Outer n, Three t, char last, Aligned a, float *out) {
  out[blockIdx.x] = o.a + o.b + o.d + i.x[3] + i.c + n.inner[2].x[9] + n.tail[4] + t.z + last + a.v[3];
}
extern "C" __global__ void nothing() {}
extern "C" __global__ void __launch_bounds__(192) shares(int *o) {
  __shared__ int tile[256];
  __shared__ double pair[2];
  tile[threadIdx.x] = o[threadIdx.x];
  pair[threadIdx.x & 1] = o[0];
  __syncthreads();
  o[threadIdx.x] = tile[255 - threadIdx.x] + pair[0];
}
__device__ __noinline__ void fill(volatile int *a, int n) {
  volatile int own[40];
  for (int i = 0; i < n; i++) a[i] = own[i] = i;
}
extern "C" __global__ void stacks(int *o, int n) {
  volatile int a[500];
  fill(a, n);
  o[0] = a[n];
}
extern "C" __global__ void spills(float *o, int n) {
  float v[96];
  for (int i = 0; i < 96; i++) v[i] = o[i * n];
  for (int k = 0; k < n; k++)
#pragma unroll
    for (int i = 0; i < 96; i++) v[i] = v[i] * v[(i + 7) % 96] + o[k];
#pragma unroll
  for (int i = 0; i < 96; i++) o[i * n] = v[i];
}
"#;

fn compile(folder: &Path, out: &str, options: &str) -> PathBuf {
    scratch::write(folder.join("kernels.cu"), SOURCE);
    let options = format!(
        "--cuda-device-only -nogpuinc -nogpulib -fms-extensions -std=c++17 {options} kernels.cu \
         -o {out} -include"
    );
    let header = scratch::workspace().join("offload-build/include/offload/kernel.h");
    succeed(in_folder(llvm("clang"), folder, &options).arg(header));
    folder.join(out)
}

#[track_caller]
fn kernels(data: &[u8]) -> Vec<Kernel<'_>> {
    Kernels::parse(data).unwrap_or_else(|error| panic!("{error}")).collect()
}

/// Returns ordinal, offset and size of each argument.
fn places(kernel: &Kernel<'_>) -> Vec<(u64, u64, u64)> {
    kernel.arguments.clone().map(|it| (it.ordinal, it.offset, it.size)).collect()
}

#[test(LLVM)]
fn images_of_every_kind() {
    let folder = scratch::folder("kernels-kinds");
    scratch::write(folder.join("k.c"), "void k(void) {}\n");
    let compile = |options: &str| {
        let options = format!("-ffreestanding -nogpulib -c --target={options} k.c -o out");
        run(llvm("clang"), &folder, &options);
        ImageHeader::parse(&read(folder.join("out")))
            .unwrap_or_else(|error| panic!("{options}: {error}"))
    };
    for (options, expected) in [
        ("x86_64-linux-gnu", ImageHeader::Elf { machine: 62 }),
        ("aarch64-linux-gnu", ImageHeader::Elf { machine: 183 }),
        ("i386-linux-gnu", ImageHeader::Elf { machine: 3 }),
        ("powerpc64-linux-gnu", ImageHeader::Elf { machine: 21 }),
        ("x86_64-linux-gnu -emit-llvm", ImageHeader::Bitcode),
        ("x86_64-apple-macos -emit-llvm -fembed-bitcode=off", ImageHeader::Bitcode),
    ] {
        assert_eq!(compile(options), expected, "{options}");
    }
    let spirv = compile("spirv64-unknown-unknown");
    let version = SpirvVersion { major: 1, minor: 4 };
    assert!(matches!(spirv, ImageHeader::SpirV(header) if header.version == version), "{spirv:?}");
    let code_object = compile("amdgcn-amd-amdhsa -mcpu=gfx1030");
    assert!(matches!(code_object, ImageHeader::CodeObject(_)));
    assert!(kernels(&read(folder.join("out"))).is_empty(), "a code object without kernels");
    let cubin = read(corpus_path("image/cuda12.sm_90.cubin"));
    assert!(matches!(ImageHeader::parse(&cubin), Ok(ImageHeader::Cubin(it)) if it.number == 90));
    assert!(matches!(
        ImageHeader::parse(&read(corpus_path("image/kinds.ptx"))),
        Ok(ImageHeader::Ptx(_))
    ));
    let kind = |data: &[u8]| ImageHeader::parse(data).unwrap_err().kind();
    assert_eq!(kind(b"some text"), ErrorKind::BadMagic);
    assert_eq!(kind(b".version x"), ErrorKind::Malformed);
    assert!(matches!(kind(b"\x7fELF"), ErrorKind::Truncated { .. }));
    assert_eq!(Kernels::parse(b"BC\xc0\xde").unwrap_err().kind(), ErrorKind::BadMagic);
}
