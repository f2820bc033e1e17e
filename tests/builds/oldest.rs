//! The oldest supported compilers, clang 15 and g++ 11, must build the same sources as the newest.
//! `ptxas` checks the output of the oldest compilers. Other versions of clang that users have must
//! build README's package. These versions also confirm the table of each target's first clang.

use super::kernel_signatures::assert_types_are_compared;
use offload_format::target::{NvidiaArch, NvidiaSuffix, OLDEST_CLANG, OffloadArch, amdgpu};
use offload_tests::prelude::*;
use offload_tests::tools::{clangs, oldest};

const CLANGS: &[Tool] = &[Tool::Oldest, Tool::Clangs, Tool::Llvm22, Tool::Gcc];

/// README promises that its package needs only the oldest clang.
#[test(needs(CLANGS).slow())]
fn the_readme_by_each_clang() {
    let readme = fs::read_to_string(scratch::workspace().join("README.md")).expect("the README");
    let file = |path: &str| {
        let (_, rest) = readme.split_once(&format!("\n`{path}`:\n```")).expect(path);
        let (_, rest) = rest.split_once('\n').expect("the language");
        rest.split_once("```").expect("the end of a block").0.to_owned()
    };
    let scenario = Scenario::new("oldest_readme");
    scenario
        .write("build.rs", file("build.rs"))
        .write("kernels/saxpy.cu", file("kernels/saxpy.cu"));
    for (version, clang) in clangs() {
        let printed = scenario.build().env("OFFLOAD_CLANG", &clang).passes();
        printed.lacks("warning: oldest_readme");
        let targets = scenario.targets("saxpy");
        assert!(targets.len() > 3 && targets.contains(&"cpu".to_owned()), "{version}: {targets:?}");
    }
}

/// Processors that a version of clang no longer supports.
const REMOVED: [(&str, u32); 2] = [("gfx940", 22), ("gfx941", 22)];

/// Each version of clang must list exactly the targets whose first clang is this version or
/// earlier.
#[test(needs(CLANGS))]
fn the_table_of_first_clangs() {
    for (version, clang) in clangs() {
        let amd = listed(&clang, "amdgcn-amd-amdhsa", "gfx");
        let nvidia = listed(&clang, "nvptx64-nvidia-cuda", "sm_");
        let in_tables = amdgpu::PROCESSORS.iter().map(|row| row.name.to_owned());
        for name in in_tables.chain(architectures()) {
            let first = OffloadArch::parse(&name).expect("a target").first_clang();
            let is_known = first.is_some_and(|first| first <= version);
            let is_removed = REMOVED.iter().any(|(removed, by)| *removed == name && *by <= version);
            assert_eq!(
                amd.contains(&name) || nvidia.contains(&name),
                is_known && !is_removed,
                "{name}, clang {version}: the table has {first:?}"
            );
        }
        for name in &amd {
            assert!(amdgpu::find(name).is_some(), "clang {version} lists {name}");
        }
        for name in &nvidia {
            let arch = NvidiaArch::parse(name).expect("an architecture");
            let has_family = arch.suffix == Some(NvidiaSuffix::FamilySpecific);
            let is_known = OffloadArch::Nvidia(arch).first_clang().is_some();
            assert!(arch.number() < 50 || has_family || is_known, "clang {version} lists {name}");
        }
    }
}

/// Returns the processors that clang lists.
fn listed(clang: &Path, triple: &str, start: &str) -> Vec<String> {
    let args = [&format!("--target={triple}"), "-nogpulib", "--print-supported-cpus"];
    let output = Command::new(clang).args(args).output().expect("clang starts");
    let text = stderr(&output);
    let names = text.split_whitespace().filter(|word| word.starts_with(start));
    names.map(str::to_owned).collect()
}

#[test(needs(CLANGS).slow())]
fn clangs_that_are_too_old() {
    let scenario = Scenario::add("oldest_refusals", r#".archs(["gfx90a"])"#);
    let [(_, clang15), (_, clang16), ..] = clangs();
    for (clang, target, needed, version) in [
        (&clang16, "gfx11-generic", 19, "16.0.6"),
        (&clang16, "gfx942:xnack-", 17, "16.0.6"),
        (&clang16, "compute_90a", 18, "16.0.6"),
        (&clang15, "compute_90", 16, "15.0.6"),
        (&clang15, "gfx1251", 22, "15.0.6"),
    ] {
        let build = scenario.build().env("OFFLOAD_CLANG", clang).env("OFFLOAD_ARCH", target);
        let (clang, printed) = (clang.display(), build.fails());
        printed.each_once([
            format!(
                "no image for {target}: this target needs clang {needed} or newer, but {clang} is "
            ),
            format!("install clang and lld, {needed} or newer"),
            "or name one in OFFLOAD_CLANG".to_owned(),
        ]);
        printed.has(&format!("clang version {version}")).lacks("the command was");
    }
    // Even the newest tested clang does not support this target, so the message must not suggest a
    // newer one.
    let build = || scenario.build().env("OFFLOAD_ARCH", "gfx1300");
    build().env("OFFLOAD_CLANG", &clang16).fails().has("rejects this target").lacks("or newer");
    // A clang that is older than all supported versions is refused before anything is compiled.
    let old = scenario.script("old/clang", "echo 'Debian clang version 14.0.6'");
    let printed = scenario.build().env("OFFLOAD_CLANG", &old).fails();
    printed.once(
        "which cannot be used: it is Debian clang version 14.0.6, older than clang 15; install clang and lld, 15 or newer",
    );
    // If the first clang in `PATH` is too old for a target, the build must use a later one.
    let folder = clang16.parent().expect("a folder").to_owned();
    let build = |target| {
        let build = scenario.build().path([folder.clone()]);
        build.without(&["OFFLOAD_CLANG"]).env("OFFLOAD_ARCH", target)
    };
    build("gfx90a").passes();
    build("gfx11-generic").passes();
}

/// A kernel with every header of the kit, and with features that a compiler could lack.
const ALL_HEADERS: &str = "#include <cuda_bf16.h>\n#include <cuda_fp16.h>\n#include <cuda_fp8.h>\n#include <cuda_runtime.h>\n#include <math_constants.h>\n\
    extern \"C\" __global__ void k(__half *x, __nv_bfloat16 *y, __nv_fp8_e4m3 *z, float4 *v, __half2 *w, int *n) {\n  \
      __shared__ float tile[64];\n  int i = threadIdx.x;\n  \
      x[i] = hexp(x[i]) * __half(2.0f) + __hmax_nan(x[i], x[i + 1]);\n  \
      y[i] = __hfma(y[i], __nv_bfloat16(v[i].x), y[i]) - y[i];\n  z[i] = __nv_fp8_e4m3(float(x[i]));\n  \
      w[i] = __hmul2(w[i], __float22half2_rn(make_float2(v[i].y, v[i].z)));\n  atomicAdd(x, x[i]);\n  \
      tile[i] = sinf(v[i].x) + expf(v[i].y) + __shfl_xor_sync(0xffffffff, v[i].z, 1);\n  __syncthreads();\n  \
      v[i].w = tile[63 - i] + powf(v[i].x, 0.5f);\n  atomicAdd(n, __popc(n[i]));\n  atomicMax(n + 1, i);\n  \
      uint32_t most = std::max(uint(n[2]), uint(INT_MAX));\n  \
      v[i].x = fminf(CUDART_PI_F, INFINITY) + __fmul_rn(v[i].x, CUDART_MAX_NORMAL_F) + __fadd_rn(v[i].y, rhypotf(v[i].z, 2));\n  \
      n[3] = __float2int_rd(v[i].z) + int(most) + int(remainder(v[i].x, M_PI)) + ilogbf(v[i].y) + int(clock64());\n  \
      n[4] = int(__byte_perm(n[5], n[6], 0x1234)) + atomicAdd_block(n, 1) + __ldcg(n + 7);\n  __nanosleep(20u);\n}\n";

#[test(needs(&[Tool::Oldest, Tool::Gcc, Tool::Cuda]).slow())]
fn all_headers_for_every_kind_of_target() {
    let targets = ["gfx90a", "gfx1030", "sm_80", "compute_60", "cpu"];
    let calls = format!(".archs({targets:?})");
    let scenario = Scenario::of("oldest_headers", "k.cu", &calls, ALL_HEADERS);
    let clang = oldest("usr/lib/llvm-15/bin/clang");
    let build = |cxx: &str| scenario.build().env("OFFLOAD_CLANG", &clang).env("CXX", oldest(cxx));
    build("usr/bin/g++-11").passes();
    build("usr/bin/g++-11").release().passes();
    assert_eq!(scenario.targets("k"), targets);
    build("usr/lib/llvm-15/bin/clang++").release().env("OFFLOAD_ARCH", "cpu").passes();
}

#[test(needs(&[Tool::Oldest, Tool::Gcc]).slow())]
fn types_that_depend_on_the_compiler_are_compared() {
    let gcc = oldest("usr/bin/g++-11").display().to_string();
    assert_types_are_compared("oldest_types", &oldest("usr/lib/llvm-15/bin"), &gcc);
}

#[test(needs(&[Tool::Oldest, Tool::Gcc, Tool::Cuda]).slow())]
fn other_languages() {
    let scenario = Scenario::new("oldest_languages");
    scenario
        .pack(
            "k",
            r#".modules(["kernels/k.cl", "kernels/h.hip"]).archs(["gfx906", "gfx90a:xnack-", "compute_60"])"#,
        )
        .write("kernels/k.cl", "kernel void k(global float *x, local float *y) {\n  y[get_local_id(0)] = get_work_dim();\n  \
             barrier(CLK_LOCAL_MEM_FENCE);\n  x[get_global_id(0)] = y[0];\n}\n")
        .write(
            "kernels/h.hip",
            "#include <hip/hip_fp16.h>\nextern \"C\" __global__ void h(float *x) { x[threadIdx.x] = __shfl_xor(x[0], 1) + unsafeAtomicAdd(x, 1); }\n",
        );
    scenario.build().env("OFFLOAD_CLANG", oldest("usr/lib/llvm-15/bin/clang")).passes();
}

/// The guide's table of each target's first clang must match the code.
#[test]
fn the_guide_has_the_table() {
    let names = |start: &str| -> Vec<String> {
        let amd = amdgpu::PROCESSORS.iter().map(|row| row.name.to_owned());
        let nvidia = architectures().filter(|name| !name.ends_with('a') || name == "sm_90a");
        amd.chain(nvidia).filter(|name| name.starts_with(start)).collect()
    };
    let cell = |start: &str, version: u32| {
        let first = |name: &String| OffloadArch::parse(name).expect("a target").first_clang();
        let of_version = names(start).into_iter().filter(|name| first(name) == Some(version));
        of_version.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
    };
    let mut table = "| clang | AMD | NVIDIA |\n|---|---|---|\n".to_owned();
    for version in OLDEST_CLANG + 1..100 {
        let (amd, nvidia) = (cell("gfx", version), cell("sm_", version));
        if !(amd.is_empty() && nvidia.is_empty()) {
            table += &format!("| {version} | {amd} | {nvidia} |\n").replace("  ", " ");
        }
    }
    let page = scratch::workspace().join("docs/guide/src/reference/compilers.md");
    let text = fs::read_to_string(page).expect("the page");
    let (_, rest) = text.split_once("<!-- first clangs -->\n\n").expect("the first mark");
    let (found, _) = rest.split_once("\n<!-- end of first clangs -->").expect("the last mark");
    assert_eq!(found, table, "it should be:\n{table}");
}

/// The example's workflow must install a clang that supports the targets in the example's build.rs.
#[test]
fn a_workflow_installs_what_its_targets_need() {
    let example = scratch::workspace().join("examples/kernel-tests");
    let read = |path: &str| fs::read_to_string(example.join(path)).expect(path);
    let (workflow, script) = (read(".github/workflows/test.yml"), read("build.rs"));
    let (_, targets) = script.split_once(".archs([").expect("a list of targets");
    let (targets, _) = targets.split_once(']').expect("the end of the list");
    let targets = targets.split(',').map(|target| target.trim().trim_matches('"'));
    let first = targets.filter_map(|name| OffloadArch::parse(name).expect(name).first_clang());
    let first = first.max().expect("a GPU");
    assert!(
        workflow.contains(&format!(" clang-{first} lld-{first}\n")),
        "clang {first}:\n{workflow}"
    );
}

/// Returns all possible names of NVIDIA's architectures.
fn architectures() -> impl Iterator<Item = String> {
    (50..200).flat_map(|number| [format!("sm_{number}"), format!("sm_{number}a")])
}
