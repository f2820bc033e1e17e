//! The targets of a pack: names of targets, words that mean several targets, and environment
//! variables.

use crate::NVCC_AND_CLANG;
use offload_tests::prelude::*;
use offload_tests::scenario::Watched;

/// The needs of tests on a machine without an AMD GPU. Linux itself lists AMD's GPUs, and stand-in
/// programs cannot hide this list.
const LLVM_WITHOUT_AMD_GPU: Needs = needs(&[Tool::Llvm22, Tool::NoAmdGpu]);

/// Builds the pack with these variables, and returns its targets.
#[track_caller]
fn targets(scenario: &Scenario, variables: &[(&str, &str)]) -> Vec<String> {
    scenario.build().envs(variables.iter().copied()).passes();
    scenario.targets("add")
}

/// Returns a package whose build script makes these calls, prints the targets, and compiles
/// nothing.
fn listing(name: &str, calls: &str) -> Scenario {
    let scenario = Scenario::new(name);
    scenario.kernel("add", "1.0f").build_script(&format!(
        r#"let resolved = Build::new().file("kernels/add.cu"){calls}.resolve();
    let names: Vec<&str> = resolved.targets().collect();
    println!("cargo::warning=lists {{}}", names.join(" "));"#
    ));
    scenario
}

/// Asserts that the build script of [`listing`] prints these targets.
#[track_caller]
fn lists(run: Run<'_>, expected: &[&str]) -> Printed {
    let printed = run.passes();
    printed.once(&format!(": lists {}\n", expected.join(" ")));
    printed
}

/// Makes a table. A row has environment variables, and one or two lists of texts.
macro_rules! rows {
    ($({$($variable:ident: $value:literal),*} => $([$($text:expr),*])+;)+) => {
        [$((&[$((stringify!($variable), $value)),*] as &[(&str, &str)], $(&[$($text),*] as &[&str]),+)),+]
    };
}

/// A program's name, and the commands of the script that replaces it.
type StandIn = (&'static str, &'static str);

/// A machine where stand-ins replace the programs that detect GPUs. The stand-ins are next to a
/// clang, and first in PATH.
struct Machine(PathBuf);

impl Machine {
    fn new(scenario: &Scenario, stand_ins: &[StandIn]) -> Self {
        let folder = scenario.folder.join("tools");
        let _ = fs::remove_dir_all(&folder);
        scenario.script(
            "tools/clang",
            &format!("exec '{}' \"$@\"", llvm_bin().join("clang").display()),
        );
        for (name, commands) in stand_ins {
            scenario.script(&format!("tools/{name}"), commands);
        }
        Self(folder)
    }

    fn build<'a>(&self, scenario: &'a Scenario) -> Run<'a> {
        scenario.build().env("OFFLOAD_CLANG", self.0.join("clang")).path([self.0.clone()])
    }

    /// Builds with a changed PATH, so Cargo runs the build script again. If only the machine's GPUs
    /// change, Cargo does not run the script.
    fn build_again<'a>(&self, scenario: &'a Scenario, number: usize) -> Run<'a> {
        self.build(scenario).path([self.0.clone(), format!("/nowhere/{number}").into()])
    }
}

#[test(COMPILERS.slow())]
fn variables_of_other_programs() {
    let scenario = listing("targets_field", "");
    const FEW_GPUS: &str = "no PTX in the list works on later GPUs: the final letter limits \
                            compute_90a to a few GPUs, but compute_90 works on all later ones";
    // The variables, the targets, and a line of output for each variable that is used.
    let rows = rows! {
        {CUDA_COMPUTE_CAPS: "80, 90a;8.6", CUDA_COMPUTE_CAP: "75"}
            => ["sm_80", "sm_90a", "sm_86"]
               ["using targets from CUDA_COMPUTE_CAPS=80, 90a;8.6 because build.rs lists none"];
        {CUDAARCHS: "80;90a-real;90-virtual"}
            => ["sm_80", "compute_80", "sm_90a", "compute_90"] ["CUDAARCHS="];
        {TORCH_CUDA_ARCH_LIST: "8.0;9.0+PTX"}
            => ["sm_80", "sm_90", "compute_90"] ["TORCH_CUDA_ARCH_LIST="];
        {AMDGPU_TARGETS: "gfx90a:xnack-;gfx1100", GPU_TARGETS: "gfx942"}
            => ["gfx90a:xnack-", "gfx1100"] ["AMDGPU_TARGETS="];
        {PYTORCH_ROCM_ARCH: "gfx942", CUDAARCHS: "80-real"}
            => ["sm_80", "gfx942"] ["CUDAARCHS=80-real", "PYTORCH_ROCM_ARCH=gfx942"];
        {HIPARCHS: "gfx942", CUDAARCHS: "OFF"} => ["gfx942"] ["HIPARCHS=gfx942"];
        // An empty variable counts as unset.
        {CUDAARCHS: "", HIP_ARCH_LIST: "gfx1030 gfx942"}
            => ["gfx1030", "gfx942"] ["HIP_ARCH_LIST="];
    };
    for (variables, expected, sentences) in rows {
        let printed = lists(scenario.build().envs(variables.iter().copied()), expected);
        printed.times(sentences.len(), "using targets from ").each_once(sentences);
    }
    let bare = Scenario::add("targets_bare", "");
    let run = bare.build().env("CUDAARCHS", "80-real;90a-virtual");
    run.passes().once(FEW_GPUS);
    assert_eq!(bare.targets("add"), ["sm_80", "compute_90a"]);
}

#[test]
fn build_rs_and_our_variable_come_first() {
    const FOREIGN: [(&str, &str); 3] =
        [("CUDAARCHS", "75"), ("AMDGPU_TARGETS", "gfx942"), ("CUDA_COMPUTE_CAP", "nonsense")];
    let listed = listing("targets_listed", r#".archs(["gfx90a"])"#);
    lists(listed.build().envs(FOREIGN), &["gfx90a"]).lacks("using targets from");
    let unlisted = listing("targets_unlisted", "");
    lists(unlisted.build().envs(FOREIGN).env("OFFLOAD_ARCH", "gfx1100"), &["gfx1100"]);
    let own = unlisted.build().envs(FOREIGN).env("OFFLOAD_ARCH_targets_unlisted", "compute_80");
    lists(own, &["compute_80"]);
}

/// Compares the targets of `all-major` with nvcc's list.
#[test(NVCC_AND_CLANG.slow())]
fn all_major_is_what_it_is_for_nvcc() {
    let scenario = Scenario::add("targets_all_major", r#".archs(["all-major"])"#);
    let ours = targets(&scenario, &[]);
    scenario.write("x.cu", "__global__ void x() {}\n");
    let nvcc = scenario.tool(cuda("nvcc").get_program());
    let text = nvcc.args(["-arch=all-major", "--dryrun", "-c", "x.cu"]).passes().text();
    let theirs: Vec<String> = text
        .split("--image3=kind=")
        .skip(1)
        .filter_map(|rest| {
            let (kind, rest) = rest.split_once(",sm=")?;
            let number = rest.split(',').next()?;
            Some(format!("{}_{number}", if kind == "elf" { "sm" } else { "compute" }))
        })
        .collect();
    assert!(theirs.len() > 5, "{text}");
    let sorted = |mut list: Vec<String>| {
        list.sort_unstable();
        list
    };
    assert_eq!(sorted(ours), sorted(theirs));
    // In an environment variable, `all-major` means the same targets. Here, the list also contains
    // `sm_80`, which must appear only once.
    let all = targets(&scenario, &[("OFFLOAD_ARCH", "sm_80 all-major")]);
    assert_eq!((all[0].as_str(), all.len()), ("sm_80", 7), "{all:?}");
}

#[test(CLANG)]
fn all_major_needs_both_compilers() {
    let scenario = Scenario::add("targets_no_ptxas", r#".archs(["all-major"])"#);
    scenario.build().env("OFFLOAD_PTXAS", "/bin/false").fails().each_once([
        "the target 'all-major' (from build.rs) depends on what this machine's ptxas and clang \
         support, but ",
        "OFFLOAD_ARCH=\"sm_80;compute_90\"",
    ]);
}

#[test(COMPILERS.slow())]
fn native_is_each_gpu_once() {
    const SMI: &str = "[ \"$*\" = '--query-gpu=compute_cap --format=csv,noheader' ] && printf '9.0\\n8.0\\n9.0\\n'";
    const AMD: &str = "echo 'gfx90a:sramecc+:xnack-'; echo gfx1100; echo gfx90a:sramecc+:xnack-";
    const NONE: &str = "exit 1";
    const ENUMERATOR: &str = "echo gfx000; echo gfx942";
    let rows: &[(&[StandIn], &[&str])] = &[
        (
            &[("nvidia-smi", SMI), ("amdgpu-arch", AMD)],
            &["sm_90", "sm_80", "gfx90a", "gfx1100", "compute_80"],
        ),
        (
            &[("nvidia-smi", SMI), ("nvptx-arch", "echo sm_75"), ("amdgpu-arch", "")],
            &["sm_90", "sm_80", "compute_80"],
        ),
        // The driver is broken, so `nvidia-smi` fails. `nvptx-arch` prints `sm_90a`, but the target
        // is `sm_90`, because `native` does not request the letter.
        (
            &[
                ("nvidia-smi", "echo 'NVIDIA-SMI has failed'; exit 9"),
                ("nvptx-arch", "echo sm_90a"),
                ("amdgpu-arch", NONE),
            ],
            &["sm_90", "compute_80"],
        ),
        (
            &[
                ("nvidia-smi", NONE),
                ("nvptx-arch", NONE),
                ("amdgpu-arch", ""),
                ("rocm_agent_enumerator", ENUMERATOR),
            ],
            &["gfx942", "compute_80"],
        ),
    ];
    let scenario = listing("targets_native", r#".archs(["native", "compute_80"])"#);
    for (number, (stand_ins, expected)) in rows.iter().enumerate() {
        lists(Machine::new(&scenario, stand_ins).build_again(&scenario, number), expected);
    }
    // In a vendor's variable, `native` requests only this vendor's GPUs.
    let unlisted = listing("targets_native_of_one", "");
    let machine = Machine::new(&unlisted, &[("nvidia-smi", SMI), ("amdgpu-arch", AMD)]);
    for (variable, expected) in [
        ("CUDAARCHS", &["sm_90", "sm_80"][..]),
        ("AMDGPU_TARGETS", &["gfx90a", "gfx1100"]),
        ("OFFLOAD_ARCH", &["sm_90", "sm_80", "gfx90a", "gfx1100"]),
    ] {
        lists(machine.build(&unlisted).env(variable, "native"), expected);
    }
}

/// Stand-in programs that find no GPU.
const NO_GPU: &[StandIn] = &[
    ("nvidia-smi", "echo 'NVIDIA-SMI has failed'; exit 9"),
    ("nvptx-arch", "exit 1"),
    ("amdgpu-arch", "exit 0"),
    ("rocm_agent_enumerator", "echo gfx000"),
];

#[test(LLVM_WITHOUT_AMD_GPU)]
fn native_without_a_gpu_is_an_error() {
    let scenario = Scenario::add("targets_no_gpu", "");
    let machine = Machine::new(&scenario, NO_GPU);
    let line = |rest: &str| format!("  {}/{rest}\n", machine.0.display());
    let nvidia = [
        line("nvidia-smi ended with exit status: 9: NVIDIA-SMI has failed"),
        line("nvptx-arch ended with exit status: 1"),
    ];
    let amd = [
        line("amdgpu-arch lists no GPU"),
        line("rocm_agent_enumerator prints 'gfx000'"),
        "  AMD: no /sys/class/kfd/kfd/topology/nodes\n".to_owned(),
    ];
    let cure = "as in OFFLOAD_ARCH=sm_80, or let build.rs name a target for machines without a \
                GPU: .native_or([\"sm_80\"])";
    let build = |variable: &str| machine.build(&scenario).env(variable, "native").fails();
    build("OFFLOAD_ARCH")
        .once(
            "the target 'native' (from OFFLOAD_ARCH) means this machine's GPU, but no GPU was \
             found:",
        )
        .once("  Intel: ")
        .each_once(&nvidia)
        .each_once(&amd)
        .once(cure);
    build("CUDAARCHS")
        .once(
            "the target 'native' (from CUDAARCHS) means this machine's NVIDIA GPU, but no GPU was \
             found:",
        )
        .each_once(&nvidia)
        .once(cure)
        .lacks("no list of targets");
    let flags = "-gencode arch=compute_80,code=sm_80";
    let build =
        machine.build(&scenario).env("OFFLOAD_ARCH", "native").env("NVCC_APPEND_FLAGS", flags);
    build.fails().once(&format!(
        "NVCC_APPEND_FLAGS contains {flags}, which does not set the targets of this build. To \
         build for these GPUs, set OFFLOAD_ARCH=\"sm_80\""
    ));
}

#[test(COMPILERS.slow())]
fn the_default_counts_after_all_variables() {
    let scenario = Scenario::add("targets_default", r#".default_archs(["gfx90a", "compute_80"])"#);
    assert_eq!(targets(&scenario, &[]), ["gfx90a", "compute_80"]);
    for (variable, value, expected) in [
        ("CUDA_COMPUTE_CAP", "90", "sm_90"),
        ("AMDGPU_TARGETS", "gfx1100", "gfx1100"),
        ("OFFLOAD_ARCH", "gfx942", "gfx942"),
    ] {
        let printed = scenario.build().env(variable, value).passes();
        assert_eq!(scenario.targets("add"), [expected], "{variable}");
        let line =
            format!("using targets from {variable}={value} instead of the default of build.rs");
        printed.times(usize::from(variable != "OFFLOAD_ARCH"), &line);
    }
    // A variable that names no targets, such as `CUDAARCHS=OFF`, does not replace the default in
    // build.rs.
    assert_eq!(targets(&scenario, &[("CUDAARCHS", "OFF")]), ["gfx90a", "compute_80"]);
    let listed =
        Scenario::add("targets_default_and_list", r#".default_archs(["native"]).arch("gfx1030")"#);
    assert_eq!(targets(&listed, &[("CUDA_COMPUTE_CAP", "90")]), ["gfx1030"]);
    // A default without 'native' is the same on every machine, so a prebuilt set can use it.
    scenario.build().release().env("OFFLOAD_PREBUILT", "update").passes();
}

/// A vendor's variables are ignored without a message if build.rs's filters, the sources or the
/// compiler exclude this vendor from the pack.
#[test(COMPILERS.slow())]
fn variables_of_a_vendor_that_a_pack_excludes_are_ignored() {
    let scenario = Scenario::new("targets_excluded");
    scenario.kernel("add", "1.0f").build_script(
        r#"println!("cargo::rerun-if-env-changed=BUILDS");
    println!("cargo::rerun-if-env-changed=ONLY");
    let mut filtered = Build::new();
    filtered.file("kernels/add.cu").supports([">=sm_75"]);
    let mut of_source = Build::new();
    of_source.file(Source::new("kernels/add.cu").supports(["nvidia"]));
    let mut of_compiler = Build::new();
    of_compiler.file("kernels/add.cu").compiler(Compiler::ClangCuda).compiler(Compiler::Nvcc);
    for (name, build) in [("filter", &mut filtered), ("source", &mut of_source), ("compiler", &mut of_compiler)] {
        if std::env::var("ONLY").is_ok_and(|only| only != name) {
            continue;
        }
        let resolved = build.default_archs(["compute_80"]).resolve();
        let names: Vec<&str> = resolved.targets().collect();
        println!("cargo::warning={name} resolved {}", names.join(" "));
        if std::env::var("BUILDS").is_ok() && name != "compiler" {
            build.compile(name);
        }
    }"#,
    );
    let build = || scenario.build().env("AMDGPU_TARGETS", "gfx90a").env("HIPARCHS", "nonsense");
    let names = ["filter", "source", "compiler"];
    let resolved = names.map(|name| format!("{name} resolved compute_80\n"));
    build().passes().lacks("using targets from").each_once(resolved);
    for name in names {
        let both = build().env("CUDA_COMPUTE_CAP", "90").env("ONLY", name).passes();
        both.once(&format!("{name} resolved sm_90\n"));
        both.once("using targets from ").once("CUDA_COMPUTE_CAP=90 instead of");
    }
    build().env("BUILDS", "1").passes().lacks("using targets from");
    for name in ["filter", "source"] {
        assert_eq!(scenario.targets(name), ["compute_80"], "{name}");
    }
}

/// The build script prints its targets, and compiles nothing.
#[test(COMPILERS.slow())]
fn a_build_script_asks_for_its_targets() {
    let scenario = Scenario::new("targets_resolved");
    scenario.build_script(
        r#"let mut build = Build::new();
    build.default_archs(["polaris10", "compute_80"]).supports([">=sm_75", "amd"]);
    if std::env::var("LISTED").is_ok() {
        build.archs(["gfx90a:xnack+", "sm_70", "cpu", "sm_90a"]);
    }
    let resolved = build.resolve();
    for target in resolved.targets() {
        println!("cargo::warning={target} is resolved");
    }
    println!("cargo::warning=amd {} sm_90a {}", resolved.any("amd"), resolved.any("sm_90a"));
    println!("cargo::warning=skipped {}", resolved.is_skipped());
    println!("cargo::rerun-if-env-changed=LISTED");"#,
    );
    const BUILT: &str = "skipped false";
    let rows = rows! {
        {} => ["gfx803 is resolved", "compute_80 is resolved", "amd true sm_90a false", BUILT];
        {LISTED: "1"}
            => ["gfx90a:xnack+ is resolved", "sm_90a is resolved", "amd true sm_90a true", BUILT];
        {CUDA_COMPUTE_CAP: "90", AMDGPU_TARGETS: "gfx1100"}
            => ["sm_90 is resolved",
                "gfx1100 is resolved", "amd true sm_90a false", BUILT];
        {LISTED: "1", OFFLOAD_ARCH_targets_resolved: "sm_80", OFFLOAD_ARCH: "sm_90"}
            => ["sm_80 is resolved", "amd false sm_90a false", BUILT];
        // If nothing is built, the build resolves only targets that need no tool, such as `sm_90a`,
        // but neither `native` nor `all`.
        {OFFLOAD_SKIP: "1", OFFLOAD_ARCH: "sm_90a native all"}
            => ["sm_90a is resolved", "amd false sm_90a true",
                "skipped true"];
        // An invalid list is not an error if nothing is built.
        {DOCS_RS: "1", OFFLOAD_ARCH: "nonsense"}
            => ["amd false sm_90a false", "skipped true"];
    };
    for (variables, expected) in rows {
        let printed = scenario.build().envs(variables.iter().copied()).passes();
        printed.each_once(
            expected.iter().map(|line| format!("warning: targets_resolved@0.1.0: {line}\n")),
        );
        let lines = printed.text().lines().filter(|line| line.ends_with(" is resolved")).count();
        assert_eq!(lines, expected.len() - 2, "{variables:?}: {printed}");
    }
    let refused = scenario.build().env("OFFLOAD_ARCH", "nonsense").fails();
    refused.once("offload-build could not list the targets").once("a target from OFFLOAD_ARCH: ");
    // Later lines of build.rs could add targets, so the message asks the user to list them before
    // the call.
    scenario.build_script("Build::new().resolve();");
    scenario
        .build()
        .fails()
        .once("List targets in build.rs before it calls resolve(), as in .archs(");
    scenario.build_script(
        r#"let mut build = Build::new();
    build.arch("gfx90a");
    let before = build.resolve().targets().count();
    build.arch("sm_80").supports(["amd"]).arch("gfx1100");
    println!("cargo::warning=targets {before} {}", build.resolve().targets().count());"#,
    );
    scenario.build().passes().once("targets 1 2\n");
    scenario.build_script(r#"Build::new().supports(["amd"]).resolve();"#);
    let refused = scenario.build().fails();
    refused.once(r#" (the build so far is for amd alone: build.rs calls .supports(["amd"]))."#);
}

#[test(LLVM_WITHOUT_AMD_GPU.slow())]
fn a_default_with_native_does_without_a_gpu() {
    const LINE: &str =
        "no GPU found for 'native': building only for the other default targets of build.rs";
    let scenario = Scenario::add(
        "targets_default_native",
        r#".default_archs(["native", "gfx90a", "compute_80"])"#,
    );
    let machine = Machine::new(&scenario, NO_GPU);
    machine.build(&scenario).passes().once(LINE);
    assert_eq!(scenario.targets("add"), ["gfx90a", "compute_80"]);
    // The only default target is `native`, so without a GPU, there is no target to build for.
    let alone = Scenario::add("targets_default_native_alone", r#".default_archs(["native"])"#);
    let refused = machine.build(&alone).fails();
    refused.once(
        "the target 'native' (from the default of build.rs) means this machine's GPU, but no GPU \
         was found",
    );
    machine.build(&alone).env("CUDA_COMPUTE_CAP", "90").passes();
    assert_eq!(alone.targets("add"), ["sm_90"]);
    let one_gpu = [("nvidia-smi", "exit 9"), ("nvptx-arch", ""), ("amdgpu-arch", "echo gfx1100")];
    let machine = Machine::new(&scenario, &one_gpu);
    machine.build_again(&scenario, 0).passes().lacks("no GPU found");
    assert_eq!(scenario.targets("add"), ["gfx1100", "gfx90a", "compute_80"]);
}

#[test(LLVM_WITHOUT_AMD_GPU.slow())]
fn the_gpu_that_is_here_or_else_another_target() {
    let scenario = Scenario::add("targets_native_or", r#".native_or(["sm_80", "compute_80"])"#);
    let without_gpu = Machine::new(&scenario, NO_GPU);
    without_gpu
        .build(&scenario)
        .passes()
        .once("no GPU found on this machine: building for sm_80, compute_80");
    assert_eq!(scenario.targets("add"), ["sm_80", "compute_80"]);
    let one_gpu = [("nvidia-smi", "echo 9.0"), ("nvptx-arch", ""), ("amdgpu-arch", "")];
    let machine = Machine::new(&scenario, &one_gpu);
    machine.build_again(&scenario, 0).passes().lacks("no GPU found");
    assert_eq!(scenario.targets("add"), ["sm_90"]);
    machine.build(&scenario).env("CUDA_COMPUTE_CAP", "75").passes();
    assert_eq!(scenario.targets("add"), ["sm_75"]);
    // A GPU for which the pack cannot be built is ignored.
    let for_nvidia = Scenario::add(
        "targets_native_or_of_nvidia",
        r#".supports(["nvidia"]).native_or(["sm_80"])"#,
    );
    let of_amd = [("nvidia-smi", "exit 9"), ("nvptx-arch", ""), ("amdgpu-arch", "echo gfx1100")];
    let machine_of_amd = Machine::new(&for_nvidia, &of_amd);
    machine_of_amd
        .build(&for_nvidia)
        .passes()
        .once("no NVIDIA GPU found on this machine: building for sm_80");
    assert_eq!(for_nvidia.targets("add"), ["sm_80"]);
    let wrong = Scenario::add("targets_native_or_wrong", r#".native_or(["sm_8O"])"#);
    machine.build(&wrong).fails().once("a target from the default of build.rs: ");
}

#[test(COMPILERS)]
fn every_refusal_is_said_before_anything_is_compiled() {
    let scenario = Scenario::add(
        "targets_refused",
        r#".archs(["gfx90a", "gfx9999", "sm_999", "compute_80", "compute_99", "sm_70", "gfx99-generic", "cpu"])"#,
    );
    let watched = Watched::new(&scenario);
    let [clang, ptxas, log] =
        ["clang", "ptxas", "log"].map(|name| scenario.folder.join("watched").join(name));
    let printed = watched.set(scenario.build()).fails();
    for (target, advice) in [
        ("gfx9999", ""),
        ("sm_999", ""),
        ("compute_99", "; did you mean compute_90?"),
        ("gfx99-generic", "; did you mean gfx9-generic?"),
    ] {
        printed.once(&format!(
            "no image for {target}: {} rejects this target{advice}\n",
            clang.display()
        ));
    }
    printed.once(&format!("no image for sm_70: {} rejects this target\n", ptxas.display()));
    printed.once("could not make the pack");
    assert!(log.is_file(), "the compilers were not asked");
    watched.compilations().assert_none("targets are refused");
}
