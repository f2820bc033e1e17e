//! Tests of the command-line tools: the commands of `cargo offload`, and our
//! `clang-offload-bundler`, `llvm-offload-binary` and `clang-offload-packager`, compared with
//! LLVM's.

#[macro_use]
extern crate offload_tests;

mod agreement;
use offload_tests::containers;
mod doctor;
mod drop_in_bundler;
mod drop_in_clang;
mod drop_in_packager;
mod faults;
mod inside;
mod kernel_packs;
mod ls;
mod pack;
mod reach;
mod select;
mod size;
mod sycl;
mod verify;

use offload_tests::own::{Ran, run};
use offload_tests::prelude::*;
use serde_json::Value;

fn main() -> std::process::ExitCode {
    offload_tests::registry::run()
}

fn text(path: &Path) -> &str {
    path.to_str().expect("paths of tests are text")
}

/// Runs a command line of `cargo offload` in a folder. Arguments are separated by spaces.
fn offload(folder: &Path, line: &str) -> Ran {
    run(own::offload(&[]).args(line.split_whitespace()).current_dir(folder))
}

/// Runs command lines of `cargo offload`, one per line, in a folder. The output must equal
/// `expected/<name>.txt`, which `BLESS=1` rewrites.
#[track_caller]
fn assert_transcript(folder: &Path, name: &str, lines: &str) {
    assert_transcript_of(name, "cargo offload ", lines, |line| offload(folder, line));
}

/// Like [`assert_transcript`], but for shell command lines. The shell finds our drop-in tools
/// first.
#[track_caller]
fn assert_session(folder: &Path, name: &str, lines: &str) {
    let path = env::join_paths([own::folder(), "/usr/bin".into(), "/bin".into()]);
    let path = path.expect("a list of folders");
    assert_transcript_of(name, "", lines, |line| {
        run(Command::new("sh").args(["-c", line]).current_dir(folder).env("PATH", &path))
    });
}

#[track_caller]
fn assert_transcript_of(name: &str, prefix: &str, lines: &str, run: impl Fn(&str) -> Ran) {
    let mut found = String::new();
    for line in lines.trim().lines().map(str::trim) {
        let ran = run(line);
        let mark = if ran.stderr.is_empty() { "" } else { "[standard error]\n" };
        found += &format!("$ {prefix}{line}\n{}{mark}{}", ran.stdout, ran.stderr);
        found += &format!("status {}\n\n", ran.code);
    }
    let path = format!("tests/tools/expected/{name}.txt");
    assert_as_checked_in(&scratch::workspace().join(path), &found);
}

#[track_caller]
fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"))
}

fn number(value: &Value) -> u64 {
    value.as_u64().expect("a number")
}

/// Returns the text of a value; "" if it is not a string.
fn string(value: &Value) -> &str {
    value.as_str().unwrap_or("")
}

/// Returns the elements of an array; none if the value is not an array.
fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Asserts that the command exited with status 1, and that standard error contains each of these
/// texts.
#[track_caller]
fn assert_fails(ran: &Ran, texts: &[&str]) {
    assert_eq!(ran.code, 1, "{ran:?}");
    for text in texts {
        assert!(ran.stderr.contains(text), "no {text:?} in\n{}", ran.stderr);
    }
}

/// Asserts that the command printed exactly this on standard error, and exited with this status.
#[track_caller]
fn assert_ends(ran: &Ran, code: i32, stderr: &str) {
    assert_eq!((ran.code, ran.stderr.as_str()), (code, stderr), "{}", ran.stdout);
}

#[track_caller]
fn assert_prints(ran: &Ran, texts: &[&str]) {
    for text in texts {
        assert!(ran.stdout.contains(text), "no {text:?} in\n{}{}", ran.stdout, ran.stderr);
    }
}
