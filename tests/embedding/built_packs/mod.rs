//! Packs that a package's build script creates, and that the package's crates embed by name. Cargo
//! builds the packages. Programs check the packs' contents, and LLVM's tools read the programs.

mod dependencies;
mod hosts;
mod places;
mod rebuilds;

use crate::sources::{FORBID, pack};
use offload_tests::prelude::*;

/// The profiles, each with different targets. One list of targets for each profile is enough,
/// because the pack depends only on the targets.
const BUILDS: [(&str, Targets); 2] = [("debug", AMD), ("release", MIXED)];

/// A list of targets, and the section for a pack with these targets.
struct Targets {
    archs: &'static str,
    section: &'static str,
}

const MIXED: Targets = Targets { archs: "gfx90a compute_80 cpu", section: ".llvm.offloading" };
const AMD: Targets = Targets { archs: "gfx90a gfx1100", section: ".hip_fatbin" };

impl Targets {
    /// Sets a build's targets, and the section that [`CHECK`] expects.
    fn set<'a>(&self, run: Run<'a>) -> Run<'a> {
        run.env("OFFLOAD_ARCH", self.archs).env("SECTION", self.section)
    }

    fn count(&self) -> usize {
        self.archs.split(' ').count()
    }
}

/// The source of a function that tests add to a crate. The function panics unless a pack in memory
/// equals the files from the crate's build script, and is in the section that the variable
/// `SECTION` names.
const CHECK: &str = r#"
pub fn check(pack: &offload_gpu::KernelPack) {
    let folder = std::path::Path::new(env!("OUT_DIR")).join("offload");
    let file = std::fs::read(folder.join(format!("{}.pack", pack.name()))).unwrap();
    assert!(!file.is_empty(), "the file is empty");
    assert!(pack.bytes() == file, "the pack in memory differs from the file");
    assert_eq!(pack.section(), std::env::var("SECTION").unwrap());
    let align = if pack.section() == ".hip_fatbin" { 4096 } else { 8 };
    assert_eq!(pack.bytes().as_ptr().addr() % align, 0, "the pack is not aligned to {align}");
    for image in pack.images() {
        let extension = match image.target() {
            name if name.starts_with("gfx") => "hsaco",
            name if name.starts_with("compute_") => "ptx",
            _ => "so",
        };
        let file = std::fs::read(folder.join(pack.name()).join(format!("{}.{extension}", image.target()))).unwrap();
        assert!(image.bytes() == file, "the image for {} differs from the file", image.target());
        assert_eq!(image.as_ptr().addr(), pack.bytes().as_ptr().addr() + image.offset());
    }
    println!("checked {} images", pack.images().len());
}
"#;

/// Writes a kernel, and a build script that builds the pack `kernels` from it. `OFFLOAD_ARCH`
/// overrides the pack's targets.
fn with_pack(scenario: &Scenario) -> &Scenario {
    scenario.kernel("add", "1.0f").pack("kernels", PACK)
}

const PACK: &str = r#".file("kernels/add.cu").archs(["gfx90a", "compute_80", "cpu"])"#;

/// Writes a program whose only crate embeds packs and checks them.
fn program_with_packs(scenario: &Scenario, packs: &[&str]) {
    let (mut statics, mut checks) = (String::new(), String::new());
    for (number, name) in packs.iter().enumerate() {
        statics += &pack(&format!("P{number}"), &format!("{name:?}"));
        checks += &format!("    check(&P{number});\n");
    }
    scenario.write("src/main.rs", format!("{FORBID}{CHECK}{statics}fn main() {{\n{checks}}}\n"));
}

#[test(CLANG.slow())]
fn packs_whose_names_begin_alike_are_told_apart() {
    let scenario = Scenario::without_sources("embed_alike");
    scenario.kernel("add", "VALUE").build_script(
        r#"for (name, value) in [("add_fast", "2.0f"), ("add-faster", "3.0f"), ("add", "1.0f"), ("add_", "4.0f")] {
        Build::new().file("kernels/add.cu").define("VALUE", value).archs(["gfx90a"]).compile(name);
    }"#,
    );
    program_with_packs(&scenario, &["add", "add_fast", "add-faster", "add_"]);
    let printed = AMD.set(scenario.run()).passes();
    assert_eq!(printed.stdout, "checked 2 images\n".repeat(4));
}
