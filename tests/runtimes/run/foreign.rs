//! Tests of `offload_gpu::run` with cudarc, cust and cubecl-hip-sys. These crates own contexts,
//! memory and streams; `offload_gpu::run` loads modules and launches kernels in them.

use super::{assert_expected, transcript};
use crate::examples::HIP_OF_THE_BINDING;
use offload_tests::data::read;
use offload_tests::registry::{COMPILERS, needs};
use offload_tests::scenario::Scenario;
use offload_tests::scratch;
use offload_tests::stand_ins::{Outcome, Staged, cuda_driver, described, hsa};
use offload_tests::tools::Tool;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

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
    let program = PROGRAMS.program("debug", "borrow_cuda");
    let staged = Staged::new(&program, libraries)
        .with("FAKE_GPU", "8.0,8.6")
        .with("HIP_VISIBLE_DEVICES", "-1");
    staged.run(&[command], &libraries.join(format!("{command}.log")))
}

fn loads(outcome: &Outcome) -> Vec<String> {
    let loads = outcome.log.iter().filter(|line| line.contains("LoadData: "));
    loads.map(|line| line.split(',').next().unwrap_or(line).to_owned()).collect()
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
            ("own", "1000\n1000\n1\n1000\n", vec![on_gpu(0); 2]),
            // Everything loaded in a context ends with the context, so each of the three contexts
            // loads the image again.
            ("again", "1000\n1000\n1000\ntrue\n", vec![on_gpu(0); 3]),
        ] {
            let outcome = on_driver(&libraries, command);
            outcome.succeeds();
            assert_eq!(outcome.stdout, printed, "{command} {outcome:#?}");
            assert_eq!(loads(&outcome), loaded, "{command} {outcome:#?}");
            assert!(
                !outcome.log.iter().any(|line| line.contains("misuse")),
                "{command} {outcome:#?}"
            );
        }
        let outcome = on_driver(&libraries, "primary");
        assert_eq!(
            outcome.log.iter().filter(|line| *line == "on stream 1").count(),
            1,
            "{outcome:#?}"
        );

        let outcome = on_driver(&libraries, "threads");
        outcome.succeeds();
        assert_eq!(outcome.stdout, "Ok(1000)\n".repeat(8), "{outcome:#?}");
        assert!(!outcome.log.iter().any(|line| line.contains("misuse")), "{outcome:#?}");
        let mut loaded = loads(&outcome);
        loaded.sort();
        assert_eq!(loaded, [on_gpu(0), on_gpu(1)], "{outcome:#?}");
    }

    // A new context may have the address of a destroyed one. The driver's number of each context
    // distinguishes the devices of the two contexts.
    let libraries = cuda_driver("run_time_outlived_driver", &[]);
    let outcome = on_driver(&libraries, "outlived");
    outcome.succeeds();
    assert_eq!(outcome.stdout, "1000\ntrue\n1000\n1000\n", "{outcome:#?}");
    assert_eq!(loads(&outcome), ["cuLibraryLoadData: GPU 0"; 2], "{outcome:#?}");
    // The program itself causes this misuse: it destroys a context that still contains a buffer.
    let misuse: Vec<&String> = outcome.log.iter().filter(|line| line.contains("misuse")).collect();
    assert_eq!(misuse, ["misuse: a buffer of 400 bytes is left"], "{outcome:#?}");

    assert_expected("null_context", &transcript("null", &on_driver(&libraries, "null")));
}

/// A program that uses cust links with the driver, so it does not start without one.
fn cust_shares_its_context() {
    let libraries = cuda_driver("run_time_borrowed_cust_driver", &[]);
    // cust searches for the library in this folder, under the name that linkers use.
    fs::create_dir(libraries.join("lib64")).expect("the folder can be written");
    let library = libraries.join("lib64/libcuda.so");
    std::os::unix::fs::symlink(libraries.join("libcuda.so.1"), library)
        .expect("the folder can be written");

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
    let staged = Staged::new(&scenario.program("debug", scenario.name()), &libraries);
    let outcome = staged
        .with("FAKE_GPU", "8.6")
        .with("HIP_VISIBLE_DEVICES", "-1")
        .run(&[], &libraries.join("log"));
    outcome.succeeds();
    assert_eq!(outcome.stdout, "cuda:0 (Fake GPU 8.6): 256\n", "{outcome:#?}");
    assert_eq!(loads(&outcome), ["cuLibraryLoadData: GPU 0"], "{outcome:#?}");
    assert!(outcome.log.contains(&"on stream 1".to_owned()), "{outcome:#?}");
    assert!(!outcome.log.iter().any(|line| line.contains("misuse")), "{outcome:#?}");
}

/// Asserts that the binding and the run time use AMD's own runtime together in one process.
fn cubecl_hip_sys_shares_its_gpu() {
    let libraries = hsa::libraries_of_hip_6("run_time_borrowed_hsa");
    scratch::write(libraries.join("kernels"), "saxpy 0:4 4:4 8:8 16:8\n");

    let program = PROGRAMS.program("debug", "borrow_hip");
    let kernels = libraries.join("kernels");
    let staged = Staged::new(&program, &libraries)
        .with("FAKE_GPU", "gfx90a:sramecc+:xnack-")
        .with("FAKE_KERNELS", kernels.to_str().expect("the target folder's name is UTF-8"))
        .with("CUDA_VISIBLE_DEVICES", "");
    let outcome = staged.run(&[], &libraries.join("log"));
    outcome.succeeds().prints_last("0 [5.0, 5.0, 5.0, 5.0]\nhip:0 (Fake AMD GPU): gfx90a\n");
    let image = described(&read(PROGRAMS.output("debug", "math/gfx90a.hsaco")));
    let loads = outcome.log.iter().filter(|line| **line == format!("code object: {image}")).count();
    assert_eq!(loads, 1, "{outcome:#?}");

    // The addresses in the log show that the kernel received the memory that the binding allocated.
    let addresses =
        outcome.stdout.lines().next().and_then(|line| line.split_once(' ')).expect("two addresses");
    let bytes = |address: &str| {
        let address = u64::from_str_radix(address, 16).expect("an address");
        address.to_le_bytes().iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
    };
    let packet =
        format!("saxpy by packet: 00010000 00004040 {} {}", bytes(addresses.0), bytes(addresses.1));
    assert!(outcome.log.contains(&packet), "{packet} {outcome:#?}");
}
