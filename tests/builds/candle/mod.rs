//! The published crate `candle-kernels`, built with offload-build from its sources as the registry has them: what other projects
//! have to move over. Modules that are loaded become a pack, those with launches a static library.
//!
//! All of it takes minutes: `cargo test -p offload-tests --test candle -- --include-ignored`.

use offload_format::offload_binary::OffloadBinaries;
use offload_tests::data::read;
use offload_tests::judges::{assert_is_for, image_file_name};
use offload_tests::package::{Package, printed};
use offload_tests::registry::{Needs, needs};
use offload_tests::tools::{Tool, candle_kernels, cuda, llvm_bin, stdout, succeed};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

/* SPECIAL
fn main() -> ExitCode {
    const NEEDS: &[Tool] = &[Tool::Candle, Tool::Nvcc, Tool::Cuda, Tool::Gcc];
    const AMD: &[Tool] = &[Tool::Candle, Tool::Llvm22, Tool::Gcc];
    run(vec![
        test("some_of_candle_kernels", NEEDS, || {
            let some = ["affine", "fill", "sort", "ternary"];
            build("candle_some", &some, &["src/moe/moe_align.cu", "src/mmq_gguf/mmq_quantize.cu"], MOE_ALIGN);
        }),
        test("all_of_candle_kernels", NEEDS, all).with_ignored_flag(true),
        test("some_of_candle_kernels_compressed", NEEDS, || {
            let sizes = compressed("candle_compressed_some", &["affine", "fill", "sort", "ternary"]);
            assert!(sizes.pack < sizes.images / 5, "{sizes:?}");
        }),
        test("all_of_candle_kernels_compressed", NEEDS, || {
            let sizes = compressed("candle_compressed_all", &MODULES.map(|(module, _)| module));
            println!("{sizes:?}");
            assert!(sizes.added <= 2_500_000, "{sizes:?}");
        })
        .with_ignored_flag(true),
        test("some_of_candle_kernels_for_amd", AMD, || {
            for_amd("candle_amd_some", |module| ["affine", "fill", "sort", "ternary"].contains(&module));
        }),
        test("all_of_candle_kernels_for_amd", AMD, || for_amd("candle_amd_all", |_| true)).with_ignored_flag(true),
    ])
}
*/
const NEEDS: Needs = needs(&[Tool::Candle, Tool::Nvcc, Tool::Cuda, Tool::Gcc]);

const AMD: Needs = needs(&[Tool::Candle, Tool::Llvm22, Tool::Gcc]);

offload_tests::tests! {
    NEEDS => [some_of_candle_kernels, some_of_candle_kernels_compressed],
    NEEDS.on_request("takes minutes") => [all_of_candle_kernels, all_of_candle_kernels_compressed],
    AMD => [some_of_candle_kernels_for_amd],
    AMD.on_request("takes minutes") => [all_of_candle_kernels_for_amd],
}

fn some_of_candle_kernels() {
    let some = ["affine", "fill", "sort", "ternary"];
    build("candle_some", &some, &["src/moe/moe_align.cu", "src/mmq_gguf/mmq_quantize.cu"], MOE_ALIGN);
}

fn some_of_candle_kernels_compressed() {
    let sizes = compressed("candle_compressed_some", &["affine", "fill", "sort", "ternary"]);
    assert!(sizes.pack < sizes.images / 5, "{sizes:?}");
}

fn all_of_candle_kernels_compressed() {
    let sizes = compressed("candle_compressed_all", &MODULES.map(|(module, _)| module));
    println!("{sizes:?}");
    assert!(sizes.added <= 2_500_000, "{sizes:?}");
}

fn some_of_candle_kernels_for_amd() {
    for_amd("candle_amd_some", |module| ["affine", "fill", "sort", "ternary"].contains(&module));
}

fn all_of_candle_kernels_for_amd() {
    for_amd("candle_amd_all", |_| true);
}

/// Without a driver; the pointers are never looked at.
const MOE_ALIGN: &str = "unsafe extern \"C\" {\n    fn candle_launch_moe_align(ids: *const i32, sorted: *mut i32, experts: *mut i32, \
     total: *mut i32,\n        sums: *mut i32, count: i32, block: i32, numel: i32, most: i32, stream: *mut c_void) -> i32;\n}\n\n\
     fn launch() -> i32 {\n    let p = std::ptr::null_mut();\n    \
     unsafe { candle_launch_moe_align(p, p, p, p, p, 1, 1, 1, 1, std::ptr::null_mut()) }\n}\n";

fn all_of_candle_kernels() {
    let source = candle_kernels().expect("Tool::Candle was checked");
    let launches = |path: &Path| String::from_utf8_lossy(&read(path)).contains("<<<");
    let (mut modules, mut statics) = (Vec::new(), Vec::new());
    for folder in ["src", "src/moe", "src/mmq_gguf"] {
        for entry in fs::read_dir(source.join(folder)).expect("the crate has it").flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let Some(stem) = name.strip_suffix(".cu") else { continue };
            match folder != "src" || launches(&entry.path()) {
                true => statics.push(format!("{folder}/{name}")),
                false => modules.push(stem.to_owned()),
            }
        }
    }
    modules.sort();
    statics.sort();
    assert_eq!((modules.len(), statics.len()), (11, 16), "{modules:?} {statics:?}");
    let modules: Vec<&str> = modules.iter().map(String::as_str).collect();
    let statics: Vec<&str> = statics.iter().map(String::as_str).collect();
    build("candle_all", &modules, &statics, MOE_ALIGN);
}

/// The modules as they are, for a GPU that their authors did not write them for, without an SDK. All of them build; one that does
/// not would be named, with the compiler's first error. Most kernels of half and bfloat16 ask `__CUDA_ARCH__` whether the GPU has
/// them, so the build script answers.
fn for_amd(name: &str, is_wanted: fn(&str) -> bool) {
    let package = Package::new(name);
    let source = candle_kernels().expect("Tool::Candle was checked").join("src");
    package.write("src/lib.rs", "").write(
        "build.rs",
        "use offload_build::Build;\n\nfn main() {\n    println!(\"cargo::rerun-if-env-changed=MODULE\");\n    \
         let source = std::env::var(\"MODULE\").unwrap();\n    \
         let pack = Build::new().modules([source]).flag_for(\"amd\", \"-D__CUDA_ARCH__=890\")\
         .flag_for(\"amd\", \"-D__CUDACC_VER_MAJOR__=12\").flag_for(\"amd\", \"-D__CUDACC_VER_MINOR__=9\")\
         .archs([\"gfx1100\"]).compile(\"candle\");\n    \
         for image in pack.images() {\n        \
         println!(\"cargo::warning=kernels {:?}\", image.kernels().unwrap());\n    }\n}\n",
    );
    let mut failures = String::new();
    for (module, kernel) in MODULES.into_iter().filter(|(module, _)| is_wanted(module)) {
        let mut cargo = package.cargo(&["build", "--release"]);
        cargo.env("OFFLOAD_CLANG", llvm_bin().join("clang")).env("MODULE", source.join(format!("{module}.cu")));
        let output = cargo.output().expect("cargo starts");
        let text = printed(&output);
        if !output.status.success() {
            let error = text.lines().find(|line| line.contains("error: ") && line.contains(".cu")).unwrap_or(&text);
            failures += &format!("{module}: {error}\n");
            continue;
        }
        assert_is_for(module, "gfx1100", &package.own_output("release", &format!("candle/{module}.gfx1100.hsaco")));
        let kernels =
            text.lines().find_map(|line| line.split_once("kernels ")).map(|(_, names)| names).unwrap_or_default();
        if !kernels.contains(&format!("\"{kernel}")) {
            failures += &format!("{module} has no {kernel}: {kernels}\n");
        }
    }
    assert!(failures.is_empty(), "{failures}");
}

/// The modules, and of some a kernel that asks for a newer GPU.
const MODULES: [(&str, &str); 11] = [
    ("affine", "affine_f8_e4m3"),
    ("binary", "badd_bf16"),
    ("cast", "cast_bf16_f16"),
    ("conv", ""),
    ("fill", ""),
    ("indexing", ""),
    ("quantized", ""),
    ("reduce", "softmax_bf16"),
    ("sort", ""),
    ("ternary", "where_u8_bf16"),
    ("unary", "ugelu_f16"),
];

/// Sizes in bytes, of the PTX of some modules for two targets.
#[derive(Debug)]
#[allow(dead_code, reason = "messages have all of them")]
struct Sizes {
    images: u64,
    pack: u64,
    /// How much larger the program is than one without.
    added: u64,
}

/// The modules as PTX, first in a pack that is not compressed, whose images are what comes out of the compressed one. Of a
/// program in which only one module is as it was, that one comes out.
fn compressed(name: &str, modules: &[&str]) -> Sizes {
    let package = Package::new(name);
    let source = candle_kernels().expect("Tool::Candle was checked").join("src");
    let paths: Vec<String> =
        modules.iter().map(|it| format!("{:?}", source.join(format!("{it}.cu")).display().to_string())).collect();
    let manifest = fs::read_to_string(package.folder.join("Cargo.toml")).expect("the package has a manifest");
    let manifest = manifest
        .replace("/offload-build\" }", "/offload-build\", features = [\"compression\"] }")
        .replace("/offload-format\" }", "/offload-format\", features = [\"zstd\"] }");
    package.write("Cargo.toml", manifest).write("src/main.rs", DECOMPRESS).write(
        "build.rs",
        format!(
            "use offload_build::{{Build, Compiler}};\n\nfn main() {{\n    \
             println!(\"cargo::rerun-if-env-changed=PLAIN\");\n    let mut build = Build::new();\n    \
             if std::env::var_os(\"PLAIN\").is_none() {{\n        build.compress();\n    }}\n    \
             build.modules([{}]).compiler(Compiler::Nvcc).flag(\"--expt-relaxed-constexpr\").flag(\"-std=c++17\")\
             .archs([\"compute_80\", \"compute_90\"]).compile(\"candle\");\n}}\n",
            paths.join(", ")
        ),
    );
    let program = package.program("release", name);
    let built = |variable: Option<&str>| {
        succeed(nvcc_of_cuda_home(&mut package.cargo(&["build", "--release"])).envs(variable.map(|name| (name, "1"))));
        read(&program).len() as u64
    };
    let without = built(Some("OFFLOAD_SKIP"));
    built(Some("PLAIN"));
    let plain = read(package.own_output("release", "candle.pack"));
    let with = built(None);
    let pack = read(package.own_output("release", "candle.pack"));

    let taken = package.folder.join("taken");
    fs::create_dir(&taken).expect("the scratch folder can be written");
    let mut images = BTreeMap::new();
    for binary in OffloadBinaries::new(&plain) {
        let (_, binary) = binary.expect("our own pack can be read");
        for image in binary.images() {
            let (module, target) = (image.string("module").expect("several modules"), image.arch().expect("for a GPU"));
            images.insert(format!("{module}.{target}"), image.data());
        }
    }
    assert_eq!(images.len(), 2 * modules.len(), "{:?}", images.keys());
    assert_eq!(stdout(&succeed(Command::new(&program).arg(&taken).args(modules))), "");
    for (file, bytes) in &images {
        assert!(read(taken.join(file)) == *bytes, "{file} is another after compression");
    }

    // One compressed stream for each module, behind a header.
    const HEADER: usize = 40;
    let mut streams: Vec<usize> =
        OffloadBinaries::new(&pack).map(|it| it.expect("our own pack can be read").0 as usize + HEADER).collect();
    assert_eq!(streams.len(), modules.len());
    streams.push(pack.len() + HEADER);
    let chosen = modules.len() / 2;
    let mut damaged = read(&program);
    let start = damaged.windows(pack.len()).position(|bytes| bytes == pack).expect("the program has the pack");
    for (number, stream) in streams.windows(2).enumerate().filter(|(number, _)| *number != chosen) {
        assert!(stream[0] < stream[1] - HEADER, "module {number} has a stream");
        damaged[start + stream[0]..start + stream[1] - HEADER].fill(0xaa);
    }
    let damaged_program = package.folder.join("damaged");
    fs::copy(&program, &damaged_program).expect("the program can be copied");
    fs::write(&damaged_program, damaged).expect("the copy can be written");
    for file in images.keys() {
        fs::remove_file(taken.join(file)).expect("it was written");
    }
    let said = stdout(&succeed(Command::new(&damaged_program).arg(&taken).args(modules)));
    for (file, bytes) in &images {
        let is_chosen = file.split('.').next() == Some(modules[chosen]);
        assert_eq!(said.contains(&format!("{file}: ")), !is_chosen, "{said}");
        assert!(!is_chosen || read(taken.join(file)) == *bytes, "{file} is another beside damaged ones");
    }
    Sizes {
        images: images.values().map(|bytes| bytes.len() as u64).sum(),
        pack: pack.len() as u64,
        added: with - without,
    }
}

/// Writes the images of the modules that it is told to a folder, or says why they cannot be had.
const DECOMPRESS: &str = r#"use std::path::PathBuf;

static CANDLE: offload_format::KernelPack = offload_embed_macro::include_offload!("candle");

fn main() {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().expect("a folder"));
    for name in arguments {
        let module = CANDLE.modules().find(|module| module.name() == name).expect("it is in the pack");
        for image in module.images() {
            let file = format!("{name}.{}", image.target());
            match image.decompress() {
                Ok(own) => std::fs::write(folder.join(file), own.bytes()).unwrap(),
                Err(error) => println!("{file}: {error}"),
            }
        }
    }
}
"#;

/// Without the variables by which another nvcc would be taken.
fn nvcc_of_cuda_home(cargo: &mut Command) -> &mut Command {
    for variable in ["NVCC", "CUDACXX", "CUDA_PATH", "CUDA_ROOT", "CUDA_TOOLKIT_ROOT_DIR"] {
        cargo.env_remove(variable);
    }
    cargo
}

/// Builds a program of these modules and these sources with launches, for two targets; has others look at every image; starts
/// it.
fn build(name: &str, modules: &[&str], statics: &[&str], launch: &str) {
    let package = Package::new(name);
    let source = candle_kernels().expect("Tool::Candle was checked");
    let path = |file: &str| format!("{:?}", source.join(file).display().to_string());
    let modules_list: Vec<String> = modules.iter().map(|module| path(&format!("src/{module}.cu"))).collect();
    let statics_list: Vec<String> = statics.iter().map(|file| path(file)).collect();
    package.write(
        "build.rs",
        format!(
            "use offload_build::{{Build, Compiler}};\n\nfn main() {{\n    let options = |build: &mut Build| {{\n        \
             build.compiler(Compiler::Nvcc).flag(\"--expt-relaxed-constexpr\").flag(\"-std=c++17\")\
             .archs([\"sm_80\", \"sm_90\"]);\n    }};\n    \
             let mut modules = Build::new();\n    options(modules.modules([{}]));\n    modules.compile(\"candle\");\n    \
             let mut launched = Build::new();\n    options(launched.files([{}]));\n    \
             launched.compile_static(\"candle_launched\");\n}}\n",
            modules_list.join(", "),
            statics_list.join(", ")
        ),
    );
    package.write(
        "src/main.rs",
        format!(
            "use std::ffi::c_void;\n\nstatic CANDLE: offload_format::KernelPack = \
             offload_embed_macro::include_offload!(\"candle\");\n\n{launch}\nfn main() {{\n    \
             let device = offload_format::select::Device::cuda(9, 0, 13000);\n    \
             for module in CANDLE.modules() {{\n        let image = module.select(&device).unwrap();\n        \
             println!(\"{{}} {{}} {{}}\", module.name(), image.target(), image.bytes().len());\n    }}\n    \
             println!(\"launch {{}}\", launch());\n}}\n"
        ),
    );
    let mut cargo = package.cargo(&["build", "--release"]);
    nvcc_of_cuda_home(&mut cargo);
    let text = printed(&succeed(cargo.env("OFFLOAD_CLANG", llvm_bin().join("clang"))));
    assert!(!text.contains("error"), "{text}");

    for module in modules {
        for target in ["sm_80", "sm_90"] {
            let image = package.own_output("release", &format!("candle/{module}.{}", image_file_name(target)));
            assert_is_for(module, target, &image);
        }
    }
    let program = package.program("release", name);
    let listed = stdout(&succeed(cuda("cuobjdump").arg("-lelf").arg(&program)));
    for target in ["sm_80", "sm_90"] {
        // The archive leaves out what no function of the program is in.
        assert!(listed.matches(&format!(".{target}.cubin")).count() >= 1, "{listed}");
    }
    let library = package.own_output("release", "libcandle_launched.a");
    let listed = stdout(&succeed(cuda("cuobjdump").arg("-lelf").arg(&library)));
    for target in ["sm_80", "sm_90"] {
        let count = listed.matches(&format!(".{target}.cubin")).count();
        assert_eq!(count, statics.len(), "{target} in {}:\n{listed}", library.display());
    }
    let pack = read(package.own_output("release", "candle.pack"));
    assert_eq!(OffloadBinaries::new(&pack).count(), modules.len() * 2);

    let needs = stdout(&succeed(Command::new("ldd").arg(&program)));
    assert!(!needs.contains("cuda"), "{needs}");
    let output = stdout(&succeed(&mut Command::new(&program)));
    for module in modules {
        assert!(output.contains(&format!("{module} sm_90 ")), "{output}");
    }
    let error = if Path::new("/dev/nvidiactl").exists() { "launch " } else { "launch 35\n" };
    assert!(output.contains(error), "{output}");
}
