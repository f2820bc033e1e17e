//! The kernels of the CPU test, compiled for GPUs: their instructions, and the sizes of shared
//! memory that images record.

use super::{built, header_folder};
use offload_format::image::Kernels;
use offload_tests::registry::{CLANG, COMPILERS};
use offload_tests::scratch;
use offload_tests::tools::{cuda, llvm, llvm_bin, stdout, succeed};
use std::collections::BTreeMap;
use std::path::Path;

const SOURCE: &str = include_str!("kernels.cu");

offload_tests::tests! {
    CLANG => [
        kernels_with_barriers_have_the_expected_instructions_on_amd,
        warps_are_as_wide_as_the_hardware_says,
        products_of_bytes_are_one_instruction,
    ],
    COMPILERS => [kernels_with_barriers_have_the_expected_instructions_on_nvidia],
}

/// Returns the bytes of shared memory in each kernel, without the bytes that the launch adds.
fn shared_memory(image: &Path) -> BTreeMap<String, Option<u64>> {
    let bytes = std::fs::read(image).expect("the image is there");
    let kernels =
        Kernels::parse(&bytes).unwrap_or_else(|error| panic!("{}: {error}", image.display()));
    kernels.map(|kernel| (kernel.name.to_owned(), kernel.shared_memory)).collect()
}

/// Returns the expected number of bytes of shared memory in each kernel. `votes` is the number for
/// the kernel `votes`, which counts at a barrier; `each` is the number that the system reserves for
/// every kernel.
fn expected_sizes(votes: u64, each: u64) -> BTreeMap<String, Option<u64>> {
    let sizes = [
        ("tree_sum", 4096),
        ("reverse", 0),
        ("transpose", 16 * 17 * 4),
        ("scan", 8192),
        ("votes", votes),
        ("lanes", 0),
        ("atomics", 0),
        ("stuck", 0),
    ];
    sizes.map(|(name, size)| (name.to_owned(), Some(size + each))).into()
}

/// Returns the instructions of each function from a listing. Names start at the left, and
/// instructions follow spaces.
fn functions(listing: &str, name: impl Fn(&str) -> Option<String>) -> BTreeMap<String, String> {
    let mut functions = BTreeMap::new();
    let mut current = String::new();
    for line in listing.lines() {
        if let Some(name) = name(line) {
            current = name;
        }
        let text: &mut String = functions.entry(current.clone()).or_default();
        text.push_str(line);
        text.push('\n');
    }
    functions
}

#[track_caller]
fn expect(target: &str, functions: &BTreeMap<String, String>, name: &str, instructions: &[&str]) {
    let code = functions
        .get(name)
        .unwrap_or_else(|| panic!("{target}: no {name} in {:?}", functions.keys()));
    for instruction in instructions {
        assert!(code.contains(instruction), "{target}: no {instruction} in\n{code}");
    }
}

fn kernels_with_barriers_have_the_expected_instructions_on_amd() {
    const TARGETS: [&str; 4] = ["gfx90a", "gfx942", "gfx1100", "gfx12-generic"];
    let scenario = built("header_amd", &TARGETS, SOURCE);
    for target in TARGETS {
        let image = scenario.output("release", &format!("k/{target}.hsaco"));
        assert_eq!(shared_memory(&image), expected_sizes(4, 0), "{target}");
        let undefined =
            stdout(&succeed(llvm("llvm-nm").args(["--dynamic", "--undefined-only"]).arg(&image)));
        assert_eq!(undefined.trim(), "", "{target}");
        let listing =
            stdout(&succeed(llvm("llvm-objdump").args(["-d", "--no-show-raw-insn"]).arg(&image)));
        // 0000000000001900 <tree_sum>:
        let code = functions(&listing, |line| {
            Some(line.strip_suffix(">:")?.split_once('<')?.1.to_owned())
        });
        let barrier = if target == "gfx12-generic" { "s_barrier_wait" } else { "s_barrier" };
        for name in ["tree_sum", "reverse", "transpose", "scan"] {
            expect(target, &code, name, &[barrier, "ds_"]);
        }
        expect(target, &code, "votes", &[barrier, "ds_add_u32", "s_bcnt1"]);
        expect(target, &code, "lanes", &["ds_bpermute_b32", "mbcnt_lo", "v_cmp_"]);
        // gfx9 has older names for these instructions.
        let old = target.starts_with("gfx9");
        let renamed = |before: &'static str, now: &'static str| if old { before } else { now };
        let atomics = [
            renamed("global_atomic_smin ", "global_atomic_min_i32 "),
            renamed("global_atomic_smax ", "global_atomic_max_i32 "),
            renamed("global_atomic_and ", "global_atomic_and_b32 "),
            renamed("global_atomic_or ", "global_atomic_or_b32 "),
            renamed("global_atomic_xor ", "global_atomic_xor_b32 "),
            renamed("global_atomic_inc ", "global_atomic_inc_u32 "),
            renamed("global_atomic_dec ", "global_atomic_dec_u32 "),
            renamed("global_atomic_swap ", "global_atomic_swap_b32 "),
            renamed("global_atomic_cmpswap ", "global_atomic_cmpswap_b32 "),
            renamed("global_atomic_add_x2 ", "global_atomic_add_u64 "),
            renamed("global_atomic_umax_x2 ", "global_atomic_max_u64 "),
        ];
        expect(target, &code, "atomics", &atomics);
    }
}

fn kernels_with_barriers_have_the_expected_instructions_on_nvidia() {
    let scenario = built("header_nvidia", &["sm_80", "sm_90", "compute_80", "compute_90"], SOURCE);
    for target in ["compute_80", "compute_90"] {
        let text = scenario.output_text("release", &format!("k/{target}.ptx"));
        // .visible .entry tree_sum(
        let code = functions(&text, |line| {
            Some(line.strip_prefix(".visible .entry ")?.split('(').next()?.to_owned())
        });
        assert!(!text.contains(".extern .func"), "{text}");
        for name in ["tree_sum", "reverse", "transpose", "scan"] {
            expect(target, &code, name, &["bar.sync", "st.shared"]);
        }
        expect(
            target,
            &code,
            "votes",
            &["bar.red.popc.u32", "bar.red.and.pred", "bar.red.or.pred"],
        );
        let lanes = [
            "shfl.sync.idx.b32",
            "vote.sync.ballot.b32",
            "vote.sync.any",
            "bar.warp.sync",
            "activemask.b32",
        ];
        expect(target, &code, "lanes", &lanes);
        let atomics = [
            "atom.global.add.u32",
            "atom.global.min.s32",
            "atom.global.max.s32",
            "atom.global.and.b32",
            "atom.global.or.b32",
            "atom.global.xor.b32",
            "atom.global.inc.u32",
            "atom.global.dec.u32",
            "atom.global.exch.b32",
            "global.cas.b32",
            "atom.global.add.u64",
            "atom.global.max.u64",
            "atom.global.add.f32",
            "atom.global.add.f64",
        ];
        expect(target, &code, "atomics", &atomics);
    }
    // From sm_90 on, the system reserves 1024 bytes of shared memory for each kernel.
    for (target, each) in [("sm_80", 0), ("sm_90", 1024)] {
        let image = scenario.output("release", &format!("k/{target}.cubin"));
        assert_eq!(shared_memory(&image), expected_sizes(0, each), "{target}");
        // NVIDIA's own reader reports the same sizes.
        let usage = stdout(&succeed(cuda("cuobjdump").arg("-res-usage").arg(&image)));
        assert!(usage.contains(&format!("SHARED:{}", 4096 + each)), "{usage}");
    }
}

/// `warpSize` is a constant in the machine code.
fn warps_are_as_wide_as_the_hardware_says() {
    const SOURCE: &str = "extern \"C\" __global__ void k(int *x) { *x = warpSize * 1000; }\n";
    for (target, options, expected) in [
        ("gfx90a", &[] as &[&str], "0xfa00"),
        ("gfx1100", &[], "0x7d00"),
        ("gfx1100", &["-mwavefrontsize64"], "0xfa00"),
        ("sm_80", &[], "32000"),
    ] {
        let text = assembly("header_warps", SOURCE, target, options);
        assert!(text.contains(expected), "{target} {options:?}: no {expected} in\n{text}");
    }
}

/// Tests that `__dp4a` becomes one instruction on each GPU that has an instruction for products of
/// bytes. The first gfx9 processor does not have it.
fn products_of_bytes_are_one_instruction() {
    const SOURCE: &str = "extern \"C\" __global__ void k(int *x, unsigned *y) {\n  x += threadIdx.x, y += threadIdx.x;\n  \
                          x[0] = __dp4a(x[1], x[2], x[3]);\n  y[0] = __dp4a(y[1], y[2], y[3]);\n}\n";
    for (target, signed, unsigned) in [
        ("gfx900", "v_mad_", "v_mad_"),
        ("gfx90a", "v_dot4c_i32_i8", "v_dot4_u32_u8"),
        ("gfx1030", "v_dot4c_i32_i8", "v_dot4_u32_u8"),
        ("gfx1100", "v_dot4_i32_iu8", "v_dot4_u32_u8"),
        ("gfx12-generic", "v_dot4_i32_iu8", "v_dot4_u32_u8"),
        ("sm_80", "dp4a.s32.s32", "dp4a.u32.u32"),
    ] {
        let text = assembly("header_products", SOURCE, target, &[]);
        assert!(text.contains(signed), "{target}: no {signed} in\n{text}");
        assert!(text.contains(unsigned), "{target}: no {unsigned} in\n{text}");
        let others = ["v_mul", "v_mad", "v_perm", "v_bfe", "bfe.", "prmt."];
        assert!(
            target == "gfx900" || !others.iter().any(|it| text.contains(it)),
            "{target}:\n{text}"
        );
    }
}

/// Returns a kernel in the target's assembly language.
fn assembly(name: &str, source: &str, target: &str, options: &[&str]) -> String {
    let folder = scratch::folder(name);
    scratch::write(folder.join("k.cu"), source);
    let mut clang = std::process::Command::new(llvm_bin().join("clang"));
    if target.starts_with("gfx") {
        clang.args(["-x", "hip", "--no-gpu-bundle-output"]);
    } else {
        clang.args(["-x", "cuda", "-Xclang", "-target-feature", "-Xclang", "+ptx70"]);
    }
    clang.args([
        &format!("--offload-arch={target}"),
        "--cuda-device-only",
        "-nogpuinc",
        "-nogpulib",
    ]);
    clang.args(["-std=c++17", "-fms-extensions", "-Wno-unknown-cuda-version", "-O2", "-S", "-I"]);
    clang.arg(header_folder()).args(["-include", "offload/kernel.h"]).args(options);
    let out = folder.join("k.s");
    succeed(clang.arg(folder.join("k.cu")).arg("-o").arg(&out));
    std::fs::read_to_string(out).expect("text")
}
