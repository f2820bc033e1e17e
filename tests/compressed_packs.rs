//! Packs that build.rs wants compressed: what a program has of them, and what others read in them.

use offload_format::offload_binary::OffloadBinaries;
use offload_tests::data::read;
use offload_tests::package::{Package, printed};
use offload_tests::scratch;
use offload_tests::tools::{Tool, llvm, llvm_bin, stdout, succeed};
use offload_tests::{run, test};
use std::fs;
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    const TOOLS: &[Tool] = &[Tool::Llvm22, Tool::Gcc];
    run(vec![
        test("a_program_has_every_image", TOOLS, in_a_program),
        test("bundles_are_those_of_llvm", TOOLS, bundles),
        test("offload_binaries_are_of_version_3", TOOLS, offload_binaries),
        test("a_second_run_compresses_nothing", TOOLS, second_run),
        test("features_that_are_missing", TOOLS, missing_features),
    ])
}

fn kernel(name: &str) -> String {
    format!(
        "extern \"C\" __global__ void {name}(int n, const float *x, float *y) {{\n  \
           int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n)\n    y[i] = sinf(x[i]) + cosf(y[i]);\n}}\n"
    )
}

const MIXED: &str = "gfx90a compute_80 cpu";
const AMD: &str = "gfx90a gfx1100";

const BUILD: &str = "fn main() {\n    offload_build::Build::new()\n        .modules([\"kernels/affine.cu\", \"kernels/scale.cu\"])\n        \
                     .archs([\"cpu\"])\n        .compress()\n        .compile(\"pack\");\n}\n";

const MAIN: &str = r#"#![forbid(unsafe_code)]
static PACK: offload_format::KernelPack = offload_embed_macro::include_offload!("pack");

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
            assert!(image.is_compressed() && own.bytes() == file, "{} {}", module.name(), image.target());
            assert_eq!(own.as_ptr().addr() % 8, 0);
            assert_eq!(own.as_ptr().addr(), own.bytes().as_ptr().addr());
            // A buffer that is kept; PTX ends in its NUL.
            let mut buffer = vec![7; 3];
            image.decompress_into(&mut buffer).unwrap();
            let nul = extension == "ptx";
            assert!(buffer[..file.len()] == file && buffer.len() == file.len() + usize::from(nul));
            println!("{} {} {}", module.name(), image.target(), PACK.section());
        }
    }
    let all: Vec<usize> = PACK.images().map(|image| image.decompress().unwrap().bytes().len()).collect();
    assert_eq!(all.len(), PACK.modules().map(|module| module.images().len()).sum::<usize>());
    if let Some(device) = std::env::args().nth(1) {
        let device = offload_format::Device::parse(&device).unwrap();
        let image = PACK.module("scale").select(&device).unwrap();
        println!("{}", image.target());
        image.as_ptr();
    }
}
"#;

/// A package with a compressed pack of two modules; features for build script and program.
fn package(name: &str, build: &str, program: &str) -> Package {
    let package = Package::new(name);
    let mut manifest = fs::read_to_string(package.folder.join("Cargo.toml")).expect("the package has a manifest");
    for (dependency, feature) in [("offload-build", build), ("offload-format", program)] {
        let path = scratch::workspace().join(dependency);
        let plain = format!("{dependency} = {{ path = \"{}\" }}", path.display());
        let with = format!("{dependency} = {{ path = \"{}\", features = [{feature}] }}", path.display());
        assert!(manifest.contains(&plain), "{manifest}");
        manifest = manifest.replace(&plain, &with);
    }
    package.write("Cargo.toml", manifest).write("build.rs", BUILD).write("src/main.rs", MAIN);
    for kernel_name in ["affine", "scale"] {
        package.write(&format!("kernels/{kernel_name}.cu"), kernel(kernel_name));
    }
    package
}

fn cargo(package: &Package, archs: &str, args: &[&str]) -> Command {
    let mut command = package.cargo(args);
    command.env("OFFLOAD_CLANG", llvm_bin().join("clang")).env("OFFLOAD_ARCH", archs);
    command
}

fn in_a_program() {
    let package = package("compressed_program", "\"compression\"", "\"zstd\"");
    for profile in ["debug", "release"] {
        for (archs, section) in [(MIXED, ".llvm.offloading"), (AMD, ".hip_fatbin")] {
            let mut command = cargo(&package, archs, &["run"]);
            let ran = stdout(&succeed(command.args((profile == "release").then_some("--release"))));
            let lines = |module| archs.split(' ').map(move |arch| format!("{module} {arch} {section}\n"));
            assert_eq!(ran, ["affine", "scale"].into_iter().flat_map(lines).collect::<String>());
        }
    }
    // What is compressed has no bytes to point to: the message says what has.
    let output = Command::new(package.program("debug", "compressed_program")).arg("gfx90a:sramecc+:xnack-").output();
    let text = printed(&output.expect("it starts"));
    let message =
        "the image for gfx90a is compressed, as build.rs asks for with .compress(): decompress() has its bytes";
    assert!(text.contains("\ngfx90a\n") && text.contains(message), "{text}");
}

/// LLVM's bundler unbundles what stands in `.hip_fatbin`.
fn bundles() {
    let package = package("compressed_bundles", "\"compression\"", "\"zstd\"");
    succeed(&mut cargo(&package, AMD, &["build"]));
    let pack = read(package.own_output("debug", "pack.pack"));
    let starts: Vec<usize> = (0..pack.len()).step_by(4096).filter(|at| pack[*at..].starts_with(b"CCOB")).collect();
    assert_eq!(starts.len(), 2, "a bundle for each module, each at a multiple of 4096");
    for (number, module) in ["affine", "scale"].into_iter().enumerate() {
        let bytes = &pack[starts[number]..];
        // Version 3, zstd, and the size of the whole.
        assert_eq!(bytes[4..8], [3, 0, 1, 0]);
        let size = u64::from_le_bytes(bytes[8..16].try_into().expect("8 bytes")) as usize;
        let end = if number == 0 { starts[1] - starts[0] } else { bytes.len() };
        assert!(bytes[size..end].iter().all(|byte| *byte == 0), "zeros up to the next");
        let file = package.folder.join(format!("{module}.hipfb"));
        scratch::write(&file, &bytes[..size]);
        for arch in ["gfx90a", "gfx1100"] {
            let out = package.folder.join(format!("{module}.{arch}"));
            let mut bundler = llvm("clang-offload-bundler");
            bundler.args(["-unbundle", "-type=o", &format!("-targets=hipv4-amdgcn-amd-amdhsa--{arch}")]);
            succeed(bundler.arg(format!("-input={}", file.display())).arg(format!("-output={}", out.display())));
            let image = package.own_output("debug", &format!("pack/{module}.{arch}.hsaco"));
            assert!(read(&out) == read(&image), "{module} {arch}");
        }
    }
    // And finds all of them in a program.
    let program = package.folder.join("listed");
    fs::copy(package.program("debug", "compressed_bundles"), &program).expect("the program can be copied");
    let listing = stdout(&succeed(llvm("llvm-objdump").arg("--offloading").arg(&program)));
    for arch in AMD.split(' ') {
        assert_eq!(listing.matches(&format!("hipv4-amdgcn-amd-amdhsa--{arch}\n")).count(), 2, "{listing}");
    }
}

/// Which no tool here knows: what they stand for is read by our own reader, the streams by LLVM's objcopy in
/// offload_binary.rs.
fn offload_binaries() {
    let package = package("compressed_binaries", "\"compression\"", "\"zstd\"");
    succeed(&mut cargo(&package, MIXED, &["build"]));
    let pack = read(package.own_output("debug", "pack.pack"));
    let found: Vec<_> = OffloadBinaries::new(&pack).map(|it| it.expect("it can be read").1).collect();
    assert_eq!(found.len(), 2, "one for each module");
    for (binary, module) in found.iter().zip(["affine", "scale"]) {
        let whole = binary.compressed().expect("it is compressed").decompress(1 << 24).expect("it can be decompressed");
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
            assert!(image.data() == read(package.own_output("debug", &format!("pack/{module}.{name}"))), "{name}");
        }
    }
    let images: u64 = package.index("debug", "pack").images().map(|image| image.size).sum();
    assert!((pack.len() as u64) < images / 2, "{} bytes of {images}", pack.len());
}

fn second_run() {
    let package = package("compressed_twice", "\"compression\"", "\"zstd\"");
    succeed(&mut cargo(&package, AMD, &["build"]));
    let file = package.own_output("debug", "pack/work/affine.compressed");
    let pack = read(package.own_output("debug", "pack.pack"));
    let made = || fs::metadata(&file).and_then(|it| it.modified()).expect("the file is there");
    let before = made();
    package.write("build.rs", BUILD);
    succeed(&mut cargo(&package, AMD, &["build"]));
    assert_eq!(made(), before);
    package.write("kernels/affine.cu", kernel("affine").replace("sinf", "expf"));
    succeed(&mut cargo(&package, AMD, &["build"]));
    assert!(made() > before && read(package.own_output("debug", "pack.pack")) != pack);
}

fn missing_features() {
    let without = package("compressed_not", "", "\"zstd\"");
    let output = cargo(&without, AMD, &["build"]).output().expect("cargo starts");
    let text = printed(&output);
    assert!(!output.status.success(), "{text}");
    assert!(text.contains("build.rs asks for a compressed pack: "), "{text}");
    assert!(text.contains("the feature `compression` of offload-build, in [build-dependencies]"), "{text}");

    let program = package("compressed_closed", "\"compression\"", "");
    program.write(
        "src/main.rs",
        "static PACK: offload_format::KernelPack = offload_embed_macro::include_offload!(\"pack\");\n\
         fn main() { println!(\"{}\", PACK.images().next().unwrap().decompress().unwrap_err()); }\n",
    );
    let ran = stdout(&succeed(&mut cargo(&program, AMD, &["run"])));
    assert!(ran.contains("which is not built in: add the feature `zstd` of offload-format"), "{ran}");
}
