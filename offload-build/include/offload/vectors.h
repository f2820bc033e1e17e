/* offload/vectors.h: float4, uchar2 and their kin, as CUDA sources know them.  Part of offload/kernel.h.
 *
 * Their alignment is CUDA's: that of the whole, at most 16 bytes; vectors of three have that of one number.
 */
#ifndef OFFLOAD_VECTORS_H
#define OFFLOAD_VECTORS_H

#define OFFLOAD_VECTOR_OF(type, base, align1, align2, align4)                                                          \
  struct type##1 { base x; };                                                                                          \
  struct alignas(align2) type##2 { base x, y; };                                                                       \
  struct type##3 { base x, y, z; };                                                                                    \
  struct alignas(align4) type##4 { base x, y, z, w; };                                                                 \
  OFFLOAD_DEVICE type##1 make_##type##1(base x) { return {x}; }                                                        \
  OFFLOAD_DEVICE type##2 make_##type##2(base x, base y) { return {x, y}; }                                             \
  OFFLOAD_DEVICE type##3 make_##type##3(base x, base y, base z) { return {x, y, z}; }                                  \
  OFFLOAD_DEVICE type##4 make_##type##4(base x, base y, base z, base w) { return {x, y, z, w}; }
OFFLOAD_VECTOR_OF(char, signed char, 1, 2, 4)
OFFLOAD_VECTOR_OF(uchar, unsigned char, 1, 2, 4)
OFFLOAD_VECTOR_OF(short, short, 2, 4, 8)
OFFLOAD_VECTOR_OF(ushort, unsigned short, 2, 4, 8)
OFFLOAD_VECTOR_OF(int, int, 4, 8, 16)
OFFLOAD_VECTOR_OF(uint, unsigned, 4, 8, 16)
OFFLOAD_VECTOR_OF(long, long, 8, 16, 16)
OFFLOAD_VECTOR_OF(ulong, unsigned long, 8, 16, 16)
OFFLOAD_VECTOR_OF(longlong, long long, 8, 16, 16)
OFFLOAD_VECTOR_OF(ulonglong, unsigned long long, 8, 16, 16)
OFFLOAD_VECTOR_OF(float, float, 4, 8, 16)
OFFLOAD_VECTOR_OF(double, double, 8, 16, 16)
#undef OFFLOAD_VECTOR_OF

/* Four bytes in a word, or two halves of it, as numbers of their own. */
OFFLOAD_DEVICE int __dp4a(int a, int b, int c) {
  for (int at = 0; at < 32; at += 8)
    c += int((signed char)(a >> at)) * int((signed char)(b >> at));
  return c;
}
OFFLOAD_DEVICE unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
  for (int at = 0; at < 32; at += 8)
    c += (a >> at & 255) * (b >> at & 255);
  return c;
}
#define OFFLOAD_BYTES(name, number, low, high, expression)                                                             \
  OFFLOAD_DEVICE unsigned name(unsigned a, unsigned b) {                                                               \
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
