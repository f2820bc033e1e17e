//! A pack in each kind of target of a package: library, program, example, integration test, doc
//! test. The program checks the pack in memory, and LLVM's readers find it in the file.

use super::{AMD, BUILDS, CHECK, MIXED, Targets, with_pack};
use crate::linked_program::{PACK_SECTIONS, Section, objdump_offloading, sections};
use crate::sources::{FORBID, pack};
use offload_tests::registry::CLANG;
use offload_tests::scenario::Scenario;
use std::env::consts::ARCH;
use std::path::Path;

offload_tests::tests! {
    CLANG.slow() => [every_kind_of_target_embeds, edition_2021_embeds],
}

fn every_kind_of_target_embeds() {
    let scenario = Scenario::without_sources("embed_places");
    every_place_embeds(&scenario, &BUILDS);
}

fn edition_2021_embeds() {
    let scenario = Scenario::without_sources("embed_places_2021");
    scenario.edition("2021");
    every_place_embeds(&scenario, &[("debug", MIXED)]);
}

/// A target of a package, Cargo's arguments to run it, and its output after its pack was checked.
struct Place {
    name: &'static str,
    args: &'static [&'static str],
    proof: &'static str,
}

const PLACES: [Place; 5] = [
    Place { name: "lib", args: &["run"], proof: "checked" },
    Place { name: "main", args: &["run"], proof: "checked" },
    Place { name: "example", args: &["run", "--example", "e"], proof: "checked" },
    Place { name: "test", args: &["test", "--test", "it"], proof: "test result: ok. 1 passed" },
    Place { name: "doc", args: &["test", "--doc"], proof: "test result: ok. 1 passed" },
];

/// Expands the macro in only one target at a time, so that each target links alone.
fn every_place_embeds(scenario: &Scenario, builds: &[(&str, Targets)]) {
    with_pack(scenario);
    for (profile, targets) in builds {
        for Place { name, args, proof } in PLACES {
            write_sources(scenario, name);
            targets.set(scenario.cargo(args).profile(profile)).passes().has(proof);
            if name == "main" {
                let program = scenario.program(profile, scenario.name());
                program_has_the_pack(scenario, &program, targets);
            }
        }
    }
}

/// Writes all targets of the package; only the target at `place` embeds the pack.
fn write_sources(scenario: &Scenario, place: &str) {
    let name = scenario.name();
    let only = |here: &str, text: &str| if here == place { text.to_owned() } else { String::new() };
    let pack = pack("KERNELS", "\"kernels\"");
    let call = format!("{name}::check(&KERNELS);");
    let call_in_main = if place == "lib" {
        format!("{name}::check(&{name}::KERNELS);")
    } else {
        only("main", &call)
    };
    let example: String =
        format!("{FORBID}{pack}{call}").lines().map(|line| format!("//! {line}\n")).collect();
    let documentation = format!("//! A library.\n//! ```\n{example}//! ```\n");
    scenario
        .write("src/lib.rs", only("doc", &documentation) + FORBID + &only("lib", &pack) + CHECK)
        .write(
            "src/main.rs",
            format!("{FORBID}{}fn main() {{ {call_in_main} }}\n", only("main", &pack)),
        )
        .write(
            "examples/e.rs",
            format!(
                "{FORBID}{}fn main() {{ {} }}\n",
                only("example", &pack),
                only("example", &call)
            ),
        )
        .write(
            "tests/it.rs",
            format!(
                "{FORBID}{}#[test]\nfn the_pack() {{ {} }}\n",
                only("test", &pack),
                only("test", &call)
            ),
        );
}

/// Checks that LLVM's readers find one pack in the program, and all of its images.
fn program_has_the_pack(scenario: &Scenario, program: &Path, targets: &Targets) {
    let is_amd = targets.section == AMD.section;
    let section = if is_amd { Section::hip_fatbin() } else { Section::llvm_offloading() };
    assert_eq!(sections(program, &PACK_SECTIONS), [section], "{}", program.display());
    let listing = objdump_offloading(scenario, program);
    if is_amd {
        for arch in targets.archs.split(' ') {
            assert!(
                listing.contains(&format!("hipv4-amdgcn-amd-amdhsa--{arch}\n")),
                "no {arch} in\n{listing}"
            );
        }
        return;
    }
    assert_eq!(listing.matches("OFFLOADING IMAGE").count(), targets.count(), "{listing}");
    let host = format!("{ARCH}-unknown-linux-gnu");
    for word in [
        "gfx90a",
        "amdgcn-amd-amdhsa",
        "hip",
        "compute_80",
        "ptx",
        "nvptx64-nvidia-cuda",
        "cuda",
        &host,
    ] {
        assert!(listing.split_whitespace().any(|it| it == word), "no {word} in\n{listing}");
    }
}
