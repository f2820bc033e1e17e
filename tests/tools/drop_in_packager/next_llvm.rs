//! Tests of features of `llvm-offload-binary` that LLVM 22 lacks: compression, extraction of all
//! images, archive members by name, images that are offload binaries. LLVM's main branch has them,
//! with tests (2026, commits 033952c2, 02bdb943 and ce65873a). LLVM 22 has none of these, so ours
//! runs alone.
//!
//! The requirements are those of `llvm/test/tools/llvm-offload-binary`. LLVM's tests print the
//! results with `llvm-objdump`; here our own reader reads them. Two requirements intentionally do
//! not hold. Without `--compress`, version 1 is written, which LLVM 22 reads. Images requested with
//! `--image` have the names that LLVM 22 gives them.

use super::{TOOL, case, case_in, names};
use crate::containers::{archive, binary, with};
use offload_format::offload_binary::{ImageKind, OffloadBinaries, OffloadKind, Version};
use offload_tests::registry::NOTHING;
use offload_tests::side_by_side::Ran;

offload_tests::tests! {
    NOTHING => [
        compressed_and_back, compressed_beside_plain, wrong_ways_to_compress,
        all_images_are_extracted, nested_images, malformed_binaries_and_what_is_in_them,
        images_by_the_name_of_their_member, images_that_are_named_without_end,
    ],
}

fn read(bytes: &[u8], options: &str) -> Ran {
    case_in(bytes, options).ours_alone().success()
}

/// Packs a file with these bytes, and returns the offload binary.
fn packed(bytes: &[u8], arch: &str, options: &str) -> Vec<u8> {
    let line = format!("-o out --image=file=text,arch={arch},triple=x-y-z {options}");
    case(&line).file("text", bytes).ours_alone().success().file("out").to_vec()
}

fn compressed_and_back() {
    let bytes = b"lines that repeat themselves\n".repeat(100);
    for options in [
        "--compress",
        "--compress --compression-format=zstd",
        "--compress --compression-format=zstd --compression-level=-5",
        "--compress --compression-format=zstd --compression-level=22",
        "--compress --compression-format=zlib",
        "--compress --compression-format=zlib --compression-level=9",
        "--compress --compression-format=zlib --compression-level=0",
    ] {
        let out = packed(&bytes, "abc", options);
        let (_, found) = OffloadBinaries::new(&out).next().unwrap().unwrap();
        let is_compressed = found.compressed().is_some();
        assert_eq!((found.version(), is_compressed), (Version::V3, true), "{options}");
        assert_eq!(out.len() % 8, 0, "{options}");
        let ran = read(&out, "--image=file=back,arch=abc,triple=x-y-z");
        assert_eq!(ran.file("back"), bytes, "{options}");
    }
    // Without `--compress` nothing is compressed, and the bytes are those of LLVM 22.
    assert_eq!(packed(&bytes, "abc", "--compression-level=9"), packed(&bytes, "abc", ""));
}

/// Tests a file with a compressed and a plain offload binary. With `--compress`, all images of one
/// command line are in one binary.
fn compressed_beside_plain() {
    let both = case(
        "-o out --compress --image=file=one.o,arch=a,kind=hip --image=file=two.cubin,arch=b,kind=cuda",
    );
    let both = both.ours_alone().success().file("out").to_vec();
    let ran = read(&[&both[..], &packed(b"plain", "c", "")].concat(), "");
    let expected = "Extracted: in--a.0.o\nExtracted: in--b.1.cubin\nExtracted: in-x-y-z-c.2.\n";
    assert_eq!(ran.printed(), expected);
    assert_eq!((ran.file("in--a.0.o"), ran.file("in-x-y-z-c.2.")), (&b"one"[..], &b"plain"[..]));
    assert_eq!(OffloadBinaries::new(&both).count(), 1);
}

fn wrong_ways_to_compress() {
    for (options, message) in [
        (
            "--compression-format=zlib --compression-level=12",
            "error: invalid zlib compression level 12; expected a value in [0, 9]\n",
        ),
        ("--compression-format=zlib --compression-level=-1", "expected a value in [0, 9]\n"),
        (
            "--compression-format=zstd --compression-level=23",
            "invalid zstd compression level 23; expected a value in [",
        ),
        (
            "--compression-format=lz4 --compression-level=1",
            "unknown compression format 'lz4'; expected 'zlib' or 'zstd'\n",
        ),
    ] {
        let line = format!("-o out --compress --image=file=one.o {options}");
        assert_eq!(names(&case(&line).ours_alone().failure(message)), [""; 0]);
    }
}

fn all_images_are_extracted() {
    let ran = read(&packed(b"some text", "abc", ""), "");
    assert_eq!(ran.printed(), "Extracted: in-x-y-z-abc.0.\n");
    assert_eq!(ran.file("in-x-y-z-abc.0."), b"some text");
    // Packing also works with a response file, and with an image that has no strings.
    let ran = case("@list").file("list", "-o out --image=file=one.o").ours_alone().success();
    assert_eq!(read(ran.file("out"), "").printed(), "Extracted: in-.0.o\n");
}

/// Extracts all images of a file, and returns the names that the tool prints, without the name of
/// the file.
fn extracted(bytes: &[u8]) -> Vec<String> {
    let lines = read(bytes, "").printed();
    let names = lines.lines().map(|line| line.strip_prefix("Extracted: in-x-y-z-").unwrap());
    names.map(str::to_owned).collect()
}

fn nested_images() {
    let two = case(
        "-o out --image=file=empty,arch=abc,triple=x-y-z --image=file=empty,arch=def,triple=x-y-z",
    );
    let two = two.ours_alone().success().file("out").to_vec();
    let nested = packed(&two, "nested", "");
    assert_eq!(extracted(&nested), ["abc.0.", "def.1."]);
    // First, a compressed binary contains two levels of nested images. Then an image that is not
    // nested follows nested ones.
    assert_eq!(extracted(&packed(&nested, "deeper", "--compress")), ["abc.0.", "def.1."]);
    let mixed = [nested, packed(b"x", "ghi", "")].concat();
    assert_eq!(extracted(&mixed), ["abc.0.", "def.1.", "ghi.2."]);
    // An image requested by its strings is extracted unchanged.
    let ran = read(&mixed, "--image=file=back,arch=nested,triple=x-y-z");
    assert_eq!(ran.file("back"), two);
}

fn malformed_binaries_and_what_is_in_them() {
    const MALFORMED: &[u8] = b"\x10\xff\x10\xad\n";
    let message = format!("{TOOL}: error: Invalid data was encountered while parsing the file\n");
    let nested = packed(MALFORMED, "nested", "");
    for bytes in [MALFORMED, &nested] {
        let ran = case_in(bytes, "").ours_alone().failure("");
        assert_eq!((&ran.stderr, names(&ran)), (&message, vec!["in".to_owned()]));
    }
    // An image that is selected by its strings is treated as plain bytes.
    let ran = read(&nested, "--image=arch=nested,triple=x-y-z,file=back");
    assert_eq!(ran.file("back"), MALFORMED);
}

fn images_by_the_name_of_their_member() {
    let strings: &[_] = &[("triple", "x-y-z"), ("arch", "gfx90a")];
    let [a, b] = [b"aaaa\n", b"bbbb\n"].map(|bytes| {
        binary(Version::V1, &[(ImageKind::OBJECT, OffloadKind::OPENMP, strings, bytes)])
    });
    let library = archive(&[("a.o", &a), ("lib/b.o", &b)]);
    let filter = "triple=x-y-z,arch=gfx90a,kind=openmp";
    for (member, expected) in [("a.o", b"aaaa\n"), ("lib/b.o", b"bbbb\n"), ("b.o", b"bbbb\n")] {
        let ran = read(&library, &format!("--image=member={member},{filter},file=out"));
        assert_eq!((ran.file("out"), ran.stderr.as_str()), (&expected[..], ""));
    }
    let ran = read(&library, &format!("--image=member=c.o,{filter},file=out"));
    assert_eq!(names(&ran), ["in"]);
    let said = read(&library, &format!("--image={filter},file=both")).stderr;
    assert!(said.contains("warning: Multiple inputs match to a single file, 'both'"), "{said}");
}

/// Tests nested offload binaries with many levels, and with levels that refer several times to the
/// level below.
fn images_that_are_named_without_end() {
    let mut inner = b"end".to_vec();
    for _ in 0..20 {
        let image = (ImageKind::OBJECT, OffloadKind::HIP, &[("arch", "a")][..], &inner[..]);
        inner = binary(Version::V1, &[image]);
    }
    let deep = "offload binaries more than 16 deep in each other\n";
    case_in(inner, "").ours_alone().failure(deep);
    // Two entries for the same bytes on each of 16 levels make 65536 images from 7 KB.
    let mut inner = b"end".to_vec();
    for _ in 0..16 {
        let images = [&inner[..], b""].map(|it| (ImageKind::OBJECT, OffloadKind::HIP, &[][..], it));
        let twice = binary(Version::V2, &images);
        // The second entry gets the offset and the size of the first one.
        inner = with(&twice, 72 + 24, &twice[32 + 24..32 + 40]);
    }
    case_in(inner, "").ours_alone().failure("more than 65536 images\n");
}
