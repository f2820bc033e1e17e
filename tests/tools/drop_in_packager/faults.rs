//! Tests of full disks, and of errors after an output exists. `tools/faults.rs` has those that all
//! command lines have in common.

use super::{case, case_in, names, several};
use offload_tests::registry::{LLVM, NOTHING};
use offload_tests::side_by_side::Whose;
use std::path::Path;

offload_tests::tests! {
    LLVM => [a_full_disk],
    NOTHING => [an_error_leaves_the_old_output],
}

fn a_full_disk() {
    let full = "llvm-offload-binary: error: '/dev/full': No space left on device\n";
    for case in [
        case("-o /dev/full --image=file=one.o"),
        case_in(several(), "--image=file=/dev/full,arch=sm_80"),
    ] {
        let (theirs, ours) = case.both();
        let crash = "LLVM ERROR: IO failure on output stream: No space left on device\n";
        assert_eq!((theirs.stderr.as_str(), ours.stderr.as_str()), (crash, full));
        assert_eq!((&ours.status, names(&ours)), (&theirs.status, names(&theirs)));
    }
    // Only our tool runs: LLVM's would replace the device by an ordinary file.
    let archive = case_in(several(), "--archive --image=file=/dev/full,arch=sm_80");
    assert_eq!(archive.run(Whose::Ours).stderr, full);
    assert!(!Path::new("/dev/full").is_file());
}

fn an_error_leaves_the_old_output() {
    for line in [
        "-o out --image=file=none",
        "-o out --image=file=one.o --image=triple=x",
        "-o out --image=file=one.o --image=file=.",
        "none --image=file=out",
    ] {
        let ran = case(line).file("out", b"old").run(Whose::Ours).failure("");
        assert_eq!(ran.file("out"), b"old", "{line}");
        assert_eq!(names(&ran), ["out"], "{line}");
    }
}
