//! Sources for HIP, compiled with only the kit's headers. Some include HIP's headers, and others
//! include nothing. clang and g++ compile the sources for each kind of target, and the CPU runs the
//! warp functions.

use super::{AMD, CPU, NVIDIA, SPIRV, checked, checked_by};
use offload_tests::prelude::*;

/// A kernel that includes HIP's headers.
const INCLUDED: &str = "#include <hip/hip_runtime.h>
#include <hip/hip_fp16.h>
#include <hip/hip_bf16.h>
#include <hip/hip_bfloat16.h>
#include <hip/hip_cooperative_groups.h>
extern \"C\" __global__ void included(__half *x, __hip_bfloat16 *y) {
  x[threadIdx.x] = __float2half(__half2float(x[threadIdx.x]) + 1);
  y[threadIdx.x] = __float2bfloat16(__bfloat162float(y[threadIdx.x]) + 1);
  cooperative_groups::this_thread_block().sync();
}
extern \"C\" __global__ void older(hip_bfloat16 *x, float y) {
  hip_bfloat16 sum = x[0] * hip_bfloat16(y) - x[1];
  sum += hip_bfloat16(1.01f, hip_bfloat16::truncate) / hip_bfloat16::round_to_bfloat16(1);
  x[2] = sum > 3 ? -sum : sum;
  x[3].data = 0x3f80;
}
";

/// A kernel that includes nothing. Each lane checks the values that other lanes pass to it. Odd
/// lanes call the warp functions in a separate branch, because the lanes that call a function
/// together exchange values, as on AMD's GPUs.
const BARE: &str = "__device__ int2 operator*(int2 a, int2 b) { return int2{a.x * b.x, a.y * b.y + 1}; }
__device__ int2 own(int2 x) { return x * make_int2(1, 1); }
extern \"C\" __global__ void bare(unsigned *seen, float *sum) {
  HIP_DYNAMIC_SHARED(unsigned, right)
  int i = hipThreadIdx_x, lane = __lane_id();
  bool ok = lane == i % warpSize && hipBlockDim_x * hipGridDim_x == 64 && hipBlockIdx_x == 0;
  offload_lanes odd = offload_lanes(0xaaaaaaaaaaaaaaaaull);
  if (i % 2) {
    ok &= __ballot(1) == odd && __ballot(lane == 3) == 8 && __all(lane % 2) && !__any(lane == 2);
    ok &= __shfl(i, lane ^ 2) == (i ^ 2);
  } else {
    ok &= __ballot(1) == offload_lanes(~odd) && __any(lane == 2) && !__all(lane == 2);
    ok &= __shfl_xor(i, 2) == (i ^ 2) && __shfl_up(i, 2, 4) == (i % 4 < 2 ? i : i - 2);
    ok &= __shfl_down(float(i), 2, 4) == (i % 4 < 2 ? i + 2 : i);
  }
  float4 v = make_float4(1, 2, 3, 4) * 2.0f - make_float4(1, 0, 0, 0) / 2;
  uchar3 u = make_uchar3(250, 1, 2);
  u += make_uchar3(10, 1, 1);
  v *= 1 + -v;
  ok &= __bitextract_u32(0xabcd1234, 8, 12) == 0xd12 && __bitextract_u32(i, 0, 0) == 0;
  ok &= __bitextract_u64(1ull << 40 | i, 40, 9) == 1;
  ok &= __bitinsert_u64(~0ull, i, 32, 30) == (3ull << 62 | uint64_t(i) << 32 | ~0u);
  ok &= __bitinsert_u32(0xffffffff, 0x1234, 4, 8) == 0xfffff34f && __bitinsert_u32(5, ~i, 3, 0) == 5;
  ok &= v == make_float4(-0.75f, -12, -30, -56) && u != make_uchar3(4, 2, 4) && u == make_uchar3(4, 2, 3);
  ok &= own(make_int2(1, 2) + make_int2(3, 4)) == make_int2(4, 7);
  right[i] = ok;
  __syncthreads();
  seen[i] = right[63 - i];
  unsafeAtomicAdd(sum, 0.5f);
  safeAtomicAdd(sum, 0.5f);
}
";

/// A kernel for CUDA and HIP.
const BOTH: &str = "#ifdef __HIP__
#include <hip/hip_runtime.h>
#ifdef CUDART_VERSION
#error
#endif
#define __shfl_down_sync(mask, x, by) __shfl_down(x, by)
#else
#if CUDART_VERSION < 11080
#error
#endif
#include <cuda_runtime.h>
#include <cuda.h>
#if CUDA_VERSION != CUDART_VERSION
#error
#endif
#endif
extern \"C\" __global__ void both(int *x) { x[threadIdx.x] = __shfl_down_sync(~0ull, x[threadIdx.x], 1); }
";

const MAIN: &str = r#"mod kernels {
    offload_gpu::include_kernels!("hip");
}
use offload_gpu::run::{Device, Launch};

fn main() {
    let device = Device::cpu();
    let mut seen = device.zeros::<u32>(64).unwrap();
    let mut sum = device.zeros::<f32>(1).unwrap();
    let launch = Launch::new(1, 64).shared_memory(256);
    // SAFETY: the block has 64 threads.
    unsafe { kernels::bare::bare(&mut seen, &mut sum).launch_as(&device, &launch).unwrap() };
    let older = [0x4040, 0x3f80, 0, 0].map(offload_gpu::types::Bf16::from_bits);
    let mut older = device.buffer(&older).unwrap();
    // SAFETY: the kernel accesses four elements.
    unsafe { kernels::included::older(&mut older, 1.50390625).launch(&device, 1, 1).unwrap() };
    let older: Vec<u16> = older.to_vec().unwrap().iter().map(|x| x.to_bits()).collect();
    let seen: u32 = seen.to_vec().unwrap().iter().sum();
    println!("{seen} {} {older:x?}", sum.to_vec().unwrap()[0]);
}
"#;

const TARGETS: [&str; 6] = ["gfx90a", "gfx1100", "compute_60", "compute_80", "spirv64", "cpu"];

#[test(CLANG.slow())]
fn sources_for_hip_are_for_every_target() {
    let scenario = Scenario::without_sources("header_hip");
    scenario
        .pack(
            "hip",
            &format!(
                r#".modules(["kernels/included.hip", "kernels/bare.hip", "kernels/both.cu"]).archs({TARGETS:?})"#
            ),
        )
        .write("kernels/included.hip", INCLUDED)
        .write("kernels/bare.hip", BARE)
        .write("kernels/both.cu", BOTH)
        .write("src/main.rs", MAIN);
    for lanes in ["32", "64"] {
        let printed = scenario.run().env("OFFLOAD_CPU_LANES", lanes).passes();
        assert_eq!(printed.stdout, "64 64 [4040, 3f80, c090, 3f80]\n", "{lanes} lanes: {printed}");
    }
    assert_eq!(scenario.targets("hip"), TARGETS.repeat(3));
}

/// Conditions that must hold in a source for HIP. Some of them apply only to one vendor's GPUs, or
/// only to other targets.
const TYPES: &str = "#include <hip/hip_math_constants.h>
#include <hip/hip_runtime_api.h>
#include <hip/hip_vector_types.h>
#include <hip/hip_version.h>
#if !defined(__HIPCC__) || HIP_VERSION >= 50000000
#error
#endif
#if defined(OFFLOAD_AMDGPU)
#if !defined(__HIP_PLATFORM_AMD__) || defined(__HIP_PLATFORM_NVIDIA__) || !defined(__HIP_DEVICE_COMPILE__)
#error
#endif
__device__ void f() { static_assert(sizeof(__ballot(1)) == 8 && __AMDGCN_WAVEFRONT_SIZE == warpSize); }
#elif defined(OFFLOAD_NVPTX)
#if defined(__HIP_PLATFORM_AMD__) || !defined(__HIP_PLATFORM_NVIDIA__) || !defined(__HIP_DEVICE_COMPILE__)
#error
#endif
__device__ void f() { static_assert(sizeof(__ballot(1)) == 4 && warpSize == 32); }
#elif defined(__HIP_PLATFORM_AMD__) || defined(__HIP_PLATFORM_NVIDIA__)
#error
#elif defined(OFFLOAD_SPIRV) && (!defined(__HIP__) || !defined(__HIP_DEVICE_COMPILE__))
#error
#endif
static_assert(HIP_PI_F == 3.14159274f && HIP_SQRT_TWO == M_SQRT2 && HIP_INF > HIP_MAX_NORMAL_F);
__device__ double g(double *x) { return unsafeAtomicAdd(x, 1) + __shfl(1.0, 0u) + __shfl_up(2l, 1) + __any(true); }
";

#[test(CLANG)]
fn names_of_hip_have_the_types_of_hipcc() {
    let folder = scratch::folder("header-hip-types");
    let source = format!("{TYPES}{INCLUDED}");
    let (clang, gcc) = (llvm_bin().join("clang++"), Path::new("g++"));
    let checked = format!("{CPU} -DOFFLOAD_CPU_CHECK");
    for (program, options) in [
        (&*clang, AMD),
        (
            &clang,
            "-x hip --cuda-device-only --offload-arch=gfx1100 -nogpuinc -nogpulib -std=c++17 -fms-extensions",
        ),
        (&clang, NVIDIA),
        (&clang, SPIRV),
        (&clang, CPU),
        (gcc, CPU),
        (&clang, &checked),
        (gcc, &checked),
    ] {
        let options = format!("{options} -Wall -Wextra -Werror");
        let mut compile = checked_by(program, &folder, &source, &options);
        succeed(compile.args(["-include", "offload/hip.h"]));
    }
}

/// Sources for both vendors may define functions that HIP lacks, and even functions that HIP has.
#[test(CLANG)]
fn sources_for_both_live_beside_the_header() {
    let folder = scratch::folder("header-hip-both");
    let define = "#define SHFL(x, by) __shfl_down_sync(FULL, x, by)\n";
    let own = "template <typename T> __device__ T __shfl_down_sync(unsigned long long, T x, unsigned by) \
               { return __shfl_down_sync(OFFLOAD_ALL_LANES, x, by, warpSize); }\n";
    let old = "__device__ inline float __shfl_down(float x, unsigned by, int width = 32) \
               { return __shfl_down_sync(OFFLOAD_ALL_LANES, x, by, width); }\n";
    let kernel = "__global__ void k(float *x) { x[threadIdx.x] += SHFL(x[0], 1); }\n";
    for source in [
        format!(
            "#ifdef __HIP__\n#define FULL ~0ull\n{own}#else\n#define FULL 0xffffffffu\n#endif\n{define}{kernel}"
        ),
        format!(
            "#ifndef __HIP__\n{old}#else\n#include <hip/hip_runtime.h>\n#endif\n#define SHFL(x, by) __shfl_down(x, by)\n{kernel}"
        ),
        format!(
            "#include <hip/hip_runtime.h>\n{old}#define SHFL(x, by) __shfl_down(x, by)\n{kernel}"
        ),
    ] {
        for options in [AMD, NVIDIA, SPIRV, CPU] {
            succeed(&mut checked(&folder, &source, &format!("{options} -Wall -Werror")));
        }
    }
}
