//! Tests of `cargo offload ls` and `cargo offload extract` on the corpus and on malicious files,
//! compared with LLVM's and NVIDIA's tools and with `sha256sum`.
//!
//! The expected output for the corpus is checked in, in `expected/ls/`. `BLESS=1 cargo xtask test
//! --test tools -- ls::golden` writes it anew.

mod beside_others;
mod choosing;
pub mod hostile;
mod inputs_and_outputs;
mod json_output;
mod terminal;

use crate::{corpus_path, text};
use offload_tests::data::{assert_as_checked_in, corpus_files, corpus_folders, read};
use offload_tests::own::{self, Ran, run};
use offload_tests::registry::{NOTHING, Test};
use offload_tests::scratch;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

offload_tests::tests! {
    ;
    json_output::tests(),
    beside_others::tests(),
    choosing::tests(),
    hostile::tests(),
    inputs_and_outputs::tests(),
    terminal::tests(),
    corpus_folders().into_iter().map(|folder| {
        Test::new(module_path!(), &format!("golden_{folder}"), NOTHING, move || golden(&folder))
    }),
}

/// Runs `cargo offload` in the folder of the corpus.
fn offload(arguments: &[&str]) -> Ran {
    run(&mut own::offload(arguments))
}

/// Returns the object that `ls --json` prints.
#[track_caller]
fn json(file: &str) -> Value {
    let run = offload(&["ls", "--json", file]);
    serde_json::from_str(&run.stdout)
        .unwrap_or_else(|error| panic!("{file}: {error}\n{}{}", run.stdout, run.stderr))
}

/// Returns the objects that `ls --json` prints for a file: one for the file, and one for each
/// kernel pack with its code objects.
#[track_caller]
fn records(file: &str) -> Vec<Value> {
    let records = match json(file) {
        Value::Array(records) => records,
        record => vec![record],
    };
    assert_eq!(records.first().map(|record| string(&record["file"])), Some(file));
    records
}

fn images(file: &str) -> Vec<Value> {
    let of_record =
        |record: &Value| record["images"].as_array().expect("images are an array").clone();
    records(file).iter().flat_map(of_record).collect()
}

fn number(value: &Value) -> u64 {
    value.as_u64().expect("a number")
}

fn string(value: &Value) -> &str {
    value.as_str().unwrap_or("")
}

/// Extracts into an empty folder; returns the files by name.
fn extract(folder: &Path, arguments: &[&str]) -> (Ran, BTreeMap<String, Vec<u8>>) {
    let _ = fs::remove_dir_all(folder);
    let run = run(own::offload(&[]).args(["extract", "-o", text(folder)]).args(arguments));
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let files = files
        .map(|file| (file.file_name().into_string().expect("names are ASCII"), read(file.path())));
    (run, files.collect())
}

/// Extracts into an empty folder; returns the files in the order in which their names were printed.
fn extracted(folder: &Path, arguments: &[&str]) -> Vec<Vec<u8>> {
    let (run, files) = extract(folder, arguments);
    let names = run
        .stdout
        .lines()
        .map(|line| Path::new(line).file_name().expect("a file").to_str().expect("text"));
    let bytes: Vec<Vec<u8>> = names.map(|name| files[name].clone()).collect();
    assert_eq!(bytes.len(), files.len(), "each file is named once");
    bytes
}

/// Copies a file into a separate folder: LLVM's tools write beside their input.
fn copied(folder: &Path, file: &str) -> PathBuf {
    let from = corpus_path(file);
    let to = folder.join(from.file_name().expect("a file"));
    fs::copy(&from, &to).expect("the target folder can be written");
    to
}

fn golden(folder: &str) {
    let mut text = String::new();
    let mut document = String::new();
    for file in
        corpus_files().iter().filter(|file| Path::new(file).parent() == Some(Path::new(folder)))
    {
        let run = offload(&["ls", "--kernels", file]);
        text += &format!("{}{}status {}\n\n", run.stdout, run.stderr, run.code);
        document += &offload(&["ls", "--json", file]).stdout;
    }
    for (name, found) in [(format!("{folder}.txt"), text), (format!("{folder}.json"), document)] {
        assert_as_checked_in(
            &scratch::workspace().join("tests/tools/expected/ls").join(name),
            &found,
        );
    }
}
