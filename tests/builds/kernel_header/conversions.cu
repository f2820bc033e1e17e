// Converts all numbers of half, bfloat16 and fp8, and wider numbers around each boundary. Each function returns a
// checksum of one of 256 parts of its results. NVIDIA's headers and ours compile this source.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#if defined(OFFLOAD_KERNEL_H)
#define PART __device__ inline
#else
#define PART inline
#endif

typedef unsigned long long wide;
struct Sum {
  wide sum = 14695981039346656037ull;
  PART void add(wide value) {
    sum = (sum ^ value) * 1099511628211ull;
    sum ^= sum >> 29;
  }
  // All NaNs count as one value, because AMD's and Intel's instructions preserve some bits of a NaN.
  PART void number(float x) {
    unsigned bits;
    __builtin_memcpy(&bits, &x, 4);
    add(x != x ? 1 : bits);
  }
  PART void half(__half_raw x) { add((x.x & 0x7fff) > 0x7c00 ? 1 : x.x); }
  PART void bfloat16(__nv_bfloat16_raw x) { add((x.x & 0x7fff) > 0x7f80 ? 1 : x.x); }
  template <typename T> PART void integers(T x) {
    add((wide)(char)x), add((wide)(signed char)x), add((wide)(unsigned char)x), add((wide)(short)x);
    add((wide)(unsigned short)x), add((wide)(int)x), add((wide)(unsigned)x), add((wide)(long)x);
    add((wide)(unsigned long)x), add((wide)(long long)x), add((wide)(unsigned long long)x), add((wide)(bool)x);
  }
  PART void e4m3(__nv_fp8_storage_t x) { add((x & 0x7f) == 0x7f ? 256 : x); }
  PART void e5m2(__nv_fp8_storage_t x) { add((x & 0x7f) > 0x7c ? 256 : x); }
  // Converts to each type with constructors. The functions below also use conversion functions.
  template <typename T> PART void small(T x) {
    half(__half(x)), bfloat16(__nv_bfloat16(x)), e4m3(__nv_fp8_e4m3(x).__x), e5m2(__nv_fp8_e5m2(x).__x);
  }
  PART void real(float x) {
    small(x), half(__float2half_rn(x)), bfloat16(__float2bfloat16_rn(x));
    e4m3(__nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3)), e5m2(__nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E5M2));
    e4m3(__nv_cvt_float_to_fp8(x, __NV_NOSAT, __NV_E4M3)), e5m2(__nv_cvt_float_to_fp8(x, __NV_NOSAT, __NV_E5M2));
  }
  PART void real(double x) {
    small(x), half(__double2half(x)), bfloat16(__double2bfloat16(x));
    e4m3(__nv_cvt_double_to_fp8(x, __NV_SATFINITE, __NV_E4M3)), e5m2(__nv_cvt_double_to_fp8(x, __NV_SATFINITE, __NV_E5M2));
    e4m3(__nv_cvt_double_to_fp8(x, __NV_NOSAT, __NV_E4M3)), e5m2(__nv_cvt_double_to_fp8(x, __NV_NOSAT, __NV_E5M2));
  }
};
template <typename To, typename From> PART To same_bits(From from) {
  To to;
  __builtin_memcpy(&to, &from, sizeof to);
  return to;
}

PART wide from_half(unsigned part) {
  Sum sum;
  for (unsigned bits = part << 8; bits < (part + 1) << 8; ++bits) {
    __half_raw raw = {(unsigned short)bits};
    __half x(raw);
    sum.number(x), sum.integers(x), sum.number(__half2float(x));
    sum.e4m3(__nv_fp8_e4m3(x).__x), sum.e5m2(__nv_fp8_e5m2(x).__x);
    sum.add((wide)__half2char_rz(x)), sum.add(__half2uchar_rz(x)), sum.add((wide)__half2short_rz(x)), sum.add(__half2ushort_rz(x));
    sum.add((wide)__half2int_rz(x)), sum.add(__half2uint_rz(x)), sum.add((wide)__half2ll_rz(x)), sum.add(__half2ull_rz(x));
    sum.e4m3(__nv_cvt_halfraw_to_fp8(raw, __NV_SATFINITE, __NV_E4M3)), sum.e5m2(__nv_cvt_halfraw_to_fp8(raw, __NV_SATFINITE, __NV_E5M2));
    sum.e4m3(__nv_cvt_halfraw_to_fp8(raw, __NV_NOSAT, __NV_E4M3)), sum.e5m2(__nv_cvt_halfraw_to_fp8(raw, __NV_NOSAT, __NV_E5M2));
  }
  return sum.sum;
}
PART wide from_bfloat16(unsigned part) {
  Sum sum;
  for (unsigned bits = part << 8; bits < (part + 1) << 8; ++bits) {
    __nv_bfloat16_raw raw = {(unsigned short)bits};
    __nv_bfloat16 x(raw);
    sum.number(x), sum.integers(x), sum.number(__bfloat162float(x));
    sum.e4m3(__nv_fp8_e4m3(x).__x), sum.e5m2(__nv_fp8_e5m2(x).__x);
    sum.add((wide)__bfloat162char_rz(x)), sum.add(__bfloat162uchar_rz(x)), sum.add((wide)__bfloat162short_rz(x)), sum.add(__bfloat162ushort_rz(x));
    sum.add((wide)__bfloat162int_rz(x)), sum.add(__bfloat162uint_rz(x)), sum.add((wide)__bfloat162ll_rz(x)), sum.add(__bfloat162ull_rz(x));
    sum.e4m3(__nv_cvt_bfloat16raw_to_fp8(raw, __NV_SATFINITE, __NV_E4M3)), sum.e5m2(__nv_cvt_bfloat16raw_to_fp8(raw, __NV_SATFINITE, __NV_E5M2));
    sum.e4m3(__nv_cvt_bfloat16raw_to_fp8(raw, __NV_NOSAT, __NV_E4M3)), sum.e5m2(__nv_cvt_bfloat16raw_to_fp8(raw, __NV_NOSAT, __NV_E5M2));
  }
  return sum.sum;
}
template <typename T> PART void from_byte(Sum &sum, T x) {
  sum.number((float)x), sum.number((float)(double)x), sum.half((__half)x), sum.bfloat16((__nv_bfloat16)x), sum.integers(x);
}
PART wide from_fp8(unsigned part) {
  Sum sum;
  __nv_fp8_e4m3 e4m3;
  __nv_fp8_e5m2 e5m2;
  e4m3.__x = e5m2.__x = (unsigned char)part;
  from_byte(sum, e4m3), from_byte(sum, e5m2);
  sum.half(__nv_cvt_fp8_to_halfraw((unsigned char)part, __NV_E4M3)), sum.half(__nv_cvt_fp8_to_halfraw((unsigned char)part, __NV_E5M2));
  return sum.sum;
}

template <typename T> PART void from_integer(Sum &sum, T x) { sum.small(x); }
PART void from_integers(Sum &sum, wide x) {
  from_integer(sum, (short)x), from_integer(sum, (unsigned short)x), from_integer(sum, (int)x), from_integer(sum, (unsigned)x);
  from_integer(sum, (long)x), from_integer(sum, (unsigned long)x), from_integer(sum, (long long)x), from_integer(sum, x);
  sum.half(__short2half_rn((short)x)), sum.half(__ushort2half_rn((unsigned short)x)), sum.half(__int2half_rn((int)x));
  sum.half(__uint2half_rn((unsigned)x)), sum.half(__ll2half_rn((long long)x)), sum.half(__ull2half_rn(x));
  sum.bfloat16(__short2bfloat16_rn((short)x)), sum.bfloat16(__ushort2bfloat16_rn((unsigned short)x)), sum.bfloat16(__int2bfloat16_rn((int)x));
  sum.bfloat16(__uint2bfloat16_rn((unsigned)x)), sum.bfloat16(__ll2bfloat16_rn((long long)x)), sum.bfloat16(__ull2bfloat16_rn(x));
}
// Each number with 10 significant bits, each multiple of 8 up to 2^17, and their neighbours.
PART wide to_all_from_integers(unsigned part) {
  Sum sum;
  for (int place = 0; place < 55; ++place)
    for (int last = 0; last < 2; ++last)
      for (int beside = -1; beside < 2; ++beside) {
        wide x = ((512 + 2ull * part + last) << place) + (wide)beside;
        from_integers(sum, x), from_integers(sum, 0 - x);
      }
  for (unsigned multiple = part << 6; multiple < (part + 1) << 6; ++multiple)
    for (int beside = -1; beside < 2; ++beside) {
      wide x = 8ull * multiple + (wide)beside;
      from_integers(sum, x), from_integers(sum, 0 - x);
    }
  return sum.sum;
}

// Floats and doubles around each 16-bit number, and around the midpoints between neighbouring numbers.
PART wide to_all_from_reals(unsigned part) {
  Sum sum;
  for (unsigned bits = part << 8; bits < (part + 1) << 8; ++bits)
    for (int beside = -1; beside < 2; ++beside)
      for (int middle = 0; middle < 2; ++middle) {
        unsigned sign = bits >> 15, rest = bits & 0x7fff;
        // Interpret the bits as bfloat16 and as half. Subnormal halves and their midpoints are multiples of 2^-25.
        unsigned single = bits << 16 | (unsigned)middle << 15;
        sum.real(same_bits<float>(single + (unsigned)beside));
        double least = (2 * rest + (unsigned)middle) / 33554432.0, value = same_bits<float>(single);
        wide half = rest < 0x400 ? same_bits<wide>(least) : ((wide)rest << 42 | (wide)middle << 41) + (1008ull << 52);
        half |= (wide)sign << 63;
        sum.real(same_bits<double>(half + (wide)beside)), sum.real(same_bits<double>(same_bits<wide>(value) + (wide)beside));
        float narrow = (float)same_bits<double>(half);
        sum.real(same_bits<float>(same_bits<unsigned>(narrow) + (unsigned)beside));
      }
  return sum.sum;
}

// Functions that round at most once, called with each number, a special number and one other number.
template <typename T, typename Raw, typename T2> PART wide arithmetic(unsigned part, unsigned infinity) {
  Sum sum;
  unsigned some[] = {0, 0x8000, 1, 0x8001, 0x3c01, 0xbf80, infinity - 1, infinity, infinity | 0x8000, infinity + 1, 0x7fff, 0xffff};
  for (unsigned bits = part << 8; bits < (part + 1) << 8; ++bits)
    for (unsigned at = 0; at < 3; ++at) {
      T a = Raw{(unsigned short)bits}, b = Raw{(unsigned short)some[(bits + 5 * at) % 12]}, c = Raw{(unsigned short)(bits * 40503u >> at)};
      sum.add(Raw(__hmax(a, b)).x), sum.add(Raw(__hmin(a, b)).x), sum.add(Raw(__hmax_nan(a, b)).x), sum.add(Raw(__hmin_nan(a, b)).x);
      sum.number(float(__hadd_rn(a, b))), sum.number(float(__hsub_rn(a, b))), sum.number(float(__hmul_rn(a, b)));
      sum.number(float(a + b)), sum.number(float(a - b)), sum.number(float(a * b)), sum.number(float(a / b)), sum.number(float(a / c));
      sum.number(float(__hadd_rn(__hmul_rn(a, b), c))), sum.number(float(__hsub_rn(c, __hmul_rn(a, c))));
      T2 pair = __hsub2_rn(__hmul2_rn(T2(a, c), T2(b, c)), __hadd2_rn(T2(c, a), T2(b, a)));
      sum.number(float(pair.x)), sum.number(float(pair.y));
#define EACH(name)                                                                                                     \
  {                                                                                                                    \
    T2 both = name##2(T2(a, c), T2(b, a));                                                                             \
    sum.add(name(a, b) | name##u(a, b) << 1), sum.number(float(both.x)), sum.number(float(both.y));                    \
    both = name##u2(T2(a, c), T2(b, a));                                                                               \
    sum.number(float(both.x)), sum.number(float(both.y));                                                              \
    sum.add(name##2_mask(T2(a, c), T2(b, a))), sum.add(name##u2_mask(T2(a, c), T2(b, a)));                             \
  }
      EACH(__heq) EACH(__hne) EACH(__hlt) EACH(__hle) EACH(__hgt) EACH(__hge)
#undef EACH
      T2 left(a, c), right(b, a);
      sum.add(__hbeq2(left, right) | __hbne2(left, right) << 1 | __hblt2(left, right) << 2 | __hbgeu2(left, right) << 3 | __hbneu2(left, right) << 4 |
              __hbltu2(left, left) << 5);
      sum.number(float(__hadd_sat(a, b))), sum.number(float(__hsub_sat(a, b))), sum.number(float(__hmul_sat(a, b)));
      pair = __hmax2_nan(left, right), sum.add(Raw(pair.x).x), sum.add(Raw(pair.y).x);
      pair = __hmin2_nan(left, right), sum.add(Raw(pair.x).x), sum.add(Raw(pair.y).x);
      pair = __hisnan2(left), sum.number(float(pair.x)), sum.number(float(pair.y));
      sum.add((a == b) | (a != b) << 1 | (a < b) << 2 | (a <= b) << 3 | (a > b) << 4 | (a >= b) << 5 | __hisnan(a) << 6);
    }
  return sum.sum;
}

constexpr unsigned GROUPS = 7;
PART wide result(unsigned group, unsigned part) {
  switch (group) {
  case 0: return from_half(part);
  case 1: return from_bfloat16(part);
  case 2: return from_fp8(part);
  case 3: return to_all_from_integers(part);
  case 4: return to_all_from_reals(part);
  case 5: return arithmetic<__half, __half_raw, __half2>(part, 0x7c00);
  default: return arithmetic<__nv_bfloat16, __nv_bfloat16_raw, __nv_bfloat162>(part, 0x7f80);
  }
}

#if defined(OFFLOAD_KERNEL_H)
extern "C" __global__ void conversions(wide *sums) { sums[blockIdx.x] = result(blockIdx.x / 256, blockIdx.x % 256); }
#endif
