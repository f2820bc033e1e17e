//! Tests of libraries whose code objects are in ROCm's kernel packs beside them. The packs are
//! found by the paths in the libraries; otherwise the tried paths are printed. The files are from
//! the corpus; ROCm's packer wrote them.

use crate::corpus_bytes;
use offload_tests::own;
use offload_tests::registry::NOTHING;
use offload_tests::scratch;
use offload_tests::tools::{stderr, stdout};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

offload_tests::tests! {
    NOTHING => [
        a_library_is_listed_with_its_packs,
        images_are_extracted,
        a_device_gets_the_pack_for_it,
        sizes_and_checks,
        packs_that_are_missing,
        paths_of_other_folders_and_links,
        manifests,
        what_is_no_kernel_pack,
        a_pack_by_itself,
    ],
}

const GFX906: &str = "demo_gfx906.kpack";
const GFX1100: &str = "demo_gfx1100.kpack";

/// Makes a folder with these files of the corpus.
fn folder(name: &str, files: &[&str]) -> PathBuf {
    let folder = scratch::folder(&format!("kernel-packs-{name}"));
    for file in files {
        scratch::write(folder.join(file), corpus_bytes(&format!("kpack/{file}")));
    }
    folder
}

/// Runs `cargo offload` in a folder, and returns its exit status and output.
fn offload(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output =
        Command::new(own::cargo_offload()).current_dir(folder).args(arguments).output().unwrap();
    (output.status.code().expect("no signal"), stdout(&output), stderr(&output))
}

/// Returns a file of the corpus in which the last occurrence of a text is replaced by another text
/// of the same length. The last occurrence is the valid one: ROCm's tool leaves an older copy of
/// the text before it.
fn patched(file: &str, from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut bytes = corpus_bytes(&format!("kpack/{file}"));
    let at = bytes
        .windows(from.len())
        .rposition(|window| window == from.as_bytes())
        .expect("it is there");
    bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
    bytes
}

fn a_library_is_listed_with_its_packs() {
    let folder = folder("ls", &["libk.so", GFX906, GFX1100]);
    let (status, out, err) = offload(&folder, &["ls", "libk.so"]);
    assert_eq!((status, err.as_str()), (0, ""), "{out}");
    assert!(out.starts_with("libk.so  28.9 KiB, its device code is in kernel packs\n"), "{out}");
    for line in [GFX906, GFX1100, "gfx906 ", "gfx1100 ", "lib/libk.so#0"] {
        assert!(out.contains(line), "{line} is not in {out}");
    }
    // The packs also contain entries for k.dll, which are not listed with libk.so.
    assert!(!out.contains("k.dll"), "{out}");
    let (status, out, _) = offload(&folder, &["ls", "--json", "libk.so"]);
    let records: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(status, 0);
    let files: Vec<&str> =
        records.as_array().unwrap().iter().map(|it| it["file"].as_str().unwrap()).collect();
    assert_eq!(files, ["libk.so", GFX1100, GFX906]);
    assert_eq!(records[1]["images"][0]["target_id"], "gfx1100");
    let (status, out, err) = offload(&folder, &["ls", "--kernels", "libk.so"]);
    assert_eq!((status, err.as_str()), (0, ""));
    assert!(out.contains("axpy"), "{out}");
}

fn images_are_extracted() {
    let folder = folder("extract", &["libk.so", GFX906, GFX1100, "none.kpack"]);
    let (status, out, err) =
        offload(&folder, &["extract", "--target", "gfx906", "-o", "x", "libk.so"]);
    assert_eq!((status, err.as_str()), (0, ""), "{out}");
    let written: Vec<PathBuf> = out.lines().map(|path| folder.join(path)).collect();
    let [image] = &written[..] else { panic!("{out}") };
    // `none.kpack` contains the same code object uncompressed.
    let (_, out, _) = offload(&folder, &["extract", "--exact", "gfx906", "-o", "y", "none.kpack"]);
    let plain = folder.join(out.lines().next().unwrap());
    assert!(fs::read(image).unwrap() == fs::read(plain).unwrap(), "another code object");
    let (status, out, _) = offload(&folder, &["extract", "-o", "z", "libk.so"]);
    assert_eq!((status, out.lines().count()), (0, 2), "{out}");
}

fn a_device_gets_the_pack_for_it() {
    let folder = folder("select", &["libk.so", GFX906, GFX1100]);
    let (status, out, err) = offload(&folder, &["select", "--device", "gfx1100", "libk.so"]);
    assert_eq!((status, err.as_str()), (0, ""), "{out}");
    assert!(out.starts_with("demo_gfx1100.kpack: gfx1100 gets\n"), "{out}");
    assert!(!out.contains("gfx906"), "{out}");
    let (status, out, _) = offload(&folder, &["select", "--device", "gfx90a", "libk.so"]);
    assert_eq!(status, 1, "{out}");
    assert!(out.contains("code for another processor"), "{out}");
    let (status, out, _) =
        offload(&folder, &["select", "-d", "gfx906:xnack-", "-o", "image", "--json", "libk.so"]);
    let record: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((status, &record["target_id"]), (0, &Value::from("gfx906")));
    assert!(fs::read(folder.join("image")).unwrap().starts_with(b"\x7fELF"));
}

fn sizes_and_checks() {
    let folder = folder("size", &["libk.so", "k.dll", "demo.kpm", GFX906, GFX1100]);
    let (status, out, err) = offload(&folder, &["size", "libk.so"]);
    assert_eq!(status, 0, "{out}");
    assert!(
        err.contains("its code objects are in demo_gfx906.kpack, which is not counted\n"),
        "{err}"
    );
    for file in ["libk.so", "k.dll", GFX906] {
        let (status, out, err) = offload(&folder, &["verify", file]);
        assert_eq!((status, err.as_str()), (0, ""), "{out}");
        assert!(out.starts_with(&format!("{file}: ok: ")), "{out}");
    }
    let mut damaged = corpus_bytes(&format!("kpack/{GFX906}"));
    // The bytes 72 to 75 are the magic of the first compressed stream.
    damaged[72..76].fill(0x55);
    scratch::write(folder.join(GFX906), damaged);
    let (status, out, _) = offload(&folder, &["verify", "libk.so"]);
    assert_eq!(status, 1);
    assert!(out.contains("demo_gfx906.kpack: kpack [0]") && out.contains("[decompress]"), "{out}");
}

fn packs_that_are_missing() {
    let folder = folder("missing", &["libk.so", "k.dll"]);
    let said = "its code objects are in kernel packs, and there is none for 'lib/libk.so'; tried demo_@GFXARCH@.kpack";
    let (status, out, err) = offload(&folder, &["ls", "libk.so"]);
    assert_eq!((status, err), (1, format!("warning: libk.so: {said}\n")), "{out}");
    let (status, out, _) = offload(&folder, &["verify", "libk.so"]);
    assert_eq!((status, out), (1, format!("libk.so: {said} [kernel-pack]\n")));
    for arguments in
        [&["extract", "libk.so"][..], &["select", "-d", "gfx906", "libk.so"], &["size", "libk.so"]]
    {
        let (status, _, err) = offload(&folder, arguments);
        assert_eq!(status, 1, "{arguments:?}");
        assert!(err.contains(said), "{arguments:?}: {err}");
    }
    // If several paths were tried, each is printed with the reason why it failed.
    let (_, _, err) = offload(&folder, &["ls", "k.dll"]);
    let both =
        "tried nothing.kpack (No such file or directory), demo.kpm (No such file or directory)\n";
    assert!(err.ends_with(both), "{err}");
}

fn paths_of_other_folders_and_links() {
    let folder = scratch::folder("kernel-packs-folders");
    scratch::write(
        folder.join("lib/libk.so"),
        patched("libk.so", "demo_@GFXARCH@.kpack", "../k/@GFXARCH@.kpack"),
    );
    scratch::write(folder.join("k/gfx906.kpack"), corpus_bytes(&format!("kpack/{GFX906}")));
    scratch::write(folder.join("k/notes.kpack"), "no target in its name");
    let (status, out, err) = offload(&folder, &["ls", "lib/libk.so"]);
    assert_eq!((status, err.as_str()), (0, ""), "{out}");
    assert!(out.contains("\nlib/../k/gfx906.kpack  "), "{out}");
    // The name of a folder can also be `@GFXARCH@`, which the processor replaces.
    scratch::write(
        folder.join("lib/b.so"),
        patched("libk.so", "demo_@GFXARCH@.kpack", "./@GFXARCH@/ab.kpack"),
    );
    scratch::write(folder.join("lib/gfx906/ab.kpack"), corpus_bytes(&format!("kpack/{GFX906}")));
    let (status, out, err) = offload(&folder, &["ls", "lib/b.so"]);
    assert_eq!((status, err.as_str()), (0, ""), "{out}");
    assert!(out.contains("lib/gfx906/ab.kpack  "), "{out}");
    // The library's paths are relative to the folder of the library, even if the library is opened
    // through a link in another folder.
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("lib/libk.so", folder.join("link.so")).unwrap();
        let (status, out, err) = offload(&folder, &["select", "-d", "gfx906", "link.so"]);
        assert_eq!((status, err.as_str()), (0, ""), "{out}");
    }
}

fn manifests() {
    let folder = folder("manifests", &["k.dll", "demo.kpm", GFX906, GFX1100]);
    let (status, out, err) = offload(&folder, &["ls", "k.dll"]);
    assert_eq!((status, err.as_str()), (0, ""), "{out}");
    assert!(out.contains("lib/k.dll#0") && !out.contains("libk.so"), "{out}");
    let (status, out, err) = offload(&folder, &["ls", "demo.kpm"]);
    assert_eq!((status, err.as_str()), (0, ""), "{out}");
    assert!(out.contains("lib/k.dll#0") && out.contains("lib/libk.so#0"), "{out}");
    // First, a file that the manifest lists is missing. Then the manifest lists a file in another
    // folder, which a manifest may not name.
    fs::remove_file(folder.join(GFX906)).unwrap();
    let (status, _, err) = offload(&folder, &["ls", "k.dll"]);
    assert_eq!(status, 1);
    assert!(
        err.contains("demo.kpm lists demo_gfx906.kpack (No such file or directory)\n"),
        "{err}"
    );
    scratch::write(folder.join("demo.kpm"), patched("demo.kpm", GFX906, "../o_gfx906.kpack"));
    scratch::write(
        folder.parent().unwrap().join("o_gfx906.kpack"),
        corpus_bytes(&format!("kpack/{GFX906}")),
    );
    let (status, out, err) = offload(&folder, &["ls", "k.dll"]);
    assert_eq!(status, 1);
    assert!(
        err.contains("demo.kpm: name of a file in the kpack manifest (with a folder) is malformed"),
        "{err}"
    );
    assert!(!out.contains("gfx906"), "{out}");
}

fn what_is_no_kernel_pack() {
    let folder = folder("others", &["libk.so", GFX1100]);
    scratch::write(folder.join(GFX906), "some text");
    let (status, out, err) = offload(&folder, &["ls", "libk.so"]);
    assert_eq!(
        (status, err.as_str()),
        (1, "warning: libk.so: demo_gfx906.kpack: not a kernel pack\n")
    );
    assert!(out.contains("gfx1100"), "{out}");
    fs::remove_file(folder.join(GFX906)).unwrap();
    fs::create_dir(folder.join(GFX906)).unwrap();
    let (status, _, err) = offload(&folder, &["ls", "libk.so"]);
    assert_eq!(status, 1);
    assert!(
        err.contains("demo_gfx906.kpack: not a regular file, as kernel packs must be\n"),
        "{err}"
    );
    // A device is refused, because reading it may never end.
    #[cfg(unix)]
    {
        fs::remove_dir(folder.join(GFX906)).unwrap();
        std::os::unix::fs::symlink("/dev/zero", folder.join(GFX906)).unwrap();
        let (status, _, err) = offload(&folder, &["verify", "libk.so"]);
        assert_eq!((status, err.as_str()), (1, ""));
    }
}

fn a_pack_by_itself() {
    let folder = folder("itself", &["none.kpack", "zstd.kpack"]);
    let listed = |file: &str| {
        let (status, out, _) = offload(&folder, &["ls", "--json", file]);
        let record: Value = serde_json::from_str(&out).unwrap();
        let facts = record["images"].as_array().unwrap().iter().map(|image| {
            ["target_id", "module", "container", "size", "sha256"]
                .map(|field| image[field].to_string())
                .join(" ")
        });
        (status, facts.collect::<Vec<_>>())
    };
    let (none, zstd) = (listed("none.kpack"), listed("zstd.kpack"));
    assert_eq!((none.0, none.1.len()), (0, 3));
    // The pack without compression and the one with zstd contain the same images.
    assert_eq!(none, zstd);
}
