//! Returns README's package: the files that README.md shows, changed to use this checkout instead
//! of the registry.
//!
//! The benches also include this file as a module.

use std::fs;
use std::io;
use std::path::Path;

/// The section of README with the package.
const SECTION: &str = "\n## A complete package\n";

/// Returns the package's files: their paths in the package's folder, and their texts. `root` is
/// this checkout's folder, whose lock file has the versions of all other crates.
pub fn package(root: &Path) -> io::Result<Vec<(String, String)>> {
    let readme = fs::read_to_string(root.join("README.md"))?;
    let mut files = Vec::new();
    for (path, text) in blocks(&readme) {
        let mut text = text.to_owned();
        if path == "Cargo.toml" {
            text.push_str("[workspace]\n[patch.crates-io]\n");
            for name in ["offload-gpu", "offload-build"] {
                text.push_str(&format!("{name} = {{ path = {:?} }}\n", root.join(name)));
            }
        }
        files.push((path.to_owned(), text));
    }
    files.push(("Cargo.lock".to_owned(), fs::read_to_string(root.join("Cargo.lock"))?));
    Ok(files)
}

/// Returns the section's code blocks that directly follow a file's name, such as "`build.rs`:".
fn blocks(readme: &str) -> impl Iterator<Item = (&str, &str)> {
    let section = readme.split_once(SECTION).map_or("", |(_, after)| after);
    let section = section.split("\n## ").next().unwrap_or("");
    section.match_indices("`:\n```").filter_map(|(at, marker)| {
        let (_, path) = section[..at].rsplit_once('`')?;
        let (_, text) = section[at + marker.len()..].split_once('\n')?;
        Some((path, &text[..text.find("```")?]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_package_of_the_readme_is_found() {
        let readme = include_str!("../../README.md");
        let paths: Vec<&str> = blocks(readme).map(|(path, _)| path).collect();
        assert_eq!(paths, ["Cargo.toml", "kernels/saxpy.cu", "build.rs", "src/main.rs"]);
    }
}
