//! Tests of clang with `clang-offload-bundler`: objects from the old driver, device code linked
//! across objects and archives, and the output of `clang-linker-wrapper`.

use super::{HIP, assert_runs, clang, put_tools};
use offload_tests::prelude::*;
use offload_tests::scenario::printed;

const BUNDLER: &str = "clang-offload-bundler";

const HIP_OPTIONS: &str = "-x hip -nogpuinc -nogpulib --hip-path=/nonexistent \
    --offload-arch=gfx90a:xnack+ --offload-arch=gfx1100";
const LINK_OPTIONS: &str = "-fuse-ld=lld --hip-link -fgpu-rdc --hip-path=/nonexistent -no-hip-rt -shared \
    --offload-arch=gfx90a:xnack+ --offload-arch=gfx1100";

/// A kernel that calls a function in another source.
const CALLS: &str = "extern \"C\" __attribute__((device)) int twice(int);\n\
    __global__ void calls(int *out) { *out = twice(*out); }\n";
const CALLED: &str =
    "extern \"C\" __attribute__((device)) int twice(int value) { return 2 * value; }\n";

/// Runs `build` with LLVM's tools and with ours. `build` returns file names. Returns the contents
/// of these files from both runs.
fn build(name: &str, build: impl Fn(&Path) -> Vec<&'static str>) -> [Vec<Vec<u8>>; 2] {
    let folder = scratch::folder(&format!("drop_in_clang/{name}"));
    scratch::write(folder.join("a.hip"), HIP);
    scratch::write(folder.join("calls.hip"), [HIP, CALLS].concat());
    scratch::write(folder.join("called.hip"), CALLED);
    [llvm_bin(), own::folder()].map(|tools| {
        put_tools(&folder, &tools, &[BUNDLER, "llvm-offload-binary"]);
        build(&folder).into_iter().map(|output| read(folder.join(output))).collect()
    })
}

fn assert_same(name: &str, run: impl Fn(&Path) -> Vec<&'static str>) -> Vec<Vec<u8>> {
    let [theirs, ours] = build(name, run);
    for (number, (theirs, ours)) in theirs.iter().zip(&ours).enumerate() {
        assert_same_bytes(ours, theirs, &format!("{name}, output {number}"));
    }
    ours
}

fn compile(folder: &Path, line: &str) {
    succeed(&mut clang(folder, &format!("{HIP_OPTIONS} -c -fPIC {line}")));
}

#[test(LLVM.slow())]
fn hip_with_the_old_driver() {
    let objects = assert_same("hip_old", |folder| {
        let options = format!("{HIP_OPTIONS} --no-offload-new-driver a.hip");
        assert_runs(folder, BUNDLER, &format!("{options} -c -fPIC -o a.o"));
        for line in [
            "-c -fPIC -o a.o",
            "-c -fPIC --offload-device-only -o a.hipfb",
            // The output file contains everything that is compiled from the source: text for the
            // host, and bitcode for the devices.
            "-c -fPIC -fgpu-rdc -emit-llvm -o a.bc",
            "-E -o a.hipi",
        ] {
            succeed(&mut clang(folder, &format!("{options} {line}")));
        }
        vec!["a.o", "a.hipfb", "a.bc", "a.hipi"]
    });
    assert!(objects[1].starts_with(b"__CLANG_OFFLOAD_BUNDLE__"));
    assert!(objects[3].starts_with(b"\n// __CLANG_OFFLOAD_BUNDLE____START__ "));
}

/// zstd 1.5.7 and 1.5.4 write different streams, so compare the decompressed content and the
/// surrounding parts.
#[test(LLVM)]
fn hip_compressed() {
    let [theirs, ours] = build("hip_compressed", |folder| {
        compile(folder, "--no-offload-new-driver --offload-compress a.hip -o a.o");
        run(llvm("llvm-objcopy"), folder, "--dump-section=.hip_fatbin=fatbin a.o");
        // In both objects, fill the section with zeros by updating it from an empty file. This
        // leaves only the section's size to compare.
        scratch::write(folder.join("nothing"), []);
        run(llvm("llvm-objcopy"), folder, "--update-section=.hip_fatbin=nothing a.o rest.o");
        for arch in ["gfx90a:xnack+", "gfx1100"] {
            let line = "-type=o -unbundle -input=fatbin -targets=hipv4-amdgcn-amd-amdhsa--";
            run(llvm(BUNDLER), folder, &format!("{line}{arch} -output={arch}"));
        }
        vec!["fatbin", "gfx90a:xnack+", "gfx1100", "rest.o"]
    });
    for bundle in [&theirs[0], &ours[0]] {
        assert_eq!(bundle[..6], *b"CCOB\x03\0");
    }
    for (number, (theirs, ours)) in theirs.iter().zip(&ours).enumerate().skip(1) {
        assert_same_bytes(ours, theirs, &format!("hip_compressed, output {number}"));
    }
}

/// Builds two objects with device code in their sections, an archive, and a program. Linking the
/// program unbundles all device code.
#[test(LLVM.slow())]
fn relocatable_device_code() {
    let results = assert_same("relocatable", |folder| {
        for source in ["calls", "called"] {
            let line = format!("--no-offload-new-driver -fgpu-rdc {source}.hip -o {source}.o");
            compile(folder, &line);
        }
        run(llvm("llvm-ar"), folder, "rcsD libcalled.a called.o");
        let link = "--no-offload-new-driver calls.o -L. -lcalled -o all.so";
        let link = format!("{LINK_OPTIONS} {link}");
        assert_runs(folder, BUNDLER, &link);
        succeed(&mut clang(folder, &link));
        vec!["calls.o", "called.o", "libcalled.a", "all.so"]
    });
    let section = b"__CLANG_OFFLOAD_BUNDLE__hip-amdgcn-amd-amdhsa--gfx1100";
    assert!(results[0].windows(section.len()).any(|window| window == section));
    // The kernel and the function that it calls have been linked into one image.
    let bundle = results[3].windows(24).position(|window| window == b"__CLANG_OFFLOAD_BUNDLE__");
    assert!(bundle.is_some_and(|at| at % 4096 == 0));
}

/// `clang-linker-wrapper` searches for the bundler in its own folder, so use a copy of the wrapper
/// beside our bundler.
#[test(LLVM.slow())]
fn the_linker_wrapper() {
    assert_same("linker_wrapper", |folder| {
        const WRAPPER: &str = "clang-linker-wrapper";
        fs::copy(llvm_bin().join(WRAPPER), folder.join("tools").join(WRAPPER))
            .expect("it can be copied");
        for line in [
            "-fno-gpu-rdc a.hip -o a.o",
            "-fgpu-rdc calls.hip -o calls.o",
            "-fgpu-rdc called.hip -o called.o",
        ] {
            compile(folder, &format!("--offload-new-driver {line}"));
        }
        let link = "--offload-new-driver -nogpulib calls.o called.o -o all.so";
        let line = format!("{LINK_OPTIONS} {link} -Wl,--wrapper-verbose");
        let printed = printed(&succeed(&mut clang(folder, &line)));
        let is_ours = printed.contains("tools/clang-offload-bundler");
        assert!(is_ours, "the wrapper runs the bundler beside it:\n{printed}");
        vec!["a.o", "all.so"]
    });
}
