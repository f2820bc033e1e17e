//! Files that programs embed by path. Tests what a program contains for each kind of file, and that
//! the program changes with the file. The programs print their images, and LLVM's readers find the
//! images.

use super::{bundle, image};
use crate::linked_program::{Section, objdump_offloading, sections};
use crate::sources::{FORBID, pack};
use offload_format::offload_binary::{OffloadKind, StatedKind, Version};
use offload_tests::containers::binary;
use offload_tests::prelude::*;

/// A function that prints a pack's name, section, images and kernels. It panics unless the pack
/// starts with the file's bytes and the images are aligned.
const REPORT: &str = r#"
fn report(pack: &offload_gpu::KernelPack, file: &str) {
    let file = std::fs::read(format!("src/files/{file}")).unwrap_or_default();
    println!("{} {} {:?}", pack.name(), pack.section(), pack.absent());
    for module in pack.modules() {
        println!("module {}", module.name());
        for image in module.images() {
            let is_ptx = image.target().starts_with("compute");
            if !is_ptx {
                assert_eq!(image.as_ptr().addr() % 8, 0, "{image:?}");
            }
            let after = is_ptx.then(|| pack.bytes()[image.offset() + image.bytes().len()]);
            assert!(image.bytes() == &file[image.offset()..][..image.bytes().len()], "{image:?} differs from the file");
            assert_eq!(image.origin(), offload_gpu::Origin::Supplied);
            println!("{} {} {:?} {:?} {:?}", image.target(), image.kind(), image.kernels(), image.has_kernel("saxpy"), after);
        }
    }
    assert!(!file.is_empty(), "the file is empty");
    assert!(pack.bytes().starts_with(&file), "the pack differs from the file");
}
"#;

/// Returns a program that embeds a file from `src/files` and prints a report about the pack.
fn program_with(path: &str, file: &str, options: &str) -> String {
    let pack = pack("PACK", &format!("path = {path:?}{options}"));
    format!("{FORBID}{REPORT}{pack}fn main() {{ report(&PACK, {file:?}); }}\n")
}

/// A file's name and bytes, a text that `llvm-objdump --offloading` must print about it (unless
/// empty), and the output of the program that embeds the file.
struct Case(&'static str, Vec<u8>, &'static str, String);

#[test(LLVM.slow())]
fn files_of_every_kind_are_embedded() {
    let mut scenario = Scenario::without_sources("include_files");
    scenario.feature("offload-gpu", "files");
    let cases = cases();
    let name = |file: &str| file.replace('.', "-");
    for Case(file, bytes, ..) in &cases {
        scenario.write(&format!("src/files/{file}"), bytes);
        let program = program_with(&format!("../files/{file}"), file, "");
        scenario.write(&format!("src/bin/{}.rs", name(file)), program);
    }
    scenario.build().passes();
    for Case(file, _, listed, report) in cases {
        let program = scenario.program("debug", &name(file));
        assert_eq!(scenario.tool(&program).passes().stdout, report, "{file}");
        if !listed.is_empty() {
            let listing = objdump_offloading(&scenario, &program);
            assert!(listing.contains(listed), "{file}: no {listed} in\n{listing}");
        }
    }
}

fn cases() -> Vec<Case> {
    let ccob = corpus_file("compressed/v3_zstd.ccob");
    let group = corpus_file("nv_fatbin/group.fatbin");
    let (hsaco, cubin, ptx) =
        (image("saxpy.gfx90a.hsaco"), image("saxpy.sm_90.cubin"), image("saxpy.compute_80.ptx"));
    let code_object = "gfx90a code object Some([\"saxpy\"]) Some(true) None\n";
    let other = "gfx906:sramecc+:xnack+ code object Some([\"one\", \"two\"]) Some(false) None\n";
    let cubin_for = |target: &str| format!("{target} cubin Some([\"saxpy\"]) Some(true) None\n");
    let text = "compute_80 PTX Some([\"saxpy\"]) Some(true) Some(0)\n";
    let whole = |why| format!("Some(\"the file is {why}: PACK.bytes() has the whole file\")");
    let compressed = whole("compressed, so its images are not known when the program is compiled");
    let fatbin = whole("a fatbin, from which the CUDA driver chooses an image");
    let (amd, none) = ("hipv4-amdgcn-amd-amdhsa--gfx90a", "");
    // A program prints the pack's name, its section, the reason why it has no images, and then its
    // modules with their images.
    let one = |name: &str, section: &str, images: &str| {
        format!("{name} {section} None\nmodule {name}\n{images}")
    };
    let two = format!("two .hip_fatbin None\nmodule two.0\n{code_object}module two.1\n{other}");
    let mixed = format!("{code_object}{}{text}", cubin_for("sm_90a"));
    vec![
        Case("one.hipfb", bundle(&hsaco), amd, one("one", ".hip_fatbin", code_object)),
        Case("two.hipfb", two_bundles(), amd, two),
        Case(
            "mixed.offload",
            offload_binaries(),
            "sm_90a",
            one("mixed", ".llvm.offloading", &mixed),
        ),
        Case("bare.hsaco", hsaco, none, one("bare", ".rodata", code_object)),
        Case("bare.cubin", cubin, none, one("bare", ".rodata", &cubin_for("sm_90"))),
        Case("bare.ptx", ptx.clone(), none, one("bare", ".rodata", text)),
        // `clang --cuda-device-only -S` uses this file name.
        Case("clang.s", ptx, none, one("clang", ".rodata", text)),
        Case("nul.offload", ptx_that_ends_with_nul(), none, one("nul", ".llvm.offloading", text)),
        Case("small.ccob", ccob, none, format!("small .hip_fatbin {compressed}\nmodule small\n")),
        Case("linux.fatbin", group, none, format!("linux .nv_fatbin {fatbin}\nmodule linux\n")),
    ]
}

/// Returns offload binaries with a code object, a cubin and PTX.
fn offload_binaries() -> Vec<u8> {
    let (amd, nvidia) = ("amdgcn-amd-amdhsa", "nvptx64-nvidia-cuda");
    let (hsaco, cubin) = (image("saxpy.gfx90a.hsaco"), image("saxpy.sm_90.cubin"));
    let strings = |triple, arch| [("triple", triple), ("arch", arch)];
    let images = [
        (StatedKind::OBJECT, OffloadKind::HIP, &strings(amd, "gfx90a")[..], &hsaco[..]),
        (StatedKind::CUBIN, OffloadKind::CUDA, &strings(nvidia, "sm_90a"), &cubin),
        (StatedKind::PTX, OffloadKind::CUDA, &strings(nvidia, "compute_80"), &ptx()),
    ];
    binary(Version::V1, &images)
}

/// Returns PTX whose size leaves room for a NUL in a container.
fn ptx() -> Vec<u8> {
    let mut text = image("saxpy.compute_80.ptx");
    if text.len().is_multiple_of(8) {
        text.push(b'\n');
    }
    text
}

fn two_bundles() -> Vec<u8> {
    let mut bytes = bundle(&image("saxpy.gfx90a.hsaco"));
    bytes.resize(bytes.len().next_multiple_of(4096), 0);
    [bytes, bundle(&image("v3.hsaco"))].concat()
}

/// Returns an offload binary that ends with its PTX, whose last byte is a NUL.
fn ptx_that_ends_with_nul() -> Vec<u8> {
    let mut text = image("saxpy.compute_80.ptx");
    text.resize(text.len().next_multiple_of(8) + 7, b'\n');
    text.push(0);
    let image = (StatedKind::PTX, OffloadKind::CUDA, &[("arch", "compute_80")][..], &*text);
    let bytes = binary(Version::V1, &[image]);
    assert!(bytes.ends_with(b"\n\0"));
    bytes
}

#[test(LLVM)]
fn a_file_is_in_the_section_and_aligned_as_asked() {
    let mut scenario = Scenario::without_sources("include_section");
    scenario.feature("offload-gpu", "files");
    let options = ", section = \".my_kernels\", align = 65536";
    scenario
        .write("src/files/saxpy.hsaco", image("saxpy.gfx90a.hsaco"))
        .write("src/main.rs", program_with("files/saxpy.hsaco", "saxpy.hsaco", options));
    for profile in ["debug", "release"] {
        let printed = scenario.run().profile(profile).passes();
        assert!(printed.stdout.starts_with("saxpy .my_kernels None\n"), "{profile}: {printed}");
        let expected = Section::new(".my_kernels", "PROGBITS", "A", "65536");
        let program = scenario.program(profile, "include_section");
        assert_eq!(sections(&program, &[".my_kernels"]), [expected], "{profile}");
    }
}

/// Tests that Cargo builds again if the file changes, in both profiles.
#[test(NOTHING.slow())]
fn a_changed_file_is_embedded_anew() {
    let mut scenario = Scenario::without_sources("include_changed_file");
    scenario.feature("offload-gpu", "files");
    scenario.write("src/main.rs", program_with("files/saxpy.hipfb", "saxpy.hipfb", ""));
    for (folder, profile) in [("debug", "dev"), ("release", "release")] {
        for incremental in [true, false] {
            let option =
                format!("profile.{profile}.package.include_changed_file.incremental={incremental}");
            for (file, target) in [
                ("saxpy.gfx90a.hsaco", "gfx90a"),
                ("v3.hsaco", "gfx906:sramecc+:xnack+"),
                ("saxpy.gfx90a.hsaco", "gfx90a"),
            ] {
                scenario.write("src/files/saxpy.hipfb", bundle(&image(file)));
                let printed = scenario.run().profile(folder).args(["--config", &option]).passes();
                let is_new = printed.stdout.contains(&format!("\n{target} code object"));
                assert!(is_new, "{profile}, incremental={incremental}: {printed}");
            }
        }
    }
}
