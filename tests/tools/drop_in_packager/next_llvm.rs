//! Tests of features of `llvm-offload-binary` that LLVM 22 lacks: compression, extraction of all
//! images, archive members by name, images that are offload binaries. LLVM's main branch has them,
//! with tests (2026, commits 033952c2, 02bdb943 and ce65873a). LLVM 22 has none of these, so ours
//! runs alone.
//!
//! The requirements are those of `llvm/test/tools/llvm-offload-binary`. LLVM's tests print the
//! results with `llvm-objdump`; here our own reader reads them. Two requirements intentionally do
//! not hold. Without `--compress`, version 1 is written, which LLVM 22 reads. Images requested with
//! `--image` have the names that LLVM 22 gives them.

use super::{TOOL, binary, case, names};
use offload_format::offload_binary::{ImageKind, OffloadBinaries, OffloadKind, Version};
use offload_tests::registry::NOTHING;
use offload_tests::side_by_side::{Case, Ran, Whose};

offload_tests::tests! {
    NOTHING => [
        compressed_and_back,
        compressed_beside_plain,
        wrong_ways_to_compress,
        all_images_are_extracted,
        nested_images,
        malformed_binaries_and_what_is_in_them,
        images_by_the_name_of_their_member,
        images_that_are_named_without_end,
    ],
}

fn ours(case: &Case) -> Ran {
    case.clone().without_llvm_in_path().run(Whose::Ours)
}

fn succeeded(case: &Case) -> Ran {
    let ran = ours(case);
    assert!(ran.succeeded(), "{}", ran.stderr);
    ran
}

fn fails(case: &Case, message: &str) -> Ran {
    let ran = ours(case);
    assert_eq!(ran.status, "exit status: 1", "{}", ran.stderr);
    assert!(ran.stderr.contains(message), "{message:?} is not in {}", ran.stderr);
    ran
}

/// Packs a file with this name and these bytes, and returns the offload binary.
fn packed(file: &str, bytes: &[u8], arch: &str, options: &[&str]) -> Vec<u8> {
    let image = format!("--image=file={file},arch={arch},triple=x-y-z");
    let arguments = [&["-o", "out", image.as_str()][..], options].concat();
    succeeded(&case(&arguments).file(file, bytes)).file("out").to_vec()
}

fn compressed_and_back() {
    let bytes = b"lines that repeat themselves\n".repeat(100);
    for options in [
        &["--compress"][..],
        &["--compress", "--compression-format=zstd"],
        &["--compress", "--compression-format=zstd", "--compression-level=-5"],
        &["--compress", "--compression-format=zstd", "--compression-level=22"],
        &["--compress", "--compression-format=zlib"],
        &["--compress", "--compression-format=zlib", "--compression-level=9"],
        &["--compress", "--compression-format=zlib", "--compression-level=0"],
    ] {
        let out = packed("text", &bytes, "abc", options);
        let (_, read) = OffloadBinaries::new(&out).next().unwrap().unwrap();
        assert_eq!(
            (read.version(), read.compressed().is_some()),
            (Version::V3, true),
            "{options:?}"
        );
        assert_eq!(out.len() % 8, 0, "{options:?}");
        let ran =
            succeeded(&case(&["in", "--image=file=back,arch=abc,triple=x-y-z"]).file("in", out));
        assert_eq!(ran.file("back"), bytes, "{options:?}");
    }
    // Without `--compress` nothing is compressed, and the bytes are those of LLVM 22.
    let plain = packed("text", &bytes, "abc", &["--compression-level=9"]);
    assert_eq!(plain, packed("text", &bytes, "abc", &[]));
}

/// Tests a file with a compressed and a plain offload binary. With `--compress`, all images of one
/// command line are in one binary.
fn compressed_beside_plain() {
    let both = [
        "-o",
        "out",
        "--compress",
        "--image=file=one.o,arch=a,kind=hip",
        "--image=file=two.cubin,arch=b,kind=cuda",
    ];
    let both = succeeded(&case(&both)).file("out").to_vec();
    let mut concatenated = both.clone();
    concatenated.extend(packed("text", b"plain", "c", &[]));
    let ran = succeeded(&case(&["in"]).file("in", concatenated));
    let expected = "Extracted: in--a.0.o\nExtracted: in--b.1.cubin\nExtracted: in-x-y-z-c.2.\n";
    assert_eq!(String::from_utf8_lossy(&ran.stdout), expected);
    assert_eq!(
        (ran.file("in--a.0.o"), ran.file("in-x-y-z-c.2.")),
        (b"one".as_slice(), b"plain".as_slice())
    );
    assert_eq!(OffloadBinaries::new(&both).count(), 1);
}

fn wrong_ways_to_compress() {
    for (options, message) in [
        (
            &["--compression-format=zlib", "--compression-level=12"],
            "error: invalid zlib compression level 12; expected a value in [0, 9]\n",
        ),
        (&["--compression-format=zlib", "--compression-level=-1"], "expected a value in [0, 9]\n"),
        (
            &["--compression-format=zstd", "--compression-level=23"],
            "invalid zstd compression level 23; expected a value in [",
        ),
        (
            &["--compression-format=lz4", "--compression-level=1"],
            "unknown compression format 'lz4'; expected 'zlib' or 'zstd'\n",
        ),
    ] {
        let arguments = [&["-o", "out", "--compress", "--image=file=one.o"][..], options].concat();
        let ran = fails(&case(&arguments), message);
        assert_eq!(names(&ran), [""; 0]);
    }
}

fn all_images_are_extracted() {
    let ran =
        succeeded(&case(&["in.bin"]).file("in.bin", packed("text", b"some text", "abc", &[])));
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "Extracted: in-x-y-z-abc.0.\n");
    assert_eq!(ran.file("in-x-y-z-abc.0."), b"some text");
    // Packing also works with a response file, and with an image that has no strings.
    let ran = succeeded(&case(&["@list"]).file("list", "-o out --image=file=one.o"));
    let ran = succeeded(&case(&["out"]).file("out", ran.file("out")));
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "Extracted: out-.0.o\n");
}

/// Extracts all images of a file, and returns the names that the tool prints, without the name of
/// the file.
fn extracted(bytes: &[u8]) -> Vec<String> {
    let ran = succeeded(&case(&["in"]).file("in", bytes));
    let lines = String::from_utf8(ran.stdout).unwrap();
    lines
        .lines()
        .map(|line| line.strip_prefix("Extracted: in-x-y-z-").unwrap().to_owned())
        .collect()
}

fn nested_images() {
    let two = succeeded(&case(&[
        "-o",
        "out",
        "--image=file=empty,arch=abc,triple=x-y-z",
        "--image=file=empty,arch=def,triple=x-y-z",
    ]));
    let two = two.file("out").to_vec();
    let nested = packed("two", &two, "nested", &[]);
    assert_eq!(extracted(&nested), ["abc.0.", "def.1."]);
    // First, a compressed binary contains two levels of nested images. Then an image that is not
    // nested follows nested ones.
    let deeper = packed("nested", &nested, "deeper", &["--compress"]);
    assert_eq!(extracted(&deeper), ["abc.0.", "def.1."]);
    let mut mixed = packed("two", &two, "nested", &[]);
    mixed.extend(packed("text", b"x", "ghi", &[]));
    assert_eq!(extracted(&mixed), ["abc.0.", "def.1.", "ghi.2."]);
    // An image requested by its strings is extracted unchanged.
    let ran =
        succeeded(&case(&["in", "--image=file=back,arch=nested,triple=x-y-z"]).file("in", mixed));
    assert_eq!(ran.file("back"), two);
}

fn malformed_binaries_and_what_is_in_them() {
    const MALFORMED: &[u8] = b"\x10\xff\x10\xad\n";
    let message = format!("{TOOL}: error: Invalid data was encountered while parsing the file\n");
    assert_eq!(fails(&case(&["in"]).file("in", MALFORMED), &message).stderr, message);
    let nested = packed("bad", MALFORMED, "nested", &[]);
    let ran = fails(&case(&["in"]).file("in", nested.clone()), &message);
    assert_eq!((ran.stderr.as_str(), names(&ran)), (message.as_str(), vec!["in".to_owned()]));
    // An image that is selected by its strings is treated as plain bytes.
    let ran =
        succeeded(&case(&["in", "--image=arch=nested,triple=x-y-z,file=back"]).file("in", nested));
    assert_eq!(ran.file("back"), MALFORMED);
}

fn images_by_the_name_of_their_member() {
    let image = |bytes: &[u8]| {
        let strings: &[(&str, &str)] = &[("triple", "x-y-z"), ("arch", "gfx90a")];
        binary(Version::V1, &[(ImageKind::OBJECT, OffloadKind::OPENMP, strings, bytes)])
    };
    let (a, b) = (image(b"aaaa\n"), image(b"bbbb\n"));
    let mut builder = offload_format::archive::ArchiveBuilder::new();
    builder.member("a.o", a.len() as u64).unwrap();
    builder.member("b.o", b.len() as u64).unwrap();
    let library = builder.layout().to_vec(&[&a, &b]);
    let filter = "triple=x-y-z,arch=gfx90a,kind=openmp";
    for (member, expected) in [("a.o", b"aaaa\n"), ("b.o", b"bbbb\n")] {
        let image = format!("--image=member={member},{filter},file=out");
        let ran = succeeded(&case(&["lib.a", &image]).file("lib.a", library.clone()));
        assert_eq!((ran.file("out"), ran.stderr.as_str()), (expected.as_slice(), ""));
    }
    let ran = succeeded(
        &case(&["lib.a", &format!("--image=member=c.o,{filter},file=out")])
            .file("lib.a", library.clone()),
    );
    assert_eq!(names(&ran), ["lib.a"]);
    let ran =
        succeeded(&case(&["lib.a", &format!("--image={filter},file=both")]).file("lib.a", library));
    assert!(
        ran.stderr.contains("warning: Multiple inputs match to a single file, 'both'"),
        "{}",
        ran.stderr
    );
}

/// Tests nested offload binaries with many levels, and with levels that refer several times to the
/// level below.
fn images_that_are_named_without_end() {
    let mut inner = b"end".to_vec();
    for _ in 0..20 {
        inner = binary(
            Version::V1,
            &[(ImageKind::OBJECT, OffloadKind::HIP, &[("arch", "a")], inner.as_slice())],
        );
    }
    fails(&case(&["in"]).file("in", inner), "offload binaries more than 16 deep in each other\n");
    // Two entries for the same bytes on each of 16 levels make 65536 images from 7 KB.
    let mut inner = b"end".to_vec();
    for _ in 0..16 {
        let one = (ImageKind::OBJECT, OffloadKind::HIP, &[][..], inner.as_slice());
        let mut twice =
            binary(Version::V2, &[one, (ImageKind::OBJECT, OffloadKind::HIP, &[][..], b"")]);
        // The second entry gets the offset and the size of the first one.
        let place = twice[32 + 24..32 + 40].to_vec();
        twice[72 + 24..72 + 40].copy_from_slice(&place);
        inner = twice;
    }
    fails(&case(&["in"]).file("in", inner), "more than 65536 images\n");
}
