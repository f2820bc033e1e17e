//! Checks the prebuilt images of a package during `cargo package`.

use super::missing_tool;
use super::prebuilt::{self, Prebuilt, PrebuiltUse};
use super::run::Run;
use crate::plan::{PlannedModule, PlannedSource};
use crate::request::Recipe;
use crate::targets::Target;
use crate::toolchain::Error;
use offload_pack::signature::Signatures;
use std::path::Path;

impl Run<'_> {
    /// Checks during `cargo package` that the prebuilt set matches the package.
    ///
    /// Returns an error that lists each mismatch and how to fix it.
    pub(crate) fn check_packaged_set(
        &self,
        modules: &[PlannedModule],
        folder: &Path,
    ) -> Result<(), Error> {
        let mut sets = Vec::new();
        for module in modules {
            sets.push((module, Prebuilt::load(folder, &self.prebuilt_stem(module))?));
        }
        let is_without_sets = sets.iter().all(|(_, set)| set.is_none());
        if self.request.prebuilt.is_none() && is_without_sets {
            return Ok(());
        }
        let mut reasons: Vec<(String, Vec<&str>)> = Vec::new();
        let has_images =
            is_without_sets || sets.iter().filter_map(|it| it.1.as_ref()).any(Prebuilt::has_images);
        for (module, set) in sets {
            if let Some(set) = set.as_ref().filter(|set| !set.has_images()) {
                let misfit = set.signatures(&self.prebuilt_setting(module)).err();
                reasons.extend(misfit.map(|why| (why, vec!["the kernels' parameters"])));
                continue;
            }
            for target in module.targets.iter().filter(|target| is_compiled(module, target)) {
                let misfit = match &set {
                    Some(set) => set.image(target, &self.prebuilt_setting(module))?.err(),
                    None => {
                        let manifest = prebuilt::manifest_path(folder, &self.prebuilt_stem(module));
                        Some(format!("{} is not in the package", manifest.display()))
                    }
                };
                let Some(misfit) = misfit else { continue };
                match reasons.iter_mut().find(|(reason, _)| *reason == misfit) {
                    Some((_, targets)) => targets.push(target.as_str()),
                    None => reasons.push((misfit, vec![target.as_str()])),
                }
            }
        }
        if reasons.is_empty() {
            Ok(())
        } else {
            Err(missing_tool::stale_package(&reasons, has_images, &self.cargo.package))
        }
    }

    /// Warns during `cargo package` if the package lacks the file of known kernel parameters, which
    /// docs.rs and users without clang need.
    pub(crate) fn check_packaged_signatures(
        &self,
        known: &Signatures,
        set: Option<&Prebuilt>,
        folder: &Path,
        prebuilt_use: PrebuiltUse,
    ) {
        let has_file = || set.is_some_and(|set| set.recorded_signatures(self.cargo).is_ok());
        let is_checked = self.cargo.is_packaging() && prebuilt_use != PrebuiltUse::Never;
        if is_checked && !known.kernels.is_empty() && !has_file() {
            let (name, package) = (self.name, &self.cargo.package);
            self.cargo.warn(&format!(
                "pack \"{name}\": the package does not contain the kernels' parameters, so \
                 include_kernels!(\"{name}\") makes no functions if nothing is compiled (as on \
                 docs.rs) or clang is missing. To add the parameters, run \
                 OFFLOAD_PREBUILT=signatures cargo build -p {package}, and include the folder {} \
                 in the package. To turn this warning off, set OFFLOAD_PREBUILT=never",
                folder.display()
            ));
        }
    }
}

/// Whether the prebuilt set must contain an image for this target: it must for a GPU whose image no
/// source supplies.
fn is_compiled(module: &PlannedModule, target: &Target) -> bool {
    let is_supplied = |source: &&PlannedSource| match source.recipe(target) {
        Some(Recipe::Supplied) => true,
        Some(Recipe::Ptx) => target.is_ptx(),
        _ => false,
    };
    target.is_gpu() && !module.sources_for(target).iter().any(is_supplied)
}
