//! `OFFLOAD_FROM_DISK=1`: dev builds read packs from disk at run time, but release builds still
//! embed them. The program prints the data that it reads; LLVM's reader lists the contents.

use super::{image, with_packs};
use crate::linked_program::{Section, sections};
use crate::sources::{FORBID, pack};
use offload_tests::data::read;
use offload_tests::registry::LLVM;
use offload_tests::scenario::Scenario;
use std::fs;

offload_tests::tests! {
    LLVM => [
        a_dev_build_reads_the_pack_from_disk,
        a_build_that_does_not_read_from_disk_embeds_the_pack,
        another_value_than_1_and_0_is_an_error,
    ],
}

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

/// Returns a package with a library that embeds a pack, and a program that prints the size of its
/// image.
fn program_with_pack(name: &str) -> Scenario {
    let scenario = with_packs(name);
    let pack = pack("PACK", "\"amd\", retain");
    scenario
        .write(
            "src/lib.rs",
            format!(
                "{FORBID}{pack}pub const SAXPY: offload_gpu::Kernel = PACK.kernel(\"saxpy\");\n"
            ),
        )
        .write("src/main.rs", format!("{FORBID}use {name}::{{PACK, SAXPY}};\n{MAIN}"));
    scenario
}

/// Runs Cargo's build of one target: `--lib` runs the build script and links nothing.
fn build(scenario: &Scenario, target: &str, profile: &str, from_disk: &str) {
    scenario.build().arg(target).profile(profile).env("OFFLOAD_FROM_DISK", from_disk).passes();
}

/// Writes an image that has `more` bytes more than the corpus image; returns the program's output
/// about it.
fn write_image(scenario: &Scenario, more: usize) -> String {
    let image = [image("saxpy.gfx90a.hsaco"), vec![0; more]].concat();
    scenario.write("src/files/saxpy.gfx90a.hsaco", &image);
    format!("{} bytes, aligned true\n", image.len())
}

/// The program does not change when the pack changes, and reports an error when the pack is
/// missing.
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

fn a_build_that_does_not_read_from_disk_embeds_the_pack() {
    let scenario = program_with_pack("include_from_disk_not");
    for (profile, from_disk) in [("release", "1"), ("debug", "0")] {
        let expected = write_image(&scenario, 0);
        build(&scenario, "--bins", profile, from_disk);
        assert_eq!(
            scenario.start(profile).passes().stdout,
            expected,
            "{profile}, OFFLOAD_FROM_DISK={from_disk}"
        );
        write_image(&scenario, 40);
        build(&scenario, "--lib", profile, from_disk);
        assert_eq!(
            scenario.start(profile).passes().stdout,
            expected,
            "{profile}, OFFLOAD_FROM_DISK={from_disk}"
        );
        let found = sections(&scenario.program(profile, scenario.name()), &[".hip_fatbin"]);
        assert_eq!(found, [Section::hip_fatbin()], "{profile}, OFFLOAD_FROM_DISK={from_disk}");
    }
}

fn another_value_than_1_and_0_is_an_error() {
    let scenario = program_with_pack("include_from_disk_yes");
    let printed = scenario.check().env("OFFLOAD_FROM_DISK", "yes").fails();
    printed.has("error: OFFLOAD_FROM_DISK is 'yes'; it can be 1 or 0");
}
