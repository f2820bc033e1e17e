//! Tests of inputs that are missing, folders or pipes, and of outputs that cannot be written.

use super::extracted;
use super::hostile::everything_in;
use crate::{assert_ends, assert_fails, assert_transcript, offload, text};
use offload_tests::data::corpus_files;
use offload_tests::own::run;
use offload_tests::prelude::*;
use std::process::Stdio;

#[test]
fn inputs_that_cannot_be_read() {
    // A file without device code must not make `ls` fail.
    let lines = "
        ls nowhere
        ls bundle
        extract bundle
        ls object_bundle/host.o image/two.ll
        ls --json image/two.ll
        ls --json offload_binary/one.bin nowhere
        extract image/two.ll
        ls";
    assert_transcript(&corpus_path(""), "inputs", lines);
}

#[test]
fn pipes_are_read() {
    let folder = scratch::folder("ls-pipe");
    let file = "fat_file/hip_nordc.o";
    let script = "cat $2 | \"$0\" ls - && cat $2 | \"$0\" extract -o \"$1\" /dev/stdin";
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).arg(own::cargo_offload()).arg(&folder).arg(file);
    shell.current_dir(corpus_path(""));
    let output = stdout(&succeed(&mut shell));
    assert!(output.contains("bundle in .hip_fatbin"), "{output}");
    let whole = extracted(&folder.join("whole"), &[file]);
    assert_eq!([read(folder.join("stdin.0.hipv4.gfx906.hsaco"))], whole[..]);
}

#[test]
fn outputs_that_cannot_be_written() {
    let folder = scratch::folder("ls-outputs");
    let [file, out] = ["file", "out"].map(|name| folder.join(name));
    scratch::write(&file, "old");
    let extract = |output: &Path| {
        run(&mut own::offload(&["extract", "fat_file/hip_nordc.o", "-o", text(output)]))
    };
    assert_fails(&extract(&file), &["cannot write", "File exists"]);
    assert_eq!(read(&file), b"old");
    // A folder has the name that the image would get.
    let name = "hip_nordc.o.0.hipv4.gfx906.hsaco";
    fs::create_dir_all(out.join(name)).expect("the target folder can be written");
    assert_fails(&extract(&out), &[name, "Is a directory"]);
    assert_eq!(everything_in(&out), [out.join(name)]);
    if Path::new("/dev/full").exists() {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").expect("it is a device");
        let mut ls = own::offload(&["ls", "bundle/basic.bc"]);
        let output = ls.stdout(full).output().expect("offload starts");
        let message = "error: cannot write to standard output: No space left on device\n";
        assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(1), message));
    }
}

#[test]
fn who_stops_reading_is_no_error() {
    let files = corpus_files();
    let mut ls = own::offload(&["ls", "--kernels"]);
    ls.args(files.iter().cycle().take(files.len() * 20));
    let mut child =
        ls.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("offload starts");
    drop(child.stdout.take());
    let output = processes::wait_with_output(child).expect("it ends");
    let text = stderr(&output);
    assert!(output.status.success(), "{text}");
    assert!(!text.contains("panicked") && !text.contains("error"), "{text}");
}

#[test(LLVM)]
fn members_of_thin_archives_are_named() {
    let folder = scratch::folder("ls-thin");
    fs::copy(corpus_path("fat_file/hip_nordc.o"), folder.join("hip_nordc.o")).expect("it is there");
    succeed(llvm("llvm-ar").current_dir(&folder).args(["crT", "thin.a", "hip_nordc.o"]));
    let note = "note: hip_nordc.o: not listed, because it is in a separate file\n";
    assert_ends(&offload(&folder, "ls thin.a"), 0, note);
}
