//! Tests of malicious and damaged archives.

use super::made::{Entry, deb, zip};
use crate::containers::with;
use crate::ls::hostile::{assert_stays_in, everything_in};
use crate::{assert_fails, assert_prints, assert_transcript, offload};
use flate2::{Compression, write::GzEncoder};
use offload_tests::own::run;
use offload_tests::prelude::*;
use std::io::Write;

fn cubin() -> Vec<u8> {
    corpus_file("image/saxpy.sm_90.cubin")
}

/// Writes an archive, and asserts that `cargo offload ls` prints this text on standard error and
/// exits with status 1.
#[track_caller]
fn assert_refused(folder: &Path, name: &str, archive: &[u8], options: &str, expected: &str) {
    scratch::write(folder.join(name), archive);
    let ran = offload(folder, &format!("ls {name} {options}"));
    assert_fails(&ran, &[expected]);
    assert!(!ran.stdout.contains('\x1b'), "{ran:?}");
}

/// Returns a tar archive, assembled field by field. Each member has a name, a type and contents.
fn tar(members: &[(&[u8], u8, &[u8])]) -> Vec<u8> {
    let mut archive = Vec::new();
    for (name, kind, content) in members {
        archive.extend(header(name, *kind, content.len() as u64));
        archive.extend(*content);
        archive.resize(archive.len().next_multiple_of(512), 0);
    }
    archive.resize(archive.len() + 1024, 0);
    archive
}

fn header(name: &[u8], kind: u8, size: u64) -> [u8; 512] {
    let mut header = [0; 512];
    header[..name.len()].copy_from_slice(name);
    header[100..108].copy_from_slice(b"0000644\0");
    header[124..136].copy_from_slice(format!("{size:011o}\0").as_bytes());
    header[148..156].fill(b' ');
    header[156] = kind;
    header[257..265].copy_from_slice(b"ustar\x0000");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    header
}

fn gzip(bytes: &[u8], level: Compression) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), level);
    encoder.write_all(bytes).expect("memory is there");
    encoder.finish().expect("memory is there")
}

const BAD_NAMES: [&[u8]; 8] = [
    b"../../evil.cubin",
    b"/tmp/evil",
    b"a/../../b",
    b"C:\\evil",
    b"..",
    b"",
    b"nul\0byte",
    b"..\\evil",
];

#[test]
fn names_stay_in_the_folder() {
    let folder = scratch::folder("inside-names");
    let image = cubin();
    let named: Vec<Entry> = BAD_NAMES.iter().map(|name| Entry::new(name, &image)).collect();
    let members: Vec<_> = BAD_NAMES.iter().map(|name| (*name, b'0', &image[..])).collect();
    for (archive, bytes) in [
        ("a.zip", zip(&named)),
        ("a.tar", tar(&members)),
        ("a.deb", deb("data.tar", &tar(&members))),
    ] {
        scratch::write(folder.join("in").join(archive), bytes);
        let _ = fs::remove_dir_all(folder.join("deep"));
        let out = folder.join("deep/in/here");
        let ran = assert_stays_in(&folder, &out, || {
            offload(&folder, &format!("extract in/{archive} -o deep/in/here"))
        });
        let complaint = "its name leads out of the folder that the archive is unpacked into";
        assert_fails(&ran, &[&format!("../../evil.cubin: {complaint}")]);
        assert!(ran.stderr.matches(complaint).count() >= 6, "{}", ran.stderr);
        // The images must be extracted, because no name is used as a path.
        assert!(everything_in(&out).len() >= 6, "{ran:?}");
    }
}

#[test]
fn what_is_wrong_with_a_zip() {
    let folder = scratch::folder("inside-bad-zip");
    let good = Entry::new(b"good.cubin", &cubin());
    let one = Entry::deflated(b"one", b"one member");
    let of = |change: &dyn Fn(&mut Entry)| {
        let mut entry = one.clone();
        change(&mut entry);
        vec![entry]
    };
    // Two members share their bytes, as in archives of a few KB that unpack to petabytes.
    let shared = Entry { offset: Some(0), name: b"two".to_vec(), ..one.clone() };
    let mut lines = String::new();
    for (what, entries) in [
        ("checksum", of(&|it| it.checksum = 1)),
        ("larger", of(&|it| it.size = 11)),
        ("smaller", of(&|it| it.size = 4)),
        ("encrypted", of(&|it| it.flags = 1)),
        ("method", of(&|it| it.method = 12)),
        ("unknown", of(&|it| it.method = 777)),
        ("garbage", of(&|it| it.stored = vec![0xff; 4])),
        ("names", of(&|it| it.local_name = Some(b"two".to_vec()))),
        ("twice", vec![one.clone(); 2]),
        ("outside", of(&|it| it.offset = Some(1 << 30))),
        ("overlap", vec![one.clone(), shared]),
    ] {
        // Good members must be listed even if a different member is damaged.
        let archive = zip(&[&entries[..], std::slice::from_ref(&good)].concat());
        scratch::write(folder.join(format!("{what}.zip")), archive);
        lines += &format!("ls {what}.zip\nverify {what}.zip\n");
    }
    let whole = zip(&[good]);
    scratch::write(folder.join("cut.zip"), &whole[..whole.len() - 30]);
    assert_transcript(&folder, "bad_zip", &(lines + "ls cut.zip"));
}

#[test]
fn what_is_wrong_with_a_tar() {
    let folder = scratch::folder("inside-bad-tar");
    let image = cubin();
    let whole = tar(&[(b"good.cubin", b'0', &image), (b"more", b'0', &[1; 5000])]);
    let second = 512 + image.len().next_multiple_of(512);
    let mut huge = header(b"huge", b'0', 0o77_777_777_777).to_vec();
    huge.resize(4096, 0);
    let mut long = header(b"././@LongLink", b'L', 0o77_777_777_777).to_vec();
    long.resize(1 << 20, b'a');
    let mut lines = String::new();
    for (what, archive) in [
        ("cut", whole[..second + 1000].to_vec()),
        ("header", with(&whole, second + 3, &[whole[second + 3] ^ 1])),
        ("twice", tar(&[(b"a", b'0', b"1"), (b"./a", b'0', b"2")])),
        ("sparse", tar(&[(b"holes", b'S', b"")])),
        ("huge", huge),
        ("long", long),
        ("pax", tar(&[(b"x", b'x', b"30 path=cut")])),
    ] {
        scratch::write(folder.join(format!("{what}.tar")), &archive);
        // The expected output contains the files' sizes, so these must not depend on the
        // compression library.
        scratch::write(folder.join(format!("{what}.tar.gz")), gzip(&archive, Compression::none()));
        lines += &format!("ls {what}.tar\nls {what}.tar.gz\n");
    }
    scratch::write(folder.join("none.deb"), deb("other", b""));
    assert_transcript(&folder, "bad_tar", &(lines + "ls none.deb"));
    let packed = gzip(&whole, Compression::best());
    let cut = &packed[..packed.len() - 100];
    assert_refused(&folder, "stream.tar.gz", cut, "", "stream.tar.gz: ");
}

#[test(NOTHING.slow())]
fn bombs_end_at_the_limit() {
    let folder = scratch::folder("inside-bombs");
    let zeros = vec![0; 40 << 20];
    let refused = "the archive unpacks to more than 32.0 MiB, so the rest is not read; use \
                   --max-size to allow more";
    let honest = Entry::deflated(b"zeros", &zeros);
    let liar = Entry { size: 100, ..honest.clone() };
    let half = &zeros[..20 << 20];
    let in_tar = gzip(&tar(&[(b"zeros", b'0', &zeros)]), Compression::best());
    for (name, archive) in [
        ("honest.zip", zip(&[honest])),
        ("two.zip", zip(&[Entry::deflated(b"one", half), Entry::deflated(b"two", half)])),
        ("a.deb", deb("data.tar.gz", &in_tar)),
        ("a.tar.gz", in_tar),
        ("zeros.gz", gzip(&zeros, Compression::best())),
        ("zeros.zst", zstd::encode_all(&zeros[..], 3).expect("it is compressed")),
    ] {
        assert_refused(&folder, name, &archive, "--max-size 32M", refused);
        // With a higher limit, the command must read the archive.
        let ran = offload(&folder, &format!("ls {name} --max-size 64M"));
        assert_eq!(ran.code, 0, "{name}: {ran:?}");
    }
    // If a member's stated size is too small, the error must come early, before much memory is
    // used.
    let damaged = "zeros: is damaged: it unpacks to ";
    assert_refused(&folder, "liar.zip", &zip(&[liar]), "--max-size 32M", damaged);
}

#[test(NOTHING.slow())]
fn nothing_stays_on_the_disk() {
    let folder = scratch::folder("inside-large");
    // This member begins with an image, and is so large that the command unpacks it into a
    // temporary file.
    let mut large = cubin();
    large.resize(257 << 20, 0);
    scratch::write(folder.join("large.zip"), zip(&[Entry::deflated(b"large.cubin", &large)]));
    drop(large);
    let temporary = folder.join("tmp");
    fs::create_dir_all(&temporary).expect("the target folder can be written");
    let list = |temporary: &Path| {
        let mut ls = own::offload(&["ls", "large.zip"]);
        run(ls.current_dir(&folder).env("TMPDIR", temporary))
    };
    let ran = list(&temporary);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_prints(&ran, &["in 1 file\n"]);
    assert!(everything_in(&temporary).is_empty());
    // Prove that the command uses the temporary folder: if the folder is missing, the command
    // reports an error.
    assert_fails(
        &list(&folder.join("missing")),
        &[
            "large.cubin: cannot be unpacked into a temporary file in ",
            "missing: No such file or directory; set TMPDIR to use a different folder",
        ],
    );
}
