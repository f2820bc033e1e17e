//! Tests of `cargo offload ls` and `cargo offload extract` on the corpus and on malicious files.
//! Here, `sha256sum` checks the hashes. The tests in `formats` compare the readers with LLVM's
//! tools.
//!
//! The expected output for the corpus is checked in, in `expected/ls/`. `BLESS=1 cargo xtask test
//! --test tools -- ls::golden` rewrites it.

mod choosing;
pub mod hostile;
mod inputs_and_outputs;
mod json_output;
mod terminal;

use crate::{json, list, string, text};
use offload_tests::data::{corpus_files, corpus_folders};
use offload_tests::own::{Ran, run};
use offload_tests::prelude::*;
use serde_json::{Deserializer, Value};

tests!(corpus_folders().into_iter().map(|folder| {
    Test::new(module_path!(), &format!("golden_{folder}"), NOTHING, move || golden(&folder))
}));

/// Runs `cargo offload` in the corpus's folder. Arguments are separated by spaces.
fn offload(line: &str) -> Ran {
    crate::offload(&corpus_path(""), line)
}

/// Returns the objects that `ls --json` prints: one for the file, and one for each kernel pack that
/// has code objects for this file.
fn records(document: Value) -> Vec<Value> {
    match document {
        Value::Array(records) => records,
        record => vec![record],
    }
}

/// Returns the images that `ls --json` prints for a file of the corpus or any other file.
#[track_caller]
fn images(file: &str) -> Vec<Value> {
    let records = records(json(&run(&mut own::offload(&["ls", "--json", file]))));
    assert_eq!(string(&records[0]["file"]), file);
    images_of(&records)
}

fn images_of(records: &[Value]) -> Vec<Value> {
    records.iter().flat_map(|record| list(&record["images"])).cloned().collect()
}

/// Extracts into an empty folder. Returns the files by name.
fn extract(folder: &Path, arguments: &[&str]) -> (Ran, BTreeMap<String, Vec<u8>>) {
    let _ = fs::remove_dir_all(folder);
    let run = run(own::offload(&["extract", "-o", text(folder)]).args(arguments));
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let files = files
        .map(|file| (file.file_name().into_string().expect("names are ASCII"), read(file.path())));
    (run, files.collect())
}

/// Extracts into an empty folder. Returns the files in the order of their printed names.
fn extracted(folder: &Path, arguments: &[&str]) -> Vec<Vec<u8>> {
    let (run, files) = extract(folder, arguments);
    let names = run.stdout.lines().map(|line| line.rsplit('/').next().expect("a name"));
    let bytes: Vec<Vec<u8>> = names.map(|name| files[name].clone()).collect();
    assert_eq!(bytes.len(), files.len(), "each file is named once");
    bytes
}

pub fn files_of(folder: &str) -> Vec<String> {
    let mut files = corpus_files();
    files.retain(|file| Path::new(file).parent() == Some(Path::new(folder)));
    files
}

fn expected(folder: &str, extension: &str) -> PathBuf {
    let folder = format!("tests/tools/expected/ls/{folder}.{extension}");
    scratch::workspace().join(folder)
}

/// Returns the corpus files with their checked-in `ls --json` output, which the golden tests
/// compare with the real output.
fn checked_in() -> Vec<(String, Vec<Value>)> {
    let of_folder = |folder: String| {
        let text = String::from_utf8(read(expected(&folder, "json"))).expect("JSON is text");
        let documents: Result<Vec<Value>, _> = Deserializer::from_str(&text).into_iter().collect();
        let (files, documents) = (files_of(&folder), documents.expect("JSON"));
        assert_eq!(files.len(), documents.len(), "{folder}");
        files.into_iter().zip(documents.into_iter().map(records)).collect::<Vec<_>>()
    };
    corpus_folders().into_iter().flat_map(of_folder).collect()
}

fn golden(folder: &str) {
    let (mut text, mut document) = (String::new(), String::new());
    for file in files_of(folder) {
        let run = offload(&format!("ls --kernels {file}"));
        text += &format!("{}{}status {}\n\n", run.stdout, run.stderr, run.code);
        document += &offload(&format!("ls --json {file}")).stdout;
    }
    assert_as_checked_in(&expected(folder, "txt"), &text);
    assert_as_checked_in(&expected(folder, "json"), &document);
}
