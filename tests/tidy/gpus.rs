//! The table of GPUs in docs/gpus.md, beside the JSON files that its rows link to.

use crate::sources::{documents, files, read};
use offload_tests::scratch::workspace;
use std::collections::BTreeSet;

/// Returns what is wrong with the table, if `file` returns the text of each file that a row links
/// to. `present` has the names of all files in docs/gpus.
fn problems(
    page: &str,
    present: &BTreeSet<String>,
    file: impl Fn(&str) -> Option<String>,
) -> Vec<String> {
    let (mut problems, mut linked) = (Vec::new(), BTreeSet::new());
    let table = page.lines().skip_while(|line| !line.starts_with("| device")).skip(2);
    for row in table.take_while(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [device, driver, date, result, json] = cells[..] else {
            problems.push(format!("this row does not have 5 cells: {row}"));
            continue;
        };
        if result == "never run" {
            if [driver, date, json] != ["–"; 3] {
                problems.push(format!("{device}: `never run`, but not all other cells are `–`"));
            }
            continue;
        }
        let path = json.split_once("](gpus/").and_then(|(_, rest)| rest.strip_suffix(')'));
        let Some(name) = path else {
            problems.push(format!("{device}: a result without a link to `gpus/NAME.json`"));
            continue;
        };
        linked.insert(name.to_owned());
        match file(name) {
            None => problems.push(format!("{device}: there is no docs/gpus/{name}")),
            Some(text) => {
                let missing = [device, driver].into_iter().filter(|word| !text.contains(word));
                problems.extend(missing.map(|word| format!("docs/gpus/{name} lacks `{word}`")));
            }
        }
    }
    problems.extend(present.difference(&linked).map(|name| format!("no row links to {name}")));
    problems
}

#[test]
fn the_table_of_gpus_has_the_files_that_are_there() {
    let folder = workspace().join("docs/gpus");
    let mut found = Vec::new();
    if folder.is_dir() {
        files(&folder, "json", &mut found);
    }
    let name = |path: &std::path::PathBuf| {
        path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    };
    let present = found.iter().map(name).collect();
    let text = |name: &str| std::fs::read_to_string(folder.join(name)).ok();
    let problems = problems(&read("docs/gpus.md"), &present, text);
    assert!(problems.is_empty(), "docs/gpus.md:\n{}", problems.join("\n"));
}

#[test]
fn wrong_tables_of_gpus_are_found() {
    let json = |name: &str| (name == "h100.json").then(|| "NVIDIA H100, 570.1".to_owned());
    let check = |row: &str, files: &[&str]| {
        let page = format!("| device | driver | date | result | JSON |\n|---|\n{row}\n");
        problems(&page, &files.iter().map(|name| (*name).to_owned()).collect(), json)
    };
    let good = "| NVIDIA H100 | 570.1 | 2026-01-01 | 40 ok | [JSON](gpus/h100.json) |";
    assert_eq!(check(good, &["h100.json"]), [""; 0]);
    assert_eq!(check("| A | – | – | never run | – |", &[]), [""; 0]);
    for (row, files, problem) in [
        ("| A | 1 | – | never run | – |", &[][..], "not all other cells"),
        ("| A | 1 | today | 40 ok | – |", &[], "without a link"),
        ("| A | 1 | today | 40 ok | [JSON](gpus/a.json) |", &[], "no docs/gpus/a.json"),
        (&good.replace("570.1", "571"), &["h100.json"], "lacks `571`"),
        (good, &["h100.json", "b.json"], "no row links to b.json"),
        ("| A | 1 |", &[], "5 cells"),
    ] {
        let found = check(row, files);
        assert!(found.len() == 1 && found[0].contains(problem), "{row}: {found:?}");
    }
}

/// Checks that the text before the output of a GPU calls it expected, in the same section, until a
/// GPU of this kind has run the kernels.
#[test]
fn outputs_of_gpus_are_called_expected() {
    let mut found = 0;
    for (path, text) in documents() {
        let mut section = String::new();
        for line in text.lines() {
            section = if line.starts_with("#") { String::new() } else { section + line + "\n" };
            let is_gpu = ["cuda:", "hip:", "NVIDIA H100"].iter().any(|name| line.starts_with(name));
            if is_gpu && line.contains(": ") {
                assert!(section.contains("xpected "), "{}: {line}", path.display());
                found += 1;
            }
        }
    }
    assert!(found > 7, "{found} outputs");
}
