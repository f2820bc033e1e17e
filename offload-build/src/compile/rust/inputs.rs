//! Finds the inputs of a kernel crate: files, and the environment variables that its build scripts
//! and sources read.

use super::super::inputs::{Collected, InputKind};
use super::manifest::Manifest;
use super::{from_program, manifests_of};
use crate::output::OutDir;
use crate::toolchain::read_files::of_cargo::OfCargo;
use crate::toolchain::{Cargo, Error, Seen};
use std::fs;
use std::path::{Path, PathBuf};

/// Adds the files from Cargo's dependency file, the manifests of their packages, and the variables
/// that the crate and its dependencies read.
pub(in super::super) fn add_inputs(
    to: &mut Collected<'_>,
    depfile: &Path,
    files: Vec<PathBuf>,
    seen: &Seen,
    output: &OutDir,
    cargo: &Cargo,
) -> Result<(), Error> {
    // The dependency file is in `<folder>/<triple>/release`.
    let recorded = OfCargo::read(depfile.ancestors().nth(3).unwrap_or(depfile));
    for path in files {
        // A build script wrote this file, from inputs that Cargo also lists.
        if path.starts_with(&output.work) {
            continue;
        }
        let file = from_program(&path, &cargo.manifest_dir);
        // A build script may tell Cargo to watch a folder or a missing file.
        if !path.is_file() {
            to.add_tree(InputKind::Tree, &file, seen)?;
            continue;
        }
        to.add(&file, seen)?;
        for manifest in manifests_of(&file, &cargo.manifest_dir) {
            if let Some(folder) = of_script(&manifest, &file, &recorded) {
                to.add_tree(InputKind::Package, folder, seen)?;
            }
            to.add(&manifest, seen)?;
        }
    }
    for name in &recorded.variables {
        to.add_other(InputKind::Variable, Path::new(name), seen);
    }
    Ok(())
}

/// Returns a package's folder if the file is the package's build script and the script does not
/// tell Cargo what it reads.
fn of_script<'m>(manifest: &'m Path, file: &Path, recorded: &OfCargo) -> Option<&'m Path> {
    let (folder, text) = (manifest.parent()?, fs::read_to_string(manifest).ok()?);
    let manifest = Manifest::parse(&text);
    let script = manifest.value("package.build").unwrap_or_else(|| "build.rs".to_owned());
    let is_script = folder.join(script) == file;
    (is_script && !recorded.has_rules_of(&manifest.value("package.name")?)).then_some(folder)
}
