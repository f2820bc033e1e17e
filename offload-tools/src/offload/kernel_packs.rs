//! Finds the kernel packs of programs and libraries that contain the paths of packs instead of code
//! objects.
//!
//! Paths are resolved as in ROCm's loader (`rocm-systems/shared/kpack/runtime`, 2026): a path is
//! absolute, or relative to the folder of the program or library. The loader replaces `@GFXARCH@`
//! with a device's target ID; this module uses every file that the path could name. It follows no
//! other references to files, and reads only regular files with the magic number of kernel packs.
//! It ignores the loader's environment variables (`ROCM_KPACK_PATH`), so the output depends only on
//! the files.

use super::{Context, out};
use crate::files::{Input, os_message};
use crate::text::{self, escaped_path, escaped_str};
use offload_format::inventory::{ContainerKind, Inventory, Reference};
use offload_format::kpack::{GFX_ARCH, Kpack, KpackManifest, is_binary_of};
use offload_format::select::{Candidate, DeviceInfo, judge, select};
use offload_format::target::ImageCode;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The maximum number of files checked in one folder, and of packs opened for one file.
const MOST: usize = 4096;

/// The extension of manifests.
pub(super) const MANIFEST: &str = ".kpm";

/// The triple of images in kernel packs.
const AMD_TRIPLE: &str = "amdgcn-amd-amdhsa";

/// A kernel pack with code objects for a program or library.
#[derive(Debug)]
pub(super) struct KernelPack {
    pub(super) path: PathBuf,
    pub(super) input: Input,
    /// The name of the program or library in the pack; `None` for all code objects.
    name: Option<String>,
}

/// The kernel packs of a file.
#[derive(Debug, Default)]
pub(super) struct KernelPacks {
    pub(super) packs: Vec<KernelPack>,
    /// Descriptions of problems, printed after the file's name.
    pub(super) problems: Vec<String>,
    /// The pack entries that the file's wrappers request; empty if unknown.
    pub(super) entries: BTreeSet<String>,
}

/// A pack's target as a selection candidate, because the loader selects packs by target.
#[derive(Clone, Copy)]
struct PackTarget<'k>(&'k str);

impl Candidate for PackTarget<'_> {
    fn code(&self) -> ImageCode<'_> {
        ImageCode::named(Some(self.0), Some(AMD_TRIPLE), false)
    }

    fn label(&self) -> &str {
        self.0
    }
}

impl KernelPack {
    /// Returns the pack's images for the program or library.
    pub(super) fn inventory(&self, context: &Context) -> Inventory<'_> {
        let mut inventory = context.inventory(&self.input);
        if let Some(name) = &self.name {
            inventory.retain_entries(|entry| is_binary_of(entry, name));
        }
        inventory
    }
}

impl KernelPacks {
    /// Opens the kernel packs of a file: those listed in a manifest, and those named by the file's
    /// references.
    pub(super) fn of(path: &Path, input: &Input, inventory: &Inventory<'_>) -> Self {
        let mut found = Self::default();
        if path.extension().is_some_and(|it| it == "kpm") && inventory.containers.is_empty() {
            found.manifest(path, input.bytes(), None);
        }
        // Resolve a symbolic link, as the loader does, because paths are relative to the actual
        // file's folder.
        let is_link = fs::symlink_metadata(path).is_ok_and(|it| it.is_symlink());
        let real = if is_link { fs::canonicalize(path).ok() } else { None }
            .unwrap_or_else(|| path.to_owned());
        let folder = real.parent().unwrap_or(Path::new(""));
        let entries = |reference: &Reference<'_>| reference.entries(input.bytes());
        let entries: Vec<Vec<String>> = inventory.references.iter().map(entries).collect();
        if entries.iter().all(|entries| !entries.is_empty()) {
            found.entries = entries.into_iter().flatten().collect();
        }
        for reference in &inventory.references {
            let reference = &reference.reference;
            let (before, mut tried) = (found.packs.len(), Vec::new());
            for search in &reference.search_paths {
                let pattern = folder.join(search);
                let candidates = candidates(&pattern);
                if candidates.is_empty() {
                    tried.push(escaped_path(&pattern));
                }
                for candidate in candidates {
                    found.open(&candidate, Some(reference.kernel_name), &mut tried);
                }
            }
            if found.packs.len() == before {
                let name = escaped_str(reference.kernel_name);
                let problem = no_pack("there is", &name, &tried);
                found.problems.push(format!("{problem}. Install the packs there"));
            }
        }
        found
    }

    fn tables(&self) -> Vec<Kpack<'_>> {
        self.packs.iter().filter_map(|pack| Kpack::parse(pack.input.bytes()).ok()).collect()
    }

    /// Returns the entries that the wrappers request but no pack has.
    pub(super) fn missing(&self) -> Vec<&str> {
        let tables = self.tables();
        let all: BTreeSet<&str> =
            tables.iter().flat_map(|table| table.kernels()).map(|kernel| kernel.binary).collect();
        let entries = self.entries.iter().map(String::as_str);
        entries.filter(|entry| !self.packs.is_empty() && !all.contains(entry)).collect()
    }

    /// Describes the entries that are missing for a device: either no pack for this device contains
    /// the entry, or old loaders do not find it.
    ///
    /// Up to 7.14, ROCm's loader opens only the pack for the best target. Later versions also open
    /// the packs for less specific targets (rocm-systems, pull request 9953 of August 2026).
    pub(super) fn gaps(&self, device: &DeviceInfo) -> Vec<String> {
        let tables = self.tables();
        let targets = || tables.iter().flat_map(|table| table.targets());
        let Ok(best) = select(targets().map(|target| PackTarget(target)), device) else {
            return Vec::new();
        };
        let has = |entry: &str, is_searched: &dyn Fn(&str) -> bool| {
            let mut kernels = tables.iter().flat_map(|table| table.kernels());
            kernels.any(|kernel| kernel.binary == entry && is_searched(kernel.target))
        };
        let missing = self.missing();
        let asked = self.entries.iter().map(String::as_str).filter(|it| !missing.contains(it));
        let is_in_best = |entry: &str| has(entry, &|target| target == best.label());
        let is_in_any =
            |entry: &str| has(entry, &|target| judge(&PackTarget(target), device).is_ok());
        let (late, never): (Vec<&str>, Vec<&str>) =
            asked.filter(|entry| !is_in_best(entry)).partition(|entry| is_in_any(entry));
        let some = |entries: Vec<&str>| text::some(entries.into_iter().map(escaped_str));
        let mut gaps = Vec::new();
        if !never.is_empty() {
            gaps.push(format!("no kernel pack has {device} code for {}", some(never)));
        }
        if !late.is_empty() {
            gaps.push(format!(
                "ROCm 7.14 and older read only the kernel pack for {}, which lacks {}; newer versions find the missing entries in another pack",
                escaped_str(best.label()),
                some(late)
            ));
        }
        gaps
    }

    /// Describes the entries that are missing for the devices that the packs target.
    pub(super) fn all_gaps(&self) -> BTreeSet<String> {
        let tables = self.tables();
        let targets = tables.iter().flat_map(|table| table.targets());
        let devices = targets.filter_map(|target| DeviceInfo::hip(target).ok());
        devices.flat_map(|device| self.gaps(&device)).collect()
    }

    /// Warns about the problems with a file's packs.
    pub(super) fn warn(&self, context: &Context, file: &str) {
        self.problems.iter().for_each(|problem| context.warn(file, problem));
    }

    /// Prints a note about each pack of a file, for commands that do not read packs.
    pub(super) fn note(&self, file: &str) {
        for pack in &self.packs {
            let pack = escaped_path(&pack.path);
            out::note(&format!(
                "{file}: its code objects are in {pack}, whose size is not counted"
            ));
        }
    }

    fn open(&mut self, path: &Path, name: Option<&str>, tried: &mut Vec<String>) {
        let shown = escaped_path(path);
        if self.packs.len() >= MOST || self.packs.iter().any(|pack| pack.path == path) {
            return;
        }
        if fs::metadata(path).is_ok_and(|it| !it.is_file()) {
            let problem = format!("{shown}: not a regular file, so it cannot be a kernel pack");
            return self.problems.push(problem);
        }
        let input = match Input::open_thin_member(path) {
            Ok(input) => input,
            Err(error) => return tried.push(format!("{shown} ({})", os_message(&error))),
        };
        if ContainerKind::of(input.bytes()) == Some(ContainerKind::Kpack) {
            self.packs.push(KernelPack {
                path: path.to_owned(),
                input,
                name: name.map(str::to_owned),
            });
        } else if path.extension().is_some_and(|it| it == "kpm") {
            self.manifest(path, input.bytes(), name);
        } else {
            self.problems.push(format!("{shown}: not a kernel pack"));
        }
    }

    /// Opens the packs that a manifest lists, from the manifest's folder.
    fn manifest(&mut self, path: &Path, bytes: &[u8], name: Option<&str>) {
        let shown = escaped_path(path);
        let manifest = match KpackManifest::parse(bytes) {
            Ok(manifest) => manifest,
            Err(error) => return self.problems.push(format!("{shown}: {error}")),
        };
        let names: BTreeSet<&str> = manifest.files.iter().map(|file| file.file).collect();
        for file in names {
            // A manifest may list only packs; a listed manifest is reported as a problem.
            let (beside, mut tried) = (path.with_file_name(file), Vec::new());
            if beside.extension().is_some_and(|it| it == "kpm") {
                self.problems.push(format!(
                    "{shown}: a manifest may list only packs, but this one lists the manifest '{}'",
                    escaped_str(file)
                ));
                continue;
            }
            self.open(&beside, name, &mut tried);
            self.problems.extend(tried.into_iter().map(|tried| format!("{shown} lists {tried}")));
        }
    }
}

/// Whether a file names kernel packs or is, by its name, a manifest of packs.
pub(super) fn names_packs(name: &[u8], inventory: &Inventory<'_>) -> bool {
    !inventory.references.is_empty() || name.ends_with(MANIFEST.as_bytes())
}

/// Returns the files that a path can refer to: all existing files with a target ID in place of
/// [`GFX_ARCH`] or, if the path does not contain [`GFX_ARCH`], the path itself.
fn candidates(pattern: &Path) -> Vec<PathBuf> {
    let mut parent = PathBuf::new();
    let mut parts = pattern.components();
    while let Some(part) = parts.next() {
        let Some((start, end)) =
            part.as_os_str().to_str().and_then(|name| name.split_once(GFX_ARCH))
        else {
            parent.push(part);
            continue;
        };
        let rest = parts.as_path();
        let folder = if parent.as_os_str().is_empty() { Path::new(".") } else { &parent };
        let entries = fs::read_dir(folder).into_iter().flatten().take(MOST).filter_map(Result::ok);
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        // Sort the names, so that the output is the same on every machine.
        let names: BTreeSet<String> =
            names.filter(|name| is_for_a_target(name, start, end)).collect();
        // Joining an empty rest would add a trailing slash.
        let with_rest = |it: PathBuf| if rest.as_os_str().is_empty() { it } else { it.join(rest) };
        return names.into_iter().map(|name| with_rest(parent.join(name))).collect();
    }
    vec![pattern.to_owned()]
}

/// Returns the message for a library without a pack. `there_is` states where no pack was found.
pub(super) fn no_pack(there_is: &str, name: &str, tried: &[String]) -> String {
    format!(
        "the library's code objects are in kernel packs under the name '{name}', but {there_is} \
         no such pack. Looked for {}",
        tried.join(", ")
    )
}

/// Returns the message for packs without code for the library that names them.
pub(super) fn no_code(name: &str) -> String {
    format!("its kernel packs have no code objects for '{name}'")
}

/// Whether a name consists of `start`, a possible target ID, and `end`.
pub(super) fn is_for_a_target(name: &str, start: &str, end: &str) -> bool {
    let target = name.strip_prefix(start).and_then(|it| it.strip_suffix(end));
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, ':' | '+' | '-' | '_');
    target.is_some_and(|target| target.starts_with("gfx") && target.chars().all(fits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_a_target() {
        for (name, expected) in [
            ("blas_gfx906.kpack", true),
            ("blas_gfx90a:sramecc+:xnack-.kpack", true),
            ("blas_gfx9-4-generic.kpack", true),
            ("blas_.kpack", false),
            ("blas_other.kpack", false),
            ("blas_gfx906.kpack.bak", false),
            ("blas_gfx906..kpack", false),
            ("fft_gfx906.kpack", false),
        ] {
            assert_eq!(is_for_a_target(name, "blas_", ".kpack"), expected, "{name}");
        }
    }

    #[test]
    fn a_path_without_a_target_is_itself() {
        assert_eq!(
            candidates(Path::new("../.kpack/a.kpack")),
            [PathBuf::from("../.kpack/a.kpack")]
        );
        assert!(candidates(Path::new("/nowhere/at/all/@GFXARCH@.kpack")).is_empty());
    }
}
