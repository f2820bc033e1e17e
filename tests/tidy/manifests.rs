//! Tests of the manifest fields that a registry shows, and of the files in packages.

use super::sources::{CRATES, after, documents, quoted, read, sources};
use offload_tests::scratch::workspace;
use std::path::Path;

/// Returns the members that are published, with their manifests.
fn published() -> Vec<(String, String)> {
    let root = read("Cargo.toml");
    let (members, _) = after(&root, "members = [").split_once(']').expect("it ends");
    let manifests =
        quoted(members, '"').map(|name| (name.to_owned(), read(&format!("{name}/Cargo.toml"))));
    manifests.filter(|(_, text)| !text.contains("publish = false")).collect()
}

#[test]
fn what_a_registry_shows_is_there() {
    let published = published();
    assert_eq!(published.len(), CRATES.len(), "{published:?}");
    for (name, manifest) in published {
        for field in [
            &format!("documentation = \"https://docs.rs/{name}\""),
            "readme = \"README.md\"",
            "license.workspace = true",
            "rust-version.workspace = true",
            "description = \"",
            "keywords = [",
            "categories = [",
        ] {
            assert!(manifest.contains(field), "{name}/Cargo.toml has no {field}");
        }
        for file in ["README.md", "LICENSE-MIT", "LICENSE-APACHE"] {
            assert!(read(&format!("{name}/{file}")).len() > 300, "{name}/{file}");
        }
        for license in ["LICENSE-MIT", "LICENSE-APACHE"] {
            assert_eq!(read(&format!("{name}/{license}")), read(license), "{name}");
        }
    }
}

/// Checks that links in a README are full addresses: a registry shows the README alone, so a path
/// in it would lead nowhere. The README's examples must be doctests.
#[test]
fn readmes_of_crates_stand_alone() {
    for (name, _) in published() {
        let readme = read(&format!("{name}/README.md"));
        assert!(readme.starts_with(&format!("# {name}\n")), "{name}");
        for (before, link) in readme.match_indices("](").map(|(at, _)| readme.split_at(at + 2)) {
            let line = before.lines().last().unwrap_or_default();
            assert!(link.starts_with("https://"), "{name}/README.md: {line}");
        }
        let library = read(&format!("{name}/src/lib.rs"));
        assert!(library.contains("#[doc = include_str!(\"../README.md\")]"), "{name}/src/lib.rs");
    }
}

/// Only a maintainer knows the address of the repository. Until the workspace states it,
/// CONTRIBUTING.md asks for it; afterwards every crate states it.
#[test]
fn the_repository_is_named_or_asked_for() {
    let root = read("Cargo.toml");
    let is_named = root.lines().any(|line| line.starts_with("repository = \"https://"));
    let asks = read("CONTRIBUTING.md").contains("`repository` and `homepage`");
    assert!(is_named || asks, "Cargo.toml does not name it, CONTRIBUTING.md does not ask for it");
    for (name, manifest) in published() {
        for field in ["repository", "homepage"] {
            let inherits = manifest.contains(&format!("{field}.workspace = true"));
            assert_eq!(inherits, is_named, "{name}/Cargo.toml: {field}.workspace = true");
        }
    }
}

/// A package contains only the files of the crate's folder, so other files of the repository are
/// linked into that folder.
#[test]
fn documentation_reads_no_file_outside_of_its_crate() {
    for (name, _) in published() {
        for (path, text) in sources(&format!("{name}/src")) {
            let depth = Path::new(&path).components().count() - 2;
            let outside = "../".repeat(depth + 1);
            for line in text.lines().filter(|line| line.contains("include_")) {
                let leads_out = line.contains(&format!("!(\"{outside}"))
                    || line.contains("CARGO_MANIFEST_DIR/..");
                assert!(!leads_out, "{path}: {line}");
            }
        }
    }
}

/// The line of every page that names a crate of the registry. README.md has the lines to which it
/// refers.
const UNPUBLISHED: &str = "Until the crates are published, they come from a checkout: \"A complete package\" in the \
                           repository's README.md shows the lines.";

#[test]
fn pages_say_where_the_crates_are_until_they_are_published() {
    let libraries = published().into_iter().map(|(name, _)| {
        let library = format!("{name}/src/lib.rs");
        (workspace().join(&library), read(&library))
    });
    let mut found = 0;
    for (path, text) in documents().into_iter().chain(libraries) {
        let is_rust = path.extension().is_some_and(|extension| extension == "rs");
        let lines = text.lines().filter_map(|line| {
            if is_rust { line.strip_prefix("//!").map(str::trim) } else { Some(line) }
        });
        let text: Vec<&str> = lines.collect();
        let names_the_registry = text.iter().any(|line| {
            line.contains("cargo install offload-tools")
                || line.starts_with("offload-") && line.contains(" = ") && line.contains("\"0.1")
        });
        let has_the_line = text.join(" ").contains(UNPUBLISHED);
        // These two pages have the lines themselves, and what to do on the day of the release.
        let is_special =
            ["README.md", "CONTRIBUTING.md"].iter().any(|name| path == workspace().join(name));
        if !is_special {
            assert!(!names_the_registry || has_the_line, "{} lacks: {UNPUBLISHED}", path.display());
            found += usize::from(has_the_line);
        }
    }
    assert!(found > 10, "{found} pages");
    let readme = read("README.md");
    let section = after(&readme, "## A complete package\n");
    let (section, _) = section.split_once("\n## ").expect("it ends");
    let section = section.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "clone this repository beside your package, as `offload`",
        "cargo install --path ../offload/offload-tools",
        "[patch.crates-io] offload-gpu = { path = \"../offload/offload-gpu\" } offload-build = { path = \"../offload/offload-build\" }",
    ] {
        assert!(section.contains(part), "README.md has no {part}");
    }
}
