//! A pack in each kind of Cargo target in a package: library, program, example, integration test,
//! and doc test. Each target checks the pack in memory.

use super::{BUILDS, CHECK, MIXED, Targets, with_pack};
use crate::sources::{FORBID, pack};
use offload_tests::prelude::*;

#[test(CLANG.slow())]
fn every_kind_of_target_embeds() {
    every_place_embeds(&Scenario::without_sources("embed_places"), &BUILDS);
}

#[test(CLANG.slow())]
fn edition_2021_embeds() {
    let scenario = Scenario::without_sources("embed_places_2021");
    every_place_embeds(scenario.edition("2021"), &[("debug", MIXED)]);
}

/// A package's Cargo targets. Each entry contains a target's name, Cargo's arguments to run it, and
/// its output after it has checked its pack.
const PLACES: [(&str, &str, &str); 5] = [
    ("lib", "run", "checked"),
    ("main", "run", "checked"),
    ("example", "run --example e", "checked"),
    ("test", "test --test it", "test result: ok. 1 passed"),
    ("doc", "test --doc", "test result: ok. 1 passed"),
];

/// Expands the macro in only one Cargo target at a time: each target must link without a pack in
/// the others.
fn every_place_embeds(scenario: &Scenario, builds: &[(&str, Targets)]) {
    with_pack(scenario);
    for (profile, targets) in builds {
        for (place, words, proof) in PLACES {
            write_sources(scenario, place);
            let cargo = scenario.cargo(&words.split(' ').collect::<Vec<_>>()).profile(profile);
            targets.set(cargo).passes().has(proof);
        }
    }
}

/// Writes all Cargo targets of the package. Only the one at `place` embeds the pack.
fn write_sources(scenario: &Scenario, place: &str) {
    let name = scenario.name();
    let (pack, call) = (pack("KERNELS", "\"kernels\""), format!("{name}::check(&KERNELS);"));
    let of_library = format!("{name}::check(&{name}::KERNELS);");
    let only = |here: &str| if here == place { (&*pack, &*call) } else { ("", "") };
    let (main, call_in_main) = if place == "lib" { ("", &*of_library) } else { only("main") };
    let ((example, call_in_example), (test, call_in_test)) = (only("example"), only("test"));
    let documented = format!("{FORBID}{pack}{call}");
    let lines: String = documented.lines().map(|line| format!("//! {line}\n")).collect();
    let documentation = format!("//! A library.\n//! ```\n{lines}//! ```\n");
    let documentation = if place == "doc" { &documentation } else { "" };
    let test_function = format!("#[test]\nfn the_pack() {{ {call_in_test} }}\n");
    scenario
        .write("src/lib.rs", format!("{documentation}{FORBID}{}{CHECK}", only("lib").0))
        .write("src/main.rs", format!("{FORBID}{main}fn main() {{ {call_in_main} }}\n"))
        .write("examples/e.rs", format!("{FORBID}{example}fn main() {{ {call_in_example} }}\n"))
        .write("tests/it.rs", format!("{FORBID}{test}{test_function}"));
}
