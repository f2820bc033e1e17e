//! The architecture, as far as text can show it. ARCHITECTURE.md has the same in words.

use offload_tests::scratch::workspace;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// For each module of offload-format the modules that it may use.
const ARROWS: &[(&str, &[&str])] = &[
    ("error", &[]),
    ("reader", &["error"]),
    ("layout", &[]),
    ("string_table", &["error"]),
    ("target", &[]),
    ("compression", &["error"]),
    ("bundle", &["error", "reader", "layout", "target"]),
    ("text_bundle", &["error", "layout", "target", "bundle"]),
    ("compressed", &["error", "reader", "layout", "bundle", "compression"]),
    ("offload_binary", &["error", "reader", "layout", "string_table", "compression"]),
    ("image", &["error", "reader", "target"]),
    ("nv_fatbin", &["error", "reader", "layout", "target", "compression", "image"]),
    ("archive", &["error", "reader", "layout"]),
    ("host_object", &["layout", "bundle", "offload_binary"]),
    ("object_file", &["error", "reader", "host_object"]),
    ("object_bundle", &["error", "reader", "layout", "target", "bundle", "string_table"]),
    (
        "device_archive",
        &["error", "reader", "layout", "target", "bundle", "compressed", "archive", "object_bundle", "image"],
    ),
    (
        "fat_file",
        &[
            "error",
            "reader",
            "target",
            "bundle",
            "compressed",
            "offload_binary",
            "nv_fatbin",
            "archive",
            "host_object",
            "object_file",
            "object_bundle",
            "text_bundle",
            "image",
        ],
    ),
    ("select", &["target"]),
    ("pack_index", &["compression", "host_object", "target"]),
    ("embedded", &["error", "compression", "host_object", "select", "target", "pack_index"]),
    ("supports", &["embedded", "select"]),
];

/// Names that lib.rs exports from a module.
const AT_ROOT: &[(&str, &str)] = &[("Error", "error"), ("ErrorKind", "error"), ("Result", "error")];

/// Where `unsafe` may stand.
const UNSAFE: &[&str] = &[
    "offload-build/src/jobserver/elsewhere.rs",
    "offload-embed-macro/src/expand",
    "offload-format/src/embedded/linked.rs",
    "examples/",
    "tests/",
    "xtask/",
];

/// Lines in a file from which on it should be taken apart; a file of tests may be a little longer.
const LONG: usize = 500;
const LONG_TESTS: usize = 700;

fn files(folder: &Path, extension: &str, found: &mut Vec<PathBuf>) {
    let built = ["target", "examples/target", "docs/guide/book"].map(|folder| workspace().join(folder));
    for path in fs::read_dir(folder).expect("the folder can be read").flatten().map(|entry| entry.path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && !built.contains(&path) && !name.starts_with('.') {
            files(&path, extension, found);
        } else if path.extension().is_some_and(|it| it == extension) {
            found.push(path);
        }
    }
}

fn sources(folder: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    files(&workspace().join(folder), "rs", &mut found);
    assert!(!found.is_empty(), "{folder} has sources");
    let name = |path: &Path| path.strip_prefix(workspace()).unwrap_or(path).to_string_lossy().replace('\\', "/");
    found.iter().map(|path| (name(path), fs::read_to_string(path).expect("a source can be read"))).collect()
}

/// The code of a file: no comments, nothing from its unit tests on.
fn code(text: &str) -> String {
    let code = text.split("#[cfg(test)]").next().unwrap_or("");
    code.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// The names that follow `crate::`, also in `crate::{a, b::c}`.
fn used(code: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for rest in code.split("crate::").skip(1) {
        let list = match rest.strip_prefix('{') {
            Some(group) => group.split('}').next().unwrap_or(""),
            None => rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or(""),
        };
        names.extend(list.split(',').filter_map(|item| Some(item.trim().split("::").next()?.to_owned())));
    }
    names.retain(|name| !name.is_empty());
    names
}

#[test]
fn arrows_in_offload_format_go_one_way() {
    let mut seen = BTreeSet::new();
    for (path, text) in sources("offload-format/src") {
        let module = path.trim_start_matches("offload-format/src/").split(['/', '.']).next().unwrap_or("").to_owned();
        // The map itself, and unit tests in files of their own.
        if module == "lib" || path.ends_with("tests.rs") {
            continue;
        }
        let (_, may) =
            ARROWS.iter().find(|(name, _)| *name == module).unwrap_or_else(|| panic!("{module} is not in ARROWS"));
        for name in used(&code(&text)) {
            let target = AT_ROOT.iter().find(|(export, _)| *export == name).map_or(name.as_str(), |(_, module)| module);
            assert!(target == module || may.contains(&target), "{path} uses crate::{name}: {module} may use {may:?}");
            seen.insert((module.clone(), target.to_owned()));
        }
    }
    // If the reading of sources broke, nothing would be found.
    assert!(seen.contains(&("bundle".into(), "reader".into())));
    assert!(seen.contains(&("embedded".into(), "pack_index".into())));
}

#[test]
fn arrows_are_listed_from_below() {
    for (index, (module, may)) in ARROWS.iter().enumerate() {
        let below: Vec<&str> = ARROWS[..index].iter().map(|(name, _)| *name).collect();
        assert!(may.iter().all(|name| below.contains(name)), "{module} uses something that is not listed before it");
    }
}

#[test]
fn offload_format_does_not_know_the_outside() {
    for (path, text) in sources("offload-format/src") {
        // The crate `zstd` is no `std`.
        let code = code(&text).replace("zstd::", "");
        for word in ["std::", "extern crate std", "println!", "env!", "include_bytes!"] {
            assert!(!code.contains(word), "{path} has {word}");
        }
    }
}

#[test]
fn the_environment_is_read_in_one_place_of_offload_build() {
    for (path, text) in sources("offload-build/src").into_iter().filter(|(path, _)| !path.ends_with("/cargo.rs")) {
        for word in ["env::var", "println!(\"cargo", "split_paths"] {
            assert!(!code(&text).contains(word), "{path} has {word}: that is for cargo.rs");
        }
    }
}

#[test]
fn unsafe_code_is_where_it_may_be() {
    for folder in ["offload-format", "offload-build", "offload-embed-macro"] {
        for (path, text) in sources(folder) {
            let has = code(&text).split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == "unsafe");
            assert!(!has || UNSAFE.iter().any(|may| path.starts_with(may)), "{path} has unsafe code");
        }
    }
}

#[test]
fn files_say_what_they_are_and_stay_short() {
    for folder in ["offload-format", "offload-build", "offload-embed-macro", "examples", "tests", "xtask"] {
        for (path, text) in sources(folder) {
            assert!(text.starts_with("//!"), "{path} does not start with what it is");
            let lines = text.lines().count();
            let limit = if path.starts_with("tests/") { LONG_TESTS } else { LONG };
            assert!(lines <= limit, "{path} has {lines} lines: {limit} are the limit");
        }
    }
}

#[test]
fn links_between_documents_lead_somewhere() {
    let mut documents = Vec::new();
    files(workspace(), "md", &mut documents);
    let mut links = 0;
    for document in documents {
        let text = fs::read_to_string(&document).expect("a document can be read");
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if link.contains("://") || link.starts_with('#') {
                continue;
            }
            let path = document.parent().expect("a file lies in a folder").join(link.split('#').next().unwrap_or(link));
            assert!(path.exists(), "{} links to {link}", document.display());
            links += 1;
        }
    }
    assert!(links > 3, "the README has links");
}

/// Whether a source has this function.
fn has_function(path: &str, name: &str) -> bool {
    fs::read_to_string(workspace().join(path)).is_ok_and(|text| text.contains(&format!("fn {name}(")))
}

/// The last column has `module::tests::function` of offload-format, or a file of `tests/` and functions in it.
#[test]
fn differences_from_llvm_name_tests_that_are_there() {
    let text = fs::read_to_string(workspace().join("docs/llvm-differences.md")).expect("the document can be read");
    let rows = text.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| case |"));
    let rows: Vec<&str> = rows.collect();
    assert!(rows.len() > 30, "the table was found");
    let mut cases = BTreeSet::new();
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").collect();
        assert_eq!(cells.len(), 4, "{row}");
        assert!(cases.insert(cells[0]), "{} is there twice", cells[0]);
        let mut file = "";
        let mut tests = 0;
        for word in cells[3].split([' ', ',']).filter(|word| !word.is_empty()) {
            if word.starts_with("tests/") {
                file = word;
                continue;
            }
            let name = word.trim_matches('`');
            let exists = match name.rsplit_once("::tests::") {
                Some((module, function)) => {
                    let path = format!("offload-format/src/{}", module.replace("::", "/"));
                    [".rs", "/mod.rs", "/tests.rs"].iter().any(|end| has_function(&(path.clone() + end), function))
                }
                None => has_function(file, name),
            };
            assert!(exists, "{word} is no test: {row}");
            tests += 1;
        }
        assert!(tests > 0, "no test: {row}");
    }
}

/// The paths in the first column of tests/README.md's tables, once for each time that they stand there.
fn paths_of_the_readme() -> Vec<String> {
    let readme = fs::read_to_string(workspace().join("tests/README.md")).expect("the README can be read");
    let first_cells = readme.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    let quoted = first_cells.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    let mut paths: Vec<String> =
        quoted.filter(|name| name.ends_with(['/']) || name.ends_with(".rs")).map(Into::into).collect();
    paths.sort();
    paths
}

/// What lies in a folder of `tests/`, as the README names it: `formats/golden.rs`, `formats/archives/`.
fn paths_in(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(workspace().join("tests").join(folder)).expect("the folder can be read").flatten();
    let slash = |entry: &fs::DirEntry| if entry.path().is_dir() { "/" } else { "" };
    entries.map(|entry| format!("{folder}{}{}", entry.file_name().to_string_lossy(), slash(&entry))).collect()
}

#[test]
fn the_readme_of_tests_lists_what_is_there_and_nothing_else() {
    let mut there = Vec::new();
    for path in paths_in("") {
        match path.as_str() {
            "README.md" | "Cargo.toml" => {}
            "corpus/" | "tidy.rs" => there.push(path),
            area if area.ends_with('/') => there.extend(paths_in(area)),
            // What a tool leaves in its folder does not belong here.
            other => panic!("tests/{other} is no source of a test"),
        }
    }
    there.retain(|path| !path.ends_with("/main.rs") && path != "src/lib.rs");
    there.sort();
    assert_eq!(paths_of_the_readme(), there);
}
