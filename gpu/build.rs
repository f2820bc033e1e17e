//! Compiles the checks' kernels for the GPUs that the project supports best.
//!
//! | variable | means |
//! |---|---|
//! | `GPU_CHECKS_TARGETS` | use only these targets of each list, and the CPU: for a short build |
//! | `GPU_CHECKS_RANDOM` | the number of kernels with random parameters; the default is 300 |

mod generated;
#[allow(dead_code)]
#[path = "../tests/src/random_kernels/mod.rs"]
mod random_kernels;

use offload_build::Build;
use std::env;
use std::path::Path;

/// Replacements for the functions of the tests' package that the generator of random kernels calls.
mod scratch {
    use std::path::{Path, PathBuf};

    pub fn workspace() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
    }

    pub fn write(path: impl AsRef<Path>, text: impl AsRef<[u8]>) {
        std::fs::write(&path, text)
            .unwrap_or_else(|error| panic!("{}: {error}", path.as_ref().display()));
    }
}
mod tools {
    use std::process::{Command, Output};

    pub fn succeed(command: &mut Command) -> Output {
        let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        assert!(
            output.status.success(),
            "{command:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        output
    }

    pub fn stdout(output: &Output) -> String {
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

/// The last five generations of NVIDIA's GPUs (Turing, Ampere, Ada, Hopper, Blackwell), and PTX for
/// later ones.
const NVIDIA: [&str; 8] =
    ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120", "compute_75"];

/// AMD's GPUs from CDNA 1 and RDNA 2 on.
const AMD: [&str; 10] = [
    "gfx908", "gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1101", "gfx1151", "gfx1200",
    "gfx1201",
];

/// GPUs whose drivers compile SPIR-V.
const INTEL: [&str; 1] = ["spirv64"];

/// Targets with more complex rules: suffixes, newer PTX, generic targets, features.
const VARIANTS: [&str; 17] = [
    "sm_90a",
    "sm_100a",
    "sm_120a",
    "compute_80",
    "compute_90",
    "compute_90a",
    "compute_100",
    "compute_120",
    "gfx9-generic",
    "gfx9-4-generic",
    "gfx10-3-generic",
    "gfx11-generic",
    "gfx12-generic",
    "gfx90a:xnack-",
    "gfx90a:xnack+",
    "gfx942:xnack-",
    "gfx942:xnack+",
];

fn main() {
    println!("cargo::rerun-if-env-changed=GPU_CHECKS_TARGETS");
    println!("cargo::rerun-if-env-changed=GPU_CHECKS_RANDOM");
    println!("cargo::rerun-if-changed=../tests/src/random_kernels");
    let out = env::var_os("OUT_DIR").expect("Cargo sets it");
    let out = Path::new(&out);
    let gpus = [&NVIDIA[..], &AMD, &INTEL].concat();
    // Every ROCm version loads code objects of version 4. Generic targets need version 6.
    pack(&gpus).file("kernels/affine.cu").code_object_version(4).compile("affine");
    pack(&VARIANTS).file("kernels/affine.cu").compress().compile("variants");
    pack(&gpus).file("kernels/header.cu").code_object_version(4).compress().compile("header");
    pack(&gpus).file("kernels/math.cu").code_object_version(4).compress().compile("math");
    pack(&gpus).file("kernels/halves.cu").code_object_version(4).compress().compile("halves");
    pack(&gpus).file("kernels/runtime.cu").code_object_version(4).compress().compile("runtime");
    generated::random(out);
    generated::pairs(out);
    pack(&gpus)
        .file(out.join("random.cu"))
        .flag("-w")
        .code_object_version(4)
        .compress()
        .compile("random");
    // `-w`, because the compiler warns about some of the wrong kernels.
    pack(&gpus)
        .file(out.join("pairs.cu"))
        .flag("-w")
        .code_object_version(4)
        .compress()
        .compile("pairs");
    // The same kernel in forms that are loaded in different ways.
    pack(&gpus).file("kernels/affine.cu").code_object_version(4).compress().compile("compressed");
    pack(&["compute_75"]).file("kernels/affine.cu").compile("ptx");
}

/// Returns a build for the CPU and for those of these targets that `GPU_CHECKS_TARGETS` permits.
fn pack(targets: &[&str]) -> Build {
    let wanted = env::var("GPU_CHECKS_TARGETS").ok();
    let is_wanted = |target: &&str| {
        let mut wanted = wanted.iter().flat_map(|list| list.split([',', ' ']));
        wanted.clone().next().is_none() || wanted.any(|it| it == *target)
    };
    let mut build = Build::new();
    // Without optimization, kernels for AMD's GPUs need host services that the tests' fake drivers
    // lack.
    build.opt_level(2).archs(targets.iter().copied().filter(is_wanted)).arch("cpu");
    build
}
