//! The linked crates, as text.

/// A crate of the workspace.
pub struct Member {
    pub name: &'static str,
    /// Whether the crate's build script makes the packs.
    pub makes_packs: bool,
    /// The end of the crate's manifest, in `[dependencies]`.
    pub manifest: &'static str,
    /// The text of `src/main.rs`, or empty if the crate has none.
    pub main: &'static str,
    /// The text of `src/lib.rs`, or empty if the crate has none.
    pub lib: &'static str,
}

const PLAIN: Member = Member { name: "", makes_packs: false, manifest: "", main: "", lib: "" };
const WITH_PACKS: Member = Member { makes_packs: true, manifest: USES_CHECK, ..PLAIN };

const USES_CHECK: &str = "matrix-check = { path = \"../matrix-check\" }\n";
const USES_KEPT: &str = "matrix-kept = { path = \"../matrix-kept\" }\n\
                         matrix-rlib = { path = \"../matrix-rlib\" }\n";
const USES_RLIB: &str = "matrix-rlib = { path = \"../matrix-rlib\" }\n";

pub const MEMBERS: &[Member] = &[
    Member { name: "matrix-check", lib: CHECK, ..PLAIN },
    // Only the program expands the macro; the library next to it does not.
    Member { name: "matrix-beside", main: PROGRAM, lib: "//! Empty.\n", ..WITH_PACKS },
    Member { name: "matrix-bin", main: PROGRAM, ..WITH_PACKS },
    // A library and three programs: one depends on it directly, one through another library, and
    // one uses another part of it.
    Member { name: "matrix-rlib", lib: LIBRARY, ..WITH_PACKS },
    Member {
        name: "matrix-user",
        manifest: USES_RLIB,
        main: "fn main() { matrix_rlib::check_packs() }\n",
        ..PLAIN
    },
    Member {
        name: "matrix-middle",
        manifest: USES_RLIB,
        lib: "pub fn check_packs() { matrix_rlib::check_packs() }\n",
        ..PLAIN
    },
    Member {
        name: "matrix-far",
        manifest: "matrix-middle = { path = \"../matrix-middle\" }\n",
        main: "fn main() { matrix_middle::check_packs() }\n",
        ..PLAIN
    },
    Member {
        name: "matrix-unused",
        manifest: USES_RLIB,
        main: "fn main() { println!(\"{}\", matrix_rlib::five()) }\n",
        ..PLAIN
    },
    // A library that retains its packs, and a program that uses no part of the library.
    Member { name: "matrix-kept", lib: KEPT, ..WITH_PACKS },
    Member {
        name: "matrix-retained",
        manifest: "matrix-kept = { path = \"../matrix-kept\" }\n",
        main: "use matrix_kept as _;\nfn main() {}\n",
        ..PLAIN
    },
    Member { name: "matrix-listed", makes_packs: true, manifest: USES_KEPT, main: LISTER, ..PLAIN },
    // Libraries for programs in other languages.
    Member {
        name: "matrix-cdylib",
        manifest: "matrix-check = { path = \"../matrix-check\" }\n\n[lib]\ncrate-type = [\"cdylib\"]\n",
        lib: LIBRARY,
        ..WITH_PACKS
    },
    Member {
        name: "matrix-staticlib",
        manifest: "matrix-check = { path = \"../matrix-check\" }\n\n[lib]\ncrate-type = [\"staticlib\"]\n",
        lib: LIBRARY,
        ..WITH_PACKS
    },
];

/// The body of the build script that all crates with packs share. Cargo runs the build script in
/// the folder of each crate.
pub const BUILD: &str = r#"let amd = ["../images/saxpy.gfx90a.hsaco", "../images/saxpy.gfx1100.hsaco"];
    for name in ["amd", "amd-too"] {
        Build::new().files(amd).archs(["gfx90a", "gfx1100"]).compile(name);
    }
    let machine_code = ["../images/saxpy.gfx90a.hsaco", "../images/saxpy.sm_80.cubin"];
    let mut ptx = Module::new("ptx");
    // Without this filter, ptxas would also make machine code from the PTX.
    ptx.file("../images/saxpy.compute_80.ptx").supports(["compute_80"]);
    Build::new().files(machine_code).module(ptx).archs(["gfx90a", "sm_80", "compute_80"]).compile("mixed");"#;

/// The images, by their names in the prebuilt set of examples/saxpy.
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

/// `five` is in a different object than the packs, as in a larger library.
const LIBRARY: &str = concat!(packs!(), "\npub fn five() -> u32 { std::hint::black_box(5) }\n");

const KEPT: &str = r#"
use offload_gpu::KernelPack;

pub static AMD: KernelPack = offload_gpu::include_offload!("amd", retain);
pub static MIXED: KernelPack = offload_gpu::include_offload!("mixed", retain);
"#;

/// Checks the packs of `matrix-rlib`, which does not retain them, and lists the retained packs.
/// These are two of `matrix-kept`, one of the program, and a file of the program. Two packs have
/// the same content, and the packs that are not listed have the names of others.
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
