//! Makes a pack: decides where each image comes from, makes the missing images, and packs them all.

use super::jobs::{self, MadeModule, ModuleJob};
use super::kernel_parameters;
use super::missing_tool::{self, NotMade};
use super::prebuilt::{self, PrebuiltUse, refused};
use super::run::Run;
use crate::compile::{profile, signatures};
use crate::pack::layout::ModuleImages;
use crate::pack::{self, Pack};
use crate::plan::PlannedModule;
use crate::request::Language;
use crate::toolchain::{Error, ErrorKind};
use offload_format::host_object::Machine;
use offload_pack::pack_index::Origin;
use offload_pack::signature::Signatures;
use std::mem;
use std::path::Path;

impl Run<'_> {
    pub(crate) fn make_pack(
        &self,
        modules: &[PlannedModule],
        machine: Machine,
    ) -> Result<Pack, Error> {
        let prebuilt_use = self.prebuilt_use()?;
        let folder = self.request.prebuilt.clone().unwrap_or_else(|| prebuilt::FOLDER.into());
        if self.cargo.is_packaging() && prebuilt_use != PrebuiltUse::Never {
            self.check_packaged_set(modules, &folder)?;
        }
        let (mut jobs, mut failures) = (Vec::new(), Vec::new());
        for module in modules {
            jobs.push(ModuleJob::decide(self, module, prebuilt_use, &folder, &mut failures)?);
        }
        if !failures.is_empty() {
            let set = jobs.iter().find_map(|job| job.set.as_ref());
            return Err(missing_tool::missing(&failures, set));
        }
        jobs::announce(self, &jobs, &folder);
        jobs.iter_mut().for_each(|job| job.describe(self));
        let mut packed = Vec::new();
        for mut module in jobs::make(self, jobs)? {
            module.check_kernels()?;
            let signatures = self.signatures(&mut module, &folder);
            if let Ok(known) = &signatures {
                kernel_parameters::keep(&module.plan.name, known, self.output)?;
                self.check_packaged_signatures(known, module.set.as_ref(), &folder, prebuilt_use);
            }
            if let PrebuiltUse::Update | PrebuiltUse::Signatures = prebuilt_use {
                let has_images = prebuilt_use == PrebuiltUse::Update;
                self.update_prebuilt(&folder, &module, &signatures, has_images)?;
            }
            let MadeModule { plan, images, .. } = module;
            let sources = plan.sources.iter().filter(|it| it.language.has_templates());
            packed.push(ModuleImages {
                name: plan.name.clone(),
                images: images.into_iter().map(|it| it.image).collect(),
                signatures,
                sources: sources.map(|it| self.cargo.manifest_dir.join(&it.path)).collect(),
            });
        }
        pack::write(self.name, &packed, self.request, machine, self.output, self.cargo)
    }

    /// Returns the signatures of a module's kernels.
    ///
    /// The signatures from clang and, for prebuilt images, from the prebuilt set are compared with
    /// each other, and with those in the CPU image.
    ///
    /// If no signatures are known and the images do not name the kernels, returns the reason.
    fn signatures(&self, module: &mut MadeModule<'_>, folder: &Path) -> Result<Signatures, String> {
        let mut all = mem::take(&mut module.described.by_clang);
        let has_prebuilt = module.images.iter().any(|it| it.image.origin == Origin::Prebuilt);
        let needs_set = module.plan.is_for_cpu_alone() && all.is_empty();
        let of_set = (needs_set || has_prebuilt).then(|| match &module.set {
            Some(set) => set.signatures(&self.prebuilt_setting(module.plan)),
            None => Err(prebuilt::no_signatures(folder, &self.prebuilt_stem(module.plan))),
        });
        match of_set {
            Some(Err(why)) if needs_set => Err(format!("{}\n{why}", self.why_undescribed())),
            of_set => {
                if let Some(Ok(signatures)) = of_set {
                    let place = "in the prebuilt set".to_owned();
                    all.push(signatures::Description { place, signatures });
                }
                let of_cpu = module.described.of_cpu.as_ref();
                Ok(signatures::unite(&module.plan.name, all, of_cpu, self.cargo))
            }
        }
    }

    /// Returns the reason why clang did not describe the source of a CPU image.
    fn why_undescribed(&self) -> String {
        match (self.clang(), self.undescribed.borrow().first()) {
            (Err(NotMade::MissingTool(missing)), _) => {
                format!("{}; {}", missing.long, missing.help.unwrap_or_default())
            }
            (Err(NotMade::Fatal(error)), _) => error.to_string(),
            (Ok(clang), message) => format!(
                "{} cannot read the source, although the C++ compiler compiles it: {}",
                clang.path.display(),
                message.map_or("", |(_, text)| text.as_str())
            ),
        }
    }

    /// Builds a module's images, but no pack. Does not fall back to prebuilt images if a compiler
    /// is missing.
    pub(super) fn make_only_images(&self, module: &PlannedModule) -> Result<(), NotMade> {
        let (mut failures, folder) = (Vec::new(), Path::new(prebuilt::FOLDER));
        let job = ModuleJob::decide(self, module, PrebuiltUse::Never, folder, &mut failures)?;
        if let Some((_, missing, _)) = failures.into_iter().next() {
            return Err(missing.into());
        }
        jobs::make(self, vec![job])?;
        Ok(())
    }

    fn prebuilt_use(&self) -> Result<PrebuiltUse, Error> {
        let Some((variable, value)) = self.cargo.package_var("OFFLOAD_PREBUILT") else {
            return Ok(PrebuiltUse::WhereCompilersAreMissing);
        };
        let refuse = |why: &str| Err(refused(&variable, &value, why));
        match PrebuiltUse::parse(&variable, &value)? {
            // The set serves all users, so it must be optimized and built for the targets in
            // build.rs.
            PrebuiltUse::Update if self.cargo.package_var("OFFLOAD_ARCH").is_some() => {
                refuse("a prebuilt set is made for the targets in build.rs: unset OFFLOAD_ARCH")
            }
            PrebuiltUse::Update if self.is_of_this_machine => refuse(
                "a prebuilt set needs targets that build.rs lists, as in .archs([\"gfx90a\", \
                 \"sm_80\"]): 'native' and variables such as CUDAARCHS mean different targets on \
                 different machines",
            ),
            PrebuiltUse::Update if self.cargo.opt_level == "0" => refuse(
                "this build is not optimized, as a prebuilt set must be: build with --release",
            ),
            asked => Ok(asked),
        }
    }

    fn update_prebuilt(
        &self,
        folder: &Path,
        module: &MadeModule<'_>,
        signatures: &Result<Signatures, String>,
        has_images: bool,
    ) -> Result<(), Error> {
        let plan = module.plan;
        let (mut compiled, mut for_gpus) = (Vec::new(), Vec::new());
        for made in module.images.iter().filter(|it| it.image.origin == Origin::Compiled) {
            compiled.push(made);
            if has_images && made.image.target.is_gpu() {
                for_gpus.push(made);
            }
        }
        let signatures = match signatures {
            Ok(known) if !for_gpus.is_empty() || !known.kernels.is_empty() => known,
            Ok(_) => return Ok(()),
            Err(why) if !has_images => {
                return Err(Error::new(
                    ErrorKind::Prebuilt,
                    format!(
                        "the parameters of the kernels of the module \"{}\" are not known: {why}",
                        plan.name
                    ),
                ));
            }
            Err(_) => return Ok(()),
        };
        let mut made_with = Vec::new();
        let mut rusts: Vec<String> = Vec::new();
        let mut has_others = false;
        for source in &plan.sources {
            if source.language != Language::Rust {
                has_others = true;
            } else if !for_gpus.is_empty()
                && let Ok(rust) = self.tools.rust(&self.crate_of(&source.path)?.channel)?
                && !rusts.contains(&rust.version)
            {
                rusts.push(rust.version);
            }
        }
        // Builds of kernel crates use clang only for linking.
        if let Some(clang) = self.tools.used_clang().filter(|_| has_others) {
            made_with.push(("compiler", clang.version.clone()));
        }
        made_with.extend(rusts.into_iter().map(|version| ("rust", version)));
        if let Some(nvcc) = self.tools.used_nvcc().filter(|_| has_images) {
            made_with.push(("nvcc", nvcc.version.clone()));
        }
        for ptxas in self.tools.used_ptxas().filter(|_| has_images) {
            made_with.push(("ptxas", ptxas.version()));
        }
        let mut levels: Vec<String> = Vec::new();
        for made in &for_gpus {
            for level in profile::levels(plan, &made.image.target, self.cargo) {
                if !levels.contains(&level) {
                    levels.push(level);
                }
            }
        }
        if !levels.is_empty() {
            made_with.push(("optimization", levels.join(", ")));
        }
        // Without GPU images, use the inputs of all targets.
        let made = if for_gpus.is_empty() { &compiled } else { &for_gpus };
        let setting = self.prebuilt_setting(plan);
        prebuilt::update(
            folder,
            &self.prebuilt_stem(plan),
            &setting,
            &made_with,
            &for_gpus,
            made,
            signatures,
        )
    }
}
