//! Tests of `cargo offload size`: it must count every byte of a file once, and the sizes of kernels
//! and sections must match LLVM's readelf. Also tests bars, JSON and the HTML page.
//!
//! The expected output for the corpus is checked in, in `expected/size/`. `BLESS=1 cargo xtask test
//! --test tools -- size::golden` rewrites it.

mod beside_readelf;
mod page;

use crate::containers::shared_bundle;
use crate::{assert_transcript, list, number, string};
use offload_tests::data::{corpus_files, corpus_folders};
use offload_tests::own::{Ran, in_terminal, run};
use offload_tests::prelude::*;
use serde_json::Value;

tests!(corpus_folders().into_iter().map(|folder| {
    Test::new(module_path!(), &format!("golden_{folder}"), NOTHING, move || golden(&folder))
}));

/// Runs `cargo offload size` in the corpus's folder. Arguments are separated by spaces.
fn size(line: &str) -> Ran {
    crate::offload(&corpus_path(""), &format!("size {line}"))
}

fn sum<'v>(values: impl IntoIterator<Item = &'v Value>, key: &str) -> u64 {
    values.into_iter().map(|value| number(&value[key])).sum()
}

fn sizes(values: &Value) -> BTreeMap<&str, u64> {
    list(values).iter().map(|it| (string(&it["name"]), number(&it["size"]))).collect()
}

fn kernels(account: &Value) -> usize {
    list(&account["images"]).iter().map(|image| list(&image["kernels"]).len()).sum()
}

/// Returns a file's account, and checks that every byte is counted once.
#[track_caller]
pub fn check_sums(file: &Path, options: &[&str]) -> Value {
    let mut command = own::offload(&["size", "--json"]);
    let account = crate::json(&run(command.args(options).arg(file)));
    let what = format!("{} {options:?}", file.display());
    assert_eq!(number(&account["size"]), fs::metadata(file).expect("it is there").len(), "{what}");
    let (images, rest) = (list(&account["images"]), number(&account["rest_bytes"]));
    let all = sum(images, "bytes") + sum(list(&account["containers"]), "bytes") + rest;
    assert_eq!(all, number(&account["size"]), "{what}");
    assert!(sum(list(&account["sections"]), "bytes") <= rest, "{what}");
    for image in images {
        let parts = sum(list(&image["kernels"]), "bytes") + sum(list(&image["sections"]), "bytes");
        assert!(parts <= number(&image["bytes"]), "{what}: {image}");
    }
    account
}

/// Checks the account of each corpus file, and that the HTML page has the same numbers.
#[test(NOTHING.slow())]
fn every_byte_of_the_corpus_counts_once() {
    let folder = scratch::folder("size-page");
    let mut found = 0;
    for file in corpus_files() {
        let account = check_sums(&corpus_path(&file), &[]);
        let with_kernels = check_sums(&corpus_path(&file), &["--kernels"]);
        found += kernels(&account) + kernels(&with_kernels);
        page::assert_has(&folder, &file, &with_kernels);
    }
    assert!(found > 20, "{found} kernels in the corpus");
}

#[test]
fn bytes_that_images_share_count_once() {
    let account = check_sums(&corpus_path("malformed/overlap.bc"), &[]);
    let shares = |image: &Value| number(&image["bytes"]) < number(&image["size"]);
    assert!(list(&account["images"]).iter().any(shares), "{account}");
    // Forty images share the same bytes.
    let ids: Vec<_> = (0..40).map(|it| format!("hip-amdgcn-amd-amdhsa--gfx9{it:02}")).collect();
    let file = scratch::folder("size-shared").join("shared.bundle");
    scratch::write(&file, shared_bundle(&ids, &some_bytes(1, 5000)));
    let account = check_sums(&file, &[]);
    assert_eq!(sum(list(&account["images"]), "bytes"), 5000);
    assert_eq!(number(&account["images"][0]["bytes"]), 5000);
}

#[test(needs(&[Tool::Terminal]))]
fn lines_fit_the_terminal() {
    for columns in [60, 80, 132] {
        for arguments in [
            "fat_file/hip_nordc.o",
            "-k fat_file/hip_nordc_compressed.o --by target",
            "archive/lib.a --by module",
        ] {
            let printed = in_terminal(columns, "NO_COLOR=1", &format!("size {arguments}"));
            assert!(printed.contains("SHARE"), "{printed}");
            // The first line contains the user's path, which may be wider than the terminal.
            for line in printed.lines().skip(1).filter(|line| !line.contains("--kernels")) {
                assert!(line.chars().count() <= columns, "{columns} columns: {line:?}");
            }
        }
    }
}

/// A line about a single omitted row would need as much space as the row itself.
#[test]
fn rows_that_are_left_out_are_counted() {
    let lines = "
        size nv_fatbin/lz4_12.4.fatbin --by target -n 99
        size nv_fatbin/lz4_12.4.fatbin --by target -n 1
        size nv_fatbin/lz4_12.4.fatbin --by target -n 3";
    assert_transcript(&corpus_path(""), "size_rows", lines);
}

fn golden(folder: &str) {
    let mut found = String::new();
    for file in crate::ls::files_of(folder) {
        for options in ["", "--kernels --by target"] {
            let run = size(&format!("{options} {file}"));
            found += &format!("{}{}status {}\n\n", run.stdout, run.stderr, run.code);
        }
    }
    let path = format!("tests/tools/expected/size/{folder}.txt");
    assert_as_checked_in(&scratch::workspace().join(path), &found);
}
