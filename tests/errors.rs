//! What a user reads when a build cannot go on: one message that says what is wrong and what to do, and no half-written
//! files.

use offload_tests::package::{Package, printed};
use offload_tests::tools::{Tool, cuda, llvm_bin, stderr, succeed};
use offload_tests::{data, scratch};
use offload_tests::{run, test};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output};

fn main() -> ExitCode {
    const LLVM: &[Tool] = &[Tool::Llvm22, Tool::Gcc];
    const CUDA: &[Tool] = &[Tool::Llvm22, Tool::Gcc, Tool::Cuda];
    run(vec![
        test("what_cannot_be_built", LLVM, || build_script_errors("errors_build", BUILD_CASES)),
        test("what_ptxas_refuses", CUDA, || build_script_errors("errors_ptxas", PTXAS_CASES)),
        test("containers_that_cannot_be_read", LLVM, || {
            let package = Package::new("errors_containers");
            build_script_errors_of(package.feature("offload-build", "containers"), CONTAINER_CASES);
        }),
        test("compilers_that_do_not_end_well", LLVM, stand_ins),
        test("a_diagnostic_in_colour", LLVM, colour),
        test("an_out_dir_that_cannot_be_written", &[Tool::Gcc], no_out_dir),
        test("no_ptxas", &[Tool::Llvm22, Tool::Gcc, Tool::HideablePtxas], no_ptxas),
        test("a_prebuilt_set_that_does_not_fit", LLVM, prebuilt_errors),
        test("what_cannot_be_embedded", LLVM, macro_errors),
        test("no_build_script", &[Tool::Gcc], no_build_script),
    ])
}

const KERNEL: &str = "extern \"C\" __global__ void add(int n, const float *x, float *y) {\n  \
                        int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n)\n    y[i] += x[i];\n}\n";

/// A build that fails.
struct Case {
    /// Also the name of the pack.
    name: &'static str,
    /// The calls in build.rs between `Build::new()` and `compile`.
    build: &'static str,
    env: &'static [(&'static str, &'static str)],
    /// Each stands in the message exactly once; `{clang}`, `{ptxas}` and `{folder}` are paths of this machine.
    says: &'static [&'static str],
    /// Whether the message ends with a tool's command line, and has the tool's text, whole.
    ran: bool,
}

const fn case(name: &'static str, build: &'static str, says: &'static [&'static str]) -> Case {
    Case { name, build, env: &[], says, ran: false }
}

const fn ran(name: &'static str, build: &'static str, says: &'static [&'static str]) -> Case {
    Case { ran: true, ..case(name, build, says) }
}

const fn with_env(
    name: &'static str,
    env: &'static [(&'static str, &'static str)],
    says: &'static [&'static str],
) -> Case {
    Case { env, ..case(name, r#".file("kernels/add.cu").archs(["gfx90a", "compute_80", "cpu"])"#, says) }
}

/// A build for the targets of other programs' variables.
const fn with_field(
    name: &'static str,
    env: &'static [(&'static str, &'static str)],
    says: &'static [&'static str],
) -> Case {
    Case { env, ..case(name, r#".file("kernels/add.cu")"#, says) }
}

const BUILD_CASES: &[Case] = &[
    // Names of targets.
    case(
        "unknown-amd",
        r#".file("kernels/add.cu").archs(["gfx90a", "gfx9999"])"#,
        &["no image for gfx9999: {clang} refuses it", "error: unsupported HIP gpu architecture: gfx9999"],
    ),
    case(
        "unknown-ptx",
        r#".file("kernels/add.cu").archs(["compute_999"])"#,
        &["no image for compute_999: {clang} refuses it", "error: unsupported CUDA gpu architecture: sm_999"],
    ),
    case(
        "feature",
        r#".file("kernels/add.cu").archs(["gfx1100:xnack+"])"#,
        &["the target 'gfx1100:xnack+' (from build.rs) names the feature 'xnack', which gfx1100 does not have"],
    ),
    case(
        "no-sign",
        r#".file("kernels/add.cu").archs(["gfx90a:xnack"])"#,
        &["a target from build.rs: 'gfx90a:xnack': a feature is a name followed by '+' or '-', such as 'xnack-'"],
    ),
    case(
        "short",
        r#".file("kernels/add.cu").archs(["sm_9"])"#,
        &["a target from build.rs: 'sm_9': expected a compute capability such as 80, 90a or 121"],
    ),
    case(
        "nonsense",
        r#".file("kernels/add.cu").archs(["nonsense"])"#,
        &["a target from build.rs: 'nonsense': not a target: expected an AMD target ID (gfx90a, gfx942:xnack-"],
    ),
    with_env(
        "malformed-variable",
        &[("OFFLOAD_ARCH", "cpu,gpu")],
        &["a target from OFFLOAD_ARCH: 'gpu': not a target"],
    ),
    with_env(
        "malformed-own-variable",
        &[("OFFLOAD_ARCH_errors_build", "host"), ("OFFLOAD_ARCH", "cpu")],
        &["a target from OFFLOAD_ARCH_errors_build: 'host': not a target"],
    ),
    case(
        "conflict",
        r#".file("kernels/add.cu").archs(["gfx90a", "cpu", "gfx90a:xnack+"])"#,
        &[
            "the targets 'gfx90a' and 'gfx90a:xnack+' (from build.rs) may not stand in one pack: some devices fit both",
            "such as 'gfx90a:xnack+' and 'gfx90a:xnack-'",
        ],
    ),
    case(
        "generic-version",
        r#".file("kernels/add.cu").code_object_version(5).archs(["gfx11-generic"])"#,
        &["the target 'gfx11-generic' (from build.rs) needs code object version 6, and build.rs asks for 5"],
    ),
    case(
        "no-targets",
        r#".file("kernels/add.cu")"#,
        &[
            "no targets: build.rs names none and OFFLOAD_ARCH is not set, nor is a variable such as",
            ".archs([\"gfx90a\", \"sm_80\", \"cpu\"])",
        ],
    ),
    with_env("empty-list", &[("OFFLOAD_ARCH", " ; ")], &["no targets: OFFLOAD_ARCH is an empty list"]),
    case(
        "number",
        r#".file("kernels/add.cu").archs(["80-virtual"])"#,
        &["a target from build.rs: '80-virtual': not a target", "write compute_80"],
    ),
    with_env("torchs-words", &[("OFFLOAD_ARCH", "9.0+PTX")], &["write sm_90 and compute_90"]),
    with_field(
        "bad-cmake",
        &[("CUDAARCHS", "80;9x-real")],
        &[
            "CUDAARCHS is '80;9x-real': '9x-real' is not understood; it lists what CMake's CUDA_ARCHITECTURES does: 80, ",
        ],
    ),
    with_field(
        "bad-torch",
        &[("TORCH_CUDA_ARCH_LIST", "8.0 Ampere")],
        &["TORCH_CUDA_ARCH_LIST is '8.0 Ampere': 'Ampere' is not understood", "write the numbers"],
    ),
    with_field(
        "bad-cap",
        &[("CUDA_COMPUTE_CAP", "80-real")],
        &["CUDA_COMPUTE_CAP is '80-real': '80-real' is not understood; it lists compute capabilities: 80, 90a, 8.6"],
    ),
    with_field(
        "bad-amd-list",
        &[("AMDGPU_TARGETS", "gfx90a;all")],
        &["AMDGPU_TARGETS is 'gfx90a;all': 'all' is not understood; it lists AMD target IDs"],
    ),
    with_field(
        "off",
        &[("CUDAARCHS", "OFF")],
        &["no targets: build.rs names none, OFFLOAD_ARCH is not set, and CUDAARCHS is 'OFF'"],
    ),
    with_field(
        "unknown-in-variable",
        &[("CUDAARCHS", "999-real"), ("AMDGPU_TARGETS", "gfx9999")],
        &["no image for sm_999: {clang} refuses it", "no image for gfx9999: {clang} refuses it"],
    ),
    // Sources and names.
    case("no-source", r#".archs(["gfx90a"])"#, &["no sources: name one with .file(\"kernels/saxpy.cu\")"]),
    case(
        "missing-source",
        r#".files(["kernels/add.cu", "kernels/absent.cu"]).archs(["gfx90a"])"#,
        &["the source kernels/absent.cu is not there (paths are relative to {folder})"],
    ),
    case(
        "kernels/add",
        r#".file("kernels/add.cu").archs(["gfx90a"])"#,
        &["a pack's name has letters, digits, '_' and '-'; 'kernels/add' does not"],
    ),
    case(
        "other-language",
        r#".files(["kernels/add.cu", "kernels/add.metal"]).archs(["gfx90a"])"#,
        &[
            "no language goes by the extension of kernels/add.metal: there are .cu .hip .cl .c .ll .bc .s .ptx .hsaco",
            "Otherwise name it: Source::new(\"kernels/add.metal\").language(Language::Cuda)",
        ],
    ),
    // Modules.
    case(
        "same-module",
        r#".modules(["kernels/add.cu", "kernels/more/add.cu"]).archs(["gfx90a"])"#,
        &[
            "two modules of the pack are called \"add\": kernels/add.cu and kernels/more/add.cu",
            ".module(Module::new(\"add_2\").file(\"kernels/more/add.cu\"))",
        ],
    ),
    case(
        "module-name",
        r#".modules(["kernels/add.v2.cu"]).archs(["gfx90a"])"#,
        &["a module's name has letters, digits, '_' and '-'; \"add.v2\", of kernels/add.v2.cu, does not"],
    ),
    case(
        "empty-module",
        r#".module(offload_build::Module::new("none")).archs(["gfx90a"])"#,
        &["the module \"none\" has no sources: name one with .file(...)"],
    ),
    case(
        "no-target-left",
        r#".file("kernels/add.cu").module(offload_build::Module::new("fp8")
            .file(offload_build::Source::new("kernels/bad.cu").targets([">=sm_90"])).targets(["nvidia"]))
            .archs(["gfx90a", "compute_80"])"#,
        &[
            "no target is left for the module \"fp8\": the module is for nvidia, as build.rs says; \
             kernels/bad.cu is for >=sm_90, as build.rs says; the list is gfx90a, compute_80.",
            ".allow_empty()",
        ],
    ),
    case(
        "no-target-at-all",
        r#".module(offload_build::Module::new("fp8").file("kernels/add.cu").targets(["sm_90a"]).allow_empty())
            .archs(["gfx90a", "compute_80"])"#,
        &["no module is for any of the targets gfx90a, compute_80"],
    ),
    case(
        "selector",
        r#".file("kernels/add.cu").flag_for("AMD", "-DX").archs(["gfx90a"])"#,
        &["'AMD' selects no targets: 'AMD': not a target: expected an AMD target ID"],
    ),
    case(
        "selector-without-order",
        r#".file(offload_build::Source::new("kernels/add.cu").targets([">=gfx90a"])).archs(["gfx90a"])"#,
        &["'>=gfx90a' selects no targets: behind '>=' stands sm_ and a number"],
    ),
    case(
        "excluded-nothing",
        r#".file("kernels/add.cu").exclude("kernels/dad.cu").archs(["gfx90a"])"#,
        &["'kernels/dad.cu' excludes nothing: no source has this path"],
    ),
    case(
        "excluded-all",
        r#".file("kernels/add.cu").exclude("kernels/*.cu").archs(["gfx90a"])"#,
        &["no sources: name one with .file(\"kernels/saxpy.cu\")"],
    ),
    // Languages.
    case(
        "language-of-others",
        r#".modules(["kernels/open.cl"]).archs(["gfx90a", "cpu"])"#,
        &["kernels/open.cl is OpenCL C, which is not built for cpu. If it is for other targets only, say so: \
             Source::new(\"kernels/open.cl\").targets([\"amd\", \"nvidia\"])"],
    ),
    case(
        "opencl-library",
        r#".file("kernels/open.cl").archs(["gfx90a"])"#,
        &["ld.lld: error: undefined hidden symbol: get_global_id(unsigned int)"],
    ),
    case(
        "ready-made-linked",
        r#".files(["kernels/add.cu", "kernels/text.ptx"]).archs(["compute_80"])"#,
        &[
            "for compute_80, the module \"ready-made-linked\" has kernels/text.ptx, which is PTX and cannot be linked with \
             kernels/add.cu; make it a module of its own",
        ],
    ),
    case(
        "assembly-linked",
        r#".files(["kernels/add.cu", "kernels/add.s"]).archs(["gfx90a"])"#,
        &["kernels/add.s, which is AMD assembly with kernels and cannot be linked with kernels/add.cu"],
    ),
    case(
        "ready-made-for-others",
        r#".modules(["kernels/text.ptx"]).archs(["compute_90", "sm_75", "gfx90a"])"#,
        &[
            "no target is left for the module \"text\": kernels/text.ptx is PTX for compute_80, which can become machine \
             code from sm_80 on; the list is compute_90, sm_75, gfx90a.",
        ],
    ),
    case(
        "no-image",
        r#".file("kernels/noise.hsaco").archs(["gfx90a"])"#,
        &[
            "kernels/noise.hsaco has no image that could be taken as it is; what there is: something that cannot be read (",
        ],
    ),
    case("bundle-without-feature", r#".file("kernels/cut.hipfb").archs(["gfx90a"])"#, NEEDS_CONTAINERS),
    case(
        "compressed-bundle-without-feature",
        r#".file("kernels/compressed.hipfb").archs(["gfx90a"])"#,
        NEEDS_CONTAINERS,
    ),
    case(
        "no-ptx",
        r#".file("kernels/noise.ptx").archs(["compute_80"])"#,
        &["the source kernels/noise.ptx is no PTX: "],
    ),
    case(
        "ir-of-a-cpu",
        r#".file("kernels/host.ll").archs(["gfx90a"])"#,
        &["the source kernels/host.ll is for x86_64-unknown-linux-gnu, as its target triple says, and no GPU's"],
    ),
    case(
        "required-kernel",
        r#".file("kernels/add.cu").requires_kernel("sub").archs(["gfx90a", "compute_80", "cpu"])"#,
        &["build.rs requires kernels of the module \"required-kernel\":\n  \
             the image for gfx90a has no kernel sub; it has add\n  \
             the image for compute_80 has no kernel sub; it has add"],
    ),
    case(
        "include",
        r#".file("kernels/add.cu").archs(["gfx90a"])"#,
        &["'include' cannot be a pack's name: the kernel header's folder has it"],
    ),
    case(
        "spirv",
        r#".file("kernels/add.cu").archs(["amdgcnspirv"])"#,
        &["the target 'amdgcnspirv' (from build.rs) is SPIR-V, which this version does not make"],
    ),
    with_env("skip-value", &[("OFFLOAD_SKIP", "yes")], &["OFFLOAD_SKIP is 'yes'; it can be 1 or 0"]),
    // Compilers that refuse a source.
    ran(
        "bad-amd",
        r#".file("kernels/bad.cu").archs(["gfx90a"])"#,
        &[
            "kernels/bad.cu:4:13: error: use of undeclared identifier 'undeclared'",
            "generated when compiling for gfx90a.",
        ],
    ),
    ran(
        "bad-ptx",
        r#".files(["kernels/add.cu", "kernels/bad.cu"]).archs(["compute_80"])"#,
        &[
            "kernels/bad.cu:4:13: error: use of undeclared identifier 'undeclared'",
            "generated when compiling for sm_80.",
        ],
    ),
    ran(
        "bad-cpu",
        r#".file("kernels/bad.cu").archs(["cpu"])"#,
        &["kernels/bad.cu:4:13: error: 'undeclared' was not declared in this scope"],
    ),
    ran(
        "bad-option",
        r#".file("kernels/add.cu").flag("-DBROKEN").archs(["gfx90a", "compute_80", "cpu"])"#,
        &["kernels/add.cu:7:2: error: "],
    ),
    // A function that no file defines.
    case(
        "undefined-amd",
        r#".file("kernels/open.cu").archs(["gfx90a"])"#,
        &["ld.lld: error: undefined hidden symbol: twice"],
    ),
    case("undefined-ptx", r#".file("kernels/open.cu").archs(["compute_80"])"#, &["twice"]),
    case("undefined-cpu", r#".file("kernels/open.cu").archs(["cpu"])"#, &["undefined reference to `twice(float)'"]),
    ran("dynamic-shared-cpu", r#".file("kernels/dynamic.cu").archs(["cpu"])"#, &["undefined reference to `tile'"]),
    // Compilers, and what stands in for them.
    with_env(
        "no-such-clang",
        &[("OFFLOAD_CLANG", "/nowhere/clang")],
        &["OFFLOAD_CLANG names /nowhere/clang, which cannot be used: there is no such file"],
    ),
    with_env(
        "no-such-ptxas",
        &[("OFFLOAD_PTXAS", "/nowhere/ptxas"), ("OFFLOAD_ARCH", "sm_80")],
        &["OFFLOAD_PTXAS names /nowhere/ptxas, which is no file"],
    ),
    with_env(
        "no-such-cxx",
        &[("CXX", "/nowhere/c++"), ("OFFLOAD_ARCH", "cpu")],
        &["the target 'cpu' needs a C++ compiler for ", "apt install g++", "or name it in CXX"],
    ),
    with_env(
        "jobs-value",
        &[("OFFLOAD_JOBS", "0")],
        &["OFFLOAD_JOBS is '0'; it is how many compilers may run at a time"],
    ),
    with_env(
        "prebuilt-value",
        &[("OFFLOAD_PREBUILT", "yes")],
        &["OFFLOAD_PREBUILT is 'yes'; it can be update, only or never"],
    ),
    with_env(
        "prebuilt-update-of-some",
        &[("OFFLOAD_PREBUILT", "update"), ("OFFLOAD_ARCH", "gfx90a")],
        &["OFFLOAD_PREBUILT is 'update'; a prebuilt set is made for the targets of build.rs: unset OFFLOAD_ARCH"],
    ),
    Case {
        env: &[("OFFLOAD_PREBUILT", "update")],
        ..case(
            "prebuilt-update-of-native",
            r#".file("kernels/add.cu").archs(["cpu"]).native_or(["gfx90a"])"#,
            PREBUILT_OF_THIS,
        )
    },
    with_field(
        "prebuilt-update-of-variables",
        &[("OFFLOAD_PREBUILT", "update"), ("AMDGPU_TARGETS", "gfx90a")],
        PREBUILT_OF_THIS,
    ),
    with_env(
        "prebuilt-update-in-dev",
        &[("OFFLOAD_PREBUILT_errors_build", "update")],
        &["OFFLOAD_PREBUILT_errors_build is 'update'; a prebuilt set is made with optimization: build with --release"],
    ),
    with_env(
        "prebuilt-only",
        &[("OFFLOAD_PREBUILT", "only")],
        &["no image for gfx90a, compute_80: OFFLOAD_PREBUILT=only", "the package has no prebuilt set in prebuilt/"],
    ),
    ONLY_PREBUILT_CUDA,
];

/// Nothing is looked for that would only compile it.
const ONLY_PREBUILT_CUDA: Case = Case {
    env: &[("OFFLOAD_PREBUILT", "only"), ("NVCC", "/nowhere/nvcc")],
    ..case(
        "prebuilt-only-with-cuda",
        r#".file("kernels/add.cu").compiler(offload_build::Compiler::ClangCuda).archs(["compute_80"])"#,
        &["no image for compute_80: OFFLOAD_PREBUILT=only", "the package has no prebuilt set in prebuilt/"],
    )
};

const PREBUILT_OF_THIS: &[&str] =
    &["OFFLOAD_PREBUILT is 'update'; a prebuilt set is made for the targets that build.rs names, as in \
     .archs([\"gfx90a\", \"sm_80\"]): 'native', and variables such as CUDAARCHS, mean others on other machines"];

const NEEDS_CONTAINERS: &[&str] = &[
    " cannot be taken apart: offload-build reads fatbins, bundles, offload binaries and archives with its feature `containers`:\n",
    "  offload-build = { version = \"0.1\", features = [\"containers\"] }",
];

const CONTAINER_CASES: &[Case] = &[
    case(
        "cut-bundle",
        r#".file("kernels/cut.hipfb").archs(["gfx90a"])"#,
        &["the source kernels/cut.hipfb cannot be taken apart: "],
    ),
    case(
        "compressed-without-feature",
        r#".file("kernels/compressed.hipfb").archs(["gfx90a"])"#,
        &[
            "the source kernels/compressed.hipfb cannot be taken apart: ",
            "offload-build reads compressed files with its feature `compression`",
        ],
    ),
];

const PTXAS_CASES: &[Case] = &[
    case(
        "unknown-cubin",
        r#".file("kernels/add.cu").archs(["compute_80", "sm_999"])"#,
        &["no image for sm_999: {clang} refuses it", "clang: error: unsupported CUDA gpu architecture: sm_999"],
    ),
    // clang 22 knows sm_70 still, ptxas 13 no more.
    case(
        "forgotten-cubin",
        r#".file("kernels/add.cu").archs(["compute_80", "sm_70"])"#,
        &[
            "no image for sm_70: {ptxas} refuses it",
            "ptxas fatal   : Value 'sm_70' is not defined for option 'gpu-name'",
        ],
    ),
    ran(
        "undefined-cubin",
        r#".file("kernels/open.cu").archs(["sm_80"])"#,
        &["ptxas fatal   : Unresolved extern function '_Z5twicef'"],
    ),
];

/// Compilers of which the driver is LLVM's, and what compiles is a script.
fn stand_ins() {
    let package = Package::new("errors_stand_ins");
    package.write("src/lib.rs", "").write("kernels/add.cu", KERNEL).write(
        "build.rs",
        "fn main() {\n    println!(\"cargo::rerun-if-env-changed=AGAIN\");\n    \
         offload_build::Build::new().file(\"kernels/add.cu\").archs([\"gfx90a\"]).compile(\"add\");\n}\n",
    );
    let clang = package.folder.join("clang");
    let out = |extension: &str| format!("/offload/add/work/gfx90a.{extension}");
    // What the script does in place of compiling, and what is said: how it ended, and in half a sentence what to do.
    let cases: &[(&str, &[&str])] = &[
        ("kill -9 $$", &["clang was killed by signal 9 (SIGKILL): ", "memory runs out; OFFLOAD_JOBS=1"]),
        ("kill -15 $$", &["clang was killed by signal 15 (SIGTERM): somebody stopped it"]),
        (
            "echo 'Stack dump:' >&2; kill -11 $$",
            &["Stack dump:\n", "clang crashed with signal 11 (SIGSEGV): ", "another version"],
        ),
        ("kill -6 $$", &["clang crashed with signal 6 (SIGABRT): that is a fault of the compiler"]),
        (
            "sh -c 'kill -9 $$'; exit $?",
            &["ended with exit status: 137 (128 + 9: a program that it started was killed"],
        ),
        ("exit 3", &["clang ended with exit status: 3 and printed nothing (there is no input"]),
        (
            "read line || { echo 'no answer'; exit 4; }",
            &["no answer\n", "clang ended with exit status: 4; the command"],
        ),
        ("exit 0", &["clang ended as if all were well, but did not write ", &out("0.bc")]),
        ("for out; do :; done; : > \"$out\"", &["ended as if all were well, but wrote nothing into ", &out("0.bc")]),
    ];
    let mut problems = Vec::new();
    for (number, (does, says)) in cases.iter().enumerate() {
        let script = format!(
            "#!/bin/sh\ncase \"$*\" in *-###*|*--version*|*-print-prog-name*) exec '{}' \"$@\";; esac\n{does}\n",
            llvm_bin().join("clang").display()
        );
        fs::write(&clang, script).expect("the package can be written");
        succeed(Command::new("chmod").arg("+x").arg(&clang));
        let mut command = cargo_build(&package);
        let output = command.env("OFFLOAD_CLANG", &clang).env("AGAIN", number.to_string()).output();
        let output = output.expect("cargo starts");
        let checked = message(&output, "add").and_then(|message| {
            // The path is in the command line, too.
            let (before, command) = message.split_once("; the command was\n  ").ok_or("no command line")?;
            (command.lines().count() == 1).then_some(()).ok_or("something follows the command line")?;
            let before = format!("{before}; the command");
            says.iter().try_for_each(|sentence| once(&before, sentence))
        });
        if let Err(problem) = checked {
            problems.push(format!("==== {does}: {problem}\n{}", printed(&output)));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

fn colour() {
    let package = Package::new("errors_colour");
    package
        .write("src/lib.rs", "")
        .write("kernels/bad.cu", KERNEL.replace("y[i] += x", "y[i] += undeclared * x"))
        .write(
            "build.rs",
            "fn main() {\n    offload_build::Build::new().file(\"kernels/bad.cu\")\
             .archs(std::env::var(\"FOR\")).compile(\"bad\");\n}\n",
        );
    for (target, plain) in [("gfx90a", "error: use of undeclared"), ("cpu", "error: 'undeclared'")] {
        let build = |when: &str| {
            let mut command = cargo_build(&package);
            let output = command.env("FOR", target).env("CARGO_TERM_COLOR", when).output().expect("cargo starts");
            // Cargo's own words are in colour, too.
            let text = stderr(&output);
            text.split_once("could not make the pack").expect("offload-build's message").1.to_owned()
        };
        let (never, always) = (build("never"), build("always"));
        assert!(never.contains(plain) && !never.contains('\u{1b}'), "{never}");
        let diagnostic = always.split("the command was").next().expect("text");
        assert!(diagnostic.contains("kernels/bad.cu:4:13:") && diagnostic.contains("\u{1b}["), "{always}");
        // The command is the one that is run without.
        assert!(!always.contains("diagnostics-color"), "{always}");
    }
}

/// Where a folder should be there is a file, which stops root, too.
fn no_out_dir() {
    let package = Package::new("errors_out_dir");
    package.write("src/lib.rs", "").write("kernels/add.cu", KERNEL).write(
        "build.rs",
        "fn main() {\n    let out = std::env::var(\"OUT_DIR\").unwrap();\n    \
         let _ = std::fs::remove_dir_all(format!(\"{out}/offload\"));\n    \
         std::fs::write(format!(\"{out}/offload\"), \"\").unwrap();\n    \
         offload_build::Build::new().file(\"kernels/add.cu\").archs([\"gfx90a\"]).compile(\"add\");\n}\n",
    );
    let output = cargo_build(&package).output().expect("cargo starts");
    let checked = message(&output, "add").and_then(|message| {
        ["could not make the folder ", "/out/offload\n", "caused by: "].iter().try_for_each(|it| once(&message, it))
    });
    assert_eq!(checked, Ok(()), "{}", printed(&output));
}

fn build_script_errors(package_name: &str, cases: &[Case]) {
    build_script_errors_of(&Package::new(package_name), cases);
}

fn build_script_errors_of(package: &Package, cases: &[Case]) {
    let mut build = "fn main() {\n    println!(\"cargo::rerun-if-env-changed=CASE\");\n    \
                     let case = std::env::var(\"CASE\").unwrap();\n    match &*case {\n"
        .to_owned();
    for Case { name, build: calls, .. } in cases {
        build += &format!("        {name:?} => offload_build::Build::new(){calls}.compile(&case),\n");
    }
    build += "        _ => panic!(\"no such case\"),\n    };\n}\n";
    package
        .write("build.rs", build)
        .write("src/lib.rs", "")
        .write(
            "kernels/add.cu",
            format!(
                "{KERNEL}#ifdef BROKEN\n#error \"one line of 150 columns: {} to its end\"\n#endif\n",
                "long ".repeat(24)
            ),
        )
        .write(
            "kernels/dynamic.cu",
            KERNEL
                .replace("y[i] += x", "y[i] += tile[i] * x")
                .replace("  int i", "  extern __shared__ float tile[];\n  int i"),
        )
        .write("kernels/add.metal", KERNEL)
        .write("kernels/more/add.cu", KERNEL)
        .write("kernels/add.v2.cu", KERNEL)
        .write("kernels/open.cl", "kernel void add(global float *y) { y[get_global_id(0)] += 1; }\n")
        .write("kernels/text.ptx", ".version 7.0\n.target sm_80\n.address_size 64\n")
        .write("kernels/add.s", ".amdhsa_kernel add\n")
        .write("kernels/noise.hsaco", "noise")
        .write("kernels/noise.ptx", "noise")
        .write("kernels/cut.hipfb", "__CLANG_OFFLOAD_BUNDLE__\u{1}")
        .write(
            "kernels/compressed.hipfb",
            data::read(scratch::workspace().join("tests/corpus/compressed/v3_zstd.ccob")),
        )
        .write("kernels/host.ll", "target triple = \"x86_64-unknown-linux-gnu\"\n")
        .write("kernels/bad.cu", KERNEL.replace("y[i] += x", "y[i] += undeclared * x"))
        .write(
            "kernels/open.cu",
            "__device__ float twice(float x);\n".to_owned() + &KERNEL.replace("x[i]", "twice(x[i])"),
        );

    let mut problems = Vec::new();
    for case in cases {
        let mut command = cargo_build(package);
        let output = command.env("CASE", case.name).envs(case.env.iter().copied()).output().expect("cargo starts");
        if let Err(problem) = check_case(case, package, &output) {
            problems.push(format!("==== {}: {problem}\n{}", case.name, printed(&output)));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

fn check_case(case: &Case, package: &Package, output: &Output) -> Result<(), String> {
    let name = case.name;
    let message = message(output, name)?;
    let ptxas = || cuda("ptxas").get_program().to_string_lossy().into_owned();
    for sentence in case.says {
        let mut sentence = sentence
            .replace("{clang}", &llvm_bin().join("clang").to_string_lossy())
            .replace("{folder}", &package.folder.to_string_lossy());
        if sentence.contains("{ptxas}") {
            sentence = sentence.replace("{ptxas}", &ptxas());
        }
        once(&message, &sentence)?;
    }
    if case.ran {
        check_tool_text(&message, package)?;
    }
    let out = out_dir(package).ok_or("no OUT_DIR")?;
    let library = format!("liboffload_{}_", name.replace('-', "_"));
    for path in files(&out) {
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        if file.ends_with(".part")
            || file == format!("{name}.index")
            || file == format!("{name}.pack")
            || file.starts_with(&library)
        {
            return Err(format!("{} was left behind", path.display()));
        }
    }
    Ok(())
}

/// What the build script printed to its standard error: only the message, under its headline.
fn message(output: &Output, pack: &str) -> Result<String, String> {
    if output.status.success() {
        return Err("the build succeeded".to_owned());
    }
    let text = stderr(output);
    let (_, script) = text.split_once("\n  --- stderr\n").ok_or("no standard error of a build script")?;
    // Cargo indents each line by two spaces.
    let script: Vec<&str> = script.lines().map(|line| line.strip_prefix("  ").unwrap_or(line)).collect();
    let script = script.join("\n").trim().to_owned();
    let headline = format!("error: offload-build could not make the pack \"{pack}\"\n");
    let message = script.strip_prefix(&headline).ok_or("the message does not start with its headline")?;
    if text.contains("rerun-if-env-changed=DOCS_RS") {
        return Err("what is for Cargo stands before the message".to_owned());
    }
    if text.matches("could not make the pack").count() != 1 || text.contains("panicked") {
        return Err("more than one message".to_owned());
    }
    Ok(message.to_owned())
}

fn once(text: &str, sentence: &str) -> Result<(), String> {
    match text.matches(sentence).count() {
        1 => Ok(()),
        count => Err(format!("{count} times in the message: {sentence}")),
    }
}

/// The message ends with a command. Run again by hand, it prints what the message shows, line by line.
fn check_tool_text(message: &str, package: &Package) -> Result<(), String> {
    let (before, command) = message.split_once("; the command was\n  ").ok_or("no command line in the message")?;
    if command.lines().count() != 1 {
        return Err("something follows the command line".to_owned());
    }
    let mut shell = Command::new("sh");
    // The build script's compilers speak English, too.
    let again = shell.arg("-c").arg(command).current_dir(&package.folder).env("LC_ALL", "C").output();
    let again = again.expect("the shell starts");
    if again.status.success() {
        return Err("the command succeeds when it is run by hand".to_owned());
    }
    let text = stderr(&again).trim_end().to_owned();
    if text.is_empty() {
        return Err("the command prints nothing when it is run by hand".to_owned());
    }
    once(message, &text)?;
    match before.strip_prefix(&text) {
        Some(rest) if rest.lines().count() == 2 && rest.contains(" ended with exit status: ") => Ok(()),
        _ => Err(format!("the message is not the tool's text, then one line:\n{before}")),
    }
}

/// `cargo build` with LLVM 22's clang.
fn cargo_build(package: &Package) -> Command {
    let mut command = package.cargo(&["build"]);
    command.env("OFFLOAD_CLANG", llvm_bin().join("clang"));
    command
}

/// The newest `OUT_DIR` of the package.
fn out_dir(package: &Package) -> Option<PathBuf> {
    let name = format!("{}-", package.folder.file_name()?.to_string_lossy());
    let builds = fs::read_dir(package.target.join("debug").join("build")).ok()?.flatten();
    builds
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(&name))
        .map(|entry| entry.path().join("out"))
        .filter(|out| out.is_dir())
        .max_by_key(|out| fs::metadata(out).and_then(|metadata| metadata.modified()).ok())
}

/// Every file under a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// A machine without CUDA: `PATH` has no ptxas, and no variable names one.
fn no_ptxas() {
    let package = Package::new("errors_no_ptxas");
    package.write("src/lib.rs", "").write("kernels/add.cu", KERNEL).write(
        "build.rs",
        r#"fn main() {
    offload_build::Build::new().file("kernels/add.cu").archs(["gfx90a", "sm_80", "compute_80", "sm_90"]).compile("add");
}
"#,
    );
    let path = std::env::var_os("PATH").expect("there is a PATH");
    let path = std::env::join_paths(std::env::split_paths(&path).filter(|folder| !folder.join("ptxas").is_file()));
    let build = |env: &[(&str, &str)]| {
        let mut command = cargo_build(&package);
        for variable in ["CUDA_HOME", "CUDA_PATH", "CUDA_ROOT", "CUDA_TOOLKIT_ROOT_DIR"] {
            command.env_remove(variable);
        }
        command.env("PATH", path.as_ref().expect("folders of PATH make a PATH"));
        command.envs(env.iter().copied()).output().expect("cargo starts")
    };
    let everywhere = [
        "no image for sm_80, sm_90: no ptxas was found (",
        "none in PATH",
        "none among Python's packages (nvidia/cu13/bin)",
        "install the CUDA toolkit and set CUDA_HOME",
        "name ptxas in OFFLOAD_PTXAS",
        "or list PTX",
    ];
    const ALL_UNSET: &str =
        "(OFFLOAD_PTXAS, CUDA_HOME, CUDA_PATH, CUDA_ROOT and CUDA_TOOLKIT_ROOT_DIR are not set; none in PATH, ";
    for (env, cuda_home, prebuilt) in [
        (&[][..], ALL_UNSET, "no prebuilt one: the package has no prebuilt set in prebuilt/"),
        (&[("CUDA_HOME", "/nowhere")], "no bin/ptxas in CUDA_HOME=/nowhere", "the package has no prebuilt set"),
        (&[("OFFLOAD_PREBUILT", "never")], ALL_UNSET, "no prebuilt one: OFFLOAD_PREBUILT"),
    ] {
        let output = build(env);
        let checked = message(&output, "add").and_then(|message| {
            everywhere.into_iter().chain([cuda_home, prebuilt]).try_for_each(|sentence| once(&message, sentence))
        });
        assert_eq!(checked, Ok(()), "{}", printed(&output));
    }
    // What needs no ptxas is built without.
    let output = build(&[("OFFLOAD_ARCH", "gfx90a compute_80")]);
    assert!(output.status.success(), "{}", printed(&output));
}

fn prebuilt_errors() {
    let package = Package::new("errors_prebuilt");
    package
        .write("src/lib.rs", "")
        .write("kernels/add.cu", format!("#include \"factor.h\"\n{}", KERNEL.replace("x[i]", "FACTOR * x[i]")))
        .write("include/factor.h", "#define FACTOR 2.0f\n")
        .write(
            "build.rs",
            r#"fn main() {
    println!("cargo::rerun-if-env-changed=MORE");
    let mut build = offload_build::Build::new();
    build.file("kernels/add.cu").include("include").archs(["gfx90a", "compute_80"]);
    if std::env::var_os("MORE").is_some() {
        build.define("MORE", None);
    }
    build.compile("add");
}
"#,
        );
    let build = |env: &[(&str, &str)]| cargo_build(&package).envs(env.iter().copied()).output().expect("cargo starts");
    succeed(cargo_build(&package).arg("--release").env("OFFLOAD_PREBUILT", "update"));
    const ONLY: (&str, &str) = ("OFFLOAD_PREBUILT", "only");
    let output = build(&[ONLY]);
    assert!(output.status.success(), "{}", printed(&output));
    let announced = "pack \"add\": gfx90a, compute_80 from prebuilt/, because OFFLOAD_PREBUILT=only";
    assert_eq!(once(&stderr(&output), announced), Ok(()), "{}", stderr(&output));

    /// What somebody does to a file of the package.
    enum Change {
        Append(&'static str),
        Line3(&'static str),
        Nothing,
        Remove,
    }
    use Change::{Append, Line3, Nothing, Remove};
    /// A file, what is done to it, the variables of the build after that, and what the build says.
    type Row = (&'static str, Change, &'static [(&'static str, &'static str)], &'static [&'static str]);
    const BOTH: &str = "no image for gfx90a, compute_80: OFFLOAD_PREBUILT=only";
    let rows: &[Row] = &[
        (
            "kernels/add.cu",
            Append("// a comment"),
            &[],
            &[BOTH, "kernels/add.cu has changed since prebuilt/add.manifest was made"],
        ),
        (
            "include/factor.h",
            Append("// a comment"),
            &[],
            &[BOTH, "include/factor.h has changed since prebuilt/add.manifest was made"],
        ),
        (
            "include/factor.h",
            Remove,
            &[],
            &[BOTH, "include/factor.h, an input of prebuilt/add.manifest, cannot be read"],
        ),
        (
            "prebuilt/add.gfx90a.hsaco",
            Append("more"),
            &[],
            &[
                "no image for gfx90a: OFFLOAD_PREBUILT=only",
                "prebuilt/add.gfx90a.hsaco is not the file that prebuilt/add.manifest speaks of",
            ],
        ),
        (
            "prebuilt/add.compute_80.ptx",
            Remove,
            &[],
            &["no image for compute_80: OFFLOAD_PREBUILT=only", "prebuilt/add.compute_80.ptx cannot be read"],
        ),
        (
            "prebuilt/add.manifest",
            Line3("optimisation 3"),
            &[],
            &["line 3 of prebuilt/add.manifest is not understood: 'optimisation 3'"],
        ),
        (
            "prebuilt/add.manifest",
            Nothing,
            &[("MORE", "1")],
            &[BOTH, "prebuilt/add.manifest was made with other options"],
        ),
        (
            "prebuilt/add.manifest",
            Nothing,
            &[("OFFLOAD_ARCH", "gfx90a,gfx942")],
            &["no image for gfx942: OFFLOAD_PREBUILT=only", "prebuilt/add.manifest has no image for it"],
        ),
    ];
    let mut problems = Vec::new();
    for (file, change, env, says) in rows {
        let path = package.folder.join(file);
        let before = fs::read(&path).unwrap_or_else(|error| panic!("{file}: {error}"));
        match change {
            Append(text) => fs::write(&path, [&before, text.as_bytes()].concat()),
            Nothing => Ok(()),
            Remove => fs::remove_file(&path),
            Line3(text) => {
                let mut lines: Vec<&str> = std::str::from_utf8(&before).expect("a manifest is text").lines().collect();
                lines[2] = text;
                fs::write(&path, lines.join("\n") + "\n")
            }
        }
        .expect("the package can be written");
        let mut all = vec![ONLY];
        all.extend(*env);
        let output = build(&all);
        let checked = message(&output, "add").and_then(|message| {
            // Each says what to do.
            says.iter().chain(&["OFFLOAD_PREBUILT=update"]).try_for_each(|sentence| once(&message, sentence))
        });
        if let Err(problem) = checked {
            problems.push(format!("==== {file}: {problem}\n{}", printed(&output)));
        }
        fs::write(&path, before).expect("the package can be written");
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    // All is as it was.
    let output = build(&[ONLY]);
    assert!(output.status.success(), "{}", printed(&output));
}

/// A program that embeds what `argument` names. The argument starts in line 3, column 43.
fn program(argument: &str) -> String {
    format!(
        "#![forbid(unsafe_code)]\nstatic PACK: offload_format::KernelPack =\n    \
         offload_embed_macro::include_offload!({argument});\nfn main() {{ println!(\"{{PACK:?}}\"); }}\n"
    )
}

fn macro_errors() {
    let package = Package::new("errors_macro");
    // One program for each way to go wrong. The first five packs are damaged below.
    let packs = ["cut", "magic", "image_line", "cut_index", "removed", "whole"];
    let cases: &[(&str, &str, &str, &[&str])] = &[
        (
            "cut",
            "\"cut\"",
            "43",
            &["liboffload_cut_", " bytes and should have ", "cut short or damaged", "must run again"],
        ),
        (
            "magic",
            "\"magic\"",
            "43",
            &["liboffload_magic_", "has no pack for .hip_fatbin at offset ", "must run again"],
        ),
        (
            "image_line",
            "\"image_line\"",
            "43",
            &["image_line.index: line 11 of the pack's index is not understood: 'image gfx90a x", "must run again"],
        ),
        (
            "cut_index",
            "\"cut_index\"",
            "43",
            &["cut_index.index: line 5 of the pack's index is not understood: ''", "must run again"],
        ),
        ("removed", "\"removed\"", "43", &["could not read ", "liboffload_removed_", "No such file", "must run again"]),
        (
            "unknown",
            "\"hole\"",
            "43",
            &[
                "there is no pack \"hole\" in ",
                "it has made \"cut\", \"cut_index\", \"image_line\", \"magic\", \"removed\", \"whole\"",
            ],
        ),
        (
            "file",
            "\"kernels/whole.cu\"",
            "43",
            &["'kernels/whole.cu' is a file name, and a pack is meant", "such as \"whole\""],
        ),
        ("constant", "NAME", "43", &["takes the name of a pack, include_offload!(\"saxpy\"), or "]),
        (
            "expression",
            "concat!(\"who\", \"le\")",
            "43",
            &["takes the name of a pack, include_offload!(\"saxpy\"), or "],
        ),
        ("number", "5", "43", &["takes the name of a pack, include_offload!(\"saxpy\"), or "]),
        ("nothing", "", "5", &["takes the name of a pack, include_offload!(\"saxpy\"), or "]),
        ("two", "\"whole\", \"cut\"", "52", &["include_offload! embeds one pack"]),
    ];
    let build = format!(
        "fn main() {{\n    for name in {packs:?} {{\n        \
         offload_build::Build::new().file(\"kernels/add.cu\").archs([\"gfx90a\"]).compile(name);\n    }}\n}}\n"
    );
    package.write("build.rs", &build).write("kernels/add.cu", KERNEL).write("src/bin/whole.rs", program("\"whole\""));
    for (name, argument, ..) in cases {
        package.write(&format!("src/bin/{name}.rs"), program(argument));
    }
    let build_program = |name: &str| cargo_build(&package).args(["--bin", name]).output().expect("cargo starts");

    let output = build_program("whole");
    assert!(output.status.success(), "{}", printed(&output));
    let folder = out_dir(&package).expect("the build script ran").join("offload");
    damage(&folder);

    let mut problems = Vec::new();
    for (name, _, column, says) in cases {
        let output = build_program(name);
        let text = stderr(&output);
        let place = format!(" --> src/bin/{name}.rs:3:{column}\n");
        let last = format!("could not compile `errors_macro` (bin \"{name}\") due to 1 previous error");
        let error = text.lines().find(|line| line.starts_with("error: ")).unwrap_or("");
        let checked = says.iter().try_for_each(|sentence| once(error, sentence));
        let checked = checked.and_then(|()| [&*place, &*last].into_iter().try_for_each(|line| once(&text, line)));
        if output.status.success() || checked.is_err() {
            problems.push(format!("==== {name}: {checked:?}\n{}", printed(&output)));
        }
    }
    // The cure that the messages name.
    package.write("build.rs", build + "// Changed.\n");
    for name in packs {
        let output = build_program(name);
        if !output.status.success() {
            problems.push(format!("==== {name} is still damaged:\n{}", printed(&output)));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// What a full disk, a crash or a curious user may do to the files in `OUT_DIR`.
fn damage(folder: &Path) {
    let library = |pack: &str| {
        let start = format!("liboffload_{pack}_");
        let mut all = files(folder).into_iter();
        let name = |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // What follows is a hash: 32 digits.
        all.find(|path| name(path).starts_with(&start) && name(path).len() == start.len() + 32 + 2)
            .unwrap_or_else(|| panic!("no library of {pack}"))
    };
    let edit = |path: &Path, change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        change(&mut bytes);
        fs::write(path, bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    };
    edit(&library("cut"), &|bytes| bytes.truncate(bytes.len() - 100));
    edit(&library("magic"), &|bytes| {
        let magic = b"__CLANG_OFFLOAD_BUNDLE__";
        let at = bytes.windows(magic.len()).position(|window| window == magic).expect("a bundle has its magic");
        bytes[at] = b'X';
    });
    edit(&folder.join("image_line.index"), &|bytes| {
        let text = String::from_utf8(bytes.clone()).expect("an index is text");
        *bytes = text.replace("image gfx90a ", "image gfx90a x").into_bytes();
    });
    edit(&folder.join("cut_index.index"), &|bytes| {
        let text = String::from_utf8(bytes.clone()).expect("an index is text");
        *bytes = text.lines().take(4).map(|line| format!("{line}\n")).collect::<String>().into_bytes();
    });
    fs::remove_file(library("removed")).expect("the library can be removed");
}

fn no_build_script() {
    let package = Package::new("errors_no_script");
    package.write("src/main.rs", program("\"saxpy\""));
    let output = package.cargo(&["build"]).output().expect("cargo starts");
    let text = stderr(&output);
    let checked = [
        "error: this package has no build script, so there are no packs; a build.rs makes one: ",
        ".compile(\"saxpy\")\n",
        " --> src/main.rs:3:43\n",
        "due to 1 previous error",
    ];
    let checked = checked.into_iter().try_for_each(|line| once(&text, line));
    assert_eq!(checked, Ok(()), "{text}");
}
