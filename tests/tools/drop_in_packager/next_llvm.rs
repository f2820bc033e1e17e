//! Tests of features of `llvm-offload-binary` that LLVM 22 lacks: compression, extraction of all
//! images, archive members by name, and images that are offload binaries. LLVM's main branch has
//! these features and tests of them (2026, commits 033952c2, 02bdb943 and ce65873a). Only our tool
//! runs here.
//!
//! The requirements are those of `llvm/test/tools/llvm-offload-binary`. LLVM's tests print the
//! results with `llvm-objdump`. Here, our own reader reads them. There are two intentional
//! exceptions. Without `--compress`, our tool writes version 1, which LLVM 22 reads. Images
//! requested with `--image` get the same names as with LLVM 22.

use crate::assert_session;
use crate::containers::{archive, binary, with};
use offload_format::offload_binary::{OffloadBinary, OffloadKind, StatedKind, Version};
use offload_tests::prelude::*;

/// Runs command lines in a folder. `OB` stands for the tool, and `X=` for an image's triple and
/// file.
fn session(folder: &Path, name: &str, lines: &str) {
    let lines = lines.replace("OB ", "llvm-offload-binary ");
    let lines = lines.replace("X=", "--image=triple=x-y-z,file=");
    assert_session(folder, &format!("next_packager/{name}"), &lines);
}

/// Creates a folder with files to pack.
fn folder(name: &str) -> PathBuf {
    let folder = scratch::folder(&format!("next-packager-{name}"));
    scratch::write(folder.join("text"), b"lines that repeat themselves\n".repeat(100));
    scratch::write(folder.join("empty"), "");
    folder
}

#[test]
fn compressed_and_back() {
    let folder = folder("compressed");
    let mut lines = String::new();
    let options = "| --compression-format=zstd | --compression-format=zstd --compression-level=-5 | \
        --compression-format=zstd --compression-level=22 | --compression-format=zlib | \
        --compression-format=zlib --compression-level=9 | \
        --compression-format=zlib --compression-level=0";
    for (number, options) in options.split('|').map(str::trim).enumerate() {
        lines += &format!("OB -o {number} --compress {options} X=text,arch=abc\n");
        lines += &format!("OB {number} X=back,arch=abc && cmp back text\n");
    }
    // Without `--compress`, nothing is compressed, and the bytes are those of LLVM 22. With
    // `--compress`, all images of a command line are in one binary.
    lines += "OB -o plain X=text,arch=abc
        OB -o level --compression-level=9 X=text,arch=abc && cmp plain level
        OB -o both --compress --image=file=text,arch=a,kind=hip --image=file=empty,arch=b,kind=cuda
        cat both plain > in && OB in && cmp in--a.0. text && cmp in-x-y-z-abc.2. text";
    session(&folder, "compressed", &lines);
    for name in ["0", "1", "2", "3", "4", "5", "6", "both"] {
        let bytes = read(folder.join(name));
        let [Ok((_, found))] = &OffloadBinary::in_a_row(&bytes).collect::<Vec<_>>()[..] else {
            panic!("{name}: not one offload binary")
        };
        assert_eq!((found.version, found.compressed.is_some()), (Version::V3, true), "{name}");
        assert_eq!(bytes.len() % 8, 0, "{name}");
    }
}

#[test]
fn wrong_ways_to_compress() {
    let lines = "
        OB -o out --compress X=text --compression-format=zlib --compression-level=12
        OB -o out --compress X=text --compression-format=zlib --compression-level=-1
        OB -o out --compress X=text --compression-format=zstd --compression-level=23
        OB -o out --compress X=text --compression-format=lz4 --compression-level=1
        ls";
    session(&folder("wrong"), "wrong_ways_to_compress", lines);
}

/// Tests the extraction of all images. Also packs with a response file, and an image without
/// strings.
#[test]
fn all_images_are_extracted() {
    let folder = folder("all");
    scratch::write(folder.join("list"), "-o out --image=file=empty");
    let lines = "
        OB -o in X=text,arch=abc && OB in && cmp in-x-y-z-abc.0. text
        OB @list && OB out";
    session(&folder, "all_images", lines);
}

#[test]
fn nested_images() {
    let folder = folder("nested");
    scratch::write(folder.join("bad"), b"\x10\xff\x10\xad\n");
    // `deeper` is a compressed binary with images nested two levels deep. In `mixed`, an image
    // without nested images follows nested ones. An image requested by its strings must be
    // extracted unchanged.
    let lines = "
        OB -o two X=empty,arch=abc X=empty,arch=def
        OB -o nested X=two,arch=nested && OB nested
        OB -o deeper --compress X=nested,arch=deeper && OB deeper
        OB -o third X=text,arch=ghi && cat nested third > mixed && OB mixed
        OB mixed X=back,arch=nested && cmp back two
        OB bad
        OB -o with X=bad,arch=nested && OB with
        OB with X=back,arch=nested && cmp back bad
        ls";
    session(&folder, "nested", lines);
}

#[test]
fn images_by_the_name_of_their_member() {
    let folder = folder("members");
    let strings: &[_] = &[("triple", "x-y-z"), ("arch", "gfx90a")];
    let [a, b] = [b"aaaa\n", b"bbbb\n"].map(|bytes| {
        binary(Version::V1, &[(StatedKind::OBJECT, OffloadKind::OPENMP, strings, bytes)])
    });
    scratch::write(folder.join("lib.a"), archive(&[("a.o", &a), ("lib/b.o", &b)]));
    let lines = "
        OB lib.a X=out,member=a.o,arch=gfx90a,kind=openmp && cat out
        OB lib.a X=out,member=lib/b.o,arch=gfx90a,kind=openmp && cat out
        OB lib.a X=out,member=b.o,arch=gfx90a,kind=openmp && cat out
        OB lib.a X=none,member=c.o,arch=gfx90a,kind=openmp && ls
        OB lib.a X=both,arch=gfx90a,kind=openmp";
    session(&folder, "members", lines);
}

/// Tests deeply nested offload binaries. In some, each level refers several times to the level
/// below.
#[test]
fn images_that_are_named_without_end() {
    let folder = folder("endless");
    let mut inner = b"end".to_vec();
    for _ in 0..20 {
        let image = (StatedKind::OBJECT, OffloadKind::HIP, &[("arch", "a")][..], &inner[..]);
        inner = binary(Version::V1, &[image]);
    }
    scratch::write(folder.join("deep"), inner);
    // Two entries for the same bytes on each of 16 levels represent 65536 images in 7 KB.
    let mut inner = b"end".to_vec();
    for _ in 0..16 {
        let images =
            [&inner[..], b""].map(|it| (StatedKind::OBJECT, OffloadKind::HIP, &[][..], it));
        let twice = binary(Version::V2, &images);
        // The second entry gets the offset and the size of the first one.
        inner = with(&twice, 72 + 24, &twice[32 + 24..32 + 40]);
    }
    scratch::write(folder.join("wide"), inner);
    session(&folder, "endless", "OB deep\nOB wide");
}
