//! Tests of `offload_gpu::run` with cudarc, cust and cubecl-hip-sys. These crates own the contexts,
//! memory and streams. `offload_gpu::run` only loads modules and launches kernels.

use super::{assert_expected, transcript};
use crate::examples::HIP_OF_THE_BINDING;
use offload_tests::prelude::*;
use offload_tests::stand_ins::{Outcome, Staged, cuda_driver, described, hsa};

/// Programs that use cudarc and cubecl-hip-sys, in the same versions as the examples.
static PROGRAMS: LazyLock<Scenario> = LazyLock::new(|| {
    let scenario = Scenario::empty("run_time_borrowed");
    scenario
        .write("Cargo.toml", MANIFEST)
        .write("src/bin/borrow_cuda.rs", include_str!("program/borrow_cuda.rs"))
        .write("src/bin/borrow_hip.rs", include_str!("program/borrow_hip.rs"))
        .write("src/bin/guide.rs", of_the_guide("use cudarc"))
        .write("examples/wrong.rs", WRONG)
        .write("kernels/math.cu", include_str!("program/kernels.cu"))
        .write("kernels/halves.cu", HALVES)
        // Without optimization, a kernel requests a service from the host that the stand-in lacks.
        .build_script(
            r#"Build::new().file("kernels/math.cu").archs(["sm_80", "gfx90a"]).opt_level(2).code_object_version(4).compile("math");
    Build::new().file("kernels/halves.cu").arch("sm_80").compile("halves");"#,
        )
        .patched();
    scenario.build().path(HIP_OF_THE_BINDING.clone()).passes();
    scenario
});

const HALVES: &str = r#"#include <cuda_fp16.h>

extern "C" __global__ void halve(int n, const __half *x, __half *y) {}
extern "C" __global__ void fours(const float4 *x, float4 *y) {}
"#;

/// Invalid launches. They are in an example of the package, because `cargo build` skips examples by
/// default.
const WRONG: &str = r#"
use cudarc::driver::{CudaSlice, CudaView, CudaViewMut};

mod kernels {
    offload_gpu::include_kernels!("math");
}

mod halves {
    offload_gpu::include_kernels!("halves");
}

fn wrong(x: &CudaSlice<f32>, y: &mut CudaSlice<f32>, view: CudaView<f32>, mut view_mut: CudaViewMut<f32>) {
    kernels::saxpy(1, 1.0, x, x);
    kernels::saxpy(1, 1.0, &view, &view);
    kernels::saxpy(1, 1.0, view, &mut view_mut);
}

fn wrong_types(x: &CudaSlice<f64>, y: &mut CudaSlice<u32>, shorts: &CudaSlice<i16>) {
    kernels::saxpy(1, 1.0, x, y);
    halves::halve(1, shorts, &mut y.slice_mut(1..));
}

fn wrong_vectors(x: &CudaSlice<f32>, y: &mut CudaSlice<f32>) {
    halves::fours(x, y);
}

fn main() {}
"#;

const MANIFEST: &str = r#"
[package]
name = "run_time_borrowed"
version = "0.1.0"
edition = "2024"

[dependencies]
offload-gpu = { version = "0.1", features = ["cudarc", "half"] }
cubecl-hip-sys = "7"
half = { version = "2", default-features = false }
cudarc = { version = "0.19", default-features = false, features = ["std", "driver", "nvrtc", "cuda-12000", "fallback-dynamic-loading"] }

[build-dependencies]
offload-build = "0.1"
"#;

/// Returns the code block that starts with this text from the guide's page about other crates.
fn of_the_guide(start: &str) -> String {
    let page = read(workspace().join("docs/guide/src/foreign.md"));
    let page = String::from_utf8(page).expect("pages are text");
    let mut blocks = page.split("```rust\n").skip(1).filter_map(|rest| rest.split("```").next());
    blocks.find(|block| block.starts_with(start)).expect("the page has this code").to_owned()
}

fn on_driver(libraries: &Path, program: &str, command: &str) -> Outcome {
    Staged::new(&PROGRAMS.program("debug", program), libraries)
        .with("FAKE_GPU", "8.0,8.6")
        .with("FAKE_KERNELS", libraries.join("kernels"))
        .with("HIP_VISIBLE_DEVICES", "-1")
        .run(&[command], &libraries.join(format!("{program}_{command}.log")))
}

/// Asserts that the program succeeds with this output. Returns the log's entries for the images
/// that it loaded.
#[track_caller]
fn loads<'o>(outcome: &'o Outcome, printed: &str) -> Vec<&'o str> {
    assert_eq!(outcome.succeeds().stdout, printed, "{outcome:#?}");
    let loads = outcome.logged("LoadData: ").into_iter();
    loads.map(|line| line.split(',').next().unwrap_or(line)).collect()
}

#[test(COMPILERS.slow())]
fn cudarc_shares_its_context() {
    let drivers = [
        ("cuLibraryLoadData", cuda_driver("run_time_borrowed_driver", &[])),
        ("cuModuleLoadData", cuda_driver("run_time_borrowed_old_driver", &["-DBEFORE_CUDA_12"])),
    ];
    for (load, libraries) in drivers {
        let on_gpu = |gpu: usize| format!("{load}: GPU {gpu}");
        for (command, printed, loaded) in [
            (
                "primary",
                "cuda:1 (Fake GPU 8.6): 1000 of 1000\ncuda:1 (Fake GPU 8.6): 1000 of 1000\n\
                 cuda:1 (Fake GPU 8.6): 1000 of 1000\n[1.0, 2.0]\n",
                vec![on_gpu(1)],
            ),
            ("own", "1000\n1000\n1\n1\n1000\n", vec![on_gpu(0); 2]),
            // Destroying a context also unloads its modules, so the image is loaded again for each
            // of the three contexts.
            ("again", "1000\n1000\n1000\ntrue\n", vec![on_gpu(0); 3]),
        ] {
            let outcome = on_driver(&libraries, "borrow_cuda", command);
            outcome.keeps_the_rules();
            assert_eq!(loads(&outcome, printed), loaded, "{command} {outcome:#?}");
            if command == "primary" {
                assert_eq!(outcome.logged("on stream 1"), ["on stream 1"], "{outcome:#?}");
            }
        }

        let outcome = on_driver(&libraries, "borrow_cuda", "threads");
        outcome.keeps_the_rules();
        let mut loaded = loads(&outcome, &"Ok(1000)\n".repeat(8));
        loaded.sort_unstable();
        assert_eq!(loaded, [on_gpu(0), on_gpu(1)], "{outcome:#?}");
    }

    // A new context may have the address of a destroyed one. To tell the devices of both contexts
    // apart, the run time uses the number that the driver assigns to each context.
    let libraries = cuda_driver("run_time_outlived_driver", &[]);
    let outcome = on_driver(&libraries, "borrow_cuda", "outlived");
    let loaded = loads(&outcome, "1000\ntrue\n1000\n1000\n");
    assert_eq!(loaded, ["cuLibraryLoadData: GPU 0"; 2], "{outcome:#?}");
    // The program itself causes this misuse: it destroys a context that still contains a buffer.
    assert_eq!(outcome.logged("misuse"), ["misuse: a buffer of 400 bytes is left"], "{outcome:#?}");

    assert_expected(
        "null_context",
        &transcript("null", &on_driver(&libraries, "borrow_cuda", "null")),
    );
}

/// Passes cudarc's buffers as arguments. Like cudarc's own launches, our launches must make streams
/// wait and must record events.
#[test(COMPILERS.slow())]
fn cudarc_orders_launches() {
    let libraries = cuda_driver("run_time_cudarc_buffers_driver", &[]);
    scratch::write(libraries.join("kernels"), "halve 0:4 8:8 16:8\n");
    let printed = "cuda:0 (Fake GPU 8.0): 5\n";
    on_driver(&libraries, "guide", "").keeps_the_rules().succeeds().prints(printed);
    let start = |command: &str| on_driver(&libraries, "borrow_cuda", command);
    let order = |outcome: &Outcome| {
        let is_order =
            |line: &&String| line.contains("stream ") || line.starts_with("cuLaunchKernel");
        outcome.log.iter().filter(is_order).fold(String::new(), |text, line| text + line + "\n")
    };
    let run = |command: &str| {
        let outcome = start(command);
        outcome.succeeds().keeps_the_rules();
        outcome
    };

    assert_eq!(order(&run("by_offload")), order(&run("by_cudarc")));
    let mut text = String::new();
    for command in
        ["by_offload", "other_stream", "views", "named", "untracked", "refused", "elsewhere"]
    {
        let outcome = run(command);
        text += &format!("{}{}", transcript(command, &outcome), order(&outcome));
    }
    text += &transcript("failing", &start("failing"));
    assert_expected("cudarc_buffers", &text);

    let outcome = run("halves");
    let line = outcome.stdout.lines().next();
    let (bits, halves) = line.and_then(|line| line.split_once(' ')).expect("two addresses");
    for from in [bits, halves] {
        let (from, to) = (little_endian(from), little_endian(halves));
        outcome.logs_line(&format!("halve by pointers: 02000000 {from} {to}"));
    }
}

#[test(COMPILERS.slow())]
fn wrong_buffers_of_cudarc_do_not_compile() {
    let wrong = PROGRAMS.build().args(["--example", "wrong"]).fails();
    for part in [
        "parameter 4, `y`, of the kernel `saxpy` is `*mut f32` (8 bytes): `&CudaSlice<f32>` cannot be passed",
        "parameter 4, `y`, of the kernel `saxpy` is `*mut f32` (8 bytes): `&CudaView<'_, f32>` cannot be passed",
        "parameter 3, `x`, of the kernel `saxpy` is `*const f32` (8 bytes): `CudaView<'_, f32>` cannot be passed",
        "parameter 3, `x`, of the kernel `saxpy` is `*const f32` (8 bytes): `&CudaSlice<f64>` cannot be passed",
        "parameter 4, `y`, of the kernel `saxpy` is `*mut f32` (8 bytes): `&mut CudaSlice<u32>` cannot be passed",
        "parameter 2, `x`, of the kernel `halve` is `*const F16` (8 bytes): `&CudaSlice<i16>` cannot be passed",
        "parameter 3, `y`, of the kernel `halve` is `*mut F16` (8 bytes): `&mut CudaViewMut<'_, u32>` cannot be passed",
        "parameter 1, `x`, of the kernel `fours` is `*const float4` (8 bytes): `&CudaSlice<f32>` cannot be passed",
        "as vectors, write `&unsafe { x.transmute::<offload_gpu::types::float4>(x.len() / 4) }.unwrap()`",
        "as vectors, write `&mut unsafe { y.transmute_mut::<offload_gpu::types::float4>(y.len() / 4) }.unwrap()`",
    ] {
        wrong.has(part);
    }
}

/// Returns an address's bytes as the log prints them.
fn little_endian(address: &str) -> String {
    let address = u64::from_str_radix(address, 16).expect("an address");
    address.to_le_bytes().iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

/// Tests a program that uses cust. It cannot start without a driver, because cust links programs
/// with the driver's library.
#[test(COMPILERS.slow())]
fn cust_shares_its_context() {
    let libraries = cuda_driver("run_time_borrowed_cust_driver", &[]);
    // cust's build script searches this folder for the driver's library, under the name that
    // linkers use.
    fs::create_dir(libraries.join("lib64")).expect("the folder can be written");
    let library = libraries.join("lib64/libcuda.so");
    scratch::symlink(libraries.join("libcuda.so.1"), library).expect("the folder can be written");

    let scenario = Scenario::without_sources("run_time_borrowed_cust");
    scenario
        .manifest(
            "dependencies",
            "cust = { version = \"=0.3.2\", default-features = false, features = [\"bytemuck\"] }",
        )
        .write("Cargo.lock", include_str!("../../published/Cargo.lock"))
        .write("src/main.rs", include_str!("program/borrow_cust.rs"))
        .write("src/buffer.rs", of_the_guide("struct Buffer(cust"))
        .write("kernels/math.cu", include_str!("program/kernels.cu"))
        .pack("math", ".file(\"kernels/math.cu\").archs([\"sm_80\"])");
    scenario.build().env("CUDA_LIBRARY_PATH", &libraries).passes();
    let outcome = Staged::new(&scenario.program("debug", scenario.name()), &libraries)
        .with("FAKE_GPU", "8.6")
        .with("HIP_VISIBLE_DEVICES", "-1")
        .run(&[], &libraries.join("log"));
    let loaded = loads(&outcome, "cuda:0 (Fake GPU 8.6): 256\n");
    assert_eq!(loaded, ["cuLibraryLoadData: GPU 0"], "{outcome:#?}");
    outcome.logs_line("on stream 1").keeps_the_rules();
}

/// Asserts that cubecl-hip-sys and the run time can share AMD's runtime in one process.
#[test(needs(&[Tool::Llvm22, Tool::Gcc, Tool::Cuda, Tool::Hip5]).slow())]
fn cubecl_hip_sys_shares_its_gpu() {
    let libraries = hsa::libraries_of_hip_6("run_time_borrowed_hsa");
    scratch::write(libraries.join("kernels"), "saxpy 0:4 4:4 8:8 16:8\n");

    let outcome = Staged::new(&PROGRAMS.program("debug", "borrow_hip"), &libraries)
        .with("FAKE_GPU", "gfx90a:sramecc+:xnack-")
        .with("FAKE_KERNELS", libraries.join("kernels"))
        .with("CUDA_VISIBLE_DEVICES", "")
        .run(&[], &libraries.join("log"));
    outcome.succeeds().prints_last("0 [5.0, 5.0, 5.0, 5.0]\nhip:0 (Fake AMD GPU): gfx90a\n");
    let image = described(&read(PROGRAMS.output("debug", "math/gfx90a.hsaco")));
    assert_eq!(outcome.logged(&image), [format!("code object: {image}")], "{outcome:#?}");

    // The addresses in the log show that the kernel received memory that was allocated through
    // cubecl-hip-sys.
    let line = outcome.stdout.lines().next();
    let (first, second) = line.and_then(|line| line.split_once(' ')).expect("two addresses");
    let (first, second) = (little_endian(first), little_endian(second));
    outcome.logs_line(&format!("saxpy by packet: 00010000 00004040 {first} {second}"));
}
