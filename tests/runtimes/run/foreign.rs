//! Tests of `offload_gpu::run` with cudarc, cust and cubecl-hip-sys. These crates own contexts,
//! memory and streams; `offload_gpu::run` loads modules and launches kernels in them.

use super::{assert_expected, transcript};
use crate::examples::HIP_OF_THE_BINDING;
use offload_tests::prelude::*;
use offload_tests::stand_ins::{Outcome, Staged, cuda_driver, described, hsa};

offload_tests::tests! {
    COMPILERS.slow() => [cudarc_shares_its_context, cust_shares_its_context],
    needs(&[Tool::Llvm22, Tool::Gcc, Tool::Cuda, Tool::Hip5]).slow() => [cubecl_hip_sys_shares_its_gpu],
}

/// Programs that use cudarc and cubecl-hip-sys, in the versions that the examples use.
static PROGRAMS: LazyLock<Scenario> = LazyLock::new(|| {
    let scenario = Scenario::empty("run_time_borrowed");
    scenario
        .write("Cargo.toml", MANIFEST)
        .write("src/bin/borrow_cuda.rs", include_str!("program/borrow_cuda.rs"))
        .write("src/bin/borrow_hip.rs", include_str!("program/borrow_hip.rs"))
        .write("kernels/math.cu", include_str!("program/kernels.cu"))
        // Without optimization a kernel asks the host for a service that the stand-in lacks.
        .pack("math", ".file(\"kernels/math.cu\").archs([\"sm_80\", \"gfx90a\"]).opt_level(2).code_object_version(4)")
        .patched();
    scenario.build().path(HIP_OF_THE_BINDING.clone()).passes();
    scenario
});

const MANIFEST: &str = r#"
[package]
name = "run_time_borrowed"
version = "0.1.0"
edition = "2024"

[dependencies]
offload-gpu = "0.1"
cubecl-hip-sys = "7"
cudarc = { version = "0.19", default-features = false, features = ["std", "driver", "nvrtc", "cuda-12000", "fallback-dynamic-loading"] }

[build-dependencies]
offload-build = "0.1"
"#;

fn on_driver(libraries: &Path, command: &str) -> Outcome {
    Staged::new(&PROGRAMS.program("debug", "borrow_cuda"), libraries)
        .with("FAKE_GPU", "8.0,8.6")
        .with("HIP_VISIBLE_DEVICES", "-1")
        .run(&[command], &libraries.join(format!("{command}.log")))
}

/// Asserts that the program succeeds, with this output; returns what it loaded.
#[track_caller]
fn loads<'o>(outcome: &'o Outcome, printed: &str) -> Vec<&'o str> {
    assert_eq!(outcome.succeeds().stdout, printed, "{outcome:#?}");
    let loads = outcome.logged("LoadData: ").into_iter();
    loads.map(|line| line.split(',').next().unwrap_or(line)).collect()
}

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
            // Everything loaded in a context ends with the context, so each of the three contexts
            // loads the image again.
            ("again", "1000\n1000\n1000\ntrue\n", vec![on_gpu(0); 3]),
        ] {
            let outcome = on_driver(&libraries, command);
            outcome.keeps_the_rules();
            assert_eq!(loads(&outcome, printed), loaded, "{command} {outcome:#?}");
            if command == "primary" {
                assert_eq!(outcome.logged("on stream 1"), ["on stream 1"], "{outcome:#?}");
            }
        }

        let outcome = on_driver(&libraries, "threads");
        outcome.keeps_the_rules();
        let mut loaded = loads(&outcome, &"Ok(1000)\n".repeat(8));
        loaded.sort_unstable();
        assert_eq!(loaded, [on_gpu(0), on_gpu(1)], "{outcome:#?}");
    }

    // A new context may have the address of a destroyed one. The driver's number of each context
    // distinguishes the devices of the two contexts.
    let libraries = cuda_driver("run_time_outlived_driver", &[]);
    let outcome = on_driver(&libraries, "outlived");
    let loaded = loads(&outcome, "1000\ntrue\n1000\n1000\n");
    assert_eq!(loaded, ["cuLibraryLoadData: GPU 0"; 2], "{outcome:#?}");
    // The program itself causes this misuse: it destroys a context that still contains a buffer.
    assert_eq!(outcome.logged("misuse"), ["misuse: a buffer of 400 bytes is left"], "{outcome:#?}");

    assert_expected("null_context", &transcript("null", &on_driver(&libraries, "null")));
}

/// A program that uses cust links with the driver, so it does not start without one.
fn cust_shares_its_context() {
    let libraries = cuda_driver("run_time_borrowed_cust_driver", &[]);
    // cust searches for the library in this folder, under the name that linkers use.
    fs::create_dir(libraries.join("lib64")).expect("the folder can be written");
    let library = libraries.join("lib64/libcuda.so");
    scratch::symlink(libraries.join("libcuda.so.1"), library).expect("the folder can be written");

    let scenario = Scenario::without_sources("run_time_borrowed_cust");
    scenario
        .manifest(
            "dependencies",
            "cust = { version = \"=0.3.2\", default-features = false, features = [\"bytemuck\"] }",
        )
        .write("Cargo.lock", include_str!("cust/Cargo.lock"))
        .write("src/main.rs", include_str!("program/borrow_cust.rs"))
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

/// Asserts that the binding and the run time use AMD's own runtime together in one process.
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

    // The addresses in the log show that the kernel received the memory that the binding allocated.
    let line = outcome.stdout.lines().next();
    let (first, second) = line.and_then(|line| line.split_once(' ')).expect("two addresses");
    let bytes = |address: &str| {
        let address = u64::from_str_radix(address, 16).expect("an address");
        address.to_le_bytes().iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
    };
    let (first, second) = (bytes(first), bytes(second));
    outcome.logs_line(&format!("saxpy by packet: 00010000 00004040 {first} {second}"));
}
