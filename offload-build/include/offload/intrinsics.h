/* offload/intrinsics.h: CUDA's functions that are named after instructions.  Part of offload/kernel.h.
 *
 *   __fadd_rn, __fsub_rn, __fmul_rn, __fmaf_rn, __fdiv_rn, __frcp_rn, __fsqrt_rn, __frsqrt_rn; __dadd_rn and kin: rounded to
 *   nearest, and never fused with what is beside them
 *   __float2int_rn, _rz, _ru, _rd and kin, __int2float_rn and kin; __hiloint2double, __double2hiint, __double2loint
 *   __byte_perm, __funnelshift_l, __mul24, __sad, __hadd and kin; umin, umax, llmin, llmax, ullmin, ullmax
 *   __ldg, __ldca, __ldcg, __ldcs, __ldlu, __stwb, __stcg, __stcs: ordinary loads and stores; clang itself finds what a
 *   kernel only reads; __ldcv, __stwt: volatile, word by word
 *   __cvta_generic_to_shared: an address in shared memory, as instructions expect it
 *   clock, clock64: ticks of a counter; __nanosleep: on NVIDIA's GPUs since sm_70, elsewhere a short wait or none
 */
#ifndef OFFLOAD_INTRINSICS_H
#define OFFLOAD_INTRINSICS_H

/* The constraint for a floating-point register in inline assembly. */
#if defined(OFFLOAD_NVPTX)
#define OFFLOAD_REGISTER(of_type) "+" of_type
#elif defined(OFFLOAD_AMDGPU)
#define OFFLOAD_REGISTER(of_type) "+v"
#elif defined(__SSE2__)
#define OFFLOAD_REGISTER(of_type) "+x"
#elif defined(__aarch64__)
#define OFFLOAD_REGISTER(of_type) "+w"
#else
#define OFFLOAD_REGISTER(of_type) "+m"
#endif
namespace offload_bits {
/* Returns a number that is never fused with another operation.  With -ffp-contract=fast or -ffast-math, compilers ignore
 * pragmas, but they cannot look into assembly. */
#if defined(OFFLOAD_SPIRV) /* SPIR-V modules forbid drivers to fuse. */
template <typename T_> OFFLOAD_DEVICE T_ alone(T_ x) { return x; }
#else
#define OFFLOAD_ALONE(type, register)                                                                                  \
  OFFLOAD_DEVICE type alone(type x) {                                                                                  \
    __asm__("" : OFFLOAD_REGISTER(register)(x));                                                                       \
    return x;                                                                                                          \
  }
OFFLOAD_ALONE(float, "f")
OFFLOAD_ALONE(double, "d")
#undef OFFLOAD_ALONE
#endif
} // namespace offload_bits
#undef OFFLOAD_REGISTER

#if defined(OFFLOAD_NVPTX)
/* ptxas fuses `mul.f32`, but not `mul.rn.f32`. */
#define OFFLOAD_ROUNDED(type, value, apart, instruction, register, ...)                                                \
  type rounded;                                                                                                        \
  __asm__(instruction ";" : "=" register(rounded) : __VA_ARGS__);                                                      \
  return rounded;
#elif defined(OFFLOAD_SPIRV)
#define OFFLOAD_ROUNDED(type, value, ...)                                                                              \
  _Pragma("clang fp reassociate(off) contract(off)") return value;
#else
#define OFFLOAD_ROUNDED(type, value, apart, ...)                                                                       \
  apart;                                                                                                               \
  return offload_bits::alone(value);
#endif
/* The compiler computes results of constants. */
#define OFFLOAD_ROUNDED_ONE(type, register, name, instruction, value)                                                  \
  OFFLOAD_YIELDS type name(type a) {                                                                                   \
    if (__builtin_constant_p(a))                                                                                       \
      return value;                                                                                                    \
    { OFFLOAD_ROUNDED(type, value, a = offload_bits::alone(a), instruction " %0, %1", register, register(a)) }         \
  }
#define OFFLOAD_ROUNDED_TWO(type, register, name, instruction, value)                                                  \
  OFFLOAD_YIELDS type name(type a, type b) {                                                                           \
    if (__builtin_constant_p(a) && __builtin_constant_p(b))                                                            \
      return value;                                                                                                    \
    { OFFLOAD_ROUNDED(type, value, (a = offload_bits::alone(a), b = offload_bits::alone(b)),                           \
                      instruction " %0, %1, %2", register, register(a), register(b)) }                                 \
  }
#define OFFLOAD_ROUNDED_THREE(type, register, name, instruction, value)                                                \
  OFFLOAD_YIELDS type name(type a, type b, type c) {                                                                   \
    if (__builtin_constant_p(a) && __builtin_constant_p(b) && __builtin_constant_p(c))                                 \
      return value;                                                                                                    \
    { OFFLOAD_ROUNDED(type, value, (a = offload_bits::alone(a), b = offload_bits::alone(b), c = offload_bits::alone(c)), \
                      instruction " %0, %1, %2, %3", register, register(a), register(b), register(c)) }                \
  }
OFFLOAD_ROUNDED_TWO(float, "f", __fadd_rn, "add.rn.f32", a + b)
OFFLOAD_ROUNDED_TWO(float, "f", __fsub_rn, "sub.rn.f32", a - b)
OFFLOAD_ROUNDED_TWO(float, "f", __fmul_rn, "mul.rn.f32", a * b)
OFFLOAD_ROUNDED_TWO(float, "f", __fdiv_rn, "div.rn.f32", a / b)
OFFLOAD_ROUNDED_ONE(float, "f", __frcp_rn, "rcp.rn.f32", 1 / a)
OFFLOAD_ROUNDED_ONE(float, "f", __fsqrt_rn, "sqrt.rn.f32", __builtin_sqrtf(a))
OFFLOAD_ROUNDED_THREE(float, "f", __fmaf_rn, "fma.rn.f32", __builtin_fmaf(a, b, c))
OFFLOAD_ROUNDED_TWO(double, "d", __dadd_rn, "add.rn.f64", a + b)
OFFLOAD_ROUNDED_TWO(double, "d", __dsub_rn, "sub.rn.f64", a - b)
OFFLOAD_ROUNDED_TWO(double, "d", __dmul_rn, "mul.rn.f64", a * b)
OFFLOAD_ROUNDED_TWO(double, "d", __ddiv_rn, "div.rn.f64", a / b)
OFFLOAD_ROUNDED_ONE(double, "d", __drcp_rn, "rcp.rn.f64", 1 / a)
OFFLOAD_ROUNDED_ONE(double, "d", __dsqrt_rn, "sqrt.rn.f64", __builtin_sqrt(a))
OFFLOAD_ROUNDED_THREE(double, "d", __fma_rn, "fma.rn.f64", __builtin_fma(a, b, c))
#undef OFFLOAD_ROUNDED
#undef OFFLOAD_ROUNDED_ONE
#undef OFFLOAD_ROUNDED_TWO
#undef OFFLOAD_ROUNDED_THREE

namespace offload_bits {
/* Converts like NVIDIA's instructions, without the fraction.  A number beyond all integers becomes the nearest integer.  NaN
 * becomes 0 or, if either type has 64 bits, an integer of which only the highest bit is set. */
template <typename To, typename From> OFFLOAD_DEVICE To integer(From number) {
  constexpr bool is_signed = To(-1) < To(0);
  constexpr int bits = int(sizeof(To)) * 8 - is_signed;
  constexpr To most = To(((To(1) << (bits - 1)) - 1) * 2 + 1), least = is_signed ? To(-most - 1) : To(0);
  constexpr From limit = From(To(1) << (bits - 1)) * 2;
  constexpr To nan = sizeof(To) < 8 && sizeof(From) < 8 ? To(0) : is_signed ? least : To(most / 2 + 1);
  if (!(number > From(least)))
    return number <= From(least) ? least : nan;
  return number < limit ? To(number) : most;
}
} // namespace offload_bits

/* `from` may also be a half, which is converted to float. */
#define OFFLOAD_TO_INTEGER(name, from, suffix, to)                                                                     \
  OFFLOAD_YIELDS to name##_rn(from x) { return offload_bits::integer<to>(__builtin_rint##suffix(x)); }                 \
  OFFLOAD_YIELDS to name##_rz(from x) { return offload_bits::integer<to>(__builtin_trunc##suffix(x)); }                \
  OFFLOAD_YIELDS to name##_ru(from x) { return offload_bits::integer<to>(__builtin_ceil##suffix(x)); }                 \
  OFFLOAD_YIELDS to name##_rd(from x) { return offload_bits::integer<to>(__builtin_floor##suffix(x)); }
OFFLOAD_TO_INTEGER(__float2int, float, f, int)
OFFLOAD_TO_INTEGER(__float2uint, float, f, unsigned)
OFFLOAD_TO_INTEGER(__float2ll, float, f, long long)
OFFLOAD_TO_INTEGER(__float2ull, float, f, unsigned long long)
OFFLOAD_TO_INTEGER(__double2int, double, , int)
OFFLOAD_TO_INTEGER(__double2uint, double, , unsigned)
OFFLOAD_TO_INTEGER(__double2ll, double, , long long)
OFFLOAD_TO_INTEGER(__double2ull, double, , unsigned long long)

#define OFFLOAD_CONVERTED(to, name, from)                                                                              \
  OFFLOAD_YIELDS to name(from x) { return __builtin_constant_p(x) ? to(x) : offload_bits::alone(to(x)); }
OFFLOAD_CONVERTED(float, __int2float_rn, int)
OFFLOAD_CONVERTED(float, __uint2float_rn, unsigned)
OFFLOAD_CONVERTED(float, __ll2float_rn, long long)
OFFLOAD_CONVERTED(float, __ull2float_rn, unsigned long long)
OFFLOAD_CONVERTED(float, __double2float_rn, double)
OFFLOAD_CONVERTED(double, __int2double_rn, int)
OFFLOAD_CONVERTED(double, __uint2double_rn, unsigned)
OFFLOAD_CONVERTED(double, __ll2double_rn, long long)
OFFLOAD_CONVERTED(double, __ull2double_rn, unsigned long long)
#undef OFFLOAD_CONVERTED
OFFLOAD_YIELDS float __frsqrt_rn(float x) { return __double2float_rn(__drcp_rn(__dsqrt_rn(x))); }

OFFLOAD_YIELDS int __double2hiint(double x) { return int(__double_as_longlong(x) >> 32); }
OFFLOAD_YIELDS int __double2loint(double x) { return int(unsigned(__double_as_longlong(x))); }
OFFLOAD_YIELDS double __hiloint2double(int high, int low) {
  return __longlong_as_double((long long)((unsigned long long)(unsigned(high)) << 32 | unsigned(low)));
}

/* Returns four of the eight bytes in `high` and `low`: each hexadecimal digit of the selector is a byte's number. */
OFFLOAD_YIELDS unsigned __byte_perm(unsigned low, unsigned high, unsigned selector) {
  unsigned long long from = (unsigned long long)(high) << 32 | low;
  unsigned all = 0;
  for (int at = 0; at < 4; ++at)
    all |= (unsigned(from >> (selector >> 4 * at & 7) * 8) & 255) << 8 * at;
  return all;
}
/* Return 32 of the 64 bits in `high` and `low`: the upper half after a shift to the left, the lower half after a shift to the
 * right.  The shift is taken modulo 32, or is at most 32 (lc, rc). */
OFFLOAD_YIELDS unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return unsigned(((unsigned long long)(high) << 32 | low) << (shift & 31) >> 32);
}
OFFLOAD_YIELDS unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return unsigned(((unsigned long long)(high) << 32 | low) >> (shift & 31));
}
OFFLOAD_YIELDS unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) {
  return shift >= 32 ? low : __funnelshift_l(low, high, shift);
}
OFFLOAD_YIELDS unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) {
  return shift >= 32 ? high : __funnelshift_r(low, high, shift);
}

/* The lower 32 bits of the product of the lower 24. */
OFFLOAD_YIELDS int __mul24(int a, int b) {
  return int(unsigned(int(unsigned(a) << 8) >> 8) * unsigned(int(unsigned(b) << 8) >> 8));
}
OFFLOAD_YIELDS unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffff) * (b & 0xffffff); }
/* |a - b| + c */
OFFLOAD_YIELDS unsigned __sad(int a, int b, unsigned c) {
  return (a < b ? unsigned(b) - unsigned(a) : unsigned(a) - unsigned(b)) + c;
}
OFFLOAD_YIELDS unsigned __usad(unsigned a, unsigned b, unsigned c) { return (a < b ? b - a : a - b) + c; }
/* Half of the sum, rounded down or (r) up. */
OFFLOAD_YIELDS int __hadd(int a, int b) { return int(((long long)(a) + b) >> 1); }
OFFLOAD_YIELDS int __rhadd(int a, int b) { return int(((long long)(a) + b + 1) >> 1); }
OFFLOAD_YIELDS unsigned __uhadd(unsigned a, unsigned b) { return unsigned(((unsigned long long)(a) + b) >> 1); }
OFFLOAD_YIELDS unsigned __urhadd(unsigned a, unsigned b) { return unsigned(((unsigned long long)(a) + b + 1) >> 1); }

OFFLOAD_YIELDS unsigned umin(unsigned a, unsigned b) { return min(a, b); }
OFFLOAD_YIELDS unsigned umax(unsigned a, unsigned b) { return max(a, b); }
OFFLOAD_YIELDS long long llmin(long long a, long long b) { return min(a, b); }
OFFLOAD_YIELDS long long llmax(long long a, long long b) { return max(a, b); }
OFFLOAD_YIELDS unsigned long long ullmin(unsigned long long a, unsigned long long b) { return min(a, b); }
OFFLOAD_YIELDS unsigned long long ullmax(unsigned long long a, unsigned long long b) { return max(a, b); }

/* A source's own template with one of these names is preferred: the templates here have a parameter pack. */
#define OFFLOAD_LOAD(name)                                                                                             \
  template <typename T_, typename... None> OFFLOAD_DEVICE T_ name(const T_ *address, None...) {                        \
    static_assert(sizeof...(None) == 0, #name " takes one argument");                                                  \
    return *address;                                                                                                   \
  }
OFFLOAD_LOAD(__ldg)
OFFLOAD_LOAD(__ldca)
OFFLOAD_LOAD(__ldcg)
OFFLOAD_LOAD(__ldcs)
OFFLOAD_LOAD(__ldlu)
#undef OFFLOAD_LOAD
#define OFFLOAD_VALUE typename offload_atomic::same<T_>::type
template <typename T_> OFFLOAD_DEVICE void __stwb(T_ *address, OFFLOAD_VALUE value) { *address = value; }
template <typename T_> OFFLOAD_DEVICE void __stcg(T_ *address, OFFLOAD_VALUE value) { *address = value; }
template <typename T_> OFFLOAD_DEVICE void __stcs(T_ *address, OFFLOAD_VALUE value) { *address = value; }
/* The widest word that a number or vector consists of. */
template <size_t Alignment> struct offload_word {
  typedef unsigned long long __attribute__((may_alias)) type;
};
template <> struct offload_word<4> {
  typedef unsigned __attribute__((may_alias)) type;
};
template <> struct offload_word<2> {
  typedef unsigned short __attribute__((may_alias)) type;
};
template <> struct offload_word<1> {
  typedef unsigned char type;
};
template <typename T_, typename... None> OFFLOAD_DEVICE T_ __ldcv(const T_ *address, None...) {
  static_assert(sizeof...(None) == 0, "__ldcv takes one argument");
  typedef typename offload_word<alignof(T_)>::type word;
  T_ value;
  for (size_t i = 0; i < sizeof(T_) / sizeof(word); i++)
    reinterpret_cast<word *>(&value)[i] = reinterpret_cast<const volatile word *>(address)[i];
  return value;
}
template <typename T_> OFFLOAD_DEVICE void __stwt(T_ *address, OFFLOAD_VALUE value) {
  typedef typename offload_word<alignof(T_)>::type word;
  for (size_t i = 0; i < sizeof(T_) / sizeof(word); i++)
    reinterpret_cast<volatile word *>(address)[i] = reinterpret_cast<const word *>(&value)[i];
}
#undef OFFLOAD_VALUE

/* The address of shared memory that instructions expect. */
#if defined(OFFLOAD_CPU)
OFFLOAD_YIELDS size_t __cvta_generic_to_shared(const void *address) { return size_t(address); }
#else
OFFLOAD_DEVICE size_t __cvta_generic_to_shared(const void *address) {
  return size_t((const __attribute__((address_space(3))) void *)address);
}
#endif

#if defined(OFFLOAD_AMDGPU)
OFFLOAD_YIELDS long long clock64() { return (long long)__builtin_readcyclecounter(); }
OFFLOAD_YIELDS clock_t clock() { return clock_t(clock64()); }
OFFLOAD_YIELDS void __nanosleep(unsigned) { __builtin_amdgcn_s_sleep(1); }
#elif defined(OFFLOAD_NVPTX)
OFFLOAD_YIELDS long long clock64() { return (long long)__nvvm_read_ptx_sreg_clock64(); }
OFFLOAD_YIELDS clock_t clock() { return clock_t(__nvvm_read_ptx_sreg_clock()); }
OFFLOAD_YIELDS void __nanosleep(unsigned time) {
#if __CUDA_ARCH__ >= 700
  __asm__ volatile("nanosleep.u32 %0;" : : "r"(time));
#else
  (void)time;
#endif
}
#elif defined(OFFLOAD_SPIRV)
/* There is no clock that all drivers provide. */
OFFLOAD_DEVICE void __nanosleep(unsigned) {}
#else
/* clock is the C library's function. */
OFFLOAD_YIELDS long long clock64() { return (long long)clock(); }
OFFLOAD_YIELDS void __nanosleep(unsigned) {}
#endif

#endif
