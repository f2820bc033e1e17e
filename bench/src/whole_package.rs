//! Measures builds of README's whole package in an empty target folder, compared with the same
//! program built with other crates: bindgen_cuda or cudaforge to compile with nvcc, and cudarc to
//! launch.

use crate::data;
use crate::measure::{Run, least, llvm_program, print_row, process};
use crate::package::{AS_FROM_REGISTRY, Package};
use crate::readme;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// The targets in README's build script.
const TARGETS: &str = r#"["gfx90a", "gfx1100", "compute_80", "cpu"]"#;

/// The target that the rivals compile for.
const ONE_TARGET: &str = r#"["compute_80"]"#;

/// The kernel's path in both packages.
const KERNEL: &str = "kernels/saxpy.cu";

/// Builds the packages in the profiles dev and release, and prints the times.
pub fn bench() {
    println!("package: README's package whole");
    let Some(clang) = llvm_program("clang") else {
        println!("  (no LLVM 22 to compile with)");
        return;
    };
    let folder = data::folder().join("package");
    let _ = fs::remove_dir_all(&folder);
    let mut packages = vec![
        ("README's package", ours(&folder.join("readme"), TARGETS)),
        ("README's package for compute_80 alone", ours(&folder.join("one"), ONE_TARGET)),
    ];
    for (name, dependency, build) in RIVALS {
        match rival(&folder.join(dependency), dependency, build, &packages[0].1) {
            Ok(rival) => packages.push((name, rival)),
            Err(why) => println!("  (no rival with {dependency}: {why})"),
        }
    }
    let variables = variables();
    for profile in ["dev", "release"] {
        let mut runs: Vec<Vec<Run>> = packages.iter().map(|_| Vec::new()).collect();
        for _ in 0..3 {
            for ((_, package), runs) in packages.iter().zip(&mut runs) {
                let _ = fs::remove_dir_all(package.folder.join("target"));
                let mut command =
                    package.cargo(&["build", "--quiet", "--offline", "--profile", profile]);
                command.envs(AS_FROM_REGISTRY).env("OFFLOAD_CLANG", &clang);
                command.envs(variables.iter().cloned());
                runs.push(process(&mut command));
            }
        }
        let names = packages.iter().map(|(name, _)| *name);
        print(profile, &names.collect::<Vec<_>>(), &runs);
    }
    let _ = fs::remove_dir_all(&folder);
}

/// Returns the variables that tell bindgen_cuda the GPU's architecture and the location of nvcc,
/// because bindgen_cuda ignores `CUDA_HOME`, and queries a GPU without `CUDA_COMPUTE_CAP`.
fn variables() -> Vec<(&'static str, OsString)> {
    let mut variables = vec![("CUDA_COMPUTE_CAP", "80".into())];
    if let Some(home) = std::env::var_os("CUDA_HOME") {
        let own = std::env::var_os("PATH").unwrap_or_default();
        let programs = [PathBuf::from(&home).join("bin")];
        let folders = programs.into_iter().chain(std::env::split_paths(&own));
        let path = std::env::join_paths(folders).expect("no folder of PATH has a colon");
        variables.extend([("CUDA_PATH", home), ("PATH", path)]);
    }
    variables
}

/// Prints a profile's rows, and the time of README's package as a fraction of each rival's. The
/// first two packages are not rivals.
fn print(profile: &str, names: &[&str], runs: &[Vec<Run>]) {
    for what in ["", ", processor time"] {
        let time = |run: &Run| if what.is_empty() { run.time } else { run.processor };
        let mut leasts = Vec::new();
        for (name, runs) in names.iter().zip(runs) {
            let times: Vec<Duration> = runs.iter().map(time).collect();
            leasts.push(least(&times));
            print_row(&format!("{name}, {profile}{what}"), times);
        }
        for (name, rival) in names.iter().zip(&leasts).skip(2) {
            println!(
                "  {:<58} {:>25.2}",
                format!("README's, where {name} is 1"),
                leasts[0] / rival
            );
        }
    }
}

/// Writes README's package with these targets.
fn ours(folder: &Path, targets: &str) -> Package {
    let package = Package::at(folder.to_owned());
    let files = readme::package(Path::new(ROOT)).expect("the README can be read");
    for (path, text) in &files {
        if path == "build.rs" {
            assert!(text.contains(TARGETS), "README's build.rs has other targets: {text}");
        }
        package.write(path, &text.replace(TARGETS, targets));
    }
    package
}

/// Crates that compile kernels with nvcc: the row's name, the crate, and the expression that
/// creates the crate's builder in a build script.
const RIVALS: [(&str, &str, &str); 2] = [
    (
        "the same with bindgen_cuda and cudarc",
        "bindgen_cuda",
        "bindgen_cuda::Builder::default().kernel_paths",
    ),
    (
        "the same with cudaforge and cudarc",
        "cudaforge",
        "cudaforge::KernelBuilder::new().source_files",
    ),
];

/// Writes the program as users of cudarc and one of these crates would. Returns the reason if nvcc
/// or the crates are not available.
fn rival(
    folder: &Path,
    dependency: &str,
    build: &str,
    readme: &Package,
) -> Result<Package, String> {
    let package = Package::at(folder.to_owned());
    let kernel = fs::read_to_string(readme.folder.join(KERNEL)).expect("README has a kernel");
    package.write(KERNEL, &kernel);
    package.write("Cargo.toml", &format!("{RIVAL_MANIFEST}{dependency} = \"0.1\"\n"));
    package.write("build.rs", &RIVAL_SCRIPT.replace("BUILDER", build));
    package.write("src/main.rs", RIVAL_PROGRAM);
    if std::env::var_os("CUDA_HOME").is_none() {
        return Err("CUDA_HOME names no toolkit with nvcc".to_owned());
    }
    let fetched =
        package.cargo(&["fetch", "--quiet"]).output().map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&fetched.stderr).into_owned();
    if fetched.status.success() { Ok(package) } else { Err(text) }
}

const RIVAL_MANIFEST: &str = r#"[package]
name = "saxpy"
version = "0.1.0"
edition = "2024"

[workspace]

[dependencies]
cudarc = { version = "0.19", default-features = false, features = ["std", "driver", "nvrtc", "cuda-12080", "dynamic-loading"] }

[build-dependencies]
"#;

const RIVAL_SCRIPT: &str = r#"fn main() {
    println!("cargo::rerun-if-changed=kernels");
    let bindings = BUILDER(vec!["kernels/saxpy.cu"]).build_ptx().unwrap();
    bindings.write("src/ptx.rs").unwrap();
}
"#;

const RIVAL_PROGRAM: &str = r#"use cudarc::driver::{CudaContext, LaunchConfig, PushKernelArg};
mod ptx;
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let context = CudaContext::new(0)?;
    let stream = context.default_stream();
    let saxpy = context.load_module(ptx::SAXPY.into())?.load_function("saxpy")?;
    let (x, mut y) = (stream.clone_htod(&[1.0_f32; 1000])?, stream.clone_htod(&[2.0_f32; 1000])?);
    let shape = LaunchConfig { grid_dim: (4, 1, 1), block_dim: (256, 1, 1), shared_mem_bytes: 0 };
    // SAFETY: the kernel touches the first 1000 elements of x and y, and both have 1000.
    unsafe { stream.launch_builder(&saxpy).arg(&1000_i32).arg(&3.0_f32).arg(&x).arg(&mut y).launch(shape)? };
    println!("y[999] = {}", stream.clone_dtoh(&y)?[999]);
    Ok(())
}
"#;
