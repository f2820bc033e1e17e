//! `cuda_fp16.h`, `cuda_bf16.h`, `cuda_fp8.h`: every number of each type, and many floats. The
//! reference for half is the compiler's own `_Float16`. For the other types, the reference is the
//! nearest number of the type, found by comparing all of them.

use super::{built, compiler};
use offload_tests::judges::{assert_is_for, image_file_name};
use offload_tests::prelude::*;

offload_tests::tests! {
    GCC.slow() => [small_numbers_are_rounded_as_they_should_be],
    needs(&[Tool::Llvm22, Tool::Gcc, Tool::SpirvTools]).slow() => [
        small_numbers_compile_for_every_target,
    ],
}

const PROGRAM: &str = r#"#include <cuda_fp8.h>
#include <cstdio>
#include <cstdlib>
static unsigned state = 1;
static float some() { // Of every size, and halfway between numbers of the types.
  state = state * 1664525u + 1013904223u;
  unsigned bits = state;
  state = state * 1664525u + 1013904223u;
  switch (state >> 29) {
  case 0: bits &= 0xffffe000; break;
  case 1: bits = (bits & 0xffffe000) | 0x1000; break;
  case 2: bits = (bits & 0xffff0000) | 0x8000; break;
  case 3: bits = (bits & 0xfff80000) | 0x80000; break;
  case 4: bits = (bits & 0x80ffffff) | 0x38000000; break;
  case 5: bits = (bits & 0x83ffffff) | 0x30000000; break;
  }
  return __uint_as_float(bits);
}
static void fail(const char *what, double x, double found, double expected) {
  printf("%s of %a: %a, not %a\n", what, x, found, expected);
  exit(1);
}
static bool same(float a, float b) { return a == b ? __float_as_uint(a) == __float_as_uint(b) : a != a && b != b; }
// Returns the nearest number; of two equally near numbers, the one with an even code.
template <typename Number> static float nearest(float x, int count, Number number) {
  // Beyond this limit, all distances are equal.
  x = x > 1e6f ? 1e6f : x < -1e6f ? -1e6f : x;
  float best = 0, distance = INFINITY;
  int code_of_best = 0;
  for (int code = 0; code < count; code++) {
    float value = number(code);
    if (value != value || isinf(value) || signbit(value) != signbit(x)) continue;
    float d = fabs(double(value) - double(x));
    if (d < distance || (d == distance && code % 2 == 0 && code_of_best % 2 == 1)) best = value, distance = d, code_of_best = code;
  }
  return best;
}
int main() {
  for (unsigned bits = 0; bits < 65536; bits++) {
    __half half = __ushort_as_half((unsigned short)bits);
    _Float16 theirs;
    __builtin_memcpy(&theirs, &bits, 2);
    if (!same(float(half), float(theirs))) fail("half", bits, float(half), float(theirs));
    if (!__hisnan(half) && __half_as_ushort(__float2half(float(half))) != bits) fail("half and back", bits, 0, 0);
    __nv_bfloat16 bfloat = __ushort_as_bfloat16((unsigned short)bits);
    if (!same(float(bfloat), __uint_as_float(bits << 16))) fail("bfloat16", bits, float(bfloat), 0);
  }
  for (int i = 0; i < 3000000; i++) {
    float x = some(), y = some();
    if (!same(__half2float(__float2half(x)), float(_Float16(x)))) fail("half", x, float(__half(x)), float(_Float16(x)));
    __half a = x, b = y;
    _Float16 c = _Float16(x), d = _Float16(y);
    if (!same(float(a + b), float(_Float16(c + d)))) fail("sum", x, float(a + b), float(_Float16(c + d)));
    if (!same(float(a * b), float(_Float16(c * d)))) fail("product", x, float(a * b), float(_Float16(c * d)));
    if (!same(float(a / b), float(_Float16(c / d)))) fail("quotient", x, float(a / b), float(_Float16(c / d)));
    if (x == x && !isinf(x)) {
      unsigned bits = __float_as_uint(x), below = bits & 0xffff0000, above = below + 0x10000;
      unsigned rest = bits & 0xffff, up = rest > 0x8000 || (rest == 0x8000 && (below & 0x10000));
      float expected = __uint_as_float(up ? above : below);
      if (!same(float(__nv_bfloat16(x)), expected)) fail("bfloat16", x, float(__nv_bfloat16(x)), expected);
    }
  }
  for (int i = 0; i < 200000; i++) {
    float x = some();
    if (x != x) continue;
    auto e4m3 = [](int code) { return float(__half(__nv_cvt_fp8_to_halfraw((unsigned char)code, __NV_E4M3))); };
    auto e5m2 = [](int code) { return float(__half(__nv_cvt_fp8_to_halfraw((unsigned char)code, __NV_E5M2))); };
    if (!same(float(__nv_fp8_e4m3(x)), nearest(x, 256, e4m3))) fail("e4m3", x, float(__nv_fp8_e4m3(x)), nearest(x, 256, e4m3));
    if (!same(float(__nv_fp8_e5m2(x)), nearest(x, 256, e5m2))) fail("e5m2", x, float(__nv_fp8_e5m2(x)), nearest(x, 256, e5m2));
  }
  // The largest numbers of the types, as OCP and IEEE specify them.
  if (float(__nv_fp8_e4m3(1e9f)) != 448 || float(__nv_fp8_e5m2(1e9f)) != 57344) fail("ends", 0, 0, 0);
  if (float(__nv_fp8_e4m3(0.001953125f)) != 0.001953125f) fail("least e4m3", 0, 0, 0);
  puts("all as they should be");
}
"#;

fn small_numbers_are_rounded_as_they_should_be() {
    let folder = scratch::folder("kernel_header_float16");
    scratch::write(folder.join("main.cpp"), PROGRAM);
    let program = folder.join("main");
    let mut compile = compiler("g++", "-std=c++17 -O2 -Wall -Wextra -Werror");
    succeed(compile.arg(folder.join("main.cpp")).arg("-o").arg(&program));
    assert_eq!(stdout(&succeed(&mut Command::new(program))), "all as they should be\n");
}

fn small_numbers_compile_for_every_target() {
    let source = "#include <cuda_fp8.h>\n#include <cuda_runtime.h>\n\
                  extern \"C\" __global__ void k(__half *x, __nv_bfloat16 *y, __nv_fp8_e4m3 *z, float4 *v, __half2 *w) {\n  \
                    int i = threadIdx.x;\n  x[i] = hexp(x[i]) * __half(2.0f) + __hmax_nan(x[i], x[i + 1]);\n  \
                    y[i] = __hfma(y[i], __nv_bfloat16(v[i].x), y[i]) - y[i];\n  z[i] = __nv_fp8_e4m3(float(x[i]));\n  \
                    w[i] = __hmul2(w[i], __float22half2_rn(make_float2(v[i].y, v[i].z)));\n  atomicAdd(x, x[i]);\n}\n";
    const GPUS: [&str; 5] = ["gfx90a", "gfx1100", "compute_80", "compute_90", "spirv64"];
    let scenario = built("kernel_header_small", &[&GPUS[..], &["cpu"]].concat(), source);
    for target in GPUS {
        let image = format!("k/{}", image_file_name(target));
        assert_is_for("k", target, &scenario.output("release", &image));
    }
}
