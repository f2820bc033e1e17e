//! The modules of `candle-kernels`, compiled to PTX in a compressed pack. Each image must
//! decompress to its original bytes, even if all other modules' streams are damaged. The tests
//! compare the images with those of an uncompressed pack, and check the PTX and the sizes of the
//! pack and the program.

use super::lowered_ptx::assert_are_lowered;
use super::{MODULES, SOME, paths};
use offload_format::offload_binary::OffloadBinary;
use offload_tests::prelude::*;

const TOOLS: Needs = needs(&[Tool::Candle, Tool::Nvcc, Tool::Cuda, Tool::Gcc, Tool::OldPtxas]);
const ALL: Needs = TOOLS
    .on_request("takes 2 minutes on 2 cores; `cargo xtask test --all --test builds -- candle::compressed --ignored` runs it");

#[test(TOOLS.slow())]
fn some_of_candle_kernels_compressed() {
    let sizes = compressed("candle_compressed_some", &SOME, "debug");
    assert!(sizes.pack < sizes.images / 5, "{sizes:?}");
}

#[test(ALL)]
fn all_of_candle_kernels_compressed() {
    let sizes = compressed("candle_compressed_all", &MODULES.map(|(module, _)| module), "release");
    println!("{sizes:?}");
    assert!(sizes.added <= 2_500_000, "{sizes:?}");
}

/// Sizes in bytes: the images, the compressed pack, and the pack's share of the program. The images
/// are PTX of some modules for two targets.
#[derive(Debug)]
#[allow(dead_code, reason = "messages have all of them")]
struct Sizes {
    images: u64,
    pack: u64,
    /// How much the pack enlarges the program.
    added: u64,
}

/// A program that writes the images of the named modules to a folder, or prints why the images
/// cannot be decompressed.
const MAIN: &str = r#"use std::path::PathBuf;

static CANDLE: offload_gpu::KernelPack<offload_gpu::Compressed> = offload_gpu::include_offload!("candle", compressed);

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

/// Compiles the modules to PTX. First builds an uncompressed pack, whose images must equal the
/// decompressed images of the compressed pack. Then damages all modules except one in a copy of the
/// program, and checks that the undamaged module still decompresses.
fn compressed(name: &str, modules: &[&str], profile: &str) -> Sizes {
    let mut scenario = Scenario::without_sources(name);
    scenario.feature("offload-build", "compression").feature("offload-gpu", "zstd");
    scenario.write("src/main.rs", MAIN).build_script(&format!(
        r#"println!("cargo::rerun-if-env-changed=PLAIN");
    let mut build = Build::new();
    if std::env::var_os("PLAIN").is_none() {{
        build.compress();
    }}
    build
        .modules({})
        .compiler(Compiler::Nvcc)
        .flag("--expt-relaxed-constexpr")
        .flag("-std=c++17")
        .archs(["compute_80", "compute_90"])
        .compile("candle");"#,
        paths(modules)
    ));
    let program = scenario.program(profile, name);
    let pack = || read(scenario.output(profile, "candle.pack"));
    let size_with = |variable: Option<&str>| {
        scenario.build().profile(profile).envs(variable.map(|name| (name, "1"))).passes();
        read(&program).len() as u64
    };
    let without = size_with(Some("OFFLOAD_SKIP"));
    size_with(Some("PLAIN"));
    let plain = pack();
    let with = size_with(None);
    let pack = pack();

    let folder = scenario.folder.join("taken");
    fs::create_dir(&folder).expect("the scratch folder can be written");
    let mut images = BTreeMap::new();
    for binary in OffloadBinary::in_a_row(&plain) {
        for image in binary.expect("our own pack can be read").1.images() {
            let module = image.string("module").expect("several modules");
            images.insert(format!("{module}.{}", image.arch().expect("for a GPU")), image.data);
        }
    }
    assert_eq!(images.len(), 2 * modules.len(), "{:?}", images.keys());
    assert_are_lowered(&images);
    let decompress = |program| scenario.tool(program).arg(&folder).args(modules).passes().stdout;
    assert_eq!(decompress(&program), "");
    for (file, bytes) in &images {
        assert!(read(folder.join(file)) == *bytes, "{file} is another after compression");
        fs::remove_file(folder.join(file)).expect("it was written");
    }

    let chosen = modules.len() / 2;
    let damaged_program = scenario.folder.join("damaged");
    fs::copy(&program, &damaged_program).expect("the program can be copied");
    fs::write(&damaged_program, with_one_module(read(&program), &pack, modules.len(), chosen))
        .expect("the copy can be written");
    let printed = decompress(&damaged_program);
    for (file, bytes) in &images {
        let is_chosen = file.split('.').next() == Some(modules[chosen]);
        assert_eq!(printed.contains(&format!("{file}: ")), !is_chosen, "{file} in\n{printed}");
        let is_whole = || read(folder.join(file)) == *bytes;
        assert!(!is_chosen || is_whole(), "{file} is another beside damaged ones");
    }
    Sizes {
        images: images.values().map(|bytes| bytes.len() as u64).sum(),
        pack: pack.len() as u64,
        added: with - without,
    }
}

/// Returns the program with a damaged pack, in which only the selected module's stream remains
/// intact.
fn with_one_module(mut program: Vec<u8>, pack: &[u8], modules: usize, chosen: usize) -> Vec<u8> {
    // The pack has one offload binary per module: a 40-byte header, then a compressed stream.
    const HEADER: usize = 40;
    let mut streams: Vec<usize> = OffloadBinary::in_a_row(pack)
        .map(|it| it.expect("our own pack can be read").0 as usize + HEADER)
        .collect();
    assert_eq!(streams.len(), modules);
    streams.push(pack.len() + HEADER);
    let start = program.windows(pack.len()).position(|bytes| bytes == pack);
    let start = start.expect("the program has the pack");
    for (number, stream) in streams.windows(2).enumerate().filter(|(number, _)| *number != chosen) {
        assert!(stream[0] < stream[1] - HEADER, "module {number} has a stream");
        program[start + stream[0]..start + stream[1] - HEADER].fill(0xaa);
    }
    program
}
