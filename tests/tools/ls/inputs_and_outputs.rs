//! Tests of inputs that are missing, folders or pipes, and of outputs that cannot be written.

use super::hostile::everything_in;
use super::{extracted, images, offload};
use crate::{assert_fails, text};
use offload_tests::data::{corpus_files, read};
use offload_tests::own;
use offload_tests::registry::NOTHING;
use offload_tests::scratch;
use offload_tests::tools::{stdout, succeed};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

offload_tests::tests! {
    NOTHING => [
        inputs_that_cannot_be_read,
        pipes_are_read,
        outputs_that_cannot_be_written,
        who_stops_reading_is_no_error,
    ],
}

fn inputs_that_cannot_be_read() {
    for (arguments, expected) in [
        (&["ls", "nowhere"][..], "error: cannot read nowhere: No such file or directory\n"),
        (&["ls", "bundle"], "error: cannot read bundle: Is a directory\n"),
        (&["extract", "bundle"], "error: cannot read bundle: Is a directory\n"),
    ] {
        let run = offload(arguments);
        assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (1, "", expected));
    }
    // A file without device code is no failure.
    let run = offload(&["ls", "object_bundle/host.o", "README.md"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert!(run.stdout.contains("host.o"), "{}", run.stdout);
    assert_eq!(run.stdout.matches("no device code").count(), 2, "{}", run.stdout);
    assert_eq!(images("README.md"), [Value::Null; 0]);
    let run = offload(&["extract", "README.md"]);
    assert_eq!(run.code, 1);
    assert_eq!(offload(&["ls"]).code, 2);
}

fn pipes_are_read() {
    let folder = scratch::folder("ls-pipe");
    let file = "tests/corpus/fat_file/hip_nordc.o";
    let script = format!(
        "cat {file} | {0} ls /dev/stdin && cat {file} | {0} extract -o {1} /dev/stdin",
        text(&own::cargo_offload()),
        text(&folder)
    );
    let output =
        succeed(Command::new("sh").args(["-c", &script]).current_dir(scratch::workspace()));
    assert!(stdout(&output).contains("bundle in .hip_fatbin"), "{}", stdout(&output));
    let whole = extracted(&folder.join("whole"), &["fat_file/hip_nordc.o"]);
    assert_eq!([read(folder.join("stdin.0.hipv4.gfx906.hsaco"))], whole[..]);
}

fn outputs_that_cannot_be_written() {
    let folder = scratch::folder("ls-outputs");
    scratch::write(folder.join("file"), "old");
    let run = offload(&["extract", "fat_file/hip_nordc.o", "-o", text(&folder.join("file"))]);
    assert_fails(&run, &["cannot write", "File exists"]);
    assert_eq!(read(folder.join("file")), b"old");
    // A folder already has the image's name.
    let name = "hip_nordc.o.0.hipv4.gfx906.hsaco";
    fs::create_dir_all(folder.join("out").join(name)).expect("the target folder can be written");
    let run = offload(&["extract", "fat_file/hip_nordc.o", "-o", text(&folder.join("out"))]);
    assert_fails(&run, &[name, "Is a directory"]);
    assert_eq!(everything_in(&folder.join("out")), [folder.join("out").join(name)]);
    if Path::new("/dev/full").exists() {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").expect("it is a device");
        let output = own::offload(&[])
            .args(["ls", "bundle/basic.bc"])
            .stdout(full)
            .output()
            .expect("offload starts");
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(text, "error: cannot write to standard output: No space left on device\n");
        assert_eq!(output.status.code(), Some(1));
    }
}

fn who_stops_reading_is_no_error() {
    let files = corpus_files();
    let mut child = own::offload(&[])
        .args(["ls", "--kernels"])
        .args(files.iter().cycle().take(files.len() * 20))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("offload starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    assert!(!text.contains("panicked"), "{text}");
    assert!(!text.contains("error"), "{text}");
}
