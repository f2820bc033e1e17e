//! Prebuilt sets. Tests how they are generated, packaged, moved to other folders, and used without
//! a GPU compiler.

use offload_tests::hidden;
use offload_tests::prelude::*;
use offload_tests::scenario::{patch_options, printed};

const HIDDEN: Needs = needs(&[Tool::Llvm22, Tool::Gcc, Tool::Cuda, Tool::OwnMounts]);

const ARCHS: &str = r#".archs(["gfx90a", "sm_80", "compute_80", "cpu"])"#;

fn build_script(scenario: &Scenario, calls: &str) {
    scenario.pack("add", &format!(r#".file("kernels/add.cu"){calls}"#));
}

/// Returns a publishable package that contains its prebuilt set.
fn published(name: &str, include: &str) -> Scenario {
    let scenario = publishable(name, include);
    update(&scenario).passes();
    scenario
}

/// Returns a publishable package without a prebuilt set.
fn publishable(name: &str, include: &str) -> Scenario {
    let scenario = Scenario::without_sources(name);
    build_script(&scenario, ARCHS);
    scenario.manifest("package", &format!("include = {include}")).kernel("add", "1.0f").write(
        "src/main.rs",
        "static ADD: offload_gpu::KernelPack = offload_gpu::include_offload!(\"add\");\n\
         fn main() {\n    for image in ADD.images() {\n        \
           println!(\"{} {} {}\", image.target(), image.origin(), image.bytes().len());\n    }\n}\n",
    );
    scenario
}

/// Makes the prebuilt set.
fn update(scenario: &Scenario) -> Run<'_> {
    scenario.build().release().env("OFFLOAD_PREBUILT", "update")
}

/// Runs `cargo install` for a folder, without compilers. Returns the output of the installed
/// program.
fn install(scenario: &Scenario, folder: &Path) -> String {
    let install = scenario.cargo(&["install", "--offline", "--force"]).without(&["OFFLOAD_CLANG"]);
    let root = scenario.folder.join("installed");
    let install =
        install.args(patch_options()).arg("--path").arg(folder).arg("--root").arg(root).command();
    let output = succeed(&mut hidden::without_compilers(&install, &scenario.folder.join("path")));
    let text = printed(&output);
    let line = "pack \"add\": using prebuilt images for gfx90a, compute_80 from prebuilt/, \
                because no clang was found";
    assert!(text.contains(line), "no {line} in\n{text}");
    stdout(&succeed(&mut Command::new(scenario.folder.join("installed/bin").join(scenario.name()))))
}

const WHOLE: &str = r#"["src", "build.rs", "kernels", "prebuilt"]"#;

#[test(HIDDEN.slow())]
fn a_package_is_installed_without_a_compiler() {
    let scenario = published("prebuilt_install", WHOLE);
    scenario.package().passes();
    let size =
        |file: &str| read(scenario.folder.join("prebuilt").join(format!("add.{file}"))).len();
    let expected = format!(
        "gfx90a prebuilt {}\nsm_80 prebuilt {}\ncompute_80 prebuilt {}\ncpu compiled ",
        size("gfx90a.hsaco"),
        size("sm_80.cubin"),
        size("compute_80.ptx")
    );
    // Without `[workspace]`, Cargo would look for the package in this checkout's workspace, because
    // the folder is inside the checkout.
    let manifest = scenario.packaged().join("Cargo.toml");
    let text = fs::read_to_string(&manifest).expect("Cargo has written it");
    scratch::write(&manifest, text + "\n[workspace]\n");
    let ran = install(&scenario, &scenario.packaged());
    assert!(ran.starts_with(&expected), "{ran}\n{expected}");

    // Copy the package, as a registry delivers it. In the manifest of its prebuilt set, change the
    // hash of the header, as if a different version of offload-build had made the set.
    let published = scratch::folder("prebuilt_published").join("prebuilt_install-0.1.0");
    succeed(Command::new("cp").arg("-r").arg(scenario.packaged()).arg(&published));
    let manifest = published.join("prebuilt/add.manifest");
    let text = fs::read_to_string(&manifest).expect("the manifest can be read");
    let line = text.lines().find(|line| line.ends_with("<offload/kernel.h>"));
    let line = line.expect("the header is an input");
    let other = format!("input {} <offload/kernel.h>", "0".repeat(32));
    scratch::write(&manifest, text.replace(line, &other));
    let ran = install(&scenario, &published);
    assert!(ran.starts_with(&expected), "{ran}\n{expected}");
}

/// Checks that `cargo package` fails for this reason.
fn fails_to_package(scenario: &Scenario, reason: &str) {
    let text = scenario.package().fails().text().replace("\n  ", "\n");
    let expected = format!(
        "error: offload-build could not make the pack \"add\"\nthe prebuilt set does not match \
         this package:\n  {reason}\nOn a machine with the compilers, regenerate the set with\n  \
         OFFLOAD_PREBUILT=update cargo build --release -p {}\n",
        scenario.name()
    );
    assert!(text.contains(&expected), "{text}\nis not\n{expected}");
}

#[test(COMPILERS.slow())]
fn a_stale_set_cannot_be_packaged() {
    let scenario = published("prebuilt_stale", WHOLE);
    build_script(&scenario, &format!(".define(\"FAST\", None){ARCHS}"));
    let options = "prebuilt/add.manifest was made with different options (kernels/add.cu)";
    fails_to_package(&scenario, &format!("gfx90a, sm_80, compute_80: {options}"));
    build_script(&scenario, r#".archs(["gfx90a", "gfx1100", "sm_80", "compute_80", "cpu"])"#);
    fails_to_package(&scenario, "gfx1100: prebuilt/add.manifest has no image for this target");
    build_script(&scenario, ARCHS);
    scenario.kernel("add", "2.0f");
    let changed = "kernels/add.cu has changed since prebuilt/add.manifest was made";
    fails_to_package(&scenario, &format!("gfx90a, sm_80, compute_80: {changed}"));
    // A normal build compiles the changed source, and reports no error.
    scenario.build().passes();
    // The command at the end of the message must fix the failure.
    update(&scenario).args(["-p", scenario.name()]).passes();
    scenario.package().passes();
}

/// Packages a crate without prebuilt images. `cargo package` must warn if the package lacks its
/// kernels' parameters, and must fail if the parameters belong to a different version of the
/// source.
#[test(CLANG.slow())]
fn a_package_has_the_parameters_of_its_kernels() {
    let scenario = publishable("prebuilt_signatures", WHOLE);
    build_script(&scenario, r#".archs(["gfx90a", "cpu"])"#);
    let store = "OFFLOAD_PREBUILT=signatures cargo build -p prebuilt_signatures";
    let warning = "pack \"add\": the package does not contain the kernels' parameters, so ";
    let package = || scenario.package();
    package().passes().once(warning).once(store);
    package().env("OFFLOAD_PREBUILT", "never").passes().lacks(warning);
    let update = || scenario.build().env("OFFLOAD_PREBUILT", "signatures").passes();
    update();
    package().passes().lacks(warning);
    assert!(scenario.packaged().join("prebuilt/add.signatures").is_file());

    scenario.kernel("add", "2.0f");
    package()
        .fails()
        .once("the kernels' parameters: kernels/add.cu has changed since prebuilt/add.manifest was made")
        .once(store);
    update();
    package().passes().lacks(warning);
    scenario.write(
        "Cargo.toml",
        scenario.text("Cargo.toml").replace("\"prebuilt\"", "\"prebuilt/*.manifest\""),
    );
    package()
        .fails()
        .has("the kernels' parameters: prebuilt/add.signatures cannot be read: No such file");
}

#[test(COMPILERS.slow())]
fn a_set_that_is_left_out_of_the_package() {
    let scenario =
        published("prebuilt_left_out", r#"["src", "build.rs", "kernels", "prebuilt/*.manifest"]"#);
    scenario
        .package()
        .fails()
        .has("gfx90a: prebuilt/add.gfx90a.hsaco cannot be read: No such file")
        .has("is excluded by .gitignore, or by `exclude` or `include` in Cargo.toml");
}

/// A prebuilt set must not contain paths of the machine that generated it. Generating a set must
/// not change other files. One of the folders for headers has a different path on each machine, so
/// the manifest contains the folder's position in the list instead.
#[test(CLANG.slow())]
fn a_prebuilt_set_can_travel() {
    const CALLS: &str = r#"
        .file(concat!(env!("CARGO_MANIFEST_DIR"), "/kernels/add.cu"))
        .include(env!("CARGO_MANIFEST_DIR"))
        .include(std::env::var("SDK").unwrap())
        .archs(["gfx90a", "compute_80"])
        .prebuilt("kernels")"#;
    let [there, here] = ["set_made", "set_used"].map(|name| {
        let scenario = Scenario::new(name);
        let source =
            format!("#include <sdk/value.h>\n#include <own.h>\n{}", kernel("add", "VALUE"));
        scenario.pack("add", CALLS).write("kernels/add.cu", source).write("own.h", "");
        scenario.write("kernels/add.notes.txt", "Not an image.\n");
        let sdk = scratch::folder(&format!("{name}_sdk"));
        scratch::write(sdk.join("sdk/value.h"), "#define VALUE 1.0f\n");
        scenario
    });
    fn build<'a>(scenario: &'a Scenario, prebuilt: &str) -> Run<'a> {
        let sdk = scenario.folder.with_file_name(format!("{}_sdk", scenario.name()));
        scenario.build().release().env("SDK", sdk).env("OFFLOAD_PREBUILT", prebuilt)
    }
    build(&there, "update").passes();
    // The second list lacks one target. The update must remove this target's image, but no other
    // files.
    let one_target = CALLS.replace(", \"compute_80\"", "");
    there.pack("add", &one_target);
    build(&there, "update").passes();
    let expected = [
        ".gitattributes",
        "add.cu",
        "add.gfx90a.hsaco",
        "add.manifest",
        "add.notes.txt",
        "add.signatures",
    ];
    assert_eq!(there.files("kernels"), expected);
    let manifest = there.text("kernels/add.manifest");
    for part in ["-I<folder 1>", " <folder 1>/sdk/value.h"] {
        assert!(manifest.contains(part), "{manifest}");
    }
    assert!(!manifest.contains(&*scratch::target_dir().to_string_lossy()), "{manifest}");

    for file in ["add.manifest", "add.gfx90a.hsaco"] {
        here.write(&format!("kernels/{file}"), read(there.folder.join("kernels").join(file)));
    }
    here.pack("add", &one_target);
    build(&here, "only").passes().has("gfx90a from kernels/, because OFFLOAD_PREBUILT=only");

    // If a file is outside the listed folders, its path differs between machines. The command that
    // makes the set must therefore reject such a file.
    here.write("flags.txt", "-DX=1");
    let elsewhere = here.folder.join("flags.txt").display().to_string();
    there.pack("add", &format!("{one_target}.flag(\"@{elsewhere}\")"));
    build(&there, "update").fails().has(&format!(
        "a prebuilt set must work on every machine, but {elsewhere} is an absolute path"
    ));
}

/// Gives a source Windows line ends, as git's core.autocrlf does. The message must name
/// core.autocrlf and suggest a line for `.gitattributes`.
#[test(CLANG)]
fn line_ends_of_windows() {
    let scenario = Scenario::add("set_crlf", r#".archs(["gfx90a"])"#);
    scenario.build().release().env("OFFLOAD_PREBUILT", "update").passes();
    assert!(scenario.text("prebuilt/.gitattributes").contains("* -text"));
    let text = scenario.text("kernels/add.cu").replace('\n', "\r\n");
    scenario.write("kernels/add.cu", text);
    let refused = scenario.build().release().env("OFFLOAD_PREBUILT", "only").fails();
    refused.has("kernels/add.cu has Windows line endings (CRLF)").has("kernels/add.cu text eol=lf");
}

/// Makes a prebuilt set from a source that the build script writes. Writing the source must not
/// make Cargo run the script again.
#[test(CLANG)]
fn a_prebuilt_set_of_a_generated_source() {
    const MAIN: &str = r#"let source = std::path::Path::new(&std::env::var("OUT_DIR").unwrap()).join("add.cu");
    std::fs::copy("kernels/add.cu", &source).unwrap();
    Build::new().file(source).archs(["gfx90a"]).compile("add");"#;
    let scenario = Scenario::new("build_set_generated");
    scenario.build_script(MAIN).kernel("add", "1.0f");
    scenario.build().release().env("OFFLOAD_PREBUILT", "update").passes();
    let build = || scenario.build().release().env("OFFLOAD_PREBUILT", "only").arg("-v").passes();
    build().has("gfx90a from prebuilt/, because OFFLOAD_PREBUILT=only");
    build().found_fresh("build_set_generated");
}

/// The source is in the package's root, where Cargo, git and users also put files. The source tests
/// with a macro whether a header in a subfolder exists. The set must not contain paths of this
/// machine. Only this header may make the set unfit when it appears. Other new files must not.
#[test(CLANG)]
fn a_set_of_a_source_in_the_root() {
    let scenario = Scenario::new("set_root");
    let source = |name: &str| {
        let test = format!(
            "#include <own.h>\n#define OPT {name}\n#if __has_include(OPT)\n#define VALUE 2.0f\n"
        );
        scenario.write(
            "add.cu",
            test + "#else\n#define VALUE 1.0f\n#endif\n" + &kernel("add", "VALUE"),
        );
    };
    scenario.pack("add", r#".file("add.cu").include("inc").archs(["gfx90a"])"#);
    scenario.write("inc/own.h", "");
    source("\"sub/opt.h\"");
    let build = |prebuilt: &str| {
        scenario.touch_build_script();
        scenario.build().release().env("OFFLOAD_PREBUILT", prebuilt)
    };
    build("update").passes();
    let manifest = scenario.text("prebuilt/add.manifest");
    let is_absolute = |line: &&str| line.split(' ').any(|word| word.starts_with('/'));
    assert_eq!(manifest.lines().find(is_absolute), None);
    // Files that Cargo, git or users may add.
    for file in [".cargo-ok", "Cargo.lock.orig", "notes.txt", "inc/.#own.h", "inc/own.h~"] {
        scenario.write(file, "");
    }
    build("only").passes();
    let image = read(scenario.folder.join("prebuilt/add.gfx90a.hsaco"));
    scenario.write("sub/opt.h", "");
    build("only").fails().has("sub/opt.h, which compilers may read, was added after");
    build("update").passes();
    assert_ne!(read(scenario.folder.join("prebuilt/add.gfx90a.hsaco")), image);

    source("\"sub/opt.h\"\n#if __has_include(\"/nowhere/opt.h\")\n#endif");
    build("update").fails().has("but /nowhere/opt.h is an absolute path");
}

/// Sources, each with a file that appears or disappears after the set was made. A source is in the
/// folder `k`. The folders `one` and `two` are those of `.include(...)`, in this order.
const SURROUNDINGS: [(&str, &str); 8] = [
    ("#if __has_include(\"opt.h\")\n#define VALUE 2.0f\n#endif\n", "k/opt.h"),
    ("#if __has_include(<opt.h>)\n#define VALUE 2.0f\n#endif\n", "one/opt.h"),
    ("#define NAME <any.h>\n#if __has_include(NAME)\n#define VALUE 2.0f\n#endif\n", "two/any.h"),
    ("#if !__has_include(<there.h>)\n#define VALUE 2.0f\n#endif\n", "one/there.h"),
    ("#include <val.h>\n", "one/val.h"),
    ("#include \"val.h\"\n", "k/val.h"),
    ("#include <next.h>\n", "two/next.h"),
    // Only clang supports this.
    ("#if __has_embed(\"table.bin\")\n#define VALUE 2.0f\n#endif\n", "k/table.bin"),
];

#[test(CLANG.slow())]
fn files_that_appear_after_clang_made_a_set() {
    files_that_appear("prebuilt_appear_clang", r#".arch("gfx90a")"#, "gfx90a.hsaco", 8);
}

#[test(NVCC.slow())]
fn files_that_appear_after_nvcc_made_a_set() {
    let calls = r#".arch("compute_80").compiler(Compiler::Nvcc)"#;
    files_that_appear("prebuilt_appear_nvcc", calls, "compute_80.ptx", 7);
}

/// Makes a pack and its set for each of the first rows of [`SURROUNDINGS`]. If a row's file appears
/// or disappears, the set must no longer fit, and a build with a compiler must generate a different
/// image.
fn files_that_appear(name: &str, calls: &str, image: &str, rows: usize) {
    let scenario = Scenario::new(name);
    let rows: Vec<(usize, &str, &str)> =
        (0..rows).map(|row| (row, SURROUNDINGS[row].0, SURROUNDINGS[row].1)).collect();
    let mut packs = String::new();
    for (row, source, _) in &rows {
        packs += &format!(
            "Build::new().file(\"{row}/k/add.cu\").include(\"{row}/one\").include(\"{row}/two\"){calls}.compile(\"p{row}\");\n    "
        );
        let rest = "#ifndef VALUE\n#define VALUE 1.0f\n#endif\n";
        let write = |path: &str, text: String| {
            scenario.write(&format!("{row}/{path}"), text);
        };
        write("k/add.cu", format!("{source}{rest}{}", kernel("add", "VALUE")));
        write("one/there.h", "#define VALUE 2.0f\n".to_owned());
        write("one/next.h", "#include_next <next.h>\n".to_owned());
        write("two/val.h", "#define VALUE 3.0f\n".to_owned());
        write("three/next.h", "#define VALUE 3.0f\n".to_owned());
    }
    scenario.build_script(
        &packs.replace(".include(\"6/two\")", ".include(\"6/two\").include(\"6/three\")"),
    );
    let build = |prebuilt: &str| {
        // Cargo does not watch the sources' folders.
        scenario.touch_build_script();
        let build = scenario.build().release().env("OFFLOAD_PREBUILT", prebuilt);
        if calls.contains("Nvcc") { build.env("NVCC", cuda("nvcc").get_program()) } else { build }
    };
    build("update").passes();
    let images = || {
        let path = |row| scenario.folder.join(format!("prebuilt/p{row}.{image}"));
        rows.iter().map(|(row, ..)| read(path(*row))).collect::<Vec<_>>()
    };
    let before = images();
    // Other new files must have no effect, even if they have the names of the kit's headers.
    for (row, source, _) in &rows {
        // If a macro contains the name that the source tests for, any new file may matter.
        for file in ["k/other.cu", "k/math.h", "k/kernel.h", "one/other.h", "one/deep/val.h"] {
            if !source.contains("NAME") {
                scenario.write(&format!("{row}/{file}"), "#error\n");
            }
        }
    }
    build("only").passes();
    for (row, _, file) in &rows {
        let file = format!("{row}/{file}");
        let path = scenario.folder.join(&file);
        let (is_new, change) = (!path.exists(), || {
            if path.exists() {
                fs::remove_file(&path).expect("it is there");
            } else {
                scenario.write(&file, "#define VALUE 2.0f\n");
            }
        });
        change();
        // The message contains a reason only if the file is new. If a file has disappeared, the
        // reason depends on whether the compiler lists the file as an input. clang does, but nvcc
        // does not.
        let why = if is_new {
            format!(", which compilers may read, was added after prebuilt/p{row}.manifest was made")
        } else {
            String::new()
        };
        build("only").fails().has(&format!("and no prebuilt image: {file}{why}"));
        // If the change is undone, the set fits again.
        change();
        build("only").passes();
        change();
        build("update").passes();
    }
    for ((row, source, _), (before, after)) in rows.iter().zip(before.iter().zip(images())) {
        assert!(*before != after, "{row}: {source}");
    }
}
