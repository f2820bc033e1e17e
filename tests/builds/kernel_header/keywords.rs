//! Keywords of CUDA's and HIP's compilers in declarations. For each target, a keyword must compile,
//! or cause an error with advice.

use super::{AMD, CPU, NVIDIA, SPIRV, assert_refuses, built, checked_by};
use offload_tests::prelude::*;

/// Declarations with all keywords that every target supports.
const KEYWORDS: &str = r#"
struct __align__(16) aligned { int x; };
struct __builtin_align__(8) also_aligned { int x; };
typedef struct __device_builtin__ __align__(8) { int x, y; } of_c;
static_assert(sizeof(aligned) == 16 && sizeof(also_aligned) == 8 && alignof(of_c) == 8, "");
__constant__ int limit = 3;
struct parameter { int x[32]; };
extern "C" __global__ void constant(const __grid_constant__ parameter p, const int **y) { *y = p.x; }
template <typename T> __global__ void constant_of(__grid_constant__ const T p, int *y) { *y = p.x[threadIdx.x]; }
template __global__ void constant_of<parameter>(__grid_constant__ const parameter, int *);
extern "C" __global__ void registers(register float *x) { register float sum = 0; for (register int i = 0; i < 4; i++) sum += x[i]; *x = sum; }
extern "C" __global__ void narrows(int *x) { int y[2] = {0.0, 1.0}; *x = y[*x]; }
extern "C" __global__ void assumes(int *x) { __builtin_assume(x[0] > 0); __assume(x[1] > 0); if (x[2]) __builtin_unreachable(); *x = 1; }
extern "C" __global__ void expects(void *x) { float *y = (float *)__builtin_assume_aligned(x, 16); *y = __builtin_expect(y[1] > 0, 1) ? 1 : 2; }
extern "C" __global__ void __launch_bounds__(96) bounds_1(int *x) { *x = 1; }
extern "C" __global__ void __launch_bounds__(128, 2) bounds_2(int *x) { *x = 1; }
extern "C" __global__ void __launch_bounds__(160, 2, 4) bounds_3(int *x) { *x = 1; }
template <int A, int B> struct product { static constexpr int value = A * B; };
template <int N> __global__ void __launch_bounds__(product<N, 2>::value, 1) bounds_of(int *x) { *x = N; }
template __global__ void bounds_of<96>(int *);
extern "C" __global__ void __maxnreg__(64) few_registers(int *x) { *x = 1; }
extern "C" __global__ void __local_maxnreg__(64) few_local_registers(int *x) { *x = 1; }
extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(1, 64), amdgpu_waves_per_eu(2, 4))) void of_amd(int *x) { *x = 1; }
__noinline__ __device__ int called(int x) { return x * x; }
static __device__ __forceinline__ int inlined(int x) { return x + 1; }
__device__ __inline__ int maybe_inlined(int x) { return x + 2; }
__inline_hint__ __device__ int hinted(int x) { return x + 3; }
__nv_pure__ __device__ int pure(int x) { return x + 4; }
__cudart_builtin__ __device__ int built_in(int x) { return x + 5; }
__no_return__ __device__ void ends() { for (;;) __trap(); }
extern "C" __global__ void calls(int *__restrict__ x, const int *__restrict y) {
  if (*y < 0) ends();
  assert(*y < 9);
  *x = called(*y) + inlined(*y) + maybe_inlined(*y) + hinted(*y) + pure(*y) + built_in(*y);
}
extern "C" __global__ void shares(int *x) {
  static __shared__ int one; volatile __shared__ __align__(16) int many[3];
  one = 3; many[0] = one; *x = many[0];
}
extern "C" __global__ void lambdas(int *x) {
  auto f = [=] __device__(int a) { return a * *x; };
  auto g = [] __host__ __device__(int a) { return a; };
  *x = f(2) + g(3) + limit;
}
extern "C" __global__ void unrolled(int *x) {
#pragma unroll
  for (int i = 0; i < 4; i++) x[i] = 1;
#pragma unroll 2
  for (int i = 0; i < 4; i++) x[i] += 1;
#pragma nounroll
  for (int i = 0; i < 4; i++) x[i] += 1;
}
"#;

#[test(CLANG.slow())]
fn keywords_compile_for_every_target() {
    let targets = ["gfx90a", "gfx1100", "compute_80", "compute_90", "spirv64", "cpu"];
    let scenario = built("header_keywords", &targets, KEYWORDS);
    let image = scenario.output("release", "k/gfx90a.hsaco");
    let notes = stdout(&succeed(llvm("llvm-readelf").arg("--notes").arg(image)));
    for size in [64, 96, 128, 160, 192] {
        assert!(notes.contains(&format!(".max_flat_workgroup_size: {size}\n")), "{size}: {notes}");
    }
    let older = scenario.output_text("release", "k/compute_80.ptx");
    let newer = scenario.output_text("release", "k/compute_90.ptx");
    for bound in [".maxntid 96", ".maxntid 128", ".maxntid 160", ".maxntid 192", ".minnctapersm 2"]
    {
        assert!(older.contains(bound) && newer.contains(bound), "no {bound} in\n{newer}");
    }
    assert!(newer.contains(".maxclusterrank 4") && !older.contains(".maxclusterrank"), "{newer}");
    // The address must be that of the parameter, not that of a copy.
    assert!(newer.contains("cvta.param.u64") && !newer.contains("__local_depot"), "{newer}");
    for compiler in [PathBuf::from("g++"), llvm_bin().join("clang++")] {
        scenario.pack("k", r#".file("kernels/k.cu").arch("cpu")"#).write(
            "src/main.rs",
            "mod kernels { offload_gpu::include_kernels!(\"k\"); }\n\
             fn main() { let _ = (kernels::LIMIT, kernels::lambdas(std::ptr::null_mut::<i32>())); }\n",
        );
        scenario.build().release().env("CXX", compiler).passes();
    }
}

#[test(CLANG.slow())]
fn other_keywords_have_advice() {
    let folder = scratch::folder("header-keywords-missing");
    let nvidia_90 = NVIDIA.replace("sm_80", "sm_90");
    let managed = "__managed__ int x; __global__ void k(int *y) { *y = x; }";
    let sized = "__global__ void __block_size__((64, 1, 1)) k(int *y) { *y = 1; }";
    let clusters = "__global__ void __cluster_dims__(2, 1, 1) k(int *y) { *y = 1; }";
    for (source, fails, passes, advice) in [
        (
            managed,
            &[NVIDIA, SPIRV, CPU][..],
            &[AMD][..],
            "__managed__ for AMD alone: write __device__",
        ),
        (
            sized,
            &[AMD, NVIDIA, SPIRV, CPU],
            &[],
            "no __block_size__: use __launch_bounds__, and launch ",
        ),
        (
            clusters,
            &[&*nvidia_90],
            &[AMD, NVIDIA, SPIRV, CPU],
            "use Build::compiler(Compiler::Nvcc)",
        ),
    ] {
        for program in [PathBuf::from("g++"), llvm_bin().join("clang++")] {
            let is_gcc = program.as_os_str() == "g++";
            let compile = |options: &str| checked_by(&program, &folder, source, options);
            for options in fails.iter().filter(|options| !is_gcc || **options == CPU) {
                assert_refuses(compile(options), advice);
            }
            for options in passes.iter().filter(|options| !is_gcc || **options == CPU) {
                succeed(&mut compile(options));
            }
        }
    }
}
