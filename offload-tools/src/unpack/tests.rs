use super::*;
use std::io::{Cursor, Write};

/// The members of every archive in these tests.
const MEMBERS: [(&str, &[u8]); 3] = [("a/one", &[1; 300]), ("two", b"two"), ("empty", b"")];

/// The output of Python 3's `lzma.compress` for `"two" * 100` and the bytes from 0 to 63.
const XZ: &[u8] = b"\xfd\x37\x7a\x58\x5a\x00\x00\x04\xe6\xd6\xb4\x46\x02\x00\x21\x01\x16\x00\x00\x00\x74\x2f\xe5\xa3\
    \xe0\x01\x6b\x00\x47\x5d\x00\x3a\x1d\xca\x34\x6d\x98\x3f\x83\x06\x08\x88\x90\x9c\xdc\xad\x16\xc1\
    \xef\x4b\x1c\x00\xf8\x29\x4a\x76\x56\x19\xec\x39\x9c\x93\x31\xe5\x22\x56\xee\xc6\x34\x00\x3b\x32\
    \x24\x01\xdd\xce\x19\x77\xf3\x59\x5e\xfe\x11\xb6\x00\x25\x10\x87\xab\x05\x51\x28\x82\xd9\x1e\x71\
    \xdb\x79\x1e\x7d\x07\x6a\x00\x00\x15\x53\x69\xd9\x75\x5e\xde\x21\x00\x01\x63\xec\x02\x00\x00\x00\
    \x7c\x4b\x18\x0a\xb1\xc4\x67\xfb\x02\x00\x00\x00\x00\x04\x59\x5a";

fn zip_archive() -> Vec<u8> {
    let mut archive = rawzip::ZipArchiveWriter::new(Vec::new());
    for (name, content) in MEMBERS {
        let file = archive.new_file(name).compression_method(rawzip::CompressionMethod::DEFLATE);
        let (mut entry, config) = file.start().unwrap();
        let encoder =
            flate2::write::DeflateEncoder::new(&mut entry, flate2::Compression::default());
        let mut writer = config.wrap(encoder);
        writer.write_all(content).unwrap();
        let (encoder, descriptor) = writer.finish().unwrap();
        encoder.finish().unwrap();
        entry.finish(descriptor).unwrap();
    }
    archive.finish().unwrap()
}

fn tar_archive() -> Vec<u8> {
    let mut archive = ::tar::Builder::new(Vec::new());
    for (name, content) in MEMBERS {
        let mut header = ::tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        archive.append_data(&mut header, name, Cursor::new(content)).unwrap();
    }
    archive.into_inner().unwrap()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn deb_archive() -> Vec<u8> {
    let mut archive = offload_format::archive::ArchiveBuilder::new();
    let tar = gzip(&tar_archive());
    archive.member("debian-binary", 4).unwrap();
    archive.member("data.tar.gz", tar.len() as u64).unwrap();
    archive.layout().to_vec(&[b"2.0\n", &tar])
}

/// The names and contents of files.
type Files = Vec<(String, Vec<u8>)>;

/// Returns the files that are found, and the number of problems.
fn walked(bytes: &[u8]) -> Option<(Files, usize)> {
    let archive = Archive::of(bytes)?;
    let (mut files, mut problems) = (Vec::new(), 0);
    let result = archive.walk(Path::new("a.gz"), 1 << 20, &mut |found| {
        match found {
            Found::File(member) => {
                files.push((
                    String::from_utf8_lossy(member.name).into_owned(),
                    member.content.bytes().to_vec(),
                ));
            }
            Found::Problem { .. } => problems += 1,
            Found::Closed { .. } => {}
        }
        Ok::<(), ()>(())
    });
    assert_eq!(result, Ok(()));
    Some((files, problems))
}

#[test]
fn members_come_out_as_they_went_in() {
    let expected: Files =
        MEMBERS.iter().map(|(name, content)| ((*name).to_owned(), content.to_vec())).collect();
    let tar = tar_archive();
    for (kind, bytes) in [
        ("zip", zip_archive()),
        ("tar", tar.clone()),
        ("tar.gz", gzip(&tar)),
        ("deb", deb_archive()),
    ] {
        assert_eq!(Archive::of(&bytes).unwrap().kind(), kind);
        assert_eq!(walked(&bytes), Some((expected.clone(), 0)), "{kind}");
    }
    let xz = [&b"two".repeat(100)[..], &(0..64).collect::<Vec<u8>>()].concat();
    assert_eq!(walked(XZ), Some((vec![("a".to_owned(), xz)], 0)));
    assert_eq!(walked(&gzip(b"content")), Some((vec![("a".to_owned(), b"content".to_vec())], 0)));
}

/// Returns the files in an undamaged archive.
fn files_of(whole: &[u8]) -> Files {
    let (files, problems) = walked(whole).expect("it is an archive");
    assert_eq!(problems, 0);
    files
}

fn zstd_of(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 3).unwrap();
    encoder.include_checksum(true).unwrap();
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn no_damage_changes_files_in_silence() {
    let tar = tar_archive();
    // `magic` is the number of leading bytes that identify the kind of an archive.
    for (kind, magic, whole) in [
        ("zip", 0, zip_archive()),
        ("gz", 3, gzip(b"content")),
        ("tar.gz", 3, gzip(&tar)),
        ("tar.zst", 4, zstd_of(&tar)),
        ("deb", 21, deb_archive()),
        ("xz", 6, XZ.to_vec()),
    ] {
        let files = files_of(&whole);
        let is_told =
            |bytes: &[u8]| walked(bytes).map(|(found, problems)| problems > 0 || found == files);
        for at in 0..whole.len() {
            // The last byte of a package is padding.
            let is_whole = kind == "deb" && at + 1 == whole.len();
            match walked(&whole[..at]) {
                Some((_, problems)) => assert!(problems > 0 || is_whole, "{kind} cut at {at}"),
                None => assert!(at <= magic.max(3), "{kind} cut at {at}"),
            }
            for change in [1, 0x80, 0xff] {
                let mut changed = whole.clone();
                changed[at] ^= change;
                let told = is_told(&changed).unwrap_or(at < magic);
                assert!(told, "{kind} changed at {at} by {change:#x}");
            }
        }
    }
}

#[test]
fn damage_of_a_tar_archive_ends_the_walk() {
    let (whole, files) = (tar_archive(), files_of(&tar_archive()));
    // Zero blocks at the end may be missing, but no part of a file or header.
    let end = whole.iter().rposition(|byte| *byte != 0).unwrap();
    for at in 512..whole.len() {
        let (found, problems) = walked(&whole[..at]).expect("it begins with a header");
        let is_between_files = at % 512 == 0 && found == files[..found.len()];
        assert!(problems > 0 || at > end || is_between_files, "cut at {at}");
        let mut changed = whole.clone();
        changed[at] ^= 0x80;
        walked(&changed);
    }
}

#[test]
fn archives_may_have_several_members_and_padding() {
    let (tar, files) = (tar_archive(), files_of(&tar_archive()));
    let (one, two) = tar.split_at(700);
    let zeros = [0; 512];
    let zip = zip_archive();
    let program = [&b"#!/bin/sh\n"[..], &zip].concat();
    let before = vec![("a.gz".to_owned(), b"#!/bin/sh\n".to_vec())];
    for (kind, bytes) in [
        ("two members", [gzip(one), gzip(two)].concat()),
        ("an empty member", [gzip(one), gzip(b""), gzip(two)].concat()),
        ("padding", [&gzip(&tar)[..], &zeros].concat()),
        ("padding between members", [&gzip(one)[..], &zeros, &gzip(two)].concat()),
        ("two frames", [zstd_of(one), zstd_of(b""), zstd_of(two)].concat()),
        ("no end", tar[..tar.len() - 1024].to_vec()),
        ("a part of the end", tar[..tar.len() - 600].to_vec()),
        ("bytes after a tar archive", [&tar[..], b"other"].concat()),
        ("bytes after a zip archive", [&zip[..], b"other"].concat()),
    ] {
        assert_eq!(walked(&bytes), Some((files.clone(), 0)), "{kind}");
    }
    let expected = [before, files].concat();
    assert_eq!(walked(&program), Some((expected, 0)), "bytes before a zip archive");
    // A script that ends with an archive, and a script that writes one.
    let cut = &program[..program.len() - 30];
    assert!(walked(cut).unwrap().1 > 0, "an archive after a script is cut");
    for script in [&b"#!/bin/sh\nprintf 'PK\\003\\004'\n"[..], b"#!/bin/sh\n\0PK\x03\x04", b"#!"] {
        assert!(Archive::of(script).is_none());
    }
    for (kind, bytes) in [
        ("other bytes after gzip", [&gzip(&tar)[..], b"other"].concat()),
        ("other bytes after zstd", [&zstd_of(&tar)[..], b"other"].concat()),
        ("damage after the end of the tar archive", {
            let mut bytes = gzip(&[&tar[..], &[7; 5000]].concat());
            bytes.truncate(bytes.len() - 20);
            bytes
        }),
    ] {
        assert!(walked(&bytes).unwrap().1 > 0, "{kind}");
    }
}

#[test]
fn a_visitor_ends_the_walk() {
    let mut count = 0;
    let bytes = zip_archive();
    let result = Archive::of(&bytes).unwrap().walk(Path::new("a"), 1 << 20, &mut |_| {
        count += 1;
        Err("enough")
    });
    assert_eq!((result, count), (Err("enough"), 1));
}

#[test]
fn text_is_no_archive() {
    assert_eq!(unopened(b"BZh91AY&SY"), Some("a file compressed with bzip2"));
    for text in [&b"BZhang wrote this"[..], b"BZh", b"", b"]\0\0\0", b"Rare"] {
        assert_eq!(unopened(text), None);
        assert!(Archive::of(text).is_none());
    }
}
