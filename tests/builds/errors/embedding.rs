//! Inputs that `include_offload!` rejects: damaged or missing packs, and arguments that name no
//! pack.

use super::{Problems, each_once};
use offload_tests::data::read;
use offload_tests::registry::{CLANG, GCC};
use offload_tests::scenario::{Printed, Scenario};
use offload_tests::scratch;
use std::fs;
use std::path::{Path, PathBuf};

offload_tests::tests! {
    CLANG.slow() => [what_cannot_be_embedded],
    GCC => [no_build_script],
}

/// Returns a program that embeds the pack of `argument`. The argument starts in line 3, column 35.
fn program(argument: &str) -> String {
    format!(
        "#![forbid(unsafe_code)]\nstatic PACK: offload_gpu::KernelPack =\n    \
         offload_gpu::include_offload!({argument});\nfn main() {{ println!(\"{{PACK:?}}\"); }}\n"
    )
}

/// The packs that the build script makes. All packs except the last are damaged afterwards: see
/// [`damage`].
const PACKS: [&str; 6] = ["cut", "magic", "image_line", "cut_index", "removed", "whole"];

const TAKES_A_NAME: &[&str] = &["takes the name of a pack, include_offload!(\"saxpy\"), or "];

/// A program that the macro rejects.
struct Case {
    name: &'static str,
    /// The argument of `include_offload!`.
    argument: &'static str,
    /// The column that the error points to.
    column: usize,
    /// Sentences that must each appear once in the error's first line.
    sentences: &'static [&'static str],
}

const fn fails(
    name: &'static str,
    argument: &'static str,
    sentences: &'static [&'static str],
) -> Case {
    Case { name, argument, column: 35, sentences }
}

const CASES: &[Case] = &[
    fails(
        "cut",
        "\"cut\"",
        &["liboffload_cut_", " bytes and should have ", "cut short or damaged", "must run again"],
    ),
    fails(
        "magic",
        "\"magic\"",
        &["liboffload_magic_", "has no pack for .hip_fatbin at offset ", "must run again"],
    ),
    fails(
        "image_line",
        "\"image_line\"",
        &[
            "image_line.index: line 11 of the pack's index is not understood: 'image gfx90a x",
            "must run again",
        ],
    ),
    fails(
        "cut_index",
        "\"cut_index\"",
        &["cut_index.index: line 5 of the pack's index is not understood: ''", "must run again"],
    ),
    fails(
        "removed",
        "\"removed\"",
        &["could not read ", "liboffload_removed_", "No such file", "must run again"],
    ),
    fails(
        "unknown",
        "\"hole\"",
        &[
            "there is no pack \"hole\" in ",
            "it has made \"cut\", \"cut_index\", \"image_line\", \"magic\", \"removed\", \"whole\"",
        ],
    ),
    fails(
        "file",
        "\"kernels/whole.cu\"",
        &["'kernels/whole.cu' is a file name, and a pack is meant", "such as \"whole\""],
    ),
    fails("constant", "NAME", TAKES_A_NAME),
    fails("expression", "concat!(\"who\", \"le\")", TAKES_A_NAME),
    fails("number", "5", TAKES_A_NAME),
    Case { column: 5, ..fails("nothing", "", TAKES_A_NAME) },
    Case {
        column: 44,
        ..fails("two", "\"whole\", \"cut\"", &["include_offload! embeds one pack"])
    },
];

fn what_cannot_be_embedded() {
    let scenario = Scenario::without_sources("errors_macro");
    scenario
        .build_script(&format!(
            "for name in {PACKS:?} {{\n        \
             Build::new().file(\"kernels/add.cu\").archs([\"gfx90a\"]).compile(name);\n    }}"
        ))
        .kernel("add", "y[i]")
        .write("src/bin/whole.rs", program("\"whole\""));
    for case in CASES {
        scenario.write(&format!("src/bin/{}.rs", case.name), program(case.argument));
    }
    let build = |name: &str| scenario.build().args(["--bin", name]);
    build("whole").passes();
    damage(&scenario.out_dir("debug").join("offload"));

    let mut problems = Problems::default();
    for case in CASES {
        let printed = build(case.name).ends();
        problems.check(case.name, check(case, &printed), &printed);
    }
    // Each message asks the user to run the build script again, which repairs every pack.
    scenario.write("build.rs", scenario.text("build.rs") + "// Changed.\n");
    for name in PACKS {
        let printed = build(name).ends();
        let mended = printed.status.success().then_some(()).ok_or("it is still damaged".to_owned());
        problems.check(name, mended, &printed);
    }
    problems.assert_none();
}

fn check(case: &Case, printed: &Printed) -> Result<(), String> {
    let Case { name, column, .. } = case;
    if printed.status.success() {
        return Err("the build succeeded".to_owned());
    }
    let error = printed.stderr.lines().find(|line| line.starts_with("error: ")).unwrap_or("");
    each_once(error, case.sentences)?;
    let place = format!(" --> src/bin/{name}.rs:3:{column}\n");
    let last = format!("could not compile `errors_macro` (bin \"{name}\") due to 1 previous error");
    each_once(&printed.stderr, [place, last])
}

/// Damages the files in `OUT_DIR` like a full disk, a crash or a curious user.
fn damage(folder: &Path) {
    let library = |pack: &str| {
        let start = format!("liboffload_{pack}_");
        let name =
            |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // The start of the name is followed by a hash of 32 digits and ".a".
        let is_it = |path: &PathBuf| {
            name(path).starts_with(&start) && name(path).len() == start.len() + 32 + 2
        };
        let mut all = scratch::times(folder).into_keys();
        all.find(is_it).unwrap_or_else(|| panic!("no library of {pack}"))
    };
    let edit = |path: &Path, change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = read(path);
        change(&mut bytes);
        scratch::write(path, bytes);
    };
    edit(&library("cut"), &|bytes| bytes.truncate(bytes.len() - 100));
    edit(&library("magic"), &|bytes| {
        let magic = b"__CLANG_OFFLOAD_BUNDLE__";
        let at = bytes
            .windows(magic.len())
            .position(|window| window == magic)
            .expect("a bundle has its magic");
        bytes[at] = b'X';
    });
    edit(&folder.join("image_line.index"), &|bytes| {
        let text = String::from_utf8(bytes.clone()).expect("an index is text");
        *bytes = text.replace("image gfx90a ", "image gfx90a x").into_bytes();
    });
    edit(&folder.join("cut_index.index"), &|bytes| {
        let text = String::from_utf8(bytes.clone()).expect("an index is text");
        *bytes =
            text.lines().take(4).map(|line| format!("{line}\n")).collect::<String>().into_bytes();
    });
    fs::remove_file(library("removed")).expect("the library can be removed");
}

fn no_build_script() {
    let scenario = Scenario::without_sources("errors_no_script");
    scenario.write("src/main.rs", program("\"saxpy\""));
    scenario.build().fails().each_once([
        "error: this package has no build script, so there are no packs; a build.rs makes one: ",
        ".compile(\"saxpy\")\n",
        " --> src/main.rs:3:35\n",
        "due to 1 previous error",
    ]);
}
