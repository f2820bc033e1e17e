//! Decides where the image for one target comes from: an earlier run, a compiler, or a source that
//! contains it. Each vendor has its own file, which finds the compilers.

mod amdgpu;
mod intel;
mod nvidia;
mod rust;

use super::jobs::Source;
use super::missing_tool::{MissingTool, NotMade};
use super::prebuilt::PrebuiltUse;
use super::run::Run;
use crate::compile::rust::Crate;
use crate::compile::sdk::Sdk;
use crate::compile::{Compilation, Compilations, Sanitizer, cache, include_folders, lanes};
use crate::output::{image_file_name, write_if_changed};
use crate::pack::image::Image;
use crate::plan::{PlannedModule, PlannedSource, supplied};
use crate::request::{Headers, Language, Recipe};
use crate::targets::Target;
use crate::toolchain::compilers::Clang;
use crate::toolchain::{Error, files};
use offload_format::target::OffloadArch;
use offload_pack::checks::variables;
use offload_pack::pack_index::Origin;
use std::path::Path;
use std::slice;

/// An image to be made: its module, its target, and the sources that go into it.
struct Needed<'a> {
    module: &'a PlannedModule,
    target: &'a Target,
    sources: Vec<&'a PlannedSource>,
}

impl<'a> Needed<'a> {
    /// Returns the recipe of the first source. One recipe is enough, because the plan has checked
    /// that the recipes of all sources can be combined.
    fn recipe(&self) -> Option<Recipe> {
        self.sources.first()?.recipe(self.target)
    }

    /// Returns the only source, if it cannot be linked with other sources.
    fn alone(&self) -> Option<&'a PlannedSource> {
        let is_linked = self.recipe()?.is_linked();
        self.sources.first().filter(|_| !is_linked).copied()
    }

    /// Returns the first source that is compiled with these headers.
    fn with_headers(&self, headers: Headers) -> Option<&'a PlannedSource> {
        let has = |source: &&&PlannedSource| matches!(source.recipe(self.target), Some(Recipe::Offload(of_source)) if of_source == headers);
        self.sources.iter().find(has).copied()
    }
}

impl Run<'_> {
    /// Decides where a module's image for a target comes from on this machine.
    ///
    /// Returns an error if tools for the image are missing, or if the build must end.
    pub(super) fn decide(
        &self,
        module: &PlannedModule,
        target: &Target,
        prebuilt_use: PrebuiltUse,
    ) -> Result<Source, NotMade> {
        let needed = Needed { module, target, sources: module.sources_for(target) };
        if let Some(source) = needed.alone()
            && let Some(image) = self.supplied(module, target, source)?
        {
            return Ok(Source::Supplied(image));
        }
        if prebuilt_use == PrebuiltUse::Only && target.is_gpu() {
            return Err(MissingTool::only_prebuilt().into());
        }
        // Each of these functions looks for the tools that a vendor's images need.
        match target.arch() {
            _ if needed.recipe() == Some(Recipe::Cargo) => self.by_cargo(&needed),
            OffloadArch::Amdgpu(id) => self.by_clang_for_amd(&needed, id),
            OffloadArch::Nvidia(arch) if needed.recipe() == Some(Recipe::Nvcc) => {
                self.by_nvcc(&needed, arch)
            }
            OffloadArch::Nvidia(arch) => self.by_clang_for_nvidia(&needed, arch),
            OffloadArch::Intel(_) => self.by_clang_for_intel(&needed),
            OffloadArch::Cpu => self.for_cpu(&needed, None),
        }
    }

    /// Decides how to make the image for the CPU from C++ sources or a kernel crate.
    fn for_cpu(&self, needed: &Needed<'_>, of: Option<Crate<'_>>) -> Result<Source, NotMade> {
        let sdk = Sdk::default();
        let is_checked = self.cargo.user_var(variables::CHECK).is_some();
        let cxx = self.tools.cxx(is_checked);
        let mut cxx = cxx.map_err(|why| MissingTool::cxx(self.cargo, &why))?;
        lanes::set_for_cpu(&mut cxx, self.cargo)?;
        let sanitizers = Sanitizer::find(&cxx, self.tools)?;
        let compilations = self.compilations(needed, &sdk);
        let mut compilation = compilations.cpu(&cxx, &sanitizers, of);
        // If the module has GPU images, their compilers provide the signatures.
        if of.is_none()
            && needed.module.is_for_cpu_alone()
            && let Ok(clang) = self.clang()
            && clang.path != cxx.path
        {
            compilation.described_by(compilations.cpu_described(&cxx, clang), false);
        }
        Ok(self.fresh_or_stale(needed, compilation)?)
    }

    fn compilations<'a>(&'a self, needed: &Needed<'a>, sdk: &'a Sdk) -> Compilations<'a> {
        let target = needed.target;
        self.compilations_for(needed.module, slice::from_ref(target), target.as_str(), sdk)
    }

    /// Returns the compilations of a module for these targets. Their file names contain
    /// `file_name`.
    pub(super) fn compilations_for<'a>(
        &'a self,
        module: &'a PlannedModule,
        targets: &'a [Target],
        file_name: &'a str,
        sdk: &'a Sdk,
    ) -> Compilations<'a> {
        let code_object_version = self.request.code_object_version;
        let (output, cargo) = (self.output, self.cargo);
        Compilations { module, targets, file_name, code_object_version, sdk, output, cargo }
    }

    /// Returns an earlier run's image, or the compilation that makes it now.
    ///
    /// Returns an error if a header folder is missing.
    fn fresh_or_stale(
        &self,
        needed: &Needed<'_>,
        compilation: Compilation,
    ) -> Result<Source, Error> {
        include_folders::check(needed.module, &needed.sources, self.cargo)?;
        Ok(match cache::fresh(&compilation, &self.seen, self.output, self.cargo) {
            Some(made) => Source::Fresh(compilation, made),
            None => Source::Compile(compilation),
        })
    }

    /// Returns the clang that compiles for all targets. Call this function only if no other
    /// compiler suffices, because if clang is missing, Cargo watches the folders in `PATH`.
    pub(super) fn clang(&self) -> Result<&Clang, NotMade> {
        let version = self.tools.first_clang();
        Ok(self.tools.clang()?.map_err(|log| MissingTool::clang(log, version))?)
    }

    /// Returns an earlier run's image, or the compilation that makes it now. Before any step runs,
    /// checks that clang's driver accepts the command for these sources.
    fn by_clang(
        &self,
        needed: &Needed<'_>,
        clang: &Clang,
        compilation: Compilation,
    ) -> Result<Source, NotMade> {
        let source = self.fresh_or_stale(needed, compilation)?;
        let Source::Compile(compilation) = &source else { return Ok(source) };
        let (first, path) = (needed.sources[0], clang.path.display());
        // The probe runs one module's command. Modules with the same command share its result.
        let (language, options) = (first.language.name(), &needed.module.options);
        let question = format!("{path} {} {language} {options} {}", needed.target, first.options);
        if let Some(text) = self.ask(question, || clang.refusal(&compilation.steps[0])) {
            return Err(MissingTool::clang_refusal(clang, needed.target, &text).into());
        }
        if let Some(of_c) = needed.sources.iter().find(|source| source.language == Language::C)
            && let Some(why) =
                self.ask(format!("gpuintrin.h {path}"), || clang.find_header("gpuintrin.h").err())
        {
            return Err(MissingTool::header(clang, &of_c.path, &why).into());
        }
        Ok(source)
    }

    /// Returns the image that a source contains, if the image needs no compilation.
    fn supplied(
        &self,
        module: &PlannedModule,
        target: &Target,
        source: &PlannedSource,
    ) -> Result<Option<Image>, Error> {
        let open = |path: &Path| {
            let hash = files::hash(path)?;
            Image::open(target, path, hash, Origin::Supplied, self.cargo).map(Some)
        };
        let recipe = source.recipe(target);
        if recipe == Some(Recipe::Supplied)
            && supplied::sole(&source.path)?.is_some_and(|name| name.is_for(target))
        {
            // Use the file in place, because copying a large file takes as long as the rest of the
            // build.
            return open(&self.cargo.manifest_dir.join(&source.path));
        }
        let mut bytes = match recipe {
            Some(Recipe::Supplied) => supplied::image(&source.path, target)?,
            Some(Recipe::Ptx) if target.is_ptx() => files::read(&source.path)?,
            _ => return Ok(None),
        };
        let extension = target.arch().extension();
        let path =
            self.output.images.join(image_file_name(&module.file_stem(target.as_str()), extension));
        Image::seal_bytes(&path, &mut bytes);
        write_if_changed(&path, &bytes)?;
        open(&path)
    }
}
