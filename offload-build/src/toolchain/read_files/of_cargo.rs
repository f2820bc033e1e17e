//! Finds the environment variables on which a crate depends, in files that Cargo wrote when it
//! built the crate.
//!
//! | file | contents |
//! |---|---|
//! | `*.d` | rustc's own dependency file, with the variables that `env!` and `option_env!` read |
//! | `output`, `stdout` | the output of a build script; a parent folder has the package's name |

use crate::toolchain::files;
use std::fs;
use std::path::Path;

/// Facts about all crates that Cargo built in a folder.
#[derive(Debug, Default)]
pub struct OfCargo {
    /// The names of the environment variables on which the crates and their build scripts depend.
    pub variables: Vec<String>,
    /// The paths of build scripts' outputs: first those with a `rerun-if` instruction, then those
    /// without.
    scripts: [Vec<String>; 2],
}

impl OfCargo {
    pub fn read(folder: &Path) -> Self {
        let mut records = Self::default();
        for path in files::tree(folder, usize::MAX, |_, _| false).unwrap_or_default() {
            let is_depfile = path.ends_with(".d");
            if is_depfile || path.ends_with("/output") || path.ends_with("/stdout") {
                let text = fs::read(folder.join(&path)).unwrap_or_default();
                records.add(path, is_depfile, &String::from_utf8_lossy(&text));
            }
        }
        records
    }

    fn add(&mut self, path: String, is_depfile: bool, text: &str) {
        let mut is_ruled = false;
        for line in text.lines() {
            let name = if is_depfile {
                line.strip_prefix("# env-dep:")
            } else {
                let Some(line) = line.strip_prefix("cargo:") else { continue };
                let line = line.strip_prefix(':').unwrap_or(line);
                is_ruled |= line.starts_with("rerun-if-");
                line.strip_prefix("rerun-if-env-changed=")
            };
            let Some(name) = name else { continue };
            // The entry for an unset variable has no `=`.
            let name = name.split_once('=').map_or(name, |(name, _)| name).trim_end();
            if !self.variables.iter().any(|known| known == name) {
                self.variables.push(name.to_owned());
            }
        }
        if !is_depfile {
            self.scripts[usize::from(!is_ruled)].push(path);
        }
    }

    /// Whether a package's build script tells Cargo what its inputs are. Otherwise, Cargo reruns
    /// the script when any file of the package changes. Cargo keeps the outputs of earlier script
    /// versions, so all outputs must contain `rerun-if` instructions.
    pub fn has_rules_of(&self, package: &str) -> bool {
        // The folder is `build/<package>-<hash>`. Newer versions of Cargo use a folder for each
        // package.
        let is_of_package = |folder: &str| match folder.strip_prefix(package) {
            Some(rest) => rest.is_empty() || rest.rfind('-') == Some(0),
            None => false,
        };
        let [with, without] = &self.scripts;
        let has = |paths: &[String]| paths.iter().any(|path| path.split('/').any(is_of_package));
        has(with) && !has(without)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_of_crates_and_scripts() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write(
            "x/release/deps/k-1.d",
            "k: lib.rs\n\nlib.rs:\n\n# env-dep:TILE=4\n# env-dep:UNSET\n",
        );
        write(
            "x/release/build/k-2/output",
            "cargo::rerun-if-env-changed=TILE\ncargo:rustc-cfg=a\n",
        );
        write("x/release/build/a-3/output", "cargo:rerun-if-env-changed=CC\n");
        write("x/release/build/b/4/run/stdout", "cargo::rerun-if-changed=b.txt\n");
        write("x/release/build/silent-but-5/output", "cargo::rerun-if-changed=x\n");
        write("x/release/build/silent-5/output", "cargo::warning=rerun-if-env-changed=NO\n");
        // The first output is from a different version of the script.
        write("x/release/build/was-6/output", "cargo::rerun-if-changed=x\n");
        write("x/release/build/was-7/output", "cargo::rustc-cfg=x\n");
        let records = OfCargo::read(folder.path());
        let mut variables = records.variables.clone();
        variables.sort_unstable();
        assert_eq!(variables, ["CC", "TILE", "UNSET"]);
        for (package, has_rules) in [
            ("k", true),
            ("a", true),
            ("b", true),
            ("silent", false),
            ("was", false),
            ("none", false),
        ] {
            assert_eq!(records.has_rules_of(package), has_rules, "{package}");
        }
    }
}
