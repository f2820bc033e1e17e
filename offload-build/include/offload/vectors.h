/* offload/vectors.h: float4, uchar2 and their kin, as in CUDA.  Part of offload/kernel.h.
 *
 * As in CUDA, a vector is aligned to its size, but to at most 16 bytes; a vector of three is aligned like one number.
 */
#ifndef OFFLOAD_VECTORS_H
#define OFFLOAD_VECTORS_H

#define OFFLOAD_VECTOR_OF(type, base)                                                                                  \
  struct type##1 { base x; };                                                                                          \
  struct alignas(2 * sizeof(base)) type##2 { base x, y; };                                                             \
  struct type##3 { base x, y, z; };                                                                                    \
  struct alignas(sizeof(base) < 4 ? 4 * sizeof(base) : 16) type##4 { base x, y, z, w; };                               \
  OFFLOAD_YIELDS type##1 make_##type##1(base x) { return {x}; }                                                        \
  OFFLOAD_YIELDS type##2 make_##type##2(base x, base y) { return {x, y}; }                                             \
  OFFLOAD_YIELDS type##3 make_##type##3(base x, base y, base z) { return {x, y, z}; }                                  \
  OFFLOAD_YIELDS type##4 make_##type##4(base x, base y, base z, base w) { return {x, y, z, w}; }
OFFLOAD_VECTOR_OF(char, signed char)
OFFLOAD_VECTOR_OF(uchar, unsigned char)
OFFLOAD_VECTOR_OF(short, short)
OFFLOAD_VECTOR_OF(ushort, unsigned short)
OFFLOAD_VECTOR_OF(int, int)
OFFLOAD_VECTOR_OF(uint, unsigned)
OFFLOAD_VECTOR_OF(long, long)
OFFLOAD_VECTOR_OF(ulong, unsigned long)
OFFLOAD_VECTOR_OF(longlong, long long)
OFFLOAD_VECTOR_OF(ulonglong, unsigned long long)
OFFLOAD_VECTOR_OF(float, float)
OFFLOAD_VECTOR_OF(double, double)
#undef OFFLOAD_VECTOR_OF

template <decltype(nullptr)> constexpr dim3::dim3(const uint3 &from) : x(from.x), y(from.y), z(from.z) {}
constexpr dim3::operator uint3() const { return {x, y, z}; }
#if !defined(OFFLOAD_CPU)
#define OFFLOAD_INDEX(type)                                                                                            \
  __attribute__((device, always_inline)) inline type::operator uint3() const { return {x, y, z}; }
OFFLOAD_INDEX(offload_thread_index)
OFFLOAD_INDEX(offload_block_index)
OFFLOAD_INDEX(offload_block_size)
OFFLOAD_INDEX(offload_grid_size)
#undef OFFLOAD_INDEX
#endif

/* Adds the products of four bytes: one instruction on most GPUs.  clang recognizes only some of the loops.  The others would
 * make kernels of quantized numbers several times larger. */
#if defined(__GFX11__) || defined(__GFX12__)
#define OFFLOAD_DOT(a, b, c) __builtin_amdgcn_sudot4(true, a, true, b, c, false)
#define OFFLOAD_UNSIGNED_DOT(a, b, c) __builtin_amdgcn_udot4(a, b, c, false)
#elif defined(__gfx906__) || defined(__gfx908__) || defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__) ||   \
    defined(__gfx9_4_generic__) || defined(__gfx1011__) || defined(__gfx1012__) || defined(__gfx1030__) ||                 \
    defined(__gfx1031__) || defined(__gfx1032__) || defined(__gfx1033__) || defined(__gfx1034__) ||                        \
    defined(__gfx1035__) || defined(__gfx1036__) || defined(__gfx10_3_generic__)
#define OFFLOAD_DOT(a, b, c) __builtin_amdgcn_sdot4(a, b, c, false)
#define OFFLOAD_UNSIGNED_DOT(a, b, c) __builtin_amdgcn_udot4(a, b, c, false)
#endif
OFFLOAD_YIELDS int __dp4a(int a, int b, int c) {
#if defined(OFFLOAD_DOT)
  return OFFLOAD_DOT(a, b, c);
#elif defined(__NVPTX__) && __CUDA_ARCH__ >= 610
  int sum;
  __asm__("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(sum) : "r"(a), "r"(b), "r"(c));
  return sum;
#else
  for (int at = 0; at < 32; at += 8)
    c += int((signed char)(a >> at)) * int((signed char)(b >> at));
  return c;
#endif
}
OFFLOAD_YIELDS unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
#if defined(OFFLOAD_UNSIGNED_DOT)
  return OFFLOAD_UNSIGNED_DOT(a, b, c);
#elif defined(__NVPTX__) && __CUDA_ARCH__ >= 610
  unsigned sum;
  __asm__("dp4a.u32.u32 %0, %1, %2, %3;" : "=r"(sum) : "r"(a), "r"(b), "r"(c));
  return sum;
#else
  for (int at = 0; at < 32; at += 8)
    c += (a >> at & 255) * (b >> at & 255);
  return c;
#endif
}
OFFLOAD_YIELDS int __dp4a(char4 a, char4 b, int c) { return __dp4a(offload_bits::as<int>(a), offload_bits::as<int>(b), c); }
OFFLOAD_YIELDS unsigned __dp4a(uchar4 a, uchar4 b, unsigned c) {
  return __dp4a(offload_bits::as<unsigned>(a), offload_bits::as<unsigned>(b), c);
}
#undef OFFLOAD_DOT
#undef OFFLOAD_UNSIGNED_DOT

/* Operations on the four bytes of a word as separate numbers. */
#define OFFLOAD_BYTES(name, number, low, high, expression)                                                             \
  OFFLOAD_YIELDS unsigned name(unsigned a, unsigned b) {                                                               \
    unsigned all = 0;                                                                                                  \
    for (int at = 0; at < 32; at += 8) {                                                                               \
      int x = number(a >> at), y = number(b >> at), z = expression;                                                    \
      all |= (unsigned(z < low ? low : z > high ? high : z) & 255) << at;                                              \
    }                                                                                                                  \
    return all;                                                                                                        \
  }
#define OFFLOAD_SIGNED(x) (signed char)(x)
#define OFFLOAD_UNSIGNED(x) (unsigned char)(x)
OFFLOAD_BYTES(__vadd4, OFFLOAD_UNSIGNED, 0, 511, x + y)
OFFLOAD_BYTES(__vsub4, OFFLOAD_UNSIGNED, -255, 255, x - y)
OFFLOAD_BYTES(__vaddss4, OFFLOAD_SIGNED, -128, 127, x + y)
OFFLOAD_BYTES(__vsubss4, OFFLOAD_SIGNED, -128, 127, x - y)
OFFLOAD_BYTES(__vaddus4, OFFLOAD_UNSIGNED, 0, 255, x + y)
OFFLOAD_BYTES(__vsubus4, OFFLOAD_UNSIGNED, 0, 255, x - y)
OFFLOAD_BYTES(__vcmpeq4, OFFLOAD_UNSIGNED, -1, 0, -(x == y))
OFFLOAD_BYTES(__vcmpne4, OFFLOAD_UNSIGNED, -1, 0, -(x != y))
#undef OFFLOAD_BYTES
#undef OFFLOAD_SIGNED
#undef OFFLOAD_UNSIGNED

#endif
