//! The version of nvcc's PTX. The build lowers it to the oldest version that supports all
//! instructions in the text. If the table of instructions lacks an instruction, the build keeps
//! nvcc's version.

use super::{PLAIN, package};
use offload_format::image::PtxHeader;
use offload_format::target::PtxVersion;
use offload_tests::prelude::*;
use offload_tests::published::{self, OLD_PTXAS};

/// The PTX version that the tests' nvcc writes.
const NEWEST: &str = "9.5";

/// Asserts that nvcc's PTX has this version, and that the first assembler for this version accepts
/// the PTX. Today's assembler must generate the same machine code from this version and from nvcc's
/// own version.
#[track_caller]
pub fn assert_is_lowered(folder: &Path, target: &str, text: &[u8], version: PtxVersion) {
    let image = folder.display();
    let header = PtxHeader::parse(text).expect("PTX has a header");
    assert_eq!(header.version, version, "{image}");
    let arch = target.replace("compute", "sm");
    let assemble = |ptxas: Command, name: &str, text: &[u8]| {
        // A cubin contains the name of its source, so all sources have the same name.
        let folder = folder.join(name);
        scratch::write(folder.join("k.ptx"), text);
        run(ptxas, &folder, &format!("-arch={arch} -O0 k.ptx -o k.cubin"));
        read(folder.join("k.cubin"))
    };
    let number = (version.major, version.minor);
    let (.., old) = OLD_PTXAS
        .iter()
        .find(|(major, minor, _)| (*major, *minor) >= number)
        .expect("an assembler knows the version");
    assemble(Command::new(published::path(old)), "old", text);
    let mut newest = text.to_vec();
    newest.splice(header.version_range(), NEWEST.bytes());
    let lowered = assemble(cuda("ptxas"), "lowered", text);
    let newest = assemble(cuda("ptxas"), "newest", &newest);
    // With line tables, a cubin contains the PTX, in which only the two digits of the version
    // differ.
    let others = lowered.iter().zip(&newest).filter(|(a, b)| a != b).count();
    assert!(lowered.len() == newest.len() && others <= 2, "{image}: {others} other bytes");
}

const TARGETS: [&str; 3] = ["compute_80", "compute_90a", "compute_100a"];

/// Sources, and the PTX version for each target. `None` means nvcc's own version.
const SOURCES: [(&str, &str, [Option<&str>; 3]); 4] = [
    ("plain", PLAIN, [Some("7.8"), Some("8.0"), Some("8.6")]),
    (
        "elect",
        "extern \"C\" __global__ void f(int *x) {\n\
         #if __CUDA_ARCH__ >= 900\n\
         asm volatile(\"{ .reg .pred p; elect.sync _|p, -1; }\");\n\
         #endif\n\
         *x = 1; }\n",
        [Some("7.8"), None, None],
    ),
    (
        "wgmma",
        "extern \"C\" __global__ void f(int *x) {\n\
         #if __CUDA_ARCH__ == 900\n\
         asm volatile(\"wgmma.fence.sync.aligned;\");\n\
         #endif\n\
         *x = 1; }\n",
        [Some("7.8"), None, Some("8.6")],
    ),
    (
        "tensor",
        "extern \"C\" __global__ void f(int *x) {\n\
         #if __CUDA_ARCH__ >= 1000\n\
         asm volatile(\"tcgen05.wait::ld.sync.aligned;\");\n\
         #elif __CUDA_ARCH__ >= 900\n\
         asm volatile(\"red.global.add.v2.f32 [%0], {%1, %1};\" :: \"l\"(x), \"f\"(1.0f));\n\
         #endif\n\
         *x = 1; }\n",
        [Some("7.8"), Some("8.1"), None],
    ),
];

#[test(NVCC.slow())]
fn nvcc_writes_the_oldest_version_that_is_known() {
    let scenario = package("vendor_lowered", "");
    scenario.build_script(&format!(
        r#"println!("cargo::rerun-if-env-changed=AS_IT_IS");
    let mut build = Build::new();
    if std::env::var_os("AS_IT_IS").is_some() {{
        build.lower_ptx(false);
    }}
    build.modules({:?}).compiler(Compiler::Nvcc).archs({TARGETS:?}).compile("pack");"#,
        SOURCES.map(|(name, ..)| format!("kernels/{name}.cu")),
    ));
    for (name, source, _) in SOURCES {
        scenario.write(&format!("kernels/{name}.cu"), source);
    }
    let versions = |name: &str| {
        TARGETS.map(|target| {
            let text = scenario.output_bytes("debug", &format!("pack/{name}.{target}.ptx"));
            PtxHeader::parse(&text).expect("PTX has a header").version.to_string()
        })
    };
    let printed = scenario.build().arg("-vv").passes();
    let lowered = SOURCES.map(|(name, ..)| versions(name));
    printed
        .has("elect.compute_90a: the PTX keeps version")
        .has("introduced `wgmma.fence.sync.aligned` at offset");
    // A second run of the script must keep the lowered versions.
    scenario.touch_build_script();
    scenario.build().passes();
    assert_eq!(SOURCES.map(|(name, ..)| versions(name)), lowered);
    scenario.build().env("AS_IT_IS", "1").passes();
    let of_nvcc = versions("plain")[0].clone();
    for ((name, _, expected), lowered) in SOURCES.iter().zip(&lowered) {
        let expected = expected.map(|version| version.unwrap_or(&of_nvcc));
        assert_eq!(*lowered, expected, "{name}");
        assert_eq!(versions(name), [(); 3].map(|()| of_nvcc.clone()), "{name}");
    }
    // The index must contain the version of the PTX.
    let index = fs::read_to_string(scenario.output("debug", "pack.index")).expect("it is text");
    assert!(index.contains(&of_nvcc), "{index}");
}

/// The examples' sources that nvcc compiles, with their PTX versions for `compute_80`, `compute_90`
/// and `compute_100`. The HIP example has the same source as `cuda-vector-add`.
const EXAMPLES: [(&str, [(u32, u32); 3]); 9] = [
    ("cuda-launchers/kernels/vector_add.cu", [(7, 8), (7, 8), (8, 6)]),
    ("cuda-vector-add/kernels/vector_add.cu", [(7, 8), (7, 8), (8, 6)]),
    ("kernel-tests/kernels/linear.cu", [(7, 8), (7, 8), (8, 6)]),
    ("kernels-by-name/kernels/elementwise.cu", [(7, 8), (7, 8), (8, 6)]),
    ("module-library/kernels/limit.cu", [(7, 8), (7, 8), (8, 6)]),
    ("module-library/kernels/scale.cu", [(7, 8), (7, 8), (8, 6)]),
    ("module-library/kernels/shift.cu", [(7, 8), (7, 8), (8, 6)]),
    ("one-source/kernels/block_sum.cu", [(7, 8), (7, 8), (8, 6)]),
    ("saxpy/kernels/saxpy.cu", [(7, 8), (7, 8), (8, 6)]),
];

#[test(needs(&[Tool::Nvcc, Tool::Cuda, Tool::Gcc, Tool::OldPtxas]).slow())]
fn ptx_of_the_examples() {
    const TARGETS: [&str; 3] = ["compute_80", "compute_90", "compute_100"];
    let examples = workspace().join("examples");
    let name = |source: &str| source.split('/').collect::<Vec<_>>().join("-").replace(".cu", "");
    let scenario = package("vendor_lowered_examples", "");
    let mut modules = String::new();
    for (source, _) in EXAMPLES {
        let path = examples.join(source);
        modules += &format!("    build.module(Module::new({:?}).file({path:?}));\n", name(source));
    }
    scenario.build_script(&format!(
        "let mut build = Build::new();\n{modules}    \
         build.compiler(Compiler::Nvcc).archs({TARGETS:?}).compile(\"pack\");"
    ));
    scenario.build().passes();
    for (source, versions) in EXAMPLES {
        for (target, (major, minor)) in TARGETS.iter().zip(versions) {
            let file = format!("{}.{target}", name(source));
            let text = scenario.output_bytes("debug", &format!("pack/{file}.ptx"));
            let folder = scenario.folder.join("assembled").join(&file);
            assert_is_lowered(&folder, target, &text, PtxVersion::new(major, minor));
        }
    }
}
