//! Builds that may use only the prebuilt set, although the set does not match the package.

use super::{Problems, each_once, message};
use offload_tests::prelude::*;

/// A change to one of the package's files.
enum Change {
    Append(&'static str),
    /// Replaces the line that ends with the first text by the second text.
    Line(&'static str, &'static str),
    Nothing,
    Remove,
}
use Change::{Append, Line, Nothing, Remove};

/// A file, the change to it, variables of the next build, and sentences in the message.
type Row = (&'static str, Change, &'static [(&'static str, &'static str)], &'static [&'static str]);

/// Makes a table of rows.
macro_rules! rows {
    ($($file:literal, $change:expr $(, $variable:ident: $value:literal)? => $($sentence:expr),+;)+) => {
        &[$(($file, $change, &[$((stringify!($variable), $value))?], &[$($sentence),+])),+]
    };
}

const BOTH: &str = "no image for gfx90a, compute_80: OFFLOAD_PREBUILT=only";

const ROWS: &[Row] = rows! {
    "kernels/add.cu", Append("// a comment")
        => BOTH, "kernels/add.cu has changed since prebuilt/add.manifest was made";
    "include/factor.h", Append("// a comment")
        => BOTH, "include/factor.h has changed since prebuilt/add.manifest was made";
    "include/factor.h", Remove
        => BOTH, "include/factor.h, an input of prebuilt/add.manifest, cannot be read";
    "prebuilt/add.gfx90a.hsaco", Append("more")
        => "no image for gfx90a: OFFLOAD_PREBUILT=only",
           "prebuilt/add.gfx90a.hsaco does not match its entry in prebuilt/add.manifest";
    "prebuilt/add.compute_80.ptx", Remove
        => "no image for compute_80: OFFLOAD_PREBUILT=only",
           "prebuilt/add.compute_80.ptx cannot be read";
    "prebuilt/add.manifest", Line("<offload/kernel.h>", "input 00000000000000000000000000000001 <offload/kernel.h>")
        => BOTH, "<offload/kernel.h> has changed since prebuilt/add.manifest was made";
    "prebuilt/add.manifest", Line("optimization 3", "optimisation 3")
        => "cannot parse line 3 of prebuilt/add.manifest: 'optimisation 3'";
    "prebuilt/add.manifest", Nothing, MORE: "1"
        => BOTH, "prebuilt/add.manifest was made with different options";
    "prebuilt/add.manifest", Nothing, OFFLOAD_ARCH: "gfx90a,gfx942"
        => "no image for gfx942: OFFLOAD_PREBUILT=only",
           "prebuilt/add.manifest has no image for this target";
};

#[test(CLANG.slow())]
fn a_prebuilt_set_that_does_not_fit() {
    let scenario = Scenario::new("errors_prebuilt");
    scenario
        .build_script(
            r#"println!("cargo::rerun-if-env-changed=MORE");
    let mut build = Build::new();
    build.file("kernels/add.cu").include("include").include("unused").archs(["gfx90a", "compute_80"]);
    if std::env::var_os("MORE").is_some() {
        build.define("MORE", None);
    }
    build.compile("add");"#,
        )
        .write("kernels/add.cu", format!("#include \"factor.h\"\n{}", kernel("add", "FACTOR * y[i]")))
        .write("include/factor.h", "#define FACTOR 2.0f\n")
        .write("unused/other.h", "");
    scenario.build().release().env("OFFLOAD_PREBUILT", "update").passes();
    let build = || scenario.build().env("OFFLOAD_PREBUILT", "only");
    build().passes().once(
        "pack \"add\": using prebuilt images for gfx90a, compute_80 from prebuilt/, because \
               OFFLOAD_PREBUILT=only",
    );

    let mut problems = Problems::default();
    for (file, change, env, sentences) in ROWS {
        let path = scenario.folder.join(file);
        let before = read(&path);
        match change {
            Append(text) => scratch::write(&path, [&before, text.as_bytes()].concat()),
            Nothing => {}
            Remove => fs::remove_file(&path).expect("the file can be removed"),
            Line(end, text) => {
                let manifest = std::str::from_utf8(&before).expect("a manifest is text");
                let line = manifest.lines().find(|line| line.ends_with(end)).expect("a line");
                scratch::write(&path, manifest.replacen(line, text, 1));
            }
        }
        let printed = build().envs(env.iter().copied()).ends();
        // Each message also suggests `OFFLOAD_PREBUILT=update`.
        let sentences = sentences.iter().chain(&["OFFLOAD_PREBUILT=update"]);
        let checked = message(&printed, "add").and_then(|message| each_once(&message, sentences));
        problems.check(file, checked, &printed);
        scratch::write(&path, before);
    }
    problems.assert_none();
    // All files have their original contents again.
    build().passes();
    // Remove an include folder. A build with the prebuilt set does not need the folder, but a build
    // with a compiler must report that the folder is missing.
    fs::remove_dir_all(scenario.folder.join("unused")).expect("it is there");
    build().passes();
    scenario
        .build()
        .fails()
        .has("build.rs calls .include(\"unused\") for kernels/add.cu, but there is no folder ");
}
