//! Several packages in one workspace: packs of one that others embed, and one list of targets for packages that support few.

use offload_format::pack_index::Index;
use offload_tests::data::read;
use offload_tests::package::{Package, printed};
use offload_tests::scratch;
use offload_tests::tools::{Tool, cuda, llvm, llvm_bin, stderr, stdout, succeed};
use offload_tests::{run, test};
use std::fs;
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    const LLVM: &[Tool] = &[Tool::Llvm22, Tool::Gcc];
    const ALL: &[Tool] = &[Tool::Llvm22, Tool::Gcc, Tool::Cuda];
    run(vec![
        test("a_pack_of_a_dependency_is_embedded", LLVM, embedded_by_others),
        test("a_dependency_that_offers_no_pack", LLVM, no_such_pack),
        test("each_package_builds_its_part", ALL, each_its_part),
        test("a_part_that_is_empty", LLVM, empty_part),
    ])
}

fn kernel(value: &str) -> String {
    format!(
        "extern \"C\" __global__ void add(int n, const float *x, float *y) {{\n  \
           int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n)\n    y[i] = x[i] + {value};\n}}\n"
    )
}

/// A workspace of these members, without their sources; `manifest` is what each has in its own between name and
/// dependencies, and behind them.
fn workspace(name: &str, members: &[(&str, &str, &str)]) -> Package {
    let package = Package::new(name);
    let list: Vec<&str> = members.iter().map(|member| member.0).collect();
    package.write("Cargo.toml", format!("[workspace]\nresolver = \"3\"\nmembers = {list:?}\n"));
    let crates = scratch::workspace().display();
    for (member, head, dependencies) in members {
        let manifest = format!(
            "[package]\nname = \"{member}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n{head}\n\
             [build-dependencies]\noffload-build = {{ path = \"{crates}/offload-build\" }}\n\n\
             [dependencies]\noffload-format = {{ path = \"{crates}/offload-format\" }}\n\
             offload-embed-macro = {{ path = \"{crates}/offload-embed-macro\" }}\n{dependencies}\n"
        );
        package.write(&format!("{member}/Cargo.toml"), manifest);
        package.write(&format!("{member}/src/lib.rs"), "");
    }
    package
}

fn cargo(package: &Package, args: &[&str]) -> Command {
    let mut command = package.cargo(args);
    command.env("OFFLOAD_CLANG", llvm_bin().join("clang"));
    command
}

fn build_script(lines: &str) -> String {
    format!("fn main() {{\n    {lines}\n}}\n")
}

const STATIC: &str = "#![forbid(unsafe_code)]\npub static ADD: offload_format::KernelPack = \
                      offload_embed_macro::include_offload!(\"add\");\n";

fn embedded_by_others() {
    let package = workspace(
        "shared_pack",
        &[
            ("shared-kernels", "links = \"gpu-kernels\"", ""),
            ("shared_first", "", "shared-kernels = { path = \"../shared-kernels\" }"),
            ("shared_second", "", "shared-kernels = { path = \"../shared-kernels\" }"),
            (
                "shared_program",
                "",
                "shared_first = { path = \"../shared_first\" }\nshared_second = { path = \"../shared_second\" }\n\
                 shared-kernels = { path = \"../shared-kernels\" }",
            ),
        ],
    );
    let archs = |archs: &str| {
        build_script(&format!(
            "offload_build::Build::new().file(\"add.cu\").archs({archs}).compile(\"add\");\n    \
             offload_build::Build::new().file(\"add.cu\").archs([\"compute_80\"]).compile(\"Other-one\");"
        ))
    };
    package
        .write("shared-kernels/build.rs", archs(r#"["gfx90a", "compute_80", "cpu"]"#))
        .write("shared-kernels/add.cu", kernel("1.0f"))
        .write("shared-kernels/src/lib.rs", STATIC);
    for member in ["shared_first", "shared_second"] {
        package
            .write(
                &format!("{member}/build.rs"),
                build_script("offload_build::embed_from(\"gpu-kernels\", \"add\");\n    offload_build::embed_from(\"gpu-kernels\", \"Other-one\");"),
            )
            .write(
                &format!("{member}/src/lib.rs"),
                format!("{STATIC}pub static OTHER: offload_format::KernelPack = offload_embed_macro::include_offload!(\"Other-one\");\n"),
            );
    }
    package.write(
        "shared_program/src/main.rs",
        "fn main() {\n    let packs = [&shared_kernels::ADD, &shared_first::ADD, &shared_second::ADD];\n    \
           for pack in packs { assert!(std::ptr::eq(pack.bytes(), packs[0].bytes())); }\n    \
           assert_eq!(std::hint::black_box(&shared_first::OTHER).bytes()[..2], [0x10, 0xff]);\n    \
           for image in packs[0].images() { println!(\"{}\", image.target()); }\n    \
           std::fs::write(std::env::args().nth(1).unwrap(), packs[0].bytes()).unwrap();\n}\n",
    );
    fs::remove_file(package.folder.join("shared_program/src/lib.rs")).expect("it was written");

    let copy = package.folder.join("copy");
    let pack = |profile: &str| read(package.output(profile, "shared-kernels", "add.pack"));
    for profile in ["debug", "release"] {
        let run = || {
            let mut command = cargo(&package, &["run", "-p", "shared_program"]);
            command.args((profile == "release").then_some("--release")).arg("--").arg(&copy);
            stdout(&succeed(&mut command))
        };
        assert_eq!(run(), "gfx90a\ncompute_80\ncpu\n");
        let first = pack(profile);
        assert!(read(&copy) == first, "another pack in the program");
        // Three crates embed it, and the program has it once.
        let program = package.folder.join("program");
        fs::copy(package.program(profile, "shared_program"), &program).expect("the program can be copied");
        let listing = stdout(&succeed(llvm("llvm-objdump").arg("--offloading").arg(&program)));
        assert_eq!(
            listing.matches("OFFLOADING IMAGE").count(),
            4,
            "three images, and one of the other pack:\n{listing}"
        );

        // An edit in the package with the kernels reaches those that embed them, and so does another list of targets.
        package.write("shared-kernels/add.cu", kernel("2.0f"));
        run();
        let second = pack(profile);
        assert!(second != first && read(&copy) == second, "an older pack in the program");
        package.write("shared-kernels/build.rs", archs(r#"["compute_80"]"#));
        assert_eq!(run(), "compute_80\n");
        // Not built: not built for all of them.
        let skipped = cargo(&package, &["check"]).env("OFFLOAD_SKIP", "1").output().expect("cargo starts");
        assert!(skipped.status.success(), "{}", printed(&skipped));
        package
            .write("shared-kernels/add.cu", kernel("1.0f"))
            .write("shared-kernels/build.rs", archs(r#"["gfx90a", "compute_80", "cpu"]"#));
    }
}

fn no_such_pack() {
    let package = workspace(
        "no_pack",
        &[
            ("no_pack_kernels", "links = \"some-kernels\"", ""),
            ("no_pack_program", "", "no_pack_kernels = { path = \"../no_pack_kernels\" }"),
        ],
    );
    package
        .write(
            "no_pack_kernels/build.rs",
            build_script("offload_build::Build::new().file(\"add.cu\").archs([\"gfx90a\"]).compile(\"add\");"),
        )
        .write("no_pack_kernels/add.cu", kernel("1.0f"));
    for (links, pack, expected) in [
        (
            "some-kernels",
            "mul",
            "the dependency with links = \"some-kernels\" has no pack \"mul\": its build.rs makes \"add\"",
        ),
        ("other", "add", "no dependency offers packs under links = \"other\".\n"),
        ("other", "add", "needs, in its Cargo.toml, links = \"other\" under [package], and"),
    ] {
        package.write(
            "no_pack_program/build.rs",
            build_script(&format!("offload_build::embed_from({links:?}, {pack:?});")),
        );
        let output = cargo(&package, &["build", "-p", "no_pack_program"]).output().expect("cargo starts");
        let text = stderr(&output);
        assert!(!output.status.success(), "{text}");
        assert!(text.contains(&format!("error: offload-build could not make the pack \"{pack}\"")), "{text}");
        assert!(text.replace("\n  ", "\n").contains(expected), "{text}");
        // What Cargo were told, it would show before the reason.
        assert!(!text.contains("cargo::"), "{text}");
    }
}

/// The targets of the pack `add` of a member.
fn targets(package: &Package, member: &str) -> String {
    let text = read(package.output("debug", member, "add.index"));
    match Index::parse(&String::from_utf8(text).expect("an index is text")).expect("it can be read") {
        Index::Built(index) => index.images().map(|image| &*image.target).collect::<Vec<_>>().join(" "),
        Index::Absent { why, .. } => format!("none: {why}"),
    }
}

/// Three packages, each for its GPUs only.
fn limited(name: &str, selectors: [(&str, &str); 3]) -> Package {
    let members = selectors.map(|(member, _)| (member, "", ""));
    let package = workspace(name, &members);
    for (member, calls) in selectors {
        let main = format!("offload_build::Build::new().file(\"add.cu\"){calls}.archs([\"cpu\"]).compile(\"add\");");
        package.write(&format!("{member}/build.rs"), build_script(&main));
        package.write(&format!("{member}/add.cu"), kernel("1.0f"));
    }
    package
}

fn each_its_part() {
    let package = limited(
        "parts",
        [
            ("part_hopper", ".targets([\"sm_90a\"])"),
            ("part_cuda", ".targets([\"nvidia\"])"),
            ("part_amd", ".targets([\"amd\"])"),
        ],
    );
    let mut build = cargo(&package, &["build"]);
    build.env("OFFLOAD_ARCH", "sm_80;sm_90a;gfx1100").env("OFFLOAD_PTXAS", cuda("ptxas").get_program());
    // An ordinary build says so, without -v.
    let text = printed(&succeed(&mut build));
    for (member, left) in [("part_hopper", "sm_90a"), ("part_cuda", "sm_80, sm_90a"), ("part_amd", "gfx1100")] {
        assert_eq!(targets(&package, member), left.replace(", ", " "));
        let line = format!(
            "warning: {member}@0.1.0: pack \"add\": built for {left}, of sm_80, sm_90a, gfx1100 in OFFLOAD_ARCH\n"
        );
        assert!(text.contains(&line), "no {line} in\n{text}");
    }
    // Where nothing is left out, nothing is said.
    let mut build = cargo(&package, &["build", "-p", "part_cuda"]);
    let text =
        printed(&succeed(build.env("OFFLOAD_ARCH", "sm_80;sm_90a").env("OFFLOAD_PTXAS", cuda("ptxas").get_program())));
    assert!(!text.contains("built for"), "{text}");
}

fn empty_part() {
    let package = limited(
        "empty_parts",
        [
            ("empty_error", ".targets([\"sm_90a\"])"),
            ("empty_allowed", ".targets([\"sm_90a\"]).allow_empty()"),
            ("empty_amd", ".targets([\"amd\"])"),
        ],
    );
    let build = |member: &str| {
        let output = cargo(&package, &["build", "-p", member]).env("OFFLOAD_ARCH", "gfx1100").output();
        output.expect("cargo starts")
    };
    let output = build("empty_error");
    let text = printed(&output);
    assert!(!output.status.success(), "{text}");
    let expected = "no target is left for the module \"add\": the pack is for sm_90a, as build.rs says; the list is gfx1100. \
                    Add a target, or let the module have no images: .allow_empty()";
    assert!(text.contains(expected), "{text}");

    package.write(
        "empty_allowed/src/main.rs",
        "static ADD: offload_format::KernelPack = offload_embed_macro::include_offload!(\"add\");\n\
         fn main() {\n    println!(\"{}\", ADD.select(&offload_format::Device::cpu()).unwrap_err());\n}\n",
    );
    let output = build("empty_allowed");
    let text = printed(&output);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("pack \"add\": built for none, of gfx1100 in OFFLOAD_ARCH\n"), "{text}");
    assert_eq!(targets(&package, "empty_allowed"), "none: it supports none of the targets gfx1100");
    let ran = stdout(&succeed(&mut Command::new(package.program("debug", "empty_allowed"))));
    assert_eq!(ran, "no image for the CPU: the pack was not built: it supports none of the targets gfx1100\n");
    assert!(build("empty_amd").status.success());
    assert_eq!(targets(&package, "empty_amd"), "gfx1100");
}
