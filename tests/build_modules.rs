//! Packs of several modules: how programs take them, what others see of them, what goes into which.

use offload_tests::data::read;
use offload_tests::package::{Package, printed};
use offload_tests::scratch;
use offload_tests::tools::{Tool, llvm, llvm_bin, stderr, stdout, succeed};
use offload_tests::{run, test};
use std::fs;
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    const LLVM: &[Tool] = &[Tool::Llvm22, Tool::Gcc];
    run(vec![
        test("modules_are_taken_by_name", LLVM, by_name),
        test("a_wrong_name_does_not_compile", LLVM, wrong_name),
        test("a_module_is_built_for_the_targets_it_supports", LLVM, supported_targets),
        test("sources_of_other_targets_stay_out", LLVM, sources_by_target),
        test("options_are_for_a_module_a_source_or_a_target", LLVM, options),
        test("the_same_modules_make_the_same_bytes", LLVM, same_bytes),
        test("only_the_module_that_changed_is_compiled", LLVM, one_changed),
        test("generated_sources_are_known_by_their_content", LLVM, generated),
        test("kernels_of_ready_made_images", &[Tool::Gcc], ready_made),
        test("excluded_sources_are_not_built", LLVM, excluded),
        test("kernels_are_named_and_required", LLVM, kernels),
        test("each_module_has_a_prebuilt_set", LLVM, prebuilt),
    ])
}

/// A kernel for one thread each; `value` is what it adds.
fn kernel(name: &str, value: &str) -> String {
    format!("extern \"C\" __global__ void {name}(float *y) {{ y[threadIdx.x] += {value}; }}\n")
}

fn package(name: &str, calls: &str) -> Package {
    let package = Package::new(name);
    package.write("src/lib.rs", "").write("build.rs", build_script(calls));
    for name in ["affine", "scale", "fp8"] {
        package.write(&format!("kernels/{name}.cu"), kernel(name, "1.0f"));
    }
    package
}

/// A build script with these calls behind `Build::new()`.
fn build_script(calls: &str) -> String {
    format!(
        "#[allow(unused_imports)]\nuse offload_build::{{Build, Module, Source}};\n\n\
         fn main() {{\n    let pack = Build::new(){calls}.compile(\"pack\");\n    \
         for module in pack.modules() {{\n        for image in module.images() {{\n            \
         println!(\"cargo::warning={{}} {{}} {{:?}}\", module.name(), image.target(), image.kernels().unwrap());\n        \
         }}\n    }}\n}}\n"
    )
}

fn cargo(package: &Package, command: &str) -> Command {
    let mut command = package.cargo(&[command]);
    command.env("OFFLOAD_CLANG", llvm_bin().join("clang"));
    command
}

/// `affine: gfx90a cpu`, for each module.
fn modules(package: &Package) -> Vec<String> {
    let line = |module: &offload_format::pack_index::IndexModule| {
        let targets: Vec<&str> = module.images.iter().map(|image| &*image.target).collect();
        format!("{}: {}", module.name, targets.join(" "))
    };
    package.index("debug", "pack").modules.iter().map(line).collect()
}

/// PTX of a module for `compute_80`.
fn ptx(package: &Package, module: &str) -> String {
    String::from_utf8(read(package.own_output("debug", &format!("pack/{module}.compute_80.ptx")))).expect("PTX is text")
}

const MAIN: &str = r#"#![forbid(unsafe_code)]
use offload_format::embedded::Module;
use offload_format::{Device, KernelPack};

static PACK: KernelPack = offload_embed_macro::include_offload!("pack");
const AFFINE: Module = PACK.module("affine");
static SCALE: Module = PACK.module("scale");

fn main() {
    let folder = std::path::Path::new(env!("OUT_DIR")).join("offload/pack");
    for (module, kernel) in [(AFFINE, "affine"), (SCALE, "scale"), (PACK.find_module("pack").unwrap(), "own")] {
        for device in [Device::parse("gfx90a").unwrap(), Device::parse("gfx1100").unwrap(), Device::cuda(8, 0, 12080)] {
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
    println!("{}", PACK.select(&Device::cpu()).unwrap_err());
}
"#;

/// One program takes every image by the name of its module; LLVM's tools find them all.
fn by_name() {
    let package = package(
        "modules_by_name",
        r#".file("kernels/own.cu").modules(["kernels/affine.cu", "kernels/scale.cu"]).archs(["gfx90a", "compute_80"])"#,
    );
    package.write("kernels/own.cu", kernel("own", "1.0f")).write("src/main.rs", MAIN);
    let several = "the pack has 3 modules, each with images of its own: pack, affine, scale; \
                   select from one of them, as in PACK.module(\"pack\").select(...)\n";
    for (archs, section) in [("gfx90a compute_80", ".llvm.offloading"), ("gfx90a gfx1100", ".hip_fatbin")] {
        let ran = stdout(&succeed(cargo(&package, "run").env("OFFLOAD_ARCH", archs)));
        let taken = |module| archs.split(' ').map(move |arch| format!("{module} {arch}\n"));
        let expected: String = ["affine", "scale", "pack"].into_iter().flat_map(taken).collect();
        assert_eq!(ran, expected + several, "{archs}");

        let program = package.folder.join("listed");
        fs::copy(package.program("debug", "modules_by_name"), &program).expect("the program can be copied");
        let listing = stdout(&succeed(llvm("llvm-objdump").arg("--offloading").arg(&program)));
        for arch in archs.split(' ') {
            // Of a bundle for each module, or one after another.
            let lines = [format!("amdgcn-amd-amdhsa--{arch}"), format!("arch            {arch}")];
            let found = listing.lines().filter(|line| lines.iter().any(|end| line.ends_with(end))).count();
            assert_eq!(found, 3, "{arch} in\n{listing}");
        }
        let header = stdout(&succeed(llvm("llvm-readelf").arg("-SW").arg(&program)));
        assert_eq!(header.matches(section).count(), 1, "{header}");
        if section == ".llvm.offloading" {
            // The strings of each offload binary name its module: LLVM's tool takes the images of one by it.
            let pack = package.own_output("debug", "pack.pack");
            let extracted = package.folder.join("extracted.ptx");
            let image = format!("--image=file={},module=scale,arch=compute_80", extracted.display());
            succeed(llvm("llvm-offload-binary").arg(&pack).arg(image));
            assert_eq!(String::from_utf8(read(&extracted)).expect("PTX is text"), ptx(&package, "scale"));
        }
    }
}

fn wrong_name() {
    let package =
        package("modules_wrong_name", r#".modules(["kernels/affine.cu", "kernels/scale.cu"]).archs(["gfx90a"])"#);
    package.write("src/main.rs", MAIN.replace("PACK.module(\"scale\")", "PACK.module(\"scael\")"));
    // What is not built has its modules, too.
    for skip in ["0", "1"] {
        let output = cargo(&package, "check").env("OFFLOAD_SKIP", skip).output().expect("cargo starts");
        let text = stderr(&output);
        assert!(
            !output.status.success()
                && text.contains("the pack \"pack\" has no module \"scael\"; it has \"affine\", \"scale\""),
            "{text}"
        );
        assert!(text.contains("PACK.module(\"scael\")") && text.matches("error[E0080]").count() == 1, "{text}");
    }
    package.write("src/main.rs", MAIN);
    succeed(cargo(&package, "check").env("OFFLOAD_SKIP", "1"));
}

fn supported_targets() {
    let package = package(
        "modules_targets",
        r#".modules(["kernels/affine.cu"])
        .module(Module::new("scale").file("kernels/scale.cu").targets(["amd", "cpu"]))
        .module(Module::new("fp8").file("kernels/fp8.cu").targets([">=sm_90", "gfx942"]).allow_empty())"#,
    );
    let build = |archs: &str| {
        let output = succeed(cargo(&package, "build").env("OFFLOAD_ARCH", archs).arg("-vv"));
        (modules(&package), printed(&output))
    };
    let (found, text) = build("gfx90a gfx942:xnack- compute_80 compute_90a cpu");
    assert_eq!(
        found,
        [
            "affine: gfx90a gfx942:xnack- compute_80 compute_90a cpu",
            "scale: gfx90a gfx942:xnack- cpu",
            "fp8: gfx942:xnack- compute_90a"
        ]
    );
    let line =
        "pack \"pack\": module \"scale\" built for gfx90a, gfx942:xnack-, cpu, of gfx90a, gfx942:xnack-, compute_80,";
    assert!(text.contains(line) && !text.contains("module \"affine\" built for"), "{text}");
    let (found, text) = build("gfx90a cpu");
    assert_eq!(found, ["affine: gfx90a cpu", "scale: gfx90a cpu", "fp8: "]);
    assert!(text.contains("module \"fp8\" built for none, of gfx90a, cpu in OFFLOAD_ARCH"), "{text}");
    // All AMD's: a bundle for each module that has images.
    build("gfx90a");
    let pack = read(package.own_output("debug", "pack.pack"));
    let magic = b"__CLANG_OFFLOAD_BUNDLE__";
    let at: Vec<usize> = (0..pack.len()).step_by(4096).filter(|at| pack[*at..].starts_with(magic)).collect();
    assert_eq!(at.len(), 2, "{at:?}");
}

/// One module of several sources, of which not all are for all targets.
fn sources_by_target() {
    let package = package(
        "modules_sources",
        r#".module(Module::new("all").files(["kernels/affine.cu"]).files([
            Source::new("kernels/scale.cu").targets(["amd"]),
            Source::new("kernels/fp8.cu").targets(["compute_80"]),
        ])).archs(["gfx90a", "compute_80"])"#,
    );
    let text = stderr(&succeed(&mut cargo(&package, "build")));
    assert!(text.contains(r#"all gfx90a ["affine", "scale"]"#), "{text}");
    assert!(text.contains(r#"all compute_80 ["affine", "fp8"]"#), "{text}");
}

fn options() {
    let package = package(
        "modules_options",
        r#".define("A", "build_a").flag_for("nvidia", "-DN=build_n").flag_for("amd", "-DN=build_amd")
        .module(Module::new("affine").file("kernels/affine.cu").define("B", "module_b").flag("-DC=module_c"))
        .module(Module::new("scale")
            .files(["kernels/plain.cu"])
            .file(Source::new("kernels/scale.cu").define("B", "source_b").flag_for("compute_80", "-DC=source_c")
                .flag_for("gfx90a", "-DC=source_gfx90a").flag_for("amd", "-DD=source_amd")))
        .archs(["gfx90a:xnack-", "gfx1100", "compute_80"])"#,
    );
    let names = "A B C D N";
    let source = |file: &str| {
        let kernels: String =
            names.split(' ').map(|name| format!("#ifdef {name}\n{}#endif\n", kernel(name, "1.0f"))).collect();
        format!("// {file}\n{kernels}")
    };
    package.write("kernels/affine.cu", source("affine")).write("kernels/scale.cu", source("scale"));
    package.write("kernels/plain.cu", kernel("plain", "1.0f"));
    let text = stderr(&succeed(&mut cargo(&package, "build")));
    for line in [
        r#"affine gfx90a:xnack- ["build_a", "module_b", "module_c", "build_amd"]"#,
        r#"affine gfx1100 ["build_a", "module_b", "module_c", "build_amd"]"#,
        r#"affine compute_80 ["build_a", "module_b", "module_c", "build_n"]"#,
        r#"scale gfx90a:xnack- ["plain", "build_a", "source_b", "source_gfx90a", "source_amd", "build_amd"]"#,
        r#"scale gfx1100 ["plain", "build_a", "source_b", "source_amd", "build_amd"]"#,
        r#"scale compute_80 ["plain", "build_a", "source_b", "source_c", "build_n"]"#,
    ] {
        assert!(text.contains(line), "{line} in\n{text}");
    }
}

fn same_bytes() {
    let calls = r#".modules(["kernels/affine.cu", "kernels/scale.cu"]).archs(["gfx90a", "compute_80", "cpu"])"#;
    let twins = [package("modules_twin", calls), package("modules_twin_in_another_folder", calls)];
    let packs = twins.each_ref().map(|twin| {
        succeed(&mut cargo(twin, "build"));
        (read(twin.own_output("debug", "pack.pack")), read(twin.own_output("debug", "pack.index")))
    });
    assert!(packs[0] == packs[1], "other bytes in another folder");
    twins[0].write("build.rs", build_script(calls) + "// changed\n");
    succeed(&mut cargo(&twins[0], "build"));
    let again = (read(twins[0].own_output("debug", "pack.pack")), read(twins[0].own_output("debug", "pack.index")));
    assert!(again == packs[1], "other bytes in a second build");
}

fn one_changed() {
    let calls = r#".modules(["kernels/affine.cu", "kernels/scale.cu"]).archs(["gfx90a", "compute_80"])"#;
    let package = package("modules_changed", calls);
    succeed(&mut cargo(&package, "build"));
    let time = |file: &str| {
        let path = package.own_output("debug", &format!("pack/{file}"));
        fs::metadata(path).and_then(|metadata| metadata.modified()).expect("the image is there")
    };
    let files = ["affine.gfx90a.hsaco", "affine.compute_80.ptx", "scale.gfx90a.hsaco", "scale.compute_80.ptx"];
    let before = files.map(time);
    package.write("kernels/scale.cu", kernel("scale", "2.0f"));
    succeed(&mut cargo(&package, "build"));
    let after = files.map(time);
    assert_eq!(before[..2], after[..2]);
    assert!(before[2] != after[2] && before[3] != after[3]);
}

/// The build script writes a source into `OUT_DIR` each time it runs.
fn generated() {
    let package = package("modules_generated", "");
    let script = |value: &str| {
        format!(
            "fn main() {{\n    let out = std::env::var(\"OUT_DIR\").unwrap();\n    \
             std::fs::write(format!(\"{{out}}/made.cu\"), {:?}).unwrap();\n    \
             offload_build::Build::new().modules([format!(\"{{out}}/made.cu\")]).archs([\"compute_80\"]).compile(\"pack\");\n}}\n",
            kernel("made", value)
        )
    };
    package.write("build.rs", script("1.0f"));
    let build = || printed(&succeed(cargo(&package, "build").arg("-v")));
    build();
    let first = ptx(&package, "made");
    assert!(first.contains(".entry made(") && !first.contains(&*package.folder.to_string_lossy()), "{first}");
    let text = build();
    assert!(text.contains("Fresh modules_generated"), "the source in OUT_DIR makes each build run:\n{text}");
    let path = package.own_output("debug", "pack/made.compute_80.ptx");
    let time = || fs::metadata(&path).and_then(|metadata| metadata.modified()).expect("the image is there");
    let made = time();
    // Written anew with the same bytes, then with others.
    package.write("build.rs", script("1.0f") + "// changed\n");
    build();
    assert_eq!(time(), made, "compiled anew without a change");
    package.write("build.rs", script("2.0f"));
    build();
    assert!(ptx(&package, "made") != first, "the image is still of the old source");
}

/// The kernels of ready-made images of one file name are kept apart.
fn ready_made() {
    let package = package(
        "modules_ready_made",
        "\n        .module(Module::new(\"one\").file(\"a/k.hsaco\")).module(Module::new(\"two\").file(\"b/k.hsaco\"))\
         .archs([\"gfx90a\"])",
    );
    for (folder, image) in [("a", "saxpy/prebuilt/saxpy"), ("b", "one-source/prebuilt/block_sum")] {
        let bytes = read(scratch::workspace().join("examples").join(format!("{image}.gfx90a.hsaco")));
        package.write(&format!("{folder}/k.hsaco"), bytes);
    }
    let records = || {
        succeed(&mut cargo(&package, "build"));
        ["one", "two"].map(|module| {
            let path = package.own_output("debug", &format!("pack/work/{module}.gfx90a.kernels"));
            (read(&path), fs::metadata(&path).and_then(|it| it.modified()).expect("it is there"))
        })
    };
    let first = records();
    assert!(String::from_utf8_lossy(&first[0].0).ends_with("\nsaxpy\n"), "{first:?}");
    package.write("build.rs", read(package.folder.join("build.rs")));
    assert_eq!(records(), first);
}

fn excluded() {
    let package = package(
        "modules_excluded",
        r#".files(["kernels/own.cu", "kernels/own_test.cu"])
        .modules(["kernels/affine.cu", "kernels/affine_test.cu", "kernels/scale.cu"])
        .exclude("kernels/*_test.cu").exclude("kernels/own_*.cu").exclude("kernels/scale.cu")
        .archs(["compute_80"])"#,
    );
    package.write("kernels/own.cu", kernel("own", "1.0f"));
    for name in ["own_test", "affine_test"] {
        package.write(&format!("kernels/{name}.cu"), "#error \"excluded\"\n");
    }
    succeed(&mut cargo(&package, "build"));
    assert_eq!(modules(&package), ["pack: compute_80", "affine: compute_80"]);
}

fn kernels() {
    let calls = |required: &str| {
        format!(
            r#".module(Module::new("both").files(["kernels/affine.cu", "kernels/plus.cu"]){required}).archs(["gfx90a", "compute_80", "cpu"])"#
        )
    };
    let package =
        package("modules_kernels", &calls(r#".requires_kernel("affine").requires_kernel_for("nvidia", "fast")"#));
    package.write(
        "kernels/plus.cu",
        format!(
            "#ifdef OFFLOAD_NVPTX\n{}#endif\n__global__ void mangled(int *x) {{ *x = 1; }}\n",
            kernel("fast", "1.0f")
        ),
    );
    let text = stderr(&succeed(&mut cargo(&package, "build")));
    assert!(text.contains(r#"both gfx90a ["affine", "_Z7mangledPi"]"#), "{text}");
    assert!(text.contains(r#"both compute_80 ["affine", "fast", "_Z7mangledPi"]"#), "{text}");
    assert!(text.contains("both cpu []"), "{text}");

    package.write("build.rs", build_script(&calls(r#".requires_kernel("fast").requires_kernel("mangled")"#)));
    let output = cargo(&package, "build").output().expect("cargo starts");
    let text = stderr(&output);
    assert!(!output.status.success(), "{text}");
    for line in [
        "build.rs requires kernels of the module \"both\":",
        "the image for gfx90a has no kernel fast; it has affine, _Z7mangledPi",
        "the image for gfx90a has no kernel mangled; it has affine, _Z7mangledPi",
        "the image for compute_80 has no kernel mangled; it has affine, fast, _Z7mangledPi",
    ] {
        assert_eq!(text.matches(line).count(), 1, "{line} in\n{text}");
    }
}

fn prebuilt() {
    let calls = r#".modules(["kernels/affine.cu"]).file("kernels/scale.cu").archs(["gfx90a", "compute_80"])"#;
    let package = package("modules_prebuilt", calls);
    succeed(cargo(&package, "build").arg("--release").env("OFFLOAD_PREBUILT", "update"));
    let mut files: Vec<String> = fs::read_dir(package.folder.join("prebuilt"))
        .expect("the set is there")
        .map(|entry| entry.expect("it can be read").file_name().to_string_lossy().into_owned())
        .collect();
    files.sort_unstable();
    assert_eq!(
        files,
        [
            "pack.affine.compute_80.ptx",
            "pack.affine.gfx90a.hsaco",
            "pack.affine.manifest",
            "pack.compute_80.ptx",
            "pack.gfx90a.hsaco",
            "pack.manifest"
        ]
    );
    let text = stderr(&succeed(cargo(&package, "build").env("OFFLOAD_PREBUILT", "only")));
    assert!(text.contains("gfx90a, compute_80 from prebuilt/, because OFFLOAD_PREBUILT=only"), "{text}");
    assert_eq!(modules(&package), ["pack: gfx90a compute_80", "affine: gfx90a compute_80"]);
    // A change of one module's source is none of the other's.
    package.write("kernels/affine.cu", kernel("affine", "2.0f"));
    let output = cargo(&package, "build").env("OFFLOAD_PREBUILT", "only").output().expect("cargo starts");
    let text = stderr(&output);
    assert!(text.contains("kernels/affine.cu has changed since prebuilt/pack.affine.manifest was made"), "{text}");
    assert!(!text.contains("since prebuilt/pack.manifest"), "{text}");
}
