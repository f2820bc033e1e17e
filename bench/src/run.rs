//! Measures offload's run time (`offload_gpu::run`): its compilation, its launches compared with
//! direct driver calls, and kernels on the CPU compared with OpenCL's runtimes.

use crate::build::OFFLOAD_BUILD;
use crate::data;
use crate::measure::{Run, least, llvm_program, print_row, process, succeed};
use crate::package::{AS_FROM_REGISTRY, Package};
use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Prints the times of all parts, or of one part.
pub fn bench(part: Option<&str>) {
    println!("run: the run time");
    let folder = data::folder().join("run");
    let _ = fs::remove_dir_all(&folder);
    let is_wanted = |name: &str| part.is_none_or(|part| part == name);
    if ["calls", "cpu"].into_iter().any(is_wanted) {
        match llvm_program("clang") {
            Some(clang) => {
                let program = program(&folder, &clang);
                if is_wanted("calls") {
                    calls(&folder, &clang, &program);
                }
                if is_wanted("cpu") {
                    cpu(&folder, &clang, &program);
                }
            }
            None => println!("  (no LLVM 22 to compile kernels with)"),
        }
    }
    if is_wanted("cold") {
        cold(&folder);
    }
    let _ = fs::remove_dir_all(&folder);
}

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// Measures release builds of packages that depend on one crate each: offload, offload without
/// `run`, or cudarc. Each build starts with an empty target folder.
fn cold(folder: &Path) {
    // The versions for cudarc come from the examples' lock file.
    let crates = [
        ("offload", format!("offload-gpu = {{ path = \"{ROOT}/offload-gpu\" }}"), "Cargo.lock"),
        (
            "without",
            format!(
                "offload-gpu = {{ path = \"{ROOT}/offload-gpu\", default-features = false, features = [\"macros\"] }}"
            ),
            "Cargo.lock",
        ),
        ("cudarc", cudarc().to_owned(), "examples/Cargo.lock"),
    ];
    let packages =
        crates.map(|(name, dependency, lock)| package(folder, name, &dependency, "", lock));
    let names = [
        "cold release build of offload, -j2",
        "without the feature run",
        "cudarc with driver and dynamic loading",
    ];
    let mut runs = [Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..3 {
        for (package, runs) in packages.iter().zip(&mut runs) {
            let _ = fs::remove_dir_all(package.folder.join("target"));
            let mut command = package.cargo(&["build", "--quiet", "--release", "--offline", "-j2"]);
            runs.push(process(command.envs(AS_FROM_REGISTRY)));
        }
    }
    let of = |what: fn(&Run) -> Duration| {
        runs.each_ref().map(|runs| runs.iter().map(what).collect::<Vec<_>>())
    };
    // Other programs on this machine affect the processor time less than the elapsed time.
    for (what, times) in [("", of(|run| run.time)), (", processor time", of(|run| run.processor))] {
        let [with, without, cudarc] = times.each_ref().map(|times| least(times));
        for (name, times) in names.iter().zip(times) {
            print_row(&format!("{name}{what}"), times);
        }
        let (most, most_more) =
            if what.is_empty() { ("   (at most 1)", "   (at most 1 s)") } else { ("", "") };
        println!(
            "  {:<58} {:>25.2}{most}",
            "offload as a part of cudarc, of the least",
            with / cudarc
        );
        println!(
            "  {:<58} {:>23.2} s{most_more}",
            "what the feature run adds, of the least",
            with - without
        );
    }
}

fn cudarc() -> &'static str {
    "cudarc = { version = \"0.19\", default-features = false, features = [\"std\", \"driver\", \"cuda-12080\", \"dynamic-loading\"] }"
}

/// Creates a package with these dependencies. Their versions come from one of this repository's
/// lock files, because those versions are available without a network.
fn package(folder: &Path, name: &str, dependencies: &str, more: &str, lock: &str) -> Package {
    let package = Package::at(folder.join(name));
    let manifest = format!(
        "[package]\nname = \"bench-{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n\n\
         [dependencies]\n{dependencies}\n{more}"
    );
    package.write("Cargo.toml", &manifest);
    package.write("src/lib.rs", "");
    fs::copy(Path::new(ROOT).join(lock), package.folder.join("Cargo.lock"))
        .expect("the lock file can be copied");
    package
}

/// Builds the program that launches kernels.
fn program(folder: &Path, clang: &Path) -> Package {
    let dependencies = format!(
        "offload-gpu = {{ path = \"{ROOT}/offload-gpu\" }}\nlibc = \"0.2\"\nlibloading = \"0.9\"\n"
    );
    let more = format!("\n[build-dependencies]\n{OFFLOAD_BUILD}\n");
    let package = package(folder, "program", &dependencies, &more, "Cargo.lock");
    package.write("src/main.rs", include_str!("run/program.rs"));
    package.write("build.rs", include_str!("run/program_build.rs"));
    package.write("kernels/saxpy.cu", include_str!("../../examples/saxpy/kernels/saxpy.cu"));
    package.write("kernels/cpu.cu", include_str!("run/cpu.cu"));
    package.write("src/cpu.rs", include_str!("run/cpu.rs"));
    package.write("src/pocl.rs", include_str!("run/pocl.rs"));
    succeed(
        package
            .cargo(&["build", "--quiet", "--release", "--offline", "-j2"])
            .env("OFFLOAD_CLANG", clang),
    );
    package
}

/// Runs one of the program's tasks with these environment variables, and returns the lines that the
/// program prints.
fn lines(program: &Package, task: &str, variables: &[(&str, &str)]) -> Vec<String> {
    lines_of(&program.folder.join("target/release/bench-program"), task, variables)
}

fn lines_of(program: &Path, task: &str, variables: &[(&str, &str)]) -> Vec<String> {
    let mut command = Command::new(program);
    let output =
        command.arg(task).envs(variables.iter().copied()).output().expect("the program was built");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{command:?} failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    text.lines().map(str::to_owned).collect()
}

/// Parses a time in nanoseconds.
fn nanoseconds(text: &str) -> Duration {
    let time: f64 = text.parse().unwrap_or_else(|_| panic!("{text:?} is no time"));
    Duration::from_secs_f64(time / 1e9)
}

/// Compiles a C library.
fn library(folder: &Path, clang: &Path, name: &str, source: &str) {
    let file = folder.join(name).with_extension("c");
    fs::write(&file, source).expect("the target folder can be written");
    let mut compile = Command::new(clang);
    compile.args(["-O2", "-shared", "-fPIC"]).arg(format!("-Wl,-soname,{name}")).arg(file);
    succeed(compile.arg("-o").arg(folder.join(name)));
}

/// Measures calls through offload-gpu, with a driver whose functions do almost nothing.
fn calls(folder: &Path, clang: &Path, program: &Package) {
    library(folder, clang, "libcuda.so.1", include_str!("run/driver.c"));
    let libraries = folder.to_str().expect("the target folder's name is UTF-8");
    let printed = lines(program, "calls", &[("LD_LIBRARY_PATH", libraries)]);
    let of = |wanted: &str| -> Vec<Duration> {
        let lines = printed.iter().filter_map(|line| line.split_once(' '));
        lines.filter(|(name, _)| *name == wanted).map(|(_, time)| nanoseconds(time)).collect()
    };
    let on = least(&of("on"));
    print_row("on() of a module that is loaded", of("on"));
    println!("  {:<58} {:>22.1} ns   (at most 50 ns)", "of the least", on * 1e9);
    for (ours, name) in [
        ("current", "a launch, the context being current"),
        ("pushed", "a launch on a thread without a context"),
        ("many", "the same of 64 kernels of 8 modules in turn"),
    ] {
        print_row(name, of(ours));
        let (least, raw) = (least(&of(ours)), least(&of("raw")));
        println!(
            "  {:<58} {:>22.1} ns   (at most 200 ns)",
            "more than the driver's own, of the least",
            (least - raw) * 1e9
        );
    }
    print_row("cuLaunchKernel through its address", of("raw"));
    print_row("the launch of a named kernel, with its arguments", of("named"));
    let more = least(&of("named")) - least(&of("pushed"));
    println!(
        "  {:<58} {:>22.1} ns   (at most 100 ns)",
        "more than the typed one on such a thread, of the least",
        more * 1e9
    );
    print_row("a look-up among 1,000 names, the first", of("find-first"));
    print_row("the same, each later one", of("find"));
    println!("  {:<58} {:>22.1} ns   (at most 1000 ns)", "of the least", least(&of("find")) * 1e9);
}

/// The folders of Intel's OpenCL runtime and its libraries, relative to the folder of published
/// files that `cargo xtask setup` downloads.
const INTEL: [&str; 3] = [
    "intel-opencl-rt/intel_opencl_rt-2026.2.0.data/data/lib",
    "intel-cmplr-lib-rt/intel_cmplr_lib_rt-2026.2.0.data/data/lib",
    "tbb/tbb-2023.2.0.data/data/lib",
];

/// The maximum allowed ratios of our processor time, with clang, to the processor time of Intel's
/// runtime, PoCL and plain Rust.
const MOST: [(&str, [Option<f64>; 3]); 7] = [
    ("saxpy", [Some(1.0), Some(1.2), Some(2.0)]),
    ("gelu", [None, Some(4.0), None]),
    ("block_sum", [Some(1.0), Some(0.6), None]),
    ("mandel", [None, Some(1.5), None]),
    ("naive", [Some(1.0), Some(0.3), None]),
    ("tiled", [Some(1.0), Some(0.3), None]),
    ("nbody", [None, Some(1.0), None]),
];

/// Measures kernels on the CPU: with the kit, with OpenCL's runtimes, and as plain Rust. The kit is
/// measured with clang and with GCC, or only with the compiler in `CXX`. The program compares the
/// results.
fn cpu(folder: &Path, clang: &Path, program: &Package) {
    let clangxx = clang.with_file_name("clang++").to_string_lossy().into_owned();
    let compilers = env::var("CXX").map_or_else(|_| vec![clangxx, "g++".into()], |one| vec![one]);
    let kits = compilers.len();
    let mut columns = Vec::new();
    for compiler in compilers {
        let mut build = program.cargo(&["build", "--quiet", "--release", "--offline", "-j2"]);
        succeed(build.env("OFFLOAD_CLANG", clang).env("CXX", &compiler));
        let name = compiler.rsplit('/').next().unwrap_or(&compiler);
        columns.push((format!("kit, {name}"), lines(program, "cpu", &[])));
    }
    let published = env::var("OFFLOAD_TEST_PUBLISHED").unwrap_or_default();
    let intel = INTEL.map(|folder| format!("{published}/{folder}"));
    let intel_icd = Path::new(&intel[0]).join("libintelocl.so");
    library(folder, clang, "libpocl_bench.so", include_str!("run/pocl.c"));
    let libraries = folder.to_str().expect("the target folder's name is UTF-8");
    let pocl_icd = fs::read_to_string("/etc/OpenCL/vendors/pocl.icd");
    for (name, task, icd, cure) in [
        (
            "Intel's runtime",
            "opencl:0",
            intel_icd.is_file().then(|| intel_icd.display().to_string()),
            "cargo xtask setup",
        ),
        ("PoCL", "pocl", pocl_icd.ok(), "apt install pocl-opencl-icd"),
    ] {
        let mut printed = Vec::new();
        if let Some(icd) = icd {
            // OpenCL's loader loads all runtimes in a folder, so each runtime gets a separate
            // folder.
            let vendors = folder.join(task);
            fs::create_dir_all(&vendors).expect("the target folder can be written");
            fs::write(vendors.join("one.icd"), icd).expect("the target folder can be written");
            let vendors = vendors.to_str().expect("the target folder's name is UTF-8");
            // Intel's folder also contains the loader, which `pocl.c` calls. PoCL caches compiled
            // kernels, so it gets a scratch folder.
            let variables = [
                ("OCL_ICD_VENDORS", vendors),
                ("LD_LIBRARY_PATH", &format!("{libraries}:{}", intel.join(":"))),
                ("LD_PRELOAD", "libOpenCL.so.1"),
                ("POCL_CACHE_DIR", vendors),
            ];
            printed = lines(program, task, &variables);
        } else {
            println!("  (no {name}: {cure})");
        }
        columns.push((name.to_owned(), printed));
    }
    columns.push(("plain Rust".to_owned(), lines(program, "rust", &[])));
    print_columns(&columns, kits);
}

/// Prints a table with a row for each kernel, from the program's output lines. Then prints the
/// ratios of processor time between the first `kits` columns and the others.
fn print_columns(columns: &[(String, Vec<String>)], kits: usize) {
    let parsed = columns.iter().map(|(_, lines)| -> BTreeMap<&str, [f64; 2]> {
        let words = lines.iter().map(|line| line.split(' ').collect::<Vec<_>>());
        let time = |text| nanoseconds(text).as_secs_f64() * 1e3;
        words.map(|words| (words[0], [time(words[1]), time(words[2])])).collect()
    });
    let parsed: Vec<_> = parsed.collect();
    let print = |first: &str, cells: Vec<String>| {
        let cells: String = cells.iter().map(|cell| format!("{cell:>22}")).collect();
        println!("  {first:<12}{cells}");
    };
    let names = columns[0].1.iter().filter_map(|line| line.split(' ').next());
    println!("  milliseconds of processor time, and elapsed; the results are those of plain Rust,");
    println!("  within 1/10,000 of the largest, and 99 of 100 of mandel");
    print("", columns.iter().map(|(name, _)| name.clone()).collect());
    for name in names.clone() {
        let cell = |column: &BTreeMap<&str, [f64; 2]>| match column.get(name) {
            // A launch of one thread takes far less than a millisecond, so print more digits.
            Some([processor, time]) if *time < 0.1 => format!("{processor:.5} {time:>10.5}"),
            Some([processor, time]) => format!("{processor:.1} {time:>10.1}"),
            None => "-".to_owned(),
        };
        print(name, parsed.iter().map(cell).collect());
    }
    for (kit, (title, _)) in parsed.iter().zip(columns).take(kits) {
        println!("  processor time of {title}, as a multiple of the others'");
        for name in names.clone() {
            let most = MOST.iter().find(|(kernel, _)| *kernel == name).map(|(_, most)| most);
            let ratios = parsed[kits..].iter().enumerate().map(|(peer, column)| {
                let Some([processor, _]) = column.get(name) else { return "-".to_owned() };
                let ratio = format!("{:.2}", kit[name][0] / processor);
                match most.and_then(|most| most[peer]) {
                    Some(most) => format!("{ratio} (at most {most})"),
                    None => ratio,
                }
            });
            print(name, vec![String::new(); kits].into_iter().chain(ratios).collect());
        }
    }
    println!("  one_thread: elapsed at most 0.001 ms; one_wait: at most 0.05 ms");
}
