//! Tests the dependencies between the modules of a crate: they have no cycle.

use crate::sources::{CRATES, ModulePath, code, module_of, paths_used, sources};
use std::collections::{BTreeMap, BTreeSet};

/// Returns the modules that each module of a crate uses, by their paths. Unit tests, programs and
/// the crate's root are left out.
fn uses(name: &str) -> Vec<(ModulePath, BTreeSet<ModulePath>)> {
    let src = format!("{name}/src");
    let mut uses = Vec::new();
    for (path, text) in sources(&src) {
        let module = module_of(&path, &src);
        if module.is_empty() || path.ends_with("tests.rs") || module[0] == "bin" {
            continue;
        }
        let mut used = paths_used(&code(&text), &module);
        used.retain(|path| !path.is_empty());
        uses.push((module, used));
    }
    uses
}

/// Checks every folder of every crate: no two modules in one folder depend on each other.
#[test]
fn there_is_no_circle() {
    for name in CRATES {
        let uses = uses(name);
        let modules: BTreeSet<&ModulePath> = uses.iter().map(|(module, _)| module).collect();
        // The modules of each folder, and the other modules of that folder that each of them uses.
        let mut folders: BTreeMap<ModulePath, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
        for (module, used) in &uses {
            for path in used {
                let mut prefixes = (1..=path.len()).rev().map(|end| path[..end].to_vec());
                let Some(used) = prefixes.find(|it| modules.contains(it)) else { continue };
                let same = module.iter().zip(&used).take_while(|(one, other)| one == other);
                let common = same.count();
                if common < module.len() && common < used.len() {
                    let folder = folders.entry(module[..common].to_vec()).or_default();
                    folder.entry(module[common].clone()).or_default().insert(used[common].clone());
                }
            }
        }
        assert!(!folders.is_empty(), "{name}: folders were found");
        for (folder, mut arrows) in folders {
            // A module that uses none of the remaining modules is in no cycle, so the loop removes
            // it.
            loop {
                let left: BTreeSet<String> = arrows.keys().cloned().collect();
                let before = arrows.len();
                arrows.retain(|_, used| used.iter().any(|name| left.contains(name)));
                if arrows.len() == before {
                    break;
                }
            }
            assert!(arrows.is_empty(), "{name}: a circle in {}: {arrows:?}", folder.join("/"));
        }
    }
}
