//! Tests that `include_kernels!` passes arguments of all types correctly: each kernel must receive
//! the bytes that the program passed.
//!
//! | image | who reads the arguments |
//! |---|---|
//! | CPU | the kernel itself, which copies them to an output that the program prints |
//! | AMD | the HIP runtime, which packs them as the code object states; the stand-in below it logs the packed bytes |
//! | NVIDIA | the stand-in for the driver, which reads as many bytes as the image states |

use offload_format::image::Kernels;
use offload_tests::prelude::*;
use offload_tests::random_kernels::{Masks, RandomKernels};
use offload_tests::stand_ins::{Staged, compile, hsa};
use std::fmt::Write;

/// Tests random parameter lists with both compilers that can build the CPU's image.
#[test(COMPILERS.slow())]
fn random_parameters_reach_kernels_for_the_cpu() {
    let random = RandomKernels::new(1001..=1250);
    let mut scenario = Scenario::without_sources("kernel_arguments_cpu");
    scenario.feature("offload-gpu", "half").manifest("dependencies", HALF);
    scenario
        .write("kernels/types.h", random.header())
        .write("kernels/random.cu", random.source())
        .write("src/main.rs", random.program("output()", REST))
        .pack("random", r#".file("kernels/random.cu").arch("cpu")"#);
    let masks = random.masks(&scenario.folder, []);
    let clang = tools::llvm_bin().join("clang++").display().to_string();
    for compiler in ["g++", &clang] {
        scenario.build().env("CXX", compiler).passes().lacks("different parameters");
        compare_on_cpu(&scenario, &random, &masks);
    }
}

#[test(needs(&[Tool::Llvm22, Tool::Gcc, Tool::Cuda, Tool::Hip5]).slow())]
fn kernels_get_the_bytes_that_were_passed() {
    let random = RandomKernels::new(1..=48);
    let mut scenario = Scenario::without_sources("kernel_arguments");
    scenario.feature("offload-gpu", "half").manifest("dependencies", HALF);
    scenario
        .write("kernels/types.h", random.header())
        .write("kernels/random.cu", random.source())
        .write("src/main.rs", random.program("output()", REST))
        // Version 5 of HIP's runtime accepts no code objects above version 4.
        .pack(
            "random",
            r#".file("kernels/random.cu").archs(["gfx90a", "sm_80", "compute_80", "cpu"]).code_object_version(4).opt_level(3)"#,
        );
    let masks = random.masks(&scenario.folder, []);
    // Without optimization, each AMD kernel needs a buffer for messages to the host, which the
    // stand-in lacks.
    scenario.build().passes().lacks("different parameters");
    compare_on_cpu(&scenario, &random, &masks);

    let driver = scratch::folder("kernel_arguments_driver");
    compile(
        "cuda_driver.c",
        &["-shared", "-fPIC", "-Wl,-soname,libcuda.so.1"],
        &driver.join("libcuda.so.1"),
    );
    for (gpu, image) in [("8.0", "sm_80.cubin"), ("9.0", "compute_80.ptx")] {
        let log = launch(&scenario, &driver, "cuda", gpu, image);
        compare(&random, &masks, &log, &["pointers", "buffer"], image);
    }
    let runtime = hsa::libraries("kernel_arguments_runtime");
    let log = launch(&scenario, &runtime, "hip", "gfx90a:sramecc+:xnack-", "gfx90a.hsaco");
    compare(&random, &masks, &log, &["packet", "packet"], "gfx90a.hsaco");
}

/// The dependency on the crate with the half types that programs use.
const HALF: &str = "half = { version = \"2\", default-features = false }\n";

/// Runs all kernels on the CPU, where they copy their arguments to the output.
fn compare_on_cpu(scenario: &Scenario, random: &RandomKernels, masks: &Masks) {
    let program = scenario.program("debug", scenario.name());
    let ran = Staged::new(&program, &scenario.folder).run(&["cpu"], &scenario.folder.join("log"));
    assert_eq!(ran.status, Some(0), "{ran:#?}");
    let lines: Vec<&str> = ran.stdout.lines().collect();
    for kernel in &random.kernels {
        let name = &kernel.name;
        let expected = expected(random, masks, name).concat();
        let got = lines.iter().find_map(|line| line.strip_prefix(&format!("{name} ")));
        let got = got.unwrap_or_else(|| panic!("{name} was not launched"));
        assert_eq!(masked(got, &masks[name].concat()), expected, "{name} on the CPU");
    }
}

/// A build script that compiles in every edition. The 2015 edition requires `extern crate`.
const RECORDS_SCRIPT: &str = r#"extern crate offload_build;
fn main() {
    let targets = ["gfx90a", "compute_80", "cpu"];
    offload_build::Build::new().file("kernels/records.cu").archs(targets).compile("records");
    offload_build::Build::new().file("kernels/plain.cu").arch("gfx90a").compile("plain");
    offload_build::Build::new().file("kernels/words.cu").arch("gfx90a").compile("words");
}
"#;

/// Tests one struct or class for each way in which C++ passes them. Each kernel must receive the
/// right values. Many names in the sources and the program also occur in the generated code.
#[test(COMPILERS.slow())]
fn records_of_every_class_reach_kernels_for_the_cpu() {
    let data = |name: &str| scratch::workspace().join("tests/runtimes/kernel_arguments").join(name);
    let scenario = Scenario::without_sources("kernel_records");
    scenario
        .write("kernels/records.cu", read(data("records.cu")))
        .write("src/main.rs", read(data("records.rs")))
        .write("src/bin/bare.rs", read(data("bare.rs")))
        .write(
            "kernels/plain.cu",
            "struct Own { int x; };\nextern \"C\" __global__ void plain(Own it, float *y) { *y = it.x; }\n",
        )
        .write("kernels/words.cu", read(data("words.cu")))
        .write("src/bin/words.rs", read(data("words.rs")))
        .write("build.rs", RECORDS_SCRIPT)
        // The default resolver of old editions would compile the kit's crates with different
        // features.
        .manifest("workspace", "resolver = \"2\"\n");
    let records = |variables: &[(&str, &str)]| {
        let run = scenario.run().args(["--bin", "kernel_records"]);
        run.envs(variables.iter().copied()).passes();
    };
    for edition in ["2024", "2021", "2018", "2015"] {
        scenario.edition(edition);
        scenario.run().args(["--bin", "bare"]).passes();
        scenario.run().args(["--bin", "words"]).passes();
        records(&[]);
    }
    // Without a GPU target, the build reads the parameters from a description of the source for the
    // CPU.
    let clang = tools::llvm_bin().join("clang++").display().to_string();
    records(&[("OFFLOAD_ARCH", "cpu")]);
    records(&[("OFFLOAD_ARCH", "cpu"), ("CXX", &clang)]);
    records(&[("CXX", &clang)]);
}

/// Returns the expected bytes of each argument of the kernel `name` except the first (the output),
/// as hexadecimal text.
fn expected(random: &RandomKernels, masks: &Masks, name: &str) -> Vec<String> {
    let kernel = random
        .kernels
        .iter()
        .find(|kernel| kernel.name == name)
        .expect("the kernel is one of these");
    let masks = &masks[name];
    assert_eq!(kernel.parameters.len(), masks.len() + 1);
    let value = |(at, mask): (usize, &String)| {
        let bytes = kernel.passed(at + 1, mask.len() / 2);
        masked(&bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}")), mask)
    };
    masks.iter().enumerate().map(value).collect()
}

/// Clears the bits of a hexadecimal text that are 0 in the mask: they are padding, which has no
/// defined value.
fn masked(text: &str, mask: &str) -> String {
    assert_eq!(text.len(), mask.len(), "{text} {mask}");
    let digit = |c: char| c.to_digit(16).expect("it is a hexadecimal digit");
    text.chars()
        .zip(mask.chars())
        .filter_map(|(c, of_mask)| char::from_digit(digit(c) & digit(of_mask), 16))
        .collect()
}

/// Launches all kernels on a fake GPU. Returns the stand-in's log.
fn launch(
    scenario: &Scenario,
    libraries: &Path,
    runtime: &str,
    gpu: &str,
    image: &str,
) -> Vec<String> {
    let bytes = read(scenario.output("debug", &format!("random/{image}")));
    let mut kernels = String::new();
    for kernel in Kernels::parse(&bytes).expect("an image that was built") {
        let passed = kernel.arguments.filter(|argument| !argument.is_hidden());
        let places: String = passed.map(|it| format!(" {}:{}", it.offset, it.size)).collect();
        let _ = writeln!(kernels, "{}{places}", kernel.name);
    }
    let list = libraries.join(format!("{image}.kernels"));
    scratch::write(&list, kernels);
    let program = scenario.program("debug", "kernel_arguments");
    let staged = Staged::new(&program, libraries).with("FAKE_GPU", gpu).with("FAKE_KERNELS", list);
    let target = image.split('.').next().expect("an image's name has a target");
    let outcome = staged.run(&[runtime, target], &libraries.join(format!("{image}.log")));
    outcome.succeeds();
    assert!(!outcome.log.iter().any(|line| line.contains("misuse")), "{outcome:#?}");
    outcome.log
}

/// Asserts that the stand-in's log contains the right arguments for each kernel. `ways` are the
/// names that the log uses for the two ways to pass arguments. The program launches each kernel in
/// the first way, and again in the second way if the arguments can form a buffer.
fn compare(random: &RandomKernels, masks: &Masks, log: &[String], ways: &[&str; 2], image: &str) {
    let mut buffers = 0;
    for kernel in &random.kernels {
        let name = &kernel.name;
        let launches: Vec<&str> = log
            .iter()
            .filter_map(|line| line.strip_prefix(name.as_str())?.strip_prefix(" by "))
            .collect();
        assert!(matches!(launches.len(), 1 | 2), "{name} in {image}: {launches:?}");
        buffers += launches.len() - 1;
        for (launch, way) in launches.iter().zip(ways) {
            let mut words = launch.split(' ');
            assert_eq!(words.next(), Some(&*format!("{way}:")), "{name} in {image}");
            assert_eq!(words.next(), Some(OUTPUT), "{name} in {image}");
            let got: Vec<String> =
                words.zip(&masks[name]).map(|(word, mask)| masked(word, mask)).collect();
            assert_eq!(got, expected(random, masks, name), "{name} in {image} by {way}");
        }
    }
    assert!(
        !random.are_usual() || buffers * 2 > random.kernels.len(),
        "{buffers} kernels have a buffer"
    );
}

/// The bytes that a fake GPU's log shows for each kernel's first argument. Instead of an output,
/// the program passes the address 0xdeadbeef.
const OUTPUT: &str = "efbeadde00000000";

/// The rest of the program. Its first argument selects how to launch the kernels (`cpu`, `cuda` or
/// `hip`). The second is the target of a GPU's image.
const REST: &str = r#"
use offload_gpu::run::Device;
use std::ptr::null_mut;
use std::sync::OnceLock;

unsafe extern "C" {
    fn dlopen(file: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

fn library(name: &str) -> usize {
    let name = CString::new(name).unwrap();
    let library = unsafe { dlopen(name.as_ptr(), 2) };
    assert!(!library.is_null(), "{name:?} does not load");
    library.addr()
}

/// A function of a library.
fn function<F: Copy>(library: usize, name: &str) -> F {
    let c_name = CString::new(name).unwrap();
    let function = unsafe { dlsym(std::ptr::with_exposed_provenance_mut(library), c_name.as_ptr()) };
    assert!(!function.is_null(), "no {name}");
    unsafe { std::mem::transmute_copy(&function) }
}

fn argument(number: usize) -> String {
    std::env::args().nth(number).unwrap()
}

const SIZE: usize = 1 << 13;

thread_local! {
    static MEMORY: *mut u8 = vec![0xaa_u8; SIZE].leak().as_mut_ptr();
}

fn output() -> *mut u8 {
    match &*argument(1) {
        "cpu" => MEMORY.with(|memory| *memory),
        _ => std::ptr::without_provenance_mut(0xdeadbeef),
    }
}

/// Launches a kernel on the CPU.
fn on_cpu<const N: usize, const BYTES: usize, const B: bool>(call: &Call<N, BYTES, Plain, B>, sizes: &[usize]) {
    let kernel = call.kernel().name();
    let size: usize = sizes[1..].iter().sum();
    let written = || {
        let written = unsafe { std::slice::from_raw_parts_mut(output(), size) };
        let text = written.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        written.fill(0xaa);
        text
    };
    unsafe { call.launch(&Device::cpu(), 1, 1).unwrap() };
    println!("{kernel} {}", written());
}

/// The type of the functions that NVIDIA's and AMD's runtimes share.
type Get = unsafe extern "C" fn(*mut *mut c_void, *mut c_void, *const c_char) -> c_int;
type Launch = unsafe extern "C" fn(
    *mut c_void, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, *mut c_void, *mut *mut c_void, *mut *mut c_void,
) -> c_int;

/// The module, the function that finds kernels in it, and the one that launches them.
static GPU: OnceLock<(usize, Get, Launch)> = OnceLock::new();

fn image() -> *const c_void {
    let target = argument(2);
    let image = kernels::PACK.images().find(|image| image.target() == target).unwrap();
    image.as_ptr().cast()
}

fn load() -> (usize, Get, Launch) {
    let mut module = null_mut();
    if argument(1) == "cuda" {
        let library = library("libcuda.so.1");
        let (mut device, mut context) = (0, null_mut::<c_void>());
        let init: unsafe extern "C" fn(c_uint) -> c_int = function(library, "cuInit");
        let get: unsafe extern "C" fn(*mut c_int, c_int) -> c_int = function(library, "cuDeviceGet");
        let retain: unsafe extern "C" fn(*mut *mut c_void, c_int) -> c_int = function(library, "cuDevicePrimaryCtxRetain");
        let set: unsafe extern "C" fn(*mut c_void) -> c_int = function(library, "cuCtxSetCurrent");
        let load: unsafe extern "C" fn(*mut *mut c_void, *const c_void) -> c_int = function(library, "cuModuleLoadData");
        unsafe {
            assert_eq!((init(0), get(&mut device, 0), retain(&mut context, device), set(context)), (0, 0, 0, 0));
            assert_eq!(load(&mut module, image()), 0);
        }
        (module.addr(), function(library, "cuModuleGetFunction"), function(library, "cuLaunchKernel"))
    } else {
        let library = library("libamdhip64.so");
        let init: unsafe extern "C" fn(c_uint) -> c_int = function(library, "hipInit");
        let load: unsafe extern "C" fn(*mut *mut c_void, *const c_void) -> c_int = function(library, "hipModuleLoadData");
        unsafe { assert_eq!((init(0), load(&mut module, image())), (0, 0)) };
        (module.addr(), function(library, "hipModuleGetFunction"), function(library, "hipModuleLaunchKernel"))
    }
}

fn call<const N: usize, const BYTES: usize, const B: bool>(
    call: &Call<N, BYTES, Plain, B>, buffer: Option<(*const c_void, usize)>, sizes: &[usize],
) {
    if argument(1) == "cpu" {
        return on_cpu(call, sizes);
    }
    let (kernel, mut pointers) = (call.kernel().name(), call.pointers());
    let (module, get, launch) = *GPU.get_or_init(load);
    let mut kernel_function = null_mut();
    let name = CString::new(kernel).unwrap();
    unsafe {
        let module = std::ptr::with_exposed_provenance_mut(module);
        assert_eq!(get(&mut kernel_function, module, name.as_ptr()), 0);
        let none = null_mut();
        assert_eq!(launch(kernel_function, 1, 1, 1, 1, 1, 1, 0, none, pointers.as_mut_ptr(), null_mut()), 0);
        if let Some((start, mut size)) = buffer {
            let end = if argument(1) == "cuda" { 0 } else { 3 };
            let mut extra = [
                std::ptr::without_provenance_mut(1),
                start.cast_mut(),
                std::ptr::without_provenance_mut(2),
                (&raw mut size).cast(),
                std::ptr::without_provenance_mut(end),
            ];
            assert_eq!(launch(kernel_function, 1, 1, 1, 1, 1, 1, 0, none, null_mut(), extra.as_mut_ptr()), 0);
        }
    }
}

fn end() {
    if argument(1) == "cuda" {
        let library = library("libcuda.so.1");
        let unload: unsafe extern "C" fn(*mut c_void) -> c_int = function(library, "cuModuleUnload");
        let release: unsafe extern "C" fn(c_int) -> c_int = function(library, "cuDevicePrimaryCtxRelease_v2");
        let get: unsafe extern "C" fn(*mut c_int, c_int) -> c_int = function(library, "cuDeviceGet");
        let mut device = 0;
        unsafe {
            assert_eq!(unload(std::ptr::with_exposed_provenance_mut(GPU.get().unwrap().0)), 0);
            assert_eq!((get(&mut device, 0), release(device)), (0, 0));
        }
    }
}
"#;
