//! Packages that carry prebuilt images: how they are made, packaged, and installed where there is no compiler for GPUs.

use offload_tests::data::read;
use offload_tests::hidden;
use offload_tests::package::{Package, printed};
use offload_tests::scratch;
use offload_tests::tools::{Tool, cuda, llvm_bin, stdout, succeed};
use offload_tests::{run, test};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output};

fn main() -> ExitCode {
    const ALL: &[Tool] = &[Tool::Llvm22, Tool::Gcc, Tool::Cuda];
    const HIDDEN: &[Tool] = &[Tool::Llvm22, Tool::Gcc, Tool::Cuda, Tool::OwnMounts];
    run(vec![
        test("a_package_is_installed_without_a_compiler", HIDDEN, installed),
        test("a_stale_set_cannot_be_packaged", ALL, stale),
        test("a_set_that_is_left_out_of_the_package", ALL, left_out),
    ])
}

fn kernel(value: &str) -> String {
    format!(
        "extern \"C\" __global__ void add(int n, const float *x, float *y) {{\n  \
           int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n)\n    y[i] = x[i] + {value};\n}}\n"
    )
}

fn build_script(archs: &str) -> String {
    format!(
        "fn main() {{\n    offload_build::Build::new().file(\"kernels/add.cu\").archs({archs}).compile(\"add\");\n}}\n"
    )
}

const ARCHS: &str = r#"["gfx90a", "sm_80", "compute_80", "cpu"]"#;

/// A package as it could be published, with its prebuilt set made.
fn package(name: &str, include: &str) -> Package {
    let package = Package::new(name);
    let manifest = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\ninclude = {include}\n\n[workspace]\n\n\
         [dependencies]\noffload-format = \"0.1\"\noffload-embed-macro = \"0.1\"\n\n\
         [build-dependencies]\noffload-build = \"0.1\"\n"
    );
    package
        .write("Cargo.toml", manifest)
        .write("build.rs", build_script(ARCHS))
        .write("kernels/add.cu", kernel("1.0f"))
        .write(
            "src/main.rs",
            "static ADD: offload_format::KernelPack = offload_embed_macro::include_offload!(\"add\");\n\
             fn main() {\n    for image in ADD.images() {\n        \
               println!(\"{} {} {}\", image.target(), image.origin(), image.bytes().len());\n    }\n}\n",
        );
    succeed(with_compilers(&mut update(&package)));
    package
}

/// The registry's names lead to this checkout.
fn cargo(package: &Package, args: &[&str]) -> Command {
    let mut command = package.cargo(args);
    for name in ["offload-format", "offload-embed-macro", "offload-build"] {
        let path = scratch::workspace().join(name);
        command.arg("--config").arg(format!("patch.crates-io.{name}.path={:?}", path.display().to_string()));
    }
    command
}

fn update(package: &Package) -> Command {
    let mut command = cargo(package, &["build", "--release"]);
    command.env("OFFLOAD_PREBUILT", "update");
    command
}

fn with_compilers(command: &mut Command) -> &mut Command {
    command.env("OFFLOAD_CLANG", llvm_bin().join("clang")).env("OFFLOAD_PTXAS", cuda("ptxas").get_program())
}

/// `cargo package`, on a machine that has all compilers.
fn cargo_package(package: &Package) -> Output {
    with_compilers(&mut cargo(package, &["package", "--allow-dirty"])).output().expect("cargo starts")
}

/// The folder that `cargo package` has made.
fn packaged(package: &Package) -> PathBuf {
    let name = package.folder.file_name().expect("a scratch folder has a name").to_string_lossy();
    package.target.join("package").join(format!("{name}-0.1.0"))
}

/// `cargo install` of a folder, without compilers; what the program prints.
fn install(package: &Package, folder: &Path) -> String {
    let mut install = cargo(package, &["install", "--offline", "--force"]);
    install.arg("--path").arg(folder).arg("--root").arg(package.folder.join("installed"));
    let text = printed(&succeed(&mut hidden::without_compilers(&install, &package.folder.join("path"))));
    let line = "pack \"add\": gfx90a, compute_80 from prebuilt/, because no clang was found";
    assert!(text.contains(line), "no {line} in\n{text}");
    let name = package.folder.file_name().expect("a scratch folder has a name");
    stdout(&succeed(&mut Command::new(package.folder.join("installed/bin").join(name))))
}

const WHOLE: &str = r#"["src", "build.rs", "kernels", "prebuilt"]"#;

fn installed() {
    let package = package("prebuilt_install", WHOLE);
    let output = cargo_package(&package);
    assert!(output.status.success(), "{}", printed(&output));
    let sizes = ["gfx90a.hsaco", "sm_80.cubin", "compute_80.ptx"].map(|file| {
        let path = package.folder.join("prebuilt").join(format!("add.{file}"));
        read(path).len()
    });
    let expected = format!(
        "gfx90a prebuilt {}\nsm_80 prebuilt {}\ncompute_80 prebuilt {}\ncpu compiled ",
        sizes[0], sizes[1], sizes[2]
    );
    // Cargo would take a folder below this checkout for a part of its workspace.
    let manifest = packaged(&package).join("Cargo.toml");
    let text = fs::read_to_string(&manifest).expect("Cargo has written it");
    scratch::write(&manifest, text + "\n[workspace]\n");
    let ran = install(&package, &packaged(&package));
    assert!(ran.starts_with(&expected), "{ran}\n{expected}");

    // As it comes from a registry, for a version of offload-build whose header is another.
    let published = scratch::folder("prebuilt_published").join("prebuilt_install-0.1.0");
    succeed(Command::new("cp").arg("-r").arg(packaged(&package)).arg(&published));
    let manifest = published.join("prebuilt/add.manifest");
    let text = fs::read_to_string(&manifest).expect("the manifest can be read");
    let line = text.lines().find(|line| line.ends_with("<offload/kernel.h>")).expect("the header is an input");
    let other = format!("input {} <offload/kernel.h>", "0".repeat(32));
    scratch::write(&manifest, text.replace(line, &other));
    let ran = install(&package, &published);
    assert!(ran.starts_with(&expected), "{ran}\n{expected}");
}

/// `cargo package` fails with these lines, and the command that they end with mends it.
fn fails_until_updated(package: &Package, reasons: &[&str]) {
    let name = package.folder.file_name().expect("a scratch folder has a name").to_string_lossy();
    let output = cargo_package(package);
    let text = printed(&output).replace("\n  ", "\n");
    assert!(!output.status.success(), "{text}");
    let reasons: String = reasons.iter().map(|reason| format!("  {reason}\n")).collect();
    let expected = format!(
        "error: offload-build could not make the pack \"add\"\nthe prebuilt set of this package does not fit it:\n{reasons}\
         Remake it where the compilers are, then package again:\n  OFFLOAD_PREBUILT=update cargo build --release -p {name}\n"
    );
    assert!(text.contains(&expected), "{text}\nis not\n{expected}");
    succeed(with_compilers(update(package).args(["-p", &name])));
    let output = cargo_package(package);
    assert!(output.status.success(), "{}", printed(&output));
}

fn stale() {
    let package = package("prebuilt_stale", WHOLE);
    package.write("kernels/add.cu", kernel("2.0f"));
    fails_until_updated(
        &package,
        &["gfx90a, sm_80, compute_80: kernels/add.cu has changed since prebuilt/add.manifest was made"],
    );
    package.write("build.rs", build_script(ARCHS).replace(".archs", ".define(\"FAST\", None).archs"));
    fails_until_updated(
        &package,
        &["gfx90a, sm_80, compute_80: prebuilt/add.manifest was made with other options (kernels/add.cu)"],
    );
    let one_more = r#"["gfx90a", "gfx1100", "sm_80", "compute_80", "cpu"]"#;
    package.write("build.rs", build_script(one_more).replace(".archs", ".define(\"FAST\", None).archs"));
    fails_until_updated(&package, &["gfx1100: prebuilt/add.manifest has no image for it"]);
    // An ordinary build compiles what has changed, and asks for nothing.
    package.write("kernels/add.cu", kernel("3.0f"));
    succeed(with_compilers(&mut cargo(&package, &["build"])));
}

fn left_out() {
    let package = package("prebuilt_left_out", r#"["src", "build.rs", "kernels", "prebuilt/*.manifest"]"#);
    let output = cargo_package(&package);
    let text = printed(&output);
    assert!(!output.status.success(), "{text}");
    assert!(text.contains("gfx90a: prebuilt/add.gfx90a.hsaco cannot be read: No such file"), "{text}");
    assert!(text.contains("is left out by .gitignore, or by exclude or include in Cargo.toml"), "{text}");
}
