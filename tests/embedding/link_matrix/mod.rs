//! Packs in all kinds of crates, in every profile, with every linker. Each program has one pack for
//! AMD's GPUs, and one for several vendors' GPUs. The program itself, LLVM's tools and AMD's tools
//! report whether the packs are present.
//!
//! rustc would pass the same files to all linkers, so it runs once and calls `linker.sh`, which
//! links with each linker. Cargo calls `rustc.sh` in place of rustc, to make rustc use `linker.sh`.
//! The packs consist of supplied images, so no GPU compiler runs.

mod crates;

use crate::linked_program::{PACK_SECTIONS, Section, objdump_offloading, sections_in};
use crates::{BUILD, CHECKED, IMAGES, LISTED, MEMBERS, Member};
use offload_tests::judges::roc_obj_lists;
use offload_tests::prelude::*;
use offload_tests::tools::rust_lld;

const TOOLS: Needs =
    needs(&[Tool::Llvm22, Tool::Gcc, Tool::RustLld, Tool::Mold, Tool::RocObj]).slow();

/// A profile: its name in this test, its folder, and its kind of link-time optimization, which
/// `rustc.sh` passes to rustc. If a Cargo profile set `lto`, Cargo would recompile all dependencies
/// of build scripts.
struct Profile(&'static str, &'static str, &'static str);

const PROFILES: [Profile; 4] = [
    Profile("dev", "debug", ""),
    Profile("release", "release", ""),
    Profile("thin", "release", "thin"),
    Profile("fat", "release", "fat"),
];

/// The linkers: the extension that `linker.sh` gives to the linker's output, and the text that the
/// linker writes into `.comment`.
const LINKERS: [(&str, Option<&str>); 3] =
    [("lld", Some("Linker: LLD")), ("bfd", None), ("mold", Some("mold 1."))];

/// The programs, what happens to their packs, and the kinds of link-time optimization with which
/// each program is also linked. Most programs have one kind or none, because optimizing the
/// standard library takes seconds per program.
const PROGRAMS: [(&str, Packs, &[&str]); 9] = [
    ("matrix_beside", Packs::Checked, &[]),
    ("matrix_bin", Packs::Checked, &[]),
    ("matrix_user", Packs::Checked, &[]),
    ("matrix_far", Packs::Checked, &[]),
    ("matrix_unused", Packs::Gone, &["fat"]),
    ("matrix_retained", Packs::Kept, &["fat"]),
    ("matrix_listed", Packs::Listed, &["thin", "fat"]),
    ("matrix_cdylib", Packs::Loaded, &["fat"]),
    ("matrix_staticlib", Packs::Checked, &["fat"]),
];

/// Where a test expects the packs.
#[derive(Clone, Copy, PartialEq)]
enum Packs {
    /// The packs are in the program, which checks them.
    Checked,
    /// The packs are in a library, which checks them after it is loaded.
    Loaded,
    /// The packs are missing, because nothing uses them.
    Gone,
    /// The packs are present, although nothing uses them.
    Kept,
    /// The program checks one library's packs, and lists the packs that another library and the
    /// program itself retain.
    Listed,
}

#[test(TOOLS.slow())]
fn every_linker_keeps_the_packs_that_a_crate_uses() {
    let matrix = Matrix::new();
    for profile in PROFILES {
        let lto = profile.2;
        let programs = PROGRAMS.iter().filter(|(.., with)| lto.is_empty() || with.contains(&lto));
        let programs: Vec<(&str, Packs)> =
            programs.map(|&(program, packs, _)| (program, packs)).collect();
        let names: Vec<&str> = programs.iter().map(|(program, _)| *program).collect();
        let linked = matrix.link(&profile, &names);
        for (program, packs) in programs {
            for (linker, comment) in LINKERS {
                matrix.judge(&linked.join(format!("{program}.{linker}")), packs, comment);
            }
        }
    }
}

/// The workspace with the crates, and a program that loads libraries.
struct Matrix {
    scenario: Scenario,
    loader: PathBuf,
}

impl Matrix {
    fn new() -> Self {
        let manifest = |member: &Member| {
            let line = |name: &str| format!("{name} = {{ path = \"../{name}\" }}\n");
            let uses = member.uses.split_whitespace().map(line).collect::<String>();
            match member.crate_type {
                "" => uses,
                kind => format!("{uses}\n[lib]\ncrate-type = [{kind:?}]\n"),
            }
        };
        let manifests: Vec<String> = MEMBERS.iter().map(manifest).collect();
        let members = MEMBERS.iter().zip(&manifests).map(|(member, manifest)| {
            let makes_packs = (member.main.to_owned() + member.lib).contains("include_offload!");
            let build = if makes_packs { "build = \"../build.rs\"" } else { "" };
            (member.name, build, manifest.as_str())
        });
        let scenario = Scenario::workspace("link_matrix", &members.collect::<Vec<_>>());
        scenario.build_script(BUILD);
        for member in MEMBERS {
            let mut package = scenario.member(member.name);
            if [member.main, member.lib].iter().any(|text| text.contains("(path = ")) {
                package.files_alone();
            }
            for (path, text) in [("src/main.rs", member.main), ("src/lib.rs", member.lib)] {
                if text.is_empty() {
                    let _ = fs::remove_file(package.folder.join(path));
                } else {
                    package.write(path, text);
                }
            }
        }
        for image in IMAGES {
            let bytes = read(workspace().join("examples/saxpy/prebuilt").join(image));
            scenario.write(&format!("images/{image}"), bytes);
        }
        let loader = scenario.folder.join("loader");
        scenario.tool("gcc").arg(here("loader.c")).arg("-o").arg(&loader).arg("-ldl").passes();
        Self { scenario, loader }
    }

    /// Builds programs, links them with each linker, and returns the folder of the results.
    fn link(&self, profile: &Profile, programs: &[&str]) -> PathBuf {
        let Profile(name, folder, lto) = *profile;
        let linked = self.scenario.folder.join("linked").join(name);
        fs::create_dir_all(&linked).expect("the scratch folder can be written");
        let variables =
            [("RUST_LLD", &rust_lld().expect("Tool::RustLld was checked")), ("LINKED", &linked)];
        // The dependencies are already compiled, so Cargo starts this script only for the
        // workspace's crates. The script has a different name for each profile, so Cargo recompiles
        // the crates for each profile.
        let rustc = self.scenario.script(
            &format!("rustc-{name}"),
            &format!("MATRIX_LTO={lto} exec '{}' \"$@\"", here("rustc.sh").display()),
        );
        let mut cargo = self.scenario.build().profile(folder).args(["--target", HOST]);
        for program in programs {
            cargo = cargo.args(["-p", &program.replace('_', "-")]);
        }
        // With `--target`, the flags do not apply to build scripts and their dependencies.
        // Optimization level 1 takes half the time, and produces the same symbols and sections.
        let flags = format!("CARGO_TARGET_{}_RUSTFLAGS", HOST.to_uppercase().replace('-', "_"));
        cargo
            .envs(variables)
            .env("RUSTC_WORKSPACE_WRAPPER", rustc)
            .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1")
            .env(&flags, "-Cembed-bitcode=yes")
            .passes();
        let told = fs::read_to_string(linked.join("lto")).expect("rustc.sh writes it");
        assert_eq!(told.trim(), lto, "{name}: which LTO rustc was told to do");
        if !programs.contains(&"matrix_staticlib") {
            return linked;
        }
        // No crate links the static library, so link it into a C program.
        let library = self.scenario.target.join(HOST).join(folder).join("libmatrix_staticlib.a");
        let link = self.scenario.tool(here("linker.sh")).envs(variables).arg(here("program.c"));
        let options = ["-o", "matrix_staticlib", "-lgcc_s", "-lm", "-lpthread", "-ldl"];
        link.arg(library).args(options).passes();
        linked
    }

    /// Checks that the expected linker linked the program, and that the program contains exactly
    /// the expected packs.
    fn judge(&self, program: &Path, packs: Packs, comment: Option<&str>) {
        let what = program.display();
        let mut readelf = llvm("llvm-readelf");
        let listing = stdout(&succeed(readelf.args(["-SW", "-p", ".comment"]).arg(program)));
        let words = LINKERS.into_iter().filter_map(|(_, word)| word);
        let found: Vec<&str> = words.filter(|word| listing.contains(word)).collect();
        let expected: Vec<&str> = comment.into_iter().collect();
        assert_eq!(found, expected, "{what} is another linker's work:\n{listing}");
        let found = sections_in(&listing, &PACK_SECTIONS);
        if packs == Packs::Gone {
            assert_eq!(found, [], "{what}");
            let symbols = stdout(&succeed(llvm("llvm-nm").arg(program)));
            assert!(!symbols.contains("offload_pack_"), "{what}:\n{symbols}");
            self.scenario.tool(program).passes();
            return;
        }
        assert_eq!(found, [Section::hip_fatbin(), Section::llvm_offloading()], "{what}");

        let run = self.scenario.tool(program);
        let (run, expected) = match packs {
            Packs::Loaded => (self.scenario.tool(&self.loader).arg(program), CHECKED.to_owned()),
            Packs::Kept => (run, String::new()),
            Packs::Listed => (run, CHECKED.to_owned() + LISTED),
            Packs::Checked | Packs::Gone => (run, CHECKED.to_owned()),
        };
        assert_eq!(run.passes().stdout, expected, "{what}");
        if packs == Packs::Listed {
            return;
        }

        let ids = ["hipv4-amdgcn-amd-amdhsa--gfx90a", "hipv4-amdgcn-amd-amdhsa--gfx1100"];
        let listed: Vec<String> = roc_obj_lists(program).into_iter().map(|(id, ..)| id).collect();
        assert_eq!(listed, ids, "{what}, by roc-obj-ls");
        let listing = objdump_offloading(&self.scenario, program);
        let archs = listing.lines().filter(|line| line.trim().starts_with("arch")).count();
        let ids = ids.map(|id| listing.matches(&format!(".{id}\n")).count());
        assert_eq!((ids, archs), ([1, 1], 3), "{what}, by llvm-objdump:\n{listing}");
    }
}

/// This machine's triple.
const HOST: &str = if cfg!(target_arch = "x86_64") {
    "x86_64-unknown-linux-gnu"
} else {
    "aarch64-unknown-linux-gnu"
};

/// Returns the path of one of this test's files.
fn here(name: &str) -> PathBuf {
    workspace().join("tests/embedding/link_matrix").join(name)
}
