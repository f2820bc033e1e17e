//! Tests of malicious and damaged files: names that lead to other folders, impossible sizes, and
//! bytes that thousands of images share.

use super::{extract, images};
use crate::containers::{archive, binary, shared_binary, shared_bundle, with};
use crate::{assert_transcript, json, list, offload, text};
use offload_format::compression::Method;
use offload_format::offload_binary::{OffloadBinaryBuilder, OffloadKind, StatedKind, Version};
use offload_tests::prelude::*;

const BAD_NAMES: [&str; 12] = [
    "../../../../tmp/evil",
    "/etc/passwd",
    "..",
    ".",
    "",
    "a\u{1b}[31mred\u{7}\n\r\tx",
    "nul\0byte",
    "C:\\Windows\\system32",
    "gfx906\u{202e}\u{9b}31mtxt",
    "con",
    "a?*<>|\"b",
    "-rf",
];

/// Writes files with hostile names wherever a container has names: in bundle entries, strings of
/// offload binaries, and archive members.
pub fn hostile_files(folder: &Path) -> Vec<PathBuf> {
    let long = "x".repeat(10_000);
    let names: Vec<&str> = BAD_NAMES.into_iter().chain([long.as_str()]).collect();
    let ids: Vec<_> = names.iter().map(|name| format!("hip-amdgcn-amd-amdhsa--{name}")).collect();
    let images = names.iter().enumerate().map(|(number, name)| {
        let strings = ["triple", "arch", "module"].map(|key| (key, *name));
        (StatedKind::OBJECT, OffloadKind::HIP, strings, some_bytes(number, 32))
    });
    let image = corpus_file("image/saxpy.gfx90a.hsaco");
    let of_archive =
        |name: &&str| !name.is_empty() && !name.contains(['\0', '\n', '/']) && name.len() < 1000;
    let members: Vec<(&str, &[u8])> =
        names.iter().copied().filter(of_archive).map(|name| (name, &image[..])).collect();
    let files = [
        ("bad.bundle", shared_bundle(&ids, &some_bytes(0, 24))),
        ("bad.bin", binary(Version::V2, &images.collect::<Vec<_>>())),
        ("bad.a", archive(&members)),
    ];
    files
        .into_iter()
        .map(|(name, bytes)| {
            scratch::write(folder.join(name), bytes);
            folder.join(name)
        })
        .collect()
}

pub fn everything_in(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            all.extend(everything_in(&path));
        }
        all.push(path);
    }
    all
}

/// Runs `work`, which may write only in the folder `out`. Both folders are below `folder`.
#[track_caller]
pub fn assert_stays_in<T>(folder: &Path, out: &Path, work: impl FnOnce() -> T) -> T {
    let before = everything_in(folder);
    let result = work();
    let after = everything_in(folder);
    let is_fine = |it: &PathBuf| before.contains(it) || it.starts_with(out) || out.starts_with(it);
    assert!(after.iter().all(is_fine), "{after:?}");
    result
}

#[test]
fn names_stay_in_the_folder() {
    let folder = scratch::folder("ls-hostile");
    for file in hostile_files(&folder.join("in")) {
        let out = folder.join("deep/in/here");
        let _ = fs::remove_dir_all(folder.join("deep"));
        let (run, files) = assert_stays_in(&folder, &out, || extract(&out, &[text(&file)]));
        assert_eq!(run.code, 0, "{}", run.stderr);
        let count = images(text(&file)).len();
        assert!(count >= 6, "{}: {count} images", file.display());
        assert_eq!(files.len(), count, "{}", file.display());
        for name in files.keys() {
            let is_harmless = |c: char| c.is_ascii_alphanumeric() || "-_+.".contains(c);
            assert!(name.chars().all(is_harmless), "{name}");
            assert!(name.len() < 255, "{name}");
            assert!(!name.starts_with(['.', '-']) && !name.ends_with('.'), "{name}");
            assert!(!name.contains(".."), "{name}");
        }
    }
}

#[test]
fn names_do_not_clash() {
    let folder = scratch::folder("ls-clash");
    let targets = ["gfx90a:x", "gfx90a_x", "GFX90A:X", "gfx90a:x", "gfx90a:x.2", "gfx90a/x"];
    let images: Vec<_> = (0..targets.len())
        .map(|at| {
            (StatedKind::OBJECT, OffloadKind::HIP, [("arch", targets[at])], some_bytes(at, 8))
        })
        .collect();
    let file = folder.join("clash.bin");
    scratch::write(&file, binary(Version::V2, &images));
    let (run, files) = extract(&folder.join("out"), &[text(&file)]);
    let mut lower: Vec<String> = files.keys().map(|name| name.to_lowercase()).collect();
    lower.sort();
    lower.dedup();
    assert_eq!(lower.len(), targets.len(), "{}", run.stdout);
    for (line, (.., payload)) in run.stdout.lines().zip(&images) {
        assert_same_bytes(&read(line), payload, line);
    }
    // A second extraction must produce the same names.
    assert_eq!(extract(&folder.join("out"), &[text(&file)]).0.stdout, run.stdout);
}

#[test]
fn terminals_are_not_sent_commands() {
    let folder = scratch::folder("ls-escape");
    hostile_files(&folder);
    for command in ["ls --kernels", "ls --bytes", "ls --json", "extract -t sm_90"] {
        for file in ["bad.bundle", "bad.bin", "bad.a"] {
            let run = offload(&folder, &format!("{command} {file}"));
            for text in [&run.stdout, &run.stderr] {
                let bad = text.chars().find(|c| (c.is_control() && *c != '\n') || *c == '\u{202e}');
                assert_eq!(bad, None, "{text}");
            }
        }
    }
}

#[test]
fn damage_hides_nothing_else() {
    let folder = scratch::folder("ls-damage");
    let bundle = corpus_file("compressed/v3_zstd.ccob");
    // Replace the stream, except for the frame header.
    let damaged = with(&bundle, 32 + 20, &vec![0x55; bundle.len() - 52]);
    scratch::write(folder.join("damaged.ccob"), [&bundle[..], &damaged, &bundle].concat());
    // A truncated member is between two complete ones.
    let good = corpus_file("image/saxpy.gfx90a.hsaco");
    let bad = corpus_file("malformed/oob_first.bc");
    let members = [("a.o", &good[..]), ("b.bc", &bad), ("c.o", &good)];
    scratch::write(folder.join("lib.a"), archive(&members));
    let lines = "ls damaged.ccob\nextract damaged.ccob -o out\nls lib.a";
    assert_transcript(&folder, "damaged", lines);
}

/// The headers of a compressed bundle and of a version 3 offload binary claim more bytes than there
/// are.
#[test]
fn large_claims_cost_nothing() {
    let folder = scratch::folder("ls-claims");
    let bundle = corpus_file("compressed/v3_zstd.ccob");
    let image = some_bytes(1, 3000);
    let mut builder = OffloadBinaryBuilder::new();
    builder.image(StatedKind::OBJECT, OffloadKind::HIP, 3000).string("arch", "gfx906");
    let binary = builder.compressed(Method::Zstd, None, &[&image]).expect("it is compressed");
    scratch::write(folder.join("good.ccob"), &bundle);
    scratch::write(folder.join("good.bin"), &binary);
    // A bundle that claims 60 GiB must be listed.
    for (name, claim) in [("60_gib", 60u64 << 30), ("4_eib", 1 << 62), ("most", u64::MAX)] {
        let claim = claim.to_le_bytes();
        scratch::write(folder.join(format!("{name}.ccob")), with(&bundle, 16, &claim));
        scratch::write(folder.join(format!("{name}.bin")), with(&binary, 32, &claim));
    }
    let lines = "
        ls 60_gib.ccob
        ls 4_eib.ccob
        extract -o out 4_eib.ccob
        ls --json most.ccob
        ls --max-size 4K good.ccob
        ls --max-size 7K good.ccob
        ls --max-size 9Q good.ccob
        extract -o out good.bin";
    assert_transcript(&folder, "claims", lines);
    assert_same_bytes(&read(folder.join("out/good.bin.0.hip.gfx906.bin")), &image, "extracted");
    // Some systems grant an allocation of 60 GiB, because the memory is not used yet. On such
    // systems, the error comes later, when the stream ends before the claimed size.
    for (name, claim, why) in [
        ("60_gib", 60u64 << 30, "could not be allocated"),
        ("4_eib", 1 << 62, "are needed, but only 68719476736 are allowed"),
    ] {
        let run = offload(&folder, &format!("ls {name}.bin"));
        let refused = run.stderr.contains(&format!("{claim} bytes {why}"));
        let ends = run.stderr.contains("inflated size (larger than the content)");
        assert!(run.code == 1 && (refused || ends && claim < 1 << 60), "{run:?}");
    }
}

#[test]
fn shared_bytes_end_somewhere() {
    let folder = scratch::folder("ls-shared");
    // Thousands of images share a megabyte. Together, their bytes would add up to gigabytes to
    // hash, to search for kernels and to check.
    let ids = vec!["hip-amdgcn-amd-amdhsa--gfx906"; 4000];
    let ptx = format!("//{}\n.version 7.0\n.target sm_80\n", "x".repeat(1 << 20));
    for (name, file) in [
        ("shared.bc", shared_bundle(&ids, ptx.as_bytes())),
        ("shared.bin", shared_binary(4000, ptx.as_bytes())),
    ] {
        scratch::write(folder.join(name), file);
        for command in ["ls --json", "ls --kernels", "size --kernels --json", "reach", "verify"] {
            let run = offload(&folder, &format!("{command} {name}"));
            assert_eq!(run.code, 1, "{command} {name}: {run:?}");
            let message = format!("{}{}", run.stdout, run.stderr);
            assert!(message.contains("they share too many bytes"), "{command} {name}: {message}");
        }
        let images = json(&offload(&folder, &format!("ls --json {name}")))["images"].clone();
        let count = list(&images).len();
        assert!((1..10).contains(&count), "{name}: {count}");
    }
    // `verify` prints a line for each image that shares its bytes with a different image. It must
    // not examine images that `ls` does not list.
    let checked = offload(&folder, "verify shared.bin").stdout.matches("[overlap]").count();
    assert!((1..10).contains(&checked), "{checked}");
}
