//! Tests the names of types: a type that a whole crate can use has a name of its own in the crate,
//! and no file imports one of this project's types by another name.

use super::sources::{CRATES, code, sources};
use std::collections::BTreeMap;

/// The names that several types of a crate have. Each container has types of these names, and the
/// module says whose they are: `bundle::Entry`. Each command of `cargo offload` has `Args`, and
/// each kind of system a `Jobserver`.
const SHARED: [(&str, &str); 3] = [
    ("offload-format", "Entry Image Version WriteError"),
    ("offload-build", "Jobserver"),
    ("offload-tools", "Args"),
];

/// Returns the name of the type that a line declares, if the whole crate can use the type.
fn declared(line: &str) -> Option<&str> {
    let line = line.strip_prefix("pub ").or_else(|| line.strip_prefix("pub(crate) "))?;
    let line = line.strip_prefix("unsafe ").unwrap_or(line);
    let kinds = ["struct ", "enum ", "trait ", "union "];
    let name = kinds.iter().find_map(|kind| line.strip_prefix(kind))?;
    name.split(|c: char| !c.is_alphanumeric() && c != '_').next()
}

#[test]
fn types_of_a_crate_have_names_of_their_own() {
    for name in CRATES {
        let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (path, text) in sources(&format!("{name}/src")) {
            for found in code(&text).lines().filter_map(declared) {
                places.entry(found.to_owned()).or_default().push(path.clone());
            }
        }
        places.retain(|_, places| places.len() > 1);
        let shared = SHARED.iter().find(|(of, _)| *of == name).map_or("", |(_, names)| names);
        let found = places.keys().map(String::as_str).collect::<Vec<_>>().join(" ");
        assert_eq!(found, shared, "left: several types of {name} have these names: {places:?}");
    }
}

/// Returns the types of this project that code imports by other names: `Image as Header`.
fn renamed(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    for part in code.split("\nuse ").skip(1) {
        let import = part.split(';').next().unwrap_or_default();
        let ours = ["crate::", "super::", "self::", "offload_"];
        if !ours.iter().any(|start| import.starts_with(start)) {
            continue;
        }
        for name in import.split(['{', '}', ',']) {
            if let Some((path, other)) = name.split_once(" as ") {
                let is_type = |name: &str| {
                    name.starts_with(char::is_uppercase) && name.contains(char::is_lowercase)
                };
                let own = path.rsplit("::").next().unwrap_or_default().trim();
                if is_type(own) && is_type(other.trim()) {
                    found.push(format!("{own} as {}", other.trim()));
                }
            }
        }
    }
    found
}

#[test]
fn types_are_imported_by_their_own_names() {
    for (path, text) in CRATES.iter().flat_map(|name| sources(&format!("{name}/src"))) {
        let found = renamed(&format!("\n{}", code(&text)));
        assert!(found.is_empty(), "{path} imports {found:?}");
    }
    let text = "\nuse crate::image::{Image as Header, ImageKind};\nuse object::FileKind as Object;\n\
                use super::bundle::{\n    MAGIC as OWN,\n    Entry as BundleEntry,\n};\n";
    assert_eq!(renamed(text), ["Image as Header", "Entry as BundleEntry"]);
}
