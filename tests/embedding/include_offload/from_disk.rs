//! With `OFFLOAD_FROM_DISK=1`, programs from dev builds read packs from disk at run time, but
//! release builds embed the packs as usual. The program prints the size of its image, and LLVM's
//! reader lists the program's sections.

use super::{image, with_packs};
use crate::linked_program::{Section, sections};
use crate::sources::{FORBID, pack};
use offload_tests::prelude::*;

const MAIN: &str = r#"
fn main() {
    match SAXPY.module().select(&offload_gpu::DeviceInfo::parse("gfx90a").unwrap()) {
        Ok(image) => println!("{} bytes, aligned {}", image.bytes().len(), image.as_ptr().addr() % 4096 == 0),
        Err(error) => println!("{error}"),
    }
    assert_eq!(PACK.absent().is_some(), PACK.bytes().is_empty());
    assert_eq!(PACK.absent().is_some(), PACK.images().len() == 0);
}
"#;

/// Returns a package with a library that embeds a pack, and with a program that prints the size of
/// the pack's image.
fn program_with_pack(name: &str) -> Scenario {
    let scenario = with_packs(name);
    let pack = pack("PACK", "\"amd\", retain");
    let kernel = "pub const SAXPY: offload_gpu::Kernel = PACK.kernel(\"saxpy\");\n";
    scenario
        .write("src/lib.rs", format!("{FORBID}{pack}{kernel}"))
        .write("src/main.rs", format!("{FORBID}use {name}::{{PACK, SAXPY}};\n{MAIN}"));
    scenario
}

/// Builds one Cargo target. With `--lib`, Cargo runs the build script, but links nothing.
fn build(scenario: &Scenario, target: &str, profile: &str, from_disk: &str) {
    scenario.build().arg(target).profile(profile).env("OFFLOAD_FROM_DISK", from_disk).passes();
}

/// Writes an image that is `more` bytes larger than the corpus image. Returns the program's output
/// for this image.
fn write_image(scenario: &Scenario, more: usize) -> String {
    let image = [image("saxpy.gfx90a.hsaco"), vec![0; more]].concat();
    scenario.write("src/files/saxpy.gfx90a.hsaco", &image);
    format!("{} bytes, aligned true\n", image.len())
}

/// If the pack changes, the program must not be linked again. If the pack is missing, the program
/// must report an error.
#[test(LLVM.slow())]
fn a_dev_build_reads_the_pack_from_disk() {
    let scenario = program_with_pack("include_from_disk");
    let run = || scenario.start("debug").passes();
    let program = scenario.program("debug", scenario.name());
    let expected = write_image(&scenario, 0);
    build(&scenario, "--bins", "debug", "1");
    assert_eq!(sections(&program, &[".hip_fatbin"]), []);
    assert_eq!(run().stdout, expected);

    let before = read(&program);
    let expected = write_image(&scenario, 40);
    build(&scenario, "--lib", "debug", "1");
    assert_eq!(run().stdout, expected);
    assert!(before == read(&program), "the program was linked again");

    fs::remove_file(scenario.output("debug", "amd.index")).expect("the index is there");
    run()
        .starts_with("no image for gfx90a: could not read ")
        .has("amd.index: No such file")
        .has("OFFLOAD_FROM_DISK was set when the program was compiled");
}

#[test(LLVM.slow())]
fn a_build_that_does_not_read_from_disk_embeds_the_pack() {
    let scenario = program_with_pack("include_from_disk_not");
    for (profile, from_disk) in [("release", "1"), ("debug", "0")] {
        let what = format!("{profile}, OFFLOAD_FROM_DISK={from_disk}");
        let expected = write_image(&scenario, 0);
        for (more, target) in [(0, "--bins"), (40, "--lib")] {
            write_image(&scenario, more);
            build(&scenario, target, profile, from_disk);
            assert_eq!(scenario.start(profile).passes().stdout, expected, "{what}, {target}");
        }
        let found = sections(&scenario.program(profile, scenario.name()), &[".hip_fatbin"]);
        assert_eq!(found, [Section::hip_fatbin()], "{what}");
    }
}

/// The program is not rebuilt if a kernel changes. If the changed kernel has different parameters,
/// the program must refuse the pack.
#[test(CLANG.slow())]
fn a_program_older_than_its_kernels_is_refused() {
    const SOURCE: &str = "struct Point { float x; int id; };\n\
        extern \"C\" __global__ void shift(int n, Point by, Point *to) { to[n].x += by.x; }\n";
    let scenario = Scenario::without_sources("include_from_disk_older");
    scenario
        .pack("points", r#".file("kernels/points.cu").archs(["gfx90a", "compute_80"])"#)
        .write("kernels/points.cu", SOURCE)
        .write("src/lib.rs", "pub mod kernels { offload_gpu::include_kernels!(\"points\"); }\n")
        .write(
            "src/main.rs",
            r#"fn main() {
    match include_from_disk_older::kernels::PACK.select(&offload_gpu::DeviceInfo::parse("gfx90a").unwrap()) {
        Ok(_) => println!("selected"),
        Err(error) => println!("{error}"),
    }
}
"#,
        );
    build(&scenario, "--bins", "debug", "1");
    let run = |source: &str| {
        scenario.write("kernels/points.cu", source);
        build(&scenario, "--lib", "debug", "1");
        scenario.start("debug").passes().stdout
    };
    let other_body = SOURCE.replace("+= by.x;", "-= by.x;").replace("int n", "int count");
    for same in [SOURCE, &format!("// One more line.\n{}", other_body.replace("[n]", "[count]"))] {
        assert_eq!(run(same), "selected\n");
    }
    let index = scenario.output("debug", "points.index").display().to_string();
    let parameters = |id: &str, n: &str| {
        format!(
            "the parameters (n: {n}, by: Point, to: *mut Point), Point {{ x: f32, id: {id} }} of 8 bytes"
        )
    };
    let message = |now: &str| {
        format!(
            "no image for gfx90a: the kernel shift of the module \"points\" has {now} in {index}, but had {} when \
             the program was compiled: build the program again (",
            parameters("i32", "i32")
        )
    };
    for (from, to, now) in [
        ("int n", "long n", parameters("i32", "i64")),
        ("int id", "float id", parameters("f32", "i32")),
    ] {
        let printed = run(&SOURCE.replace(from, to));
        assert!(printed.starts_with(&message(&now)), "{printed}\nis not\n{}", message(&now));
    }
    build(&scenario, "--bins", "debug", "1");
    assert_eq!(scenario.start("debug").passes().stdout, "selected\n");
}

#[test(LLVM)]
fn another_value_than_1_and_0_is_an_error() {
    let scenario = program_with_pack("include_from_disk_yes");
    let printed = scenario.check().env("OFFLOAD_FROM_DISK", "yes").fails();
    printed.has("error: OFFLOAD_FROM_DISK is 'yes', but must be '1' or '0'");
}
