//! Manifests that depend on this checkout's crates.

use crate::scratch;

/// The project's crates that programs and build scripts depend on.
const CRATES: [&str; 3] = ["offload-gpu", "offload-build", "offload-format"];

fn path(of: &str) -> String {
    scratch::workspace().join(of).display().to_string()
}

fn dependency(name: &str) -> String {
    format!("{name} = {{ version = \"0.1\", path = {:?} }}\n", path(name))
}

/// Returns the manifest of a package that is a separate workspace.
pub fn new(name: &str) -> String {
    format!("{}\n[workspace]\n", member(name, "", ""))
}

/// Returns the manifest of a workspace member: see [`super::Scenario::workspace`].
pub fn member(name: &str, package: &str, dependencies: &str) -> String {
    format!(
        "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n{package}\n\n\
         [build-dependencies]\n{}\n[dependencies]\n{}{dependencies}\n",
        dependency("offload-build"),
        dependency("offload-gpu"),
    )
}

/// Returns the manifest with this checkout's crates in place of the registry's.
pub fn patched(manifest: &str) -> String {
    let depends_on =
        |name: &&str| manifest.lines().any(|line| line.starts_with(&format!("{name} = ")));
    let patches: String = CRATES.into_iter().filter(depends_on).map(dependency).collect();
    let workspace = if manifest.contains("[workspace]") { "" } else { "[workspace]\n\n" };
    format!(
        "{manifest}\n# What a copy has in place of a registry.\n{workspace}[patch.crates-io]\n{patches}"
    )
}

/// Returns Cargo options that replace the registry's crates with those of this checkout.
pub fn patch_options() -> impl Iterator<Item = String> {
    ["offload-gpu", "offload-build"].into_iter().flat_map(|name| {
        ["--config".to_owned(), format!("patch.crates-io.{name}.path={:?}", path(name))]
    })
}

/// Returns the manifest with these features of the project's crates enabled.
pub fn with_features(manifest: &str, features: super::Features) -> String {
    let mut manifest = manifest.to_owned();
    for (of, names) in features {
        let plain = format!("/{of}\" }}");
        assert!(manifest.contains(&plain), "{of} is no dependency without features");
        manifest = manifest.replace(&plain, &format!("/{of}\", features = {names:?} }}"));
    }
    manifest
}

/// Returns the manifest with lines added to the start of a section.
pub fn with_lines(manifest: &str, section: &str, lines: &str) -> String {
    let header = format!("[{section}]\n");
    assert!(manifest.contains(&header), "no {header} in\n{manifest}");
    manifest.replace(&header, &format!("{header}{lines}\n"))
}
