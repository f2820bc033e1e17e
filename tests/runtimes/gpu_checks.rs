//! The checks in `gpu/`, which wait for a GPU: on the CPU, and on a stand-in for NVIDIA's driver
//! whose launches compute on the CPU. A fault in the driver is a finding, each as itself.

use offload_tests::prelude::*;
use offload_tests::stand_ins::{Outcome, Staged, cuda_driver};
use serde_json::Value;

offload_tests::tests! {
    COMPILERS.slow() => [the_cpu_passes, a_driver_that_works_passes, each_fault_is_a_finding],
}

/// The program, with fewer images than it has for a real GPU, and the source of the right kernels
/// that its build script has written.
static PROGRAM: LazyLock<(PathBuf, String)> = LazyLock::new(|| {
    let gpu = workspace().join("gpu");
    let mut scenario = Scenario::new("gpu_checks");
    scenario.feature("offload-build", "compression").feature("offload-gpu", "zstd");
    scenario.manifest("dependencies", "libloading = \"0.9\"\nserde_json = \"1\"\n");
    for folder in ["src", "src/checks", "kernels"] {
        for file in fs::read_dir(gpu.join(folder)).expect("the folder is there").flatten() {
            if file.path().is_file() {
                let path = format!("{folder}/{}", file.file_name().display());
                scenario.write(&path, read(file.path()));
            }
        }
    }
    scenario.write("build.rs", read(gpu.join("build.rs")));
    // The package refers to files of `tests` by paths.
    let tests = scenario.folder.with_file_name("tests");
    let _ = fs::remove_file(&tests);
    scratch::symlink(workspace().join("tests"), tests).expect("the scratch folder can be written");
    // Only a build by offload-build defines what `extern __shared__` declares on the CPU.
    let without = "extern_shared_right given_extern_right";
    let archs = "sm_80 sm_90 compute_80 gfx90a cpu";
    scenario.build().env("OFFLOAD_ARCH", archs).env("GPU_CHECKS_WITHOUT", without).passes();
    let pack = scenario.output("debug", "each.pack");
    let out_dir = pack.parent().and_then(Path::parent).expect("a pack is in a folder of OUT_DIR");
    let pairs = fs::read_to_string(out_dir.join("pairs.cu")).expect("build.rs writes it");
    (scenario.program("debug", "gpu_checks"), pairs)
});

/// A folder with the stand-in, the library that computes for it, and the names of its kernels.
static DRIVER: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = cuda_driver("gpu-checks-driver", &["-ldl"]);
    let math = fs::read_to_string(workspace().join("gpu/kernels/math.cu")).expect("it is there");
    let functions = math.split("ONE(").skip(1).filter_map(|rest| rest.split_once(')'));
    let functions: Vec<&str> = functions.map(|(name, _)| name).filter(|it| *it != "name").collect();
    let pairs = PROGRAM.1.split("\nKERNEL(").skip(1).filter_map(|rest| rest.split_once(')'));
    let named = "probe tree_sum reverse transpose scan votes lanes atomics".split(' ');
    let named = named.chain(pairs.map(|(name, _)| name));
    let mut kernels: Vec<String> = named.map(str::to_owned).collect();
    let runs: String = kernels.iter().map(|name| format!("RUN({name})\n")).collect();
    let source = RUNS.replace("FOLDER", &workspace().display().to_string());
    scratch::write(folder.join("pairs.cu"), &PROGRAM.1);
    scratch::write(folder.join("kernels.cu"), source + &runs);
    kernels.extend(functions.iter().flat_map(|it| [format!("{it}_float"), format!("{it}_double")]));
    scratch::write(folder.join("kernels.txt"), kernels.join("\n"));
    let mut compiler = Command::new("g++");
    compiler.current_dir(&folder).args(["-x", "c++", "-std=c++17", "-O2", "-ffp-contract=off"]);
    compiler.args([
        "-fPIC",
        "-shared",
        "-fvisibility=hidden",
        "-include",
        "offload/kernel.h",
        "-I",
    ]);
    compiler.arg(workspace().join("offload-build/include"));
    succeed(compiler.args(["kernels.cu", "-o", "kernels.so", "-lm"]));
    folder
});

/// The kernels for the stand-in. Its mathematical functions are those of GPUs: on the CPU, the
/// header has the C library's.
const RUNS: &str = r#"#include <offload/math_angle.h>
#include <offload/math_exp.h>
namespace offload_math {
inline float sqrt(float x) { return ::sqrtf(x); }
inline double sqrt(double x) { return ::sqrt(x); }
} // namespace offload_math
#define OF(name, type)                                                                               \
  __global__ void name##_##type(const type *x, type *y, int n) {                                     \
    for (int i = int(blockIdx.x * blockDim.x + threadIdx.x); i < n; i += int(gridDim.x * blockDim.x)) \
      y[i] = offload_math::name(x[i]);                                                               \
  }                                                                                                  \
  RUN(name##_##type)
#define ONE(name) OF(name, float) OF(name, double)
#include "FOLDER/tests/src/stand_ins/run_kernels.h"
#include "FOLDER/gpu/kernels/math.cu"
#include "FOLDER/gpu/kernels/probe.cu"
#include "FOLDER/tests/builds/kernel_header/kernels.cu"
#include "pairs.cu"
"#;

/// Runs all checks on one device, with these variables; returns the outcome and the file with the
/// results.
fn all(device: &str, variables: &[(&'static str, &str)], options: &[&str]) -> (Outcome, Value) {
    let name =
        variables.iter().map(|(name, _)| *name).collect::<String>() + &device.replace(':', "-");
    let file = DRIVER.join(format!("{name}.json"));
    let mut staged = Staged::new(&PROGRAM.0, &DRIVER)
        .with("HIP_VISIBLE_DEVICES", "-1")
        .with("FAKE_GPU", "9.0")
        .with("FAKE_DRIVER", "13000")
        .with("FAKE_KERNELS", DRIVER.join("kernels.txt"))
        .with("FAKE_RUNS", DRIVER.join("kernels.so"));
    for (name, value) in variables {
        staged = staged.with(name, value);
    }
    let path = file.display().to_string();
    let arguments = [&["all", "--device", device, "--json", &path], options].concat();
    let outcome = staged.run(&arguments, &DRIVER.join(format!("{name}.log")));
    let record = serde_json::from_slice(&read(&file)).expect("JSON");
    (outcome, record)
}

/// Returns the result and the text of each check.
fn results(record: &Value) -> Vec<(&str, &str, &str)> {
    let checks = record["checks"].as_array().expect("a list");
    checks
        .iter()
        .map(|check| {
            let [name, result, text] = ["check", "result", "text"].map(|it| check[it].as_str());
            (name.expect("a name"), result.expect("a result"), text.unwrap_or_default())
        })
        .collect()
}

#[track_caller]
fn passes(record: &Value) {
    let results = results(record);
    assert!(results.len() >= 8, "{record:#}");
    assert!(results.iter().all(|(_, result, _)| *result == "ok"), "{record:#}");
}

fn the_cpu_passes() {
    let (outcome, record) = all("cpu", &[], &[]);
    assert_eq!(outcome.status, Some(3), "{outcome:#?}");
    outcome.prints("no GPU ran\n");
    passes(&record);
    assert_eq!(record["checks"][1]["figures"]["ran"], serde_json::json!(["cpu"]));
}

fn a_driver_that_works_passes() {
    let (outcome, record) = all("cuda:0", &[], &[]);
    assert_eq!(outcome.status, Some(0), "{outcome:#?}");
    outcome.keeps_the_rules();
    passes(&record);
    let images = &record["checks"][1]["figures"];
    assert_eq!(images["ran"], serde_json::json!(["sm_90", "compute_80"]));
    assert_eq!(images["refused by the driver, too"], 1);
    assert_eq!(record["devices"][0]["info"], "sm_90 (CUDA driver 13.0)");
}

/// A variable of the stand-in with its value, options of the program, and a part of the finding.
type Fault = (&'static str, &'static str, &'static [&'static str], &'static str);

const FAULTS: [Fault; 6] = [
    ("FAKE_KERNEL_END", "0", &[], "the image for sm_90: probe: value 0 is NaN, not 16.0"),
    (
        "FAKE_ERROR",
        "cuLibraryLoadData=200",
        &[],
        "the image for sm_90: cuda:0 (Fake GPU 9.0): could not load the sm_90 cubin",
    ),
    (
        "FAKE_ANY_IMAGE",
        "1",
        &[],
        "the image for sm_80: the driver loads it, and `select` refuses it",
    ),
    ("FAKE_SLOW", "60000", &["--seconds", "2"], "it took longer than 1 s and was ended"),
    ("FAKE_DIES", "cuLaunchKernel", &[], "its process died: signal: 6 (SIGABRT)"),
    (
        "FAKE_ERROR",
        "cuMemcpyDtoH_v2=719",
        &[],
        "cuMemcpyDtoH_v2 returned CUDA_ERROR_LAUNCH_FAILED (719)",
    ),
];

fn each_fault_is_a_finding() {
    for (name, value, options, finding) in FAULTS {
        let (outcome, record) = all("cuda:0", &[(name, value)], options);
        assert_eq!(outcome.status, Some(1), "{name}={value}: {outcome:#?}");
        let (check, result, text) = results(&record)[1];
        assert_eq!((check, result), ("images", "finding"), "{name}={value}");
        assert!(text.contains(finding), "{name}={value}: not {finding:?} in {text}");
    }
}
