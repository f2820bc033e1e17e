//! Tests of `cargo offload test`: its exit statuses, output and files.

use super::offload_test;
use offload_tests::prelude::*;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;

const KERNELS: &str = "\
__global__ void scale(float *x, float a) {
  x[blockIdx.x * blockDim.x + threadIdx.x] *= a;
}

__global__ void spin(volatile int *x) {
  while (threadIdx.x == 3 && *x == 0)
    ;
}

__global__ void leave(int *x) {
#if defined(OFFLOAD_CPU)
  if (*x == 0)
    exit(0);
#endif
}

__global__ void deep(int *x) {
#if defined(OFFLOAD_CPU)
  volatile int local[400000];
  local[threadIdx.x] = local[399999] = 1;
  __syncthreads();
  x[threadIdx.x] = local[threadIdx.x] + local[399999];
#endif
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

#[test]
fn leaves() {
    let device = Device::best_for(&kernels::PACK).unwrap();
    let mut x = device.buffer(&[0_i32]).unwrap();
    // SAFETY: the kernel reads one element.
    unsafe { kernels::leave(&mut x).launch(&device, 1, 32).unwrap() };
}

/// build.rs allows stacks that are large enough.
#[test]
fn large_stacks() {
    let device = Device::best_for(&kernels::PACK).unwrap();
    let mut x = device.buffer(&[0_i32; 32]).unwrap();
    // SAFETY: the kernel writes 32 elements.
    unsafe { kernels::deep(&mut x).launch(&device, 1, 32).unwrap() };
    assert_eq!(x.to_vec().unwrap(), [2; 32]);
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

#[test(COMPILERS.slow())]
fn each_end_has_its_status() {
    let scenario = Scenario::without_sources("check-command");
    let stack = r#".define("OFFLOAD_CPU_STACK", "3000000").archs(["gfx90a", "cpu"])"#;
    scenario
        .write("src/lib.rs", LIBRARY)
        .write("kernels/scale.cu", KERNELS)
        .pack("scale", &format!(".file(\"kernels/scale.cu\"){stack}"));
    let temporary = scenario.folder.join("temporary");
    fs::create_dir(&temporary).expect("the folder can be written");
    let run = |line: &str| offload_test(&scenario, line).env("TMPDIR", &temporary);
    let ends = |line: &str, status: i32| {
        let printed = run(line).ends();
        assert_eq!(printed.status.code(), Some(status), "cargo offload test {line}\n{printed}");
        printed.stdout
    };
    // No test has this name, so no kernel is launched.
    let printed = ends("--check memory --lib -- --exact no_such_test", 2);
    assert!(
        printed.contains(
            "\n0 findings in 0 kernels launched on the CPU\nerror: `cargo offload test --check \
             memory --lib` checked nothing, because no kernel was launched on the CPU. "
        ),
        "{printed}"
    );
    // The kernel is correct, so the exit status depends only on whether its test passes.
    let printed = ends("--check memory --lib -- --exact right", 0);
    let expected = "1 test passed, checked for memory errors\n\n\
                    0 findings in 1 kernel launched on the CPU\n";
    assert_eq!(printed, expected);
    // Two commands in one target folder would remove each other's logs, so the second command waits
    // for the first.
    let lock = scenario.target.join("offload-check/log/memory.lock");
    let lock = fs::File::open(lock).expect("a pass leaves its lock");
    lock.lock().expect("no command runs");
    let waiting = |command: &mut Command| {
        let command = command.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("Cargo starts");
        let stderr = BufReader::new(child.stderr.take().expect("it is piped"));
        let mut lines = stderr.lines().map_while(Result::ok);
        assert!(lines.any(|line| line.ends_with("; waiting for it to end")), "it does not wait");
        (child, lines)
    };
    let command = || run("--check memory --lib -- --exact right").command();
    let (mut second, lines) = waiting(&mut command());
    // Ctrl-C must end a command that waits.
    let (mut third, _lines) = waiting(command().process_group(0));
    interrupt(&third);
    let status = (0..600).find_map(|_| {
        thread::sleep(Duration::from_millis(100));
        third.try_wait().expect("it can be asked")
    });
    assert_eq!(status.and_then(|it| it.code()), Some(130));
    drop(lock);
    lines.for_each(drop);
    assert_eq!(second.wait().expect("it ends").code(), Some(0));
    ends("--check memory --lib -- --exact right wrong_without_a_kernel", 101);
    ends("--check memory --lib -- --exact children_have_no_sanitizer large_stacks", 0);
    // The target folder may have a space in its path, although the loader splits `LD_PRELOAD` at
    // spaces.
    let spaced = scenario.folder.join("a target");
    std::os::unix::fs::symlink(&scenario.target, &spaced).expect("the folder can be written");
    let printed = run("--check memory --lib -- --exact children_have_no_sanitizer")
        .env("CARGO_TARGET_DIR", &spaced)
        .ends();
    assert_eq!(printed.status.code(), Some(0), "{printed}");
    ends("--check race", 2);

    let printed = ends("--check memory --lib -- --exact right past_the_end", 1);
    let expected = "\n1. heap-buffer-overflow, in the kernel scale\n   kernels/scale.cu:2  read of size 4  block (0, 0, 0), \
                    thread (60, 0, 0)\n";
    assert!(printed.contains(expected), "{printed}");
    let missed =
        "\n   parameter 1, `x`, of 240 bytes: read at offset 240\n   launched by past_the_end\n";
    assert!(printed.contains(missed), "{printed}");
    let again = "   to repeat: cargo offload test --check memory --lib -p check-command -- --exact past_the_end\n";
    assert!(printed.contains(again), "{printed}");
    let report = printed
        .lines()
        .find_map(|line| line.strip_prefix("   full report: "))
        .expect("a report is named");
    let report = fs::read_to_string(report).expect("it can be read");
    assert!(report.contains("ERROR: AddressSanitizer"), "{report}");
    // A sentence for readers precedes the line that the command parses.
    let (_, said) =
        report.split_once("\noffload: the finding above is of the kernel ").expect(&report);
    let (kernel, rest) = said.split_once(", ").expect(&report);
    let thread = "block (0, 0, 0), thread (60, 0, 0)\n";
    let record = format!("{thread}offload-finding\tkernel={kernel}\tthread={thread}");
    assert!(rest.starts_with(&record), "{report}");

    // With `--check` and with `--orders`, the command stops a kernel that does not end.
    let printed = ends("--check memory --time-limit 1 --lib -- --exact endless", 1);
    let expected =
        "\n1. a kernel that does not end within 1 s, in the kernel spin\n   kernels/scale.cu:";
    assert!(
        printed.contains(expected) && printed.contains("block (0, 0, 0), thread (3, 0, 0)\n"),
        "{printed}"
    );
    let printed = ends("--orders 2 --time-limit 1 --lib -- --exact endless", 1);
    let expected = "a kernel that does not end within the time limit, in the kernel spin\n   the \
                    kernel was in block (0, 0, 0), thread (3, 0, 0)\n";
    assert!(printed.contains(expected), "{printed}");
    assert!(printed.contains("tests that fail with OFFLOAD_CPU_ORDER=forward\n"), "{printed}");

    // If a kernel ends the program, the test must fail even with exit status 0.
    let printed = ends("--check memory --lib -- --exact leaves", 1);
    let expected = "\n1. a kernel that ends the process, in the kernel leave\n   kernels/scale.cu:13  1 calls exit  \
                    block (0, 0, 0), thread (0, 0, 0)\n";
    assert!(printed.contains(expected), "{printed}");

    // SIGINT is the signal of Ctrl-C.
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
        // Remove the log of an earlier run; otherwise, the test would conclude from it that this
        // run launched a kernel.
        let _ = fs::remove_file(&log);
        let started = (0..600).any(|_| {
            thread::sleep(Duration::from_millis(100));
            is_running()
        });
        assert!(started, "no kernel is launched");
        interrupt(&child);
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

/// Sends SIGINT to all processes of a command, as a terminal does.
fn interrupt(child: &Child) {
    // Use the shell's built-in `kill`, because not every system has a program of that name.
    let kill = format!("kill -s INT -- -{}", child.id());
    let sent = Command::new("sh").args(["-c", &kill]).status().expect("sh is there");
    assert!(sent.success());
}

/// Runs the steps of the workflow in examples/kernel-tests, which clones this repository beside the
/// package.
#[test(COMPILERS.slow())]
fn the_workflow_of_the_example() {
    let scenario = Scenario::example("kernel-tests", "check-workflow");
    let workflow = scenario.text(".github/workflows/test.yml");
    let steps: Vec<&str> =
        workflow.lines().filter_map(|line| line.trim().strip_prefix("- run: ")).collect();
    let clone = scenario.folder.join("../check-workflow-clone");
    let _ = fs::remove_file(&clone);
    let mut launched = 0;
    for step in steps {
        let words: Vec<&str> = step.split(' ').collect();
        match words[..] {
            // This machine already has the packages and the system setting.
            ["sudo", ..] => {}
            ["git", "clone", "--depth", "1", "${{", "vars.OFFLOAD", "}}", "../offload"] => {
                std::os::unix::fs::symlink(scratch::workspace(), &clone).expect("it is free");
            }
            // The module `own` has already built this package, so do not install it.
            ["cargo", "install", "--locked", "--path", path] => {
                let path = path.strip_prefix("../offload").expect("it is in the clone");
                let manifest = fs::read_to_string(format!("{}{path}/Cargo.toml", clone.display()));
                let manifest = manifest.expect("the clone has the package");
                assert!(manifest.contains("\n[[bin]]\nname = \"cargo-offload\"\n\n"), "{step}");
            }
            ["cargo", ref arguments @ ..] => {
                let run = scenario.cargo(arguments).path([own::folder()]);
                let run = run.without(&["OFFLOAD_DEVICE"]).env("CUDA_VISIBLE_DEVICES", "");
                let printed = run.env("HIP_VISIBLE_DEVICES", "-1").ends();
                assert_eq!(printed.status.code(), Some(0), "{step}\n{printed}");
                launched +=
                    usize::from(printed.stdout.contains("\n0 findings in 2 kernels launched"));
            }
            _ => panic!("a step that is not followed: {step}"),
        }
    }
    assert_eq!(launched, 2, "steps with `cargo offload test`");
}
