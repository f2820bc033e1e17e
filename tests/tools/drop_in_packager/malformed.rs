//! Tests of malformed offload binaries, objects, archives and bitcode.

use super::{case, case_in, names, packed};
use crate::containers::{binary, with};
use offload_format::offload_binary::{OffloadKind, StatedKind, Version};
use offload_tests::data::corpus_file;
use offload_tests::registry::LLVM;
use offload_tests::side_by_side::Whose;

#[test(LLVM.slow())]
fn malformed_offload_binaries() {
    const INVALID: &str =
        "llvm-offload-binary: error: Invalid data was encountered while parsing the file\n";
    const END: &str =
        "llvm-offload-binary: error: The end of the file was unexpectedly encountered\n";
    let good = packed("--image=file=one.o,triple=amdgcn-amd-amdhsa,arch=gfx906,kind=hip");
    let size = good.len() as u64;
    let number = |at: usize, value: u64| with(&good, at, &value.to_le_bytes());
    let fails = |bytes: &[u8], message| case_in(bytes, "--image=").assert_same_error(message);
    for size in [4, 8, 16, 31, 71] {
        fails(&good[..size], INVALID);
    }
    for size in [72, 80, good.len() - 8, good.len() - 1] {
        fails(&good[..size], END);
    }
    fails(&[&good[..], b"no magic"].concat(), INVALID);
    fails(&[&good[..], &good[..40]].concat(), INVALID);
    fails(&[&good[..], &good[..good.len() - 8]].concat(), END);
    for version in [0, 4, 0x100, u32::MAX] {
        fails(&with(&good, 4, &version.to_le_bytes()), INVALID);
    }
    // The header's fields at 8 and 16 are the binary's size and its entry's offset. The entry
    // starts at 32. Its fields at 8 and 24 are the offsets of the strings and of the image.
    for (at, values) in [
        (8, &[size + 8, 1 << 32, 1 << 62, u64::MAX, 0, 1][..]),
        (16, &[size, 1 << 40, 1 << 62, u64::MAX]),
        (32 + 8, &[size + 1, 1 << 40, 1 << 62, u64::MAX]),
        (32 + 24, &[size + 1, 1 << 40, 1 << 62, u64::MAX]),
    ] {
        values.iter().for_each(|value| fails(&number(at, *value), END));
    }
    // Even if no image is requested, the tool reads the file.
    case_in(&good[..100], "").assert_same_error(END);

    // LLVM's tool does not check these fields: it crashes, or copies the memory after the file. So
    // only our tool runs.
    let outside = format!(
        "'in': entry 0, device image: 1048576 bytes at offset 144 extend past the end of the {size} available bytes \
         (field at offset 56)\n"
    );
    // No NUL follows the image, which starts at 144.
    let endless = with(&good, 144, &[b'x'; 8]);
    for (at, value, message) in [
        (32 + 16, 1_u64 << 40, None),
        (32 + 16, u64::MAX, None),
        (32 + 32, 1 << 20, Some(outside)),
        (32 + 32, 1 << 62, None),
        // The pairs of keys and values start at 72. A NUL ends each string, and keys must be text.
        (72, 1 << 40, None),
        (72, 0, None),
        (72 + 16, size - 1, None),
        (72 + 24, 144, None),
    ] {
        let bytes = with(&endless, at, &value.to_le_bytes());
        let ran = case_in(bytes, "--image=").run(Whose::Ours).failure("");
        let found = ran.stderr.strip_prefix("llvm-offload-binary: error: ");
        let found = found.unwrap_or_else(|| panic!("{at} {value}: {}", ran.stderr));
        assert_eq!(found, message.as_deref().unwrap_or(found));
        assert_eq!(names(&ran), ["in"]);
    }
}

#[test(LLVM)]
fn malformed_objects_and_archives() {
    let object = corpus_file("fat_file/llvm_offloading.o");
    for (name, bytes) in [("in.o", &object[..300]), ("in.a", b"!<arch>\nxx")] {
        let (theirs, ours) = case(&format!("{name} --image=")).file(name, bytes).both();
        let (theirs, ours) = (theirs.failure(""), ours.failure(""));
        assert_eq!(names(&ours), names(&theirs));
        let named = format!("llvm-offload-binary: error: '{name}': ");
        assert!(ours.stderr.starts_with(&named), "{}", ours.stderr);
        assert!(!theirs.stderr.contains(name), "{}", theirs.stderr);
    }
}

#[test(LLVM)]
fn malformed_bitcode_in_an_archive() {
    let image = (StatedKind::BITCODE, OffloadKind::HIP, &[("arch", "x")][..], &b"BC\xc0\xdexx"[..]);
    let (theirs, ours) =
        case_in(binary(Version::V1, &[image]), "--archive --image=file=lib.a").both();
    let (theirs, ours) = (theirs.success(), ours.success());
    assert_eq!(theirs.stderr, "warning: 'in': Invalid bitcode signature\n");
    assert_eq!(ours.stderr, "");
    assert_eq!(ours.file("lib.a"), theirs.file("lib.a"));
}
