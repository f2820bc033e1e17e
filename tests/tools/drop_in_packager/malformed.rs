//! Tests of malformed offload binaries, objects, archives and bitcode.

use super::{assert_fails, binary, case, names, packed};
use crate::corpus_bytes;
use offload_format::offload_binary::{ImageKind, OffloadKind, Version};
use offload_tests::registry::LLVM;
use offload_tests::side_by_side::Whose;

offload_tests::tests! {
    LLVM => [malformed_offload_binaries, malformed_objects_and_archives, malformed_bitcode_in_an_archive],
}

fn malformed_offload_binaries() {
    const INVALID: &str =
        "llvm-offload-binary: error: Invalid data was encountered while parsing the file\n";
    const END: &str =
        "llvm-offload-binary: error: The end of the file was unexpectedly encountered\n";
    let good = packed(&["--image=file=one.o,triple=amdgcn-amd-amdhsa,arch=gfx906,kind=hip"]);
    let number = |at: usize, value: u64| {
        let mut bytes = good.clone();
        bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        bytes
    };
    let fails = |bytes: Vec<u8>, message| {
        assert_fails(&case(&["in", "--image="]).file("in", bytes), message)
    };
    for size in [4, 8, 16, 31, 71] {
        fails(good[..size].to_vec(), INVALID);
    }
    for size in [72, 80, good.len() - 8, good.len() - 1] {
        fails(good[..size].to_vec(), END);
    }
    fails([&good[..], b"no magic"].concat(), INVALID);
    fails([&good[..], &good[..40]].concat(), INVALID);
    fails([&good[..], &good[..good.len() - 8]].concat(), END);
    for version in [0, 4, 0x100, u64::from(u32::MAX)] {
        let mut bytes = good.clone();
        bytes[4..8].copy_from_slice(&(version as u32).to_le_bytes());
        fails(bytes, INVALID);
    }
    // The header's fields at 8 and 16 are the size of the binary and the offset of its entry.
    for value in [good.len() as u64 + 8, 1 << 32, 1 << 62, u64::MAX, 0, 1] {
        fails(number(8, value), END);
    }
    for value in [good.len() as u64, 1 << 40, 1 << 62, u64::MAX] {
        fails(number(16, value), END);
    }
    // The entry starts at 32. Its fields at 8 and 24 are the offsets of the strings and of the
    // image.
    for value in [good.len() as u64 + 1, 1 << 40, 1 << 62, u64::MAX] {
        fails(number(32 + 8, value), END);
        fails(number(32 + 24, value), END);
    }
    // No image is requested, but the tool still reads the file.
    assert_fails(&case(&["in"]).file("in", good[..100].to_vec()), END);

    // LLVM's tool does not check these fields: it ends with a signal, or copies the following
    // memory. So only our tool runs.
    for (at, value) in [
        (32 + 16, 1_u64 << 40),
        (32 + 16, u64::MAX),
        (32 + 32, 1 << 20),
        (32 + 32, 1 << 62),
        (72, 1 << 40),
    ] {
        let ran = case(&["in", "--image="]).file("in", number(at, value)).run(Whose::Ours);
        assert_eq!(ran.status, "exit status: 1", "{at} {value}: {}", ran.stderr);
        assert!(
            ran.stderr.starts_with("llvm-offload-binary: error: "),
            "{at} {value}: {}",
            ran.stderr
        );
        assert_eq!(names(&ran), ["in"]);
    }
    let ran = case(&["in", "--image="]).file("in", number(32 + 32, 1 << 20)).run(Whose::Ours);
    assert_eq!(
        ran.stderr,
        format!(
            "llvm-offload-binary: error: 'in': entry 0, device image: 1048576 bytes from 144 lie past the end of the {} \
             bytes there are (field at offset 56)\n",
            good.len()
        )
    );
}

fn malformed_objects_and_archives() {
    let object = corpus_bytes("fat_file/llvm_offloading.o");
    for (name, bytes) in [("in.o", object[..300].to_vec()), ("in.a", b"!<arch>\nxx".to_vec())] {
        let (theirs, ours) = case(&[name, "--image="]).file(name, bytes).both();
        assert_eq!((ours.status.as_str(), names(&ours)), ("exit status: 1", names(&theirs)));
        assert_eq!(theirs.status, ours.status);
        assert!(
            ours.stderr.starts_with(&format!("llvm-offload-binary: error: '{name}': ")),
            "{}",
            ours.stderr
        );
        assert!(!theirs.stderr.contains(name), "{}", theirs.stderr);
    }
}

fn malformed_bitcode_in_an_archive() {
    let binary = binary(
        Version::V1,
        &[(ImageKind::BITCODE, OffloadKind::HIP, &[("arch", "x")], b"BC\xc0\xdexx")],
    );
    let (theirs, ours) = case(&["in", "--archive", "--image=file=lib.a"]).file("in", binary).both();
    assert_eq!(
        (theirs.status.as_str(), theirs.stderr.as_str()),
        ("exit status: 0", "warning: 'in': Invalid bitcode signature\n")
    );
    assert_eq!((ours.status.as_str(), ours.stderr.as_str()), ("exit status: 0", ""));
    assert_eq!(ours.file("lib.a"), theirs.file("lib.a"));
}
