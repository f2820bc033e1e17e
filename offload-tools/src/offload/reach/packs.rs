//! Finds the libraries of an archive, and their kernel packs, which are separate files of the
//! archive.
//!
//! Paths in libraries are resolved as for an unpacked library
//! ([`kernel_packs`](crate::offload::kernel_packs)). A library's packs are alternatives, because
//! the library loads only the pack for the machine's processor.

use super::compile::Compiled;
use super::gets::Known;
use super::joined::Joined;
use crate::offload::kernel_packs::{MANIFEST, is_for_a_target, no_code, no_pack};
use crate::offload::walk::Visited;
use crate::text;
use offload_format::inventory::{ContainerKind, Inventory};
use offload_format::kpack::{GFX_ARCH, KpackManifest, is_binary_of};
use std::collections::{BTreeMap, BTreeSet};

/// The files of an archive that belong together.
#[derive(Default)]
pub(super) struct Packs {
    /// The programs and libraries whose code objects are in kernel packs.
    libraries: Vec<(Joined, Vec<Reference>)>,
    /// The kernel packs, by path.
    packs: BTreeMap<String, Known<'static>>,
    /// The files that each manifest lists, or why it cannot be read, by the manifest's path.
    manifests: BTreeMap<String, Result<Vec<String>, String>>,
}

struct Reference {
    /// The library's name in kernel packs.
    name: String,
    /// The paths of packs or manifests in the archive, which may contain [`GFX_ARCH`].
    patterns: Vec<String>,
    /// The pack entries that the library's wrappers request, if known.
    entries: BTreeSet<String>,
}

impl Packs {
    /// Adds a file of the archive. Returns whether it is a kernel pack, a manifest, or a library
    /// with kernel packs.
    pub(super) fn take(
        &mut self,
        file: &Visited<'_>,
        known: &Known<'_>,
        compiled: &mut Option<Compiled>,
    ) -> bool {
        let path = joined("", &String::from_utf8_lossy(file.name));
        let (folder, _) = path.rsplit_once('/').unwrap_or_default();
        let Inventory { containers, references, .. } = &file.inventory;
        if matches!(&containers[..], [pack] if pack.kind == ContainerKind::Kpack) {
            self.packs.insert(path, known.detached());
        } else if containers.is_empty() && path.ends_with(MANIFEST) {
            let listed = match KpackManifest::parse(file.input.bytes()) {
                Ok(manifest) => {
                    Ok(manifest.files.iter().map(|listed| joined(folder, listed.file)).collect())
                }
                Err(error) => Err(error.to_string()),
            };
            self.manifests.insert(path, listed);
        } else if !references.is_empty() {
            let reference = |it: &offload_format::inventory::Reference<'_>| Reference {
                name: it.reference.kernel_name.to_owned(),
                entries: it.entries(file.input.bytes()).into_iter().collect(),
                patterns: it.reference.search_paths.iter().map(|it| joined(folder, it)).collect(),
            };
            let references = references.iter().map(reference).collect();
            let (known, compiled) = (known.detached(), compiled.take());
            let library = Joined { name: path, known, compiled, ..Joined::default() };
            self.libraries.push((library, references));
        } else {
            return false;
        }
        true
    }

    /// Returns each library with its packs, and each folder's packs that no library names.
    pub(super) fn joined(self) -> Vec<Joined> {
        let Self { libraries, packs, manifests } = self;
        let (mut all, mut named) = (Vec::new(), BTreeSet::new());
        for (mut library, references) in libraries {
            let mut problems = Vec::new();
            for Reference { name, patterns, entries } in &references {
                let mut found = BTreeSet::new();
                for pattern in patterns {
                    match manifests.get(pattern) {
                        Some(Ok(files)) => found.extend(files.iter().map(String::as_str)),
                        Some(Err(error)) => problems.push(format!("{pattern}: {error}")),
                        None => found.extend(matches(pattern, packs.keys())),
                    }
                }
                let mut has_code = false;
                for path in &found {
                    match packs.get(*path) {
                        Some(pack) => {
                            has_code |= library.known.join(pack, |binary| {
                                if entries.is_empty() {
                                    is_binary_of(binary, name)
                                } else {
                                    entries.contains(binary)
                                }
                            });
                        }
                        None => problems.push(format!("a manifest lists {path}, which is missing")),
                    }
                }
                if found.is_empty() {
                    problems.push(no_pack("the archive has", name, patterns));
                } else if !has_code {
                    problems.push(no_code(name));
                }
                if has_code {
                    library.known.require(entries);
                }
                named.extend(found.into_iter().map(str::to_owned));
            }
            library.problems = problems.iter().map(|text| text::escaped_str(text)).collect();
            all.push(library);
        }
        let mut folders: BTreeMap<&str, (Known<'static>, Vec<&str>)> = BTreeMap::new();
        for (path, pack) in packs.iter().filter(|(path, _)| !named.contains(*path)) {
            let (folder, _) = path.rsplit_once('/').unwrap_or_default();
            let (known, paths) = folders.entry(folder).or_default();
            known.join(pack, |_| true);
            paths.push(path);
        }
        all.extend(folders.into_values().map(|(known, paths)| Joined {
            name: text::some(paths.into_iter()),
            known,
            ..Joined::default()
        }));
        all
    }
}

/// Returns the packs that a path can refer to. [`GFX_ARCH`] matches any target ID.
fn matches<'p>(
    pattern: &str,
    packs: impl Iterator<Item = &'p String>,
) -> impl Iterator<Item = &'p str> {
    packs.map(String::as_str).filter(move |path| match pattern.split_once(GFX_ARCH) {
        Some((start, end)) => is_for_a_target(path, start, end),
        None => *path == pattern,
    })
}

/// Resolves a path from a folder of the archive: `lib/../k` in `a` is `a/k`.
fn joined(folder: &str, path: &str) -> String {
    let folder = if path.starts_with('/') { "" } else { folder };
    let mut parts = Vec::new();
    for part in folder.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_in_archives() {
        for (folder, path, expected) in [
            ("", "./opt/lib/a.so", "opt/lib/a.so"),
            ("opt/lib", "../.kpack/a.kpack", "opt/.kpack/a.kpack"),
            ("opt/lib", "/opt/k/a.kpack", "opt/k/a.kpack"),
            ("lib", "../../../a.kpack", "a.kpack"),
        ] {
            assert_eq!(joined(folder, path), expected);
        }
    }
}
