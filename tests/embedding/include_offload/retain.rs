//! `retain`: packs that stay in a program although it does not use them. LLVM's readers list the
//! contents. `link_matrix` tests the list of the packs of all crates.

use super::with_packs;
use crate::linked_program::{PACK_SECTIONS, sections};
use crate::sources::{FORBID, pack, printing};
use offload_tests::prelude::*;

offload_tests::tests! {
    LLVM.slow() => [what_is_retained_stays],
    NOTHING => [a_program_without_packs_lists_none],
}

/// Retains a pack of the build script and a file, in a library and in the program itself. Without
/// the option `retain`, the linker removes both.
fn what_is_retained_stays() {
    let scenario = with_packs("include_retained");
    for (place, retain, expected) in [
        ("lib", ", retain", &PACK_SECTIONS[..]),
        ("main", ", retain", &PACK_SECTIONS),
        ("lib", "", &[]),
        ("main", "", &[]),
    ] {
        let packs = pack("A", &format!("\"mixed\"{retain}"))
            + &pack("B", &format!("path = \"files/saxpy.hipfb\"{retain}"));
        let only = |here: &str| if here == place { packs.as_str() } else { "" };
        scenario
            .write("src/lib.rs", format!("{FORBID}{}pub fn used() -> u32 {{ 5 }}\n", only("lib")))
            .write("src/main.rs", printing(only("main"), &["include_retained::used()"]));
        for profile in ["debug", "release"] {
            scenario.build().profile(profile).passes();
            let program = scenario.program(profile, "include_retained");
            let found = sections(&program, &PACK_SECTIONS);
            let names: Vec<&str> = found.iter().map(|section| section.name.as_str()).collect();
            let what = format!("in {place}, {profile}, {retain:?}");
            assert_eq!(names, expected, "{what}");
            let symbols = stdout(&succeed(llvm("llvm-nm").arg(&program)));
            let has_symbols = symbols.contains("offload_pack_");
            assert_eq!(has_symbols, !expected.is_empty(), "{what}:\n{symbols}");
        }
    }
}

fn a_program_without_packs_lists_none() {
    let scenario = Scenario::without_sources("include_list_none");
    scenario.write("src/main.rs", printing("", &["offload_gpu::linked_packs().count()"]));
    assert_eq!(scenario.run().passes().stdout, "0\n");
}
