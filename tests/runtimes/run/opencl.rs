//! Tests of OpenCL devices. With a stand-in for the loader, the tests check which devices are
//! listed, and the reasons why others are not. With Intel's runtime for CPUs, they check handles
//! and limits.

use crate::guide::page::{Step, steps};
use offload_tests::intel;
use offload_tests::prelude::*;
use offload_tests::stand_ins::{Outcome, Staged, compile};

const FLOATS: &str = "extern \"C\" __global__ void scale(float *x) { x[threadIdx.x] *= 2; }\n";
const DOUBLES: &str = "extern \"C\" __global__ void twice(double *x) { x[threadIdx.x] *= 2; }\n";
const SHARED: &str = "extern __shared__ float tile[];
#define KERNEL(name, sign) \
  extern \"C\" __global__ void name(float *x) { \
    tile[threadIdx.x] = x[threadIdx.x]; \
    __syncthreads(); \
    x[threadIdx.x] = sign tile[15 - threadIdx.x]; \
  }
KERNEL(first, +)
KERNEL(second, -)
extern \"C\" __global__ void maybe(float *x, bool uses_it) {
  if (uses_it)
    tile[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = uses_it ? tile[255 - threadIdx.x] : -1;
}
";
const BUILD: &str = r#"
    Build::new().file("kernels/floats.cu").archs(["spirv64", "cpu"]).compile("floats");
    Build::new().file("kernels/doubles.cu").archs(["spirv64"]).compile("doubles");
    Build::new().file("kernels/shared.cu").archs(["spirv64"]).compile("shared");
"#;

/// The program for the stand-in and Intel's runtime, and its package.
static PROGRAM: LazyLock<(PathBuf, Scenario)> = LazyLock::new(|| {
    let scenario = Scenario::without_sources("run_opencl");
    scenario
        .write("src/main.rs", include_str!("program/opencl.rs"))
        .write("kernels/floats.cu", FLOATS)
        .write("kernels/doubles.cu", DOUBLES)
        .write("kernels/shared.cu", SHARED)
        .build_script(BUILD);
    scenario.build().passes();
    (scenario.program("debug", scenario.name()), scenario)
});

/// A folder with the stand-in for OpenCL's loader.
static LOADER: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = scratch::folder("run_opencl_loader");
    let flags = ["-shared", "-fPIC", "-Wl,-soname,libOpenCL.so.1"];
    compile("opencl.c", &flags, &folder.join("libOpenCL.so.1"));
    folder
});

/// Runs the program on fake GPUs.
fn on(gpus: &str, arguments: &[&str]) -> Outcome {
    let staged = Staged::new(&PROGRAM.0, &LOADER).with("FAKE_OPENCL", gpus);
    let staged = staged.with("CUDA_VISIBLE_DEVICES", "").with("HIP_VISIBLE_DEVICES", "-1");
    let first = gpus.split(',').next().unwrap_or_default();
    // Creating a scratch folder removes an earlier one with the same name, and tests run in
    // parallel. So each run needs its own name.
    let name = format!("run_opencl_log_{first}-{}", arguments.join("-"));
    staged.run(arguments, &scratch::folder(&name).join("log"))
}

/// Runs a program on Intel's runtime.
fn on_intel(program: &Path, arguments: &[&str]) -> Outcome {
    let variables = intel::variables().into_iter();
    let staged = Staged::new(program, &LOADER).with("OFFLOAD_DEVICE", "opencl:0");
    let staged = variables.fold(staged, |staged, (name, value)| staged.with(name, value));
    let name = format!("run_opencl_intel_{}", arguments.join("-"));
    staged.run(arguments, &scratch::folder(&name).join("log"))
}

const GPUS: &str = "First,SPIR-V_1.0 SPIR-V_1.4,cl_intel_unified_shared_memory cl_khr_fp16;\
                    Second,,cl_khr_fp64;Third,SPIR-V_1.2,cl_khr_fp64";

#[test(COMPILERS)]
fn a_device_tells_why_it_cannot_be_used() {
    on(GPUS, &["named", "opencl:0"]).succeeds().prints("opencl:0 (First)\n");
    for (name, why) in [
        ("opencl:1", "its driver does not compile SPIR-V"),
        ("opencl:2", "its driver lacks the extension cl_intel_unified_shared_memory"),
        ("opencl:3", "this machine's last OpenCL device is opencl:2"),
    ] {
        let error = format!("error: could not use the device \"{name}\": {why}\n");
        on(GPUS, &["named", name]).fails_with(&error);
    }
    let list = on(GPUS, &["list"]);
    list.succeeds()
        .prints("opencl:0: spirv64:float64-:atomics64-:ballot-:shuffle-:shuffle-relative- (SPIR-V up to 1.4)\n")
        // Unusable GPUs beside a usable one.
        .prints(
            "could not use opencl:1: its driver does not compile SPIR-V; \
             could not use opencl:2: its driver lacks the extension cl_intel_unified_shared_memory\n",
        );
    on("Second,,", &["list"])
        .succeeds()
        .prints("could not use opencl:0: its driver does not compile SPIR-V\n");
}

#[test(COMPILERS)]
fn an_image_needs_features_of_the_device() {
    let with_doubles = "A,SPIR-V_1.4,cl_intel_unified_shared_memory cl_khr_fp64";
    on(with_doubles, &["doubles"]).succeeds().prints("opencl:0 (A)\n");
    on(GPUS, &["doubles"])
        .complains("\n  spirv64  uses double (capability Float64), which the device lacks\n")
        .complains("error: could not find a device for the pack \"doubles\": no image fits\n");
}

/// Asserts that a module is compiled only once for each number of elements in dynamic shared
/// memory.
#[test(COMPILERS)]
fn kernels_share_the_forms_of_their_module() {
    on(GPUS, &["sizes"]).succeeds().logs(3, "program").logs(10, "launch of 16 threads");
}

#[test(COMPILERS)]
fn buffers_of_the_cpu_are_no_buffers_of_opencl() {
    let advice = "Copy its values to a buffer on this device, or pass its `device_address()` \
                  if this device can access that memory";
    let refused = |device: &str, other: &str| {
        format!(
            "{device}: could not launch scale: argument 1 is a buffer on a different device, {other}. {advice}\n"
        )
    };
    let text = refused("opencl:0 (First)", "cpu") + &refused("cpu (linux x86_64)", "opencl:0");
    on(GPUS, &["elsewhere"]).succeeds().prints(&text).logs(1, "launch of 1 threads");
}

#[test(COMPILERS)]
fn a_device_that_reports_no_limits_is_used() {
    let gpu = "A,SPIR-V_1.4,cl_intel_unified_shared_memory no_limits";
    on(gpu, &["sizes"]).succeeds().logs(10, "launch of 16 threads");
    on(gpu, &["allocate", "4097"]).fails_with(
        "error: opencl:0 (A): could not allocate 4097 bytes on the device: \
         clDeviceMemAllocINTEL returned CL_INVALID_BUFFER_SIZE (-61)\n",
    );
}

#[test(COMPILERS)]
fn an_allocation_that_is_too_large() {
    on(GPUS, &["allocate", "4096"]).succeeds().prints("4096 bytes\n");
    on(GPUS, &["allocate", "4097"]).fails_with(
        "error: opencl:0 (First): could not allocate 4097 bytes on the device: \
         clDeviceMemAllocINTEL returned CL_INVALID_BUFFER_SIZE (-61): \
         the device allows at most 4096 bytes in one allocation\nDivide the data among several buffers.\n",
    );
}

#[test(needs(&[Tool::Llvm22, Tool::Gcc, Tool::IntelOpenCl]))]
fn an_allocation_that_is_too_large_for_intels_runtime() {
    let failed = on_intel(&PROGRAM.0, &["allocate", "1000000000000"]);
    failed
        .fails_first_with("error: opencl:0 (")
        .complains("could not allocate 1000000000000 bytes on the device: clDeviceMemAllocINTEL returned CL_INVALID_BUFFER_SIZE (-61): the device allows at most ")
        .complains(" bytes in one allocation\nDivide the data among several buffers.\n");
}

/// Launches a kernel twice without dynamic shared memory. In the first launch, the kernel does not
/// use its array. In the second, 256 threads use 1 KiB of it.
#[test(needs(&[Tool::Llvm22, Tool::Gcc, Tool::IntelOpenCl]))]
fn a_launch_may_give_no_dynamic_shared_memory() {
    on_intel(&PROGRAM.0, &["none"]).succeeds().prints("[-1.0, -1.0]\n[255.0, 0.0]\n");
}

/// Asserts that OpenCL's handles behave as the documentation of `Loaded::raw_module` promises.
#[test(needs(&[Tool::Llvm22, Tool::Gcc, Tool::IntelOpenCl]))]
fn handles_are_as_documented() {
    let printed =
        "kernel \"scale\"\ndevices 1\nof the context 1\nreferences 1\nkernels \"scale\"\n";
    on_intel(&PROGRAM.0, &["raw"]).succeeds().prints(printed);
}

/// Runs the README's program and two examples. Only their lists of targets are changed.
#[test(needs(&[Tool::Llvm22, Tool::Gcc, Tool::IntelOpenCl]))]
fn programs_run_with_another_list_of_targets() {
    let root = scratch::workspace();
    let read = |path: &str| fs::read_to_string(root.join(path)).expect("the repository has it");
    let steps = steps(&root.join("README.md"));
    // Use the first text of each file. Later texts are for users who migrate from other crates.
    let block = |name: &str| {
        let mut files = steps.iter().filter_map(|step| match step {
            Step::File { path, text } if path == name => Some(text.clone()),
            _ => None,
        });
        files.next().expect("the README has the file")
    };
    let example = |name: &str, files: &[&str]| -> Vec<(String, String)> {
        files
            .iter()
            .map(|file| (file.to_string(), read(&format!("examples/{name}/{file}"))))
            .collect()
    };
    let readmes = ["src/main.rs", "kernels/saxpy.cu"].map(|name| (name.to_owned(), block(name)));
    let programs = [
        ("readme", "saxpy", readmes.to_vec(), &[][..], "): y[999] = 5\n"),
        (
            "saxpy",
            "saxpy",
            example(
                "saxpy",
                &[
                    "src/main.rs",
                    "src/args.rs",
                    "src/report.rs",
                    "src/saxpy.rs",
                    "kernels/saxpy.cu",
                ],
            ),
            &["--device", "opencl:0"],
            "Ran the spirv64 SPIR-V on opencl:0: all 1048576 elements are right.\n",
        ),
        (
            "one_source",
            "block_sum",
            example("one-source", &["src/main.rs", "kernels/block_sum.cu"]),
            &[],
            "The spirv64 SPIR-V computed the sums of blocks of ",
        ),
    ];
    for (name, pack, files, arguments, printed) in programs {
        let scenario = Scenario::without_sources(&format!("run_opencl_{name}"));
        for (path, text) in files {
            scenario.write(&path, text);
        }
        scenario.build_script(&format!(
            "Build::new().file(\"kernels/{pack}.cu\").archs([\"spirv64\"]).compile(\"{pack}\");"
        ));
        scenario.build().passes();
        let ran = on_intel(&scenario.program("debug", scenario.name()), arguments);
        let text = &ran.succeeds().stdout;
        assert!(text.contains(printed), "{name}: {text}");
    }
}

/// Runs an image from an earlier build twice: supplied to a build script, and embedded by its path.
#[test(needs(&[Tool::Llvm22, Tool::Gcc, Tool::IntelOpenCl]))]
fn supplied_images_run() {
    let mut scenario = Scenario::without_sources("run_opencl_supplied");
    scenario.feature("offload-gpu", "files");
    scenario
        .write("src/main.rs", SUPPLIED)
        .write("kernels/made.spv", PROGRAM.1.output_bytes("debug", "floats/spirv64.spv"))
        .build_script(
            "Build::new().file(\"kernels/made.spv\").archs([\"spirv64\"]).compile(\"made\");",
        );
    scenario.build().passes();
    let outcome = on_intel(&scenario.program("debug", scenario.name()), &["run"]);
    outcome.succeeds().prints("build script 2 4 6\nfile 4 8 12\n");
}

const SUPPLIED: &str = r#"
use offload_gpu::run::{Device, RunError};

mod made {
    offload_gpu::include_kernels!("made", extern {
        fn scale(x: *mut f32);
    });
}
mod file {
    offload_gpu::include_kernels!(path = "$CARGO_MANIFEST_DIR/kernels/made.spv", extern {
        fn scale(x: *mut f32);
    });
}

fn main() -> Result<(), RunError> {
    let device = Device::best_for(&made::PACK)?;
    let mut x = device.buffer(&[1.0_f32, 2.0, 3.0])?;
    // SAFETY: three threads access three elements.
    unsafe { made::scale(&mut x).launch(&device, 1, 3)? };
    let numbers = |x: Vec<f32>| x.iter().map(|x| format!(" {x}")).collect::<String>();
    println!("build script{}", numbers(x.to_vec()?));
    // SAFETY: three threads access three elements.
    unsafe { file::scale(&mut x).launch(&device, 1, 3)? };
    println!("file{}", numbers(x.to_vec()?));
    Ok(())
}
"#;
