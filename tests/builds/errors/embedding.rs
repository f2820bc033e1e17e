//! Inputs that `include_offload!` rejects: damaged or missing packs, and arguments that name no
//! pack.

use super::{Problems, each_once};
use offload_tests::prelude::*;

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

const TAKES_A_NAME: &str = "takes the name of a pack, include_offload!(\"saxpy\"), or ";

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

/// Makes a table of cases: a name, the column, the argument and the sentences.
macro_rules! cases {
    ($($name:literal at $column:literal: ($($argument:tt)*) => $($sentence:expr),+;)+) => {
        &[$(Case {
            name: $name,
            argument: stringify!($($argument)*),
            column: $column,
            sentences: &[$($sentence),+],
        }),+]
    };
}

const CASES: &[Case] = cases! {
    "cut" at 35: ("cut")
        => "liboffload_cut_", " bytes and should have ", "cut short or damaged", "must run again";
    "magic" at 35: ("magic")
        => "liboffload_magic_", "has no pack for .hip_fatbin at offset ", "must run again";
    "image_line" at 35: ("image_line")
        => "image_line.index: line 11 of the pack's index is not understood: 'image gfx90a x",
           "must run again";
    "cut_index" at 35: ("cut_index")
        => "cut_index.index: line 5 of the pack's index is not understood: ''", "must run again";
    "removed" at 35: ("removed")
        => "could not read ", "liboffload_removed_", "No such file", "must run again";
    "unknown" at 35: ("hole")
        => "there is no pack \"hole\" in ",
           "it has made \"cut\", \"cut_index\", \"image_line\", \"magic\", \"removed\", \"whole\"";
    "file" at 35: ("kernels/whole.cu")
        => "'kernels/whole.cu' is a file name, and a pack is meant", "such as \"whole\"";
    "constant" at 35: (NAME) => TAKES_A_NAME;
    "expression" at 35: (concat!("who", "le")) => TAKES_A_NAME;
    "number" at 35: (5) => TAKES_A_NAME;
    "nothing" at 5: () => TAKES_A_NAME;
    "two" at 44: ("whole", "cut") => "include_offload! embeds one pack";
};

#[test(CLANG.slow())]
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
    let build = |names: &[&str]| {
        let options = names.iter().flat_map(|name| ["--bin", name]);
        scenario.build().arg("--keep-going").args(options)
    };
    build(&["whole"]).passes();
    damage(&scenario.out_dir("debug").join("offload"));

    let names: Vec<&str> = CASES.iter().map(|case| case.name).collect();
    let printed = build(&names).fails();
    let mut problems = Problems::default();
    for case in CASES {
        problems.check(case.name, check(case, &printed), &printed);
    }
    problems.assert_none();
    // Each message asks the user to run the build script again, which repairs every pack.
    scenario.touch_build_script();
    build(&PACKS).passes();
}

fn check(case: &Case, printed: &Printed) -> Result<(), String> {
    let Case { name, column, .. } = case;
    let place = format!(" --> src/bin/{name}.rs:");
    // The error's first line is the line before its place.
    let (before, _) = printed.stderr.split_once(&place).ok_or("no error")?;
    let error = before.lines().last().filter(|line| line.starts_with("error: "));
    each_once(error.ok_or("no first line")?, case.sentences)?;
    let last = format!("could not compile `errors_macro` (bin \"{name}\") due to 1 previous error");
    each_once(&printed.stderr, [format!("{place}3:{column}\n"), last])
}

/// Damages the files in `OUT_DIR` like a full disk, a crash or a curious user.
fn damage(folder: &Path) {
    let library = |pack: &str| {
        let start = format!("liboffload_{pack}_");
        // The start of the name is followed by a hash of 32 digits and ".a".
        let is_it = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with(&start) && name.len() == start.len() + 32 + 2
        };
        let mut all = scratch::times(folder).into_keys();
        all.find(is_it).unwrap_or_else(|| panic!("no library of {pack}"))
    };
    let cut = library("cut");
    let bytes = read(&cut);
    scratch::write(&cut, &bytes[..bytes.len() - 100]);
    let magic = b"__CLANG_OFFLOAD_BUNDLE__";
    let mut bytes = read(library("magic"));
    let mut windows = bytes.windows(magic.len());
    let at = windows.position(|window| window == magic).expect("a bundle has its magic");
    bytes[at] = b'X';
    scratch::write(library("magic"), bytes);
    let index = |pack: &str, change: &dyn Fn(&str) -> String| {
        let path = folder.join(format!("{pack}.index"));
        let text = fs::read_to_string(&path).expect("an index is text");
        scratch::write(path, change(&text));
    };
    index("image_line", &|text| text.replace("image gfx90a ", "image gfx90a x"));
    index("cut_index", &|text| text.split_inclusive('\n').take(4).collect());
    fs::remove_file(library("removed")).expect("the library can be removed");
}

#[test(GCC)]
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
