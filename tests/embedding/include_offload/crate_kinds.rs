//! Crates that embed packs: libraries that programs load, crates without std, and crates that
//! rename `offload-gpu`. The programs print their packs.

use super::with_packs;
use crate::sources::{FORBID, pack, printing};
use offload_tests::prelude::*;

#[test]
fn offload_may_have_another_name() {
    let scenario = with_packs("include_other_name");
    let manifest = scenario.text("Cargo.toml");
    let renamed = manifest.replace("offload-gpu = {", "gpu_files = { package = \"offload-gpu\",");
    assert_ne!(manifest, renamed);
    let items = r#"mod kit { pub use gpu_files as gpu; }
static A: gpu_files::KernelPack = gpu_files::include_offload!("amd");
static B: gpu_files::KernelPack = gpu_files::include_offload!("mixed", crate = crate::kit::gpu,);
static C: gpu_files::KernelPack = gpu_files::include_offload!(
    crate = gpu_files, path = "$CARGO_MANIFEST_DIR/src/files/saxpy.hipfb");
"#;
    let values = ["A.images().len()", "B.images().len()", "C.images().len()"];
    scenario.write("Cargo.toml", renamed).write("src/main.rs", printing(items, &values));
    assert_eq!(scenario.run().passes().stdout, "1 2 1\n");
}

/// A crate with its own types `u8`, `u32` and `str`. With the `crate` option, the crate's own
/// `LinkedPack` replaces offload-gpu's. The crate must embed the same bytes as other crates, and
/// `linked_packs` must read only the entries of offload-gpu.
const HOSTILE: &str = r#"#![allow(non_camel_case_types, dead_code)]
use fake::__expansion::LinkedPack;

type u8 = u64;
type u32 = ();
type str = ();

mod fake {
    pub mod __expansion {
        pub use offload_gpu::__expansion::*;

        pub struct LinkedPack([usize; 4]);

        impl LinkedPack {
            pub const fn new(_: &[u8], _: &str) -> Self {
                Self([4096, 2, 4096, 1 << 40])
            }
        }
    }
}

static A: offload_gpu::KernelPack = offload_gpu::include_offload!("amd", retain, crate = crate::fake);
static B: offload_gpu::KernelPack = offload_gpu::include_offload!(path = "files/saxpy.hipfb", retain, crate = crate::fake);

fn main() {
    let mut packs: Vec<_> = offload_gpu::linked_packs().collect();
    packs.sort_by_key(|pack| pack.name());
    for (pack, own) in packs.iter().zip([&A, &B]) {
        assert!(std::ptr::eq(pack.bytes(), own.bytes()), "{pack:?}");
        println!("{} {}", pack.name(), own.images().len());
    }
}
"#;

#[test]
fn names_of_the_crate_mean_nothing_to_packs() {
    let scenario = with_packs("include_hostile");
    scenario.write("src/main.rs", format!("{FORBID}{HOSTILE}"));
    assert_eq!(scenario.run().passes().stdout, "amd 1\nsaxpy 1\n");
}

/// Uses all options except those that only Linux supports.
#[test]
fn a_crate_without_std_embeds_packs() {
    let scenario = with_packs("include_no_std");
    let packs = pack("A", "\"mixed\", retain")
        + &pack("B", "path = \"files/saxpy.hipfb\", retain, align = 8192");
    scenario
        .write(
            "src/lib.rs",
            format!("#![no_std]\n{FORBID}{packs}pub const SAXPY: offload_gpu::Kernel = A.kernel(\"saxpy\");\n"),
        )
        .write("src/main.rs", printing("", &["include_no_std::SAXPY.module().images().len()"]));
    assert_eq!(scenario.run().passes().stdout, "2\n");
}

/// Functions that other crates inline. They use the macro in a static, in the function itself, and
/// in generic code.
const INLINED: &str = r#"
use offload_gpu::KernelPack;

#[inline]
pub fn in_a_static() -> &'static [u8] {
    static PACK: KernelPack = offload_gpu::include_offload!("amd");
    PACK.bytes()
}

#[inline(always)]
pub fn in_place() -> usize {
    let pack: KernelPack = offload_gpu::include_offload!("mixed");
    pack.bytes().len() + usize::from(pack.bytes()[0])
}

pub fn generic<T>(_: T) -> usize {
    let pack: KernelPack = offload_gpu::include_offload!("amd", retain);
    assert!(std::ptr::eq(pack.bytes(), in_a_static()));
    pack.images().len()
}

#[inline]
pub fn of_a_file() -> usize {
    let pack: KernelPack = offload_gpu::include_offload!(path = "files/saxpy.hipfb");
    pack.bytes().len()
}
"#;

/// Tests a program with a library that it loads (`dylib`). The program's output must be the same as
/// with the statically linked library.
#[test(NOTHING.slow())]
fn inlined_functions_of_a_dylib_reach_its_packs() {
    let library = with_packs("include_dylib");
    let mut user = Scenario::without_sources("include_dylib_user");
    user.feature("offload-gpu", "files");
    let values = ["in_a_static().len()", "in_place()", "generic(5)", "of_a_file()"];
    user.manifest("dependencies", "include_dylib = { path = \"../include_dylib\" }")
        .write("src/main.rs", printing("use include_dylib::*;\n", &values));
    library.write("src/lib.rs", format!("{FORBID}{INLINED}"));
    let manifest = library.text("Cargo.toml");
    for profile in ["debug", "release"] {
        library.write("Cargo.toml", &manifest);
        let expected = user.run().profile(profile).passes().stdout;
        library.write("Cargo.toml", format!("{manifest}\n[lib]\ncrate-type = [\"dylib\"]\n"));
        assert_eq!(user.run().profile(profile).passes().stdout, expected, "{profile}");
    }
}

#[test]
fn a_program_without_packs_lists_none() {
    let scenario = Scenario::without_sources("include_list_none");
    scenario.write("src/main.rs", printing("", &["offload_gpu::linked_packs().count()"]));
    assert_eq!(scenario.run().passes().stdout, "0\n");
}
