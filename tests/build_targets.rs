//! Which targets a pack is built for: names, words that stand for several, variables of the environment.

use offload_tests::package::{Package, printed};
use offload_tests::tools::{Tool, cuda, llvm_bin, stderr, succeed};
use offload_tests::{run, scratch, test};
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode, Output};

fn main() -> ExitCode {
    const LLVM: &[Tool] = &[Tool::Llvm22, Tool::Gcc];
    /// Linux knows AMD's GPUs better than the stand-ins.
    const LLVM_WITHOUT_AMD_GPU: &[Tool] = &[Tool::Llvm22, Tool::NoAmdGpu];
    const ALL: &[Tool] = &[Tool::Llvm22, Tool::Gcc, Tool::Cuda];
    run(vec![
        test("names_in_any_spelling", ALL, spellings),
        test("variables_of_other_programs", ALL, field),
        test("build_rs_and_our_variable_come_first", ALL, precedence),
        test("all_major_is_what_it_is_for_nvcc", ALL, all_major),
        test("all_major_needs_both_compilers", LLVM, all_major_without_ptxas),
        test("native_is_each_gpu_once", ALL, native),
        test("native_without_a_gpu_is_an_error", LLVM_WITHOUT_AMD_GPU, no_gpu),
        test("native_or_says_what_it_takes", LLVM_WITHOUT_AMD_GPU, native_or),
        test("every_refusal_is_said_before_anything_is_compiled", ALL, refusals),
    ])
}

/// A library package that makes the pack "add" with these calls.
fn package(name: &str, calls: &str) -> Package {
    let package = Package::new(name);
    package
        .write("src/lib.rs", "")
        .write("kernels/add.cu", "extern \"C\" __global__ void add(float *x) { *x += 1.0f; }\n")
        .write(
            "build.rs",
            format!(
                "fn main() {{\n    offload_build::Build::new().file(\"kernels/add.cu\"){calls}.compile(\"add\");\n}}\n"
            ),
        );
    package
}

/// `cargo build` with LLVM 22's clang and these variables.
fn build(package: &Package, variables: &[(&str, &str)]) -> Output {
    let mut command = package.cargo(&["build"]);
    // A machine's own GPUs stay out of it.
    command.env("OFFLOAD_CLANG", llvm_bin().join("clang")).envs(variables.iter().copied());
    command.output().expect("cargo starts")
}

/// The targets in the pack.
fn targets(package: &Package) -> Vec<String> {
    package.index("debug", "add").images().map(|image| image.target.clone()).collect()
}

#[track_caller]
fn built(package: &Package, variables: &[(&str, &str)]) -> (Vec<String>, String) {
    let output = build(package, variables);
    assert!(output.status.success(), "{variables:?}: {}", printed(&output));
    (targets(package), stderr(&output))
}

fn script(path: &Path, text: &str) {
    scratch::write(path, format!("#!/bin/sh\n{text}\n"));
    succeed(Command::new("chmod").arg("+x").arg(path));
}

/// A clang in a folder of its own, where its companions are stand-ins, with a PATH that begins there.
fn stand_ins(package: &Package, programs: &[(&str, &str)]) -> [(&'static str, String); 2] {
    let folder = package.folder.join("tools");
    let _ = fs::remove_dir_all(&folder);
    script(&folder.join("clang"), &format!("exec '{}' \"$@\"", llvm_bin().join("clang").display()));
    for (name, text) in programs {
        script(&folder.join(name), text);
    }
    let path = std::env::var_os("PATH").expect("PATH is set");
    let folders = [folder.clone()].into_iter().chain(std::env::split_paths(&path));
    let path = std::env::join_paths(folders).expect("folders of PATH make a PATH");
    [
        ("OFFLOAD_CLANG", folder.join("clang").display().to_string()),
        ("PATH", path.into_string().expect("PATH is UTF-8")),
    ]
}

fn as_refs<'a>(list: &'a [(&'a str, String)]) -> Vec<(&'a str, &'a str)> {
    list.iter().map(|(name, value)| (*name, &**value)).collect()
}

fn spellings() {
    let names = [
        ("gfx90a:xnack-:sramecc+", "gfx90a:sramecc+:xnack-"),
        ("gfx90a:sramecc+:xnack-", ""),
        ("polaris10", "gfx803"),
        ("gfx11-generic", "gfx11-generic"),
        ("sm_90a", "sm_90a"),
        ("sm_80", "sm_80"),
        ("compute_90", "compute_90"),
        ("compute_103", "compute_103"),
        ("cpu", "cpu"),
        ("sm_80", ""),
    ];
    let package = package("targets_names", &format!(".archs({:?})", names.map(|it| it.0)));
    let expected: Vec<&str> = names.iter().map(|it| it.1).filter(|name| !name.is_empty()).collect();
    // A letter is there if it was asked for, and nowhere else.
    assert_eq!(built(&package, &[]).0, expected);
}

fn field() {
    let package = package("targets_field", "");
    /// Variables, targets, and what is said.
    type Row = (&'static [(&'static str, &'static str)], &'static [&'static str], &'static [&'static str]);
    let rows: &[Row] = &[
        (
            &[("CUDA_COMPUTE_CAP", "80")],
            &["sm_80"],
            &["for the targets of CUDA_COMPUTE_CAP=80, since build.rs lists none"],
        ),
        (
            &[("CUDA_COMPUTE_CAPS", "80, 90a;8.6"), ("CUDA_COMPUTE_CAP", "75")],
            &["sm_80", "sm_90a", "sm_86"],
            &["CUDA_COMPUTE_CAPS="],
        ),
        (&[("CUDAARCHS", "80;90a-real;90-virtual")], &["sm_80", "compute_80", "sm_90a", "compute_90"], &["CUDAARCHS="]),
        (
            &[("CUDAARCHS", "80-real;90a-virtual")],
            &["sm_80", "compute_90a"],
            &[
                "compute_90a is all the PTX there is, and its letter binds it to few GPUs: later ones cannot use it, as they could compute_90",
            ],
        ),
        (&[("TORCH_CUDA_ARCH_LIST", "8.0;9.0+PTX")], &["sm_80", "sm_90", "compute_90"], &["TORCH_CUDA_ARCH_LIST="]),
        (
            &[("AMDGPU_TARGETS", "gfx90a:xnack-;gfx1100"), ("GPU_TARGETS", "gfx942")],
            &["gfx90a:xnack-", "gfx1100"],
            &["AMDGPU_TARGETS="],
        ),
        (
            &[("PYTORCH_ROCM_ARCH", "gfx942"), ("CUDAARCHS", "80-real")],
            &["sm_80", "gfx942"],
            &["CUDAARCHS=80-real", "PYTORCH_ROCM_ARCH=gfx942"],
        ),
        (&[("HIPARCHS", "gfx942"), ("CUDAARCHS", "OFF")], &["gfx942"], &["HIPARCHS=gfx942"]),
        // Empty is not set.
        (&[("CUDAARCHS", ""), ("HIP_ARCH_LIST", "gfx1030 gfx942")], &["gfx1030", "gfx942"], &["HIP_ARCH_LIST="]),
    ];
    for (variables, expected, says) in rows {
        let (targets, text) = built(&package, variables);
        assert_eq!(targets, *expected, "{variables:?}");
        let lines = text.lines().filter(|line| line.contains("for the targets of ")).count();
        assert_eq!(lines, says.len(), "{variables:?}: {text}");
        says.iter().for_each(|sentence| assert_eq!(text.matches(sentence).count(), 1, "{variables:?}: {text}"));
    }
    let output = build(&package, &[]);
    assert!(
        !output.status.success() && stderr(&output).contains("no targets: build.rs names none"),
        "{}",
        printed(&output)
    );
}

fn precedence() {
    const FIELD: [(&str, &str); 3] =
        [("CUDAARCHS", "75"), ("AMDGPU_TARGETS", "gfx942"), ("CUDA_COMPUTE_CAP", "nonsense")];
    let listed = package("targets_listed", r#".archs(["gfx90a"])"#);
    let (targets, text) = built(&listed, &FIELD);
    assert_eq!(targets, ["gfx90a"]);
    assert!(!text.contains("for the targets of"), "{text}");
    let bare = package("targets_bare", "");
    let [a, b, c] = FIELD;
    assert_eq!(built(&bare, &[a, b, c, ("OFFLOAD_ARCH", "gfx1100")]).0, ["gfx1100"]);
    assert_eq!(built(&bare, &[a, b, ("OFFLOAD_ARCH_targets_bare", "compute_80")]).0, ["compute_80"]);
}

/// nvcc is asked what it would make, of which the compilers here may know less.
fn all_major() {
    let package = package("targets_all_major", r#".archs(["all-major"])"#);
    let ours = built(&package, &[]).0;
    scratch::write(package.folder.join("x.cu"), "__global__ void x() {}\n");
    let mut nvcc = cuda("nvcc");
    nvcc.current_dir(&package.folder).args(["-arch=all-major", "--dryrun", "-c", "x.cu"]);
    let output = succeed(&mut nvcc);
    let text = printed(&output);
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
    // In other programs' words it means the same; with more beside it, each once.
    let (all, _) = built(&package, &[("OFFLOAD_ARCH", "sm_80 all-major")]);
    assert_eq!((all[0].as_str(), all.len()), ("sm_80", 7), "{all:?}");
}

fn all_major_without_ptxas() {
    let package = package("targets_no_ptxas", r#".archs(["all-major"])"#);
    let output = build(&package, &[("OFFLOAD_PTXAS", "/bin/false")]);
    let text = stderr(&output);
    assert!(!output.status.success(), "{text}");
    for sentence in [
        "the target 'all-major' (from build.rs) is what ptxas and clang of this machine know: ",
        "OFFLOAD_ARCH=\"sm_80;compute_90\"",
    ] {
        assert_eq!(text.matches(sentence).count(), 1, "{text}");
    }
}

fn native() {
    let package = package("targets_native", r#".archs(["native", "compute_80"])"#);
    const SMI: &str = "[ \"$*\" = '--query-gpu=compute_cap --format=csv,noheader' ] && printf '9.0\\n8.0\\n9.0\\n'";
    const AMD: &str = "echo 'gfx90a:sramecc+:xnack-'; echo gfx1100; echo gfx90a:sramecc+:xnack-";
    const NONE: &str = "exit 1";
    const ENUMERATOR: &str = "echo gfx000; echo gfx942";
    /// Programs with what they do, and targets.
    type Row = (&'static [(&'static str, &'static str)], &'static [&'static str]);
    let rows: &[Row] = &[
        (&[("nvidia-smi", SMI), ("amdgpu-arch", AMD)], &["sm_90", "sm_80", "gfx90a", "gfx1100", "compute_80"]),
        (&[("nvidia-smi", SMI), ("nvptx-arch", "echo sm_75"), ("amdgpu-arch", "")], &["sm_90", "sm_80", "compute_80"]),
        // A driver that is broken, and a letter that nobody asked for.
        (
            &[
                ("nvidia-smi", "echo 'NVIDIA-SMI has failed'; exit 9"),
                ("nvptx-arch", "echo sm_90a"),
                ("amdgpu-arch", NONE),
            ],
            &["sm_90", "compute_80"],
        ),
        (
            &[("nvidia-smi", NONE), ("nvptx-arch", NONE), ("amdgpu-arch", ""), ("rocm_agent_enumerator", ENUMERATOR)],
            &["gfx942", "compute_80"],
        ),
    ];
    for (number, (programs, expected)) in rows.iter().enumerate() {
        // Another PATH would make Cargo run the script; the GPUs of a machine do not.
        let mut variables = stand_ins(&package, programs);
        variables[1].1 += &format!(":/nowhere/{number}");
        assert_eq!(built(&package, &as_refs(&variables)).0, *expected, "{programs:?}");
    }
    // A vendor's variable asks for that vendor's GPUs.
    let bare = self::package("targets_native_of_one", "");
    let variables = stand_ins(&bare, &[("nvidia-smi", SMI), ("amdgpu-arch", AMD)]);
    let with = |name: &'static str| {
        let mut all = as_refs(&variables);
        all.push((name, "native"));
        built(&bare, &all).0
    };
    assert_eq!(with("CUDAARCHS"), ["sm_90", "sm_80"]);
    assert_eq!(with("AMDGPU_TARGETS"), ["gfx90a", "gfx1100"]);
    assert_eq!(with("OFFLOAD_ARCH"), ["sm_90", "sm_80", "gfx90a", "gfx1100"]);
}

/// Programs that know of no GPU.
const NO_GPU: &[(&str, &str)] = &[
    ("nvidia-smi", "echo 'NVIDIA-SMI has failed'; exit 9"),
    ("nvptx-arch", "exit 1"),
    ("amdgpu-arch", "exit 0"),
    ("rocm_agent_enumerator", "echo gfx000"),
];

fn no_gpu() {
    let package = package("targets_no_gpu", "");
    let variables = stand_ins(&package, NO_GPU);
    for (name, says) in [
        ("OFFLOAD_ARCH", "the target 'native' (from OFFLOAD_ARCH) is the GPU of this machine, and none was found:"),
        ("CUDAARCHS", "the target 'native' (from CUDAARCHS) is the NVIDIA GPU of this machine, and none was found:"),
    ] {
        let mut all = as_refs(&variables);
        all.push((name, "native"));
        let output = build(&package, &all);
        let text = stderr(&output);
        assert!(!output.status.success(), "{text}");
        let tools = package.folder.join("tools");
        let line = |rest: &str| format!("  {}/{rest}\n", tools.display());
        let mut sentences = vec![
            says.to_owned(),
            line("nvidia-smi ended with exit status: 9: NVIDIA-SMI has failed"),
            line("nvptx-arch ended with exit status: 1"),
            "as in OFFLOAD_ARCH=sm_80, or let build.rs say what is built where there is none: .native_or([\"sm_80\"])"
                .to_owned(),
        ];
        if name == "OFFLOAD_ARCH" {
            sentences.extend([
                line("amdgpu-arch names none"),
                line("rocm_agent_enumerator says 'gfx000'"),
                "  AMD: no /sys/class/kfd/kfd/topology/nodes\n".to_owned(),
            ]);
        }
        for sentence in sentences {
            assert_eq!(text.matches(&sentence).count(), 1, "{sentence}\n{text}");
        }
    }
}

fn native_or() {
    let package =
        package("targets_native_or", r#".native_or(["gfx90a", "compute_80"]).archs(["gfx90a", "compute_90"])"#);
    let variables = stand_ins(&package, NO_GPU);
    let (targets, text) = built(&package, &as_refs(&variables));
    assert_eq!(targets, ["gfx90a", "compute_80", "compute_90"]);
    assert_eq!(text.matches("no GPU here, so for gfx90a, compute_80 in place of native").count(), 1, "{text}");
    // Words stand for several there, too, and an empty list is none.
    for (number, (others, says)) in [
        (
            "\"gfx90a\", \"native\"",
            "the target 'native' (from build.rs) is the GPU of this machine, and none was found",
        ),
        ("", "no targets: there is no GPU here, and build.rs says .native_or([])"),
    ]
    .into_iter()
    .enumerate()
    {
        let package = self::package(&format!("targets_native_or_{number}"), &format!(".native_or::<&str>([{others}])"));
        let text = stderr(&build(&package, &as_refs(&variables)));
        assert_eq!(text.matches(says).count(), 1, "{text}");
    }
    // The list in the environment takes the place of all that.
    let mut all = as_refs(&variables);
    all.push(("OFFLOAD_ARCH", "gfx1030"));
    assert_eq!(built(&package, &all).0, ["gfx1030"]);
    let mut variables =
        stand_ins(&package, &[("nvidia-smi", "exit 9"), ("nvptx-arch", ""), ("amdgpu-arch", "echo gfx1100")]);
    variables[1].1 += ":/nowhere";
    let (targets, text) = built(&package, &as_refs(&variables));
    assert_eq!(targets, ["gfx1100", "gfx90a", "compute_90"]);
    assert!(!text.contains("no GPU here"), "{text}");
}

fn refusals() {
    let package = package(
        "targets_refused",
        r#".archs(["gfx90a", "gfx9999", "sm_999", "compute_80", "compute_99", "sm_70", "gfx99-generic", "cpu"])"#,
    );
    let log = package.folder.join("log");
    let folder = package.folder.join("logged");
    let ptxas = cuda("ptxas");
    for (name, real) in [("clang", llvm_bin().join("clang").as_path()), ("ptxas", Path::new(ptxas.get_program()))] {
        script(&folder.join(name), &format!("echo \"$*\" >> '{}'\nexec '{}' \"$@\"", log.display(), real.display()));
    }
    let [clang, ptxas] = ["clang", "ptxas"].map(|name| folder.join(name).display().to_string());
    let output = build(&package, &[("OFFLOAD_CLANG", &clang), ("OFFLOAD_PTXAS", &ptxas)]);
    let text = stderr(&output);
    assert!(!output.status.success(), "{text}");
    for target in ["gfx9999", "sm_999", "compute_99", "gfx99-generic"] {
        assert_eq!(
            text.matches(&format!("no image for {target}: {clang} refuses it\n")).count(),
            1,
            "{target}: {text}"
        );
    }
    assert_eq!(text.matches(&format!("no image for sm_70: {ptxas} refuses it\n")).count(), 1, "{text}");
    assert_eq!(text.matches("could not make the pack").count(), 1, "{text}");
    let calls = fs::read_to_string(log).expect("the compilers were asked");
    let asks =
        |call: &str| ["-###", "--version", "-print-prog-name", "/dev/null"].iter().any(|word| call.contains(word));
    let compilations: Vec<&str> = calls.lines().filter(|call| !asks(call)).collect();
    assert!(compilations.is_empty(), "compiled before all targets were asked for: {compilations:#?}");
}
