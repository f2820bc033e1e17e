//! A package with files in three folders. The files in one folder need compute capability 8.0, and
//! the files in another need 9.0. nvcc, clang, the linker, `cuobjdump`, `roc-obj-ls`, a log of
//! nvcc's calls, and the program check the results.

use super::{RUNTIME, code_objects, kernels, results_of_a_launch};
use crate::HIP;
use crate::nvcc::rebuilds::LoggingToolkit;
use offload_tests::prelude::*;

/// The folders: name, number of files, and the files' lowest compute capability (80 means 8.0, and
/// 0 means any).
const FOLDERS: [(&str, usize, usize); 3] = [("common", 4, 0), ("marlin", 3, 80), ("fp8", 2, 90)];

const BUILD_SCRIPT: &str = r#"use offload_build::{Build, Compiler, Source};

/// Folders, the targets of their files, and the flag that reports whether they are built.
const FOLDERS: [(&str, Option<&str>, &str); 3] =
    [("common", None, ""), ("marlin", Some(">=sm_80"), "has_marlin"), ("fp8", Some(">=sm_90"), "has_fp8")];

fn main() {
    let mut build = Build::new();
    build
        .compiler(Compiler::Nvcc)
        .compiler(Compiler::ClangRocm)
        .include("kernels/include")
        .flag_for("nvidia", "--default-stream=per-thread")
        .max_parallel(2)
        .default_archs(["sm_75", "sm_80"]);
    let targets = build.resolve();
    for (folder, minimum, flag) in FOLDERS {
        println!("cargo::rerun-if-changed=kernels/{folder}");
        let is_built = targets.is_skipped() || minimum.is_none_or(|minimum| targets.any(minimum));
        if minimum.is_some() {
            println!("cargo::rustc-check-cfg=cfg({flag})");
        }
        if !is_built {
            continue;
        }
        if minimum.is_some() {
            println!("cargo::rustc-cfg={flag}");
        }
        let entries = std::fs::read_dir(format!("kernels/{folder}")).expect("the folder is there");
        let mut files: Vec<_> = entries.map(|entry| entry.expect("it can be read").path()).collect();
        files.retain(|file| file.extension().is_some_and(|extension| extension == "cu"));
        files.sort();
        for file in files {
            let mut source = Source::new(&file);
            source.supports(minimum);
            build.file(source);
        }
    }
    build.compile_static("quant");
}
"#;

/// Returns the names of a folder's files: `marlin_0`, `marlin_1`, ….
fn names(folder: &str, count: usize) -> impl Iterator<Item = String> {
    (0..count).map(move |index| format!("{folder}_{index}"))
}

/// Returns a source that compiles only for GPUs of at least this compute capability.
fn source(folder: &str, name: &str, minimum: usize) -> String {
    format!(
        "#include \"runtime.h\"\n#include \"{folder}.h\"\n\
         #if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < {minimum}0\n#error {name} is for newer GPUs\n#endif\n\
         extern \"C\" __global__ void {name}_kernel(float *x, int n) {{\n  \
           int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n)\n    x[i] *= FACTOR;\n}}\n\
         extern \"C\" int launch_{name}(float *x, int n) {{\n  {name}_kernel<<<1, 32>>>(x, n);\n  return (int)gpuGetLastError();\n}}\n"
    )
}

/// Returns the package with all folders. `common` is the number of files in the first folder. The
/// package's program prints each launcher's result.
fn package(name: &str, common: usize) -> Scenario {
    let scenario = Scenario::without_sources(name);
    scenario.write("build.rs", BUILD_SCRIPT).write("kernels/include/runtime.h", RUNTIME);
    let mut library = String::from(
        "use std::ffi::c_int;\n\ntype Launch = unsafe extern \"C\" fn(*mut f32, c_int) -> c_int;\n\n",
    );
    let mut lists = String::new();
    for (folder, count, minimum) in FOLDERS {
        let count = if minimum == 0 { common } else { count };
        scenario.write(&format!("kernels/include/{folder}.h"), "#define FACTOR 2.0f\n");
        let (mut declared, mut listed) = (String::new(), String::new());
        for name in names(folder, count) {
            scenario.write(&format!("kernels/{folder}/{name}.cu"), source(folder, &name, minimum));
            declared += &format!("    fn launch_{name}(x: *mut f32, n: c_int) -> c_int;\n");
            listed += &format!("(\"{name}\", launch_{name}), ");
        }
        let cfg = if minimum == 0 { String::new() } else { format!("#[cfg(has_{folder})]\n") };
        library += &format!("{cfg}unsafe extern \"C\" {{\n{declared}}}\n");
        lists += &format!("    {cfg}    all.extend([{listed}] as [(&str, Launch); {count}]);\n");
    }
    library += &format!(
        "\n/// Every launcher that was built.\npub fn launchers() -> Vec<(&'static str, Launch)> {{\n    \
         let mut all: Vec<(&str, Launch)> = Vec::new();\n{lists}    all\n}}\n"
    );
    scenario.write("src/lib.rs", library).write(
        "src/main.rs",
        format!(
            "fn main() {{\n    for (name, launch) in {name}::launchers() {{\n        \
               // SAFETY: a launch does not follow the pointer, and without elements neither does
               // the kernel.\n \
               println!(\"{{name}} {{}}\", unsafe {{ launch(std::ptr::null_mut(), 0) }});\n    }}\n}}\n"
        ),
    );
    scenario
}

#[test(NVCC.slow())]
fn files_are_compiled_for_the_gpus_that_they_are_for() {
    let [(common, of_all, _), (marlin, of_newer, _), (fp8, ..)] = FOLDERS;
    let scenario = package("launchers_quant", of_all);
    let toolkit = LoggingToolkit::new(&scenario);
    let started = || toolkit.calls().matches("start").count();
    let build = || scenario.build().arg("-j4").env("CUDA_HOME", &toolkit.root);
    build().passes();
    let calls = toolkit.calls();
    let started_first = calls.matches("start").count();
    assert_eq!(started_first, 2 * of_all + of_newer, "one nvcc for each file and target");
    // The build script lets two compilers run at the same time.
    let (mut running, mut most) = (0_usize, 0);
    for line in calls.lines() {
        running = if line == "start" { running + 1 } else { running - 1 };
        most = most.max(running);
    }
    assert_eq!((most, running), (2, 0), "{calls}");
    build().passes();
    assert_eq!(started(), 0, "nothing changed");

    let kernel = |name: String| name + "_kernel";
    let library = scenario.output("debug", "libquant.a");
    let of_common: Vec<String> = names(common, of_all).map(kernel).collect();
    assert_eq!(kernels(&library, "sm_75"), of_common);
    let of_both = of_common.into_iter().chain(names(marlin, of_newer).map(kernel));
    assert_eq!(kernels(&library, "sm_80"), of_both.collect::<Vec<_>>());

    let printed = scenario.start("debug").passes();
    for name in names(common, of_all).chain(names(marlin, of_newer)) {
        let result = printed.stdout.lines().find_map(|line| line.strip_prefix(&format!("{name} ")));
        assert!(result.is_some_and(|it| results_of_a_launch().contains(&it)), "{name}: {printed}");
    }
    printed.lacks(fp8);

    // If one folder's header changes, or a file is added, the build must compile only the affected
    // files.
    scenario.write("kernels/include/marlin.h", "#define FACTOR 3.0f\n");
    build().passes();
    assert_eq!(started(), of_newer, "a header of {marlin}");
    scenario.write("kernels/common/common_new.cu", source(common, "common_new", 0));
    build().passes();
    assert_eq!(started(), 2, "a new file for two targets");

    // If nothing is compiled, the build script sets the flags of all folders, so the package has
    // the functions of all files.
    let checked = scenario.check().env("OFFLOAD_SKIP", "1").arg("-v").passes();
    checked.has("--cfg has_marlin").has("--cfg has_fp8");
    let checked = build().arg("-v").passes();
    checked.has("--cfg has_marlin").lacks("--cfg has_fp8");
}

/// For AMD's GPUs, only the files in the folder `common` are compiled, because the other folders
/// are for NVIDIA's GPUs.
#[test(HIP.slow())]
fn the_files_for_all_gpus_are_compiled_for_amd() {
    const SOME: usize = 2;
    let scenario = package("launchers_quant_amd", SOME);
    scenario.build().env("OFFLOAD_ARCH", "gfx90a").env("ROCM_PATH", rocm()).passes();
    assert_eq!(code_objects(&scenario, "gfx90a"), SOME);
    let printed = scenario.start("debug").passes();
    printed.has("common_0 ").has(&format!("common_{} ", SOME - 1)).lacks(" 0\n").lacks("marlin");
}
