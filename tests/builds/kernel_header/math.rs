//! The mathematical functions. Each function must compile for every target without external
//! symbols. The errors of our own functions must be within the bounds in offload/math.h.

use super::{built, compiler, disassembly, text_by, text_for};
use offload_tests::judges::spirv_listing;
use offload_tests::prelude::*;
use offload_tests::tools::clangs;

/// Functions with one argument that we implement for GPUs.
const OURS: &str = "exp exp2 exp10 expm1 log log2 log10 log1p cbrt rsqrt sin cos tan sinpi cospi asin acos atan sinh cosh \
                    tanh asinh acosh atanh erf erfc";
const INSTRUCTIONS: &str = "sqrt fabs floor ceil trunc rint nearbyint round";
const OF_TWO: &str = "pow hypot atan2 fmod fmin fmax copysign fdim";
/// Functions for which the C++ library has no overload for float.
const OF_CUDA: [&str; 4] = ["exp10", "rsqrt", "sinpi", "cospi"];

/// Returns a kernel for each function, so that the image contains all functions.
fn kernels() -> String {
    let mut text = String::new();
    let overloaded = |name: &'static str| {
        if OF_CUDA.contains(&name) { format!("{name}f") } else { name.to_owned() }
    };
    for name in OURS.split(' ').chain(INSTRUCTIONS.split(' ')) {
        let overload = overloaded(name);
        text += &format!(
            "extern \"C\" __global__ void k_{name}(float *x, double *y) {{ x[0] = {name}f(x[0]); x[1] = {overload}(x[1]); \
             y[0] = {name}(y[0]); }}\n"
        );
    }
    for name in OF_TWO.split(' ') {
        text += &format!(
            "extern \"C\" __global__ void k_{name}(float *x, double *y) {{ x[0] = {name}f(x[0], x[2]); \
             x[1] = {name}(x[1], x[3]); y[0] = {name}(y[0], y[1]); }}\n"
        );
    }
    text + "extern \"C\" __global__ void rest(float *x, double *y, int *i, long long *l) {
  sincosf(x[0], x + 1, x + 2);
  sincos(y[0], y + 1, y + 2);
  x[3] = fmaf(x[4], x[5], x[6]) + ldexpf(x[7], i[0]) + frexpf(x[8], i + 1) + abs(x[9]) + min(x[0], x[1]) + max(x[2], x[4]);
  y[3] = fma(y[4], y[5], y[6]) + ldexp(y[7], i[0]) + frexp(y[8], i + 2) + abs(y[9]) + min(y[0], y[1]) + max(y[2], y[4]);
  i[3] = isnan(x[0]) + isinf(x[1]) + isfinite(x[2]) + signbit(x[3]) + isnan(y[0]) + isinf(y[1]) + isfinite(y[2]) + signbit(y[3]);
  x[10] = __expf(x[0]) + __exp10f(x[1]) + __logf(x[2]) + __log2f(x[3]) + __log10f(x[4]) + __powf(x[5], x[6]) + __sinf(x[7]) +
          __cosf(x[8]) + __tanf(x[9]) + __fdividef(x[0], x[1]) + __frcp_rn(x[2]) + __fsqrt_rn(x[3]) + __saturatef(x[4]);
  __sincosf(x[11], x + 12, x + 13);
  i[4] = __popc(i[5]) + __popcll(l[0]) + __clz(i[6]) + __clzll(l[1]) + __ffs(i[7]) + __ffsll(l[2]) + __brev(i[8]) +
         __umulhi(i[9], i[10]) + __mulhi(i[11], i[12]) + abs(i[13]) + min(i[14], i[15]) + __ldg(i + 16) + __float_as_int(x[0]);
  y[10] = pow(x[0], 2.0) + pow(y[1], 3) + pow(x[2], 2) + sqrt(2) + floor(i[1]) + fmax(x[3], 0.0) + atan2(1, x[4]) + exp(1) +
          fmod(y[5], 2.0f) + min(x[5], y[6]) + max(y[7], x[6]) + min(i[17], 4u) + max(8u, i[18]);
  l[3] = __brevll(l[4]) + __umul64hi(l[5], l[6]) + __mul64hi(l[7], l[8]) + __double_as_longlong(y[0]) + abs(l[9]);
}
"
}

#[test(needs(&[Tool::Llvm22, Tool::Gcc, Tool::SpirvTools]).slow())]
fn every_function_of_math_h_compiles_for_every_target() {
    let targets = ["gfx90a", "gfx1100", "compute_80", "spirv64", "cpu"];
    let scenario = built("header_math", &targets, &kernels());
    for target in ["gfx90a", "gfx1100"] {
        let listing = disassembly(&scenario.output("release", &format!("k/{target}.hsaco")));
        for instruction in
            ["v_exp_f32", "v_log_f32", "v_sin_f32", "v_sqrt_f32", "v_fma_f64", "v_bfrev_b32"]
        {
            assert!(listing.contains(instruction), "{target}: no {instruction}");
        }
    }
    let text = scenario.output_text("release", "k/compute_80.ptx");
    assert!(!text.contains(".extern .func"), "a kernel calls what is not there");
    let instructions =
        "ex2.approx.f32 lg2.approx.f32 sin.approx.f32 sqrt.rn.f64 fma.rn.f64 brev.b32";
    for instruction in instructions.split(' ') {
        assert!(text.contains(instruction), "no {instruction}");
    }
    let listing = spirv_listing(&scenario.output("release", "k/spirv64.spv"));
    assert!(!listing.contains(" Import"), "a kernel calls what is not there");
    for instruction in ["sqrt", "fma", "exp2", "log2", "sin", "cos", "u_mul_hi"] {
        assert!(listing.contains(&format!(" {instruction} %")), "no {instruction}");
    }
}

/// Before gfx9, AMD's instructions have the right result only for a few turns.
#[test(CLANG)]
fn fast_sines_of_large_angles_are_reduced_where_instructions_need_it() {
    let source = "__global__ void k(float *x) { x[0] = __sinf(x[0]); x[1] = __cosf(x[1]); }\n";
    for (target, reductions) in [("gfx803", 2), ("gfx90a", 0)] {
        let text = text_for(target, source, "-O2", &format!("header-turns-{target}"));
        assert_eq!(text.matches("v_fract_f32").count(), reductions, "{target}\n{text}");
        assert!(text.contains("v_sin_f32") && text.contains("v_cos_f32"), "{target}\n{text}");
    }
}

/// The program prints `<function> <type> <worst error>` for each function. The errors are in units
/// in the last place. The bounds are those in offload/math.h.
#[test(GCC.slow())]
fn the_functions_for_gpus_are_as_exact_as_documented() {
    let folder = scratch::folder("header_accuracy");
    let program = folder.join("accuracy");
    let mut compile = compiler("g++", "-std=gnu++17 -O2 -ffp-contract=off -Wall -Wextra -Werror");
    let source = scratch::workspace().join("tests/builds/kernel_header/accuracy.cc");
    succeed(compile.arg(source).arg("-o").arg(&program));
    let printed = stdout(&succeed(&mut Command::new(program)));
    let bound = |name: &str| match name {
        "fmod" | "remainder" | "ldexp" | "frexp" | "logb" | "ilogb" | "nextafter" | "modf" => 0.0,
        "expm1" | "sinh" | "cosh" | "tanh" | "asinh" | "acosh" | "atanh" | "tan" | "atan2"
        | "erf" => 2.5,
        "erfc" => 4.0,
        "normcdf" => 5.5,
        _ => 1.0,
    };
    for line in printed.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [name, _, error] = words[..] else { panic!("{line}") };
        assert!(error.parse::<f64>().unwrap_or(f64::INFINITY) <= bound(name), "{line}");
    }
    let functions = printed.lines().count();
    assert_eq!(functions, 2 * (OURS.split(' ').count() + 12), "{printed}");
}

/// If a GPU fused a product and a sum, its results would differ from those of the host, for which
/// the test above measures the errors. In LLVM IR, instructions that may be fused have the flag
/// `contract`.
#[test(CLANG)]
fn sums_and_products_in_our_functions_are_never_fused() {
    let text = text_for("sm_80", &kernels(), "-emit-llvm", "header_contraction");
    let (mut function, mut ours, mut theirs) = ("", 0, 0);
    for line in text.lines() {
        if line.starts_with("define ") {
            function = line;
        }
        let fusible =
            ["fadd contract", "fsub contract", "fmul contract"].iter().any(|it| line.contains(it));
        // Exclude `nan`, which only subtracts infinity from infinity.
        if function.contains("12offload_math") && !function.contains("12offload_mathL3nan") {
            assert!(!fusible, "{line}\nin {function}");
            ours += usize::from(line.contains(" fmul "));
        } else {
            theirs += usize::from(fusible);
        }
    }
    assert!(ours > 100, "the listing does not look as it did: {ours} products of ours");
    assert!(
        theirs > 0,
        "the listing does not look as it did: nothing may be fused in other functions"
    );
}

/// Each row has the type of a, b and c, an expression that calls functions with a named rounding,
/// and the minimum number of times that the expression rounds floats to halves. The last row shows
/// that each compiler fuses what it may.
const ROUNDED: [(&str, &str, usize); 22] = [
    ("float", "__fmul_rn(a, b) + c", 0),
    ("float", "__fadd_rn(a * b, c)", 0),
    ("float", "__fsub_rn(c, a * b)", 0),
    ("float", "__fadd_rn(__fmul_rn(a, b), c)", 0),
    ("double", "__dmul_rn(a, b) - c", 0),
    ("double", "__dadd_rn(a, b * c)", 0),
    ("double", "__dsub_rn(a * b, c)", 0),
    ("double", "__dadd_rn(__dmul_rn(a, b), c)", 0),
    ("double", "__double2float_rn(double(float(a)) * double(float(b))) + float(c)", 0),
    ("__half", "__hadd_rn(__hmul_rn(a, b), c)", 2),
    ("__half", "__hmul_rn(a, b) + c", 1),
    ("__half", "__hsub_rn(c, a * b)", 1),
    ("__half2", "__hadd2_rn(__hmul2_rn(a, b), c)", 0),
    ("__half2", "__hmul2_rn(a, b) - c", 0),
    ("__nv_bfloat16", "__hadd_rn(__hmul_rn(a, b), c)", 0),
    ("__nv_bfloat162", "__hsub2_rn(__hmul2_rn(a, b), c)", 0),
    ("double", "__half2float(__float2half_rn(__double2float_rn(a)))", 1),
    ("double", "__half2float(__float2half_rn(float(a)))", 1),
    ("double", "__half2float(__double2float_rn(a))", 1),
    ("double", "__half2float(__double2half(a)) * __bfloat162float(__int2bfloat16_rn(int(b)))", 0),
    ("float", "__frcp_rn(__fsqrt_rn(a))", 0),
    ("float", "a * b + c", 0),
];

/// Returns the table's expressions in which, according to a listing, a compiler has fused
/// operations.
fn fused(listing: &str) -> Vec<&'static str> {
    let name = |line: &str| {
        let name = line.split([':', '(']).next()?.rsplit(' ').next()?;
        name.strip_prefix("row_")?.parse::<usize>().ok()
    };
    let (mut code, mut row) = (vec![String::new(); ROUNDED.len()], None);
    for line in listing.lines() {
        row = name(line).or(row);
        if let Some(row) = row {
            code[row] += line;
        }
    }
    let is_fused = |(row, (_, value, rounds)): &(usize, (&str, &str, usize))| {
        let has = |instructions: &[&str]| instructions.iter().any(|it| code[*row].contains(it));
        if value.contains("sqrt") {
            return has(&["rsqrt", "v_rsq"]);
        }
        if value.contains("double2half") {
            // These instructions would round to float first.
            return has(&["cvt.rn.f32.f64", "v_cvt_f32_f64", "cvt.rn.f32.s32", "v_cvt_f32_i32"]);
        }
        let rounded = ["v_cvt_f16_f32", "cvt.rn.f16.f32"].map(|it| code[*row].matches(it).count());
        let is_on_the_cpu = !has(&["s_endpgm", "ret;"]);
        has(&["v_fma", "dual_fma", "v_pk_fma", "v_mac", "v_mad_f", "vfm", "vfnm", "fma.rn"])
            || (!is_on_the_cpu && rounded.into_iter().sum::<usize>() < *rounds)
    };
    ROUNDED.into_iter().enumerate().filter(is_fused).map(|(_, (_, value, _))| value).collect()
}

#[test(needs(&[Tool::Oldest, Tool::Clangs, Tool::Llvm22, Tool::Gcc]).slow())]
fn named_roundings_are_never_fused() {
    let mut source = "#include <cuda_bf16.h>\n#include <cuda_fp16.h>\n".to_owned();
    for (row, (ty, value, _)) in ROUNDED.into_iter().enumerate() {
        source += &format!(
            "extern \"C\" __global__ void row_{row}({ty} *to, {ty} a, {ty} b, {ty} c) {{ *to = {value}; }}\n"
        );
    }
    const OPTIONS: [&str; 3] = ["-O3", "-O2 -ffp-contract=fast", "-O2 -ffast-math"];
    for (version, clang) in clangs() {
        for target in ["gfx90a", "sm_80", "gfx1100"] {
            for option in OPTIONS {
                // The versions of clang differ most in what they fuse by default and with
                // `-ffast-math`. Older versions are therefore tested only in these two cases.
                if version < 22 && (target == "gfx1100" || option == OPTIONS[1]) {
                    continue;
                }
                let name = format!("header-fused-{target}");
                let text = text_by(&clang, target, &source, option, &name);
                assert_eq!(
                    fused(&text),
                    ["a * b + c"],
                    "clang {version} {target} {option}\n{text}"
                );
            }
        }
    }
    for program in [PathBuf::from("g++"), llvm_bin().join("clang++")] {
        if !cfg!(target_arch = "x86_64") {
            continue;
        }
        let folder = scratch::folder("header-fused-cpu");
        scratch::write(folder.join("k.cu"), &source);
        for option in &OPTIONS[1..] {
            let options = format!("{} -mfma -S {option}", super::CPU);
            let mut compile = compiler(&program, &options);
            succeed(compile.arg(folder.join("k.cu")).arg("-o").arg(folder.join("k.s")));
            let text = std::fs::read_to_string(folder.join("k.s")).expect("a listing");
            assert_eq!(fused(&text), ["a * b + c"], "{} {option}\n{text}", program.display());
        }
    }
}
