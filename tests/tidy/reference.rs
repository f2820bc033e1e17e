//! Tests that compare the guide's reference pages with the lists in the code.

use super::sources::{after, code, quoted, read, sources};
use super::{variables_of_checks, variables_of_offload_build};
use offload_tests::scratch::{files_with, workspace};
use std::collections::BTreeSet;
use std::fs;

/// Variables that Cargo sets, and other variables that users do not set. The guide omits them, but
/// `docs/what-a-build-does.md` lists them.
const NOT_FOR_USERS: &str = "
    OUT_DIR TARGET HOST OPT_LEVEL DEBUG MAKEFLAGS MFLAGS RUSTC_LINKER RUSTC
    CLANG_CRASH_DIAGNOSTICS_DIR CARGO_MAKEFLAGS CARGO_MANIFEST_DIR CARGO_MANIFEST_LINKS
    CARGO_ENCODED_RUSTFLAGS CARGO_PKG_NAME CARGO_PKG_VERSION CARGO CARGO_BUILD_ CARGO_ENCODED_
    CARGO_FEATURE_ CARGO_INCREMENTAL CARGO_PROFILE_ CARGO_PROFILE_RELEASE_CODEGEN_UNITS
    CARGO_BUILD_BUILD_DIR CARGO_BUILD_DEP_INFO_BASEDIR CARGO_PROFILE_RELEASE_LTO
    CARGO_PROFILE_RELEASE_PANIC CARGO_TARGET_ CARGO_PROFILE_RELEASE_DEBUG
    CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS CARGO_PROFILE_RELEASE_OPT_LEVEL
    CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS CARGO_UNSTABLE_ RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER
    RUSTC_BOOTSTRAP RUSTUP_AUTO_INSTALL RUSTUP_TOOLCHAIN";

fn page(name: &str) -> String {
    read(&format!("docs/guide/src/reference/{name}.md"))
}

/// Returns the quoted texts between `start` and `end` in a file's code.
fn listed(path: &str, start: &str, end: &str) -> Vec<String> {
    let code = code(&read(path));
    let list = after(&code, start).split(end).next().unwrap_or_default();
    quoted(list, '"').map(str::to_owned).collect()
}

/// Returns the texts in backticks in this column of the rows that start with `start`.
fn cells(page: &str, start: &str, column: usize) -> Vec<String> {
    let rows = page.lines().filter(|line| line.starts_with(start));
    let cells = rows.filter_map(|row| row.trim_matches('|').split(" | ").nth(column));
    cells.flat_map(|cell| quoted(cell, '`')).map(str::to_owned).collect()
}

#[test]
fn the_page_of_variables_lists_those_that_the_build_reads() {
    let text = page("variables");
    let (build, _) = text.split_once("## At run time").expect("the page has its sections");
    let words = build.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let on_page: BTreeSet<&str> = words.collect();
    let read = variables_of_offload_build();
    let not_for_users: Vec<&str> = NOT_FOR_USERS.split_whitespace().collect();
    let is_cargos = |name: &str| not_for_users.contains(&name) || name.starts_with("CARGO_CFG_");
    let missing: Vec<&String> =
        read.iter().filter(|name| !is_cargos(name) && !on_page.contains(name.as_str())).collect();
    assert!(missing.is_empty(), "docs/guide/src/reference/variables.md lacks {missing:?}");
    let first_column = cells(build, "| `", 0);
    let names = first_column.iter().map(|cell| cell.split(['=', '<']).next().unwrap_or(cell));
    // `variables_of_offload_build` does not find these three names: they are too short, or start
    // with an underscore.
    let unknown: Vec<&str> = names
        .filter(|name| !read.contains(*name) && !read.contains(name.trim_end_matches('_')))
        .filter(|name| !["AR", "CL", "_CL_"].contains(name))
        .collect();
    assert!(unknown.is_empty(), "offload-build reads no {unknown:?}");
}

#[test]
fn the_page_of_variables_lists_those_of_programs() {
    let text = page("variables");
    let folders = ["offload-gpu/src", "offload-embed-macro/src"];
    let sources: Vec<_> = folders.into_iter().flat_map(sources).collect();
    let of_checks: Vec<String> =
        sources.iter().flat_map(|(_, text)| variables_of_checks(text)).collect();
    for name in cells(after(&text, "## At run time"), "| `", 0) {
        let name = name.split('=').next().unwrap_or_default();
        let is_read = of_checks.iter().any(|variable| variable == name)
            || sources.iter().any(|(_, text)| text.contains(&format!("\"{name}\"")));
        assert!(is_read, "no program reads {name}");
    }
}

#[test]
fn the_page_of_targets_lists_the_variables_in_the_order_of_the_code() {
    let path = "offload-build/src/targets/foreign_variables.rs";
    let mut code = listed(path, "const NVIDIA: ", "];");
    code.extend(listed(path, "const AMD: ", "];"));
    let text = page("targets");
    let mut rows = cells(&text, "| NVIDIA | ", 1);
    rows.extend(cells(&text, "| AMD | ", 1));
    assert_eq!(rows, code);
}

#[test]
fn the_page_of_compilers_lists_the_extensions() {
    let code = code(&read("offload-build/src/request/language.rs"));
    let lists = code.split("extensions: &[").skip(1).filter_map(|rest| rest.split(']').next());
    let extensions = lists.flat_map(|list| quoted(list, '"'));
    let extensions: BTreeSet<String> = extensions.map(|name| format!(".{name}")).collect();
    let mut on_page = BTreeSet::from_iter(cells(&page("compilers"), "| `.", 0));
    on_page.retain(|text| text.starts_with('.'));
    assert_eq!(on_page, extensions);
}

#[test]
fn the_page_of_checks_lists_the_values() {
    let code = listed("offload-pack/src/checks.rs", "fn name(self)", "_ =>");
    let mut on_page = cells(&page("checks"), "| `", 0);
    on_page.retain(|text| text.chars().all(|it| it.is_lowercase() || it == ','));
    assert_eq!(on_page, code);
}

/// Returns the headers that come with offload-build, as one text.
fn headers() -> String {
    let found = files_with(&workspace().join("offload-build/include"), "h");
    found.iter().map(|path| fs::read_to_string(path).expect("a header can be read")).collect()
}

#[test]
fn headers_read_the_variables_of_checks() {
    let checks = read("offload-pack/src/checks.rs");
    let headers = headers();
    let names =
        headers.split("getenv(\"OFFLOAD_").skip(1).filter_map(|rest| rest.split('"').next());
    let names: BTreeSet<String> = names.map(|name| format!("\"OFFLOAD_{name}\"")).collect();
    let unknown: Vec<_> = names.iter().filter(|name| !checks.contains(*name)).collect();
    assert!(names.len() > 2 && unknown.is_empty(), "checks.rs has no {unknown:?} of {names:?}");
}

#[test]
fn the_page_of_kernels_lists_names_that_the_headers_have() {
    /// Names that no header contains, because a macro in the headers composes them.
    const OTHERS: [&str; 1] = ["make_float4"];
    let text = page("kernels");
    let (table, _) = text.split_once("## Limits").expect("the page has its sections");
    let headers = headers();
    let names = cells(table, "| ", 1);
    assert!(names.len() > 80, "the table was found");
    let folder = workspace().join("offload-build/include");
    let word = |name: &String| -> String {
        let name = name.trim_matches(['<', '>']);
        name.chars().take_while(|c| c.is_alphanumeric() || "_/.".contains(*c)).collect()
    };
    let is_known = |word: &String| {
        headers.contains(word) || folder.join(word).exists() || OTHERS.contains(&word.as_str())
    };
    let unknown: Vec<String> = names.iter().map(word).filter(|word| !is_known(word)).collect();
    assert!(unknown.is_empty(), "no header has {unknown:?}");
}
