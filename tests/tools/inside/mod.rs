//! Tests of files inside wheels and other archives. For an archive, the commands of `cargo offload`
//! must print the same as for the files themselves. Malicious archives must cause an error that
//! describes the problem.
//!
//! Tests create their archives at run time: with Python, whose writers are independent of ours, or
//! byte by byte. Set-up stores only some files of the published wheels, so the tests pack these
//! files into wheels again.

mod damaged;
mod hostile;
pub mod made;

use crate::containers::binary;
use crate::size::check_sums;
use crate::{assert_ends, assert_prints, assert_transcript, list, number, offload, string};
use made::{Entry, deb, python, zip};
use offload_format::offload_binary::{OffloadKind, StatedKind, Version};
use offload_tests::prelude::*;
use offload_tests::published;
use serde_json::Value;
use std::os::unix::fs::symlink;

#[track_caller]
fn json(folder: &Path, line: &str) -> Value {
    crate::json(&offload(folder, &format!("{line} --json")))
}

fn by_name(files: &Value) -> BTreeMap<&str, &Value> {
    list(files).iter().map(|file| (string(&file["file"]), file)).collect()
}

/// Asserts that `ls` lists the archive's files like the files themselves: as JSON, with every
/// kernel and the hashes of all images, and as text.
#[track_caller]
fn assert_lists_as_files(folder: &Path, archive: &str, files: &[&str]) {
    let inside = json(folder, &format!("ls {archive}"));
    let plain = json(folder, &format!("ls {}", files.join(" ")));
    let plain = if files.len() == 1 { Value::Array(vec![plain]) } else { plain };
    assert_eq!(by_name(&inside["files"]), by_name(&plain), "{archive}");
    assert_same_text(folder, archive, files, "--kernels --bytes");
}

/// Asserts that the text for the archive equals the text for its files.
#[track_caller]
fn assert_same_text(folder: &Path, archive: &str, files: &[&str], options: &str) {
    let sorted = |text: &str| {
        let mut blocks: Vec<_> = text.trim_end().split("\n\n").map(str::to_owned).collect();
        blocks.sort_unstable();
        blocks
    };
    let inside = offload(folder, &format!("ls {archive} {options}"));
    assert_ends(&inside, 0, "");
    let (_, inside) =
        inside.stdout.split_once("\n\n").expect("a line about the archive, then the files");
    let plain = offload(folder, &format!("ls {options} {}", files.join(" "))).stdout;
    assert_eq!(sorted(inside), sorted(&plain), "{archive}");
}

/// Writes corpus files with device code into a folder.
fn some_files(folder: &Path) -> [&'static str; 3] {
    for (from, to) in [
        ("fat_file/hip_nordc_compressed.o", "lib/deep/hip.o"),
        ("nv_fatbin/lz4_12.4.fatbin", "lib/saxpy.fatbin"),
        ("archive/lib.a", "lib.a"),
    ] {
        scratch::write(folder.join(to), corpus_file(from));
    }
    scratch::write(folder.join("README"), "no device code");
    ["lib/deep/hip.o", "lib/saxpy.fatbin", "lib.a"]
}

#[test(needs(&[Tool::Python]).slow())]
fn each_kind_of_archive() {
    let folder = scratch::folder("inside-kinds");
    let files = some_files(&folder);
    let made = |archive: &str| {
        python(&folder, archive, &["README", "lib/deep/hip.o", "lib/saxpy.fatbin", "lib.a"]);
        fs::read(folder.join(archive)).expect("it was made")
    };
    let [tar, gz, xz] = ["plain.tar", "a.tar.gz", "a.tar.xz"].map(made);
    let zst = zstd::encode_all(&tar[..], 3).expect("it is compressed");
    let conda = [
        Entry::new(b"metadata.json", b"{\"conda_pkg_format_version\": 2}"),
        Entry::new(b"pkg-a-1-0.tar.zst", &zst),
    ];
    for (archive, kind, words, bytes) in [
        ("stored.zip", "zip", "zip archive", made("stored.zip")),
        ("deflated.whl", "zip", "zip archive", made("deflated.whl")),
        ("plain.tar", "tar", "tar archive", tar.clone()),
        ("a.tar.gz", "tar.gz", "gzip-compressed tar archive", gz.clone()),
        ("a.crate", "tar.gz", "gzip-compressed tar archive", made("a.crate")),
        ("a.tar.xz", "tar.xz", "xz-compressed tar archive", xz.clone()),
        ("pax.tar", "tar", "tar archive", made("pax.tar")),
        ("a.tar.zst", "tar.zst", "zstd-compressed tar archive", zst.clone()),
        ("a-1-0.conda", "zip", "zip archive", zip(&conda)),
        ("gz.deb", "deb", "Debian package", deb("data.tar.gz", &gz)),
        ("xz.deb", "deb", "Debian package", deb("data.tar.xz", &xz)),
        ("zst.deb", "deb", "Debian package", deb("data.tar.zst", &zst)),
        ("plain.deb", "deb", "Debian package", deb("data.tar", &tar)),
    ] {
        scratch::write(folder.join(archive), bytes);
        assert_lists_as_files(&folder, archive, &files);
        assert_eq!(json(&folder, &format!("ls {archive}"))["archive"], kind);
        let listed = offload(&folder, &format!("ls {archive}")).stdout;
        let first = listed.lines().next().expect("a line");
        assert!(first.ends_with(&format!("{words} with 14.9 KiB of images in 3 files")), "{first}");
    }
    // A single compressed file must be listed under its original name.
    python(&folder, "lib/saxpy.fatbin.gz", &["lib/saxpy.fatbin"]);
    let list = json(&folder, "ls lib/saxpy.fatbin.gz");
    assert_eq!(list["files"][0]["file"], "saxpy.fatbin");
    assert_eq!(list["files"][0]["images"], json(&folder, "ls lib/saxpy.fatbin")["images"]);
}

#[test(needs(&[Tool::Python, Tool::PublishedRocm, Tool::PublishedCuda]).slow())]
fn published_wheels() {
    let mut wheels: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for file in published::ROCM.into_iter().chain(published::CUDA) {
        let (wheel, name) = file.split_once('/').expect("a folder for each wheel");
        wheels.entry(wheel).or_default().push(name);
    }
    assert!(wheels.len() >= 7, "{wheels:?}");
    for (wheel, files) in wheels {
        let folder = scratch::folder(&format!("inside-wheels/{wheel}"));
        let top = files[0].split('/').next().expect("a name");
        symlink(published::path(wheel).join(top), folder.join(top)).expect("it can be made");
        python(&folder, "a.whl", &files);
        match wheel {
            // The files in other wheels are larger: hashing their decompressed images would take
            // minutes, so compare only the text.
            "bitsandbytes-windows" | "jax-rocm7-plugin" | "nvidia-nvjpeg" => {
                assert_lists_as_files(&folder, "a.whl", &files);
            }
            _ => assert_same_text(&folder, "a.whl", &files, "--bytes"),
        }
        fs::remove_file(folder.join("a.whl")).expect("it was made");
    }
}

#[test(needs(&[Tool::Python]))]
fn each_command() {
    let folder = scratch::folder("inside-commands");
    let files = some_files(&folder);
    python(&folder, "a.whl", &files);

    let cut = corpus_file("nv_fatbin/lz4_12.4.fatbin");
    scratch::write(folder.join("cut.fatbin"), &cut[..cut.len() - 100]);
    python(&folder, "damaged.whl", &["lib.a", "cut.fatbin"]);
    let lines = "
        verify a.whl
        verify cut.fatbin
        verify damaged.whl
        extract a.whl -o none -t gfx1201
        select a.whl -d sm_90";
    assert_transcript(&folder, "inside", lines);

    // The extracted images must have the same names as without the archive.
    assert_ends(&offload(&folder, "extract a.whl -o out -t sm_90"), 0, "");
    offload(&folder, "extract lib/saxpy.fatbin -o alone -t sm_90");
    assert_eq!(scratch::contents(&folder.join("out")), scratch::contents(&folder.join("alone")));
    let document = json(&folder, "select a.whl -d sm_90");
    let chosen = &by_name(&document["files"])["lib/saxpy.fatbin"]["modules"][0]["image"];
    assert_eq!(*chosen, json(&folder, "select lib/saxpy.fatbin -d sm_90"));

    // Every byte of the archive must be counted once.
    python(&folder, "plain.tar", &files);
    python(&folder, "a.tar.gz", &files);
    for archive in ["a.whl", "plain.tar", "a.tar.gz"] {
        for options in [&[][..], &["--kernels"]] {
            let sizes = check_sums(&folder.join(archive), options);
            let images: u64 = list(&sizes["images"]).iter().map(|it| number(&it["bytes"])).sum();
            assert!(images > number(&sizes["size"]) / 10, "{archive}: {sizes}");
        }
    }
    let ran = offload(&folder, "size a.whl --by module --html page.html");
    assert_eq!(ran.code, 0, "{ran:?}");
    let ran = offload(&folder, "size a.whl --by module");
    assert_prints(&ran, &["  lib/saxpy.fatbin: saxpy\n", "  lib.a: func_1.o\n"]);
}

/// Checks the extension of images for the CPU: a shared object, which `dlopen` loads, or an object.
#[test]
fn shared_objects_are_called_so() {
    let folder = scratch::folder("inside-so");
    for (file_type, extension) in [(3u8, "so"), (1, "o")] {
        let mut image = [0; 64];
        image[..6].copy_from_slice(b"\x7fELF\x02\x01");
        (image[16], image[18]) = (file_type, 62);
        let triple: &[_] = &[("triple", "x86_64-unknown-linux-gnu")];
        let image = (StatedKind::OBJECT, OffloadKind::NONE, triple, &image[..]);
        scratch::write(folder.join("pack"), binary(Version::V1, &[image]));
        let expected = format!("./pack.0.none.x86_64-unknown-linux-gnu.{extension}\n");
        assert_eq!(offload(&folder, "extract pack").stdout, expected);
    }
}

#[test]
fn archives_inside_are_named() {
    let folder = scratch::folder("inside-nested");
    let entries = [
        Entry::new(b"inner.zip", &zip(&[Entry::new(b"a", b"b")])),
        Entry::new(b"x/y.deb", &deb("data.tar", &[])),
        Entry::new(b"y.7z", b"7z\xbc\xaf\x27\x1c\0\0"),
        Entry::new(b"page.gz", b"\x1f\x8b\x08\0"),
        Entry::new(b"saxpy.cubin", &corpus_file("image/saxpy.sm_90.cubin")),
    ];
    scratch::write(folder.join("outer.zip"), zip(&entries));
    scratch::write(folder.join("only.zip"), zip(&entries[..2]));
    assert_transcript(&folder, "inside_archives", "ls outer.zip\nls only.zip");
}

#[test]
fn what_is_not_opened_is_named() {
    let folder = scratch::folder("inside-unopened");
    let mut lines = String::new();
    for (name, bytes) in [
        ("a.7z", &b"7z\xbc\xaf\x27\x1c\0\x04"[..]),
        ("a.rpm", b"\xed\xab\xee\xdb\x03\0"),
        ("a.tar.bz2", b"BZh91AY&SY"),
        ("a.rar", b"Rar!\x1a\x07\x01\0"),
        ("bz.deb", &deb("data.tar.bz2", b"BZh91AY&SY")),
    ] {
        scratch::write(folder.join(name), bytes);
        for command in ["ls", "verify", "size", "extract", "select -d sm_90"] {
            lines += &format!("{command} {name}\n");
        }
    }
    assert_transcript(&folder, "inside_unopened", &lines);
}
