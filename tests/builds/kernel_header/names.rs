//! Names that sources for nvcc use, in one table for all targets. Each row is a condition that must
//! hold. clang and g++ compile all rows for each kind of target, with only the kit's header. The
//! CPU evaluates the conditions. For GPUs, clang's optimizer evaluates them. nvcc compiles the same
//! table, which confirms the names and the headers that define them.

use super::{CPU, checked, checked_by, compiler, text_for};
use offload_tests::prelude::*;

/// Conditions, one per line. nvcc defines their names without an include, or in a header that an
/// `#include` line of this table names. The kit's header defines all names without an include,
/// except the names in the headers of [`NEEDED`].
const NAMES: &str = "
INFINITY > 3e38f && sizeof(INFINITY) == 4
NAN != NAN && sizeof(NAN) == 4
HUGE_VAL > 1e308
HUGE_VALF > 3e38f
sizeof(NULL) == sizeof(void *)
M_E == 2.718281828459045
M_LOG2E == 1.4426950408889634
M_LOG10E == 0.4342944819032518
M_LN2 == 0.6931471805599453
M_LN10 == 2.302585092994046
M_PI == 3.141592653589793
M_PI_2 == M_PI / 2
M_PI_4 == M_PI / 4
M_1_PI == 0.3183098861837907
M_2_PI == 2 * M_1_PI
M_2_SQRTPI == 1.1283791670955126
M_SQRT2 == 1.4142135623730951
M_SQRT1_2 == 0.7071067811865476
sizeof(uint) == 4 && uint(-1) > 0
sizeof(ulong) == sizeof(long) && ulong(-1) > 0
sizeof(ushort) == 2 && ushort(-1) > 0
sizeof(size_t) == sizeof(void *) && size_t(-1) > 0
sizeof(ptrdiff_t) == sizeof(void *) && ptrdiff_t(-1) < 0
sizeof(int8_t) == 1 && int8_t(-1) < 0
sizeof(int16_t) == 2 && int16_t(-1) < 0
sizeof(int32_t) == 4 && int32_t(-1) < 0
sizeof(int64_t) == 8 && int64_t(-1) < 0
CHAR_BIT == 8
SCHAR_MIN == -128 && SCHAR_MAX == 127 && UCHAR_MAX == 255
CHAR_MAX - CHAR_MIN == 255
SHRT_MIN == -32768 && SHRT_MAX == 32767 && USHRT_MAX == 65535
INT_MIN == -2147483647 - 1 && INT_MAX == 2147483647 && UINT_MAX == 4294967295u
LONG_MIN < -LONG_MAX && ULONG_MAX == 2ul * LONG_MAX + 1
LLONG_MIN < -LLONG_MAX && ULLONG_MAX == 18446744073709551615ull
std::max(1, 2) == 2 && std::max(2.5f, 1.5f) == 2.5f
std::min(1, 2) == 1 && std::min<size_t>(3, 2u) == 2
lrint(2.5) == 2 && lrintf(-1.5f) == -2 && llrint(3.5) == 4 && llrintf(0.5f) == 0
lround(2.5) == 3 && lroundf(-1.5f) == -2 && llround(-2.5) == -3 && llroundf(0.5f) == 1
nextafter(1.0, 2.0) == 1 + 2.220446049250313e-16 && nextafterf(1.0f, 0.0f) == 1 - 5.960464477539063e-8f
remainder(5.0, 2.0) == 1 && remainder(7.0, 2.0) == -1 && remainderf(-5.5f, 2.0f) == 0.5f
logb(10.0) == 3 && logbf(0.25f) == -2 && ilogb(0.75) == -1 && ilogbf(1024.0f) == 10
scalbn(3.0, 4) == 48 && scalbnf(3.0f, -1) == 1.5f && scalbln(1.0, 10l) == 1024
labs(-3l) == 3 && llabs(-3ll) == 3
isnan(nan(\"\")) && isnan(nanf(\"\"))
sizeof(ldexp(1.0f, 2)) == 4 && sizeof(scalbn(1.0f, 2)) == 4 && sizeof(frexp(1.0f, (int *)0)) == 4 && sizeof(logb(1.0f)) == 4
sizeof(fdim(2.0f, 1.0f)) == 4 && sizeof(remainder(2.0f, 1.0f)) == 4 && sizeof(nextafter(2.0f, 1.0f)) == 4
sizeof(rsqrt(4.0f)) == 4 && sizeof(exp10(1.0f)) == 4 && sizeof(sinpi(1.0f)) == 4 && sizeof(cospi(1.0f)) == 4
sizeof(rcbrt(8.0f)) == 4 && sizeof(normcdf(0.0f)) == 4
rcbrt(8.0) == 0.5 && rcbrtf(8.0f) == 0.5f
rhypot(3.0, 4.0) == 0.2 && rhypotf(3.0f, 4.0f) == 0.2f
norm3d(2.0, 3.0, 6.0) == 7 && norm3df(2.0f, 3.0f, 6.0f) == 7
norm4d(2.0, 4.0, 5.0, 6.0) == 9 && norm4df(2.0f, 4.0f, 5.0f, 6.0f) == 9
rnorm3d(0.0, 0.0, 4.0) == 0.25 && rnorm3df(0.0f, 4.0f, 0.0f) == 0.25f
rnorm4d(1.0, 1.0, 1.0, 1.0) == 0.5 && rnorm4df(2.0f, 2.0f, 2.0f, 2.0f) == 0.25f
rhypotf(0x1p+127f, 0) == 0x1p-127f && rnorm3d(0, 0x1p+1023, 0) == 0x1p-1023 && rnorm4d(0x1p+1023, 0x1p+1023, 0x1p+1023, 0x1p+1023) == 0x1p-1024
rhypotf(3e38f, 3e38f) > 2.356e-39f && rnorm3df(2e38f, 2e38f, -2e38f) > 2.886e-39f && rnorm4df(FLT_MAX, FLT_MAX, FLT_MAX, FLT_MAX) > 1.469e-39f
fma(2.0f, 0.5, 1.0f) == 2 && fma(2.0, 0.5f, 1) == 2 && sizeof(fma(2, 1.0f, 1.0f)) == 8 && sizeof(fma(2.0f, 1.0f, 1.0f)) == 4
__dp4a(make_char4(1, 2, 3, -4), make_char4(5, 6, 7, 8), 9) == __dp4a(int(0xfc030201), 0x08070605, 9)
__dp4a(make_uchar4(255, 2, 3, 4), make_uchar4(5, 6, 7, 8), 9u) == __dp4a(0x040302ffu, 0x08070605u, 9u)
fdividef(1.0f, 4.0f) == 0.25f
__fadd_rn(1.0f, 2.0f) == 3 && __fsub_rn(1.0f, 2.0f) == -1 && __fmul_rn(3.0f, 2.0f) == 6
__fdiv_rn(1.0f, 4.0f) == 0.25f && __fmaf_rn(2.0f, 3.0f, 4.0f) == 10 && __frsqrt_rn(4.0f) == 0.5f
__dadd_rn(1.0, 2.0) == 3 && __dsub_rn(1.0, 2.0) == -1 && __dmul_rn(3.0, 2.0) == 6
__ddiv_rn(1.0, 4.0) == 0.25 && __fma_rn(2.0, 3.0, 4.0) == 10 && __drcp_rn(4.0) == 0.25 && __dsqrt_rn(4.0) == 2
__float2int_rn(2.5f) == 2 && __float2int_rz(-2.5f) == -2 && __float2int_ru(2.1f) == 3 && __float2int_rd(-2.1f) == -3
__float2uint_rn(3.5f) == 4 && __float2uint_rz(3.9f) == 3 && __float2uint_ru(3.1f) == 4 && __float2uint_rd(3.9f) == 3
__float2ll_rn(-2.5f) == -2 && __float2ll_rz(8589934592.0f) == 8589934592 && __float2ll_ru(0.1f) == 1 && __float2ll_rd(-0.1f) == -1
__float2ull_rn(2.5f) == 2 && __float2ull_rz(9223372036854775808.0f) == 9223372036854775808ull && __float2ull_ru(0.1f) == 1 && __float2ull_rd(0.9f) == 0
__double2int_rn(3.5) == 4 && __double2int_rz(-2.5) == -2 && __double2int_ru(-2.5) == -2 && __double2int_rd(-2.5) == -3
__double2uint_rn(4e9) == 4000000000u && __double2uint_rz(3.9) == 3 && __double2uint_ru(3.1) == 4 && __double2uint_rd(3.9) == 3
__double2ll_rn(2.5) == 2 && __double2ll_rz(-9.5e15) == -9500000000000000 && __double2ll_ru(2.1) == 3 && __double2ll_rd(-2.1) == -3
__float2int_rn(2147483648.0f) == INT_MAX && __float2int_rz(-INFINITY) == INT_MIN && __float2uint_rz(-3.7f) == 0 && __float2uint_ru(5e9f) == UINT_MAX
__float2ll_rn(INFINITY) == LLONG_MAX && __float2ll_rz(-1e30f) == LLONG_MIN && __float2ull_rz(-1.0f) == 0 && __double2ull_ru(2e19) == ULLONG_MAX
__float2int_rz(NAN) == 0 && __float2uint_rn(NAN) == 0 && __float2ll_rd(NAN) == LLONG_MIN && __float2ull_ru(NAN) == 1ull << 63
__double2int_rz(NAN) == INT_MIN && __double2uint_rn(NAN) == 1u << 31 && __double2ll_rd(NAN) == LLONG_MIN && __double2ull_ru(NAN) == 1ull << 63
__frcp_rn(4.0f) == 0.25f && __fsqrt_rn(4.0f) == 2 && __saturatef(NAN) == 0 && __saturatef(-INFINITY) == 0 && 1 / __saturatef(-0.0f) == INFINITY
__double2ull_rn(2.5) == 2 && __double2ull_rz(2.9) == 2 && __double2ull_ru(2.1) == 3 && __double2ull_rd(2.9) == 2
__int2float_rn(16777217) == 16777216.0f && __uint2float_rn(4294967295u) == 4294967296.0f
__ll2float_rn(-3) == -3.0f && __ull2float_rn(3) == 3.0f && __double2float_rn(0.1) == 0.1f
__int2double_rn(-3) == -3.0 && __uint2double_rn(3u) == 3.0 && __ll2double_rn(-3) == -3.0 && __ull2double_rn(3) == 3.0
__double2hiint(-2.0) == int(0xc0000000) && __double2loint(0.1) == int(0x9999999a) && __hiloint2double(0x40000000, 0) == 2.0
__byte_perm(0x33221100, 0x77665544, 0x7530) == 0x77553300
__funnelshift_l(0x80000000, 0x1, 33) == 3 && __funnelshift_r(0x80000000, 0x1, 31) == 3
__funnelshift_lc(5, 1, 40) == 5 && __funnelshift_rc(1, 5, 32) == 5 && __funnelshift_rc(2, 5, 1) == 0x80000001
__mul24(-3, 5) == -15 && __mul24(0x1000002, 3) == 6 && __umul24(0xffffff, 2) == 0x1fffffe
__sad(-3, 5, 1u) == 9 && __usad(5u, 3u, 1u) == 3
__hadd(-3, 2) == -1 && __rhadd(1, 2) == 2 && __uhadd(0xffffffffu, 1u) == 0x80000000u && __urhadd(1u, 2u) == 2
min(-1l, 2ul) == 2 && max(1ul, -1l) == ULONG_MAX && min(3ll, 2ull) == 2 && max(1ull, -1ll) == ULLONG_MAX && min(-1, 2u) == 2
sizeof(long2) == 2 * sizeof(long) && alignof(long2) == sizeof(long2) && alignof(ulong4) == 16 && alignof(uchar4) == 4
uint3(dim3(1, 2, 3)).z == 3 && dim3(make_uint3(4, 5, 6)).y == 5
umin(1u, 2u) == 1 && umax(1u, 2u) == 2 && llmin(-1, 2) == -1 && llmax(-1, 2) == 2 && ullmin(1, 2) == 1 && ullmax(1, 2) == 2
__isnan(NAN) && !__isnanf(1.0f) && __isinf(-INFINITY) && !__isinff(1.0f) && __finite(1.0) && !__finitef(INFINITY)
__signbit(-0.0) && !__signbit(1.0) && __signbitf(-1.0f)
#include <float.h>
FLT_MAX == 3.4028234663852886e38f && FLT_MIN == 1.1754943508222875e-38f && FLT_EPSILON == 1.1920928955078125e-7f
FLT_DIG == 6 && FLT_MANT_DIG == 24 && FLT_RADIX == 2 && FLT_MAX_EXP == 128 && FLT_MIN_EXP == -125
DBL_MAX == 1.7976931348623157e308 && DBL_MIN == 2.2250738585072014e-308 && DBL_EPSILON == 2.220446049250313e-16
DBL_DIG == 15 && DBL_MANT_DIG == 53 && DBL_MAX_EXP == 1024 && DBL_MIN_EXP == -1021
#include <stdint.h>
sizeof(uint8_t) == 1 && uint8_t(-1) == UINT8_MAX && UINT8_MAX == 255
sizeof(uint16_t) == 2 && uint16_t(-1) == UINT16_MAX && UINT16_MAX == 65535
sizeof(uint32_t) == 4 && uint32_t(-1) == UINT32_MAX && UINT32_MAX == 4294967295u
sizeof(uint64_t) == 8 && uint64_t(-1) == UINT64_MAX
sizeof(intptr_t) == sizeof(void *) && sizeof(uintptr_t) == sizeof(void *) && intptr_t(-1) < 0 && uintptr_t(-1) > 0
INT8_MIN == -128 && INT8_MAX == 127 && INT16_MIN == -32768 && INT16_MAX == 32767
INT32_MIN == INT_MIN && INT32_MAX == INT_MAX && INT64_MIN < -INT64_MAX
SIZE_MAX == size_t(-1) && PTRDIFF_MAX > 0 && PTRDIFF_MIN < 0
#include <cuda_fp16.h>
#include <cuda_bf16.h>
-__half2(1, 2) == __half2(-1, -2) && +__nv_bfloat162(1, 2) == -__nv_bfloat162(-1, -2)
__half2(1, 2) < __half2(2, 3) && !(__half2(1, 2) < __half2(1, 3)) && !(__half2(1, 2) != __half2(1, 3)) && __half2(1, 2) != __half2(NAN, 3)
__half2(1, 2) <= __half2(1, 3) && __half2(1, 2) >= __half2(1, 1) && __nv_bfloat162(1, 2) > __nv_bfloat162(0, 1)
[] { __half a(1), b = a++; ++a; return float(b) == 1 && float(a--) == 3 && float(--a) == 1; }()
[] { __half2 a(1, 2), b = a++; ++a; return b == __half2(1, 2) && a-- == __half2(3, 4) && --a == __half2(1, 2); }()
[] { __nv_bfloat162 a(1, 2), b = a++; ++a; return b == __nv_bfloat162(1, 2) && a-- == __nv_bfloat162(3, 4) && --a == b; }()
[] { __half2_raw raw = __half2(1, 2); __half2 a = raw; return raw.x == 0x3c00 && raw.y == 0x4000 && a == __half2(1, 2); }()
[] { __nv_bfloat162_raw raw = __nv_bfloat162(1, 2); __nv_bfloat162 a = raw; return raw.x == 0x3f80 && raw.y == 0x4000 && a == __nv_bfloat162(1, 2); }()
#include <math_constants.h>
CUDART_INF_F == INFINITY && CUDART_NAN_F != CUDART_NAN_F && CUDART_INF == INFINITY && CUDART_NAN != CUDART_NAN
CUDART_PI_F == 3.14159274f && CUDART_PI == M_PI && CUDART_PIO2_F == CUDART_PI_F / 2 && CUDART_PIO4 == M_PI / 4
CUDART_MAX_NORMAL_F == FLT_MAX && CUDART_TWO_TO_M126_F == FLT_MIN && CUDART_TWO_TO_126_F == 1 / FLT_MIN
#include <device_launch_parameters.h>
#include <cuda_runtime_api.h>
#include <device_functions.h>
#include <driver_types.h>
#include <sm_30_intrinsics.h>
#include <sm_32_intrinsics.h>
#include <vector_functions.h>
#include <vector_types.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>
std::is_same_v<int, std::remove_const_t<const int>> && std::is_floating_point<float>::value
CUDART_L2E_F == 1.44269502f && CUDART_LN2_F == 0.693147182f && CUDART_SQRT_TWO == M_SQRT2 && CUDART_LNT == M_LN10
";

/// Statements with names that nvcc defines. Their results are known only at run time.
const STATEMENTS: [&str; 17] = [
    "__shared__ int own[2]; p[n] = int(__cvta_generic_to_shared(own + 1) - __cvta_generic_to_shared(own));",
    "uint3 t = threadIdx, b(blockIdx); dim3 d = t, e(b), f = threadIdx, g(blockIdx); p[n] = int(d.x + e.x + f.x + g.x);",
    "uint3 t = blockDim; dim3 d{1, 2, 3}; t = d; d = t; t = threadIdx; d = gridDim; p[n] = int(t.x + d.x);",
    "memcpy(p, p + 4, 4 * n);",
    "memset(p, 0, 4 * n);",
    "assert(p[0] == n);",
    "p[0] = __ldcg(p) + __ldca(p + 1) + __ldcs(p + 2) + __ldlu(p + 3) + __ldg(p + 4);",
    "__stwb(p, n); __stcg(p + 1, n); __stcs(p + 2, n); __stwt(p + 3, __ldcv(p));",
    "clock_t start = clock(); p[0] = int(clock64()) - int(clock() - start); __nanosleep(100u);",
    "__pipeline_memcpy_async(p, p + 8, 16, 4); __pipeline_commit(); __pipeline_wait_prior(0);",
    "atomicAdd_block(p, 1); atomicSub_block(p, 1); atomicExch_block(p, 1); atomicCAS_block(p, 1, 2);",
    "atomicMin_block(p, 1); atomicMax_block(p, 1); atomicAnd_block(p, 1); atomicOr_block(p, 1); atomicXor_block(p, 1);",
    "atomicInc_block((unsigned *)p, 1u); atomicDec_block((unsigned *)p, 1u);",
    "float s, c; sincospif(float(n), &s, &c); p[0] = int(s + c);",
    "double s, c; sincospi(double(n), &s, &c); p[0] = int(s + c);",
    "float s, c; sincos(float(n), &s, &c); sincospi(s, &s, &c); p[0] = int(s + c);",
    "float w; double d; p[0] = int(modff(float(n), &w) + modf(w, &w) + modf(double(n), &d));",
];

/// nvcc's names that at least one target lacks, except functions for kernels. The guide lists these
/// names.
const MISSING: &str = "std::sqrt malloc __CUDACC__";

/// Returns the table's headers and conditions.
fn rows() -> (Vec<&'static str>, Vec<&'static str>) {
    NAMES.lines().filter(|line| !line.is_empty()).partition(|line| line.starts_with("#include"))
}

/// Returns a source with a function for each row, each on a separate line.
fn source(headers: &[&str]) -> String {
    let mut text: String = headers.iter().map(|header| format!("{header}\n")).collect();
    for (row, condition) in rows().1.into_iter().enumerate() {
        text += &format!(
            "extern \"C\" __global__ void row_{row}(bool *holds) {{ *holds = {condition}; }}\n"
        );
    }
    for (row, statement) in STATEMENTS.iter().enumerate() {
        // SPIR-V has no clock.
        let condition = if statement.contains("clock") { "!defined(OFFLOAD_SPIRV)" } else { "1" };
        text += &format!(
            "#if {condition}\nextern \"C\" __global__ void statement_{row}(int *p, int n) \
             {{ (void)n; {statement} }}\n#endif\n"
        );
    }
    text
}

/// The headers that rows and statements need even with the kit's header.
const NEEDED: [&str; 6] = [
    "#include <float.h>",
    "#include <cuda_fp16.h>",
    "#include <cuda_bf16.h>",
    "#include <math_constants.h>",
    "#include <cuda_pipeline.h>",
    "#include <cuda_runtime.h>",
];

/// Returns two sources: one with only the needed headers, and one with all headers of the table,
/// followed by headers of the C and C++ libraries.
fn sources() -> [String; 2] {
    let mut all = rows().0;
    all.extend([
        "#include <limits.h>",
        "#include <math.h>",
        "#include <cassert>",
        "#include <cstdio>",
        "#include <cstring>",
        "#include <algorithm>",
        "#include <cstdint>",
    ]);
    [source(&NEEDED), source(&all)]
}

#[test(CLANG.slow())]
fn each_name_is_what_it_is_on_the_cpu() {
    for source in sources() {
        for options in ["-O0 -Wall -Wextra -Werror", "-O2 -Wall -Wextra -Werror"] {
            hold_on_the_cpu("header-names-cpu", &source, "", options, &rows().1);
        }
    }
}

/// Asserts that these conditions hold on the CPU. The source's kernels `row_0`, `row_1`, … evaluate
/// them. `first` contains the arguments that precede the address of the result.
fn hold_on_the_cpu(name: &str, source: &str, first: &str, options: &str, conditions: &[&str]) {
    let call = |row| format!("  row_{row}({first}&holds);\n  if (!holds) printf(\"{row} \");\n");
    let calls: String = (0..conditions.len()).map(call).collect();
    let folder = scratch::folder(name);
    let main = format!("int main() {{\n  double x = 0;\n  (void)x;\n  bool holds;\n{calls}}}\n");
    scratch::write(folder.join("k.cu"), format!("{source}{main}"));
    for program in [PathBuf::from("g++"), llvm_bin().join("clang++")] {
        let mut compile = compiler(&program, &format!("{CPU} {options}"));
        succeed(compile.arg(folder.join("k.cu")).arg("-o").arg(folder.join("k")));
        let wrong = stdout(&succeed(&mut Command::new(folder.join("k"))));
        let row = |row: &str| conditions[row.parse::<usize>().expect("a row")];
        let wrong: Vec<&str> = wrong.split_whitespace().map(row).collect();
        assert!(wrong.is_empty(), "{} {options}: {wrong:#?}", program.display());
    }
}

/// Asserts that each of these conditions is the constant `true` in a source's LLVM IR.
fn hold_on_gpus(target: &str, text: &str, conditions: &[&str]) {
    for (row, condition) in conditions.iter().enumerate() {
        let (_, body) = text.split_once(&format!("@row_{row}(")).expect("the function is there");
        let (body, _) = body.split_once("\n}").expect("a function ends");
        assert!(body.contains("store i8 1,"), "{target}: {condition}{body}");
    }
}

/// Optimization must turn each condition into the constant `true`.
#[test(CLANG.slow())]
fn each_name_is_what_it_is_on_gpus() {
    for (number, source) in sources().into_iter().enumerate() {
        for target in ["gfx90a", "gfx1100", "sm_80", "spirv64"] {
            // clang has no special inlining threshold for SPIR-V, so calls would remain without
            // this option.
            let text = text_for(
                target,
                &source,
                "-O2 -emit-llvm -Wall -Werror -mllvm -inline-threshold=10000",
                &format!("header-names-{number}{target}"),
            );
            hold_on_gpus(target, &text, &rows().1);
        }
    }
}

/// On Windows, `long` has four bytes.
#[test(CLANG)]
fn vectors_are_aligned_to_their_size_on_windows() {
    let source =
        "static_assert(sizeof(long) == 4 && sizeof(long2) == 8 && sizeof(ulong4) == 16);\n";
    let options = format!("{} --target=x86_64-pc-windows-msvc -std=c++17", super::NVIDIA);
    succeed(&mut checked(&scratch::folder("header-windows"), source, &options));
}

#[test(CLANG)]
fn missing_names_are_in_the_guide() {
    let guide = fs::read_to_string(workspace().join("docs/guide/src/reference/missing-names.md"))
        .expect("the page");
    for name in MISSING.split_whitespace() {
        assert!(guide.contains(&format!("`{name}")), "{name} is not in the guide");
        let folder = scratch::folder("header-missing-names");
        let source = format!("__device__ void f() {{ (void){name}; }}\n");
        let output = checked(&folder, &source, super::AMD).output().expect("clang starts");
        assert!(!output.status.success(), "clang knows {name}");
    }
}

#[test(NVCC.slow())]
fn nvcc_has_the_same_names() {
    let folder = scratch::folder("header-names-nvcc");
    scratch::write(folder.join("k.cu"), source(&rows().0));
    let options = "-arch=sm_80 -std=c++17 -ptx --expt-relaxed-constexpr k.cu -o k.ptx";
    run(cuda("nvcc"), &folder, options);
}

/// Build scripts configure sources with macros such as `N`, which also apply to the kit's headers.
#[test(CLANG)]
fn macros_with_names_of_one_letter_do_not_change_the_headers() {
    let folder = scratch::folder("header-letters");
    let source = format!(
        "{}#include <cooperative_groups/reduce.h>\n#include <cooperative_groups/scan.h>\n#include <cuda_bf16.h>\n\
         #include <cuda_fp16.h>\n#include <cuda_fp8.h>\n#include <hip/hip_bfloat16.h>\n#include <hip/hip_runtime.h>\n\
         __global__ void k(int *x) {{ *x = atomicAdd(x, N) + __fadd_rz(1, 2); }}\n",
        rows().0.join("\n") + "\n"
    );
    let with_checks = format!("{CPU} -DOFFLOAD_CPU_CHECK");
    let (clang, gcc) = (llvm_bin().join("clang++"), PathBuf::from("g++"));
    for (program, options) in [
        (&clang, super::AMD),
        (&clang, super::NVIDIA),
        (&clang, super::SPIRV),
        (&clang, CPU),
        (&gcc, CPU),
        (&gcc, &with_checks),
    ] {
        let mut compile = checked_by(program, &folder, &source, options);
        succeed(compile.args(('A'..='Z').map(|letter| format!("-D{letter}=3"))));
    }
}

/// Other projects also have headers with these names. Compilers search the kit's folder first, but
/// the project's header must take precedence.
#[test(CLANG)]
fn a_header_of_a_source_wins() {
    let folder = scratch::folder("header-own-constants");
    scratch::write(folder.join("own/math_constants.h"), "constexpr float MINE = 3;\n");
    scratch::write(folder.join("own/device_functions.h"), "constexpr float OWN = 4;\n");
    let source = "#include <math_constants.h>\n#include <device_functions.h>\n\
                  __global__ void k(float *x) { *x = MINE + OWN; }\n";
    for (program, options) in [
        (PathBuf::from("g++"), CPU),
        (llvm_bin().join("clang++"), CPU),
        (llvm_bin().join("clang++"), super::AMD),
        (llvm_bin().join("clang++"), super::SPIRV),
    ] {
        let options = format!("{options} -Wall -Werror");
        let mut compile = checked_by(program, &folder, source, &options);
        succeed(compile.arg("-I").arg(folder.join("own")));
    }
}

/// A source's definitions, and conditions that hold only if these definitions take precedence over
/// the header's.
const OWN: &str = "
__half atomicAdd(__half *, __half)                   | float(atomicAdd((__half *)x, __half(1))) == 7
__half2 atomicAdd(__half2 *, __half2)                | float(atomicAdd((__half2 *)x, __half2(1, 1)).x) == 7
__nv_bfloat16 atomicAdd(__nv_bfloat16 *, __nv_bfloat16) | float(atomicAdd((__nv_bfloat16 *)x, __nv_bfloat16(1))) == 7
double atomicAdd(double *, double)                   | atomicAdd(x, 1.0) == 7
unsigned atomicInc(unsigned *, unsigned)             | atomicInc((unsigned *)x, 1u) == 7
__half __hmax_nan(__half, __half)                    | float(__hmax_nan(__half(1), __half(2))) == 7
__half operator*(__half, __half)                     | float(__half(1) * __half(2)) == 7
__half2 __hadd2(__half2, __half2)                    | float(__hadd2(__half2(1, 1), __half2(1, 1)).y) == 7
__nv_bfloat162 operator+(__nv_bfloat162, __nv_bfloat162) | float((__nv_bfloat162(1, 1) + __nv_bfloat162(1, 1)).x) == 7
float __bfloat162float(__nv_bfloat16)                | __bfloat162float(__nv_bfloat16(1)) == 7
unsigned umin(unsigned, unsigned)                    | umin(1u, 2u) == 7
double norm3d(double, double, double)                | norm3d(1, 2, 3) == 7
float rnorm4df(float, float, float, float)           | rnorm4df(1, 2, 3, 4) == 7
float normcdff(float)                                | normcdff(1) == 7
float __saturatef(float)                             | __saturatef(0.5f) == 7
float __fmul_rn(float, float)                        | __fmul_rn(1, 2) == 7
double __dadd_rn(double, double)                     | __dadd_rn(1, 2) == 7
int __float2int_rn(float)                            | __float2int_rn(1) == 7
double __hiloint2double(int, int)                    | __hiloint2double(1, 2) == 7
unsigned __funnelshift_r(unsigned, unsigned, unsigned) | __funnelshift_r(1, 2, 3) == 7
int __dp4a(int, int, int)                            | __dp4a(1, 2, 3) == 7
unsigned __vsubss4(unsigned, unsigned)               | __vsubss4(1, 2) == 7
int __popc(unsigned)                                 | __popc(1u) == 7
int __float_as_int(float)                            | __float_as_int(1) == 7
int max(int, int)                                    | max(1, 2) == 7 && max(1.0f, 2.0f) == 2
template <typename T> T min(T, T)                    | min<size_t>(1u, 2) == 7 && min(1.0f, 2.0f) == 1
template <typename T> T __ldg(const T *)             | __ldg(x) == 7
template <typename T> void __stcs(T *p, T)           | (*x = 7, __stcs(x, 1.0), *x == 7)
int __any_sync(unsigned, int)                        | __any_sync(0xffffffffu, 1) == 7
";

/// Definitions that replace no definition of the header, and further conditions that must hold.
const BESIDE: [(&str, &str); 6] = [
    // Sources that do not include <float.h> define its constants themselves, because nvcc defines
    // them only in this header.
    (
        "static const float FLT_MAX = 7;\n#ifndef FLT_MIN\n#define FLT_MIN 7\n#endif\n",
        "FLT_MAX == FLT_MIN",
    ),
    ("", "[] { using std::max; return max(6, 7) == 7 && max<size_t>(6, 7u) == 7; }()"),
    // A host function that differs from the device function of the same name.
    (
        "#if !defined(__CUDACC__)\ninline float rsqrtf(float) { return 7; }\n#endif\n",
        "rsqrtf(1) > 0",
    ),
    (
        "template <typename F> __device__ float apply(F f, float x) { return f(x); }\n",
        "apply(fabsf, -7.0f) == 7 && (apply(__expf, 0.0f), true)",
    ),
    ("typedef float two(float, float);\n", "[] { two *f = __fadd_rn; return f(6, 1) == 7; }()"),
    ("namespace own { __device__ inline int __clz(int) { return 7; } }\n", "own::__clz(1) == 7"),
];

/// Sources define functions that the toolkits or GPUs of their time lacked. These definitions must
/// take precedence.
#[test(CLANG)]
fn functions_of_a_source_win() {
    let mut source = "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n".to_owned();
    let mut conditions = Vec::new();
    for row in OWN.lines().filter(|row| !row.is_empty()) {
        let (head, condition) = row.split_once('|').expect("a row has two columns");
        let (template, head) = match head.strip_prefix("template <typename T> ") {
            Some(head) => ("template <typename T> ", head),
            None => ("", head),
        };
        let value = match head.split_once(' ').expect("a type, and a name").0 {
            "void" => "",
            pair @ ("__half2" | "__nv_bfloat162") => &format!("{pair}(7, 7)"),
            _ => "7",
        };
        source +=
            &format!("{template}static __device__ __forceinline__ {head} {{ return {value}; }}\n");
        conditions.push(condition);
    }
    for (definition, condition) in BESIDE {
        source += definition;
        conditions.push(condition);
    }
    for (row, condition) in conditions.iter().enumerate() {
        source += &format!(
            "extern \"C\" __global__ void row_{row}(double *x, bool *holds) \
             {{ (void)x; *holds = {condition}; }}\n"
        );
    }
    for target in ["gfx90a", "sm_60", "sm_80", "spirv64"] {
        let text = text_for(target, &source, "-O2 -emit-llvm", &format!("header-own-{target}"));
        hold_on_gpus(target, &text, &conditions);
    }
    hold_on_the_cpu("header-own-cpu", &source, "&x, ", "-Wall -Werror", &conditions);
}
