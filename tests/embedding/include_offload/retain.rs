//! `retain`: packs that stay in a program although it does not use them, and the list of the packs
//! of all crates. LLVM's reader and the program itself list the contents.

use super::{PACKS, with_packs};
use crate::linked_program::{PACK_SECTIONS, sections};
use crate::sources::{FORBID, pack};
use offload_tests::registry::{LLVM, NOTHING};
use offload_tests::scenario::Scenario;

offload_tests::tests! {
    LLVM.slow() => [retained_packs_of_all_crates_are_listed, what_is_retained_stays],
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
            .write(
                "src/main.rs",
                format!(
                    "{FORBID}{}fn main() {{ println!(\"{{}}\", include_retained::used()); }}\n",
                    only("main")
                ),
            );
        for profile in ["debug", "release"] {
            scenario.build().profile(profile).passes();
            let found = sections(&scenario.program(profile, "include_retained"), &PACK_SECTIONS);
            let names: Vec<&str> = found.iter().map(|section| section.name.as_str()).collect();
            assert_eq!(names, expected, "in {place}, {profile}, {retain:?}");
        }
    }
}

/// Returns a library with a retained pack and a second pack with these options.
fn library(packs: [&str; 2], options: &str) -> String {
    let [a, b] = packs;
    FORBID.to_owned()
        + &pack("A", &format!("{a:?}, retain"))
        + &pack("B", &format!("{b:?}{options}"))
        + "pub fn used() -> usize { A.images().len() + B.images().len() }\n"
}

/// The statements that print the names of the listed packs.
const LIST: &str = "
    let mut packs: Vec<_> = offload_gpu::linked_packs().collect();
    packs.sort_by_key(|pack| pack.name());
    for pack in packs {
        let known = [&include_list_left::A, &include_list_left::B, &FILE];
        assert!(known.iter().any(|known| std::ptr::eq(known.bytes(), pack.bytes())), \"{pack:?}\");
        println!(\"{}\", pack.name());
    }";

/// Lists packs of two libraries, and a file of the program. Two of the packs are the same, and one
/// is not retained.
fn retained_packs_of_all_crates_are_listed() {
    let [left, right, app] =
        ["include_list_left", "include_list_right", "include_list_app"].map(with_packs);
    // One pack equals a pack of the other library but has another name.
    let other = [
        ("\"amd\"", "\"amd-too\""),
        ("\"mixed\"", "\"other\""),
        ("\"gfx90a\", \"sm_90a\"", "\"sm_90a\""),
    ];
    right.build_script(
        &other.iter().fold(PACKS.to_owned(), |text, (from, to)| text.replace(from, to)),
    );
    left.write("src/lib.rs", library(["amd", "mixed"], ", retain"));
    right.write("src/lib.rs", library(["amd-too", "other"], ""));
    for library in [&left, &right] {
        app.manifest("dependencies", &format!("{0} = {{ path = \"../{0}\" }}", library.name()));
    }
    let main = |list: &str| {
        let file = pack("FILE", "path = \"files/saxpy.hipfb\", retain");
        format!(
            "{FORBID}{file}fn main() {{\n    let used = include_list_left::used() + include_list_right::used();\n    \
             println!(\"{{used}} {{}}\", FILE.images().len());\n{list}\n}}\n"
        )
    };
    for (profile, linker, lto) in [
        ("debug", None, "false"),
        ("release", Some("-Clinker-features=-lld"), "false"),
        ("release", None, "fat"),
    ] {
        let run = |text: &str| {
            app.write("src/main.rs", text);
            let cargo =
                app.cargo(&["rustc", "--quiet", "--bin", "include_list_app"]).profile(profile);
            cargo.lto(lto).arg("--").args(linker).passes();
            app.start(profile).passes().stdout
        };
        let what = format!("{profile}, {linker:?}, LTO {lto}");
        assert_eq!(run(&main("")), "7 1\n", "{what}");
        assert_eq!(run(&main(LIST)), "7 1\namd\namd-too\nmixed\nsaxpy\n", "{what}");
    }
}

fn a_program_without_packs_lists_none() {
    let scenario = Scenario::without_sources("include_list_none");
    scenario.write(
        "src/main.rs",
        "fn main() { println!(\"{}\", offload_gpu::linked_packs().count()); }\n",
    );
    assert_eq!(scenario.run().passes().stdout, "0\n");
}
