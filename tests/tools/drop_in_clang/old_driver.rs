//! Tests of clang with `clang-offload-bundler`: objects of the old driver, device code that is
//! linked across objects and archives, and the output of `clang-linker-wrapper`.

use super::{HIP, clang, path, put_tools};
use offload_tests::data::{assert_same_bytes, read};
use offload_tests::registry::LLVM;
use offload_tests::scenario::printed;
use offload_tests::tools::{llvm, llvm_bin, stderr, stdout, succeed};
use offload_tests::{own, scratch};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

offload_tests::tests! {
    LLVM => [
        hip_with_the_old_driver,
        hip_compressed,
        relocatable_device_code,
        the_linker_wrapper,
        openmp_archives,
    ],
}

const TOOLS: [&str; 2] = ["clang-offload-bundler", "llvm-offload-binary"];

const HIP_OPTIONS: [&str; 9] = [
    "-x",
    "hip",
    "-nogpuinc",
    "-nogpulib",
    "--hip-path=/nonexistent",
    "-c",
    "-fPIC",
    "--offload-arch=gfx90a:xnack+",
    "--offload-arch=gfx1100",
];

/// A kernel that calls a function of another source.
const CALLS: &str = "extern \"C\" __attribute__((device)) int twice(int);\n\
    __global__ void calls(int *out) { *out = twice(*out); }\n";
const CALLED: &str =
    "extern \"C\" __attribute__((device)) int twice(int value) { return 2 * value; }\n";

/// Runs `build` with LLVM's tools and with ours, and returns both results.
fn build(name: &str, build: impl Fn(&Path) -> Vec<PathBuf>) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let folder = scratch::folder(&format!("drop_in_clang/{name}"));
    scratch::write(folder.join("a.hip"), HIP);
    scratch::write(folder.join("calls.hip"), [HIP, CALLS].concat());
    scratch::write(folder.join("called.hip"), CALLED);
    let [theirs, ours] = [llvm_bin(), own::folder()].map(|tools| {
        put_tools(&folder, &tools, &TOOLS);
        build(&folder).into_iter().map(|output| read(folder.join(output))).collect::<Vec<_>>()
    });
    (theirs, ours)
}

fn assert_same(name: &str, run: impl Fn(&Path) -> Vec<PathBuf>) -> Vec<Vec<u8>> {
    let (theirs, ours) = build(name, run);
    for (number, (theirs, ours)) in theirs.iter().zip(&ours).enumerate() {
        assert_same_bytes(ours, theirs, &format!("{name}, output {number}"));
    }
    ours
}

/// Checks that clang runs our bundler for these arguments.
fn assert_runs_ours(folder: &Path, arguments: &[&str]) {
    let planned = stderr(&succeed(clang(folder).arg("-###").args(arguments)));
    assert!(
        planned.contains("\"tools/clang-offload-bundler\""),
        "clang runs the tool in our folder:\n{planned}"
    );
}

fn hip_with_the_old_driver() {
    let options = [&HIP_OPTIONS[..], &["--no-offload-new-driver"]].concat();
    let objects = assert_same("hip_old", |folder| {
        assert_runs_ours(folder, &[&options[..], &["a.hip", "-o", "a.o"]].concat());
        succeed(clang(folder).args(&options).args(["a.hip", "-o", "a.o"]));
        succeed(clang(folder).args(&options).args([
            "--offload-device-only",
            "a.hip",
            "-o",
            "a.hipfb",
        ]));
        // The output has all results of a source in one file: text for the host and bitcode for the
        // devices.
        succeed(clang(folder).args(&options).args([
            "-fgpu-rdc",
            "-emit-llvm",
            "a.hip",
            "-o",
            "a.bc",
        ]));
        succeed(
            clang(folder)
                .args(&options[..5])
                .args(&options[7..])
                .args(["-E", "a.hip", "-o", "a.hipi"]),
        );
        ["a.o", "a.hipfb", "a.bc", "a.hipi"].map(PathBuf::from).to_vec()
    });
    assert!(objects[1].starts_with(b"__CLANG_OFFLOAD_BUNDLE__"));
    assert!(objects[3].starts_with(b"\n// __CLANG_OFFLOAD_BUNDLE____START__ "));
}

/// zstd 1.5.7 and 1.5.4 write different streams, so the test compares the decompressed content and
/// the surrounding parts.
fn hip_compressed() {
    let options = [&HIP_OPTIONS[..], &["--no-offload-new-driver", "--offload-compress"]].concat();
    let (theirs, ours) = build("hip_compressed", |folder| {
        succeed(clang(folder).args(&options).args(["a.hip", "-o", "a.o"]));
        succeed(
            llvm("llvm-objcopy")
                .current_dir(folder)
                .args(["--dump-section=.hip_fatbin=fatbin", "a.o"]),
        );
        // The update with an empty file fills the section with zeros in both objects. So for this
        // section, only the size is compared.
        scratch::write(folder.join("nothing"), []);
        let update = ["--update-section=.hip_fatbin=nothing", "a.o", "rest.o"];
        succeed(llvm("llvm-objcopy").current_dir(folder).args(update));
        for arch in ["gfx90a:xnack+", "gfx1100"] {
            let target = format!("-targets=hipv4-amdgcn-amd-amdhsa--{arch}");
            let mut take = llvm("clang-offload-bundler");
            take.args([
                "-type=o",
                "-unbundle",
                "-input=fatbin",
                &target,
                &format!("-output={arch}"),
            ]);
            succeed(take.current_dir(folder));
        }
        ["fatbin", "gfx90a:xnack+", "gfx1100", "rest.o"].map(PathBuf::from).to_vec()
    });
    for bundle in [&theirs[0], &ours[0]] {
        assert_eq!(bundle[..6], *b"CCOB\x03\0");
    }
    for (number, (theirs, ours)) in theirs.iter().zip(&ours).enumerate().skip(1) {
        assert_same_bytes(ours, theirs, &format!("hip_compressed, output {number}"));
    }
}

/// Builds objects with device code in their sections, an archive of them, and a program; linking it
/// unbundles all of them.
fn relocatable_device_code() {
    let options = [&HIP_OPTIONS[..], &["--no-offload-new-driver", "-fgpu-rdc"]].concat();
    let link = [
        "-fuse-ld=lld",
        "--hip-link",
        "-fgpu-rdc",
        "--no-offload-new-driver",
        "--hip-path=/nonexistent",
        "-no-hip-rt",
        "--offload-arch=gfx90a:xnack+",
        "--offload-arch=gfx1100",
        "-shared",
        "calls.o",
        "-L.",
        "-lcalled",
        "-o",
        "all.so",
    ];
    let results = assert_same("relocatable", |folder| {
        for source in ["calls", "called"] {
            let output = format!("{source}.o");
            succeed(clang(folder).args(&options).args([&format!("{source}.hip"), "-o", &output]));
        }
        succeed(llvm("llvm-ar").current_dir(folder).args(["rcsD", "libcalled.a", "called.o"]));
        assert_runs_ours(folder, &link);
        succeed(clang(folder).args(link));
        ["calls.o", "called.o", "libcalled.a", "all.so"].map(PathBuf::from).to_vec()
    });
    let section = b"__CLANG_OFFLOAD_BUNDLE__hip-amdgcn-amd-amdhsa--gfx1100";
    assert!(results[0].windows(section.len()).any(|window| window == section));
    // The kernel and the function that it calls have been linked into one image.
    let bundle = results[3].windows(24).position(|window| window == b"__CLANG_OFFLOAD_BUNDLE__");
    assert!(bundle.is_some_and(|at| at % 4096 == 0));
}

/// `clang-linker-wrapper` searches for the bundler in its own folder, so a copy of it finds ours.
fn the_linker_wrapper() {
    let options = [&HIP_OPTIONS[..], &["--offload-new-driver"]].concat();
    let copy = |folder: &Path| {
        const WRAPPER: &str = "clang-linker-wrapper";
        fs::copy(llvm_bin().join(WRAPPER), folder.join("tools").join(WRAPPER))
            .expect("it can be copied");
    };
    assert_same("linker_wrapper", |folder| {
        copy(folder);
        succeed(clang(folder).args(&options).args(["-fno-gpu-rdc", "a.hip", "-o", "a.o"]));
        for source in ["calls", "called"] {
            let output = format!("{source}.o");
            succeed(clang(folder).args(&options).args([
                "-fgpu-rdc",
                &format!("{source}.hip"),
                "-o",
                &output,
            ]));
        }
        let mut link = clang(folder);
        link.args([
            "-fuse-ld=lld",
            "--hip-link",
            "-fgpu-rdc",
            "--offload-new-driver",
            "--hip-path=/nonexistent",
        ]);
        link.args(["-no-hip-rt", "-nogpulib", "-shared", "calls.o", "called.o", "-o", "all.so"]);
        link.args(["--offload-arch=gfx90a:xnack+", "--offload-arch=gfx1100"]);
        let printed = printed(&succeed(link.arg("-Wl,--wrapper-verbose")));
        assert!(
            printed.contains("tools/clang-offload-bundler"),
            "the wrapper runs the bundler beside it:\n{printed}"
        );
        ["a.o", "all.so"].map(PathBuf::from).to_vec()
    });
}

/// Builds archives of OpenMP objects as in earlier releases, which have device code in sections.
fn openmp_archives() {
    assert_same("openmp_archives", |folder| {
        scratch::write(folder.join("a.c"), "int host(void) { return 1; }\n");
        succeed(clang(folder).args(["-c", "a.c", "-o", "host.o"]));
        scratch::write(folder.join("d.c"), "int device(void) { return 2; }\n");
        for (target, output) in
            [("amdgcn-amd-amdhsa", "amd.bc"), ("nvptx64-nvidia-cuda", "nvidia.bc")]
        {
            let target = format!("--target={target}");
            succeed(clang(folder).args([
                &target,
                "-nogpulib",
                "-emit-llvm",
                "-c",
                "d.c",
                "-o",
                output,
            ]));
        }
        let bundler = || {
            let mut bundler = Command::new(folder.join("tools/clang-offload-bundler"));
            bundler.current_dir(folder).env("PATH", path());
            bundler
        };
        let targets = "-targets=host-x86_64-unknown-linux-gnu,openmp-amdgcn-amd-amdhsa--gfx90a,\
                       openmp-nvptx64-nvidia-cuda--sm_80";
        let inputs = ["-input=host.o", "-input=amd.bc", "-input=nvidia.bc", "-output=fat.o"];
        succeed(bundler().args(["-type=o", targets]).args(inputs));
        succeed(llvm("llvm-ar").current_dir(folder).args(["rcsD", "fat.a", "fat.o"]));
        for (target, output) in [
            ("openmp-amdgcn-amd-amdhsa--gfx90a:xnack+", "amd.a"),
            ("openmp-nvptx64-nvidia-cuda--sm_80", "nvidia.a"),
        ] {
            let words =
                [&format!("-targets={target}"), &format!("-output={output}")].map(String::from);
            succeed(bundler().args(["-type=a", "-unbundle", "-input=fat.a"]).args(words));
        }
        // The linker finds the device code by the archive's index of symbols.
        let nm = succeed(llvm("llvm-nm").current_dir(folder).args(["--print-armap", "amd.a"]));
        assert!(stdout(&nm).contains("device in "), "the archive has an index");
        ["fat.o", "fat.a", "amd.a", "nvidia.a"].map(PathBuf::from).to_vec()
    });
}
