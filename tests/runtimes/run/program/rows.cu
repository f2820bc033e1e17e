// A kernel for each row of the table in docs/guide/src/reference/kernels.md. Each thread writes 16
// words. The words depend on memory, so no compiler can precompute them. Blocks have 64 threads:
// (16, 2, 2).
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda.h>
#include <cuda/std/array>
#include <cuda/std/cstddef>
#include <cuda/std/cstdint>
#include <cuda/std/limits>
#include <cuda/std/tuple>
#include <cuda/std/type_traits>
#include <cuda/std/utility>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>
#include <device_launch_parameters.h>
#include <float.h>
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>
#include <math_constants.h>

typedef unsigned long long word;

#define ROW(name)                                                                                                      \
  static __device__ void of_##name(int t, const float *x, const int *n, word *out);                                    \
  extern "C" __global__ void row_##name(const float *x, const int *n, word *out) {                                     \
    int t = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x, i = blockIdx.x * 64 + t;              \
    of_##name(t, x + i, n + i, out + 16 * i);                                                                          \
  }                                                                                                                    \
  static __device__ void of_##name(int t, const float *x, const int *n, word *out)

static __device__ word bits(float x) { return __float_as_uint(x); }
static __device__ word bits(double x) { return word(__double_as_longlong(x)); }
static __device__ word bits(long long x) { return word(x); }
static __device__ word bits(long x) { return word(x); }
static __device__ word bits(int x) { return word(x); }
static __device__ word bits(unsigned x) { return x; }
static __device__ word bits(word x) { return x; }
static __device__ word bits(bool x) { return x; }
template <typename... T> static __device__ void put(word *out, T... values) {
  word all[] = {bits(values)...};
  static_assert(sizeof all <= 16 * sizeof(word), "a thread has 16 words");
  for (word each : all)
    *out++ = each;
}

struct __align__(16) Aligned {
  float x;
};
__constant__ int table[4] = {3, 1, 4, 1};
__device__ int counter = 5;
static __noinline__ __device__ int twice(int x) { return 2 * x; }
static __forceinline__ __device__ int thrice(int x) { return 3 * x; }
static __host__ __device__ int next(int x) { return x + 1; }

static __device__ void of_keywords(int t, const int *n, word *out) {
  __shared__ int tile[64];
  tile[t] = next(n[0]);
  __syncthreads();
  put(out, table[t % 4], counter, twice(n[0]), thrice(n[0]), tile[63 - t], int(sizeof(Aligned)));
}
extern "C" __global__ void __launch_bounds__(64) row_keywords(const float *x, const int *n, word *out) {
  int t = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x, i = blockIdx.x * 64 + t;
  (void)x, of_keywords(t, n + i, out + 16 * i);
}

ROW(indices) {
  (void)t, (void)x, (void)n;
  dim3 block = blockDim, one(7);
  put(out, threadIdx.x, threadIdx.y, threadIdx.z, blockIdx.x, blockIdx.y, blockIdx.z, blockDim.x, blockDim.y, blockDim.z,
      gridDim.x, gridDim.y, gridDim.z, block.y, one.x, one.z);
}

ROW(barriers) {
  (void)x;
  __shared__ int tile[64];
  tile[t] = n[0];
  __syncthreads();
  int other = tile[t ^ 33];
  put(out, other, __syncthreads_count(other % 3 == 0), __syncthreads_and(other >= 0), __syncthreads_or(other == 1000000),
      __syncthreads_and(t < 40), __syncthreads_or(t == 40));
}

extern __shared__ float dynamic[];
ROW(dynamic_shared_memory) {
  (void)n;
  dynamic[t] = x[0];
  __syncthreads();
  float first = dynamic[63 - t];
  __syncthreads();
  OFFLOAD_DYNAMIC_SHARED(float, tile);
  tile[t] = x[0] + 1;
  __syncthreads();
  put(out, first, tile[(t + 1) % 64]);
}

ROW(warps) {
  int own = n[0], lane = t % warpSize;
  put(out, warpSize, __shfl_sync(OFFLOAD_ALL_LANES, own, 7), __shfl_up_sync(OFFLOAD_ALL_LANES, x[0], 3),
      __shfl_down_sync(OFFLOAD_ALL_LANES, double(x[0]), 5), __shfl_xor_sync(OFFLOAD_ALL_LANES, (long long)own, 9),
      __shfl_sync(OFFLOAD_ALL_LANES, own, 2, 8), __ballot_sync(OFFLOAD_ALL_LANES, own % 3 == 0),
      __any_sync(OFFLOAD_ALL_LANES, own == n[-lane]), __all_sync(OFFLOAD_ALL_LANES, own >= 0), __activemask());
  __shared__ int tile[64];
  tile[t] = own;
  __syncwarp();
  put(out + 10, tile[t ^ 1]);
}

ROW(warp_matches) {
  int own = n[0], is_same;
  offload_lanes all = __match_all_sync(OFFLOAD_ALL_LANES, own % 3, &is_same);
  put(out, __match_any_sync(OFFLOAD_ALL_LANES, own % 3), __match_any_sync(OFFLOAD_ALL_LANES, (long long)own % 5), all,
      is_same, __match_all_sync(OFFLOAD_ALL_LANES, 7.5, &is_same), is_same, __reduce_add_sync(OFFLOAD_ALL_LANES, own),
      __reduce_min_sync(OFFLOAD_ALL_LANES, own), __reduce_max_sync(OFFLOAD_ALL_LANES, unsigned(own)),
      __reduce_and_sync(OFFLOAD_ALL_LANES, own | 8), __reduce_or_sync(OFFLOAD_ALL_LANES, own),
      __reduce_xor_sync(OFFLOAD_ALL_LANES, own));
  (void)t, (void)x;
}

// A sum as in NVIDIA's examples, which works for each kind of group.
static __device__ int sum_of(cooperative_groups::thread_group group, int *tile, int value) {
  unsigned rank = group.thread_rank();
  for (unsigned i = group.size() / 2; i > 0; i /= 2) {
    tile[rank] = value;
    group.sync();
    if (rank < i)
      value += tile[rank + i];
    group.sync();
  }
  return value;
}
ROW(cooperative_groups) {
  namespace cg = cooperative_groups;
  __shared__ int tile[64];
  cg::thread_block block = cg::this_thread_block();
  auto eight = cg::tiled_partition<8>(block);
  cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
  auto four = cg::tiled_partition<4>(eight);
  int own = n[0] % 1000, is_same;
  put(out, sum_of(block, tile, own), sum_of(cg::tiled_partition(block, 16), tile + t / 16 * 16, own),
      cg::reduce(eight, own, cg::plus<int>()), cg::reduce(warp, x[0], cg::less<float>()),
      eight.shfl(own, 3) + 7 * eight.shfl_up(own, 1) + 11 * eight.shfl_down(own, 2) + 13 * four.shfl_xor(own, 1),
      word(eight.ballot(own & 1) + 1000 * eight.any(own > 900) + 10000 * eight.all(own > 100)),
      word(eight.match_any(own % 3) + 1000 * eight.match_all(own / 1000, is_same)) + is_same,
      cg::inclusive_scan(eight, own), cg::exclusive_scan(warp, own, cg::bit_xor<int>()),
      block.thread_rank() + cg::this_grid().thread_rank(), eight.meta_group_rank() + 100 * eight.meta_group_size());
  if (own % 3 == 0) {
    auto active = cg::coalesced_threads();
    put(out + 11, active.size() * 100 + active.thread_rank(), cg::reduce(active, own, cg::greater<int>()),
        active.shfl_down(own, 1) + 7 * active.shfl(own, 1), active.ballot(own & 1));
    active.sync();
  }
  cg::sync(warp);
  put(out + 15, cg::reduce(cg::binary_partition(warp, own & 1), own, cg::bit_or<int>()) +
                    word(1000) * cg::labeled_partition(warp, own % 5).thread_rank());
}

// The values after all threads of the block and the grid have called atomic functions in any order.
ROW(atomics) {
  __shared__ int i[6];
  __shared__ unsigned u[6];
  __shared__ word l[2];
  __shared__ float f;
  __shared__ double d;
  if (t == 0) {
    i[0] = i[1] = 0, i[2] = 1000, i[3] = -1000, i[4] = i[5] = 0, f = 0, d = 0, l[0] = 0, l[1] = 5;
    u[0] = ~0u, u[1] = u[2] = u[3] = 0, u[4] = u[5] = 3;
  }
  __syncthreads();
  int own = n[0] % 1000;
  atomicAdd(&i[0], own), atomicSub(&i[1], own), atomicMin(&i[2], own), atomicMax(&i[3], own);
  atomicAnd(&u[0], ~(1u << own % 32)), atomicOr(&u[1], 1u << own % 31), atomicXor(&u[2], unsigned(own));
  atomicInc(&u[3], 9), atomicDec(&u[4], 9), atomicExch(&u[5], 8u);
  atomicAdd(&l[0], 0x100000001ull), atomicMax(&l[1], word(own) << 33);
  atomicAdd(&f, 0.5f), atomicAdd(&d, double(int(x[0])));
  for (int old = i[4], seen; (seen = atomicCAS(&i[4], old, old + 3)) != old; old = seen)
    ;
  atomicAdd_block(&i[5], 2), atomicSub_block(&i[5], 1), atomicMax_block(&l[1], 1ull);
  // All threads share the last two words of the grid's first thread, and only add to them.
  word *of_all = out - 16 * (blockIdx.x * 64 + t);
  atomicAdd(of_all + 14, word(own)), atomicAdd((unsigned *)(of_all + 15), 1u);
  __threadfence(), __threadfence_block(), __threadfence_system();
  __syncthreads();
  int which = t % 4;
  put(out, i[which], u[which], l[which % 2], f, d, i[4], i[5], u[4], u[5]);
}

ROW(system_atomics) {
  __shared__ int i[5];
  __shared__ unsigned u[4];
  __shared__ word l[2];
  __shared__ float f[3];
  if (t == 0)
    i[0] = 0, i[1] = 1000, i[2] = 0, i[3] = -1000, i[4] = 0, u[0] = ~0u, u[1] = 0, u[2] = u[3] = 3, l[0] = l[1] = 0, f[0] = 0,
    f[1] = 1e9f, f[2] = -1e9f;
  __syncthreads();
  int own = n[0] % 1000;
  atomicAdd_system(&i[0], own), atomicSub_system(&i[1], own), atomicMin_system(&i[2], -own), atomicMax_system(&i[3], own);
  if (t == 7)
    atomicCAS_system(&i[4], 1, 6), atomicCAS_system(&i[4], 0, 5);
  atomicAnd_system(&u[0], ~(1u << own % 32)), atomicOr_system(&u[1], 1u << own % 32);
  atomicInc_system(&u[2], 40u), atomicDec_system(&u[3], 40u), atomicAdd_system(&l[0], word(own) << 30);
  atomicXor_system(&l[1], word(own) << t % 32), atomicAdd_system(&f[0], float(own % 8));
  atomicMin_system(&f[1], x[0]), atomicMax_system(&f[2], x[0]);
  __syncthreads();
  word old = 0;
  if (t == 63)
    old = atomicExch_system(&l[0], 9ull);
  put(out, i[0], i[1], i[2], i[3], i[4], u[0], u[1], u[2], u[3], t == 63 ? old : 0, l[1], f[0], f[1], f[2]);
}

ROW(compiler_atomics) {
  __shared__ int i[6];
  __shared__ word l;
  __shared__ unsigned short h;
  __shared__ unsigned char c[2];
  if (t == 0) {
    __atomic_store_n(&i[0], 0, __ATOMIC_RELAXED), __atomic_store_n(&l, 7ull, __ATOMIC_RELEASE);
    i[1] = 1000, i[2] = -1, i[3] = i[4] = i[5] = 0, c[1] = 77;
    __atomic_store_n(&h, 500, __ATOMIC_SEQ_CST), __atomic_clear(c, __ATOMIC_RELEASE);
  }
  __syncthreads();
  int own = n[0] % 1000;
  __atomic_fetch_add(&i[0], own, __ATOMIC_ACQ_REL), __atomic_fetch_sub(&i[1], own, __ATOMIC_RELEASE);
  __atomic_fetch_and(&i[2], ~(1 << own % 31), __ATOMIC_SEQ_CST), __sync_fetch_and_xor(&i[3], own);
  __atomic_sub_fetch(&l, 0x100000001ull, __ATOMIC_ACQUIRE), __atomic_store_n(c + 1, 78, __ATOMIC_RELEASE);
  __atomic_add_fetch(&h, 3, __ATOMIC_ACQ_REL), __sync_lock_test_and_set(&i[5], 9);
  int old = __atomic_load_n(&i[4], __ATOMIC_ACQUIRE);
  while (!__atomic_compare_exchange_n(&i[4], &old, old + 3, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
    ;
  if (!__atomic_test_and_set(c, __ATOMIC_ACQ_REL))
    __atomic_fetch_or(&l, 1ull << 62, __ATOMIC_RELAXED);
  // All threads share the last two words of the grid's first thread, and only add to them.
  word *of_all = out - 16 * (blockIdx.x * 64 + t);
  __atomic_fetch_add(of_all + 14, word(own), __ATOMIC_RELEASE);
  __atomic_fetch_add((unsigned *)(of_all + 15), unsigned(own), __ATOMIC_SEQ_CST);
  __atomic_thread_fence(__ATOMIC_ACQ_REL), __atomic_signal_fence(__ATOMIC_SEQ_CST), __sync_synchronize();
  __syncthreads();
  put(out, __atomic_load_n(&i[t % 4], __ATOMIC_SEQ_CST), __atomic_load_n(&l, __ATOMIC_ACQUIRE),
      int(__atomic_load_n(&h, __ATOMIC_ACQUIRE)), i[4], i[5], int(__atomic_load_n(&c[0], __ATOMIC_RELAXED)), int(c[1]));
}

ROW(integers) {
  (void)t;
  int a = int(unsigned(n[0]) * 2654435u), b = n[1] - 77, c = n[2];
  long long wide = (long long)(word(a) * 0x12345678abull + word(b));
  put(out, __popc(unsigned(a)) + 100 * __popcll(word(wide)), __clz(a) + 100 * __clzll(wide), __ffs(c) + 100 * __ffsll(wide),
      __brev(unsigned(a)), __brevll(word(wide)), __umulhi(unsigned(a), unsigned(b)), __mulhi(a, b),
      __umul64hi(word(wide), word(a)), __mul64hi(wide, (long long)b), __float_as_int(x[0]), __int_as_float(c | 0x3f000000),
      __longlong_as_double(wide & 0x3fffffffffffffff), min(a, b), max((long long)b, wide), abs(b) + labs((long)wide % 99),
      __ldg(n + 3));
}

ROW(exact_math) {
  (void)t;
  int exponent;
  float f = x[0], g = x[1] + 0.25f, whole;
  double d = x[2] * 1.1, e = x[3] - 2.7, rest;
  put(out, sqrtf(fabsf(f)), sqrt(fabs(d)), fmaf(f, g, 0.1f), fma(d, e, 0.1), copysignf(f, g) + fdimf(f, g),
      fmin(f, g) + fmax(d, e), floorf(f) + ceilf(g) + truncf(f), floor(d) + ceil(e) + trunc(d),
      rintf(f) + roundf(g) + nearbyintf(f), fmodf(f, g) + remainderf(g, 0.75f), fmod(d, e) + remainder(d, 0.75),
      ldexpf(f, 3) + scalbn(d, -2) + frexp(d, &exponent) + exponent, modff(f, &whole) + modf(d, &rest) + rest + whole,
      nextafterf(f, 9.0f) + nextafter(d, -9.0), logb(fabs(d) + 1) + ilogbf(fabsf(g) + 1),
      lrintf(f) + llround(d) + lround(g) + llrint(e) + isnan(f) + isinf(d) + isfinite(e) + signbit(f));
}

// Each word is the sum of several functions' results, so 16 words suffice for all functions.
ROW(math) {
  (void)t, (void)n;
  float f = fabsf(x[0]) / 8 + 0.1f, g = f - floorf(f), s, c;
  double d = f, h = g;
  sincosf(f, &s, &c);
  put(out, double(expf(g) + exp2(h)), double(exp10f(g)) + expm1(h), double(logf(f)) + log2(d + 2), double(log10f(f + 2)) + log1p(d),
      double(powf(f, g)) + cbrt(d), hypot(d, h) + rsqrtf(f), double(s) + cos(d), sin(d) + double(c), tan(h) + sinpif(g) + cospi(h + 1),
      double(asinf(g)) + acos(h), atan(d) + atan2f(f, g), sinh(h) + coshf(g), tanh(d) + asinhf(f), acosh(d + 1) + atanhf(g / 2),
      erf(d) + erfcf(g), rcbrt(d) + rhypotf(f, g) + norm3d(d, h, 1.0) + norm4df(f, g, 1.0f, 2.0f));
}

ROW(vectors) {
  (void)t;
  float4 four = make_float4(x[0], x[1], x[2], x[3]);
  uchar2 two = make_uchar2((unsigned char)n[0], (unsigned char)n[1]);
  put(out, four.w + four.x, int(two.x) + two.y, __dp4a(n[0], n[1], n[2]), __dp4a(unsigned(n[0]), unsigned(n[1]), 5u),
      __vsubss4(unsigned(n[0]), unsigned(n[1]) * 77u), int(sizeof four + sizeof two));
}

ROW(small_numbers) {
  (void)t, (void)n;
  __half a = x[0], b = x[1];
  __half2 pair = __hadd2(__half2(a, b), __half2(b, a));
  __nv_bfloat16 c = x[2], d = x[3];
  put(out, float(a + b), float(a * b), float(__hfma(a, b, a)), float(pair.y), float(hsqrt(__habs(a))), float(c - d), float(c / d),
      float(__hmax(c, d)), float(__nv_fp8_e4m3(x[0])), float(__nv_fp8_e5m2(x[1])), int(__half_as_ushort(a)),
      __half2float(__float2half_rn(x[3])), int(__half2int_rn(b)), int(a < b));
}

ROW(types_constants) {
  (void)t, (void)x;
  uint a = uint(n[0]);
  ulong b = ulong(n[1]);
  size_t size = size_t(n[2]);
  int32_t c = int32_t(n[3]);
  uint64_t d = UINT32_MAX + uint64_t(n[0]);
  put(out, a, word(b), word(size), c, word(d), float(n[0]) < INFINITY, M_PI * n[0], INT_MAX - n[0], FLT_MAX / float(n[0] + 1),
      CUDART_PI_F * float(n[0]), CUDART_INF_F > float(n[0]), isnan(NAN * float(n[0])), DBL_EPSILON * n[0], CHAR_BIT * n[0]);
}

ROW(std) {
  (void)t;
  put(out, std::min(n[0], n[1]), std::max(x[0], x[1]), word(std::max<size_t>(size_t(n[0]), 5u)));
}

ROW(named_roundings) {
  (void)t;
  float a = x[0], b = x[1];
  double c = x[2] * 1.3, d = x[3] / 3.0;
  put(out, __fmul_rn(a, b) + a, __fadd_rn(a, b) * b, __fmaf_rn(a, b, 0.1f), __fdiv_rn(a, b + 100.0f), __dmul_rn(c, d) + c,
      __dadd_rn(c, d), __ddiv_rn(c, d + 100), __dsqrt_rn(fabs(c)), __float2int_rn(a) + __float2int_rz(b), __float2int_ru(a) - __float2int_rd(b),
      __double2ll_rn(c * 1e9), __double2uint_rz(fabs(d)), __int2float_rn(n[0] * 77777), __hiloint2double(n[0] & 0x3fffffff, n[1]),
      __double2loint(c), __ll2float_rn((long long)n[0] * 0x123456789ll));
}

ROW(directed_roundings) {
  (void)t;
  float a = x[0], b = x[1] / 3, c = x[2] * 1e-3f;
  put(out, __fadd_rz(a, c), __fadd_ru(a, c), __fsub_rd(b, c), __fmul_rz(a, b), __fmul_rd(b, c), __fmaf_ru(a, b, c), __fmaf_rz(a, -b, c),
      __int2float_rz(n[0] * 77777), __uint2float_ru(unsigned(n[1]) * 77777u), __ll2float_rd((long long)n[0] * 0x123456789ll),
      __ull2float_rz((word)n[1] * 0x12345678912345ull), __double2float_ru(a * 1.3), __double2float_rd(b * 1.7),
      __ll2double_rz((long long)n[0] * 0x12345678912345ll), __ull2double_ru((word)n[1] * 0x123456789123457ull));
}

ROW(parts_of_words) {
  (void)t, (void)x;
  unsigned a = unsigned(n[0]) * 2654435761u, b = unsigned(n[1]) * 40503u, c = unsigned(n[2]);
  put(out, __byte_perm(a, b, c), __funnelshift_l(a, b, c), __funnelshift_rc(a, b, c % 64), __mul24(int(a), int(b)), __umul24(a, b),
      __sad(int(a), int(b), c), __usad(a, b, c), __hadd(int(a), int(b)), __rhadd(int(a), int(b)), __uhadd(a, b), umin(a, b),
      umax(a, b), llmax((long long)a, -5ll), ullmin(a, b));
}

ROW(hints_clocks) {
  (void)t, (void)x;
#if !defined(OFFLOAD_SPIRV)
  clock_t start = clock();
  long long later = clock64();
  (void)start, (void)later;
#endif
  __nanosleep(1u);
  __stcg(out, word(7)), __stcs(out + 1, word(8)), __stwb(out + 2, word(9));
  put(out + 3, __ldcg(n), __ldca(n + 1), __ldcs(n + 2), __ldlu(n + 3));
}

ROW(other_headers) {
  (void)t, (void)x;
  int some[4];
  memcpy(some, n, sizeof some);
  memset(some + 1, n[0] & 1, 4);
  assert(n[0] >= 0);
  if (n[0] < 0)
    __trap();
  cuda::std::array<int, 2> two = {n[1], n[2]};
  auto pair = cuda::std::make_tuple(n[3], x[0]);
  static_assert(cuda::std::is_same_v<decltype(n[0] + 0), cuda::std::int32_t> && sizeof(cuda::std::size_t) == 8, "");
  put(out, some[0], some[1], some[3], float(n[0]) < cuda::std::numeric_limits<float>::max(), two[0], two[1],
      cuda::std::get<0>(pair), cuda::std::max(n[0], n[1]));
}

ROW(HIP) {
  int own = n[0], lane = __lane_id();
  __shared__ float sum;
  __shared__ double wide;
  if (t == 0)
    sum = 0, wide = 0;
  __syncthreads();
  unsafeAtomicAdd(&sum, float(own % 8)), safeAtomicAdd(&wide, double(own % 8));
  __syncthreads();
  put(out, hipThreadIdx_x + 100 * hipThreadIdx_y, hipBlockIdx_x, hipBlockDim_x, hipGridDim_x, lane, __ballot(own & 1), __any(own == 3),
      __all(own > -1), __shfl(own, 7), __shfl_up(x[0], 3u), __shfl_down(own, 5u, 16), __shfl_xor(own, 9), sum, wide);
}

ROW(fast_math) {
  (void)t, (void)n;
  float f = fabsf(x[0]) / 8 + 0.5f, s, c;
  __sincosf(f, &s, &c);
  put(out, double(__expf(f)), double(__exp10f(f / 4)), double(__logf(f + 2)), double(__log2f(f + 2)), double(__log10f(f + 2)),
      double(__powf(f, 1.5f)), double(__sinf(f)) + 2, double(__cosf(f)) + 2, double(s) + 2, double(c) + 2, double(__fdividef(f, 3.0f)),
      double(__frcp_rn(f)), double(__fsqrt_rn(f)), double(__saturatef(f - 1)));
}

// These kernels are not rows. For their loop counters, clang 22 uses integers of 3 and of 15 bits.
extern "C" __global__ void three_bits(const int *n, int count, word *sum) {
  for (int i = 0; i < count; ++i)
    for (int at = i & 7; at < 32; at += 8)
      *sum = *sum * 31 + bits(n[at]);
}
static __noinline__ __device__ void add(double x, word *sum) { *sum += bits(x); }
extern "C" __global__ void fifteen_bits(unsigned part, word *sum) {
  for (unsigned i = part << 8; i < (part + 1) << 8; ++i)
    for (int middle = 0; middle < 2; ++middle) {
      unsigned rest = i & 0x7fff;
      double least = (2 * rest + (unsigned)middle) / 33554432.0;
      word half = rest < 0x400 ? bits(least) : ((word)rest << 42 | (word)middle << 41) + (1008ull << 52);
      add(__longlong_as_double((long long)half), sum);
    }
}
