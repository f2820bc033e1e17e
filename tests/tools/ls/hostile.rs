//! Tests of malicious or damaged files: names that lead to other folders, impossible sizes, bytes
//! that thousands share.

use super::{extract, extracted, images, offload};
use crate::{assert_fails, corpus_bytes, text};
use offload_format::archive::ArchiveBuilder;
use offload_format::bundle::BundleBuilder;
use offload_format::compressed::{CompressOptions, compress};
use offload_format::compression::Method;
use offload_format::offload_binary::{ImageKind, OffloadBinaryBuilder, OffloadKind, Version};
use offload_tests::data::{assert_same_bytes, read, some_bytes};
use offload_tests::own::{self, run};
use offload_tests::registry::NOTHING;
use offload_tests::scratch;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

offload_tests::tests! {
    NOTHING => [
        names_stay_in_the_folder,
        names_do_not_clash,
        terminals_are_not_sent_commands,
        damage_hides_nothing_else,
        large_claims_cost_nothing,
        shared_bytes_end_somewhere,
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
    // This bundle is made by hand: our writer refuses such names.
    let mut bundle = b"__CLANG_OFFLOAD_BUNDLE__".to_vec();
    bundle.extend((names.len() as u64).to_le_bytes());
    let mut binary = OffloadBinaryBuilder::new();
    let mut archive = ArchiveBuilder::new();
    let payload = |number: usize| some_bytes(number, 32);
    let image = corpus_bytes("image/saxpy.gfx90a.hsaco");
    for name in &names {
        let id = format!("hip-amdgcn-amd-amdhsa--{name}");
        [32, 24, id.len() as u64].iter().for_each(|number| bundle.extend(number.to_le_bytes()));
        bundle.extend(id.bytes());
        let image = binary.image(ImageKind::OBJECT, OffloadKind::HIP, 32);
        image.string("triple", name).string("arch", name).string("module", name);
    }
    for name in names.iter().filter(|name| !name.contains(['\0', '\n', '/']) && name.len() < 1000) {
        let _ = archive.member(name, image.len() as u64);
    }
    let payloads: Vec<Vec<u8>> = (0..names.len()).map(payload).collect();
    let payloads: Vec<&[u8]> = payloads.iter().map(Vec::as_slice).collect();
    let mut made = Vec::new();
    let mut write = |name: &str, bytes: Vec<u8>| {
        scratch::write(folder.join(name), bytes);
        made.push(folder.join(name));
    };
    write("bad.bundle", bundle);
    write("bad.bin", binary.layout(Version::V2).to_vec(&payloads));
    write("bad.a", archive.layout().to_vec(&vec![&image[..]; names.len()]));
    made
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

fn names_stay_in_the_folder() {
    let folder = scratch::folder("ls-hostile");
    for file in hostile_files(&folder.join("in")) {
        let out = folder.join("deep/in/here");
        let _ = fs::remove_dir_all(folder.join("deep"));
        let before = everything_in(&folder);
        let (run, files) = extract(&out, &[text(&file)]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        let count = images(text(&file)).len();
        assert!(count >= 6, "{}: {count} images", file.display());
        assert_eq!(files.len(), count, "{}", file.display());
        for name in files.keys() {
            let is_harmless = |c: char| c.is_ascii_alphanumeric() || "-_+.".contains(c);
            assert!(name.chars().all(is_harmless), "{name}");
            assert!(name.len() < 255, "{name}");
            assert!(!name.starts_with(['.', '-']), "{name}");
            assert!(!name.contains(".."), "{name}");
            assert!(!name.ends_with('.'), "{name}");
        }
        let after = everything_in(&folder);
        assert!(
            after
                .iter()
                .all(|it| before.contains(it) || it.starts_with(&out) || out.starts_with(it)),
            "{after:?}"
        );
    }
}

fn names_do_not_clash() {
    let folder = scratch::folder("ls-clash");
    let targets = ["gfx90a:x", "gfx90a_x", "GFX90A:X", "gfx90a:x", "gfx90a:x.2", "gfx90a/x"];
    let mut builder = OffloadBinaryBuilder::new();
    for target in targets {
        builder.image(ImageKind::OBJECT, OffloadKind::HIP, 8).string("arch", target);
    }
    let payloads: Vec<Vec<u8>> = (0..targets.len()).map(|number| some_bytes(number, 8)).collect();
    let payloads: Vec<&[u8]> = payloads.iter().map(Vec::as_slice).collect();
    let file = folder.join("clash.bin");
    scratch::write(&file, builder.layout(Version::V2).to_vec(&payloads));
    let (run, files) = extract(&folder.join("out"), &[text(&file)]);
    let mut lower: Vec<String> = files.keys().map(|name| name.to_lowercase()).collect();
    lower.sort();
    lower.dedup();
    assert_eq!(lower.len(), targets.len(), "{}", run.stdout);
    for (line, payload) in run.stdout.lines().zip(payloads) {
        assert_same_bytes(&read(line), payload, line);
    }
    // A second extraction gives the same names.
    assert_eq!(extract(&folder.join("out"), &[text(&file)]).0.stdout, run.stdout);
}

fn terminals_are_not_sent_commands() {
    let folder = scratch::folder("ls-escape");
    for file in hostile_files(&folder) {
        for arguments in [
            &["ls", "--kernels"][..],
            &["ls", "--bytes"],
            &["ls", "--json"],
            &["extract", "-t", "sm_90"],
        ] {
            let run = run(own::offload(&[]).args(arguments).arg(&file));
            for text in [&run.stdout, &run.stderr] {
                let bad = text.chars().find(|c| (c.is_control() && *c != '\n') || *c == '\u{202e}');
                assert_eq!(bad, None, "{text}");
            }
        }
    }
}

/// Returns a bundle of two images, compressed.
fn compressed_bundle(seed: usize) -> Vec<u8> {
    let mut builder = BundleBuilder::new();
    let payloads = [some_bytes(seed, 3000), some_bytes(seed + 1, 5000)];
    for (payload, target) in payloads.iter().zip(["gfx906", "gfx1100"]) {
        builder
            .entry(&format!("hipv4-amdgcn-amd-amdhsa--{target}"), payload.len() as u64)
            .expect("an entry");
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
    let path_of = folder.join("damaged.ccob");
    scratch::write(&path_of, &file);
    let run = offload(&["ls", text(&path_of)]);
    assert_fails(&run, &["does not decompress", text(&path_of)]);
    assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
    for container in ["[0] compressed bundle", "[2] compressed bundle"] {
        assert!(run.stdout.contains(container), "no {container} in\n{}", run.stdout);
    }
    assert_eq!(run.stdout.matches("gfx906").count(), 2, "{}", run.stdout);
    let (run, files) = extract(&folder.join("out"), &[text(&path_of)]);
    assert_eq!((run.code, files.len()), (1, 4), "{}", run.stderr);

    // A truncated member is between two complete ones.
    let good = corpus_bytes("image/saxpy.gfx90a.hsaco");
    let bad = corpus_bytes("malformed/oob_first.bc");
    let mut archive = ArchiveBuilder::new();
    for (name, bytes) in [("a.o", &good), ("b.bc", &bad), ("c.o", &good)] {
        archive.member(name, bytes.len() as u64).expect("a member");
    }
    let path_of = folder.join("lib.a");
    scratch::write(&path_of, archive.layout().to_vec(&[&good, &bad, &good]));
    let run = offload(&["ls", text(&path_of)]);
    assert_eq!((run.code, run.stdout.matches("gfx90a").count()), (1, 2), "{}", run.stdout);
    assert!(run.stderr.contains("member b.bc: entry 0, code object"), "{}", run.stderr);
}

fn large_claims_cost_nothing() {
    let folder = scratch::folder("ls-claims");
    let file = folder.join("claim.ccob");
    for claim in [1u64 << 62, u64::MAX, 60 << 30] {
        let mut bytes = compressed_bundle(1);
        bytes[16..24].copy_from_slice(&claim.to_le_bytes());
        scratch::write(&file, &bytes);
        for command in [&["ls", "--json"][..], &["extract", "-o", text(&folder.join("out"))]] {
            let run = run(own::offload(&[]).args(command).arg(&file));
            if claim > 1 << 60 {
                assert_fails(&run, &[&format!("{claim} bytes are needed")]);
            } else {
                // The header claims 60 GiB, which is more than the content has. The command still
                // lists all of the content.
                assert_eq!(run.code, 0, "{}", run.stderr);
            }
        }
    }
    // The header of an offload binary of version 3 can also claim too much.
    let mut builder = OffloadBinaryBuilder::new();
    builder.image(ImageKind::OBJECT, OffloadKind::HIP, 3000).string("arch", "gfx906");
    let image = some_bytes(1, 3000);
    let binary = builder.compressed(Method::Zstd, None, &[&image]).expect("it is compressed");
    let file_of_3 = folder.join("claim.bin");
    scratch::write(&file_of_3, &binary);
    assert_eq!(extracted(&folder.join("out"), &[text(&file_of_3)]), [image]);
    for claim in [1u64 << 62, 60 << 30] {
        let mut bytes = binary.clone();
        bytes[32..40].copy_from_slice(&claim.to_le_bytes());
        scratch::write(&file_of_3, &bytes);
        let run = offload(&["ls", text(&file_of_3)]);
        assert_eq!(run.code, 1);
        // Some systems grant an allocation of 60 GiB, since the memory is not used yet. Then the
        // error is reported later, when the content is shorter than the header claims.
        let refused = run.stderr.contains(&format!("{claim} bytes are needed"));
        let ends =
            claim < 1 << 60 && run.stderr.contains("inflated size (more than the content has)");
        assert!(refused || ends, "{}", run.stderr);
        assert_eq!(run.stderr.contains("--max-size"), claim > 1 << 60, "{}", run.stderr);
    }
    // `--max-size` sets the limit for the decompressed size.
    scratch::write(&file, compressed_bundle(1));
    let run = offload(&["ls", "--max-size", "4K", text(&file)]);
    assert_fails(&run, &["4096 are allowed", "--max-size"]);
    assert_eq!(offload(&["ls", "--max-size", "9K", text(&file)]).code, 0);
    assert_eq!(offload(&["ls", "--max-size", "9Q", text(&file)]).code, 2);
}

fn shared_bytes_end_somewhere() {
    let folder = scratch::folder("ls-shared");
    // Thousands of entries share the same megabyte, so there are gigabytes to hash.
    let id = "hip-amdgcn-amd-amdhsa--gfx906";
    let mut file = b"__CLANG_OFFLOAD_BUNDLE__".to_vec();
    file.extend(4000u64.to_le_bytes());
    let table = 32 + 4000 * (24 + id.len() as u64);
    for _ in 0..4000 {
        [table, 1 << 20, id.len() as u64]
            .iter()
            .for_each(|number| file.extend(number.to_le_bytes()));
        file.extend(id.bytes());
    }
    file.extend(some_bytes(1, 1 << 20));
    scratch::write(folder.join("shared.bc"), &file);
    let run = offload(&["ls", "--json", text(&folder.join("shared.bc"))]);
    assert_fails(&run, &["they share too many bytes"]);
    let document: Value = serde_json::from_str(&run.stdout).expect("JSON");
    let count = document["images"].as_array().map_or(0, Vec::len);
    assert!((1..100).contains(&count), "{count}");
}
