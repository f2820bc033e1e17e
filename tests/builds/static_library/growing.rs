//! Lists of targets that grow, and images for targets that are in no list. A log of nvcc's calls,
//! `cuobjdump`, LLVM 22's `llvm-objcopy` and a copy of the package in a different folder check the
//! results.

use crate::NVCC_AND_CLANG;
use crate::nvcc::rebuilds::LoggingToolkit;
use offload_tests::judges::cuda_images;
use offload_tests::own;
use offload_tests::prelude::*;

/// A source with kernels and variables that are hidden from other sources. nvcc derives their names
/// from the first function that a compilation sees.
const HIDDEN: &str = r#"#ifndef __CUDA_ARCH__
int only_on_host(int x) { return x + 1; }
#endif
namespace {
__constant__ float factor[2];
__device__ float sum;
template <class T> __global__ void scale(T *x) { x[threadIdx.x] = x[threadIdx.x] * factor[1] + sum; }
}
static __global__ void clear(float *x) { *x = 0; }
extern "C" int hidden(float *x) {
  float values[2] = {1, 2};
  cudaMemcpyToSymbol(factor, values, sizeof values);
  cudaMemcpyToSymbol(sum, values, sizeof(float));
  scale<<<1, 32>>>(x);
  clear<<<1, 1>>>(x);
  return (int)cudaGetLastError();
}
"#;

/// A source that depends on the whole list of targets, like CUDA's C++ libraries.
const LISTED: &str = r#"#define TEXT_(...) #__VA_ARGS__
#define TEXT(...) TEXT_(__VA_ARGS__)
__global__ void listed_kernel(int *x) { *x = 1; }
extern "C" const char *listed(int *x) { listed_kernel<<<1, 1>>>(x); return TEXT(__CUDA_ARCH_LIST__); }
"#;

/// Returns a package in which one `Build` makes two libraries, one of them with `device_link()`.
/// The program prints the results of `hidden` and `listed`.
fn package(name: &str) -> Scenario {
    let scenario = Scenario::without_sources(name);
    scenario
        .build_script(
            r#"let mut build = Build::new();
    build.files(["kernels/hidden.cu", "kernels/listed.cu"]).compiler(Compiler::Nvcc).archs(["sm_80"]);
    if std::env::var("PLAIN").is_err() {
        build.clone().device_link().flag("-lineinfo").compile_static("linked");
    }
    build.compile_static("plain");"#,
        )
        .write("kernels/hidden.cu", HIDDEN)
        .write("kernels/listed.cu", LISTED)
        .write(
            "src/main.rs",
            "use std::ffi::{CStr, c_char};\n\
             unsafe extern \"C\" {\n    fn hidden(x: *mut f32) -> i32;\n    fn listed(x: *mut i32) -> *const c_char;\n}\n\
             fn main() {\n    let (x, y) = (std::ptr::null_mut(), std::ptr::null_mut());\n    \
             unsafe { println!(\"{} {:?}\", hidden(x), CStr::from_ptr(listed(y))) };\n}\n",
        );
    scenario
}

/// nvcc is called once for each target. The object from several calls must have the same contents
/// as an object from one call.
#[test(NVCC_AND_CLANG.slow())]
fn nvcc_compiles_new_targets_alone() {
    let scenario = package("static_growing");
    let toolkit = LoggingToolkit::new(&scenario);
    let build = |archs: &str| {
        scenario.build().env("CUDA_HOME", &toolkit.root).env("OFFLOAD_ARCH", archs).passes();
        toolkit.calls().matches("start").count()
    };
    // nvcc compiles two sources for each of two libraries, and links once.
    assert_eq!(build("sm_80"), 2 * 2 + 1);
    // In each library, one source is compiled only for the two new targets, and the other for all
    // three.
    let archs = "sm_75;sm_80;compute_80";
    assert_eq!(build(archs), 2 * (2 + 3) + 1);
    for library in ["plain", "linked"] {
        for source in ["0_hidden", "0_listed"] {
            let object =
                scenario.output("debug", &format!("{library}/{source}.sm_75.sm_80.compute_80.o"));
            assert_eq!(cuda_images(&object), ["sm_75.cubin", "sm_80.cubin", "sm_80.ptx"]);
            assert_registers_kernels(&object, &["sm_75", "sm_80"]);
        }
    }
    scenario.start("debug").passes().has(" \"750,800\"\n");
    // With debug information, nvcc uses the objects' paths as names of linked images.
    let object = scenario.output("debug", "linked/device_link.sm_75.sm_80.compute_80.o");
    let listed = stdout(&succeed(own::offload(&["ls"]).arg(object)));
    assert_eq!(listed.matches(" kernels/hidden.cu kernels/listed.cu\n").count(), 2, "{listed}");
    // The list now lacks the first target, so the host's part comes from another target, whose
    // object exists. Only the PTX of the source that depends on the whole list is missing in each
    // library.
    assert_eq!(build("sm_80;compute_80"), 2 + 1);
    assert_eq!(build("sm_80;compute_80"), 0);
    scenario.start("debug").passes().has(" \"800\"\n");

    // The same sources must make the same objects in any folder, except for names that contain the
    // folder.
    let mut other = package("static_growing_elsewhere");
    other.write("Cargo.toml", scenario.text("Cargo.toml"));
    other.target = other.folder.join("built");
    let build = |scenario: &Scenario| {
        scenario.build().release().env("PLAIN", "1").env("OFFLOAD_ARCH", "sm_75;sm_80").passes();
    };
    build(&scenario);
    build(&other);
    for file in ["plain/0_listed.sm_75.o", "plain/0_listed.sm_75.sm_80.o"] {
        let bytes = |of: &Scenario| read(of.output_of(scenario.name(), "release", file));
        assert!(bytes(&scenario) == bytes(&other), "{file}");
    }
}

/// If nvcc's calls for several targets generate different hidden names, one call must compile all
/// targets.
#[test(NVCC_AND_CLANG.slow())]
fn calls_that_disagree_are_replaced_by_one() {
    let scenario = package("static_disagreeing");
    let nvcc = cuda("nvcc").get_program().to_owned();
    // Without the kit's header, nvcc names hidden items after the first function that a call sees.
    let wrapper = scenario.script(
        "wrapper/nvcc",
        &format!(
            "case \" $* \" in *' -fatbin '*) set -- $(echo \"$@\" | sed 's/-include [^ ]*//');; esac\n\
             exec '{}' \"$@\"",
            nvcc.display()
        ),
    );
    let build = scenario.build().env("NVCC", wrapper).env("PLAIN", "1");
    build.env("OFFLOAD_ARCH", "sm_80;sm_90").passes();
    let object = scenario.output("debug", "plain/0_hidden.sm_80.sm_90.o");
    assert_eq!(cuda_images(&object), ["sm_80.cubin", "sm_90.cubin"]);
    assert_registers_kernels(&object, &["sm_80", "sm_90"]);
}

/// Asserts that the host's part of an object registers each kernel under the kernel's name in the
/// images.
#[track_caller]
fn assert_registers_kernels(object: &Path, targets: &[&str]) {
    let folder = object.with_extension("strings");
    fs::create_dir_all(&folder).expect("the folder can be made");
    // An object may lack strings with one of the alignments.
    let strings = ["1", "8"].map(|alignment| {
        let (dumped, copy) = (folder.join(alignment), folder.join("copy.o"));
        let section = format!("--dump-section=.rodata.str1.{alignment}={}", dumped.display());
        let ended = llvm("llvm-objcopy").arg(section).arg(object).arg(copy).output();
        let is_dumped = ended.expect("it starts").status.success();
        if is_dumped { String::from_utf8_lossy(&read(dumped)).into_owned() } else { String::new() }
    });
    let strings = strings.concat();
    let names: Vec<&str> = strings.split('\0').collect();
    for target in targets {
        let listed =
            stdout(&succeed(cuda("cuobjdump").args(["-elf", "-arch", target]).arg(object)));
        let functions = listed.lines().filter(|line| line.contains(" FUNC "));
        let kernels: Vec<&str> =
            functions.filter_map(|line| line.split_whitespace().last()).collect();
        assert!(!kernels.is_empty(), "{listed}");
        for kernel in kernels {
            assert!(names.contains(&kernel), "{kernel} of {target}: {names:?}");
        }
    }
}

/// Tests options that build.rs does not see. They are in a file that a variable names, in a wrapper
/// around nvcc, or in one of clang's variables.
#[test(NVCC_AND_CLANG.slow())]
fn images_in_no_list_are_refused() {
    let scenario = Scenario::without_sources("static_unasked");
    scenario
        .build_script(
            r#"let mut build = Build::new();
    build.file("kernels/one.cu").archs(["sm_80"]);
    if std::env::var("NVCC_COMPILES").is_ok() {
        build.compiler(Compiler::Nvcc);
    }
    if std::env::var("PACK").is_ok() {
        build.compile("pack");
    } else {
        build.compile_static("one");
    }"#,
        )
        .write("kernels/one.cu", "__global__ void one(float *x) { *x = 1; }\n")
        .write("src/lib.rs", "")
        .write("options", "-gencode arch=compute_90,code=[sm_90,compute_90]\n");
    let why = "Only build.rs and OFFLOAD_ARCH set the targets of a build, but something else \
               changed these targets. Possible causes are ";
    let append = format!("--options-file {}", scenario.folder.join("options").display());
    let by_nvcc = || scenario.build().env("NVCC_COMPILES", "1");
    by_nvcc().env("NVCC_APPEND_FLAGS", &append).fails().each_once([
        "one/0_one.sm_80.o has device code for compute_90, sm_80, sm_90, but the build is for \
         sm_80\n",
        &format!("{why}NVCC_APPEND_FLAGS={append}, a wrapper around the compiler"),
    ]);
    let nvcc = cuda("nvcc").get_program().to_owned();
    let wrapper = |options: &str| {
        let text = format!(
            "case \" $* \" in *' -c '*) set -- \"$@\" {options};; esac\nexec '{}' \"$@\"",
            nvcc.display()
        );
        scenario.script("wrapper/nvcc", &text)
    };
    let wrapped = |options: &str| by_nvcc().env("NVCC", wrapper(options));
    wrapped("-gencode arch=compute_75,code=sm_75").fails().each_once([
        "one/0_one.sm_80.o has device code for sm_75, sm_80, but the build is for sm_80\n",
        &format!("{why}a wrapper around the compiler"),
    ]);
    let always = format!("exec '{}' \"$@\" -gencode arch=compute_75,code=sm_75", nvcc.display());
    by_nvcc().env("NVCC", scenario.script("wrapper/nvcc", &always)).fails().once(
        "nvcc's command line names more GPUs than the build lists: a wrapper around nvcc, or the file nvcc.profile, adds them",
    );
    wrapped("-O1").passes();
    // A pack has one image per target, and the image's header names the target.
    let other = scenario.script(
        "wrapper/nvcc",
        &format!("exec '{}' $(echo \"$@\" | sed 's/arch=sm_80/arch=sm_86/')", nvcc.display()),
    );
    by_nvcc()
        .env("NVCC", &other)
        .env("PACK", "1")
        .fails()
        .each_once(["pack/sm_80.cubin is not for sm_80: it is for sm_86\n", why]);
    scenario.build().env("CCC_OVERRIDE_OPTIONS", "# s/arch=sm_80/arch=sm_86/").fails().each_once([
        "is not for sm_80: it is for sm_86\n",
        &format!(
            "{why}CCC_OVERRIDE_OPTIONS=# s/arch=sm_80/arch=sm_86/, a wrapper around the compiler"
        ),
    ]);
}
