/* offload/hip.h: the names that HIP has in addition to CUDA's.  offload-build includes this header before the first line of
 * every .hip file; the headers in hip/ include it, too.
 *
 *   __shfl, __shfl_up, __shfl_down, __shfl_xor, __ballot, __any, __all: among the lanes that call; __lane_id
 *   __bitextract_u32, __bitinsert_u32 and kin
 *   hipThreadIdx_x and kin, HIP_DYNAMIC_SHARED, unsafeAtomicAdd, safeAtomicAdd
 *   +, -, *, /, ==, != of float4 and kin
 *   __HIPCC__; __HIP_PLATFORM_AMD__ or __HIP_PLATFORM_NVIDIA__; __AMDGCN_WAVEFRONT_SIZE on AMD's GPUs
 */
#ifndef OFFLOAD_HIP_H
#define OFFLOAD_HIP_H

#include "kernel.h"

/* Sources for HIP may contain instructions of AMD's GPUs. */
#undef asm
#undef volatile
/* Sources for both vendors test whether it is defined. */
#undef CUDART_VERSION

/* As hipcc defines them for each vendor's GPUs.  For other targets, neither platform is defined: sources test for one of them,
 * and their other code is for 32 lanes, without a vendor's instructions. */
#if !defined(__HIPCC__)
#define __HIPCC__ 1
#endif
#if !defined(__HIP_PLATFORM_AMD__) && !defined(__HIP_PLATFORM_NVIDIA__)
#if defined(OFFLOAD_AMDGPU)
#define __HIP_PLATFORM_AMD__ 1
#elif defined(OFFLOAD_NVPTX)
#define __HIP_PLATFORM_NVIDIA__ 1
#endif
#endif
#if (defined(OFFLOAD_NVPTX) || defined(OFFLOAD_SPIRV)) && !defined(__HIP_DEVICE_COMPILE__)
#define __HIP_DEVICE_COMPILE__ 1
#endif
/* clang defines it, but offload-build removes it, since it also compiles sources for CUDA in this mode. */
#if defined(OFFLOAD_SPIRV) && !defined(__HIP__)
#define __HIP__ 1
#endif
/* clang 22 no longer defines these. */
#if defined(OFFLOAD_AMDGPU) && !defined(__AMDGCN_WAVEFRONT_SIZE)
#if defined(OFFLOAD_64_LANES)
#define __AMDGCN_WAVEFRONT_SIZE 64
#else
#define __AMDGCN_WAVEFRONT_SIZE 32
#endif
#define __AMDGCN_WAVEFRONT_SIZE__ __AMDGCN_WAVEFRONT_SIZE
#endif

#define hipThreadIdx_x (threadIdx.x)
#define hipThreadIdx_y (threadIdx.y)
#define hipThreadIdx_z (threadIdx.z)
#define hipBlockIdx_x (blockIdx.x)
#define hipBlockIdx_y (blockIdx.y)
#define hipBlockIdx_z (blockIdx.z)
#define hipBlockDim_x (blockDim.x)
#define hipBlockDim_y (blockDim.y)
#define hipBlockDim_z (blockDim.z)
#define hipGridDim_x (gridDim.x)
#define hipGridDim_y (gridDim.y)
#define hipGridDim_z (gridDim.z)

/* Sources omit the semicolon after the macro. */
#define HIP_DYNAMIC_SHARED(type, name) OFFLOAD_DYNAMIC_SHARED(type, name);
#define HIP_DYNAMIC_SHARED_ATTRIBUTE

OFFLOAD_YIELDS unsigned __lane_id() { return offload_lane(); }

/* Bits of a word, starting at bit `at`. */
#define OFFLOAD_FIELD(type, bits)                                                                                      \
  OFFLOAD_YIELDS type __bitextract_u##bits(type x, unsigned at, unsigned width) {                                      \
    return (x >> (at % bits)) & ((type(1) << (width % bits)) - 1);                                                     \
  }                                                                                                                    \
  OFFLOAD_YIELDS type __bitinsert_u##bits(type x, type y, unsigned at, unsigned width) {                               \
    type field = ((type(1) << (width % bits)) - 1) << (at % bits);                                                     \
    return (x & ~field) | ((y << (at % bits)) & field);                                                                \
  }
OFFLOAD_FIELD(unsigned, 32)
OFFLOAD_FIELD(uint64_t, 64)
#undef OFFLOAD_FIELD

/* On the CPU, lanes that call at different places in the source do not meet, as with __activemask. */
#if defined(OFFLOAD_CPU)
#define OFFLOAD_AND_CALLER                                                                                             \
  , const char *file = __builtin_FILE(), unsigned line = __builtin_LINE() OFFLOAD_AND_PLACE
#define OFFLOAD_CALLERS __activemask(file, line OFFLOAD_ITS_PLACE)
#else
#define OFFLOAD_AND_CALLER
#define OFFLOAD_CALLERS __activemask()
#endif
OFFLOAD_YIELDS offload_lanes __ballot(int condition OFFLOAD_AND_CALLER) {
  return __ballot_sync(OFFLOAD_CALLERS, condition OFFLOAD_ITS_PLACE);
}
OFFLOAD_YIELDS int __any(int condition OFFLOAD_AND_CALLER) {
  return __any_sync(OFFLOAD_CALLERS, condition OFFLOAD_ITS_PLACE);
}
OFFLOAD_YIELDS int __all(int condition OFFLOAD_AND_CALLER) {
  return __all_sync(OFFLOAD_CALLERS, condition OFFLOAD_ITS_PLACE);
}
#define OFFLOAD_SHUFFLE(name, type)                                                                                    \
  template <typename T_> OFFLOAD_DEVICE T_ name(T_ value, type lane, int width = warpSize OFFLOAD_AND_CALLER) {        \
    return name##_sync(OFFLOAD_CALLERS, value, lane, width OFFLOAD_ITS_PLACE);                                         \
  }
OFFLOAD_SHUFFLE(__shfl, int)
OFFLOAD_SHUFFLE(__shfl_up, unsigned)
OFFLOAD_SHUFFLE(__shfl_down, unsigned)
OFFLOAD_SHUFFLE(__shfl_xor, int)
#undef OFFLOAD_SHUFFLE
#undef OFFLOAD_AND_CALLER
#undef OFFLOAD_CALLERS

#define OFFLOAD_SUM(type)                                                                                              \
  OFFLOAD_YIELDS type safeAtomicAdd(type *address, type value) { return atomicAdd(address, value); }                   \
  OFFLOAD_YIELDS type unsafeAtomicAdd(type *address, type value) { return OFFLOAD_UNSAFE(address, value); }
#define OFFLOAD_UNSAFE(address, value) atomicAdd(address, value)
#if defined(OFFLOAD_AMDGPU)
#if __has_extension(clang_atomic_attributes)
/* Uses an instruction, which loses additions to memory that the host shares page by page. */
#undef OFFLOAD_UNSAFE
#define OFFLOAD_UNSAFE(address, value)                                                                                 \
  [&] {                                                                                                                \
    [[clang::atomic(no_remote_memory, no_fine_grained_memory, ignore_denormal_mode)]] {                                \
      return __hip_atomic_fetch_add(address, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);                       \
    }                                                                                                                  \
  }()
#endif
#endif
OFFLOAD_SUM(float)
OFFLOAD_SUM(double)
#undef OFFLOAD_SUM
#undef OFFLOAD_UNSAFE

/* HIP's vectors have the operators of their numbers: for two vectors, element by element, or for a vector and one number. */
namespace offload_hip {
template <typename V_> struct vector {};
#define OFFLOAD_VECTOR(type, base)                                                                                     \
  template <> struct vector<type##1> { typedef base number; };                                                         \
  template <> struct vector<type##2> { typedef base number; };                                                         \
  template <> struct vector<type##3> { typedef base number; };                                                         \
  template <> struct vector<type##4> { typedef base number; };
OFFLOAD_VECTOR(char, signed char)
OFFLOAD_VECTOR(uchar, unsigned char)
OFFLOAD_VECTOR(short, short)
OFFLOAD_VECTOR(ushort, unsigned short)
OFFLOAD_VECTOR(int, int)
OFFLOAD_VECTOR(uint, unsigned)
OFFLOAD_VECTOR(long, long)
OFFLOAD_VECTOR(ulong, unsigned long)
OFFLOAD_VECTOR(longlong, long long)
OFFLOAD_VECTOR(ulonglong, unsigned long long)
OFFLOAD_VECTOR(float, float)
OFFLOAD_VECTOR(double, double)
#undef OFFLOAD_VECTOR
template <typename V_, typename T_> OFFLOAD_HOST_DEVICE V_ all(T_ number) {
  V_ all;
  for (unsigned i = 0; i < sizeof(V_) / sizeof(T_); i++)
    (&all.x)[i] = number;
  return all;
}
} // namespace offload_hip
#define OFFLOAD_NUMBER typename offload_hip::vector<V_>::number
#define OFFLOAD_OPERATOR(op)                                                                                           \
  template <typename V_, typename T_ = OFFLOAD_NUMBER> OFFLOAD_HOST_DEVICE V_ &operator op##=(V_ &a, V_ b) {           \
    for (unsigned i = 0; i < sizeof(V_) / sizeof(T_); i++)                                                             \
      (&a.x)[i] op##= (&b.x)[i];                                                                                       \
    return a;                                                                                                          \
  }                                                                                                                    \
  template <typename V_> OFFLOAD_HOST_DEVICE V_ &operator op##=(V_ &a, OFFLOAD_NUMBER b) {                             \
    return a op##= offload_hip::all<V_>(b);                                                                            \
  }                                                                                                                    \
  template <typename V_, typename = OFFLOAD_NUMBER> OFFLOAD_HOST_DEVICE V_ operator op(V_ a, V_ b) { return a op##= b; } \
  template <typename V_> OFFLOAD_HOST_DEVICE V_ operator op(V_ a, OFFLOAD_NUMBER b) { return a op##= b; }              \
  template <typename V_> OFFLOAD_HOST_DEVICE V_ operator op(OFFLOAD_NUMBER a, V_ b) {                                  \
    return offload_hip::all<V_>(a) op b;                                                                               \
  }
OFFLOAD_OPERATOR(+)
OFFLOAD_OPERATOR(-)
OFFLOAD_OPERATOR(*)
OFFLOAD_OPERATOR(/)
#undef OFFLOAD_OPERATOR
template <typename V_, typename T_ = OFFLOAD_NUMBER> OFFLOAD_HOST_DEVICE bool operator==(V_ a, V_ b) {
  bool is = true;
  for (unsigned i = 0; i < sizeof(V_) / sizeof(T_); i++)
    is &= (&a.x)[i] == (&b.x)[i];
  return is;
}
template <typename V_, typename = OFFLOAD_NUMBER> OFFLOAD_HOST_DEVICE bool operator!=(V_ a, V_ b) { return !(a == b); }
template <typename V_, typename T_ = OFFLOAD_NUMBER> OFFLOAD_HOST_DEVICE V_ operator-(V_ a) { return a * T_(-1); }
#undef OFFLOAD_NUMBER

#endif
