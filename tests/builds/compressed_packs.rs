//! Compressed packs, as read by programs and other tools.

use crate::copy_of_program;
use offload_format::offload_binary::OffloadBinary;
use offload_tests::judges::image_file_name;
use offload_tests::prelude::*;

const MIXED: &str = "gfx90a compute_80 cpu";
const AMD: &str = "gfx90a gfx1100";

const MAIN: &str = r#"#![forbid(unsafe_code)]
static PACK: offload_gpu::KernelPack<offload_gpu::Compressed> = offload_gpu::include_offload!("pack");

fn main() {
    let folder = std::path::Path::new(env!("OUT_DIR")).join("offload/pack");
    for module in PACK.modules() {
        for image in module.images() {
            let extension = match image.target() {
                name if name.starts_with("gfx") => "hsaco",
                name if name.starts_with("compute_") => "ptx",
                _ => "so",
            };
            let file = std::fs::read(folder.join(format!("{}.{}.{extension}", module.name(), image.target()))).unwrap();
            let own = image.decompress().unwrap();
            assert!(image.is_compressed(), "{} {}", module.name(), image.target());
            assert!(own.bytes() == file, "{} {}", module.name(), image.target());
            assert_eq!(own.as_ptr().addr() % 8, 0);
            assert_eq!(own.as_ptr().addr(), own.bytes().as_ptr().addr());
            // The buffer is reused for all images; PTX ends in its NUL.
            let mut buffer = vec![7; 3];
            image.decompress_into(&mut buffer).unwrap();
            let nul = extension == "ptx";
            assert!(buffer[..file.len()] == file);
            assert_eq!(buffer.len(), file.len() + usize::from(nul));
            println!("{} {} {}", module.name(), image.target(), PACK.section());
        }
    }
    let all: Vec<usize> = PACK.images().map(|image| image.decompress().unwrap().bytes().len()).collect();
    assert_eq!(all.len(), PACK.modules().map(|module| module.images().len()).sum::<usize>());
    if let Some(device) = std::env::args().nth(1) {
        let device = offload_gpu::DeviceInfo::parse(&device).unwrap();
        println!("{}", PACK.module("scale").select(&device).unwrap().target());
    }
}
"#;

/// The expression whose value the kernels add. The expression makes the images large enough for
/// compression to pay off.
const VALUE: &str = "sinf(x[i]) + cosf(y[i])";

/// Returns a program with a compressed pack of two modules, but without the features for
/// compression in the build script and the program.
fn without_features(name: &str) -> Scenario {
    let scenario = Scenario::without_sources(name);
    let calls = r#".modules(["kernels/affine.cu", "kernels/scale.cu"]).archs(["cpu"]).compress()"#;
    scenario.pack("pack", calls).kernel("affine", VALUE).kernel("scale", VALUE);
    scenario.write("src/main.rs", MAIN);
    scenario
}

/// Returns a program with a compressed pack of two modules, and with the features for compression
/// in the build script and the program.
fn package(name: &str) -> Scenario {
    let mut scenario = without_features(name);
    scenario.feature("offload-build", "compression").feature("offload-gpu", "zstd");
    scenario
}

fn build<'a>(scenario: &'a Scenario, archs: &str) -> Run<'a> {
    scenario.build().env("OFFLOAD_ARCH", archs)
}

/// Builds one package twice: once with offload binaries, and once with AMD's bundles.
#[test(CLANG.slow())]
fn programs_and_other_tools_have_every_image() {
    let scenario = package("compressed_program");
    for (archs, section) in [(MIXED, ".llvm.offloading"), (AMD, ".hip_fatbin")] {
        let ran = scenario.run().env("OFFLOAD_ARCH", archs).passes().stdout;
        let lines =
            |module| archs.split(' ').map(move |arch| format!("{module} {arch} {section}\n"));
        assert_eq!(ran, ["affine", "scale"].into_iter().flat_map(lines).collect::<String>());
        let pack = read(scenario.output("debug", "pack.pack"));
        if archs == AMD {
            bundles_are_those_of_llvm(&scenario, &pack);
        } else {
            offload_binaries_are_of_version_3(&scenario, &pack);
        }
    }
    scenario.start("debug").arg("gfx90a:sramecc+:xnack-").passes().has("\ngfx90a\n");
    a_second_run_compresses_nothing(&scenario);
}

/// Programs must not compile if they declare a compressed pack with the type of an uncompressed
/// one, or read a compressed image's bytes. A pack that was not built must have the same type as a
/// built one.
#[test(CLANG.slow())]
fn bytes_of_a_compressed_image_do_not_compile() {
    const COMPRESSED: &str = "use offload_gpu::{Compressed, KernelPack, include_offload};\nstatic PACK: KernelPack<Compressed> = ";
    let scenario = package("compressed_types");
    let program = |statics: &str, calls: &str| {
        let main = format!("fn main() {{\n    for image in PACK.images() {{\n{calls}    }}\n}}\n");
        scenario.write("src/main.rs", format!("{COMPRESSED}{statics};\n{main}"));
    };
    // This program also works if nothing is compressed.
    program(
        "include_offload!(\"pack\", compressed)",
        "println!(\"{} {}\", image.is_compressed(), image.decompress().unwrap().bytes().len() > 64);\n",
    );
    let script = scenario.text("build.rs");
    for (text, expected) in [(script.replace(".compress()", ""), "false"), (script, "true")] {
        scenario.write("build.rs", text);
        let ran = scenario.run().env("OFFLOAD_ARCH", "gfx90a").passes().stdout;
        assert_eq!(ran, format!("{expected} true\n").repeat(2));
    }

    for skip in ["0", "1"] {
        let build = || scenario.build().env("OFFLOAD_ARCH", AMD).env("OFFLOAD_SKIP", skip);
        program("include_offload!(\"pack\")", "image.decompress().unwrap();\n");
        build().passes();
        program(
            "include_offload!(\"pack\");\nstatic PLAIN: KernelPack = include_offload!(\"pack\")",
            "image.bytes();\nimage.as_ptr();\n",
        );
        build()
            .fails()
            .has("expected `KernelPack`, found `KernelPack<Compressed>`")
            .has("no method named `bytes` found for struct `PackImage<Compressed>` in the current scope")
            .has("no method named `as_ptr` found for struct `PackImage<Compressed>` in the current scope");
    }
}

/// The program reads the pack at run time. The program was compiled for an uncompressed pack, but a
/// later build has compressed the pack.
#[test(CLANG.slow())]
fn a_pack_on_disk_is_of_the_form_that_the_program_expects() {
    let scenario = package("compressed_on_disk");
    let build =
        |target: &str| build(&scenario, AMD).arg(target).env("OFFLOAD_FROM_DISK", "1").passes();
    build("--bins");
    assert_eq!(scenario.start("debug").passes().stdout.lines().count(), 4);

    let script = scenario.text("build.rs");
    scenario.write("build.rs", script.replace(".compress()", "")).write(
        "src/main.rs",
        "static PACK: offload_gpu::KernelPack = offload_gpu::include_offload!(\"pack\");\n\
         fn main() { println!(\"{} {:?}\", PACK.images().count(), PACK.absent()); }\n",
    );
    scenario.write("src/lib.rs", "//! Empty.\n");
    build("--bins");
    scenario.write("build.rs", script);
    build("--lib");
    scenario.start("debug").passes().starts_with("0 ").has(
        "contains a compressed pack, but the program was compiled for an uncompressed one: build \
         the program again",
    );
}

/// clang-offload-bundler must unbundle the contents of `.hip_fatbin`, and llvm-objdump must list
/// all bundles in the program.
fn bundles_are_those_of_llvm(scenario: &Scenario, pack: &[u8]) {
    let starts: Vec<usize> =
        (0..pack.len()).step_by(4096).filter(|at| pack[*at..].starts_with(b"CCOB")).collect();
    assert_eq!(starts.len(), 2, "a bundle for each module, each at a multiple of 4096");
    for (number, module) in ["affine", "scale"].into_iter().enumerate() {
        let bytes = &pack[starts[number]..];
        // The bundle's header contains version 3, the number 1 for zstd, and the total size.
        assert_eq!(bytes[4..8], [3, 0, 1, 0]);
        let size = u64::from_le_bytes(bytes[8..16].try_into().expect("8 bytes")) as usize;
        let end = if number == 0 { starts[1] - starts[0] } else { bytes.len() };
        assert!(bytes[size..end].iter().all(|byte| *byte == 0), "zeros up to the next");
        scenario.write("input.hipfb", &bytes[..size]);
        for arch in AMD.split(' ') {
            let bundler = scenario.tool(llvm("clang-offload-bundler").get_program());
            bundler
                .args(["-unbundle", "-type=o", "-input=input.hipfb", "-output=unbundled"])
                .arg(format!("-targets=hipv4-amdgcn-amd-amdhsa--{arch}"))
                .passes();
            let image = scenario.output("debug", &format!("pack/{module}.{arch}.hsaco"));
            assert!(read(scenario.folder.join("unbundled")) == read(&image), "{module} {arch}");
        }
    }
    let objdump = scenario.tool(llvm("llvm-objdump").get_program());
    let listing = objdump.arg("--offloading").arg(copy_of_program(scenario)).passes();
    for arch in AMD.split(' ') {
        listing.times(2, &format!("hipv4-amdgcn-amd-amdhsa--{arch}\n"));
    }
}

/// No installed tool supports version 3 of offload binaries, so this project's own reader reads the
/// compressed pack. A test in offload_binary.rs checks the compressed streams with LLVM's objcopy.
fn offload_binaries_are_of_version_3(scenario: &Scenario, pack: &[u8]) {
    let found: Vec<_> =
        OffloadBinary::in_a_row(pack).map(|it| it.expect("it can be read").1).collect();
    assert_eq!(found.len(), 2, "one for each module");
    for (binary, module) in found.iter().zip(["affine", "scale"]) {
        let stream = binary.compressed.expect("it is compressed");
        let whole = stream.decompress(1 << 24).expect("it can be decompressed");
        let (_, whole) =
            OffloadBinary::in_a_row(&whole).next().expect("one").expect("it can be read");
        let images: Vec<_> = whole.images().collect();
        assert_eq!(images.len(), 3);
        for image in images {
            assert_eq!(image.string("module"), Some(module));
            let target = image.arch().unwrap_or("cpu");
            let name = image_file_name(target);
            let file = scenario.output("debug", &format!("pack/{module}.{name}"));
            assert!(image.data == read(file), "{name}");
        }
    }
    let images: u64 = scenario.index("debug", "pack").images().map(|image| image.size).sum();
    assert!((pack.len() as u64) < images / 2, "{} bytes of {images}", pack.len());
}

fn a_second_run_compresses_nothing(scenario: &Scenario) {
    let made = || scenario.output_time("debug", "pack/work/affine.compressed");
    let pack = || read(scenario.output("debug", "pack.pack"));
    let (first_pack, first_time) = (pack(), made());
    scenario.touch_build_script();
    build(scenario, AMD).passes();
    assert_eq!(made(), first_time);
    scenario.kernel("affine", &VALUE.replace("sinf", "expf"));
    build(scenario, AMD).passes();
    assert!(made() > first_time, "not compressed again");
    assert!(pack() != first_pack, "the pack is still of the old source");
}

#[test(CLANG.slow())]
fn features_that_are_missing() {
    build(&without_features("compressed_not"), AMD)
        .fails()
        .has("build.rs requests a compressed pack, but this build of offload-build cannot compress")
        .has("the feature `compression` of offload-build in [build-dependencies]");

    let mut without_zstd = without_features("compressed_closed");
    without_zstd.features_without("zstd").write(
        "src/main.rs",
        "static PACK: offload_gpu::KernelPack<offload_gpu::Compressed> = offload_gpu::include_offload!(\"pack\");\n\
         fn main() { println!(\"{}\", PACK.images().next().unwrap().decompress().unwrap_err()); }\n",
    );
    without_zstd.run().env("OFFLOAD_ARCH", AMD).passes().has(
        "which is not built in: enable the feature `zstd` of offload-gpu, or of offload-format",
    );
}
