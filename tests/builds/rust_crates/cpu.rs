//! Tests of kernel crates that the program's compiler compiles for the CPU.

use offload_tests::prelude::*;

const KERNELS: &str = r#"#![no_std]

use core::slice;
use offload_kernel::{element, kernel};

/// Two numbers.
#[repr(C)]
pub struct Pair {
    pub first: f32,
    pub second: f32,
}

kernel! {
    /// Adds both numbers of the pair to each element.
    pub unsafe fn add(pair: *const Pair, n: usize, x: *mut f32) {
        let (pair, x) = unsafe { (&*pair, element(x, n)) };
        if let Some(x) = x {
            *x += pair.first + pair.second;
        }
    }

    /// Copies an element.
    pub unsafe fn pick(at: usize, x: *const f32, y: *mut f32) {
        let x = unsafe { slice::from_raw_parts(x, 3) };
        unsafe { *y = x[at] };
    }
}
"#;

/// The `Cargo.lock` of a crate with the manifest that [`manifest`] returns.
pub const LOCK: &str = "version = 4\n\n[[package]]\nname = \"my-kernels\"\nversion = \"0.1.0\"\ndependencies = [\n \"offload-kernel\",\n]\n\n\
                    [[package]]\nname = \"offload-kernel\"\nversion = \"0.1.0\"\n";

/// A build script with rules for a folder and for a missing file. Cargo accepts both.
const SCRIPT: &str = "fn main() {
    println!(\"cargo::rerun-if-changed=src\");
    println!(\"cargo::rerun-if-changed=missing\");
}
";

const PROGRAM: &str = r#"use offload_gpu::run::Device;

mod kernels {
    offload_gpu::include_kernels!("pack");
}

fn main() {
    let cpu = Device::cpu();
    let pair = cpu.buffer(&[kernels::Pair { first: 0.5, second: 1.0 }]).unwrap();
    let mut x = cpu.buffer(&[1.0_f32, 2.0, 3.0]).unwrap();
    unsafe { kernels::add(&pair, 3_usize, &mut x).launch(&cpu, 2, 2).unwrap() };
    println!("{:?}", x.to_vec().unwrap());
    if let Some(at) = std::env::args().nth(1) {
        let mut y = cpu.buffer(&[0.0_f32]).unwrap();
        let at: usize = at.parse().unwrap();
        unsafe { kernels::pick(at, &x, &mut y).launch(&cpu, 1, 1).unwrap() };
        println!("{:?}", y.to_vec().unwrap());
    }
}
"#;

/// Returns the manifest of a crate that depends on `offload-kernel`.
pub fn manifest() -> String {
    format!(
        "[package]\nname = \"my-kernels\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
         [dependencies]\noffload-kernel = {{ path = {:?} }}\n\n[workspace]\n",
        scratch::workspace().join("offload-kernel")
    )
}

#[test(GCC.slow())]
fn a_crate_for_the_cpu() {
    let scenario = Scenario::without_sources("rust_cpu");
    scenario
        .write("src/main.rs", PROGRAM)
        .write("kernels/src/lib.rs", KERNELS)
        .write("kernels/Cargo.toml", manifest())
        .write("kernels/Cargo.lock", LOCK)
        .write("kernels/build.rs", SCRIPT)
        .pack("pack", ".rust_crate(\"kernels\").arch(\"cpu\")");
    let build = || scenario.build().without(&["OFFLOAD_RUSTC"]);
    build().passes();
    let run = |arguments: &[&str]| scenario.start("debug").args(arguments).ends();
    let printed = run(&["1"]);
    assert_eq!(printed.text(), "[2.5, 3.5, 4.5]\n[3.5]\n");
    let signatures = scenario.output_text("debug", "pack/cpu.signatures");
    for line in [
        "record Pair 8 4 fields Pair",
        "signature add add",
        "comment Adds both numbers of the pair to each element.",
        "place kernels/src/lib.rs:15",
        "parameter pair *const Pair",
        "parameter x *mut f32",
    ] {
        assert!(signatures.lines().any(|it| it == line), "no '{line}' in\n{signatures}");
    }

    // A panic's message must name the kernel, the thread and the source line.
    let line = 1 + KERNELS.lines().position(|line| line.contains("x[at]")).expect("it is there");
    let printed = run(&["3"]);
    assert!(!printed.status.success());
    printed.has(&format!(
        "offload: in the kernel pick, block (0, 0, 0), thread (0, 0, 0): it panics at kernels/src/lib.rs:{line}: \
         index out of bounds: the len is 3 but the index is 3\n"
    ));

    // Only an edit may cause a recompilation.
    let time = || scenario.output_time("debug", "pack/cpu.so");
    let first = time();
    scenario.touch_build_script();
    build().passes();
    assert_eq!(time(), first, "nothing changed");
    scenario.write("kernels/src/lib.rs", KERNELS.replace("x += ", "x -= "));
    build().passes();
    assert_ne!(time(), first);
    assert_eq!(run(&[]).text(), "[-0.5, 0.5, 1.5]\n");

    // The error must come from the program's compiler.
    scenario.write("kernels/src/lib.rs", "fn wrong( {");
    build().fails().has("/kernels/src/lib.rs:1:").has("the command was");
    let without = "#![no_std]\n#[unsafe(no_mangle)]\npub extern \"C\" fn add() {}\n";
    for (lib, help) in [
        (
            without,
            "add offload-kernel to the dependencies of the kernel crate, and use it in lib.rs",
        ),
        (KERNELS.trim_start_matches("#![no_std]"), "start the kernel crate with #![no_std]"),
    ] {
        scenario.write("kernels/src/lib.rs", lib);
        build().fails().has(help);
    }
    // Cargo marks a package with this file. This package does not contain the kernel crate.
    scenario.write("Cargo.toml.orig", "");
    fs::remove_file(scenario.folder.join("kernels/Cargo.toml")).expect("it is there");
    build().fails().has(
        "no image for cpu: this package does not contain kernels/Cargo.toml: Cargo leaves folders \
         with a Cargo.toml out of packages. In build.rs, add this target only if the crate \
         exists: if std::path::Path::new(\"kernels/Cargo.toml\").is_file() { build.arch(\"cpu\"); \
         }",
    );
}
