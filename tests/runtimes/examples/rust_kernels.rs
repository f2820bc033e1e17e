//! Tests of the example with kernels in Rust: its program, and its images.

use super::{DRIVER, Example, HIDDEN, on_gpus, read_log};
use offload_tests::judges::image_file_name;
use offload_tests::prelude::*;
use offload_tests::scenario::rust_compiler;

/// Makes the kernels of a copied example use this checkout's `offload-kernel`.
fn use_checkout(scenario: &Scenario) {
    let manifest = scenario.text("kernels/Cargo.toml");
    let checkout = scratch::workspace().join("offload-kernel");
    let found = manifest.replace("../../../offload-kernel", &checkout.to_string_lossy());
    assert_ne!(found, manifest, "the copy has the crates of this checkout");
    scenario.write("kernels/Cargo.toml", found);
}

/// Follows the README on a fake GPU with the prebuilt image, then on the CPU.
#[test(GCC)]
fn rust_kernels() {
    let example = Example::new("rust-kernels");
    let log = DRIVER.join("rust-kernels.log");
    let mut variables = on_gpus("9.0", &log);
    variables.push(("OFFLOAD_ARCH", "compute_80"));
    example.follow(0, &variables, &[("Fake GPU 9.0", "NVIDIA H100 80GB HBM3")]);
    assert!(read_log(&log).contains(&"cuLaunchKernel: 40 blocks of 256 threads".to_owned()));
    use_checkout(&example.scenario);
    example.follow(1, &[HIDDEN[0], HIDDEN[1], ("OFFLOAD_ARCH", "cpu")], &[]);
}

const TARGETS: [&str; 4] = ["gfx90a", "gfx942", "gfx1100", "compute_80"];

/// Compiles the kernels. If the compiler version is the one that built the checked-in images, the
/// build must reproduce them.
#[test(needs(&[Tool::Llvm22, Tool::Cuda, Tool::Gcc, Tool::RustGpu]))]
fn rust_kernels_from_source() {
    let example = Example::copied("rust-kernels", "rust-kernels-from-source");
    let scenario = &example.scenario;
    use_checkout(scenario);
    let rustc = rust_compiler(scenario);
    let build = scenario.cargo(&["build", "--release"]).env("OFFLOAD_PREBUILT", "never");
    build.env("OFFLOAD_RUSTC", &rustc).passes();
    let version = stdout(&succeed(Command::new(&rustc).arg("--version")));
    let path = |target| scenario.output("release", &format!("kernels/{}", image_file_name(target)));
    for target in TARGETS {
        let image = read(path(target));
        if version.starts_with("rustc 1.96.0 ") {
            let checked_in = example.prebuilt(&format!("kernels.{}", image_file_name(target)));
            assert!(image == checked_in, "{target} is not what the build makes today");
        }
    }

    // Signatures must contain the source's names and comments, even though a macro defines the
    // kernels.
    let signatures = scenario.output_text("release", "kernels/gfx90a.signatures");
    for line in [
        "comment Adds `n` numbers to `total`. Grid and block have one dimension. A block has whole warps, and",
        "parameter total *mut u32",
        "parameter line *const Line",
    ] {
        assert!(signatures.lines().any(|it| it == line), "no {line:?} in\n{signatures}");
    }

    let ptx = scenario.output_text("release", "kernels/compute_80.ptx");
    for line in [".target sm_80\n", ".visible .entry saxpy("] {
        assert!(ptx.contains(line), "no {line:?} in\n{ptx}");
    }
    for gpu in ["sm_80", "sm_90"] {
        let cubin = scenario.folder.join(gpu);
        let mut ptxas = cuda("ptxas");
        succeed(ptxas.arg(format!("-arch={gpu}")).arg(path("compute_80")).arg("-o").arg(&cubin));
    }
    let kernels = |text: &str, entry: &str, instruction: &str| {
        let mut counts = Vec::new();
        for part in text.split(entry).skip(1) {
            counts.push(part.lines().filter(|line| line.contains(instruction)).count());
        }
        counts
    };
    // The order in the image is: evaluate, multiply, saxpy, sum.
    assert_eq!(kernels(&ptx, ".visible .entry", "bar.sync"), [0, 2, 0, 1]);
    assert_eq!(kernels(&ptx, ".visible .entry", "%dynamic_smem_size"), [0, 1, 0, 1]);
    assert_eq!(kernels(&ptx, ".visible .entry", "shfl.sync.idx"), [0, 0, 0, 10]);
    for (target, steps) in [("gfx90a", 6), ("gfx942", 6), ("gfx1100", 5)] {
        let text = stdout(&succeed(llvm("llvm-objdump").arg("-d").arg(path(target))));
        let of = |instruction| {
            let mut counts = Vec::new();
            for name in ["evaluate", "multiply", "saxpy", "sum"] {
                let entry = format!("<{name}>:");
                let (_, code) = text.split_once(&entry).expect("the kernel is there");
                let code = code.split(">:\n").next().unwrap_or_default();
                counts.push(code.lines().filter(|line| line.contains(instruction)).count());
            }
            counts
        };
        assert_eq!(of("s_barrier"), [0, 2, 0, 1], "{target}");
        assert_eq!(of("ds_bpermute_b32"), [0, 0, 0, 2 * steps], "{target}");
        // After the barrier, kernels must read what other waves wrote before it.
        assert!(of("buffer_").iter().map(|it| *it > 0).eq([false, true, false, true]), "{target}");
        assert_eq!(of("HW_REG_SH_MEM_BASES, 16, 16"), [0, 1, 0, 1], "{target}");
        assert_eq!(of("src_shared_base"), [0, 2, 0, 2], "{target}");
    }
}
