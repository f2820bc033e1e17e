//! Kernel crates in Rust. The compiler that `cargo xtask rust-kernels` unpacks compiles them for
//! GPUs, and the program's compiler compiles them for the CPU. Also tests kernels from other
//! compilers.

mod atomics;
mod cpu;
mod environment;
mod other_compilers;
mod rustup;
mod surroundings;

use offload_tests::hidden;
use offload_tests::judges::{assert_is_for, image_file_name, kernel_symbols};
use offload_tests::prelude::*;
use offload_tests::scenario::{patch_options, rust_compiler};

const RUST: Needs = needs(&[Tool::RustGpu, Tool::Llvm22, Tool::Cuda, Tool::Gcc]);
const INSTALLED: Needs =
    needs(&[Tool::RustGpu, Tool::Llvm22, Tool::Cuda, Tool::Nvcc, Tool::Gcc, Tool::OwnMounts]);

const TARGETS: [&str; 5] = ["gfx90a", "gfx942", "gfx1100", "compute_80", "sm_90"];

/// Returns a package with a kernel crate. The kernel crate depends on a separate crate with types.
fn package(name: &str, targets: &[&str]) -> Scenario {
    let scenario = Scenario::without_sources(name);
    scenario
        .manifest("workspace", "exclude = [\"kernels\", \"types\"]")
        .write("src/main.rs", include_str!("main.rs"))
        .write("src/first.rs", "0")
        .write("kernels/src/lib.rs", include_str!("kernels.rs"))
        .write(
            "kernels/Cargo.toml",
            "[package]\nname = \"my-kernels\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
             [dependencies]\ntypes = { path = \"../types\" }\n\n[workspace]\n",
        )
        .write("kernels/Cargo.lock", lock("0.1.0"))
        .write("types/src/lib.rs", include_str!("types.rs"))
        .write("types/Cargo.toml", manifest_of_types("0.1.0"))
        .pack("pack", &format!(".rust_crate(\"kernels\").archs({targets:?})"));
    scenario
}

fn manifest_of_types(version: &str) -> String {
    format!("[package]\nname = \"types\"\nversion = \"{version}\"\nedition = \"2024\"\n")
}

fn lock(version: &str) -> String {
    format!(
        "version = 4\n\n[[package]]\nname = \"my-kernels\"\nversion = \"0.1.0\"\ndependencies = [\n \"types\",\n]\n\n\
         [[package]]\nname = \"types\"\nversion = \"{version}\"\n"
    )
}

/// Returns a release build.
fn plain(scenario: &Scenario) -> Run<'_> {
    scenario.build().release().without(&["OFFLOAD_RUSTC"])
}

fn build<'a>(scenario: &'a Scenario, rustc: &Path) -> Run<'a> {
    plain(scenario).env("OFFLOAD_RUSTC", rustc)
}

/// Uses one package for all steps, because compiling `core` takes half a minute for each target.
/// Each step changes something in the package.
#[test(INSTALLED.slow())]
fn a_crate_of_kernels() {
    let scenario = package("rust_crate", &TARGETS);
    let rustc = rust_compiler(&scenario);
    let build = || build(&scenario, &rustc);
    build().passes();
    for target in TARGETS {
        let image = scenario.output("release", &format!("pack/{}", image_file_name(target)));
        assert_is_for("pack", target, &image);
        if target.starts_with("gfx") {
            let kernels: Vec<String> = kernel_symbols(&image).into_iter().collect();
            assert_eq!(kernels, ["fill", "scale"], "{target}");
        }
    }
    for (target, gpu) in [("compute_80", "sm_80"), ("compute_80", "sm_90")] {
        let ptx = scenario.output("release", &format!("pack/{target}.ptx"));
        let cubin = scenario.folder.join("judged.cubin");
        succeed(cuda("ptxas").arg(format!("-arch={gpu}")).arg(ptx).arg("-o").arg(cubin));
    }
    let signatures = scenario.output_text("release", "pack/gfx90a.signatures");
    assert_eq!(signatures, scenario.output_text("release", "pack/compute_80.signatures"));
    for line in [
        "record Pair 24 8 fields Pair",
        "field count 16 usize",
        "place kernels/src/lib.rs:11",
        "comment Writes `a` times each number that `pair` has.",
        "parameter pair *const Pair",
        "parameter y *mut f32",
        "parameter count usize",
        "signature fill fill",
        "parameter y *mut i64",
        "parameter is_set bool",
    ] {
        assert!(signatures.lines().any(|it| it == line), "no '{line}' in\n{signatures}");
    }

    let times = || {
        TARGETS.map(|it| scenario.output_time("release", &format!("pack/{}", image_file_name(it))))
    };
    let is_made_again = |change: &dyn Fn()| {
        let before = times();
        // The script must run even if Cargo sees no change.
        scenario.touch_build_script();
        change();
        build().passes();
        let after = times();
        std::iter::zip(before, after).filter(|(before, after)| before != after).count()
    };
    assert_eq!(is_made_again(&|| {}), 0, "nothing changed");
    assert_eq!(is_made_again(&|| _ = scenario.write("types/README", "no input")), 0);
    let edited = include_str!("kernels.rs").replace("a * ", "a + ");
    assert_eq!(
        is_made_again(&|| _ = scenario.write("kernels/src/lib.rs", &edited)),
        TARGETS.len(),
        "a kernel"
    );
    let edited = include_str!("types.rs").replace("1.0", "2.0");
    assert_eq!(
        is_made_again(&|| _ = scenario.write("types/src/lib.rs", &edited)),
        TARGETS.len(),
        "a type"
    );
    let shared = || _ = scenario.write("src/first.rs", "1");
    assert_eq!(is_made_again(&shared), TARGETS.len(), "a file of the program");
    let manifest = scenario.text("Cargo.toml") + "# edited\n";
    assert_eq!(is_made_again(&|| _ = scenario.write("Cargo.toml", &manifest)), 0, "its manifest");
    let other_lock = || {
        scenario.write("types/Cargo.toml", manifest_of_types("0.1.1"));
        scenario.write("kernels/Cargo.lock", lock("0.1.1"));
    };
    assert_eq!(is_made_again(&other_lock), TARGETS.len(), "Cargo.lock");
    // Cargo accepts both kinds of line ends, so no manifest changes.
    let described = || scenario.output_time("release", "pack/gfx90a.signatures");
    let before = described();
    let same_lock = || {
        scenario.write("kernels/Cargo.lock", lock("0.1.1").replace('\n', "\r\n"));
    };
    assert_eq!(is_made_again(&same_lock), TARGETS.len(), "Cargo.lock alone");
    assert_ne!(described(), before, "the parameters, after a change of Cargo.lock");

    wrong_launches_do_not_compile(&scenario, &rustc);
    what_rust_passes_differently(&scenario, &rustc);
    atomics::keep_their_orders(&scenario, &rustc);
    a_package_without_the_crate(&scenario, &rustc);
}

/// The kernel crate determines the parameters' types. `embedding/ui/calls/` tests all messages.
fn wrong_launches_do_not_compile(scenario: &Scenario, rustc: &Path) {
    let right = include_str!("main.rs");
    for (launch, message) in [
        ("kernels::scale(2.0, 0_u64, &mut *y, 1_usize)", "parameter 2, `pair`"),
        ("kernels::scale(2.0, pair, &mut *y, 1_u32)", "parameter 4, `count`"),
        ("kernels::fill(&mut *z, 1_u8, true)", "parameter 2, `value`"),
    ] {
        scenario.write("src/main.rs", right.replace("// WRONG", &format!("let _ = {launch};")));
        build(scenario, rustc).fails().has(message);
    }
    let own = "Pair { name: u8, values: [f32; 3], count: usize }";
    let own = format!("#[repr(C)]\n#[derive(Clone, Copy)]\npub struct {own}\n");
    let other = right.replace("(\"pack\")", "(\"pack\", use crate::Pair as Pair)");
    scenario.write("src/main.rs", other + &own);
    build(scenario, rustc).fails().has("values");
    scenario.write("src/main.rs", right);
}

/// A struct by value must be refused, because rustc passes it differently for each vendor.
fn what_rust_passes_differently(scenario: &Scenario, rustc: &Path) {
    let right = include_str!("kernels.rs");
    for (from, to, ty) in [
        ("pair: *const Pair", "pair: Pair", "Pair"),
        ("count: usize", "count: [usize; 1]", "array"),
    ] {
        let body = right
            .replace(from, to)
            .replace("(*pair)", if ty == "Pair" { "pair" } else { "(*pair)" });
        let body =
            if ty == "array" { body.replace("count > FIRST", "count[0] > FIRST") } else { body };
        scenario.write("kernels/src/lib.rs", body);
        let message =
            format!("of type {} by value", if ty == "Pair" { "Pair" } else { "[usize; 1]" });
        build(scenario, rustc).fails().has(&message).has("Pass a pointer");
    }
    let mangled = right.replacen("#[unsafe(no_mangle)]", "", 1);
    scenario.write("kernels/src/lib.rs", mangled);
    build(scenario, rustc)
        .fails()
        .has("the kernel scale (kernels/src/lib.rs:11) needs #[unsafe(no_mangle)]");
    scenario.write("kernels/src/lib.rs", "fn wrong( {");
    build(scenario, rustc).fails().has("/kernels/src/lib.rs:1:").has("the command was");
    scenario.write("kernels/src/lib.rs", right);
}

/// `cargo package` leaves out the kernel crate. The package must therefore build with only the
/// prebuilt set and the program's compiler.
fn a_package_without_the_crate(scenario: &Scenario, rustc: &Path) {
    build(scenario, rustc).env("OFFLOAD_PREBUILT", "update").passes();
    let manifest = scenario.text("prebuilt/pack.manifest");
    for line in [
        "rust rustc 1.",
        "kernels/Cargo.lock",
        "kernels/src/lib.rs",
        "types/src/lib.rs",
        "src/first.rs",
    ] {
        assert!(manifest.contains(line), "no {line} in\n{manifest}");
    }
    // If the sources exist, the build compares them with the prebuilt set.
    let only = || plain(scenario).env("OFFLOAD_PREBUILT", "only");
    only().passes();
    scenario.write("types/src/lib.rs", format!("{}// edited\n", include_str!("types.rs")));
    only().fails().has("types/src/lib.rs has changed since prebuilt/pack.manifest was made");
    scenario.write("types/src/lib.rs", include_str!("types.rs"));

    scenario.package().without(&["OFFLOAD_RUSTC"]).passes();
    let folder = scenario.packaged();
    assert!(!folder.join("kernels").exists(), "Cargo packages crates in folders");
    // The folder is inside this repository's workspace, so turn the folder into a separate
    // workspace.
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).expect("Cargo wrote it");
    scratch::write(folder.join("Cargo.toml"), manifest + "\n[workspace]\n");
    let install = scenario.cargo(&["install", "--offline", "--force"]).args(patch_options());
    let root = scenario.folder.join("installed");
    let install = install.arg("--path").arg(folder).arg("--root").arg(&root).command();
    let hidden = &mut hidden::without_compilers(&install, &scenario.folder.join("path"));
    let text = offload_tests::scenario::printed(&succeed(hidden));
    let line = "from prebuilt/, because this package does not contain kernels/Cargo.toml";
    assert!(text.contains(line), "no {line} in\n{text}");
    let printed = stdout(&succeed(&mut Command::new(root.join("bin").join(scenario.name()))));
    assert_eq!(printed, TARGETS.map(|target| format!("{target} prebuilt\n")).concat());
}

/// A toolchain that cannot compile the kernels must be reported with its version.
#[test(RUST)]
fn toolchains_that_do_not_fit() {
    let scenario = package("rust_toolchains", &["gfx90a"]);
    let real = rust_compiler(&scenario);
    let fails = |script: &str| {
        let rustc = scenario.script("toolchain/other", script);
        build(&scenario, &rustc).fails()
    };
    // A compiler without sources.
    let folder = scenario.folder.join("toolchain");
    fails(&format!(
        "case \"$*\" in *sysroot*) echo '{}';; *) exec '{}' \"$@\";; esac",
        folder.display(),
        real.display()
    ))
    .has("has no sources of core (rust-src)");
    // A compiler that does not support the processor.
    fails(&format!(
        "case \"$*\" in *target-cpus*) echo 'gfx906';; -vV) '{0}' -vV | sed s/1\\\\.96/1.80/;; *) exec '{0}' \"$@\";; esac",
        real.display()
    ))
    .has("does not know gfx90a\n")
    .has("kernels in Rust was tested with Rust 1.96, but this compiler is older: rustc 1.80.0");
    // A compiler that fails to compile the kernels. The error must contain the compiler's version.
    fails(&format!(
        "case \"$*\" in *--crate-name*core*) echo 'error[E0635]: unknown feature' >&2; exit 1;; \
         -vV) '{0}' -vV | sed s/1\\.96/1.99/;; *) exec '{0}' \"$@\";; esac",
        real.display()
    ))
    .has("unknown feature")
    .has("kernels in Rust was tested with Rust 1.96, but this compiler is newer: rustc 1.99.0");
}

/// Without a toolchain for kernels and without a prebuilt set, the error must contain the commands
/// that install a toolchain.
#[test(GCC)]
fn a_missing_toolchain() {
    let scenario = package("rust_missing", &["gfx90a"]);
    scenario
        .write("kernels/rust-toolchain.toml", "[toolchain]\nchannel = \"nightly-2000-01-01\"\n");
    plain(&scenario)
        .fails()
        .has("rustup toolchain install nightly-2000-01-01 --component rust-src");
    plain(&scenario)
        .env("OFFLOAD_RUSTC", "/no/such/rustc")
        .fails()
        .has("OFFLOAD_RUSTC names /no/such/rustc, which cannot be used: there is no such file");
}

/// A target without a code generator in rustc must be refused by name, before a toolchain is
/// needed.
#[test(GCC)]
fn targets_that_rust_lacks() {
    let scenario = package("rust_spirv", &["gfx90a", "spirv64"]);
    plain(&scenario)
        .fails()
        .has("kernels/Cargo.toml is a kernel crate in Rust, which cannot be built for spirv64")
        .has("rustc 1.96 has no target for SPIR-V")
        .has("Source::new(\"kernels/Cargo.toml\").supports([\"amd\", \"nvidia\", \"cpu\"])");
}
