//! Tests of archives that are truncated, changed or extended. Each command must exit with status 1
//! if the archive is damaged, otherwise with status 0.

use super::made::{deb, python};
use crate::containers::with;
use crate::{assert_fails, assert_prints, offload};
use flate2::{Compression, write::GzEncoder};
use offload_tests::prelude::*;
use std::io::Write;

/// The commands, with options for which they exit with status 0 on the undamaged archive.
const COMMANDS: [&str; 13] = [
    "ls",
    "ls --kernels",
    "ls --json",
    "verify",
    "extract --quiet --output out",
    "size",
    "size --json",
    "select --device gfx90a:sramecc+:xnack-",
    "select --device gfx90a:sramecc+:xnack- --json",
    "reach",
    "reach --json",
    "reach --require gfx90a",
    "reach --require gfx90a --json",
];

/// A script that reads archives completely with Python's modules, and prints `good` or `bad` for
/// each archive. From the members' own headers, `zipfile` checks only the names.
const JUDGE: &str = "
import gzip, io, lzma, sys, tarfile, zipfile
def xz(data):
    content = b''
    while data:
        decoder = lzma.LZMADecompressor(lzma.FORMAT_XZ)
        content += decoder.decompress(data)
        if not decoder.eof: raise EOFError
        rest = decoder.unused_data.lstrip(b'\\0')
        if (len(decoder.unused_data) - len(rest)) % 4: raise ValueError
        data = rest
    return content
def read(name):
    with open(name, 'rb') as file: data = file.read()
    if '.zip' in name:
        with zipfile.ZipFile(name) as archive: assert archive.testzip() is None
        return
    data = gzip.decompress(data) if '.gz' in name else xz(data) if '.xz' in name else data
    with tarfile.open(fileobj=io.BytesIO(data), mode='r:') as archive:
        for member in archive:
            if member.isfile(): assert len(archive.extractfile(member).read()) == member.size
for name in sys.argv[1:]:
    try: read(name)
    except Exception: print('bad')
    else: print('good')
";

/// A copy of an archive: the change, whether the copy can be read to its end, and its bytes.
type Copy = (&'static str, bool, Vec<u8>);

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).expect("memory is there");
    encoder.finish().expect("memory is there")
}

fn zstd_of(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 3).expect("it can be made");
    encoder.include_checksum(true).expect("it has one");
    encoder.write_all(bytes).expect("memory is there");
    encoder.finish().expect("memory is there")
}

fn flipped(bytes: &[u8], at: usize) -> Vec<u8> {
    with(bytes, at, &[bytes[at] ^ 1])
}

/// Returns copies of an archive that is compressed as a whole and ends with checksums. `trailer`
/// contains offsets, counted from the end, of bytes in the checksums and lengths.
fn copies_of_stream(whole: &[u8], trailer: &[usize]) -> Vec<Copy> {
    let length = whole.len();
    let mut copies = vec![
        ("whole", true, whole.to_vec()),
        ("cut-in-the-middle", false, whole[..length / 2].to_vec()),
        ("cut-before-the-trailer", false, whole[..length - trailer[0]].to_vec()),
        ("cut-by-a-byte", false, whole[..length - 1].to_vec()),
        // Change all bits of a byte, because decoders may ignore single bits.
        ("changed-in-the-middle", false, with(whole, length / 2, &[!whole[length / 2]])),
        ("other-bytes-after", false, [whole, b"other bytes"].concat()),
    ];
    for at in trailer {
        copies.push(("changed-in-the-trailer", false, flipped(whole, length - at)));
    }
    copies
}

/// Returns copies of all kinds of archives, each with the extension for its name.
fn copies(folder: &Path) -> Vec<(&'static str, Copy)> {
    let made = |name: &str| {
        python(folder, name, &["a/saxpy.hsaco", "README", "b/saxpy.hsaco"]);
        read(folder.join(name))
    };
    let [tar, zip, stored, xz] = ["x.tar", "x.zip", "stored.zip", "x.tar.xz"].map(made);
    let end = tar.iter().rposition(|byte| *byte != 0).expect("there are files") / 512 * 512 + 512;
    let (one, two) = tar.split_at(tar.len() / 2);
    let zeros = [0; 512];
    let list = zip.windows(4).position(|it| it == b"PK\x01\x02").expect("a list");
    let own_header = |at: usize| flipped(&zip, at);
    let mut all: Vec<(&'static str, Copy)> = Vec::new();
    let mut add = |ending, copies: Vec<Copy>| {
        all.extend(copies.into_iter().map(|copy| (ending, copy)));
    };
    add(
        "tar",
        vec![
            ("whole", true, tar.clone()),
            ("without-end", true, tar[..end].to_vec()),
            ("with-half-of-an-end", true, tar[..end + 100].to_vec()),
            ("other-bytes-after", true, [&tar[..], b"other bytes"].concat()),
            ("cut-in-a-file", false, tar[..1000].to_vec()),
            ("changed-header", false, flipped(&tar, 100)),
        ],
    );
    let gz = gzip(&tar);
    add("tar.gz", copies_of_stream(&gz, &[8, 4]));
    add(
        "tar.gz",
        vec![
            ("zeros-after", true, [&gz[..], &zeros].concat()),
            ("several-members", true, [gzip(one), gzip(b""), gzip(two)].concat()),
            ("first-of-two-cut", false, [&gzip(one)[..gzip(one).len() - 4], &gzip(two)].concat()),
            ("without-end", true, gzip(&tar[..end])),
            ("cut-after-the-end", false, {
                let more = gzip(&[&tar[..], &some_bytes(3, 100_000)].concat());
                more[..more.len() - 1000].to_vec()
            }),
        ],
    );
    let zst = zstd_of(&tar);
    add("tar.zst", copies_of_stream(&zst, &[4]));
    add(
        "tar.zst",
        vec![
            ("several-frames", true, [zstd_of(one), zstd_of(b""), zstd_of(two)].concat()),
            ("zeros-after", false, [&zst[..], &zeros].concat()),
        ],
    );
    add("tar.xz", copies_of_stream(&xz, &[12, 8, 24]));
    add(
        "tar.xz",
        vec![
            ("zeros-after", true, [&xz[..], &zeros].concat()),
            ("three-zeros-after", false, [&xz[..], &zeros[..3]].concat()),
        ],
    );
    add(
        "deb",
        vec![
            ("whole", true, deb("data.tar.gz", &gz)),
            ("changed-in-the-trailer", false, deb("data.tar.gz", &flipped(&gz, gz.len() - 8))),
            ("cut-data", false, deb("data.tar.xz", &xz[..xz.len() - 4])),
            ("cut", false, deb("data.tar.gz", &gz)[..gz.len()].to_vec()),
        ],
    );
    let program = [&b"#!/bin/sh\nexec unzip \"$0\"\n"[..], &zip].concat();
    add(
        "zip",
        vec![
            ("whole", true, zip.clone()),
            ("stored", true, stored.clone()),
            ("other-bytes-after", true, [&zip[..], b"other bytes"].concat()),
            ("program-before", true, program),
            ("archive-before", true, [&stored[..], &zip].concat()),
            ("cut-in-the-middle", false, zip[..zip.len() / 2].to_vec()),
            ("cut-by-a-byte", false, zip[..zip.len() - 1].to_vec()),
            ("cut-at-the-start", false, zip[10..].to_vec()),
            ("changed-in-a-file", false, flipped(&zip, 100)),
            ("changed-in-a-stored-file", false, flipped(&stored, 1000)),
            ("other-checksum-in-the-list", false, flipped(&zip, list + 16)),
            ("other-size-in-the-list", false, flipped(&zip, list + 24)),
            ("other-checksum-in-the-header", false, own_header(14)),
            ("other-number-of-files", false, flipped(&zip, zip.len() - 12)),
            ("other-size-of-the-list", false, flipped(&zip, zip.len() - 10)),
            ("other-place-of-the-list", false, flipped(&zip, zip.len() - 6)),
        ],
    );
    all
}

/// The damage that Python's zipfile ignores: to the number of files, to a file's size, and to a
/// member's own header except for the name.
const UNSEEN_BY_PYTHON: [&str; 3] =
    ["other-size-in-the-list", "other-checksum-in-the-header", "other-number-of-files"];

#[test(needs(&[Tool::Python]).slow())]
fn each_command_reports_damage() {
    let folder = scratch::folder("inside-damaged");
    for name in ["a/saxpy.hsaco", "b/saxpy.hsaco"] {
        scratch::write(folder.join(name), corpus_file("image/saxpy.gfx90a.hsaco"));
    }
    scratch::write(folder.join("README"), "no device code");
    let mut expected = Vec::new();
    for (number, (ending, (what, is_good, bytes))) in copies(&folder).into_iter().enumerate() {
        let name = format!("{number}-{what}.{ending}");
        scratch::write(folder.join(&name), bytes);
        expected.push((name, is_good));
    }
    // Python 3.11 has no modules for zstd and Debian packages.
    let by_python: Vec<&(String, bool)> = expected
        .iter()
        .filter(|(name, _)| !name.ends_with(".zst") && !name.ends_with(".deb"))
        .collect();
    let mut judge = Command::new("python3");
    judge.args(["-c", JUDGE]).args(by_python.iter().map(|(name, _)| name)).current_dir(&folder);
    let verdicts = String::from_utf8(succeed(&mut judge).stdout).expect("text");
    for ((name, is_good), verdict) in by_python.iter().zip(verdicts.lines()) {
        let is_unseen = UNSEEN_BY_PYTHON.iter().any(|what| name.contains(what));
        assert_eq!(*is_good || is_unseen, verdict == "good", "{name}");
    }
    assert_eq!(verdicts.lines().count(), by_python.len());
    for (name, is_good) in &expected {
        for command in COMMANDS {
            let ran = offload(&folder, &format!("{command} {name}"));
            assert_eq!(ran.code == 0, *is_good, "{command} {name}: {ran:?}");
            let is_told = ran.stderr.contains("warning: ") || ran.stdout.contains("[archive]");
            assert_eq!(is_told, !is_good, "{command} {name}: {ran:?}");
        }
    }
}

/// Tests that `--require` fails for files that cannot be read.
#[test]
fn what_cannot_be_read_is_no_answer() {
    let folder = scratch::folder("inside-no-answer");
    let image = corpus_file("image/saxpy.gfx90a.hsaco");
    let bundle = corpus_file("bundle/basic.bc");
    scratch::write(folder.join("good.hsaco"), &image);
    scratch::write(folder.join("cut.fatbin"), &corpus_file("nv_fatbin/lz4_12.4.fatbin")[..200]);
    scratch::write(folder.join("cut.bc"), &bundle[..bundle.len() - 10]);
    scratch::write(folder.join("a.7z"), b"7z\xbc\xaf\x27\x1c\0\x04");
    for file in ["cut.fatbin", "cut.bc", "a.7z"] {
        for options in ["", "--json", "--require gfx90a", "--require gfx90a --json"] {
            let ran = offload(&folder, &format!("reach good.hsaco {file} {options}"));
            assert_fails(&ran, &[file]);
            assert_prints(&ran, &["gfx90a"]);
        }
    }
}
