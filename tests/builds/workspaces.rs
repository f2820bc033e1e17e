//! Several packages in one workspace. Some packages embed another package's packs. Several packages
//! share one list of targets, and each package supports only some of these targets.

use crate::copy_of_program;
use offload_pack::pack_index::Index;
use offload_tests::prelude::*;

/// Returns a static that embeds a pack.
fn embeds(name: &str, pack: &str) -> String {
    format!(
        "pub static {name}: offload_gpu::KernelPack = offload_gpu::include_offload!(\"{pack}\");\n"
    )
}

/// A program that gets the same pack from three crates, and writes the pack to the file that its
/// argument names.
const MAIN: &str = r#"fn main() {
    let packs = [&shared_kernels::ADD, &shared_first::ADD, &shared_second::ADD];
    for pack in packs {
        assert!(std::ptr::eq(pack.bytes(), packs[0].bytes()));
    }
    assert_eq!(std::hint::black_box(&shared_first::OTHER).bytes()[..2], [0x10, 0xff]);
    for image in packs[0].images() {
        println!("{}", image.target());
    }
    std::fs::write(std::env::args().nth(1).unwrap(), packs[0].bytes()).unwrap();
}
"#;

#[test(CLANG.slow())]
fn a_pack_of_a_dependency_is_embedded() {
    let workspace = Scenario::workspace(
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
    let [kernels, program] =
        ["shared-kernels", "shared_program"].map(|name| workspace.member(name));
    let packs_for = |archs: &str| {
        kernels.build_script(&format!(
            r#"Build::new().file("kernels/add.cu").archs({archs}).compile("add");
    Build::new().file("kernels/add.cu").archs(["compute_80"]).compile("Other-one");"#
        ));
    };
    packs_for(r#"["gfx90a", "compute_80", "cpu"]"#);
    let (add, other) = (embeds("ADD", "add"), embeds("OTHER", "Other-one"));
    kernels.kernel("add", "1.0f").write("src/lib.rs", format!("#![forbid(unsafe_code)]\n{add}"));
    for member in ["shared_first", "shared_second"] {
        workspace
            .member(member)
            .build_script(r#"["add", "Other-one"].map(|pack| embed_from("gpu-kernels", pack));"#)
            .write("src/lib.rs", format!("#![forbid(unsafe_code)]\n{add}{other}"));
    }
    program.write("src/main.rs", MAIN);
    fs::remove_file(program.folder.join("src/lib.rs")).expect("it was written");

    let copy = workspace.folder.join("copy");
    let run = || program.run().arg("--").arg(&copy).passes().stdout;
    let pack = || read(kernels.output("debug", "add.pack"));
    assert_eq!(run(), "gfx90a\ncompute_80\ncpu\n");
    let first = pack();
    assert!(read(&copy) == first, "another pack in the program");
    // Three crates embed the pack, but the program contains it once.
    let listing =
        stdout(&succeed(llvm("llvm-objdump").arg("--offloading").arg(copy_of_program(&program))));
    let images = listing.matches("OFFLOADING IMAGE").count();
    assert_eq!(images, 4, "three images, and one of the other pack:\n{listing}");

    // An edit in the package with the kernels must affect the packages that embed the pack, and so
    // must a changed list of targets.
    kernels.kernel("add", "2.0f");
    run();
    let second = pack();
    assert!(second != first, "the pack is still of the old source");
    assert!(read(&copy) == second, "an older pack in the program");
    packs_for(r#"["compute_80"]"#);
    assert_eq!(run(), "compute_80\n");
    // All packages that embed the pack must compile even if the pack is not built.
    workspace.check().env("OFFLOAD_SKIP", "1").passes();
}

#[test(CLANG.slow())]
fn a_dependency_that_offers_no_pack() {
    let workspace = Scenario::workspace(
        "no_pack",
        &[
            ("no_pack_kernels", "links = \"some-kernels\"", ""),
            ("no_pack_program", "", "no_pack_kernels = { path = \"../no_pack_kernels\" }"),
        ],
    );
    let [kernels, program] =
        ["no_pack_kernels", "no_pack_program"].map(|name| workspace.member(name));
    kernels.pack("add", r#".file("kernels/add.cu").archs(["gfx90a"])"#).kernel("add", "1.0f");
    for (links, pack, expected) in [
        (
            "some-kernels",
            "mul",
            "the dependency with links = \"some-kernels\" has no pack \"mul\": its build.rs makes \"add\"",
        ),
        ("other", "add", "no dependency with links = \"other\" has a pack.\n"),
        ("other", "add", "set links = \"other\" under [package] in Cargo.toml, and"),
    ] {
        program.build_script(&format!("embed_from({links:?}, {pack:?});"));
        let printed = program.build().fails();
        printed.has(&format!("error: offload-build could not make the pack \"{pack}\""));
        assert!(printed.stderr.replace("\n  ", "\n").contains(expected), "{printed}");
        // If the script printed `cargo::` lines, Cargo would show them before the error.
        printed.lacks("cargo::");
    }
}

/// Returns a workspace of packages. Each package has a pack "add". The package's calls limit this
/// pack to some targets.
fn limited(name: &str, members: [(&str, &str); 3]) -> Scenario {
    let workspace = Scenario::workspace(name, &members.map(|(member, _)| (member, "", "")));
    for (member, calls) in members {
        let member = workspace.member(member);
        member
            .pack("add", &format!(r#".file("kernels/add.cu"){calls}.archs(["cpu"])"#))
            .kernel("add", "1.0f");
    }
    workspace
}

/// Returns the targets of a package's pack, or the reason why there are none.
fn targets(member: &Scenario) -> String {
    match Index::parse(&member.output_text("debug", "add.index")).expect("it can be read") {
        Index::Built(index) => {
            index.images().map(|image| &*image.target).collect::<Vec<_>>().join(" ")
        }
        Index::Absent { why, .. } => format!("none: {why}"),
    }
}

#[test(COMPILERS.slow())]
fn each_package_builds_its_part() {
    let parts = [
        ("part_hopper", r#".supports(["sm_90a"])"#),
        ("part_cuda", r#".supports(["nvidia"])"#),
        ("part_amd", r#".supports(["amd"])"#),
    ];
    let workspace = limited("parts", parts);
    let build = |of: &Scenario, archs: &str| of.build().env("OFFLOAD_ARCH", archs).passes();
    // If a pack is not built for the whole list, a normal build, without -v, must print a line with
    // the pack's targets.
    let printed = build(&workspace, "sm_80;sm_90a;gfx1100");
    for (member, left) in
        [("part_hopper", "sm_90a"), ("part_cuda", "sm_80, sm_90a"), ("part_amd", "gfx1100")]
    {
        assert_eq!(targets(&workspace.member(member)), left.replace(", ", " "));
        printed.has(&format!(
            "warning: {member}@0.1.0: pack \"add\": built only for {left}, although \
             OFFLOAD_ARCH lists sm_80, sm_90a, gfx1100\n"
        ));
    }
    // If a pack is built for the whole list, the build prints no such line.
    build(&workspace.member("part_cuda"), "sm_80;sm_90a").lacks("pack \"add\": built");
}

#[test(CLANG.slow())]
fn a_part_that_is_empty() {
    let workspace = limited(
        "empty_parts",
        [
            ("empty_error", r#".supports(["sm_90a"])"#),
            ("empty_allowed", r#".supports(["sm_90a"]).allow_empty()"#),
            ("empty_amd", r#".supports(["amd"])"#),
        ],
    );
    let [error, allowed, amd] =
        ["empty_error", "empty_allowed", "empty_amd"].map(|name| workspace.member(name));
    error.build().env("OFFLOAD_ARCH", "gfx1100").fails().has(
        "OFFLOAD_ARCH lists gfx1100, but the pack \"add\" is for nvidia alone: build.rs calls \
         .supports([\"sm_90a\"]).\n  Add a target such as sm_90a, or set \
         OFFLOAD_ARCH_empty_error=sm_90a, which applies only to this package. Without \
         OFFLOAD_ARCH, the list in build.rs applies.\n",
    );
    error.build().env("OFFLOAD_ARCH", "sm_80").fails().has(
        "no target is left for the module \"add\": the pack \"add\" is for sm_90a, according to \
         build.rs. The targets in OFFLOAD_ARCH are sm_80. Add a target, or call .allow_empty() to \
         let the module have no images",
    );

    let program = "fn main() {\n    println!(\"{}\", ADD.select(&offload_gpu::DeviceInfo::cpu()).unwrap_err());\n}\n";
    allowed.write("src/main.rs", embeds("ADD", "add") + program);
    let printed = allowed.build().env("OFFLOAD_ARCH", "gfx1100").passes();
    printed.has("pack \"add\": built for no target, although OFFLOAD_ARCH lists gfx1100\n");
    let why = "it supports none of the targets gfx1100";
    assert_eq!(targets(&allowed), format!("none: {why}"));
    assert_eq!(
        allowed.start("debug").passes().stdout,
        format!("no image for the CPU: the pack was not built: {why}\n")
    );
    amd.build().env("OFFLOAD_ARCH", "gfx1100").passes();
    assert_eq!(targets(&amd), "gfx1100");
}
