//! Tests of `cargo offload size`: every byte of a file is counted once, sizes of kernels and
//! sections match LLVM's readelf; bars, JSON and the page.
//!
//! The expected output for the corpus is checked in, in `expected/size/`. `BLESS=1 cargo xtask test
//! --test tools -- size::golden` writes it anew.

mod beside_readelf;
mod page;

use crate::{corpus_path, text};
use offload_tests::data::{assert_as_checked_in, corpus_files, corpus_folders, some_bytes};
use offload_tests::own::{self, Ran, in_terminal, run};
use offload_tests::registry::{NOTHING, Test, needs};
use offload_tests::scratch;
use offload_tests::tools::Tool;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

offload_tests::tests! {
    NOTHING => [
        every_byte_of_the_corpus_counts_once,
        bytes_that_images_share_count_once,
        kernels_of_compressed_images_are_asked_for,
        rows_that_are_left_out_are_counted,
    ],
    needs(&[Tool::Terminal]) => [lines_fit_the_terminal];
    beside_readelf::tests(),
    page::tests(),
    corpus_folders().into_iter().map(|folder| {
        Test::new(module_path!(), &format!("golden_{folder}"), NOTHING, move || golden(&folder))
    }),
}

/// Runs `cargo offload size` in the folder of the corpus.
fn size(arguments: &[&str]) -> Ran {
    run(own::offload(&["size"]).args(arguments))
}

/// Returns the document that `--json` prints.
#[track_caller]
fn json(arguments: &[&str]) -> Value {
    let run = size(&[&["--json"], arguments].concat());
    serde_json::from_str(&run.stdout)
        .unwrap_or_else(|error| panic!("{error}\n{}{}", run.stdout, run.stderr))
}

fn number(value: &Value) -> u64 {
    value.as_u64().expect("a number")
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn sum<'v>(values: impl IntoIterator<Item = &'v Value>, key: &str) -> u64 {
    values.into_iter().map(|value| number(&value[key])).sum()
}

/// Returns sizes by name.
fn sizes(values: &[Value]) -> BTreeMap<String, u64> {
    values
        .iter()
        .map(|it| (it["name"].as_str().expect("a name").to_owned(), number(&it["size"])))
        .collect()
}

#[track_caller]
fn check_sums(file: &Path, arguments: &[&str]) -> Value {
    let account = json(&[arguments, &[text(file)]].concat());
    let what = format!("{} {arguments:?}", file.display());
    assert_eq!(number(&account["size"]), fs::metadata(file).expect("it is there").len(), "{what}");
    let images = list(&account["images"]);
    let all = sum(images, "bytes")
        + sum(list(&account["containers"]), "bytes")
        + number(&account["rest_bytes"]);
    assert_eq!(all, number(&account["size"]), "{what}");
    assert!(sum(list(&account["sections"]), "bytes") <= number(&account["rest_bytes"]), "{what}");
    for image in images {
        let parts = sum(list(&image["kernels"]), "bytes") + sum(list(&image["sections"]), "bytes");
        assert!(parts <= number(&image["bytes"]), "{what}: {image}");
    }
    account
}

fn every_byte_of_the_corpus_counts_once() {
    let mut kernels = 0;
    for file in corpus_files() {
        for arguments in [&[][..], &["--kernels"]] {
            let account = check_sums(&corpus_path(&file), arguments);
            kernels += list(&account["images"])
                .iter()
                .map(|image| list(&image["kernels"]).len())
                .sum::<usize>();
        }
    }
    assert!(kernels > 20, "{kernels} kernels in the corpus");
}

fn bytes_that_images_share_count_once() {
    let account = check_sums(&corpus_path("malformed/overlap.bc"), &[]);
    let images = list(&account["images"]);
    assert!(
        images.iter().any(|image| number(&image["bytes"]) < number(&image["size"])),
        "{account}"
    );
    // Forty images that all have the same bytes.
    let mut bundle = b"__CLANG_OFFLOAD_BUNDLE__".to_vec();
    let count = 40u64;
    let ids: Vec<String> =
        (0..count).map(|number| format!("hip-amdgcn-amd-amdhsa--gfx9{number:02}")).collect();
    let table = ids.iter().map(|id| 24 + id.len() as u64).sum::<u64>() + 32;
    bundle.extend(count.to_le_bytes());
    for id in &ids {
        [table, 5000, id.len() as u64]
            .iter()
            .for_each(|number| bundle.extend(number.to_le_bytes()));
        bundle.extend(id.bytes());
    }
    bundle.extend(some_bytes(1, 5000));
    let file = scratch::folder("size-shared").join("shared.bundle");
    scratch::write(&file, bundle);
    let account = check_sums(&file, &[]);
    assert_eq!(sum(list(&account["images"]), "bytes"), 5000);
    assert_eq!(number(&account["images"][0]["bytes"]), 5000);
}

fn kernels_of_compressed_images_are_asked_for() {
    let file = "fat_file/hip_nordc_compressed.o";
    let count = |account: &Value| {
        list(&account["images"]).iter().map(|it| list(&it["kernels"]).len()).sum::<usize>()
    };
    assert_eq!(count(&json(&[file])), 0);
    assert!(count(&json(&["--kernels", file])) > 0);
    let hint = "The kernels of 2 compressed images are not looked for without --kernels.";
    assert!(size(&[file]).stdout.contains(hint));
    assert!(!size(&["--kernels", file]).stdout.contains(hint));
}

fn lines_fit_the_terminal() {
    for columns in [60, 80, 132] {
        for arguments in [
            "fat_file/hip_nordc.o",
            "-k fat_file/hip_nordc_compressed.o --by target",
            "archive/lib.a --by module",
        ] {
            let printed = in_terminal(columns, "NO_COLOR=1", &format!("size {arguments}"));
            assert!(printed.contains("SHARE"), "{printed}");
            // The first line has the path that the user gave, which may be wider than the terminal.
            for line in printed.lines().skip(1).filter(|line| !line.contains("--kernels")) {
                assert!(line.chars().count() <= columns, "{columns} columns: {line:?}");
            }
        }
    }
}

fn rows_that_are_left_out_are_counted() {
    let rows =
        |count: &str| size(&["nv_fatbin/lz4_12.4.fatbin", "--by", "target", "-n", count]).stdout;
    let all = rows("99");
    let targets =
        all.lines().filter(|line| line.contains("sm_") || line.contains("compute_")).count();
    assert!(targets > 2, "{all}");
    let few = rows("1");
    let top = few
        .lines()
        .filter(|line| line.contains("and ") && !line.contains("    and"))
        .collect::<Vec<_>>();
    assert_eq!(top.len(), 1, "{few}");
    // A line that stands for only one omitted row would use the same space as the row itself.
    assert!(!few.contains("and 1 more"), "{few}");
}

fn golden(folder: &str) {
    let mut found = String::new();
    for file in
        corpus_files().iter().filter(|file| Path::new(file).parent() == Some(Path::new(folder)))
    {
        for arguments in [&[][..], &["--kernels", "--by", "target"]] {
            let run = size(&[arguments, &[file]].concat());
            found += &format!("{}{}status {}\n\n", run.stdout, run.stderr, run.code);
        }
    }
    assert_as_checked_in(
        &scratch::workspace().join("tests/tools/expected/size").join(format!("{folder}.txt")),
        &found,
    );
}
