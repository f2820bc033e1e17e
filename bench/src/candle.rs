//! Compares two builds of the published crate candle-kernels: by offload-build, and by its own
//! build tool, cudaforge. Both builds have the same sources, nvcc and target. Each build makes one
//! program, with PTX of the modules and a static library of the sources with launches.

use crate::build::{self, OFFLOAD_BUILD};
use crate::data;
use crate::measure::{print_row, succeed, time};
use crate::package::Package;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

/// A few modules, and a few sources with launches: a short bench compiles these instead of the
/// whole crate. They compile in seconds.
const SOME: [&[&str]; 2] = [&["affine", "fill", "sort", "ternary"], &["mmq_gguf/mmq_quantize.cu"]];

/// A crate that compiles kernels in build scripts, and the parts of a package that uses it.
struct Helper {
    name: &'static str,
    build_dependency: &'static str,
    dependencies: &'static str,
    script: fn(&Sources) -> String,
    program: fn(&Sources) -> String,
}

/// The kernels' source files, relative to `kernels/` in the package; a module has no `.cu` at its
/// end.
struct Sources {
    modules: Vec<String>,
    launched: Vec<String>,
}

const HELPERS: [Helper; 2] = [
    Helper {
        name: "offload-build",
        build_dependency: OFFLOAD_BUILD,
        dependencies: concat!(
            "offload-gpu = { path = \"",
            env!("CARGO_MANIFEST_DIR"),
            "/../offload-gpu\" }\n"
        ),
        script: our_script,
        program: our_program,
    },
    Helper {
        name: "cudaforge",
        build_dependency: "cudaforge = \"0.1\"",
        dependencies: "",
        script: their_script,
        program: their_program,
    },
];

/// Prints times and sizes: for all sources of the crate, or for some.
pub fn bench(all: bool) {
    println!("candle: the published candle-kernels, for sm_80");
    let (Some(source), Some(cuda)) = (source(), std::env::var_os("CUDA_HOME").map(PathBuf::from))
    else {
        println!("  (no candle-kernels in Cargo's cache, or no CUDA_HOME: cargo xtask setup)");
        return;
    };
    let folder = data::folder().join("candle");
    let _ = fs::remove_dir_all(&folder);
    let (some, wanted) = (sources(&source, false), sources(&source, all));
    println!("  {} modules, {} sources with launches", wanted.modules.len(), wanted.launched.len());
    for helper in HELPERS {
        let package = package(&folder, &helper);
        copy(&source.join("src"), &package.folder.join("kernels"));
        let name = helper.name;
        // The first build compiles the build script's dependencies, so the measured time does not
        // include them.
        write(&package, "fn main() {}\n", "fn main() {}\n");
        build(&package, &cuda);
        let without = program_size(&package);

        // A few sources are enough to count how many compilers run at once.
        write(&package, &(helper.script)(&some), &(helper.program)(&some));
        let (runs, most) = count_compilers(&package, &cuda);
        println!(
            "  {:<58} {most:>12} of {runs}   (at most 1)",
            format!("{name}: compilers at once, cargo build -j1")
        );

        write(&package, &(helper.script)(&wanted), &(helper.program)(&wanted));
        let _ = fs::remove_dir_all(package.folder.join("target/release/build"));
        let run = || time(|| build(&package, &cuda));
        print_row(&format!("{name}: all, cargo build -j2"), vec![run()]);
        let with = program_size(&package);
        println!("  {:<58} {:>12} bytes", format!("{name}: added to the program"), with - without);
        print_row(&format!("{name}: nothing to do"), (0..5).map(|_| run()).collect());
        let header = package.folder.join("kernels/cuda_utils.cuh");
        let text = fs::read_to_string(&header).expect("the crate has it");
        fs::write(&header, format!("{text}\n// edited\n"))
            .expect("the target folder can be written");
        let edited = fs::metadata(&header).and_then(|it| it.modified()).expect("it was written");
        print_row(&format!("{name}: a header edited"), vec![run()]);
        let count = made_since(edited, &package.folder.join("target/release/build"));
        println!(
            "  {:<58} {count:>12} compiled",
            format!("{name}: of the sources, some of which have it")
        );
    }
}

fn package(folder: &Path, helper: &Helper) -> Package {
    // No published crate has this package name; the helper's name alone would be that of the build
    // dependency.
    let package =
        build::package(folder, &format!("candle-by-{}", helper.name), helper.build_dependency);
    let manifest = fs::read_to_string(package.folder.join("Cargo.toml")).expect("it was written");
    package.write("Cargo.toml", &format!("{manifest}\n[dependencies]\n{}", helper.dependencies));
    fs::remove_file(package.folder.join("src/lib.rs")).expect("it was written");
    package
}

fn write(package: &Package, script: &str, program: &str) {
    package.write("build.rs", script);
    package.write("src/main.rs", program);
}

/// Builds the package. `nvcc` is the path of nvcc, or of a script that runs it.
fn build_with(package: &Package, nvcc: &Path, jobs: u8) {
    let mut command =
        package.cargo(&["build", "--quiet", "--release", "--offline", &format!("-j{jobs}")]);
    // cudaforge ignores Cargo's jobserver; without this variable it runs half as many jobs as the
    // machine has cores.
    if jobs > 1 {
        command.env("CUDAFORGE_THREADS", jobs.to_string());
    }
    succeed(command.env("CUDA_COMPUTE_CAP", "80").env("NVCC", nvcc));
}

fn build(package: &Package, cuda: &Path) {
    build_with(package, &cuda.join("bin/nvcc"), 2);
}

/// Returns how many PTX files and objects in `folder` and its subfolders are newer than `time`.
fn made_since(time: SystemTime, folder: &Path) -> usize {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let count = |path: PathBuf| match path.extension().and_then(|it| it.to_str()) {
        _ if path.is_dir() => made_since(time, &path),
        Some("ptx" | "o") => {
            usize::from(fs::metadata(&path).and_then(|it| it.modified()).is_ok_and(|it| it > time))
        }
        _ => 0,
    };
    entries.map(|entry| count(entry.path())).sum()
}

fn program_size(package: &Package) -> u64 {
    let name = package.folder.file_name().expect("a package has a folder");
    fs::metadata(package.folder.join("target/release").join(name)).map_or(0, |it| it.len())
}

/// Builds with `-j1`. Returns how many sources were compiled, and the greatest number of compilers
/// at the same time. A script in place of nvcc counts how many instances of the script run, and
/// logs the number.
fn count_compilers(package: &Package, cuda: &Path) -> (usize, usize) {
    let (script, running, log) = (
        package.folder.join("nvcc"),
        package.folder.join("running"),
        package.folder.join("counts"),
    );
    fs::create_dir_all(&running).expect("the target folder can be written");
    let text = format!(
        "#!/bin/sh\ncase \"$*\" in\n*kernels/*.cu*)\n  touch '{running}'/$$\n  ls '{running}' | wc -l >>'{log}'\n  \
         '{nvcc}' \"$@\"\n  status=$?\n  rm '{running}'/$$\n  exit $status ;;\nesac\nexec '{nvcc}' \"$@\"\n",
        running = running.display(),
        log = log.display(),
        nvcc = cuda.join("bin/nvcc").display(),
    );
    package.write("nvcc", &text);
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&script, mode).expect("the target folder can be written");
    build_with(package, &script, 1);
    let counts = fs::read_to_string(&log).unwrap_or_default();
    let counts: Vec<usize> = counts.lines().filter_map(|line| line.trim().parse().ok()).collect();
    (counts.len(), counts.iter().copied().max().unwrap_or_default())
}

/// Returns the paths of these files in `kernels/`, as the elements of a list in Rust code.
fn list<'a>(files: impl IntoIterator<Item = &'a String>, extension: &str) -> String {
    files
        .into_iter()
        .map(|file| format!("\"kernels/{file}{extension}\""))
        .collect::<Vec<_>>()
        .join(", ")
}

fn our_script(sources: &Sources) -> String {
    format!(
        "use offload_build::{{Build, Compiler}};\nfn main() {{\n    let options = |build: &mut Build, arch: &str| {{\n        \
         build.compiler(Compiler::Nvcc).flag(\"--expt-relaxed-constexpr\").flag(\"-std=c++17\").archs([arch]);\n    }};\n    \
         let mut modules = Build::new();\n    options(modules.modules([{}]), \"compute_80\");\n    \
         modules.compile(\"candle\");\n    let mut launched = Build::new();\n    \
         options(launched.files([{}]), \"sm_80\");\n    let library = launched.compile_static(\"launched\");\n    \
         {}}}\n",
        list(&sources.modules, ".cu"),
        list(&sources.launched, ""),
        link("library.path().unwrap().display()")
    )
}

fn their_script(sources: &Sources) -> String {
    format!(
        "use cudaforge::KernelBuilder;\nfn main() {{\n    let out = std::path::PathBuf::from(std::env::var(\"OUT_DIR\").unwrap());\n    \
         let options = |it: KernelBuilder| it.arg(\"--expt-relaxed-constexpr\").arg(\"-std=c++17\").arg(\"-O3\");\n    \
         println!(\"cargo::rerun-if-changed=kernels\");\n    \
         let bindings = options(KernelBuilder::new().source_files(vec![{}])).build_ptx().unwrap();\n    \
         bindings.write(out.join(\"ptx.rs\")).unwrap();\n    let library = out.join(\"liblaunched.a\");\n    \
         options(KernelBuilder::default().source_files(vec![{}])).arg(\"-Xcompiler\").arg(\"-fPIC\")\
         .build_lib(&library).unwrap();\n    \
         println!(\"cargo::rustc-link-search={{}}/lib\", std::env::var(\"CUDA_HOME\").unwrap());\n    {}}}\n",
        list(&sources.modules, ".cu"),
        list(&sources.launched, ""),
        link("library.display()")
    )
}

/// Returns a line of build.rs that links the whole library and CUDA's static runtime, as if the
/// program called all of its functions.
fn link(library: &str) -> String {
    let then = "-lcudart_static,-ldl,-lrt,-lpthread,-lstdc++";
    format!(
        "println!(\"cargo::rustc-link-arg-bins=-Wl,--whole-archive,{{}},--no-whole-archive,{then}\", {library});\n"
    )
}

fn our_program(sources: &Sources) -> String {
    format!(
        "static CANDLE: offload_gpu::KernelPack = offload_gpu::include_offload!(\"candle\");\n\
         fn main() {{\n    for module in CANDLE.modules() {{\n        for image in module.images() {{\n            \
         println!(\"{{}} {{:p}}\", module.name(), image.as_ptr());\n        }}\n    }}\n    \
         assert_eq!(CANDLE.modules().len(), {});\n}}\n",
        sources.modules.len()
    )
}

fn their_program(sources: &Sources) -> String {
    let line = |module: &String| {
        format!("    println!(\"{module} {{:p}}\", {}.as_ptr());\n", module.to_uppercase())
    };
    let lines: String = sources.modules.iter().map(line).collect();
    format!("include!(concat!(env!(\"OUT_DIR\"), \"/ptx.rs\"));\nfn main() {{\n{lines}}}\n")
}

fn source() -> Option<PathBuf> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/builds/candle/Cargo.toml");
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo
        .args(["metadata", "--offline", "--locked", "--format-version=1", "--manifest-path"])
        .arg(manifest);
    let text = String::from_utf8(cargo.output().ok()?.stdout).ok()?;
    let paths =
        text.split("\"manifest_path\":\"").skip(1).filter_map(|rest| rest.split('"').next());
    let mut folders = paths.filter_map(|path| path.strip_suffix("/Cargo.toml")).map(PathBuf::from);
    folders.find(|it| {
        it.file_name().is_some_and(|name| name.to_string_lossy().starts_with("candle-kernels-"))
    })
}

fn sources(source: &Path, all: bool) -> Sources {
    let mut found = [Vec::new(), Vec::new()];
    for folder in ["", "moe/", "mmq_gguf/"] {
        for entry in fs::read_dir(source.join("src").join(folder)).into_iter().flatten().flatten() {
            let name = format!("{folder}{}", entry.file_name().to_string_lossy());
            let Some(stem) = name.strip_suffix(".cu") else { continue };
            let text = fs::read_to_string(entry.path()).unwrap_or_default();
            let launches = !folder.is_empty() || text.contains("<<<");
            let is_wanted =
                if launches { SOME[1].contains(&name.as_str()) } else { SOME[0].contains(&stem) };
            // moe_align also needs the runtime of another crate, so this bench omits it.
            if (all && stem != "moe/moe_align") || is_wanted {
                found[usize::from(launches)].push(if launches { name } else { stem.to_owned() });
            }
        }
    }
    found.iter_mut().for_each(|list| list.sort());
    let [modules, launched] = found;
    Sources { modules, launched }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("the target folder can be written");
    for entry in fs::read_dir(from).into_iter().flatten().flatten() {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy(&from, &to)
        } else {
            fs::copy(&from, &to).map(drop).expect("it can be copied")
        }
    }
}
