//! The crates that the tests link, as text.

/// A crate of the workspace. If its source embeds packs, its build script builds these packs.
pub struct Member {
    pub name: &'static str,
    /// The crates on which this crate depends, separated by spaces.
    pub uses: &'static str,
    /// The library's crate type for programs in other languages, or empty.
    pub crate_type: &'static str,
    /// The text of `src/main.rs`; empty if there is none.
    pub main: &'static str,
    /// The text of `src/lib.rs`; empty if there is none.
    pub lib: &'static str,
}

const fn program(name: &'static str, uses: &'static str, main: &'static str) -> Member {
    Member { name, uses, crate_type: "", main, lib: "" }
}

const fn library(name: &'static str, uses: &'static str, lib: &'static str) -> Member {
    Member { name, uses, crate_type: "", main: "", lib }
}

pub const MEMBERS: &[Member] = &[
    library("matrix-check", "", CHECK),
    // Only the program expands the macro. The library in the same package does not.
    Member { lib: "//! Empty.\n", ..program("matrix-beside", "matrix-check", PROGRAM) },
    program("matrix-bin", "matrix-check", PROGRAM),
    // A library and three programs. One program depends on the library directly, one depends on it
    // through another library, and one uses only a function without packs.
    library("matrix-rlib", "matrix-check", LIBRARY),
    program("matrix-user", "matrix-rlib", "fn main() { matrix_rlib::check_packs() }\n"),
    library("matrix-middle", "matrix-rlib", MIDDLE),
    program("matrix-far", "matrix-middle", "fn main() { matrix_middle::check_packs() }\n"),
    program(
        "matrix-unused",
        "matrix-rlib",
        "fn main() { println!(\"{}\", matrix_rlib::five()) }\n",
    ),
    // A library that retains its packs, and a program that uses no part of it.
    library("matrix-kept", "matrix-check", KEPT),
    program("matrix-retained", "matrix-kept", "use matrix_kept as _;\nfn main() {}\n"),
    program("matrix-listed", "matrix-kept matrix-rlib", LISTER),
    // Libraries for programs in other languages.
    Member { crate_type: "cdylib", ..library("matrix-cdylib", "matrix-check", LIBRARY) },
    Member { crate_type: "staticlib", ..library("matrix-staticlib", "matrix-check", LIBRARY) },
];

/// The body of the build script that all crates with packs share. Cargo runs the script in each
/// crate's folder.
pub const BUILD: &str = r#"let amd = ["../images/saxpy.gfx90a.hsaco", "../images/saxpy.gfx1100.hsaco"];
    for name in ["amd", "amd-too"] {
        Build::new().files(amd).archs(["gfx90a", "gfx1100"]).compile(name);
    }
    let machine_code = ["../images/saxpy.gfx90a.hsaco", "../images/saxpy.sm_80.cubin"];
    let mut ptx = Module::new("ptx");
    // Without this filter, ptxas would also make machine code from the PTX.
    ptx.file("../images/saxpy.compute_80.ptx").supports(["compute_80"]);
    Build::new().files(machine_code).module(ptx).archs(["gfx90a", "sm_80", "compute_80"]).compile("mixed");"#;

/// The file names of the images in the prebuilt set of examples/saxpy.
pub const IMAGES: [&str; 4] =
    ["saxpy.gfx90a.hsaco", "saxpy.gfx1100.hsaco", "saxpy.compute_80.ptx", "saxpy.sm_80.cubin"];

/// A function that panics unless a pack in memory equals the file that the build script wrote.
const CHECK: &str = r#"
pub fn check(pack: &offload_gpu::KernelPack, out_dir: &str) {
    let file = std::path::Path::new(out_dir).join("offload").join(format!("{}.pack", pack.name()));
    let file = std::fs::read(file).unwrap();
    assert!(!file.is_empty(), "the file is empty");
    assert!(pack.bytes() == file, "the pack in memory differs from the file");
    let align = if pack.section() == ".hip_fatbin" { 4096 } else { 8 };
    assert_eq!(pack.bytes().as_ptr().addr() % align, 0, "the pack is not aligned to {align}");
    for image in pack.images() {
        assert_eq!(image.as_ptr().addr(), pack.bytes().as_ptr().addr() + image.offset());
    }
    println!("{} in {}: {} images", pack.name(), pack.section(), pack.images().len());
}
"#;

/// The output of [`CHECK`] about both packs.
pub const CHECKED: &str = "amd in .hip_fatbin: 2 images\nmixed in .llvm.offloading: 3 images\n";

/// Defines the packs, and a function that checks them.
macro_rules! packs {
    () => {
        r#"
use offload_gpu::KernelPack;

static AMD: KernelPack = offload_gpu::include_offload!("amd");
static MIXED: KernelPack = offload_gpu::include_offload!("mixed");

#[unsafe(no_mangle)]
pub extern "C" fn check_packs() {
    matrix_check::check(&AMD, env!("OUT_DIR"));
    matrix_check::check(&MIXED, env!("OUT_DIR"));
}
"#
    };
}

const PROGRAM: &str = concat!(packs!(), "\nfn main() { check_packs() }\n");

/// The functions `five` and `check_packs` are in different objects, as in a larger library.
const LIBRARY: &str = concat!(packs!(), "\npub fn five() -> u32 { std::hint::black_box(5) }\n");

const MIDDLE: &str = "pub fn check_packs() { matrix_rlib::check_packs() }\n";

const KEPT: &str = r#"
use offload_gpu::KernelPack;

pub static AMD: KernelPack = offload_gpu::include_offload!("amd", retain);
pub static MIXED: KernelPack = offload_gpu::include_offload!("mixed", retain);
"#;

/// Checks the packs of `matrix-rlib`, which does not retain them. Then lists the retained packs:
/// two from `matrix-kept`, one from the program, and a file that the program embeds. Two of these
/// packs have equal bytes. The packs of `matrix-rlib` have the same names as listed packs.
const LISTER: &str = r#"
use offload_gpu::KernelPack;

static TOO: KernelPack = offload_gpu::include_offload!("amd-too", retain);
static FILE: KernelPack = offload_gpu::include_offload!(path = "../../images/saxpy.gfx90a.hsaco", retain);

fn main() {
    matrix_rlib::check_packs();
    let mut packs: Vec<_> = offload_gpu::linked_packs().collect();
    packs.sort_by_key(|pack| pack.name());
    for pack in packs {
        let known = [&matrix_kept::AMD, &matrix_kept::MIXED, &TOO, &FILE];
        assert!(known.iter().any(|known| std::ptr::eq(known.bytes(), pack.bytes())), "{pack:?}");
        println!("{}", pack.name());
    }
}
"#;

/// The output of [`LISTER`] after [`CHECKED`].
pub const LISTED: &str = "amd\namd-too\nmixed\nsaxpy.gfx90a\n";
