//! The environment of kernel crates, which is the variables and files that the crates, their
//! dependencies, and their build scripts use.

use super::RUST;
use offload_tests::prelude::*;
use offload_tests::scenario::rust_compiler;

const KERNELS: &str = r#"#![no_std]

use offload_kernel::kernel;

const fn number(text: Option<&str>) -> usize {
    match text {
        Some(text) => text.len() + 1,
        None => 0,
    }
}

kernel! {
    /// Writes what the crates read.
    ///
    /// # Safety
    /// `y` has six elements.
    pub unsafe fn facts(y: *mut usize) {
        let facts = [
            number(option_env!("TILE")),
            number(Some(env!("OF_SCRIPT"))),
            number(ruled::VARIABLE),
            number(Some(ruled::OF_SCRIPT)),
            number(Some(unruled::OF_SCRIPT)),
        ];
        for (at, fact) in facts.iter().enumerate() {
            // SAFETY: `y` has that many elements.
            unsafe { *y.add(at) = *fact }
        }
    }
}
"#;

/// Returns a build script that sets `OF_SCRIPT` to this expression's value.
fn script(rules: &[&str], value: &str) -> String {
    let mut text = "fn main() {\n".to_owned();
    for rule in rules {
        text += &format!("    println!(\"{rule}\");\n");
    }
    text + &format!("    println!(\"cargo::rustc-env=OF_SCRIPT={{}}\", {value});\n}}\n")
}

/// An expression whose value is the text of all files in a folder, with an `x` before each file's
/// text.
const FILES: &str = r#"{
        fn all(folder: &std::path::Path) -> String {
            let mut text = String::new();
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() && !path.ends_with("loop") {
                    text += &all(&path);
                } else if path.is_file() {
                    text += &format!("x{}", std::fs::read_to_string(path).unwrap());
                }
            }
            text
        }
        let is_there = std::path::Path::new("maybe/missing.txt").exists();
        all("tables".as_ref()) + if is_there { "yes" } else { "" }
    }"#;

/// The number of files in a folder. In the folders of build.rs, offload-build does not watch so
/// many files, but Cargo itself does.
const MANY: u32 = 2100;

fn package(name: &str, targets: &[&str]) -> Scenario {
    let scenario = Scenario::without_sources(name);
    let offload = scratch::workspace().join("offload-kernel");
    let of_dependency = "#![no_std]\npub const VARIABLE: Option<&str> = option_env!(\"OF_DEPENDENCY\");\n\
         pub const OF_SCRIPT: &str = env!(\"OF_SCRIPT\");\n";
    let variable = "std::env::var(\"RULED\").unwrap_or_default()";
    scenario
        .write(
            "kernels/Cargo.toml",
            format!(
                "[package]\nname = \"kernels\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[dependencies]\n\
                 offload-kernel = {{ path = {offload:?} }}\nruled = {{ path = \"ruled\" }}\n\
                 unruled = {{ path = \"unruled\" }}\n\n[workspace]\n"
            ),
        )
        .write("kernels/src/lib.rs", KERNELS)
        .write(
            "kernels/build.rs",
            script(
                &["cargo::rerun-if-changed=tables", "cargo:rerun-if-changed=maybe/missing.txt"],
                FILES,
            ),
        )
        .write("kernels/tables/a.txt", "a")
        .write("kernels/maybe/there.txt", "")
        .write("kernels/ruled/Cargo.toml", manifest("ruled"))
        .write("kernels/ruled/src/lib.rs", of_dependency)
        .write("kernels/ruled/build.rs", script(&["cargo:rerun-if-env-changed=RULED"], variable))
        // Without rules, Cargo runs the script again if any of the package's files changes.
        .write("kernels/unruled/Cargo.toml", manifest("unruled"))
        .write("kernels/unruled/src/lib.rs", of_dependency)
        .write(
            "kernels/unruled/build.rs",
            script(&[], "std::fs::read_to_string(\"data.txt\").unwrap()"),
        )
        .write("kernels/unruled/data.txt", "d")
        .write("src/main.rs", "fn main() {}\n")
        .pack("pack", &format!(".rust_crate(\"kernels\").archs({targets:?})"));
    for number in 0..MANY {
        scenario.write(&format!("kernels/tables/many/{number}.txt"), "");
    }
    // Unusual entries in a folder, for example from editors: a dangling link, a pipe, a link to a
    // folder.
    let tables = scenario.folder.join("kernels/tables");
    scenario.write("beside/c.txt", "c");
    for (to, link) in [("nowhere", ".#a.txt"), ("../../beside", "link"), (".", "many/loop")] {
        scratch::symlink(to, tables.join(link)).expect("the folder is new");
    }
    succeed(Command::new("mkfifo").arg(tables.join("pipe")));
    scenario
}

fn manifest(name: &str) -> String {
    format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n")
}

/// A change of the environment: the variables to set, and a file to write.
type Change = (&'static [(&'static str, &'static str)], Option<&'static str>);

/// The changes, which are made one after the other. Files remain from one change to the next, but
/// variables do not.
const CHANGES: [(&str, Change); 12] = [
    ("option_env!", (&[("TILE", "44")], None)),
    ("another value", (&[("TILE", "555")], None)),
    ("an empty value", (&[("TILE", "")], None)),
    ("option_env! of a dependency", (&[("TILE", ""), ("OF_DEPENDENCY", "1")], None)),
    ("a rule of a dependency", (&[("TILE", ""), ("RULED", "12")], None)),
    ("no variables", (&[], None)),
    ("a file in a folder", (&[], Some("kernels/tables/a.txt"))),
    ("another file in it", (&[], Some("kernels/tables/b.txt"))),
    ("a file that was missing", (&[], Some("kernels/maybe/missing.txt"))),
    ("a folder with the name of Cargo's", (&[], Some("kernels/tables/target/x.txt"))),
    ("one file more among many", (&[], Some("kernels/tables/many/.x/x.txt"))),
    ("a file in a linked folder", (&[], Some("beside/c.txt"))),
];

#[test(GCC.slow())]
fn changes_reach_kernels_on_the_cpu() {
    let scenario = package("rust_environment_cpu", &["cpu"]);
    let build = || scenario.build().release().without(&["OFFLOAD_RUSTC"]);
    each_change(&scenario, &["cpu.so"], &build);
}

#[test(RUST.slow())]
fn changes_reach_kernels_on_gpus() {
    let scenario = package("rust_environment_gpu", &["gfx90a", "compute_80"]);
    let rustc = rust_compiler(&scenario);
    let build = || scenario.build().release().env("OFFLOAD_RUSTC", &rustc);
    each_change(&scenario, &["gfx90a.hsaco", "compute_80.ptx"], &build);

    let of_set = |prebuilt: &str| build().env("OFFLOAD_PREBUILT", prebuilt);
    of_set("update").env("TILE", "1").passes();
    of_set("only").env("TILE", "1").passes();
    of_set("only")
        .env("TILE", "2")
        .fails()
        .has("the variable TILE has a different value than when prebuilt/pack.manifest was made");
    of_set("only").fails().has("the variable TILE has a different value");
    scenario.write("kernels/tables/c.txt", "");
    let refused = of_set("only").env("TILE", "1").fails();
    refused.has("kernels/tables has different files than when prebuilt/pack.manifest was made");
}

/// Builds after each change, and asserts that all images are new. `build` returns a build of the
/// package.
fn each_change<'s>(scenario: &'s Scenario, images: &[&str], build: &dyn Fn() -> Run<'s>) {
    let images = || -> Vec<Vec<u8>> {
        let path = |image: &&str| scenario.output("release", &format!("pack/{image}"));
        images.iter().map(|image| read(path(image))).collect()
    };
    let build = |variables: &[(&'static str, &'static str)]| {
        let all = ["TILE", "OF_DEPENDENCY", "RULED"];
        build().without(&all).envs(variables.iter().copied())
    };
    build(&[]).passes();
    let mut before = images();
    let mut expect_others = |why: &str| {
        let now = images();
        for (one, other) in before.iter().zip(&now) {
            assert!(one != other, "{why}");
        }
        before = now;
    };
    for (why, (variables, file)) in CHANGES {
        if let Some(file) = file {
            scenario.write(file, "more text");
        }
        build(variables).passes();
        expect_others(why);
        // If only an unrelated variable changes, nothing must be rebuilt.
        build(variables).env("TILES", why).arg("-v").passes().found_fresh(scenario.name());
    }
    scenario.write("kernels/unruled/data.txt", "more data");
    build(&[]).passes();
    expect_others("a file of a package whose script has no rules");
}
