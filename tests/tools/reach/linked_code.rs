//! Tests of NVIDIA's relocatable device code. The driver runs the linked machine code, or links the
//! parts when it loads the program. nvJitLink links in the same way.

use crate::agreement::ask;
use crate::{json, list, offload};
use offload_tests::jit_link::JitLink;
use offload_tests::prelude::*;
use std::ops::Range;

/// The sources: a kernel, a function that the kernel calls, and code that no other source needs.
const SOURCES: [(&str, &str); 3] = [
    (
        "a",
        "extern __device__ int twice(int);\n\
         __global__ void k(int *p) { p[threadIdx.x] = twice(p[threadIdx.x]); }\n\
         extern \"C\" void launch(int *p) { k<<<1, 32>>>(p); }\n",
    ),
    ("b", "__device__ int twice(int x) { return 2 * x; }\n"),
    ("c", "__global__ void c() {}\nextern \"C\" void other() { c<<<1, 1>>>(); }\n"),
];

const SM_80: &str = "-gencode=arch=compute_80,code=sm_80";
const COMPUTE_80: &str = "-gencode=arch=compute_80,code=compute_80";
const COMPUTE_90: &str = "-gencode=arch=compute_90,code=compute_90";

/// GPUs of several major versions.
const GPUS: [&str; 8] = ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_103", "sm_120"];

fn nvcc(folder: &Path, args: &[&str]) {
    let mut nvcc = cuda("nvcc");
    nvcc.args(["-Xcompiler", "-fPIC"]).args(args).current_dir(folder);
    succeed(nvcc.env("NVCC_CCBIN", "g++"));
}

/// Compiles `a.o` and `b.o` for these targets, and links their device code into `linked.o`.
fn compile(name: &str, a: &[&str], b: &[&str]) -> PathBuf {
    let folder = scratch::folder(&format!("offload-linked-code-{name}"));
    for (name, source) in SOURCES {
        scratch::write(folder.join(format!("{name}.cu")), source);
    }
    nvcc(&folder, &[&["-dc", "a.cu", "-o", "a.o"], a].concat());
    nvcc(&folder, &[&["-dc", "b.cu", "-o", "b.o"], b].concat());
    nvcc(&folder, &["-dlink", SM_80, "a.o", "b.o", "-o", "linked.o"]);
    folder
}

/// Links these objects into a library.
fn link(folder: &Path, objects: &[&str]) {
    let mut link = Command::new("g++");
    succeed(link.args(["-shared", "-o", "lib.so"]).args(objects).current_dir(folder));
}

/// Returns the fatbins in a section of `lib.so`, as found by `ls`.
fn fatbins(folder: &Path, section: &str) -> Vec<Vec<u8>> {
    let library = read(folder.join("lib.so"));
    let document = json(&offload(folder, "ls lib.so --json"));
    let images = list(&document["images"]).iter();
    let of_section = images.filter(|image| image["section"] == section);
    let mut numbers: Vec<u64> =
        of_section.map(|image| image["container_index"].as_u64().expect("a number")).collect();
    numbers.dedup();
    let starts = library.windows(4).enumerate().filter(|(_, it)| *it == [0x50, 0xed, 0x55, 0xba]);
    let starts: Vec<usize> = starts.map(|(at, _)| at).collect();
    let range = |at: usize| -> Range<usize> {
        let header: [u8; 8] = library[at + 8..at + 16].try_into().expect("8 bytes");
        at..at + 16 + u64::from_le_bytes(header) as usize
    };
    numbers.iter().map(|it| library[range(starts[*it as usize])].to_vec()).collect()
}

/// Returns, for each GPU, whether the file serves it. `reach`, `select` and `verify` must agree.
fn served(folder: &Path, file: &str) -> Vec<bool> {
    let is_served = |gpu: &&str| {
        let (is_served, _) = ask(&folder.join(file), gpu, "");
        assert_eq!(offload(folder, &format!("verify {file} --for {gpu}")).code == 0, is_served);
        is_served
    };
    GPUS.iter().map(is_served).collect()
}

/// Asserts that exactly these GPUs are served: by linked code, or by parts that nvJitLink can link
/// for the GPU.
fn assert_served_as_linked(folder: &Path, expected: &[&str]) {
    link(folder, &["a.o", "b.o", "linked.o"]);
    let library = JitLink::load();
    let (linked, parts) = (fatbins(folder, ".nv_fatbin"), fatbins(folder, "__nv_relfatbin"));
    assert_eq!((linked.len(), parts.len()), (1, 2));
    let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
    let has_kernel = |cubin: Vec<u8>| cubin.windows(6).any(|name| name == b"_Z1kPi");
    let judged = GPUS.map(|gpu| {
        // For compute capability 9.0, nvJitLink needs the real GPU's own name, `sm_90a`.
        let gpu = if gpu == "sm_90" { "sm_90a" } else { gpu };
        library.link(&linked[0], gpu).is_some()
            || library.link_all(&parts, gpu).is_some_and(has_kernel)
    });
    let found = served(folder, "lib.so");
    assert_eq!(found, judged);
    assert_eq!(found, GPUS.map(|gpu| expected.contains(&gpu)));
}

#[test(needs(&[Tool::Cuda, Tool::NvJitLink]))]
fn parts_are_linked_at_load() {
    let targets = [SM_80, COMPUTE_90];
    let folder = compile("both", &targets, &targets);
    assert_served_as_linked(&folder, &GPUS[1..]);
    let ran = offload(&folder, "reach lib.so");
    assert!(
        ran.stdout.starts_with("lib.so\n  sm_121  compute_90, linked by a CUDA 13."),
        "{ran:?}"
    );
    assert!(ran.stdout.contains("\n  sm_86   machine code for sm_80 "), "{ran:?}");
    let ran = offload(&folder, "reach lib.so --for conda");
    assert!(ran.stdout.ends_with("- __cuda_arch >=8.0,<8.7|>=8.8\n"), "{ran:?}");
    let ran = offload(&folder, "select lib.so --device sm_100");
    let fit = "  compute_90  PTX for 9.0 and up, compiled by the driver, linked at load time with 1 other image\n";
    assert!(ran.stdout.contains(fit), "{ran:?}");
    let ran = offload(&folder, "select lib.so --device sm_80");
    let reason =
        "  sm_80       for linking at load time, which this device does not need  (2 images)\n";
    assert!(ran.stdout.contains(reason), "{ran:?}");
    let document = json(&offload(&folder, "select lib.so --device sm_100 --json"));
    assert_eq!(list(&document["modules"][0]["parts"]).len(), 2);
    let ran = offload(&folder, "select lib.so --device sm_100 -o image");
    crate::assert_fails(&ran, &["for sm_100 the driver links 2 images of lib.so\n"]);
    // ptxas must accept that a part's PTX calls functions in other parts.
    let ptxas = cuda("ptxas").get_program().to_owned();
    let mut compile = own::offload(&["reach", "--compile", "lib.so"]);
    let ran = offload_tests::own::run(compile.current_dir(&folder).env("OFFLOAD_PTXAS", ptxas));
    assert_eq!(ran.code, 0, "{ran:?}");
}

#[test(needs(&[Tool::Cuda, Tool::NvJitLink]))]
fn parts_without_an_image() {
    let folder = compile("one", &[SM_80, COMPUTE_90], &[SM_80]);
    assert_served_as_linked(&folder, &["sm_80", "sm_86", "sm_89"]);
    let ran = offload(&folder, "select lib.so --device sm_90");
    let reason = "  compute_90  fits, but must be linked with images from other fatbins, and one of those fatbins has no image that fits\n";
    assert!(ran.stdout.contains(reason), "{ran:?}");
    // A part's LTO code is not linked at load time.
    let lto = "-gencode=arch=compute_90,code=lto_90";
    let folder = compile("lto", &[SM_80, COMPUTE_90], &[SM_80, lto]);
    link(&folder, &["a.o", "b.o", "linked.o"]);
    assert_eq!(served(&folder, "lib.so")[4..], [false; 4]);
    // The parts have PTX for different targets.
    let folder = compile("different", &[SM_80, COMPUTE_90], &[SM_80, COMPUTE_80]);
    assert_served_as_linked(&folder, &GPUS[1..]);
    let ran = offload(&folder, "reach lib.so --require sm_90");
    assert!(ran.stdout.contains("\n  sm_90   compute_80, linked by a CUDA 13."), "{ran:?}");
}

/// Modules that were not linked from parts are separate modules.
#[test(needs(&[Tool::Cuda, Tool::NvJitLink]))]
fn other_modules() {
    let targets = [SM_80, COMPUTE_90];
    let folder = compile("others", &targets, &targets);
    nvcc(&folder, &["-c", "c.cu", SM_80]);
    link(&folder, &["a.o", "b.o", "linked.o", "c.o"]);
    let ran = offload(&folder, "reach lib.so --require sm_90");
    crate::assert_fails(&ran, &["error: lib.so: no image for sm_90 in 1 of 2 modules\n"]);
    assert_eq!(served(&folder, "lib.so")[1..4], [true; 3]);
    // With two linked images, either may have been linked from any of the parts.
    nvcc(&folder, &["-dc", "c.cu", SM_80]);
    nvcc(&folder, &["-dlink", SM_80, "c.o", "-o", "other.o"]);
    link(&folder, &["a.o", "b.o", "linked.o", "c.o", "other.o"]);
    assert_eq!(
        served(&folder, "lib.so"),
        GPUS.map(|gpu| ["sm_80", "sm_86", "sm_89"].contains(&gpu))
    );
    assert_eq!(json(&offload(&folder, "reach lib.so --json"))[0]["modules"], 1);
}

/// Tests a static library with and without the linked code, and objects that are not device-linked.
#[test(needs(&[Tool::Cuda, Tool::NvJitLink]))]
fn objects_and_archives() {
    let targets = [SM_80, COMPUTE_90];
    let folder = compile("archives", &targets, &targets);
    for (archive, objects, modules) in
        [("all.a", &["a.o", "b.o", "linked.o"][..], 1), ("parts.a", &["a.o", "b.o"], 2)]
    {
        succeed(Command::new("ar").args(["rcs", archive]).args(objects).current_dir(&folder));
        let document = json(&offload(&folder, &format!("reach {archive} --json")));
        assert_eq!(document[0]["modules"], modules, "{archive}");
        assert_eq!(served(&folder, archive)[5..], [true; 3]);
    }
    link(&folder, &["a.o", "b.o"]);
    assert_eq!(json(&offload(&folder, "reach lib.so --json"))[0]["modules"], 2);
}
