//! Tests of libraries whose code objects are in separate files, ROCm's kernel packs. The commands
//! must find the packs by the paths in the libraries, or print the paths that they tried. ROCm's
//! packer wrote the files in the corpus.

use crate::containers::with;
use crate::{
    assert_ends, assert_prints, assert_session, assert_transcript, json, list, offload, string,
};
use offload_tests::own::Ran;
use offload_tests::prelude::*;
use std::os::unix::fs::symlink;

pub const GFX906: &str = "demo_gfx906.kpack";
pub const GFX1100: &str = "demo_gfx1100.kpack";

fn folder(name: &str, files: &[&str]) -> PathBuf {
    let folder = scratch::folder(&format!("kernel-packs-{name}"));
    for file in files {
        scratch::write(folder.join(file), corpus_file(&format!("kpack/{file}")));
    }
    folder
}

/// Runs a command line, which must succeed and print no message.
#[track_caller]
fn succeeds(folder: &Path, line: &str) -> Ran {
    let ran = offload(folder, line);
    assert_ends(&ran, 0, "");
    ran
}

/// Returns a corpus file with the last occurrence of a text replaced by a text of the same length.
/// The last occurrence is the valid one, because ROCm's tool leaves an older copy before it.
pub fn patched(file: &str, from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let bytes = corpus_file(&format!("kpack/{file}"));
    let at = bytes.windows(from.len()).rposition(|window| window == from.as_bytes());
    with(&bytes, at.expect("it is there"), to.as_bytes())
}

#[test]
fn a_library_is_listed_with_its_packs() {
    let folder = folder("ls", &["libk.so", GFX906, GFX1100]);
    // The packs also contain entries for k.dll, which are not listed for libk.so.
    assert_transcript(&folder, "kernel_packs", "ls --kernels libk.so");
    let records = json(&succeeds(&folder, "ls --json libk.so"));
    let files: Vec<&str> = list(&records).iter().map(|it| string(&it["file"])).collect();
    assert_eq!(files, ["libk.so", GFX1100, GFX906]);
    assert_eq!(records[1]["images"][0]["target_id"], "gfx1100");
}

/// Tests the extraction of images. `none.kpack` contains the code object for gfx906, uncompressed.
#[test]
fn images_are_extracted() {
    let folder = folder("extract", &["libk.so", GFX906, GFX1100, "none.kpack"]);
    let lines = "
        cargo-offload extract --target gfx906 -o x libk.so
        cargo-offload extract --exact gfx906 -o y none.kpack && cmp x/* y/*gfx906.hsaco
        cargo-offload extract -o z libk.so";
    assert_session(&folder, "kernel_packs_extract", lines);
}

#[test]
fn a_device_gets_the_pack_for_it() {
    let folder = folder("select", &["libk.so", GFX906, GFX1100]);
    let lines = "select --device gfx1100 libk.so\nselect --device gfx90a libk.so";
    assert_transcript(&folder, "kernel_packs_select", lines);
    let ran = offload(&folder, "select -d gfx906:xnack- -o image --json libk.so");
    assert_eq!((ran.code, string(&json(&ran)["target_id"])), (0, "gfx906"));
    assert!(fs::read(folder.join("image")).unwrap().starts_with(b"\x7fELF"));
}

#[test]
fn sizes_and_checks() {
    let folder = folder("size", &["libk.so", "k.dll", "demo.kpm", GFX906, GFX1100]);
    let lines = format!("size libk.so\nverify libk.so k.dll {GFX906}");
    assert_transcript(&folder, "kernel_packs_checks", &lines);
    // Bytes 72 to 75 are the magic of the first compressed stream.
    let damaged = with(&corpus_file(&format!("kpack/{GFX906}")), 72, &[0x55; 4]);
    scratch::write(folder.join(GFX906), damaged);
    let ran = offload(&folder, "verify libk.so");
    assert_eq!(ran.code, 1);
    assert_prints(&ran, &["demo_gfx906.kpack: kpack [0]", "[decompress]"]);
    let warning = "warning: demo_gfx906.kpack: compressed container at offset 0: kpack code object cannot be decompressed";
    for line in ["extract -o x libk.so", "reach libk.so"] {
        let stderr = offload(&folder, line).stderr;
        assert!(stderr.contains(warning), "{line}: {stderr}");
    }
}

#[test]
fn packs_that_are_missing() {
    let folder = folder("missing", &["libk.so", "k.dll"]);
    // If several paths were tried, each is printed with its failure.
    let lines = "
        ls libk.so
        verify libk.so
        extract libk.so
        select -d gfx906 libk.so
        size libk.so
        ls k.dll";
    assert_transcript(&folder, "kernel_packs_missing", lines);
}

/// Returns the library whose wrapper, at offset 12568, names the entry with this number.
pub fn library_of_entry(number: u8) -> Vec<u8> {
    with(&corpus_file("kpack/libk.so"), 12568 + 16, &[number])
}

/// Tests packs that lack the entry that a wrapper names by its number.
#[test]
fn modules_that_packs_lack() {
    let checked = |folder: &Path| {
        let ran = offload(folder, "verify --notes libk.so");
        let lines = ran.stdout.lines().filter(|line| line.ends_with("[kernel-pack]"));
        (ran.code, lines.map(str::to_owned).collect::<Vec<_>>())
    };
    // No pack has the entry.
    let none = folder("lacks-none", &[GFX906, GFX1100]);
    scratch::write(none.join("libk.so"), library_of_entry(2));
    let missing = "libk.so: wrapper 2 has no code object, because no kernel pack has \
                   'lib/libk.so#2' [kernel-pack]";
    assert_eq!(checked(&none), (1, vec![missing.to_owned()]));
    assert_eq!(offload(&none, "select -d gfx906 libk.so").code, 1);
    assert_eq!(offload(&none, "reach --require gfx906 libk.so").code, 1);
    // Only one processor's pack lacks the entry.
    let one = folder("lacks-one", &[GFX906]);
    scratch::write(one.join("libk.so"), library_of_entry(0));
    scratch::write(one.join(GFX1100), patched(GFX1100, "lib/libk.so#0", "lib/libk.so#1"));
    let lacks = "libk.so: note: no kernel pack has gfx1100 code for lib/libk.so#0 [kernel-pack]";
    assert_eq!(checked(&one), (0, vec![lacks.to_owned()]));
    for (device, code) in [("gfx906", 0), ("gfx1100", 1)] {
        assert_eq!(offload(&one, &format!("select -d {device} libk.so")).code, code, "{device}");
        assert_eq!(offload(&one, &format!("reach --require {device} libk.so")).code, code);
    }
    // The pack for one mode lacks the entry, but the pack for all modes has it. Old loaders read
    // only the first of these packs.
    let mode = folder("lacks-mode", &["libk.so"]);
    let specific = patched("none.kpack", "lib/libk.so#0", "lib/libk.so#1");
    // Texts in the pack's table begin with their sizes. The table is at the end, so it may become
    // shorter.
    let mut plain = corpus_file("kpack/none.kpack");
    let long: &[u8] = b"\xadgfx90a:xnack-";
    while let Some(at) = plain.windows(long.len()).position(|window| window == long) {
        plain.splice(at..at + long.len(), *b"\xa6gfx90a");
    }
    scratch::write(mode.join("demo_gfx90a:xnack-.kpack"), specific);
    scratch::write(mode.join("demo_gfx90a.kpack"), plain);
    let late = "libk.so: note: ROCm 7.14 and older read only the kernel pack for gfx90a:xnack-, which lacks \
                lib/libk.so#0; newer versions find the missing entries in another pack [kernel-pack]";
    assert_eq!(checked(&mode).1, [late]);
    let ran = offload(&mode, "select -d gfx90a:sramecc+:xnack- libk.so");
    assert!(ran.stderr.contains("ROCm 7.14 and older"), "{}", ran.stderr);
}

#[test]
fn paths_of_other_folders_and_links() {
    let folder = scratch::folder("kernel-packs-folders");
    let library = |path: &str| patched("libk.so", "demo_@GFXARCH@.kpack", path);
    let gfx906 = corpus_file(&format!("kpack/{GFX906}"));
    scratch::write(folder.join("lib/libk.so"), library("../k/@GFXARCH@.kpack"));
    scratch::write(folder.join("k/gfx906.kpack"), &gfx906);
    scratch::write(folder.join("k/notes.kpack"), "no target in its name");
    let ran = succeeds(&folder, "ls lib/libk.so");
    assert_prints(&ran, &["\nlib/../k/gfx906.kpack  "]);
    // `@GFXARCH@` stands for the processor. It can also be the name of a folder.
    scratch::write(folder.join("lib/b.so"), library("./@GFXARCH@/ab.kpack"));
    scratch::write(folder.join("lib/gfx906/ab.kpack"), &gfx906);
    assert_prints(&succeeds(&folder, "ls lib/b.so"), &["lib/gfx906/ab.kpack  "]);
    // A library's paths are relative to the library's real folder, even if the library is opened
    // through a link in a different folder.
    symlink("lib/libk.so", folder.join("link.so")).unwrap();
    succeeds(&folder, "select -d gfx906 link.so");
}

#[test]
fn manifests() {
    let folder = folder("manifests", &["k.dll", "demo.kpm", GFX906, GFX1100]);
    // In `gone`, a file that the manifest lists is missing. In `outside`, the manifest lists a file
    // in a different folder, which is not allowed.
    for (file, bytes) in [
        ("gone/k.dll", corpus_file("kpack/k.dll")),
        ("gone/demo.kpm", corpus_file("kpack/demo.kpm")),
        ("gone/demo_gfx1100.kpack", corpus_file(&format!("kpack/{GFX1100}"))),
        ("outside/k.dll", corpus_file("kpack/k.dll")),
        ("outside/demo.kpm", patched("demo.kpm", GFX906, "../o_gfx906.kpack")),
        ("o_gfx906.kpack", corpus_file(&format!("kpack/{GFX906}"))),
    ] {
        scratch::write(folder.join(file), bytes);
    }
    let lines = "ls k.dll\nls demo.kpm\nls gone/k.dll\nls outside/k.dll";
    assert_transcript(&folder, "kernel_packs_manifests", lines);
}

#[test]
fn what_is_no_kernel_pack() {
    let folder = scratch::folder("kernel-packs-others");
    for place in ["text", "folder", "device"] {
        for file in ["libk.so", GFX1100] {
            let bytes = corpus_file(&format!("kpack/{file}"));
            scratch::write(folder.join(place).join(file), bytes);
        }
    }
    scratch::write(folder.join("text").join(GFX906), "some text");
    fs::create_dir(folder.join("folder").join(GFX906)).unwrap();
    // A device must be refused, because reading it may never end.
    symlink("/dev/zero", folder.join("device").join(GFX906)).unwrap();
    let lines = "ls text/libk.so\nls folder/libk.so\nverify device/libk.so";
    assert_transcript(&folder, "kernel_packs_others", lines);
}
