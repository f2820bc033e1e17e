//! Compressed packs, as programs and other tools read them.

use offload_format::offload_binary::OffloadBinaries;
use offload_tests::data::read;
use offload_tests::registry::CLANG;
use offload_tests::scenario::{Run, Scenario};
use offload_tests::scratch;
use offload_tests::tools::{llvm, stdout, succeed};
use std::fs;

offload_tests::tests! {
    CLANG => [bundles_are_those_of_llvm, offload_binaries_are_of_version_3],
    CLANG.slow() => [
        a_program_has_every_image,
        a_second_run_compresses_nothing,
        features_that_are_missing,
        bytes_of_a_compressed_image_do_not_compile,
        a_pack_on_disk_is_of_the_form_that_the_program_expects,
    ],
}

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

/// The value that the kernels add. It makes the images large enough that compression is worthwhile.
const VALUE: &str = "sinf(x[i]) + cosf(y[i])";

/// Returns a program with a compressed pack of two modules. The features for compression are
/// disabled in the build script and in the program.
fn without_features(name: &str) -> Scenario {
    let scenario = Scenario::without_sources(name);
    scenario
        .pack(
            "pack",
            r#".modules(["kernels/affine.cu", "kernels/scale.cu"]).archs(["cpu"]).compress()"#,
        )
        .kernel("affine", VALUE)
        .kernel("scale", VALUE)
        .write("src/main.rs", MAIN);
    scenario
}

/// Returns a program with a compressed pack of two modules. The features for compression are
/// enabled in the build script and in the program.
fn package(name: &str) -> Scenario {
    let mut scenario = without_features(name);
    scenario.feature("offload-build", "compression").feature("offload-gpu", "zstd");
    scenario
}

fn build<'a>(scenario: &'a Scenario, archs: &str) -> Run<'a> {
    scenario.build().env("OFFLOAD_ARCH", archs)
}

fn a_program_has_every_image() {
    let scenario = package("compressed_program");
    for profile in ["debug", "release"] {
        for (archs, section) in [(MIXED, ".llvm.offloading"), (AMD, ".hip_fatbin")] {
            let ran = scenario.run().profile(profile).env("OFFLOAD_ARCH", archs).passes().stdout;
            let lines =
                |module| archs.split(' ').map(move |arch| format!("{module} {arch} {section}\n"));
            assert_eq!(ran, ["affine", "scale"].into_iter().flat_map(lines).collect::<String>());
        }
    }
    scenario.start("debug").arg("gfx90a:sramecc+:xnack-").passes().has("\ngfx90a\n");
}

/// Tests two programs that do not compile: one uses the type of an uncompressed pack, and one uses
/// the bytes of a compressed image. A pack that was not built has the same type as a built pack.
fn bytes_of_a_compressed_image_do_not_compile() {
    let scenario = package("compressed_types");
    let program = |form: &str, call: &str| {
        let pack = format!(
            "static PACK: offload_gpu::KernelPack{form} = offload_gpu::include_offload!(\"pack\");\n"
        );
        scenario.write(
            "src/main.rs",
            format!("{pack}fn main() {{\n    for image in PACK.images() {{\n        {call};\n    }}\n}}\n"),
        );
    };
    // This program also works if nothing is compressed.
    scenario.write(
        "src/main.rs",
        "static PACK: offload_gpu::KernelPack<offload_gpu::Compressed> = offload_gpu::include_offload!(\"pack\", compressed);\n\
         fn main() {\n    for image in PACK.images() {\n        \
         println!(\"{} {}\", image.is_compressed(), image.decompress().unwrap().bytes().len() > 64);\n    }\n}\n",
    );
    let calls = scenario.text("build.rs");
    for (text, expected) in
        [(&calls, "true true\n"), (&calls.replace(".compress()", ""), "false true\n")]
    {
        scenario.write("build.rs", text);
        assert_eq!(
            scenario.run().env("OFFLOAD_ARCH", "gfx90a").passes().stdout,
            expected.repeat(2)
        );
    }
    scenario.write("build.rs", &calls);

    for skip in ["0", "1"] {
        let check = || scenario.check().env("OFFLOAD_ARCH", AMD).env("OFFLOAD_SKIP", skip);
        program("<offload_gpu::Compressed>", "image.decompress().unwrap()");
        check().passes();
        program("", "image.bytes()");
        check().fails().has("expected `KernelPack`, found `KernelPack<Compressed>`");
        for call in ["image.bytes()", "image.as_ptr()"] {
            program("<offload_gpu::Compressed>", call);
            check().fails().has("found for struct `PackImage<Compressed>` in the current scope");
        }
    }
}

/// The program reads the pack at run time. The program was compiled for an uncompressed pack; then
/// the pack is compressed.
fn a_pack_on_disk_is_of_the_form_that_the_program_expects() {
    let scenario = package("compressed_on_disk");
    let build =
        |target: &str| build(&scenario, AMD).arg(target).env("OFFLOAD_FROM_DISK", "1").passes();
    build("--bins");
    assert_eq!(scenario.start("debug").passes().stdout.lines().count(), 4);

    let calls = r#".modules(["kernels/affine.cu", "kernels/scale.cu"]).archs(["cpu"])"#;
    scenario.pack("pack", calls).write(
        "src/main.rs",
        "static PACK: offload_gpu::KernelPack = offload_gpu::include_offload!(\"pack\");\n\
         fn main() { println!(\"{} {:?}\", PACK.images().count(), PACK.absent()); }\n",
    );
    scenario.write("src/lib.rs", "//! Empty.\n");
    build("--bins");
    scenario.pack("pack", &format!("{calls}.compress()"));
    build("--lib");
    let printed = scenario.start("debug").passes();
    printed
        .starts_with("0 ")
        .has("has a compressed pack, and the program was compiled for one that is not: build the program again");
}

/// LLVM's bundler unbundles the contents of `.hip_fatbin`.
fn bundles_are_those_of_llvm() {
    let scenario = package("compressed_bundles");
    build(&scenario, AMD).passes();
    let pack = read(scenario.output("debug", "pack.pack"));
    let starts: Vec<usize> =
        (0..pack.len()).step_by(4096).filter(|at| pack[*at..].starts_with(b"CCOB")).collect();
    assert_eq!(starts.len(), 2, "a bundle for each module, each at a multiple of 4096");
    for (number, module) in ["affine", "scale"].into_iter().enumerate() {
        let bytes = &pack[starts[number]..];
        // The header contains version 3 and the number 1 for zstd; the total size follows.
        assert_eq!(bytes[4..8], [3, 0, 1, 0]);
        let size = u64::from_le_bytes(bytes[8..16].try_into().expect("8 bytes")) as usize;
        let end = if number == 0 { starts[1] - starts[0] } else { bytes.len() };
        assert!(bytes[size..end].iter().all(|byte| *byte == 0), "zeros up to the next");
        let file = scenario.folder.join(format!("{module}.hipfb"));
        scratch::write(&file, &bytes[..size]);
        for arch in ["gfx90a", "gfx1100"] {
            let out = scenario.folder.join(format!("{module}.{arch}"));
            let mut bundler = llvm("clang-offload-bundler");
            bundler.args([
                "-unbundle",
                "-type=o",
                &format!("-targets=hipv4-amdgcn-amd-amdhsa--{arch}"),
            ]);
            succeed(
                bundler
                    .arg(format!("-input={}", file.display()))
                    .arg(format!("-output={}", out.display())),
            );
            let image = scenario.output("debug", &format!("pack/{module}.{arch}.hsaco"));
            assert!(read(&out) == read(&image), "{module} {arch}");
        }
    }
    // LLVM's tool finds all bundles in a program.
    let program = scenario.folder.join("listed");
    fs::copy(scenario.program("debug", "compressed_bundles"), &program)
        .expect("the program can be copied");
    let listing = stdout(&succeed(llvm("llvm-objdump").arg("--offloading").arg(&program)));
    for arch in AMD.split(' ') {
        assert_eq!(
            listing.matches(&format!("hipv4-amdgcn-amd-amdhsa--{arch}\n")).count(),
            2,
            "{listing}"
        );
    }
}

/// No installed tool supports version 3 of offload binaries. So this project's own reader reads the
/// compressed pack. LLVM's objcopy checks the compressed streams in offload_binary.rs.
fn offload_binaries_are_of_version_3() {
    let scenario = package("compressed_binaries");
    build(&scenario, MIXED).passes();
    let pack = read(scenario.output("debug", "pack.pack"));
    let found: Vec<_> =
        OffloadBinaries::new(&pack).map(|it| it.expect("it can be read").1).collect();
    assert_eq!(found.len(), 2, "one for each module");
    for (binary, module) in found.iter().zip(["affine", "scale"]) {
        let whole = binary
            .compressed()
            .expect("it is compressed")
            .decompress(1 << 24)
            .expect("it can be decompressed");
        let (_, whole) = OffloadBinaries::new(&whole).next().expect("one").expect("it can be read");
        let images: Vec<_> = whole.images().collect();
        assert_eq!(images.len(), 3);
        for image in images {
            assert_eq!(image.string("module"), Some(module));
            let name = match image.arch() {
                Some(arch @ "gfx90a") => format!("{arch}.hsaco"),
                Some(arch) => format!("{arch}.ptx"),
                None => "cpu.so".to_owned(),
            };
            assert!(
                image.data() == read(scenario.output("debug", &format!("pack/{module}.{name}"))),
                "{name}"
            );
        }
    }
    let images: u64 = scenario.index("debug", "pack").images().map(|image| image.size).sum();
    assert!((pack.len() as u64) < images / 2, "{} bytes of {images}", pack.len());
}

fn a_second_run_compresses_nothing() {
    let scenario = package("compressed_twice");
    let made = || scenario.output_time("debug", "pack/work/affine.compressed");
    let pack = || read(scenario.output("debug", "pack.pack"));
    build(&scenario, AMD).passes();
    let (first_pack, first_time) = (pack(), made());
    scenario.touch_build_script();
    build(&scenario, AMD).passes();
    assert_eq!(made(), first_time);
    scenario.kernel("affine", &VALUE.replace("sinf", "expf"));
    build(&scenario, AMD).passes();
    assert!(made() > first_time, "not compressed again");
    assert!(pack() != first_pack, "the pack is still of the old source");
}

fn features_that_are_missing() {
    let mut without_compression = without_features("compressed_not");
    without_compression.feature("offload-gpu", "zstd");
    build(&without_compression, AMD)
        .fails()
        .has("build.rs asks for a compressed pack: ")
        .has("the feature `compression` of offload-build, in [build-dependencies]");

    let mut without_zstd = without_features("compressed_closed");
    without_zstd.feature("offload-build", "compression").write(
        "src/main.rs",
        "static PACK: offload_gpu::KernelPack<offload_gpu::Compressed> = offload_gpu::include_offload!(\"pack\");\n\
         fn main() { println!(\"{}\", PACK.images().next().unwrap().decompress().unwrap_err()); }\n",
    );
    without_zstd
        .run()
        .env("OFFLOAD_ARCH", AMD)
        .passes()
        .has("which is not built in: add the feature `zstd` of offload-gpu (of offload-format");
}
