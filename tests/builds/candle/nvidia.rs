//! Programs that load modules and contain sources with launches, compiled by nvcc. `cuobjdump` and
//! the CUDA runtime, without a driver, check the images.

use super::{MODULES, NVIDIA, path, paths};
use offload_format::offload_binary::OffloadBinary;
use offload_tests::judges::{assert_is_for, cuda_images, image_file_name, shared_libraries};
use offload_tests::prelude::*;

const ALL: Needs = NVIDIA
    .on_request("takes 6 minutes on 2 cores; `cargo xtask test --all --test builds -- candle::nvidia --ignored` runs it");

#[test(ALL)]
fn all_of_candle_kernels() {
    let (mut modules, mut with_launches) = (Vec::new(), Vec::new());
    for folder in ["src", "src/moe", "src/mmq_gguf"] {
        for entry in fs::read_dir(path(folder)).expect("the crate has it").flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let Some(stem) = name.strip_suffix(".cu") else { continue };
            let has_launches =
                folder != "src" || String::from_utf8_lossy(&read(entry.path())).contains("<<<");
            if has_launches {
                with_launches.push(entry.path());
            } else {
                modules.push(stem.to_owned());
            }
        }
    }
    modules.sort();
    with_launches.sort();
    assert_eq!(modules, MODULES.map(|(module, _)| module));
    assert_eq!(with_launches.len(), 16, "{with_launches:?}");
    let modules = MODULES.map(|(module, _)| module);
    let scenario = Scenario::without_sources("candle_all");
    scenario.build_script(&format!(
        r#"let options = |build: &mut Build| {{
        build.compiler(Compiler::Nvcc).flag("--expt-relaxed-constexpr").flag("-std=c++17").archs(["sm_80", "sm_90"]);
    }};
    let mut modules = Build::new();
    options(modules.modules({}));
    modules.compile("candle");
    let mut launched = Build::new();
    options(launched.files({with_launches:?}));
    launched.compile_static("candle_launched");"#,
        paths(&modules)
    ));
    let build = scenario.build().release();
    assert_has_all(&scenario, build, "release", &modules, with_launches.len(), &["sm_80", "sm_90"]);
}

/// Builds with the build.rs from docs/migrating.md. Only the sources' folder is changed in it.
#[test(NVIDIA.slow())]
fn the_build_script_of_the_page() {
    let page = fs::read_to_string(workspace().join("docs/migrating.md")).expect("it can be read");
    let (_, section) = page.split_once("## A kernel crate").expect("the page has the section");
    let (_, code) = section.split_once("```rust\n").expect("the section has a build script");
    let (code, _) = code.split_once("```").expect("the block ends");
    let folder = format!("\"{}/", path("src").display());
    let scenario = Scenario::without_sources("candle_page");
    scenario.write("build.rs", code.replace("\"src/", &folder));
    let build = scenario.build().env("CUDA_COMPUTE_CAP", "90");
    assert_has_all(&scenario, build, "debug", &["affine", "fill"], 1, &["sm_90"]);
}

/// A program that selects an image of each module for a GPU, then launches a kernel. Without a
/// driver, nothing reads the pointers.
const MAIN: &str = r#"use std::ffi::c_void;

static CANDLE: offload_gpu::KernelPack = offload_gpu::include_offload!("candle");

unsafe extern "C" {
    fn candle_launch_moe_align(
        ids: *const i32, sorted: *mut i32, experts: *mut i32, total: *mut i32, sums: *mut i32, count: i32, block: i32,
        numel: i32, most: i32, stream: *mut c_void,
    ) -> i32;
}

fn launch() -> i32 {
    let p = std::ptr::null_mut();
    unsafe { candle_launch_moe_align(p, p, p, p, p, 1, 1, 1, 1, std::ptr::null_mut()) }
}

fn main() {
    let device = offload_gpu::DeviceInfo::cuda(offload_gpu::ComputeCapability { major: 9, minor: 0 }, 13000);
    for module in CANDLE.modules() {
        let image = module.select(&device).unwrap();
        println!("{} {} {}", module.name(), image.target(), image.bytes().len());
    }
    println!("launch {}", launch());
}
"#;

/// Builds a program for these targets, from these modules and from sources that contain launches.
/// Checks every image with other tools, and starts the program.
fn assert_has_all(
    scenario: &Scenario,
    build: Run<'_>,
    profile: &str,
    modules: &[&str],
    with_launches: usize,
    targets: &[&str],
) {
    scenario.write("src/main.rs", MAIN);
    build.passes().lacks("error");
    let program = scenario.program(profile, scenario.name());
    let library = scenario.output(profile, "libcandle_launched.a");
    let count = |file: &Path, target: &str| {
        cuda_images(file).iter().filter(|it| **it == format!("{target}.cubin")).count()
    };
    for target in targets {
        for module in modules {
            let image = format!("candle/{module}.{}", image_file_name(target));
            assert_is_for(module, target, &scenario.output(profile, &image));
        }
        assert_eq!(count(&library, target), with_launches, "{target} in {}", library.display());
        // The linker includes only objects whose functions the program uses, so the program may
        // contain fewer images.
        assert!(count(&program, target) >= 1, "{target} in {}", program.display());
    }
    let pack = read(scenario.output(profile, "candle.pack"));
    assert_eq!(OffloadBinary::in_a_row(&pack).count(), modules.len() * targets.len());

    let libraries = shared_libraries(&program);
    assert!(!libraries.contains("cuda"), "{libraries}");
    let printed = scenario.start(profile).passes();
    for module in modules {
        printed.has(&format!("{module} sm_90 "));
    }
    printed.has(if Path::new("/dev/nvidiactl").exists() { "launch " } else { "launch 35\n" });
}
