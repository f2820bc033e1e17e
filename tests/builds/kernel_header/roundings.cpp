// Compares the header's directed roundings with those of the CPU, and prints the differences.
#include <fenv.h>
#include <offload/kernel.h>
#include <stdio.h>

static unsigned long long state = 88172645463325252ull;
static unsigned long long some_bits() {
  state ^= state << 13, state ^= state >> 7, state ^= state << 17;
  return state;
}
template <typename To, typename From> static To as(From from) {
  To to;
  memcpy(&to, &from, sizeof(To));
  return to;
}

static float number() {
  static const float some[] = {0.f, -0.f, 1.f, -1.f, INFINITY, -INFINITY, 1e-45f, -1e-45f, 3.4028235e38f, -3.4028235e38f, 1.17549435e-38f, 2.f};
  unsigned bits = unsigned(some_bits());
  switch (some_bits() % 8) {
  case 0:
    return some[bits % 12];
  case 1: /* of similar sizes */
  case 2:
    return as<float>((bits & 0x807fffff) | (100 + unsigned(some_bits() % 60)) << 23);
  default:
    return as<float>(bits);
  }
}
static unsigned long long integer() {
  unsigned long long bits = some_bits() >> some_bits() % 64;
  switch (some_bits() % 8) {
  case 0:
    return ~0ull - bits % 100;
  case 1:
    return 0x7fffffffffffffffull - bits % 3;
  default:
    return bits;
  }
}

int main() {
  int wrong = 0;
  auto compare = [&](const char *name, double got, double expected) {
    if (as<unsigned long long>(got) != as<unsigned long long>(expected) && !(got != got && expected != expected) && wrong++ < 10)
      printf("%s: %a, and not %a\n", name, got, expected);
  };
  for (int round = 0; round < 100000; ++round) {
    volatile float a = number(), b = some_bits() % 16 == 0 ? -a : number(), c = some_bits() % 16 == 0 ? -a * b : number();
    volatile unsigned long long u = integer();
    volatile long long l = (long long)(integer());
    volatile unsigned u32 = unsigned(u);
    volatile int i = int(l);
    volatile double d = some_bits() % 2 ? as<double>(integer()) : a * (1 + u32 * 1e-12);
#define ROW(name, arguments, expression)                                                                               \
  {                                                                                                                    \
    auto got = name arguments;                                                                                         \
    fesetround(MODE);                                                                                                  \
    volatile auto expected = expression;                                                                               \
    fesetround(FE_TONEAREST);                                                                                          \
    compare(#name, got, expected);                                                                                     \
  }
#define ALL(suffix)                                                                                                    \
  ROW(__fadd_##suffix, (a, b), a + b)                                                                                  \
  ROW(__fsub_##suffix, (a, b), a - b)                                                                                  \
  ROW(__fmul_##suffix, (a, b), a *b)                                                                                   \
  ROW(__fdiv_##suffix, (a, b), a / b)                                                                                  \
  ROW(__fmaf_##suffix, (a, b, c), fmaf(a, b, c))                                                                       \
  ROW(__frcp_##suffix, (a), 1.f / a)                                                                                   \
  ROW(__fsqrt_##suffix, (a), sqrtf(a))                                                                                 \
  ROW(__double2float_##suffix, (d), float(d))                                                                          \
  ROW(__int2float_##suffix, (i), float(i))                                                                             \
  ROW(__uint2float_##suffix, (u32), float(u32))                                                                        \
  ROW(__ll2float_##suffix, (l), float(l))                                                                              \
  ROW(__ull2float_##suffix, (u), float(u))                                                                             \
  ROW(__ll2double_##suffix, (l), double(l))                                                                            \
  ROW(__ull2double_##suffix, (u), double(u))
#define MODE FE_TOWARDZERO
    ALL(rz)
#undef MODE
#define MODE FE_UPWARD
    ALL(ru)
#undef MODE
#define MODE FE_DOWNWARD
    ALL(rd)
#undef MODE
  }
  return wrong != 0;
}
