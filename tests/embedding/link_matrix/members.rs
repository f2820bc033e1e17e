//! The crates that are linked, as text.

/// A crate of the workspace.
pub struct Member {
    pub name: &'static str,
    /// What its manifest says after the name.
    pub manifest: &'static str,
    /// Whether its build script makes the packs.
    pub makes_packs: bool,
    pub main: &'static str,
    pub lib: &'static str,
}

const BIN: Member = Member { name: "", manifest: "", makes_packs: false, main: "", lib: "" };

/// All of them.
pub const MEMBERS: &[Member] = &[
    Member { name: "matrix-check", manifest: "[dependencies]\noffload-format.workspace = true\n", lib: CHECK, ..BIN },
    // Only the program expands the macro; there is a library beside it.
    Member { name: "matrix-beside", makes_packs: true, main: PROGRAM, lib: "//! Empty.\n", ..BIN },
    Member { name: "matrix-bin", makes_packs: true, main: PROGRAM, ..BIN },
    // A library, a program that depends on it, one that does so through another library, one that uses something else of it.
    Member { name: "matrix-rlib", makes_packs: true, lib: LIBRARY, ..BIN },
    Member {
        name: "matrix-user",
        manifest: "[dependencies]\nmatrix-rlib = { path = \"../matrix-rlib\" }\n",
        main: "fn main() { matrix_rlib::check_packs() }\n",
        ..BIN
    },
    Member {
        name: "matrix-middle",
        manifest: "[dependencies]\nmatrix-rlib = { path = \"../matrix-rlib\" }\n",
        lib: "pub fn check_packs() { matrix_rlib::check_packs() }\n",
        ..BIN
    },
    Member {
        name: "matrix-far",
        manifest: "[dependencies]\nmatrix-middle = { path = \"../matrix-middle\" }\n",
        main: "fn main() { matrix_middle::check_packs() }\n",
        ..BIN
    },
    Member {
        name: "matrix-unused",
        manifest: "[dependencies]\nmatrix-rlib = { path = \"../matrix-rlib\" }\n",
        main: "fn main() { println!(\"{}\", matrix_rlib::five()) }\n",
        ..BIN
    },
    // A library that wants its packs to stay, and a program that uses nothing of it.
    Member { name: "matrix-kept", makes_packs: true, lib: KEPT, ..BIN },
    Member {
        name: "matrix-retained",
        manifest: "[dependencies]\nmatrix-kept = { path = \"../matrix-kept\" }\n",
        main: "use matrix_kept as _;\nfn main() {}\n",
        ..BIN
    },
    // Libraries for programs that are not Rust's.
    Member {
        name: "matrix-cdylib",
        manifest: "[lib]\ncrate-type = [\"cdylib\"]\n",
        makes_packs: true,
        lib: LIBRARY,
        ..BIN
    },
    Member {
        name: "matrix-staticlib",
        manifest: "[lib]\ncrate-type = [\"staticlib\"]\n",
        makes_packs: true,
        lib: LIBRARY,
        ..BIN
    },
];

/// What a crate that makes packs depends on.
pub const DEPENDENCIES: &str = "\
[dependencies]
matrix-check.workspace = true
offload-embed-macro.workspace = true
offload-format.workspace = true

[build-dependencies]
offload-build.workspace = true
";

/// The build script, in the workspace's folder.
pub const BUILD: &str = r#"
fn main() {
    use offload_build::{Build, Module};
    let amd = ["../images/saxpy.gfx90a.hsaco", "../images/saxpy.gfx1100.hsaco"];
    Build::new().files(amd).archs(["gfx90a", "gfx1100"]).compile("amd");
    let machine_code = ["../images/saxpy.gfx90a.hsaco", "../images/saxpy.sm_80.cubin"];
    let mut ptx = Module::new("ptx");
    // Otherwise ptxas would make it machine code, too.
    ptx.file("../images/saxpy.compute_80.ptx").targets(["compute_80"]);
    Build::new().files(machine_code).module(ptx).archs(["gfx90a", "sm_80", "compute_80"]).compile("mixed");
}
"#;

/// The images, by their names in the prebuilt set of examples/saxpy.
pub const IMAGES: [&str; 4] =
    ["saxpy.gfx90a.hsaco", "saxpy.gfx1100.hsaco", "saxpy.compute_80.ptx", "saxpy.sm_80.cubin"];

/// Panics unless a pack in memory is the one that the build script left in a file.
const CHECK: &str = r#"
pub fn check(pack: &offload_format::KernelPack, out_dir: &str) {
    let file = std::path::Path::new(out_dir).join("offload").join(format!("{}.pack", pack.name()));
    let file = std::fs::read(file).unwrap();
    assert!(!file.is_empty() && pack.bytes() == file, "the pack in memory is not that in the file");
    let align = if pack.section() == ".hip_fatbin" { 4096 } else { 8 };
    assert_eq!(pack.bytes().as_ptr().addr() % align, 0, "the pack is not aligned to {align}");
    for image in pack.images() {
        assert_eq!(image.as_ptr().addr(), pack.bytes().as_ptr().addr() + image.offset());
    }
    println!("{} in {}: {} images", pack.name(), pack.section(), pack.images().len());
}
"#;

/// What [`CHECK`] prints of both packs.
pub const CHECKED: &str = "amd in .hip_fatbin: 2 images\nmixed in .llvm.offloading: 3 images\n";

/// The packs, and a function that checks them.
macro_rules! packs {
    () => {
        r#"
use offload_format::KernelPack;

static AMD: KernelPack = offload_embed_macro::include_offload!("amd");
static MIXED: KernelPack = offload_embed_macro::include_offload!("mixed");

#[unsafe(no_mangle)]
pub extern "C" fn check_packs() {
    matrix_check::check(&AMD, env!("OUT_DIR"));
    matrix_check::check(&MIXED, env!("OUT_DIR"));
}
"#
    };
}

const PROGRAM: &str = concat!(packs!(), "\nfn main() { check_packs() }\n");

/// `five` is in another object than the packs, as things of a library are that is not tiny.
const LIBRARY: &str = concat!(packs!(), "\npub fn five() -> u32 { std::hint::black_box(5) }\n");

const KEPT: &str = r#"
use offload_format::KernelPack;

pub static AMD: KernelPack = offload_embed_macro::include_offload!("amd", retain);
pub static MIXED: KernelPack = offload_embed_macro::include_offload!("mixed", retain);
"#;
