//! Measures offload's run time (`offload_gpu::run`): its compilation, its launches beside direct
//! calls of the driver, grids on one core and two, and grids checked for races.

use crate::build::OFFLOAD_BUILD;
use crate::data;
use crate::measure::{Run, least, llvm_program, print_row, process, succeed};
use crate::package::{AS_FROM_REGISTRY, Package};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Prints all times, or the times of one part.
pub fn bench(part: Option<&str>) {
    println!("run: the run time");
    let folder = data::folder().join("run");
    let _ = fs::remove_dir_all(&folder);
    let is_wanted = |name: &str| part.is_none_or(|part| part == name);
    if ["calls", "cpu", "checks"].into_iter().any(is_wanted) {
        match llvm_program("clang") {
            Some(clang) => {
                let program = program(&folder, &clang);
                if is_wanted("calls") {
                    calls(&folder, &clang, &program);
                }
                if is_wanted("cpu") {
                    cpu(&program);
                }
                if is_wanted("checks") {
                    checks(&program, &clang);
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

/// Measures release builds of packages that depend on one crate, in empty target folders: offload,
/// offload without `run`, and cudarc.
fn cold(folder: &Path) {
    // cudarc's versions are in the lock file of the examples.
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
    // Other programs may run on this machine; they affect the processor time less than the elapsed
    // time.
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

/// Makes a package with these dependencies, and with the versions of a lock file of this
/// repository, which are available without a network.
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
    package.write(
        "kernels/block_sum.cu",
        include_str!("../../examples/one-source/kernels/block_sum.cu"),
    );
    package.write("kernels/matmul.cu", include_str!("run/matmul.cu"));
    succeed(
        package
            .cargo(&["build", "--quiet", "--release", "--offline", "-j2"])
            .env("OFFLOAD_CLANG", clang),
    );
    package
}

/// Runs a task of the program with these environment variables; returns the lines that it prints.
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

/// Measures calls of the run time over a driver whose functions do almost nothing.
fn calls(folder: &Path, clang: &Path, program: &Package) {
    let driver = folder.join("libcuda.so.1");
    fs::write(folder.join("driver.c"), include_str!("run/driver.c"))
        .expect("the target folder can be written");
    let mut compile = Command::new(clang);
    compile
        .args(["-O2", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1"])
        .arg(folder.join("driver.c"));
    succeed(compile.arg("-o").arg(&driver));
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

/// Times of one grid, and a hash of its results.
struct Grid {
    name: String,
    times: Vec<Duration>,
    /// For each run, the processor time of the thread that worked longer.
    busier: Vec<Duration>,
    bits: String,
}

/// Measures 200 blocks of 256 threads with nine barriers each, for each C++ compiler: in both of
/// Cargo's profiles, and with the check for races.
fn checks(program: &Package, clang: &Path) {
    let clang = clang.with_file_name("clang++");
    for (compiler, name) in
        [("g++", "libtsan.so"), (&*clang.to_string_lossy(), "libclang_rt.tsan-x86_64.so")]
    {
        let asked = Command::new(compiler).arg(format!("-print-file-name={name}")).output();
        let library =
            asked.ok().map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
        let Some(library) = library.filter(|path| Path::new(path).is_absolute()) else {
            println!("  ({compiler} has no {name})");
            continue;
        };
        let times = |name: &str, profile: &str, check: &str| -> Vec<Duration> {
            let mut build =
                program.cargo(&["build", "--quiet", "--offline", "-j2", "--profile", profile]);
            build
                .env("OFFLOAD_CLANG", clang.with_file_name("clang"))
                .env("CXX", compiler)
                .env("OFFLOAD_CPU_CHECK", check);
            succeed(&mut build);
            let folder = if profile == "dev" { "debug" } else { profile };
            let program = program.folder.join("target").join(folder).join("bench-program");
            let options = "ignore_noninstrumented_modules=1:suppress_equal_addresses=0";
            let checked = [("LD_PRELOAD", &*library), ("TSAN_OPTIONS", options)];
            let variables: &[(&str, &str)] =
                if check.is_empty() { &[("OFFLOAD_CPU_THREADS", "1")] } else { &checked };
            let times: Vec<Duration> = (0..5)
                .flat_map(|_| lines_of(&program, "checks", variables))
                .map(|line| nanoseconds(&line))
                .collect();
            print_row(
                &format!(
                    "200 blocks, {compiler}, {name}",
                    compiler = compiler.rsplit('/').next().unwrap_or(compiler)
                ),
                times.clone(),
            );
            times
        };
        let plain = least(&times("dev profile", "dev", ""));
        let optimized = least(&times("release profile", "release", ""));
        let checked = least(&times("checked for races", "dev", "races"));
        println!(
            "  {:<58} {:>25.1}   (at most 30)",
            "checked as a multiple of the dev profile",
            checked / plain
        );
        println!("  {:<58} {:>25.1}", "of the release profile", checked / optimized);
    }
}

/// Measures grids on the CPU, with one thread of the operating system and with two.
fn cpu(program: &Package) {
    let (mut one, mut two): (Vec<Grid>, Vec<Grid>) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        for (threads, grids) in [("1", &mut one), ("2", &mut two)] {
            for (number, line) in
                lines(program, "cpu", &[("OFFLOAD_CPU_THREADS", threads)]).iter().enumerate()
            {
                let words: Vec<&str> = line.split(' ').collect();
                let [name, time, busier, bits] = words[..] else {
                    panic!("{line:?} is no line of a grid")
                };
                if number == grids.len() {
                    let (name, bits) = (name.to_owned(), bits.to_owned());
                    grids.push(Grid { name, times: Vec::new(), busier: Vec::new(), bits });
                }
                let grid = &mut grids[number];
                assert_eq!(grid.bits, bits, "{name}: runs give different bits");
                grid.times.push(nanoseconds(time));
                grid.busier.push(nanoseconds(busier));
            }
        }
    }
    for (one, two) in one.into_iter().zip(two) {
        let name = one.name;
        assert_eq!(one.bits, two.bits, "{name}: the number of threads changes bits");
        let part = least(&two.times) / least(&one.times);
        let busier = least(&two.busier) / least(&one.busier);
        let (name, most) = match &*name {
            "loop" => ("a loop without the run time".to_owned(), "what this machine has to give"),
            kernel => (format!("{kernel} on the CPU"), "at most 0.6"),
        };
        print_row(&format!("{name}, one thread"), one.times);
        print_row("two threads, the same bits", two.times);
        println!("  {:<58} {part:>25.2}   ({most})", "of the least");
        println!("  {:<58} {busier:>25.2}", "processor time of the busier thread");
    }
}
