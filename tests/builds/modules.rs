//! Packs with several modules. Tests how programs select a module, what other tools find in the
//! pack, and which sources, options and targets a module has.

use crate::copy_of_program;
use offload_pack::pack_index::IndexModule;
use offload_tests::prelude::*;

/// Returns a package with the kernels `affine`, `scale` and `fp8`, in separate sources, and the
/// build script of [`pack_and_list`].
fn package(name: &str, calls: &str) -> Scenario {
    let scenario = Scenario::new(name);
    for name in ["affine", "scale", "fp8"] {
        scenario.kernel(name, "1.0f");
    }
    pack_and_list(&scenario, calls);
    scenario
}

/// Writes a build script that makes the pack "pack" with these calls, and prints every image's
/// kernels as warnings.
fn pack_and_list(scenario: &Scenario, calls: &str) {
    scenario.build_script(&format!(
        r#"let pack = Build::new(){calls}.compile("pack");
    for module in pack.modules() {{
        for image in module.images() {{
            println!("cargo::warning={{}} {{}} {{:?}}", module.name(), image.target(), image.kernels().unwrap());
        }}
    }}"#
    ));
}

/// Returns the pack's modules with their targets, as `affine: gfx90a cpu`.
fn modules(scenario: &Scenario) -> Vec<String> {
    let line = |module: &IndexModule| {
        let targets: Vec<&str> = module.images.iter().map(|image| &*image.target).collect();
        format!("{}: {}", module.name, targets.join(" "))
    };
    scenario.index("debug", "pack").modules.iter().map(line).collect()
}

/// Returns the PTX of a module for `compute_80`.
fn ptx(scenario: &Scenario, module: &str) -> String {
    scenario.output_text("debug", &format!("pack/{module}.compute_80.ptx"))
}

/// If several modules fail, the message must show the errors of each module once, for its first
/// target.
#[test(CLANG)]
fn the_errors_of_all_modules_are_shown() {
    let scenario = Scenario::new("modules_errors");
    let modules = ["right", "absent", "unclosed", "by_nvptx", "several"];
    let files = modules.map(|name| format!("kernels/{name}.cu"));
    let calls = |targets: &[&str]| {
        format!(".modules({:?}).file(\"kernels/other.cu\").archs({targets:?})", &files[..4])
            + r#".module(Module::new("several").files(["kernels/several.cu", "kernels/other.cu"]))"#
    };
    scenario.kernel("right", "1.0f").kernel("other", "2.0f");
    for (name, body) in [
        ("absent", "*y = absent_function();"),
        ("unclosed", "*y = absent_name;"),
        ("by_nvptx", "\n#if defined(OFFLOAD_NVPTX)\n*y = absent_on_nvidia;\n#endif\n"),
        ("several", "*y = absent_in_several;"),
    ] {
        let source = format!("extern \"C\" __global__ void k(float *y) {{ {body} }}\n");
        scenario.write(&format!("kernels/{name}.cu"), source);
    }
    for (targets, has_nvidia) in
        [(&["gfx90a", "cpu", "gfx1100"][..], false), (&["compute_80", "cpu"], true)]
    {
        scenario.pack("pack", &calls(targets));
        for jobs in ["1", "8"] {
            let printed = scenario.build().env("OFFLOAD_JOBS", jobs).fails();
            for name in ["absent_function", "absent_name", "absent_in_several"] {
                printed.times(1, &format!("error: use of undeclared identifier '{name}'"));
            }
            printed.times(usize::from(has_nvidia), "identifier 'absent_on_nvidia'");
            printed.lacks("kernels/right.cu").once("could not make the pack");
        }
    }
    for (name, value) in [("absent", "3"), ("unclosed", "4"), ("by_nvptx", "5"), ("several", "6")] {
        scenario.kernel(name, value);
    }
    scenario.build().passes();
}

const MAIN: &str = r#"#![forbid(unsafe_code)]
use offload_gpu::Module;
use offload_gpu::{ComputeCapability, DeviceInfo, KernelPack};

static PACK: KernelPack = offload_gpu::include_offload!("pack");
const AFFINE: Module = PACK.module("affine");
static SCALE: Module = PACK.module("scale");

fn main() {
    let folder = std::path::Path::new(env!("OUT_DIR")).join("offload/pack");
    for (module, kernel) in [(AFFINE, "affine"), (SCALE, "scale"), (PACK.find_module("pack").unwrap(), "own")] {
        let a100 = DeviceInfo::cuda(ComputeCapability { major: 8, minor: 0 }, 12080);
        for device in [DeviceInfo::parse("gfx90a").unwrap(), DeviceInfo::parse("gfx1100").unwrap(), a100] {
            let Ok(image) = module.select(&device) else { continue };
            let extension = if image.target().starts_with("gfx") { "hsaco" } else { "ptx" };
            let name = match module.name() {
                "pack" => format!("{}.{extension}", image.target()),
                name => format!("{name}.{}.{extension}", image.target()),
            };
            assert!(image.bytes() == std::fs::read(folder.join(name)).unwrap());
            assert!(image.bytes().windows(kernel.len()).any(|bytes| bytes == kernel.as_bytes()));
            let align = if PACK.section() == ".hip_fatbin" { 4096 } else { 8 };
            assert!(extension == "ptx" || image.as_ptr().addr() % align == 0);
            println!("{} {}", module.name(), image.target());
        }
    }
    assert!(PACK.find_module("other").is_none());
    println!("{}", PACK.select(&DeviceInfo::cpu()).unwrap_err());
}
"#;

/// Tests that a program selects each image by its module's name, and that LLVM's tools find all
/// images.
#[test(CLANG.slow())]
fn modules_are_taken_by_name() {
    let scenario = package(
        "modules_by_name",
        r#".file("kernels/own.cu").modules(["kernels/affine.cu", "kernels/scale.cu"]).archs(["gfx90a", "compute_80"])"#,
    );
    scenario.kernel("own", "1.0f").write("src/main.rs", MAIN);
    let several = "the pack has 3 modules, each with its own images: pack, affine, scale. \
                   Select from one module, as in PACK.module(\"pack\").select(...)\n";
    for (archs, section) in
        [("gfx90a compute_80", ".llvm.offloading"), ("gfx90a gfx1100", ".hip_fatbin")]
    {
        let ran = scenario.run().env("OFFLOAD_ARCH", archs).passes().stdout;
        let taken = |module| archs.split(' ').map(move |arch| format!("{module} {arch}\n"));
        let expected: String = ["affine", "scale", "pack"].into_iter().flat_map(taken).collect();
        assert_eq!(ran, expected + several, "{archs}");

        let program = copy_of_program(&scenario);
        let listing = stdout(&succeed(llvm("llvm-objdump").arg("--offloading").arg(&program)));
        for arch in archs.split(' ') {
            // For each image, `llvm-objdump` prints a line with the architecture. The line ends
            // with the first text for a bundle, and with the second text for an offload binary.
            let lines = [format!("amdgcn-amd-amdhsa--{arch}"), format!("arch            {arch}")];
            let is_of_arch = |line: &&str| lines.iter().any(|end| line.ends_with(end));
            let found = listing.lines().filter(is_of_arch).count();
            assert_eq!(found, 3, "{arch} in\n{listing}");
        }
        let readelf = scenario.tool(llvm("llvm-readelf").get_program());
        readelf.arg("-SW").arg(&program).passes().once(section);
        if section == ".llvm.offloading" {
            // Each offload binary contains its module's name as a string, so LLVM's tool can
            // extract one module's images.
            let extracted = scenario.folder.join("extracted.ptx");
            let image =
                format!("--image=file={},module=scale,arch=compute_80", extracted.display());
            let pack = scenario.output("debug", "pack.pack");
            succeed(llvm("llvm-offload-binary").arg(pack).arg(image));
            assert_eq!(scenario.text("extracted.ptx"), ptx(&scenario, "scale"));
        }
    }
}

#[test(CLANG.slow())]
fn a_module_is_built_for_the_targets_it_supports() {
    let scenario = package(
        "modules_targets",
        r#".modules(["kernels/affine.cu"])
        .module(Module::new("scale").file("kernels/scale.cu").supports(["amd", "cpu"]))
        .module(Module::new("fp8").file("kernels/fp8.cu").supports([">=sm_90", "gfx942"]).allow_empty())"#,
    );
    let build = |archs: &str| scenario.build().env("OFFLOAD_ARCH", archs).arg("-vv").passes();
    let printed = build("gfx90a gfx942:xnack- compute_80 compute_90a cpu");
    assert_eq!(
        modules(&scenario),
        [
            "affine: gfx90a gfx942:xnack- compute_80 compute_90a cpu",
            "scale: gfx90a gfx942:xnack- cpu",
            "fp8: gfx942:xnack- compute_90a"
        ]
    );
    let line = "pack \"pack\": module \"scale\" built only for gfx90a, gfx942:xnack-, cpu, \
         although OFFLOAD_ARCH lists gfx90a, gfx942:xnack-, compute_80,";
    printed.has(line).lacks("module \"affine\" built");

    let printed = build("gfx90a cpu");
    assert_eq!(modules(&scenario), ["affine: gfx90a cpu", "scale: gfx90a cpu", "fp8: "]);
    printed.has("module \"fp8\" built for no target, although OFFLOAD_ARCH lists gfx90a, cpu");

    // A pack that is only for AMD GPUs has a bundle for each module with images.
    build("gfx90a");
    let pack = read(scenario.output("debug", "pack.pack"));
    let magic = b"__CLANG_OFFLOAD_BUNDLE__";
    let at: Vec<usize> =
        (0..pack.len()).step_by(4096).filter(|at| pack[*at..].starts_with(magic)).collect();
    assert_eq!(at.len(), 2, "{at:?}");
}

#[test(CLANG.slow())]
fn options_are_for_a_module_a_source_or_a_target() {
    let scenario = package(
        "modules_options",
        r#".define("A", "build_a").flag_for("nvidia", "-DN=build_n").flag_for("amd", "-DN=build_amd")
        .module(Module::new("affine").file("kernels/affine.cu").define("B", "module_b").flag("-DC=module_c"))
        .module(Module::new("scale")
            .files(["kernels/plain.cu"])
            .file(Source::new("kernels/amd.cu").supports(["amd"])).file(Source::new("kernels/ptx.cu").supports(["compute_80"]))
            .file(Source::new("kernels/scale.cu").define("B", "source_b").flag_for("compute_80", "-DC=source_c")
                .flag_for("gfx90a", "-DC=source_gfx90a").flag_for("amd", "-DD=source_amd")))
        .archs(["gfx90a:xnack-", "gfx1100", "compute_80"])"#,
    );
    // A kernel is compiled only if an option defines the macro with its name. The macro's value is
    // the kernel's name.
    let of_macro = |name: &str| format!("#ifdef {name}\n{}#endif\n", kernel(name, "1.0f"));
    let source =
        |file: &str| format!("// {file}\n{}", ["A", "B", "C", "D", "N"].map(of_macro).concat());
    scenario
        .write("kernels/affine.cu", source("affine"))
        .write("kernels/scale.cu", source("scale"))
        .kernel("plain", "1.0f");
    // Sources that support only some targets must be left out of the other targets' images.
    scenario.kernel("amd", "1.0f").kernel("ptx", "1.0f");
    let printed = scenario.build().passes();
    for line in [
        r#"affine gfx90a:xnack- ["build_a", "module_b", "module_c", "build_amd"]"#,
        r#"affine gfx1100 ["build_a", "module_b", "module_c", "build_amd"]"#,
        r#"affine compute_80 ["build_a", "module_b", "module_c", "build_n"]"#,
        r#"scale gfx90a:xnack- ["plain", "amd", "build_a", "source_b", "source_gfx90a", "source_amd", "build_amd"]"#,
        r#"scale gfx1100 ["plain", "amd", "build_a", "source_b", "source_amd", "build_amd"]"#,
        r#"scale compute_80 ["plain", "ptx", "build_a", "source_b", "source_c", "build_n"]"#,
    ] {
        printed.has(line);
    }
}

/// The build script writes a source into `OUT_DIR` on each run.
#[test(CLANG.slow())]
fn generated_sources_are_known_by_their_content() {
    let scenario = Scenario::new("modules_generated");
    let pack_of = |value: &str| {
        scenario.build_script(&format!(
            r#"let out = std::env::var("OUT_DIR").unwrap();
    std::fs::write(format!("{{out}}/made.cu"), {:?}).unwrap();
    Build::new().modules([format!("{{out}}/made.cu")]).archs(["compute_80"]).compile("pack");"#,
            kernel("made", value)
        ));
    };
    let build = || scenario.build().arg("-v").passes();
    let time = || scenario.output_time("debug", "pack/made.compute_80.ptx");
    pack_of("1.0f");
    build();
    let first = ptx(&scenario, "made");
    assert!(first.contains(".entry made("), "{first}");
    assert!(!first.contains(&*scenario.folder.to_string_lossy()), "{first}");
    // The script has written a source into `OUT_DIR`, but the next build must not run the script
    // again.
    build().found_fresh("modules_generated");
    let made = time();
    // The script first rewrites the same bytes, then different ones.
    scenario.write("build.rs", scenario.text("build.rs") + "// changed\n");
    build();
    assert_eq!(time(), made, "compiled anew without a change");
    pack_of("2.0f");
    build();
    assert!(ptx(&scenario, "made") != first, "the image is still of the old source");
}

/// Tests two modules whose supplied images have the same file name. The kernels of one module must
/// not replace those of the other.
#[test(GCC)]
fn kernels_of_ready_made_images() {
    let scenario = package(
        "modules_ready_made",
        r#".module(Module::new("one").file("a/k.hsaco")).module(Module::new("two").file("b/k.hsaco"))
        .archs(["gfx90a"])"#,
    );
    for (folder, image) in [("a", "saxpy/prebuilt/saxpy"), ("b", "one-source/prebuilt/block_sum")] {
        let image = format!("examples/{image}.gfx90a.hsaco");
        scenario.write(&format!("{folder}/k.hsaco"), read(scratch::workspace().join(image)));
    }
    let records = || {
        scenario.build().passes();
        ["one", "two"].map(|module| {
            let file = format!("pack/work/{module}.gfx90a.arguments");
            (scenario.output_text("debug", &file), scenario.output_time("debug", &file))
        })
    };
    let first = records();
    assert!(
        first[0].0.contains("\nkernel saxpy\nlimits threads=1024 shared=0 wavefront=64\narguments 0+4 4+4 8+8:pointer 16+8:pointer\n"),
        "{first:?}"
    );
    scenario.touch_build_script();
    assert_eq!(records(), first);
}

#[test(CLANG)]
fn excluded_sources_are_not_built() {
    let scenario = package(
        "modules_excluded",
        r#".files(["kernels/own.cu", "kernels/own_test.cu"])
        .modules(["kernels/affine.cu", "kernels/affine_test.cu", "kernels/scale.cu"])
        .exclude("kernels/*_test.cu").exclude("kernels/own_*.cu").exclude("kernels/scale.cu")
        .archs(["compute_80"])"#,
    );
    scenario.kernel("own", "1.0f");
    for name in ["own_test", "affine_test"] {
        scenario.write(&format!("kernels/{name}.cu"), "#error \"excluded\"\n");
    }
    scenario.build().passes();
    assert_eq!(modules(&scenario), ["pack: compute_80", "affine: compute_80"]);
}

#[test(CLANG.slow())]
fn kernels_are_named_and_required() {
    let calls = |required: &str| {
        format!(
            r#".module(Module::new("both").files(["kernels/affine.cu", "kernels/plus.cu"]){required})
        .archs(["gfx90a", "compute_80", "cpu"])"#
        )
    };
    let scenario = package(
        "modules_kernels",
        &calls(r#".requires_kernel("affine").requires_kernel_for("nvidia", "fast")"#),
    );
    let source = "#ifdef OFFLOAD_NVPTX\nFAST#endif\n__global__ void mangled(int *x) { *x = 1; }\n";
    scenario.write("kernels/plus.cu", source.replace("FAST", &kernel("fast", "1.0f")));
    scenario
        .build()
        .passes()
        .has(r#"both gfx90a ["affine", "_Z7mangledPi"]"#)
        .has(r#"both compute_80 ["affine", "fast", "_Z7mangledPi"]"#)
        .has("both cpu []");

    pack_and_list(&scenario, &calls(r#".requires_kernel("fast").requires_kernel("mangled")"#));
    scenario.build().fails().each_once([
        "the module \"both\" lacks kernels that build.rs requires:",
        "the image for gfx90a has no kernel fast; it has affine, _Z7mangledPi",
        "the image for gfx90a has no kernel mangled; it has affine, _Z7mangledPi",
        "the image for compute_80 has no kernel mangled; it has affine, fast, _Z7mangledPi",
    ]);
}

#[test(CLANG.slow())]
fn each_module_has_a_prebuilt_set() {
    let scenario = package(
        "modules_prebuilt",
        r#".modules(["kernels/affine.cu"]).file("kernels/scale.cu").archs(["gfx90a", "compute_80"])"#,
    );
    scenario.build().release().env("OFFLOAD_PREBUILT", "update").passes();
    let of_affine = "pack.affine.compute_80.ptx pack.affine.gfx90a.hsaco pack.affine.manifest pack.affine.signatures";
    let of_scale = "pack.compute_80.ptx pack.gfx90a.hsaco pack.manifest pack.signatures";
    let files = format!(".gitattributes {of_affine} {of_scale}");
    assert_eq!(scenario.files("prebuilt").join(" "), files);
    let build = || scenario.build().env("OFFLOAD_PREBUILT", "only");
    build().passes().has("gfx90a, compute_80 from prebuilt/, because OFFLOAD_PREBUILT=only");
    assert_eq!(modules(&scenario), ["pack: gfx90a compute_80", "affine: gfx90a compute_80"]);
    // If one module's source changes, the other module's prebuilt set must remain up to date.
    scenario.kernel("affine", "2.0f");
    let printed = build().fails();
    printed
        .has("kernels/affine.cu has changed since prebuilt/pack.affine.manifest was made")
        .lacks("since prebuilt/pack.manifest");
}
