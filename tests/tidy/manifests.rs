//! Tests of the manifest fields that a registry shows, and of a sentence that pages need until the
//! crates are published.

use super::sources::{CRATES, after, documents, quoted, read};
use offload_tests::scratch::workspace;

/// Returns the published members with their manifests.
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
        for license in ["LICENSE-MIT", "LICENSE-APACHE"] {
            assert_eq!(read(&format!("{name}/{license}")), read(license), "{name}");
        }
    }
}

/// The sentence in every page that uses a crate from the registry. It refers to the entries of
/// Cargo.toml in README.md.
const UNPUBLISHED: &str = "The crates are not published yet, so use them from a checkout: \"A complete package\" in the \
                           repository's README.md shows how.";

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
        // These two pages contain the entries themselves, and the steps for the release day.
        let is_special =
            ["README.md", "CONTRIBUTING.md"].iter().any(|name| path == workspace().join(name));
        if !is_special {
            assert!(!names_the_registry || has_the_line, "{} lacks: {UNPUBLISHED}", path.display());
            found += usize::from(has_the_line);
        }
    }
    assert!(found > 10, "{found} pages");
}
