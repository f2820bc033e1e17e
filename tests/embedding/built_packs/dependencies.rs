//! Packs with the same name in two libraries of a program. LLVM's readers show which packs the
//! linker kept.

use super::{BUILDS, CHECK, MIXED, with_pack};
use crate::linked_program::{PACK_SECTIONS, objdump_offloading, sections};
use crate::sources::{FORBID, pack};
use offload_tests::prelude::*;

/// The two libraries do not depend on each other. The program in a third package uses both.
#[test(CLANG.slow())]
fn two_dependencies_may_have_packs_of_one_name() {
    let [left, right] = ["embed_left", "embed_right"].map(Scenario::new);
    let app = Scenario::without_sources("embed_app");
    for library in [&left, &right] {
        with_pack(library)
            .write("src/lib.rs", format!("{FORBID}{CHECK}{}", pack("KERNELS", "\"kernels\"")));
        app.manifest("dependencies", &format!("{0} = {{ path = \"../{0}\" }}", library.name()));
    }
    let same = "embed_left::KERNELS.bytes() == embed_right::KERNELS.bytes()";
    let checks =
        ["embed_left::check(&embed_left::KERNELS)", "embed_right::check(&embed_right::KERNELS)"];
    app.write(
        "src/main.rs",
        format!(
            "{FORBID}fn main() {{ {}; println!(\"same: {{}}\", {same}); }}\n",
            checks.join("; ")
        ),
    );
    for (profile, targets) in BUILDS {
        let count = targets.count();
        for (value, is_same) in [("2.0f", false), ("1.0f", true)] {
            right.kernel("add", value);
            let printed = targets.set(app.run().profile(profile)).passes();
            let what = format!("{profile}, {}", targets.archs);
            let checked = format!("checked {count} images\n").repeat(2);
            assert_eq!(printed.stdout, format!("{checked}same: {is_same}\n"), "{what}");
            let program = app.program(profile, "embed_app");
            assert_eq!(sections(&program, &PACK_SECTIONS).len(), 1, "{what}");
            if targets.section == MIXED.section {
                // The linker leaves no gaps between the packs, so LLVM's tools find both.
                let listing = objdump_offloading(&app, &program);
                let images = if is_same { count } else { 2 * count };
                let listed = listing.matches("OFFLOADING IMAGE").count();
                assert_eq!(listed, images, "{what}:\n{listing}");
            }
        }
    }
}
