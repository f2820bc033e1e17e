//! Tests of the architecture's rules that are visible in the sources' text. ARCHITECTURE.md
//! describes these rules.

mod gpus;
mod manifests;
mod map;
mod programs;
mod prose;
mod reference;
mod sources;

use offload_tests::scratch::workspace;
use sources::{CRATES, FOLDERS, after, code, documents, quoted, read, sources};
use std::collections::BTreeSet;
use std::fs;

/// The maximum number of lines in a file. Test files may be slightly longer.
const LONG: usize = 600;
const LONG_TESTS: usize = 800;

/// Returns the sources of offload-build, without unit test files.
fn sources_of_offload_build() -> impl Iterator<Item = (String, String)> {
    let all = sources("offload-build/src").into_iter();
    all.filter(|(path, _)| !path.ends_with("/tests.rs"))
}

/// Asserts that these words are only in sources of offload-build whose paths contain `place`.
#[track_caller]
fn only_in(place: &str, code: impl Fn(&str) -> String, words: &[&str]) {
    for (path, text) in sources_of_offload_build() {
        let code = code(&text);
        let found = words.iter().find(|word| code.contains(**word));
        assert!(found.is_none() || path.contains(place), "{path} has {found:?}: for {place} only");
    }
}

#[test]
fn the_environment_is_read_in_one_place_of_offload_build() {
    only_in("/cargo.rs", code, &["env::var", "println!(\"cargo", "split_paths"]);
}

#[test]
fn one_folder_of_offload_build_starts_processes() {
    only_in("offload-build/src/toolchain/exec/", code, &["Command::new", "process::Command"]);
}

#[test]
fn one_file_of_offload_build_parses_targets() {
    let words = &["OffloadArch::parse", "TargetId::parse", "NvidiaArch::parse"];
    only_in("/targets/target.rs", str::to_owned, words);
}

#[test]
fn unsafe_code_is_where_it_may_be() {
    let may_be = map::unsafe_code();
    assert!(may_be.len() > 4, "{may_be:?}");
    // In the other crates, the compiler forbids unsafe code.
    let forbids = |name: &&str| read(&format!("{name}/src/lib.rs")).contains("forbid(unsafe_code)");
    for (path, text) in CRATES.into_iter().filter(|name| !forbids(name)).flat_map(sources) {
        // In this file, a message contains an attribute, which is not unsafe code.
        let mut code = code(&text);
        if path.ends_with("signatures/rust.rs") {
            code = code.replace("#[unsafe(no_mangle)]", "");
        }
        let mut words = code.split(|c: char| !c.is_alphanumeric() && c != '_');
        let may = may_be.iter().any(|may| path.starts_with(may));
        assert!(may || !words.any(|word| word == "unsafe"), "{path} has unsafe code");
    }
}

#[test]
fn files_say_what_they_are_and_stay_short() {
    let crates = CRATES.into_iter().filter(|name| *name != "offload-tools");
    for (path, text) in crates.chain(["examples", "tests", "xtask"]).flat_map(sources) {
        assert!(text.starts_with("//!"), "{path} does not start with what it is");
        let lines = text.lines().count();
        let limit = if path.starts_with("tests/") { LONG_TESTS } else { LONG };
        assert!(lines <= limit, "{path} has {lines} lines: {limit} are the limit");
    }
}

/// Checks the width of comments, because rustfmt only limits the width of code. Tables and examples
/// in comments may be wider.
#[test]
fn comments_are_no_wider_than_code() {
    const WIDTH: usize = 100;
    for (path, text) in FOLDERS.into_iter().flat_map(sources) {
        let mut is_example = false;
        for (line, number) in text.lines().zip(1..) {
            let comment = line.trim_start().strip_prefix("//");
            let words = comment.map(|it| it.trim_start_matches(['/', '!']).trim_start());
            let is_fence = words.is_some_and(|words| words.starts_with("```"));
            // If an example needs a feature, its first line is in an attribute.
            is_example = line.contains("doc = \"```") || words.is_some() && is_example != is_fence;
            let is_prose = words.is_some_and(|words| !words.starts_with('|')) && !is_example;
            let is_wide = is_prose && line.chars().count() > WIDTH;
            assert!(!is_wide, "{path}:{number} is wider than {WIDTH} columns");
        }
    }
}

/// Words in capitals in offload-build's sources that are neither environment variables nor names of
/// signals. The last four are keys in /etc/os-release.
const NO_VARIABLES: &str = "
    DW_AT_ DW_ATE_ DW_TAG_ UTF OFF FALSE IGNORE NOTFOUND FLAGS CROSS RUST SDK NDK TARGET_ HOST_ PTX NUL HIP
    CARGO_PKG_VERSION_MAJOR CARGO_PKG_VERSION_MINOR
    ID_LIKE UBUNTU_CODENAME DEBIAN_CODENAME VERSION_CODENAME";

/// Returns the words in capitals that are between two characters `mark`.
fn words_in_capitals(text: &str, mark: char) -> BTreeSet<String> {
    let capital = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    let words = quoted(text, mark).filter(|word| word.len() > 2 && word.chars().all(capital));
    words.filter(|word| word.starts_with(char::is_uppercase)).map(str::to_owned).collect()
}

/// Returns the variables of checks whose constants are in a text, such as `variables::CHECK`.
fn variables_of_checks(text: &str) -> Vec<String> {
    let words: Vec<&str> =
        text.split(|c: char| !c.is_ascii_alphanumeric() && !"_:".contains(c)).collect();
    let constants = read("offload-pack/src/checks.rs");
    let constants = constants
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix("pub const ")?.split_once(": &str = "));
    let named = constants.filter(|(name, _)| words.contains(&&*format!("variables::{name}")));
    named.flat_map(|(_, value)| quoted(value, '"')).map(str::to_owned).collect()
}

/// Returns the environment variables that offload-build's sources contain.
fn variables_of_offload_build() -> BTreeSet<String> {
    let mut in_sources = BTreeSet::new();
    for (_, text) in sources_of_offload_build() {
        in_sources.extend(code(&text).lines().flat_map(|line| words_in_capitals(line, '"')));
        in_sources.extend(variables_of_checks(&text));
    }
    let others: Vec<&str> = NO_VARIABLES.split_whitespace().collect();
    in_sources.retain(|word| !others.contains(&word.as_str()) && !word.starts_with("SIG"));
    in_sources
}

#[test]
fn what_a_build_does_lists_the_variables_and_paths_of_the_sources() {
    let page = read("docs/what-a-build-does.md");
    let variables = after(&page, "## Environment variables").lines();
    let on_page = variables.flat_map(|line| words_in_capitals(line, '`')).collect();
    assert_eq!(variables_of_offload_build(), on_page);
    let paths = quoted(&page, '`').filter(|word| word.starts_with("offload-"));
    let missing: Vec<&str> = paths.filter(|path| !workspace().join(path).exists()).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// Checks that the table of processes names each file that starts a program, or the file's folder.
/// The table need not name the files in `exec/` and the probe cache, which start programs for other
/// files.
#[test]
fn what_a_build_does_names_the_files_that_start_programs() {
    let page = read("docs/what-a-build-does.md");
    let table = after(&page, "## Processes").split("\n## ").next().unwrap_or_default();
    let places: Vec<&str> = quoted(table, '`').filter(|it| it.starts_with("offload-")).collect();
    let mut missing = Vec::new();
    for (path, text) in sources_of_offload_build() {
        let code = code(&text);
        let is_start = [" probe(", "probes.ask", "Step::new("].iter().any(|it| code.contains(it));
        let is_told = path.contains("/exec/") || path.ends_with("/probe_cache.rs");
        if is_start && !is_told && !places.iter().any(|place| path.starts_with(place)) {
            missing.push(path);
        }
    }
    assert!(missing.is_empty(), "the table of processes does not name {missing:?}");
}

#[test]
fn links_between_documents_lead_somewhere() {
    let mut links = 0;
    let book = workspace().join("docs").canonicalize().expect("there are documents");
    for (document, text) in documents() {
        let folder = document.parent().expect("a file lies in a folder");
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if link.contains("://") || link.starts_with('#') {
                continue;
            }
            let is_packaged = CRATES.iter().any(|name| folder == workspace().join(name));
            assert!(
                !is_packaged,
                "{}: a registry shows this page alone: {link}",
                document.display()
            );
            let path = folder.join(link.split('#').next().unwrap_or(link));
            let path = path.canonicalize();
            let path = path.unwrap_or_else(|_| panic!("{} links to {link}", document.display()));
            let is_in_book = !document.starts_with(&book) || path.starts_with(&book);
            assert!(is_in_book, "{}: {link} leads out of the book in docs", document.display());
            links += 1;
        }
    }
    assert!(links > 3, "the README has links");
}

/// Whether a source contains this function.
fn has_function(path: &str, name: &str) -> bool {
    fs::read_to_string(workspace().join(path))
        .is_ok_and(|text| text.contains(&format!("fn {name}(")))
}

/// Checks the last column of the table in docs/llvm-differences.md. Its cells name
/// `module::tests::function` of offload-format, or a file in `tests/` and functions in this file.
#[test]
fn differences_from_llvm_name_tests_that_are_there() {
    let text = read("docs/llvm-differences.md");
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
                    let has = |end: &&str| has_function(&format!("{path}{end}"), function);
                    [".rs", "/mod.rs", "/tests.rs"].iter().any(has)
                }
                None => has_function(file, name),
            };
            assert!(exists, "{word} is no test: {row}");
            tests += 1;
        }
        assert!(tests > 0, "no test: {row}");
    }
}

/// Returns the paths in the first columns of tests/README.md's tables, including duplicates.
fn paths_of_the_readme() -> Vec<String> {
    let readme = read("tests/README.md");
    let first_cells =
        readme.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    let quoted = first_cells.flat_map(|cell| quoted(cell, '`'));
    let is_path = |name: &&str| name.ends_with('/') || name.ends_with(".rs");
    let mut paths: Vec<String> = quoted.filter(is_path).map(Into::into).collect();
    paths.sort();
    paths
}

/// Returns the entries of a folder in `tests/`, in the README's form: `formats/golden.rs`,
/// `formats/archives/`.
fn paths_in(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(workspace().join("tests").join(folder)).expect("a folder");
    let path = |entry: fs::DirEntry| {
        let slash = if entry.path().is_dir() { "/" } else { "" };
        format!("{folder}{}{slash}", entry.file_name().to_string_lossy())
    };
    entries.flatten().map(path).collect()
}

#[test]
fn the_readme_of_tests_lists_what_is_there_and_nothing_else() {
    let mut there = Vec::new();
    for path in paths_in("") {
        match path.as_str() {
            "README.md" | "Cargo.toml" => {}
            "attribute/" | "corpus/" | "elsewhere/" | "published/" | "tidy/" => there.push(path),
            area if area.ends_with('/') => there.extend(paths_in(area)),
            // `tests/` must not contain other files, for example leftovers of a tool.
            other => panic!("tests/{other} is no source of a test"),
        }
    }
    there.retain(|path| !path.ends_with("/main.rs") && path != "src/lib.rs");
    there.sort();
    assert_eq!(paths_of_the_readme(), there);
}

/// Checks that the tests in the index of claims exist.
#[test]
fn the_index_of_claims_leads_to_tests() {
    let readme = read("tests/README.md");
    let index = after(&readme, "\n## Find a claim").split("\n## ").next().unwrap_or_default();
    let filters: Vec<_> =
        quoted(index, '`').filter_map(|command| command.split_once(" -- ")).collect();
    assert!(filters.len() > 50, "{filters:?}");
    for (area, module) in filters {
        let path = workspace().join("tests").join(area).join(module.replace("::", "/"));
        assert!(path.is_dir() || path.with_extension("rs").is_file(), "{area} -- {module}");
    }
}
