//! The kernels of the CPU test, compiled for GPUs. The tests check the kernels' instructions, and
//! the sizes of shared memory that the images contain.

use super::{built, disassembly, text_for};
use offload_format::image::Kernels;
use offload_tests::judges::spirv_listing;
use offload_tests::prelude::*;

const SOURCE: &str = include_str!("kernels.cu");

/// Returns the size in bytes of each kernel's shared memory, without the memory that a launch adds.
fn shared_memory(image: &Path) -> BTreeMap<String, Option<u64>> {
    let bytes = read(image);
    let kernels = Kernels::parse(&bytes).expect("the image can be read");
    kernels.map(|kernel| (kernel.name.to_owned(), kernel.shared_memory)).collect()
}

/// Returns the expected size in bytes of each kernel's shared memory. `votes` is the size for the
/// kernel `votes`, which counts threads at a barrier. `each` is the size that the system reserves
/// for every kernel.
fn expected_sizes(votes: u64, each: u64) -> BTreeMap<String, Option<u64>> {
    let own = [("tree_sum", 4096), ("transpose", 16 * 17 * 4), ("scan", 8192), ("votes", votes)];
    let none = ["reverse", "lanes", "groups", "atomics", "extremes", "stuck"].map(|name| (name, 0));
    let all = own.into_iter().chain(none);
    all.map(|(name, size)| (name.to_owned(), Some(size + each))).collect()
}

/// Splits a listing into functions. If a line begins a function, `name` returns the function's
/// name.
fn functions(listing: &str, name: impl Fn(&str) -> Option<String>) -> BTreeMap<String, String> {
    let (mut functions, mut current) = (BTreeMap::new(), String::new());
    for line in listing.lines() {
        current = name(line).unwrap_or(current);
        let text: &mut String = functions.entry(current.clone()).or_default();
        *text += &format!("{line}\n");
    }
    functions
}

#[track_caller]
fn expect(target: &str, functions: &BTreeMap<String, String>, name: &str, instructions: &str) {
    let code = &functions[name];
    for instruction in instructions.split(' ') {
        assert!(code.contains(instruction), "{target}: no {instruction} in\n{code}");
    }
}

#[test(CLANG.slow())]
fn kernels_with_barriers_have_the_expected_instructions_on_amd() {
    const TARGETS: [&str; 4] = ["gfx90a", "gfx942", "gfx1100", "gfx12-generic"];
    let scenario = built("header_amd", &TARGETS, SOURCE);
    for target in TARGETS {
        let image = scenario.output("release", &format!("k/{target}.hsaco"));
        assert_eq!(shared_memory(&image), expected_sizes(4, 0), "{target}");
        // 0000000000001900 <tree_sum>:
        let code = functions(&disassembly(&image), |line| {
            Some(line.strip_suffix(">:")?.split_once('<')?.1.to_owned())
        });
        let barrier = if target == "gfx12-generic" { "s_barrier_wait" } else { "s_barrier" };
        for name in ["tree_sum", "reverse", "transpose", "scan"] {
            expect(target, &code, name, &format!("{barrier} ds_"));
        }
        expect(target, &code, "votes", &format!("{barrier} ds_add_u32 s_bcnt1"));
        expect(target, &code, "lanes", "ds_bpermute_b32 mbcnt_lo v_cmp_");
        // gfx9 has older names for these instructions.
        let atomics = if target.starts_with("gfx9") {
            "smin smax and or xor inc dec swap cmpswap add_x2 umax_x2"
        } else {
            "min_i32 max_i32 and_b32 or_b32 xor_b32 inc_u32 dec_u32 swap_b32 cmpswap_b32 add_u64 max_u64"
        };
        for atomic in atomics.split(' ') {
            let instruction = format!("global_atomic_{atomic} ");
            assert!(code["atomics"].contains(&instruction), "{target}: no {instruction}");
        }
    }
}

#[test(COMPILERS.slow())]
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
            expect(target, &code, name, "bar.sync st.shared");
        }
        expect(target, &code, "votes", "bar.red.popc.u32 bar.red.and.pred bar.red.or.pred");
        let lanes =
            "shfl.sync.idx.b32 vote.sync.ballot.b32 vote.sync.any bar.warp.sync activemask.b32";
        expect(target, &code, "lanes", lanes);
        let atomics = "add.u32 min.s32 max.s32 and.b32 or.b32 xor.b32 exch.b32 add.u64 max.u64 add.f32 add.f64";
        let atomics = format!("atom.global.{}", atomics.replace(' ', " atom.global."));
        expect(target, &code, "atomics", &atomics);
        expect(target, &code, "atomics", "global.cas.b32 atom.inc.u32 atom.dec.u32");
    }
    // Since sm_90, the system reserves 1024 bytes of shared memory for each kernel.
    for (target, each) in [("sm_80", 0), ("sm_90", 1024)] {
        let image = scenario.output("release", &format!("k/{target}.cubin"));
        assert_eq!(shared_memory(&image), expected_sizes(0, each), "{target}");
        // `cuobjdump` must report the same sizes.
        let usage = stdout(&succeed(cuda("cuobjdump").arg("-res-usage").arg(&image)));
        assert!(usage.contains(&format!("SHARED:{}", 4096 + each)), "{usage}");
    }
}

#[test(needs(&[Tool::Llvm22, Tool::Gcc, Tool::SpirvTools]).slow())]
fn kernels_with_barriers_have_the_expected_instructions_in_spirv() {
    let scenario = built("header_spirv", &["spirv64"], SOURCE);
    let image = scenario.output("release", "k/spirv64.spv");
    let listing = spirv_listing(&image);
    // %tree_sum = OpFunction %void None %12
    let code = functions(&listing, |line| {
        Some(line.strip_prefix('%')?.split_once(" = OpFunction ")?.0.to_owned())
    });
    for name in ["tree_sum", "reverse", "transpose", "scan"] {
        expect("spirv64", &code, name, "OpControlBarrier");
    }
    expect(
        "spirv64",
        &code,
        "votes",
        "OpControlBarrier OpGroupNonUniformBallot OpAtomicIAdd OpBitCount",
    );
    let lanes = "OpGroupNonUniformShuffle OpGroupNonUniformBallot OpMemoryBarrier";
    expect("spirv64", &code, "lanes", lanes);
    let atomics = "OpAtomicIAdd OpAtomicSMin OpAtomicSMax OpAtomicUMax OpAtomicAnd OpAtomicOr OpAtomicXor OpAtomicExchange \
         OpAtomicCompareExchange";
    expect("spirv64", &code, "atomics", atomics);
    // Our reader must find the same kernels, with the same numbers of parameters.
    let bytes = read(&image);
    let mut kernels = Kernels::parse(&bytes).expect("the image can be read");
    for entry in listing.lines().filter_map(|line| line.strip_prefix("OpEntryPoint Kernel ")) {
        let kernel = kernels.next().expect("each entry point is a kernel");
        let id = entry.split(' ').next().unwrap_or_default();
        assert_eq!(entry.split('"').nth(1), Some(kernel.name), "{listing}");
        let parameters = code[kernel.name].matches(" = OpFunctionParameter ").count();
        assert_eq!(kernel.arguments.count(), parameters, "{}", kernel.name);
        // No driver may fuse products and sums, and a warp must have the promised size.
        for mode in ["ContractionOff", "SubgroupSize 32"] {
            let line = format!("OpExecutionMode {id} {mode}\n");
            assert!(listing.contains(&line), "no {line} in\n{listing}");
        }
    }
    assert_eq!(kernels.count(), 0, "each kernel is an entry point:\n{listing}");
}

/// In the machine code, `warpSize` must be a constant.
#[test(CLANG)]
fn warps_are_as_wide_as_the_hardware_says() {
    const SOURCE: &str = "extern \"C\" __global__ void k(int *x) { *x = warpSize * 1000; }\n";
    for (target, options, expected) in [
        ("gfx90a", "", "0xfa00"),
        ("gfx1100", "", "0x7d00"),
        ("gfx1100", "-mwavefrontsize64", "0xfa00"),
        ("sm_80", "", "32000"),
    ] {
        let text = text_for(target, SOURCE, &format!("-O2 {options}"), "header_warps");
        assert!(text.contains(expected), "{target} {options}: no {expected} in\n{text}");
    }
}

/// Tests that `__dp4a` becomes one instruction on each GPU that has an instruction for dot products
/// of bytes. gfx900, the first gfx9 processor, has no such instruction.
#[test(CLANG)]
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
        let text = text_for(target, SOURCE, "-O2", "header_products");
        for part in [signed, unsigned] {
            assert!(text.contains(part), "{target}: no {part} in\n{text}");
        }
        let others = ["v_mul", "v_mad", "v_perm", "v_bfe", "bfe.", "prmt."];
        let has_others = others.iter().any(|it| text.contains(it));
        assert!(target == "gfx900" || !has_others, "{target}:\n{text}");
    }
}
