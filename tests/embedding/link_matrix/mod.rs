//! Packs in every kind of crate, of every profile, by every linker: each program is linked alone, with one pack for AMD's GPUs
//! and one for several vendors'; the program itself, LLVM's tools and AMD's say what became of them.
//!
//! What rustc hands to the linker is the same for all linkers, so rustc runs once, and what it calls is `linker.sh`, which links
//! with each. The images are ready-made: no compiler for GPUs runs.

mod members;

use members::{BUILD, CHECKED, DEPENDENCIES, IMAGES, MEMBERS};
use offload_tests::data::read;
use offload_tests::judges::roc_obj_lists;
use offload_tests::package::{Package, printed};
use offload_tests::registry::{Needs, needs};
use offload_tests::scratch;
use offload_tests::tools::{Tool, llvm, rust_lld, stdout, succeed};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const TOOLS: Needs = needs(&[Tool::Llvm22, Tool::Gcc, Tool::RustLld, Tool::Mold, Tool::RocObj]);

offload_tests::tests! {
    TOOLS => [packs_in_every_kind_of_crate],
}

/// How crates are compiled: a name, Cargo's options, and `lto`, which is set by a variable: of two profiles of one name Cargo
/// compiles what build scripts depend on once.
const PROFILES: [(&str, &[&str], &str); 4] = [
    ("dev", &[], "false"),
    ("release", &["--release"], "false"),
    ("thin LTO", &["--release"], "thin"),
    ("fat LTO", &["--release"], "fat"),
];

/// For Cargo: RUSTFLAGS then don't reach build scripts, which are the same for all of this.
fn target() -> String {
    format!("{}-unknown-linux-gnu", std::env::consts::ARCH)
}

/// What `linker.sh` puts behind the names of what it links, and what the linker leaves in `.comment`.
const LINKERS: [(&str, Option<&str>); 3] = [("lld", Some("Linker: LLD")), ("bfd", None), ("mold", Some("mold 1."))];

/// What is linked.
const PROGRAMS: [(&str, Packs); 8] = [
    ("matrix_beside", Packs::Checked),
    ("matrix_bin", Packs::Checked),
    ("matrix_user", Packs::Checked),
    ("matrix_far", Packs::Checked),
    ("matrix_unused", Packs::Gone),
    ("matrix_retained", Packs::Kept),
    ("matrix_cdylib", Packs::Loaded),
    ("matrix_staticlib", Packs::Checked),
];

/// What becomes of the packs.
#[derive(Clone, Copy, PartialEq)]
enum Packs {
    /// They are in the program, which checks them.
    Checked,
    /// They are in a library, which checks them once it is loaded.
    Loaded,
    /// They are not there: nothing uses them.
    Gone,
    /// They are there, although nothing uses them.
    Kept,
}

fn packs_in_every_kind_of_crate() {
    let workspace = Workspace::new();
    for (profile, args, lto) in PROFILES {
        let linked = workspace.link(profile, args, lto);
        for (program, packs) in PROGRAMS {
            for (linker, comment) in LINKERS {
                let program = linked.join(format!("{program}.{linker}"));
                workspace.judge(&program, packs, comment);
            }
        }
    }
}

/// The crates, and a program that loads libraries.
struct Workspace {
    package: Package,
    loader: PathBuf,
}

impl Workspace {
    fn new() -> Self {
        let package = Package::new("link_matrix");
        let mut names = Vec::new();
        for member in MEMBERS {
            let name = member.name;
            names.push(format!("{name:?}"));
            let build = if member.makes_packs { "build = \"../build.rs\"\n" } else { "" };
            let dependencies = if member.makes_packs { DEPENDENCIES } else { "" };
            package.write(
                &format!("{name}/Cargo.toml"),
                format!(
                    "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n{build}\n{}{dependencies}",
                    member.manifest
                ),
            );
            for (path, text) in [("src/main.rs", member.main), ("src/lib.rs", member.lib)] {
                if !text.is_empty() {
                    package.write(&format!("{name}/{path}"), text);
                }
            }
        }
        let crates = scratch::workspace().display();
        let dependencies = ["offload-format", "offload-build", "offload-embed-macro"]
            .map(|name| format!("{name} = {{ path = \"{crates}/{name}\" }}\n"))
            .concat();
        package.write("build.rs", BUILD).write(
            "Cargo.toml",
            format!(
                "[workspace]\nresolver = \"3\"\nmembers = [{}]\n\n[workspace.dependencies]\n{dependencies}\
                 matrix-check = {{ path = \"matrix-check\" }}\n",
                names.join(", ")
            ),
        );
        for image in IMAGES {
            let image = scratch::workspace().join("examples/saxpy/prebuilt").join(image);
            package.write(&format!("images/{}", image.file_name().unwrap_or_default().display()), read(&image));
        }
        let loader = package.folder.join("loader");
        succeed(Command::new("gcc").arg(here("loader.c")).arg("-o").arg(&loader).arg("-ldl"));
        Self { package, loader }
    }

    /// Builds all crates and links them with each linker; returns the folder of what was linked.
    fn link(&self, profile: &str, args: &[&str], lto: &str) -> PathBuf {
        let linked = self.package.folder.join("linked").join(profile.replace(' ', "_"));
        fs::create_dir_all(&linked).expect("the scratch folder can be written");
        let folder = self.package.target.join(target()).join(if args.is_empty() { "debug" } else { "release" });
        forget_links(&folder.join("deps"));
        let environment = [("RUST_LLD", &rust_lld().expect("Tool::RustLld was checked")), ("LINKED", &linked)];
        let mut build = self.package.cargo(&["build", "--workspace", "--target", &target()]);
        build
            .args(args)
            .envs(environment)
            .env("CARGO_PROFILE_RELEASE_LTO", lto)
            .env("CARGO_ENCODED_RUSTFLAGS", format!("-Clinker={}", here("linker.sh").display()));
        let output = build.output().expect("cargo starts");
        assert!(output.status.success(), "{profile}:\n{}", printed(&output));

        // A static library is linked by others.
        succeed(
            Command::new(here("linker.sh"))
                .envs(environment)
                .args([here("program.c"), folder.join("libmatrix_staticlib.a")])
                .args(["-o", "matrix_staticlib", "-lgcc_s", "-lm", "-lpthread", "-ldl"])
                .current_dir(&self.package.folder),
        );
        linked
    }

    /// Says whether a program has the packs that it should have, and nothing is wrong with them.
    fn judge(&self, program: &Path, packs: Packs, comment: Option<&str>) {
        let what = program.display();
        let listing = stdout(&succeed(llvm("llvm-readelf").args(["-SW", "-p", ".comment"]).arg(program)));
        for word in LINKERS.iter().filter_map(|(_, word)| *word) {
            assert_eq!(listing.contains(word), Some(word) == comment, "{what} is another linker's work:\n{listing}");
        }
        let sections = sections(&listing);
        if packs == Packs::Gone {
            assert!(sections.is_empty(), "{what} has {sections:?}");
            succeed(&mut Command::new(program));
            return;
        }
        let expected = [(".hip_fatbin", "PROGBITS", 4096), (".llvm.offloading", "LLVM_OFFLOADING", 8)];
        assert_eq!(sections, expected.map(|(name, kind, align)| (name.to_owned(), kind.to_owned(), align)), "{what}");

        let mut run = Command::new(if packs == Packs::Loaded { &self.loader } else { program });
        if packs == Packs::Loaded {
            run.arg(program);
        }
        let said = if packs == Packs::Kept { "" } else { CHECKED };
        assert_eq!(stdout(&succeed(&mut run)), said, "{what}");

        let ids = ["hipv4-amdgcn-amd-amdhsa--gfx90a", "hipv4-amdgcn-amd-amdhsa--gfx1100"];
        let listed: Vec<String> = roc_obj_lists(program).into_iter().map(|(id, ..)| id).collect();
        assert_eq!(listed, ids, "{what}, by roc-obj-ls");
        // It writes what it finds beside the program.
        let copy = self.package.folder.join("listed").join("program");
        fs::create_dir_all(copy.with_file_name("")).expect("the scratch folder can be written");
        fs::copy(program, &copy).expect("the program can be copied");
        let listing = stdout(&succeed(llvm("llvm-objdump").arg("--offloading").arg(&copy)));
        for id in ids {
            assert_eq!(listing.matches(&format!(".{id}\n")).count(), 1, "{what}, by llvm-objdump:\n{listing}");
        }
        let archs: Vec<&str> = listing.lines().filter_map(|line| line.trim().strip_prefix("arch")).collect();
        assert_eq!(archs.len(), 3, "{what}, by llvm-objdump:\n{listing}");
    }
}

/// A file of this test.
fn here(name: &str) -> PathBuf {
    scratch::workspace().join("tests/embedding/link_matrix").join(name)
}

/// Name, type and alignment of the sections in which packs are, as `llvm-readelf -SW` lists them.
fn sections(listing: &str) -> Vec<(String, String, u64)> {
    let rows = listing.lines().filter_map(|line| Some(line.split_once(']')?.1.split_whitespace().collect::<Vec<_>>()));
    let rows = rows.filter(|row| row.first().is_some_and(|name| [".hip_fatbin", ".llvm.offloading"].contains(name)));
    let align = |row: &[&str]| row[row.len() - 1].parse().expect("an alignment is a number");
    let mut sections: Vec<_> = rows.map(|row| (row[0].to_owned(), row[1].to_owned(), align(&row))).collect();
    // Which comes first is for the linker to say.
    sections.sort_unstable();
    sections
}

/// Cargo links anew what is not there. Another version of a linker would not make it do so.
fn forget_links(folder: &Path) {
    for file in fs::read_dir(folder).into_iter().flatten().flatten() {
        if file.file_name().to_string_lossy().trim_start_matches("lib").starts_with("matrix_") {
            fs::remove_file(file.path()).expect("what Cargo wrote can be removed");
        }
    }
}
