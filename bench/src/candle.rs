//! The published crate candle-kernels, built by offload-build and by cudaforge, which builds it there: the same sources, the same
//! nvcc, the same target; PTX of the modules, and the sources with launches as a static library.

use crate::build::{OFFLOAD_BUILD, package};
use crate::data;
use crate::measure::{print_row, succeed, time};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Modules and sources with launches, if it is not to be all.
const SOME: [&[&str]; 2] = [&["affine", "fill", "sort", "ternary"], &["mmq_gguf/mmq_quantize.cu"]];

/// Prints the times and sizes: of all sources, or of some.
pub fn bench(all: bool) {
    println!("candle: the published candle-kernels, for sm_80");
    let (Some(source), Some(_)) = (source(), std::env::var_os("CUDA_HOME")) else {
        println!("  (no candle-kernels in Cargo's cache, or no CUDA_HOME: cargo xtask setup)");
        return;
    };
    let folder = data::folder().join("candle");
    let _ = fs::remove_dir_all(&folder);
    let [modules, launched] = sources(&source, all);
    println!("  {} modules, {} sources with launches", modules.len(), launched.len());
    let list = |files: &[String]| files.iter().map(|file| format!("\"kernels/{file}\"")).collect::<Vec<_>>().join(", ");
    let (modules, launched) = (list(&modules), list(&launched));
    let ours = format!(
        "use offload_build::{{Build, Compiler}};\nfn main() {{\n    let options = |build: &mut Build, arch: &str| {{\n        \
         build.compiler(Compiler::Nvcc).flag(\"--expt-relaxed-constexpr\").flag(\"-std=c++17\").archs([arch]);\n    }};\n    \
         let mut modules = Build::new();\n    options(modules.modules([{modules}]), \"compute_80\");\n    \
         modules.compile(\"candle\");\n    let mut launched = Build::new();\n    \
         options(launched.files([{launched}]), \"sm_80\");\n    launched.compile_static(\"launched\");\n}}\n"
    );
    let theirs = format!(
        "use cudaforge::KernelBuilder;\nfn main() {{\n    let out = std::path::PathBuf::from(std::env::var(\"OUT_DIR\").unwrap());\n    \
         let options = |it: KernelBuilder| it.arg(\"--expt-relaxed-constexpr\").arg(\"-std=c++17\").arg(\"-O3\");\n    \
         println!(\"cargo::rerun-if-changed=kernels\");\n    \
         let bindings = options(KernelBuilder::new().source_files(vec![{modules}])).build_ptx().unwrap();\n    \
         bindings.write(out.join(\"ptx.rs\")).unwrap();\n    \
         options(KernelBuilder::default().source_files(vec![{launched}])).arg(\"-Xcompiler\").arg(\"-fPIC\")\
         .build_lib(out.join(\"liblaunched.a\")).unwrap();\n    \
         println!(\"cargo::rustc-link-search={{}}\", out.display());\n    println!(\"cargo::rustc-link-lib=launched\");\n}}\n"
    );
    for (name, dependency, script) in
        [("offload-build", OFFLOAD_BUILD, ours), ("cudaforge", "cudaforge = \"0.1\"", theirs)]
    {
        let package = package(&folder, name, dependency);
        package.write("build.rs", "fn main() {}\n");
        copy(&source.join("src"), &package.folder.join("kernels"));
        let build = |jobs: &str| {
            let mut command = package.cargo(&["build", "--quiet", "--release", jobs]);
            command.env("CUDA_COMPUTE_CAP", "80");
            time(|| succeed(&mut command))
        };
        // What the build script depends on is no part of it.
        build("-j2");
        package.write("build.rs", &script);
        print_row(&format!("{name}: all, cargo build -j2"), vec![build("-j2")]);
        print_row(&format!("{name}: nothing to do"), (0..5).map(|_| build("-j2")).collect());
        let header = package.folder.join("kernels/cuda_utils.cuh");
        let text = fs::read_to_string(&header).expect("the crate has it");
        fs::write(&header, format!("{text}\n// edited\n")).expect("the target folder can be written");
        print_row(&format!("{name}: a header edited"), vec![build("-j2")]);
        fs::write(&header, text).expect("the target folder can be written");
        let _ = fs::remove_dir_all(package.folder.join("target/release/build"));
        print_row(&format!("{name}: all, cargo build -j1"), vec![build("-j1")]);
        println!(
            "  {:<58} {:>9} bytes",
            format!("{name}: PTX, and the library"),
            size(&package.folder.join("target/release/build"))
        );
    }
}

fn source() -> Option<PathBuf> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/candle/Cargo.toml");
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["metadata", "--offline", "--locked", "--format-version=1", "--manifest-path"]).arg(manifest);
    let text = String::from_utf8(cargo.output().ok()?.stdout).ok()?;
    let paths = text.split("\"manifest_path\":\"").skip(1).filter_map(|rest| rest.split('"').next());
    let mut folders = paths.filter_map(|path| path.strip_suffix("/Cargo.toml")).map(PathBuf::from);
    folders.find(|it| it.file_name().is_some_and(|name| name.to_string_lossy().starts_with("candle-kernels-")))
}

/// The modules and the sources with launches, by their paths in the crate's `src`.
fn sources(source: &Path, all: bool) -> [Vec<String>; 2] {
    let mut found = [Vec::new(), Vec::new()];
    for folder in ["", "moe/", "mmq_gguf/"] {
        for entry in fs::read_dir(source.join("src").join(folder)).into_iter().flatten().flatten() {
            let name = format!("{folder}{}", entry.file_name().to_string_lossy());
            let Some(stem) = name.strip_suffix(".cu") else { continue };
            let text = fs::read_to_string(entry.path()).unwrap_or_default();
            let launches = !folder.is_empty() || text.contains("<<<");
            let is_wanted = if launches { SOME[1].contains(&name.as_str()) } else { SOME[0].contains(&stem) };
            // Another crate's runtime is what moe_align needs, too.
            if (all && stem != "moe/moe_align") || is_wanted {
                found[usize::from(launches)].push(name);
            }
        }
    }
    found.iter_mut().for_each(|list| list.sort());
    found
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("the target folder can be written");
    for entry in fs::read_dir(from).into_iter().flatten().flatten() {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        match from.is_dir() {
            true => copy(&from, &to),
            false => fs::copy(&from, &to).map(drop).expect("it can be copied"),
        }
    }
}

/// What a program would get: PTX and static libraries.
fn size(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries
        .map(|path| match path.extension().and_then(|it| it.to_str()) {
            _ if path.is_dir() => size(&path),
            Some("ptx") => fs::metadata(&path).map_or(0, |it| it.len()),
            Some("a") if path.ends_with("liblaunched.a") => fs::metadata(&path).map_or(0, |it| it.len()),
            _ => 0,
        })
        .sum()
}
