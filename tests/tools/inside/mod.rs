//! Tests of files inside wheels and other archives. The commands of `cargo offload` print the same
//! for them as for the files themselves, and malicious archives cause an error that describes the
//! problem.
//!
//! A test makes its archives when it runs: with Python, which has its own writers, or byte by byte.
//! From the published wheels, set-up keeps only some files. So the tests pack these files into
//! wheels again.

mod hostile;
pub mod made;

use crate::{corpus_path, text};
use made::{deb, python};
use offload_format::offload_binary::{ImageKind, OffloadBinaryBuilder, OffloadKind, Version};
use offload_tests::own::{self, Ran, run};
use offload_tests::registry::{NOTHING, needs};
use offload_tests::tools::Tool;
use offload_tests::{published, scratch};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

offload_tests::tests! {
    NOTHING => [archives_inside_are_named, what_is_not_opened_is_named, shared_objects_are_called_so],
    needs(&[Tool::Python]) => [each_kind_of_archive, each_command],
    needs(&[Tool::Python, Tool::PublishedRocm, Tool::PublishedCuda]).slow() => [published_wheels];
    hostile::tests(),
}

/// Runs `cargo offload` in a folder.
fn offload(folder: &Path, arguments: &[&str]) -> Ran {
    run(own::offload(arguments).current_dir(folder))
}

#[track_caller]
fn json(folder: &Path, arguments: &[&str]) -> Value {
    let ran = offload(folder, &[arguments, &["--json"]].concat());
    serde_json::from_str(&ran.stdout)
        .unwrap_or_else(|error| panic!("{arguments:?}: {error}\n{ran:?}"))
}

/// Returns the JSON objects of files, by their names.
fn by_name(files: &Value) -> BTreeMap<String, &Value> {
    let files = files.as_array().expect("an array").iter();
    files.map(|file| (file["file"].as_str().expect("a name").to_owned(), file)).collect()
}

/// Asserts that the JSON for files in the archive is the JSON for the files themselves: with every
/// kernel, and hashes of all images.
#[track_caller]
fn assert_same_json(folder: &Path, archive: &str, files: &[&str]) {
    let list = json(folder, &["ls", archive]);
    let plain = json(folder, &[&["ls"], files].concat());
    let plain = if files.len() == 1 { Value::Array(vec![plain]) } else { plain };
    assert_eq!(by_name(&list["files"]), by_name(&plain), "{archive}");
}

/// Asserts that `ls` lists the archive's files as it lists the files themselves, both as JSON and
/// as text.
#[track_caller]
fn assert_lists_as_files(folder: &Path, archive: &str, files: &[&str]) {
    assert_same_json(folder, archive, files);
    assert_same_text(folder, archive, files, &["--kernels", "--bytes"]);
}

/// Asserts that the text output for the archive equals the output for its files.
#[track_caller]
fn assert_same_text(folder: &Path, archive: &str, files: &[&str], options: &[&str]) {
    let list = offload(folder, &[&["ls", archive], options].concat());
    assert_eq!((list.code, list.stderr.as_str()), (0, ""), "{archive}: {}", list.stdout);
    let (_, listed) =
        list.stdout.split_once("\n\n").expect("a line about the archive, then the files");
    let mut listed: Vec<&str> = listed.trim_end().split("\n\n").collect();
    let plain = offload(folder, &[&["ls"], options, files].concat()).stdout;
    let mut plain: Vec<&str> = plain.trim_end().split("\n\n").collect();
    listed.sort_unstable();
    plain.sort_unstable();
    assert_eq!(listed, plain, "{archive}");
}

/// Writes files of the corpus that have device code into a folder.
fn some_files(folder: &Path) -> [&'static str; 3] {
    for (from, to) in [
        ("fat_file/hip_nordc_compressed.o", "lib/deep/hip.o"),
        ("nv_fatbin/lz4_12.4.fatbin", "lib/saxpy.fatbin"),
        ("archive/lib.a", "lib.a"),
    ] {
        let to = folder.join(to);
        fs::create_dir_all(to.parent().expect("a folder"))
            .expect("the target folder can be written");
        fs::copy(corpus_path(from), to).expect("the target folder can be written");
    }
    scratch::write(folder.join("README"), "no device code");
    ["lib/deep/hip.o", "lib/saxpy.fatbin", "lib.a"]
}

fn each_kind_of_archive() {
    let folder = scratch::folder("inside-kinds");
    let files = some_files(&folder);
    let packed = ["README", "lib/deep/hip.o", "lib/saxpy.fatbin", "lib.a"];
    let mut kinds = Vec::new();
    for (archive, kind, words) in [
        ("stored.zip", "zip", "zip archive"),
        ("deflated.whl", "zip", "zip archive"),
        ("plain.tar", "tar", "tar archive"),
        ("a.tar.gz", "tar.gz", "gzip-compressed tar archive"),
        ("a.crate", "tar.gz", "gzip-compressed tar archive"),
        ("a.tar.xz", "tar.xz", "xz-compressed tar archive"),
        ("pax.tar", "tar", "tar archive"),
    ] {
        python(&folder, archive, &packed);
        kinds.push((archive, kind, words));
    }
    let tar = fs::read(folder.join("plain.tar")).expect("it was made");
    scratch::write(
        folder.join("a.tar.zst"),
        zstd::encode_all(&tar[..], 3).expect("it is compressed"),
    );
    kinds.push(("a.tar.zst", "tar.zst", "zstd-compressed tar archive"));
    for (package, name, data) in [
        ("gz.deb", "data.tar.gz", fs::read(folder.join("a.tar.gz"))),
        ("xz.deb", "data.tar.xz", fs::read(folder.join("a.tar.xz"))),
        ("zst.deb", "data.tar.zst", fs::read(folder.join("a.tar.zst"))),
        ("plain.deb", "data.tar", Ok(tar)),
    ] {
        scratch::write(folder.join(package), deb(name, &data.expect("it was made")));
        kinds.push((package, "deb", "package of Debian"));
    }
    for (archive, kind, words) in kinds {
        assert_lists_as_files(&folder, archive, &files);
        assert_eq!(json(&folder, &["ls", archive])["archive"], kind);
        let first = offload(&folder, &["ls", archive]).stdout;
        let first = first.lines().next().expect("a line");
        assert!(first.ends_with(&format!("{words} with 14.9 KiB of images in 3 files")), "{first}");
    }
    // A single compressed file is listed under its original name.
    python(&folder, "lib/saxpy.fatbin.gz", &["lib/saxpy.fatbin"]);
    let list = json(&folder, &["ls", "lib/saxpy.fatbin.gz"]);
    assert_eq!(list["files"][0]["file"], "saxpy.fatbin");
    assert_eq!(list["files"][0]["images"], json(&folder, &["ls", "lib/saxpy.fatbin"])["images"]);
}

fn published_wheels() {
    let mut wheels: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for file in published::ROCM.into_iter().chain(published::CUDA) {
        let (wheel, name) = file.split_once('/').expect("a folder for each wheel");
        wheels.entry(wheel).or_default().push(name);
    }
    assert!(wheels.len() >= 7, "{wheels:?}");
    let out = scratch::folder("inside-wheels");
    for (wheel, files) in wheels {
        let folder = published::path(wheel);
        let packed = out.join(format!("{wheel}.whl"));
        python(&folder, text(&packed), &files);
        match wheel {
            // The files of other wheels are larger, and hashing their decompressed content takes
            // minutes, so only the text is compared.
            "bitsandbytes-windows" | "jax-rocm7-plugin" | "nvidia-nvjpeg" => {
                assert_lists_as_files(&folder, text(&packed), &files);
            }
            _ => assert_same_text(&folder, text(&packed), &files, &["--bytes"]),
        }
        fs::remove_file(packed).expect("it was made");
    }
}

fn each_command() {
    let folder = scratch::folder("inside-commands");
    let files = some_files(&folder);
    python(&folder, "a.whl", &files);

    let ran = offload(&folder, &["verify", "a.whl"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (0, "a.whl: ok: zip archive with 14.9 KiB of images in 3 files\n")
    );
    let mut damaged = fs::read(folder.join("lib/saxpy.fatbin")).expect("it is there");
    damaged.truncate(damaged.len() - 100);
    scratch::write(folder.join("cut.fatbin"), damaged);
    python(&folder, "damaged.whl", &["lib.a", "cut.fatbin"]);
    let ran = offload(&folder, &["verify", "damaged.whl"]);
    let alone = offload(&folder, &["verify", "cut.fatbin"]);
    assert_eq!(ran.code, 1);
    assert_eq!(
        ran.stdout,
        alone.stdout.replace("cut.fatbin: ", "damaged.whl: cut.fatbin: "),
        "{ran:?}"
    );

    // The names of the extracted images are the same as if the file were not in an archive.
    let out = folder.join("out");
    let ran = offload(&folder, &["extract", "a.whl", "-o", text(&out), "-t", "sm_90"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let alone = folder.join("alone");
    offload(&folder, &["extract", "lib/saxpy.fatbin", "-o", text(&alone), "-t", "sm_90"]);
    assert_eq!(contents(&out), contents(&alone));
    let ran = offload(&folder, &["extract", "a.whl", "-o", "none", "-t", "gfx1201"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("a.whl has no image for gfx1201\n  there is:\n"), "{}", ran.stderr);
    assert!(ran.stderr.contains("    sm_90\n"), "{}", ran.stderr);

    let ran = offload(&folder, &["select", "a.whl", "-d", "sm_90"]);
    assert_eq!(ran.code, 0);
    assert!(
        ran.stdout.contains("a.whl: lib/saxpy.fatbin: sm_90 gets\n  sm_90  "),
        "{}",
        ran.stdout
    );
    assert!(
        ran.stdout.contains("a.whl: lib.a: no image for sm_90 in any of 2 modules\n"),
        "{}",
        ran.stdout
    );
    let document = json(&folder, &["select", "a.whl", "-d", "sm_90"]);
    let chosen = &by_name(&document["files"])["lib/saxpy.fatbin"]["modules"][0]["image"];
    assert_eq!(*chosen, json(&folder, &["select", "lib/saxpy.fatbin", "-d", "sm_90"]));

    // Every byte of the archive counts once.
    for archive in ["a.whl", "plain.tar", "a.tar.gz"] {
        if archive != "a.whl" {
            python(&folder, archive, &files);
        }
        for more in [&[][..], &["--kernels"]] {
            let sizes = json(&folder, &[&["size", archive], more].concat());
            let sum = |part: &str| {
                let parts = sizes[part].as_array().expect("an array").iter();
                parts.map(|it| it["bytes"].as_u64().expect("a number")).sum::<u64>()
            };
            let size = fs::metadata(folder.join(archive)).expect("it was made").len();
            assert_eq!(sizes["size"], size, "{archive}");
            let all =
                sum("images") + sum("containers") + sizes["rest_bytes"].as_u64().expect("a number");
            assert_eq!(all, size, "{archive} {more:?}");
            assert!(sum("images") > size / 10, "{archive}: {sizes}");
        }
    }
    let ran = offload(&folder, &["size", "a.whl", "--by", "module"]);
    assert!(ran.stdout.contains("  lib/saxpy.fatbin: saxpy\n"), "{}", ran.stdout);
    assert!(ran.stdout.contains("  lib.a: func_1.o\n"), "{}", ran.stdout);
    let ran = offload(&folder, &["size", "a.whl", "--html", "page.html"]);
    assert_eq!(ran.code, 0, "{ran:?}");
}

/// Checks the extension of an image for the CPU: a shared object, which `dlopen` loads, or an
/// object.
fn shared_objects_are_called_so() {
    let folder = scratch::folder("inside-so");
    for (file_type, extension) in [(3u8, "so"), (1, "o")] {
        let mut image = vec![0; 64];
        image[..6].copy_from_slice(b"\x7fELF\x02\x01");
        (image[16], image[18]) = (file_type, 62);
        let mut builder = OffloadBinaryBuilder::new();
        builder
            .image(ImageKind::OBJECT, OffloadKind::NONE, 64)
            .string("triple", "x86_64-unknown-linux-gnu");
        scratch::write(folder.join("pack"), builder.layout(Version::V1).to_vec(&[&image]));
        let ran = offload(&folder, &["extract", "pack"]);
        assert_eq!(
            ran.stdout,
            format!("./pack.0.none.x86_64-unknown-linux-gnu.{extension}\n"),
            "{ran:?}"
        );
    }
}

/// Returns the files of a folder.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = fs::read_dir(folder).expect("a folder").flatten();
    files.map(|file| (file.file_name().into(), fs::read(file.path()).expect("a file"))).collect()
}

fn archives_inside_are_named() {
    let folder = scratch::folder("inside-nested");
    let inner = made::zip(&[made::Entry::new(b"a", b"b")]);
    let package = deb("data.tar", &[]);
    let image = fs::read(corpus_path("image/saxpy.sm_90.cubin")).expect("it is there");
    let entries = [
        made::Entry::new(b"inner.zip", &inner),
        made::Entry::new(b"x/y.deb", &package),
        made::Entry::new(b"y.7z", b"7z\xbc\xaf\x27\x1c\0\0"),
        made::Entry::new(b"page.gz", b"\x1f\x8b\x08\0"),
        made::Entry::new(b"saxpy.cubin", &image),
    ];
    scratch::write(folder.join("outer.zip"), made::zip(&entries));
    let ran = offload(&folder, &["ls", "outer.zip"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.contains("in 1 file\n"), "{}", ran.stdout);
    assert_eq!(
        ran.stderr,
        "note: outer.zip: not looked into, as archives inside of an archive are not opened: inner.zip (a zip \
         archive), x/y.deb (a package of Debian), y.7z (a 7z archive) and 1 more\n"
    );
    scratch::write(folder.join("only.zip"), made::zip(&entries[..2]));
    let ran = offload(&folder, &["ls", "only.zip"]);
    assert!(
        ran.stdout
            .contains("zip archive, no device code but in archives inside, which are not opened\n"),
        "{ran:?}"
    );
}

fn what_is_not_opened_is_named() {
    let folder = scratch::folder("inside-unopened");
    for (name, bytes, what) in [
        ("a.7z", &b"7z\xbc\xaf\x27\x1c\0\x04"[..], "a 7z archive"),
        ("a.rpm", b"\xed\xab\xee\xdb\x03\0", "an RPM package"),
        ("a.tar.bz2", b"BZh91AY&SY", "a file compressed with bzip2"),
        ("a.rar", b"Rar!\x1a\x07\x01\0", "a RAR archive"),
    ] {
        scratch::write(folder.join(name), bytes);
        let message = format!(
            "{name}: this is {what}, which offload cannot open: unpack it, and name its files"
        );
        for arguments in
            [&["ls"][..], &["verify"], &["size"], &["extract"], &["select", "-d", "sm_90"]]
        {
            let ran = offload(&folder, &[arguments, &[name]].concat());
            assert_eq!(ran.code, 1, "{arguments:?} {ran:?}");
            assert!(ran.stderr.contains(&message), "{arguments:?} {ran:?}");
        }
    }
    scratch::write(folder.join("bz.deb"), deb("data.tar.bz2", b"BZh91AY&SY"));
    let ran = offload(&folder, &["ls", "bz.deb"]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.stderr
            .contains("bz.deb: data.tar.bz2: is a file compressed with bzip2, which offload cannot open; dpkg-deb"),
        "{ran:?}"
    );
}
