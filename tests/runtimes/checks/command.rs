//! Tests of `cargo offload test`: its exit statuses, its output, and the files that it leaves.

use offload_tests::own;
use offload_tests::registry::COMPILERS;
use offload_tests::scenario::{Run, Scenario};
use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

offload_tests::tests! {
    COMPILERS.slow() => [each_end_has_its_status],
}

const MANIFEST: &str = r#"[package]
name = "check-command"
version = "0.1.0"
edition = "2024"

[dependencies]
offload-gpu = "0.1"

[build-dependencies]
offload-build = "0.1"
"#;

const BUILD_SCRIPT: &str = r#"fn main() {
    offload_build::Build::new().file("kernels/scale.cu").archs(["gfx90a", "cpu"]).compile("scale");
}
"#;

const KERNELS: &str = "\
__global__ void scale(float *x, float a) {
  x[blockIdx.x * blockDim.x + threadIdx.x] *= a;
}

__global__ void spin(volatile int *x) {
  while (threadIdx.x == 3 && *x == 0)
    ;
}
";

const LIBRARY: &str = r#"//! Tests of two kernels.
#![cfg(test)]

mod kernels {
    offload_gpu::include_kernels!("scale");
}

use offload_gpu::run::Device;
use std::env;
use std::process::Command;

fn scale(count: usize) {
    let device = Device::best_for(&kernels::PACK).unwrap();
    let mut x = device.buffer(&vec![1.0_f32; count]).unwrap();
    // SAFETY: the call is sound only with at least 64 elements; fewer are the error that the tests
    // provoke.
    unsafe { kernels::scale(&mut x, 2.0).launch(&device, 1, 64).unwrap() };
    assert_eq!(x.to_vec().unwrap()[..], vec![2.0; count]);
}

#[test]
fn right() {
    scale(64);
}

#[test]
fn past_the_end() {
    scale(60);
}

#[test]
fn wrong_without_a_kernel() {
    assert_eq!(1 + 1, 3);
}

#[test]
fn endless() {
    let device = Device::best_for(&kernels::PACK).unwrap();
    let mut x = device.buffer(&[0_i32]).unwrap();
    // SAFETY: the kernel reads one element.
    unsafe { kernels::spin(&mut x).launch(&device, 1, 32).unwrap() };
}

/// Processes that a test starts are not checked.
#[test]
fn children_have_no_sanitizer() {
    scale(64);
    let said = Command::new("env").output().unwrap();
    let said = String::from_utf8_lossy(&said.stdout);
    assert!(!said.contains("LD_PRELOAD"), "{said}");
    let own = std::fs::read_to_string("/proc/self/maps").unwrap();
    assert_eq!(own.contains("san.so"), env::var_os("OFFLOAD_CPU_ORDER").is_none(), "{own}");
}
"#;

fn each_end_has_its_status() {
    let scenario = Scenario::empty("check-command");
    scenario
        .write("Cargo.toml", MANIFEST)
        .write("build.rs", BUILD_SCRIPT)
        .write("src/lib.rs", LIBRARY);
    scenario.write("kernels/scale.cu", KERNELS).patched();
    let temporary = scenario.folder.join("temporary");
    fs::create_dir(&temporary).expect("the folder can be written");
    let run = |line: &str| -> Run<'_> {
        let run = scenario.cargo(&["offload", "test"]).args(line.split_whitespace());
        run.path([own::folder()])
            .without(&["OFFLOAD_DEVICE", "CUDA_VISIBLE_DEVICES"])
            .env("TMPDIR", &temporary)
    };
    let ends = |line: &str, status: i32| {
        let printed = run(line).ends();
        assert_eq!(printed.status.code(), Some(status), "cargo offload test {line}\n{printed}");
        printed.stdout
    };
    // No test has this name, so no kernel is launched.
    let printed = ends("--check memory --lib -- --exact no_such_test", 2);
    assert!(
        printed.contains(
            "\n0 findings in 0 kernels launched on the CPU\nerror: `cargo offload test --check memory --lib` checked nothing: \
             no kernel was launched on the CPU. "
        ),
        "{printed}"
    );
    // The kernel is correct, so the exit status depends only on whether its test passes.
    let printed = ends("--check memory --lib -- --exact right", 0);
    let expected = "1 test passed, checked for accesses to memory that is not theirs\n\n\
                    0 findings in 1 kernel launched on the CPU\n";
    assert_eq!(printed, expected);
    ends("--check memory --lib -- --exact right wrong_without_a_kernel", 101);
    ends("--check memory --lib -- --exact children_have_no_sanitizer", 0);
    ends("--check race", 2);

    let printed = ends("--check memory --lib -- --exact right past_the_end", 1);
    let expected = "\n1. heap-buffer-overflow, in the kernel scale\n   kernels/scale.cu:2  read of size 4  block (0, 0, 0), \
                    thread (60, 0, 0)\n";
    assert!(printed.contains(expected), "{printed}");
    let missed = "\n   parameter 1, `x`, of 240 bytes: read at 240\n   launched by past_the_end\n";
    assert!(printed.contains(missed), "{printed}");
    let again = "   again: cargo offload test --check memory --lib -p check-command -- --exact past_the_end\n";
    assert!(printed.contains(again), "{printed}");
    let report = printed
        .lines()
        .find_map(|line| line.strip_prefix("   the whole report: "))
        .expect("a report is named");
    assert!(
        fs::read_to_string(report).expect("it can be read").contains("ERROR: AddressSanitizer")
    );

    // The command stops a kernel that does not end, with `--check` and with `--orders`.
    let printed = ends("--check memory --time-limit 2 --lib -- --exact endless", 1);
    let expected =
        "\n1. a kernel that does not end within 2 s, in the kernel spin\n   kernels/scale.cu:";
    assert!(
        printed.contains(expected) && printed.contains("block (0, 0, 0), thread (3, 0, 0)\n"),
        "{printed}"
    );
    let printed = ends("--orders 2 --time-limit 2 --lib -- --exact endless", 1);
    let expected = "a kernel that does not end in time, in the kernel spin\n   it was in block (0, 0, 0), thread (3, 0, 0)\n";
    assert!(printed.contains(expected), "{printed}");
    assert!(printed.contains("tests that fail with OFFLOAD_CPU_ORDER=forward\n"), "{printed}");

    // The test sends SIGINT, the signal of Ctrl-C, to all processes of the command, as a terminal
    // does.
    for line in ["--check memory --lib -- --exact endless", "--orders 2 --lib -- --exact endless"] {
        let mut command = run(line).command();
        let folder = scenario.target.join("offload-check");
        let mut child = command
            .process_group(0)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("Cargo starts");
        let log = folder.join(if line.contains("orders") {
            "log/orders/kernels"
        } else {
            "log/memory/kernels"
        });
        let is_running = || fs::read_to_string(&log).is_ok_and(|text| text.contains("launched"));
        // The log of an earlier run must be removed: the test would take it as proof that this run
        // has launched a kernel.
        let _ = fs::remove_file(&log);
        let started = (0..600).any(|_| {
            thread::sleep(Duration::from_millis(100));
            is_running()
        });
        assert!(started, "no kernel is launched");
        let group = format!("-{}", child.id());
        let sent =
            Command::new("kill").args(["-INT", "--", &group]).status().expect("kill is there");
        assert!(sent.success());
        assert_eq!(child.wait().expect("it ends").code(), Some(130), "{line}");
    }

    // If a program does not compile, Cargo reports the errors, and `cargo offload test` adds
    // nothing.
    scenario.write("src/lib.rs", "fn main() { 1 }");
    let printed = ends("--check memory --lib", 101);
    assert_eq!(printed, "");

    let left = fs::read_dir(&temporary).expect("the folder is there").count();
    assert_eq!(left, 0, "files are left in the folder for temporary ones");
}
