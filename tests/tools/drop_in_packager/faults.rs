//! Tests of full disks, errors after an output exists, pipes, and impossible sizes.

use super::{TOOL, case, names, several};
use offload_format::compression::Method;
use offload_format::offload_binary::{ImageKind, OffloadBinaryBuilder, OffloadKind};
use offload_tests::data::{read, some_bytes};
use offload_tests::registry::{LLVM, NOTHING};
use offload_tests::side_by_side::Whose;
use offload_tests::tools::succeed;
use offload_tests::{own, scratch};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

offload_tests::tests! {
    LLVM => [a_full_disk],
    NOTHING => [an_error_leaves_the_old_output, pipes_as_input, sizes_that_a_header_claims],
}

fn a_full_disk() {
    let (theirs, ours) = case(&["-o", "/dev/full", "--image=file=one.o"]).both();
    assert_eq!(theirs.stderr, "LLVM ERROR: IO failure on output stream: No space left on device\n");
    assert_eq!(ours.stderr, "llvm-offload-binary: error: '/dev/full': No space left on device\n");
    assert_eq!((&ours.status, names(&ours)), (&theirs.status, names(&theirs)));
    let (theirs, ours) =
        case(&["in", "--image=file=/dev/full,arch=sm_80"]).file("in", several()).both();
    assert_eq!(theirs.stderr, "LLVM ERROR: IO failure on output stream: No space left on device\n");
    assert_eq!(ours.stderr, "llvm-offload-binary: error: '/dev/full': No space left on device\n");
    // Only our tool runs: LLVM's would replace the device by an ordinary file.
    let ran = case(&["in", "--archive", "--image=file=/dev/full,arch=sm_80"])
        .file("in", several())
        .run(Whose::Ours);
    assert_eq!(ran.stderr, "llvm-offload-binary: error: '/dev/full': No space left on device\n");
    assert!(!Path::new("/dev/full").is_file());
}

fn an_error_leaves_the_old_output() {
    let old = |arguments: &[&str]| case(arguments).file("out", b"old").run(Whose::Ours);
    for arguments in [
        &["-o", "out", "--image=file=none"][..],
        &["-o", "out", "--image=file=one.o", "--image=triple=x"],
        &["-o", "out", "--image=file=one.o", "--image=file=."],
        &["none", "--image=file=out"],
    ] {
        let ran = old(arguments);
        assert_eq!(
            (ran.status.as_str(), ran.file("out")),
            ("exit status: 1", b"old".as_slice()),
            "{arguments:?}"
        );
        assert_eq!(names(&ran), ["out"], "{arguments:?}");
    }
    // A limit on the size of files simulates a disk that becomes full while a file is written.
    let folder = scratch::folder("drop_in_packager/an_error_leaves_the_old_output");
    scratch::write(folder.join("big"), some_bytes(1, 100_000));
    scratch::write(folder.join("out"), "old");
    let command = format!(
        "trap '' XFSZ; ulimit -f 8; exec '{}' -o out --image=file=big",
        own::tool(TOOL).display()
    );
    let output = Command::new("bash").args(["-c", &command]).current_dir(&folder).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.ends_with("error: 'out': File too large\n"), "{stderr}");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(files_in(&folder), BTreeMap::from([("big".into(), 100_000), ("out".into(), 3)]));
}

fn files_in(folder: &Path) -> BTreeMap<String, u64> {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    entries
        .map(|entry| (entry.file_name().into_string().unwrap(), entry.metadata().unwrap().len()))
        .collect()
}

fn pipes_as_input() {
    let folder = scratch::folder("drop_in_packager/pipes_as_input");
    succeed(Command::new("mkfifo").current_dir(&folder).arg("pipe"));
    let through_pipe = |arguments: &[&str], bytes: Vec<u8>| {
        let mut tool = Command::new(own::tool(TOOL));
        let child =
            tool.current_dir(&folder).args(arguments).stderr(Stdio::piped()).spawn().unwrap();
        fs::write(folder.join("pipe"), bytes).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(
            output.status.success(),
            "{arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    };
    through_pipe(&["-o", "out", "--image=file=pipe,triple=t,arch=a"], b"content".to_vec());
    through_pipe(&["pipe", "--image="], read(folder.join("out")));
    assert_eq!(read(folder.join("pipe-t-a.0.")), b"content");
}

fn sizes_that_a_header_claims() {
    let mut builder = OffloadBinaryBuilder::new();
    builder.image(ImageKind::PTX, OffloadKind::CUDA, 1000).string("arch", "sm_80");
    let mut compressed = builder.compressed(Method::Zstd, None, &[&[7; 1000]]).unwrap();
    for size in [1_u64 << 34, 1 << 62, u64::MAX] {
        compressed[32..40].copy_from_slice(&size.to_le_bytes());
        let ran = case(&["in", "--image="]).file("in", compressed.clone()).run(Whose::Ours);
        assert_eq!(ran.status, "exit status: 1");
        assert!(
            ran.stderr.contains(&format!("'in': offload binary: {size} bytes are needed")),
            "{}",
            ran.stderr
        );
    }
}
