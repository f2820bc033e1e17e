//! Tests of malicious or damaged files: names that lead to other folders, impossible sizes, bytes
//! that thousands share.

use super::{extract, extracted, images};
use crate::containers::{archive, binary, shared_bundle, with};
use crate::{assert_fails, assert_prints, corpus_bytes, json, list, offload, text};
use offload_format::bundle::BundleBuilder;
use offload_format::compressed::{CompressOptions, compress};
use offload_format::compression::Method;
use offload_format::offload_binary::{ImageKind, OffloadBinaryBuilder, OffloadKind, Version};
use offload_tests::prelude::*;

offload_tests::tests! {
    NOTHING => [
        names_stay_in_the_folder, names_do_not_clash, terminals_are_not_sent_commands,
        damage_hides_nothing_else, large_claims_cost_nothing, shared_bytes_end_somewhere,
    ],
}

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

/// Writes files with hostile names in all places for names: entries of bundles, strings of offload
/// binaries, members of archives.
pub fn hostile_files(folder: &Path) -> Vec<PathBuf> {
    let long = "x".repeat(10_000);
    let names: Vec<&str> = BAD_NAMES.into_iter().chain([long.as_str()]).collect();
    let ids: Vec<_> = names.iter().map(|name| format!("hip-amdgcn-amd-amdhsa--{name}")).collect();
    let images: Vec<_> = names
        .iter()
        .enumerate()
        .map(|(number, name)| {
            let strings = ["triple", "arch", "module"].map(|key| (key, *name));
            (strings, some_bytes(number, 32))
        })
        .collect();
    let images: Vec<_> = images
        .iter()
        .map(|(strings, bytes)| (ImageKind::OBJECT, OffloadKind::HIP, &strings[..], &bytes[..]))
        .collect();
    let image = corpus_bytes("image/saxpy.gfx90a.hsaco");
    let of_archive =
        |name: &&str| !name.is_empty() && !name.contains(['\0', '\n', '/']) && name.len() < 1000;
    let members: Vec<(&str, &[u8])> =
        names.iter().copied().filter(of_archive).map(|name| (name, &image[..])).collect();
    let files = [
        ("bad.bundle", shared_bundle(&ids, &some_bytes(0, 24))),
        ("bad.bin", binary(Version::V2, &images)),
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

/// Runs `work`, which may write files in the folder `out` only. Both folders are below `folder`.
#[track_caller]
pub fn assert_stays_in<T>(folder: &Path, out: &Path, work: impl FnOnce() -> T) -> T {
    let before = everything_in(folder);
    let result = work();
    let after = everything_in(folder);
    let is_fine = |it: &PathBuf| before.contains(it) || it.starts_with(out) || out.starts_with(it);
    assert!(after.iter().all(is_fine), "{after:?}");
    result
}

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

fn names_do_not_clash() {
    let folder = scratch::folder("ls-clash");
    let targets = ["gfx90a:x", "gfx90a_x", "GFX90A:X", "gfx90a:x", "gfx90a:x.2", "gfx90a/x"];
    let strings = targets.map(|target| [("arch", target)]);
    let payloads: Vec<Vec<u8>> = (0..targets.len()).map(|number| some_bytes(number, 8)).collect();
    let image = |(strings, bytes)| (ImageKind::OBJECT, OffloadKind::HIP, strings, bytes);
    let images = strings.iter().map(|it| &it[..]).zip(payloads.iter().map(|it| &it[..]));
    let file = folder.join("clash.bin");
    scratch::write(&file, binary(Version::V2, &images.map(image).collect::<Vec<_>>()));
    let (run, files) = extract(&folder.join("out"), &[text(&file)]);
    let mut lower: Vec<String> = files.keys().map(|name| name.to_lowercase()).collect();
    lower.sort();
    lower.dedup();
    assert_eq!(lower.len(), targets.len(), "{}", run.stdout);
    for (line, payload) in run.stdout.lines().zip(payloads) {
        assert_same_bytes(&read(line), &payload, line);
    }
    // A second extraction gives the same names.
    assert_eq!(extract(&folder.join("out"), &[text(&file)]).0.stdout, run.stdout);
}

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

fn compressed_bundle(seed: usize) -> Vec<u8> {
    let mut builder = BundleBuilder::new();
    let payloads = [some_bytes(seed, 3000), some_bytes(seed + 1, 5000)];
    for (payload, target) in payloads.iter().zip(["gfx906", "gfx1100"]) {
        let id = format!("hipv4-amdgcn-amd-amdhsa--{target}");
        builder.entry(&id, payload.len() as u64).expect("an entry");
    }
    let bundle = builder.layout().to_vec(&[&payloads[0], &payloads[1]]);
    compress(&bundle, &CompressOptions::default()).expect("it is compressed")
}

fn damage_hides_nothing_else() {
    let folder = scratch::folder("ls-damage");
    let mut file = compressed_bundle(1);
    let second = file.len();
    file.extend(compressed_bundle(2));
    let third = file.len();
    file.extend(compressed_bundle(3));
    // These bytes are the stream of the second bundle, after its frame header.
    file[second + 32 + 20..third].fill(0x55);
    scratch::write(folder.join("damaged.ccob"), &file);
    let run = offload(&folder, "ls damaged.ccob");
    assert_fails(&run, &["does not decompress", "damaged.ccob"]);
    assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
    assert_prints(&run, &["[0] compressed bundle", "[2] compressed bundle"]);
    assert_eq!(run.stdout.matches("gfx906").count(), 2, "{}", run.stdout);
    let run = offload(&folder, "extract damaged.ccob -o out");
    assert_eq!((run.code, everything_in(&folder.join("out")).len()), (1, 4), "{}", run.stderr);

    // A truncated member is between two complete ones.
    let good = corpus_bytes("image/saxpy.gfx90a.hsaco");
    let bad = corpus_bytes("malformed/oob_first.bc");
    let members = [("a.o", &good[..]), ("b.bc", &bad), ("c.o", &good)];
    scratch::write(folder.join("lib.a"), archive(&members));
    let run = offload(&folder, "ls lib.a");
    assert_fails(&run, &["member b.bc: entry 0, code object"]);
    assert_eq!(run.stdout.matches("gfx90a").count(), 2, "{}", run.stdout);
}

fn large_claims_cost_nothing() {
    let folder = scratch::folder("ls-claims");
    let (bundle, file) = (compressed_bundle(1), folder.join("claim.ccob"));
    for claim in [1u64 << 62, u64::MAX, 60 << 30] {
        scratch::write(&file, with(&bundle, 16, &claim.to_le_bytes()));
        for line in ["ls --json claim.ccob", "extract -o out claim.ccob"] {
            let run = offload(&folder, line);
            if claim > 1 << 60 {
                assert_fails(&run, &[&format!("{claim} bytes are needed")]);
            } else {
                // The header claims 60 GiB, which is more than the content has. The command still
                // lists all of the content.
                assert_eq!(run.code, 0, "{}", run.stderr);
            }
        }
    }
    // `--max-size` sets the limit for the decompressed size.
    scratch::write(&file, bundle);
    let run = offload(&folder, "ls --max-size 4K claim.ccob");
    assert_fails(&run, &["4096 are allowed", "--max-size"]);
    assert_eq!(offload(&folder, "ls --max-size 9K claim.ccob").code, 0);
    assert_eq!(offload(&folder, "ls --max-size 9Q claim.ccob").code, 2);

    // The header of an offload binary of version 3 can also claim too much.
    let mut builder = OffloadBinaryBuilder::new();
    builder.image(ImageKind::OBJECT, OffloadKind::HIP, 3000).string("arch", "gfx906");
    let image = some_bytes(1, 3000);
    let binary = builder.compressed(Method::Zstd, None, &[&image]).expect("it is compressed");
    let file = folder.join("claim.bin");
    scratch::write(&file, &binary);
    assert_eq!(extracted(&folder.join("out"), &[text(&file)]), [image]);
    for claim in [1u64 << 62, 60 << 30] {
        scratch::write(&file, with(&binary, 32, &claim.to_le_bytes()));
        let run = offload(&folder, "ls claim.bin");
        assert_eq!(run.code, 1);
        // Some systems grant an allocation of 60 GiB, since the memory is not used yet. Then the
        // error is reported later, when the content is shorter than the header claims.
        let refused = run.stderr.contains(&format!("{claim} bytes are needed"));
        let ends =
            claim < 1 << 60 && run.stderr.contains("inflated size (more than the content has)");
        assert!(refused || ends, "{}", run.stderr);
        assert_eq!(run.stderr.contains("--max-size"), claim > 1 << 60, "{}", run.stderr);
    }
}

fn shared_bytes_end_somewhere() {
    let folder = scratch::folder("ls-shared");
    // Thousands of entries share the same megabyte, so there are gigabytes to hash.
    let ids = vec!["hip-amdgcn-amd-amdhsa--gfx906"; 4000];
    scratch::write(folder.join("shared.bc"), shared_bundle(&ids, &some_bytes(1, 1 << 20)));
    let run = offload(&folder, "ls --json shared.bc");
    assert_fails(&run, &["they share too many bytes"]);
    let count = list(&json(&run)["images"]).len();
    assert!((1..100).contains(&count), "{count}");
}
