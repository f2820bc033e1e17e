//! Tests on the CPU, without a GPU driver or with an unusable one.

use super::{PROGRAM, RAN_ON_CPU, assert_expected, on_driver, on_gpus, run, transcript};
use offload_tests::prelude::*;
use offload_tests::stand_ins::{Outcome, Staged, compile, empty_library};

const NAMESPACES: Needs = needs(&[Tool::Llvm22, Tool::Gcc, Tool::Cuda, Tool::OwnMounts]);

/// A folder with stubs: an empty library for each driver. Some machines have no drivers, but only
/// stubs with which programs can be linked.
static STUBS: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = scratch::folder("run_time_stubs");
    DRIVERS.iter().for_each(|name| empty_library(&folder, name));
    folder
});

/// The file names of CUDA's driver and HIP's runtime.
const DRIVERS: [&str; 5] =
    ["libcuda.so.1", "libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"];

/// A folder with files that are named like the drivers but are not libraries.
static BROKEN: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = scratch::folder("run_time_broken");
    for name in DRIVERS {
        scratch::write(folder.join(name), "this is no library");
    }
    folder
});

fn on_cpu() -> Staged {
    on_driver(&STUBS, "").with("OFFLOAD_CPU_THREADS", "2")
}

fn devices(libraries: &Path) -> Outcome {
    let outcome = run(&on_driver(libraries, ""), &["devices"]);
    outcome.succeeds();
    outcome
}

/// Asserts that the program prints why there is no GPU. If this machine has real drivers, the
/// reason is that the drivers find no GPU.
#[test(COMPILERS)]
fn a_machine_without_drivers_has_reasons() {
    let outcome = devices(&scratch::folder("run_time_nothing"));
    outcome.prints("cpu (linux x86_64): the CPU, None bytes\n");
    for (kind, reason) in [
        ("cuda", "no CUDA driver: the system's loader finds no libcuda.so.1\n"),
        ("hip", "no HIP runtime: the system's loader finds no libamdhip64.so, libamdhip64.so.7, "),
    ] {
        let start = format!("no {kind} device: ");
        let line = outcome.stdout.lines().find(|line| line.starts_with(&start));
        let line = format!("{}\n", line.unwrap_or_else(|| panic!("{outcome:#?}")));
        assert!(line.contains("finds no GPU") || line.contains(reason), "{line}");
    }
    run(&on_driver(&scratch::folder("run_time_nowhere"), ""), &["saxpy"])
        .succeeds()
        .prints("cpu (linux x86_64): the cpu shared object computed 1000 of 1000\n");
}

#[test(COMPILERS)]
fn libraries_that_are_no_drivers_are_told() {
    let broken = devices(&BROKEN);
    broken
        .prints("no cuda device: no CUDA driver: libcuda.so.1 does not load: ")
        .prints("libcuda.so.1: file too short")
        .prints("no hip device: no HIP runtime: ")
        .prints("libamdhip64.so.7 does not load: ");
    run(&on_driver(&BROKEN, ""), &["saxpy"]).succeeds().prints(RAN_ON_CPU);
    let missing = run(&on_cpu().with("OFFLOAD_DEVICE", "cuda:0"), &["saxpy"]);
    let text = transcript("stubs", &devices(&STUBS)) + &transcript("a stub is asked for", &missing);
    // The line about OpenCL depends on whether the machine has OpenCL's loader.
    let is_compared = |line: &&str| !line.starts_with("no opencl device: ");
    let text: String = text.split_inclusive('\n').filter(is_compared).collect();
    assert_expected("stubs", &text);
}

/// Asserts that the run time finds AMD's runtime behind a stub. Development packages install a stub
/// under the name without a version. The run time must then try the next name.
#[test(COMPILERS)]
fn a_stub_does_not_hide_the_runtime() {
    let folder = scratch::folder("run_time_behind_a_stub");
    empty_library(&folder, "libamdhip64.so");
    compile("hip_runtime.c", &["-shared", "-fPIC"], &folder.join("libamdhip64.so.7"));
    run(&on_driver(&folder, "").with("FAKE_GPU", "gfx1100"), &["devices"])
        .succeeds()
        .prints("hip:0 (Fake GPU gfx1100)");
}

#[test(COMPILERS)]
fn images_for_the_cpu_do_not_pass_for_each_other() {
    assert_eq!(run(&on_cpu(), &["in-turn"]).succeeds().stdout, in_turn());
}

/// Returns the output of the program's command `in-turn`.
fn in_turn() -> String {
    "[1, 15, 16]\n[2, 1023, 1024]\n".repeat(4) + "[1, 15, 16]\n"
}

/// Asserts that debuggers find source lines in the file that the loader names. While an image is
/// loaded, no file of it may remain on disk: a program that aborts would leave it there.
#[test(COMPILERS)]
fn an_image_with_debug_information_leaves_no_file() {
    run(&on_cpu().with("TMPDIR", scratch::folder("run_time_tmp")), &["debug"])
        .succeeds()
        .prints("[2], line two.cu:1, files: 0\n");
}

/// Asserts that images can be loaded even if `/proc` is empty, or belongs to an outer PID
/// namespace, in which this process has a different ID.
#[test(NAMESPACES)]
fn images_are_loaded_without_the_process_in_proc() {
    let folder = scratch::folder("run_time_namespaces");
    let program = PROGRAM.path.to_str().expect("the target folder's name is UTF-8");
    let inside = Staged::new(Path::new("unshare"), &STUBS).with("TMPDIR", &folder);
    let hidden = "mount -t tmpfs none /proc && exec \"$0\" in-turn";
    for args in [&["-rpf", program, "in-turn"][..], &["-rm", "sh", "-c", hidden, program]] {
        assert_eq!(run(&inside, args).succeeds().stdout, in_turn());
        assert_eq!(std::fs::read_dir(&folder).expect("the folder is there").count(), 0);
    }
}

#[test(COMPILERS)]
fn threads_do_not_change_the_bits() {
    let bits = |threads: &str| {
        let staged = on_cpu().with("OFFLOAD_CPU_THREADS", threads);
        run(&staged, &["bits"]).succeeds().stdout.clone()
    };
    let one = bits("1");
    assert!(one.matches(',').count() == 63, "{one}");
    for threads in ["2", "3", "64", ""] {
        assert_eq!(one, bits(threads), "{threads}");
    }
}

#[test(COMPILERS)]
fn a_variable_that_makes_no_sense_is_an_error() {
    for (name, what) in [
        ("OFFLOAD_CPU_THREADS", "a number of threads"),
        ("OFFLOAD_CPU_TIME_LIMIT", "a number of seconds"),
    ] {
        for value in ["0", "-1", "many", "1.5", "99999999999999999999"] {
            run(&on_cpu().with(name, value), &["bits"]).fails_with(&format!(
                "error: cpu (linux x86_64): could not launch block_sum: {name} is '{value}', but must be {what}, at least 1\n"
            ));
        }
    }
}

#[test(COMPILERS)]
fn several_modules_are_loaded_by_name() {
    run(&on_cpu(), &["modules"])
        .succeeds()
        .prints("could not load the pack \"modules\": it has several modules (first, second).")
        .prints_last("[1] [2]\n");
}

#[test(COMPILERS)]
fn a_file_of_unknown_origin_needs_a_word() {
    let outcome = run(&on_cpu(), &["by-path"]);
    assert_eq!(
        outcome.succeeds().stdout,
        "cpu (linux x86_64): could not load the module \"two\": its image for the CPU would run in this program, but was \
         not compiled by this build. Choose a different device or, if you trust the file, write \
         include_offload!(path = \"...\", unsafe(cpu))\n[2]\n"
    );
    // On a GPU, the file needs no permission, because its code does not run in this process.
    assert_eq!(run(&on_gpus("9.0"), &["by-path"]).succeeds().stdout, "[0]\n");
}

#[test(COMPILERS)]
fn a_kernel_that_an_image_lacks_is_an_error() {
    run(&on_cpu(), &["lacking"]).fails_with(
        "error: cpu (linux x86_64): could not find the kernel on_gpus_only: the image for the CPU has no such kernel\n",
    );
}

#[test(COMPILERS)]
fn a_pack_that_fits_nothing_lists_the_reasons() {
    let asked = run(&on_cpu().with("OFFLOAD_DEVICE", "cpu"), &["no-image"]);
    let text = transcript("no GPU", &run(&on_cpu(), &["no-image"]));
    assert_expected("no_image", &(text + &transcript("the CPU is asked for", &asked)));
}

#[test(COMPILERS)]
fn what_a_device_has_not_is_told() {
    let text = transcript("the CPU", &run(&on_cpu(), &["errors"]))
        + &transcript("a GPU", &run(&on_gpus("9.0"), &["errors"]));
    assert_expected("errors", &text);
}
