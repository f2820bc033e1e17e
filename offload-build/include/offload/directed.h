/* offload/directed.h: CUDA's functions that round towards zero (_rz), up (_ru) or down (_rd).  Part of offload/kernel.h.
 *
 *   __fadd, __fsub, __fmul, __fdiv, __fmaf, __frcp, __fsqrt
 *   __int2float, __uint2float, __ll2float, __ull2float, __double2float, __ll2double, __ull2double
 *
 * On NVIDIA's GPUs, these functions are instructions.  Elsewhere the exact result is compared with the nearest number.
 */
#ifndef OFFLOAD_DIRECTED_H
#define OFFLOAD_DIRECTED_H

#if !defined(OFFLOAD_NVPTX)
namespace offload_bits {

/* Whether the result is the neighbor of the nearest number on the exact result's side; and the sum of opposite numbers. */
struct zero {
  static constexpr float nothing = 0.f;
  template <typename T_> static __device__ bool moves(T_ nearest, int side) {
    return nearest > 0 ? side < 0 : nearest < 0 && side > 0;
  }
};
struct up {
  static constexpr float nothing = 0.f;
  template <typename T_> static __device__ bool moves(T_, int side) { return side > 0; }
};
struct down {
  static constexpr float nothing = -0.f;
  template <typename T_> static __device__ bool moves(T_, int side) { return side < 0; }
};

/* -1 if the exact result is below the nearest number, 1 if it is above. */
template <typename T_> OFFLOAD_DEVICE int side_of(T_ exact, T_ nearest) { return (exact > nearest) - (exact < nearest); }
template <typename How, typename T_> OFFLOAD_DEVICE T_ directed(T_ nearest, int side) {
  return How::moves(nearest, side) ? nextafter(nearest, T_(side * __builtin_huge_valf())) : nearest;
}

/* The sum of two numbers; the first may be a product of two floats.  If the nearest double is also the nearest float, what the
 * double lost decides. */
template <typename How> OFFLOAD_DEVICE float sum(double a, double b) {
  double all = __dadd_rn(a, b), of_b = __dadd_rn(all, -a);
  double lost = __dadd_rn(__dadd_rn(a, -__dadd_rn(all, -of_b)), __dadd_rn(b, -of_b));
  float nearest = float(all);
  int side = side_of(all, double(nearest));
  if (all == 0 && (__double_as_longlong(a) ^ __double_as_longlong(b)) < 0)
    return How::nothing;
  return directed<How>(nearest, side != 0 ? side : side_of(lost, 0.));
}
template <typename How> OFFLOAD_DEVICE float of_double(double x) { return directed<How>(float(x), side_of(x, double(float(x)))); }
template <typename How> OFFLOAD_DEVICE float quotient(float a, float b) {
  float nearest = __fdiv_rn(a, b);
  int side = side_of(double(a), __dmul_rn(nearest, b));
  return directed<How>(nearest, b < 0 ? -side : side);
}
template <typename How> OFFLOAD_DEVICE float root(float x) {
  float nearest = __fsqrt_rn(x);
  return directed<How>(nearest, side_of(double(x), __dmul_rn(nearest, nearest)));
}
template <typename How, typename From, typename To> OFFLOAD_DEVICE To of_integer(From x, To) {
  To nearest = To(x);
  /* The nearest number may be just beyond the largest integer of this type. */
  constexpr To beyond = To(From(1) << (sizeof(From) * 8 - 2)) * (From(-1) < From(0) ? 2 : 4);
  return directed<How>(nearest, nearest == beyond ? -1 : side_of(x, From(nearest)));
}

} // namespace offload_bits
#endif

#if defined(OFFLOAD_NVPTX)
#define OFFLOAD_DIRECTED(to, of_to, instruction, result, ...)                                                          \
  {                                                                                                                    \
    to rounded;                                                                                                        \
    __asm__(instruction ";" : "=" of_to(rounded) : __VA_ARGS__);                                                       \
    return rounded;                                                                                                    \
  }
#else
#define OFFLOAD_DIRECTED(to, of_to, instruction, result, ...)                                                          \
  { return offload_bits::result; }
#endif
#define OFFLOAD_ALL_DIRECTED(suffix, ptx, how)                                                                         \
  OFFLOAD_YIELDS float __fadd_##suffix(float a, float b)                                                               \
  OFFLOAD_DIRECTED(float, "f", "add." ptx ".f32 %0, %1, %2", sum<offload_bits::how>(a, b), "f"(a), "f"(b))             \
  OFFLOAD_YIELDS float __fsub_##suffix(float a, float b)                                                               \
  OFFLOAD_DIRECTED(float, "f", "sub." ptx ".f32 %0, %1, %2", sum<offload_bits::how>(a, -b), "f"(a), "f"(b))            \
  OFFLOAD_YIELDS float __fmul_##suffix(float a, float b)                                                               \
  OFFLOAD_DIRECTED(float, "f", "mul." ptx ".f32 %0, %1, %2", of_double<offload_bits::how>(__dmul_rn(a, b)), "f"(a), "f"(b)) \
  OFFLOAD_YIELDS float __fmaf_##suffix(float a, float b, float c)                                                      \
  OFFLOAD_DIRECTED(float, "f", "fma." ptx ".f32 %0, %1, %2, %3", sum<offload_bits::how>(__dmul_rn(a, b), c), "f"(a), "f"(b), "f"(c)) \
  OFFLOAD_YIELDS float __fdiv_##suffix(float a, float b)                                                               \
  OFFLOAD_DIRECTED(float, "f", "div." ptx ".f32 %0, %1, %2", quotient<offload_bits::how>(a, b), "f"(a), "f"(b))        \
  OFFLOAD_YIELDS float __frcp_##suffix(float x)                                                                        \
  OFFLOAD_DIRECTED(float, "f", "rcp." ptx ".f32 %0, %1", quotient<offload_bits::how>(1, x), "f"(x))                    \
  OFFLOAD_YIELDS float __fsqrt_##suffix(float x)                                                                       \
  OFFLOAD_DIRECTED(float, "f", "sqrt." ptx ".f32 %0, %1", root<offload_bits::how>(x), "f"(x))                          \
  OFFLOAD_YIELDS float __double2float_##suffix(double x)                                                               \
  OFFLOAD_DIRECTED(float, "f", "cvt." ptx ".f32.f64 %0, %1", of_double<offload_bits::how>(x), "d"(x))                  \
  OFFLOAD_CONVERTED(suffix, ptx, how, float, "f", "f32", __int2float, int, "r", "s32")                                 \
  OFFLOAD_CONVERTED(suffix, ptx, how, float, "f", "f32", __uint2float, unsigned, "r", "u32")                           \
  OFFLOAD_CONVERTED(suffix, ptx, how, float, "f", "f32", __ll2float, long long, "l", "s64")                            \
  OFFLOAD_CONVERTED(suffix, ptx, how, float, "f", "f32", __ull2float, unsigned long long, "l", "u64")                  \
  OFFLOAD_CONVERTED(suffix, ptx, how, double, "d", "f64", __ll2double, long long, "l", "s64")                          \
  OFFLOAD_CONVERTED(suffix, ptx, how, double, "d", "f64", __ull2double, unsigned long long, "l", "u64")
#define OFFLOAD_CONVERTED(suffix, ptx, how, to, of_to, to_ptx, name, from, of_from, from_ptx)                          \
  OFFLOAD_YIELDS to name##_##suffix(from x)                                                                            \
  OFFLOAD_DIRECTED(to, of_to, "cvt." ptx "." to_ptx "." from_ptx " %0, %1", of_integer<offload_bits::how>(x, to()), of_from(x))
OFFLOAD_ALL_DIRECTED(rz, "rz", zero)
OFFLOAD_ALL_DIRECTED(ru, "rp", up)
OFFLOAD_ALL_DIRECTED(rd, "rm", down)
#undef OFFLOAD_DIRECTED
#undef OFFLOAD_ALL_DIRECTED
#undef OFFLOAD_CONVERTED

#endif
