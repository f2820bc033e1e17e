//! The order of a build: decide for each target where its image comes from, make what must be made, pack.

use crate::cache::{self, Input, Made};
use crate::cargo::Cargo;
use crate::error::{Error, ErrorKind};
use crate::facts::Facts;
use crate::hash::ContentHash;
use crate::image::{self, Image};
use crate::jobs::{self, How};
use crate::lack::{self, Lack};
use crate::language::{Headers, Language, Way};
use crate::launcher::Launcher;
use crate::options::Request;
use crate::output::{OutDir, write_if_changed};
use crate::pack::{self, ModuleImages, Pack};
use crate::plan::{PlannedModule, PlannedSource};
use crate::prebuilt::{self, Prebuilt};
use crate::ready;
use crate::sdk::Sdk;
use crate::steps::{Compilation, Compilations, image_file_name};
use crate::targets::{self, Wanted};
use crate::toolchain::{Clang, Found, Tools};
use offload_format::embedded::Origin;
use offload_format::target::{NvidiaArch, NvidiaCode, OffloadArch};
use std::cell::RefCell;
use std::fs;
use std::path::Path;
use std::time::SystemTime;

/// What `OFFLOAD_PREBUILT` asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PrebuiltUse {
    WhereCompilersAreMissing,
    Update,
    Only,
    Never,
}

/// One build of one pack.
#[derive(Debug)]
pub(crate) struct Run<'a> {
    pub(crate) request: &'a Request,
    /// The targets as build.rs lists them.
    archs: &'a [Wanted],
    name: &'a str,
    pub(crate) cargo: &'a Cargo,
    pub(crate) output: &'a OutDir,
    pub(crate) tools: &'a Tools<'a>,
    /// What the tools said to questions that modules have in common.
    answers: RefCell<Vec<(String, Option<String>)>>,
}

/// Where the image of one target comes from.
#[derive(Debug)]
enum Source {
    /// An earlier run made it from the same inputs.
    Fresh(Compilation, Made),
    /// These steps make it.
    Compile(Compilation),
    /// The prebuilt set has it, which is used for this reason.
    Prebuilt(Image, String),
    /// A source has it.
    ReadyMade(Image),
}

impl<'a> Run<'a> {
    pub(crate) fn new(
        request: &'a Request,
        archs: &'a [Wanted],
        name: &'a str,
        cargo: &'a Cargo,
        output: &'a OutDir,
        tools: &'a Tools<'a>,
    ) -> Self {
        Self { request, archs, name, cargo, output, tools, answers: RefCell::default() }
    }

    /// Makes the pack.
    pub(crate) fn make_pack(&self, modules: &[PlannedModule]) -> Result<Pack, Error> {
        let machine = pack::machine(self.cargo)?;
        let prebuilt_use = self.prebuilt_use()?;
        let folder = self.request.prebuilt.clone().unwrap_or_else(|| "prebuilt".into());
        if self.cargo.is_packaging() && prebuilt_use != PrebuiltUse::Never {
            self.check_packaged_set(modules, &folder)?;
        }
        let mut sources = Vec::new();
        let mut failures = Vec::new();
        let mut sets = Vec::new();
        for module in modules {
            let set = match prebuilt_use {
                PrebuiltUse::Never | PrebuiltUse::Update => None,
                _ => Prebuilt::load(&folder, &self.prebuilt_stem(module))?,
            };
            for target in &module.targets {
                let lack = match self.compile(module, target, prebuilt_use)? {
                    Ok(source) => {
                        sources.push(source);
                        continue;
                    }
                    Err(lack) => lack,
                };
                let stand_in = match (&set, prebuilt_use) {
                    (Some(set), _) => set.image(target, &self.prebuilt_options(module), self.output, self.cargo)?,
                    (None, PrebuiltUse::Never) => Err("OFFLOAD_PREBUILT=never".into()),
                    (None, PrebuiltUse::Update) => Err("OFFLOAD_PREBUILT=update is to make one".into()),
                    (None, _) => Err(format!("the package has no prebuilt set in {}/", folder.display())),
                };
                match stand_in {
                    Ok(image) => sources.push(Source::Prebuilt(image, lack.short)),
                    Err(no_stand_in) => failures.push((target, lack, no_stand_in)),
                }
            }
            sets.extend(set);
        }
        if !failures.is_empty() {
            return Err(lack::missing(&failures, sets.first()));
        }
        self.announce(&sources, &folder);

        let mut images = self.make_images(sources)?.into_iter();
        let mut packed = Vec::new();
        for module in modules {
            let images: Vec<(Image, Vec<Input>)> = images.by_ref().take(module.targets.len()).collect();
            check_kernels(module, &images)?;
            if prebuilt_use == PrebuiltUse::Update {
                self.update_prebuilt(&folder, module, &images)?;
            }
            let images = images.into_iter().map(|(image, _)| image).collect();
            packed.push(ModuleImages { name: module.name.clone(), images });
        }
        pack::write(self.name, &packed, machine, self.output, self.cargo)
    }

    /// While the package is made: what is published with a prebuilt set must fit it.
    ///
    /// Returns an error that says what does not, and how to mend it.
    fn check_packaged_set(&self, modules: &[PlannedModule], folder: &Path) -> Result<(), Error> {
        let mut sets = Vec::new();
        for module in modules {
            sets.push(Prebuilt::load(folder, &self.prebuilt_stem(module))?);
        }
        if self.request.prebuilt.is_none() && sets.iter().all(Option::is_none) {
            return Ok(());
        }
        let mut reasons: Vec<(String, Vec<&str>)> = Vec::new();
        for (module, set) in modules.iter().zip(sets) {
            for target in module.targets.iter().filter(|target| is_compiled(module, target)) {
                let misfit = match &set {
                    Some(set) => set.image(target, &self.prebuilt_options(module), self.output, self.cargo)?.err(),
                    None => {
                        let manifest = prebuilt::manifest_path(folder, &self.prebuilt_stem(module));
                        Some(format!("{} is not in the package", manifest.display()))
                    }
                };
                let Some(misfit) = misfit else { continue };
                match reasons.iter_mut().find(|(reason, _)| *reason == misfit) {
                    Some((_, targets)) => targets.push(target),
                    None => reasons.push((misfit, vec![target])),
                }
            }
        }
        match reasons.is_empty() {
            true => Ok(()),
            false => Err(lack::stale_package(&reasons, &self.cargo.package)),
        }
    }

    /// What the names of a module's files in the prebuilt set start with.
    fn prebuilt_stem(&self, module: &PlannedModule) -> String {
        format!("{}.{}", self.name, module.prefix).trim_end_matches('.').to_owned()
    }

    /// The options of a module as its manifest has them.
    fn prebuilt_options(&self, module: &PlannedModule) -> String {
        let version = self.request.code_object_version;
        let version = version.map(|version| format!(" -mcode-object-version={version}")).unwrap_or_default();
        format!("{module}{version}")
    }

    fn prebuilt_use(&self) -> Result<PrebuiltUse, Error> {
        let Some((variable, value)) = self.cargo.package_var("OFFLOAD_PREBUILT") else {
            return Ok(PrebuiltUse::WhereCompilersAreMissing);
        };
        let refuse = |why: &str| Err(Error::config(format!("{variable} is '{value}'; {why}")));
        match value.as_str() {
            "only" => Ok(PrebuiltUse::Only),
            "never" => Ok(PrebuiltUse::Never),
            // The set is for everybody, so it is made for build.rs's targets, and optimized.
            "update" if self.cargo.package_var("OFFLOAD_ARCH").is_some() => {
                refuse("a prebuilt set is made for the targets of build.rs: unset OFFLOAD_ARCH")
            }
            "update" if targets::are_of_this_machine(self.archs) => refuse(
                "a prebuilt set is made for the targets that build.rs names, as in .archs([\"gfx90a\", \"sm_80\"]): \
                        'native', and variables such as CUDAARCHS, mean others on other machines",
            ),
            "update" if self.cargo.opt_level == "0" => {
                refuse("a prebuilt set is made with optimization: build with --release")
            }
            "update" => Ok(PrebuiltUse::Update),
            _ => refuse("it can be update, only or never"),
        }
    }

    /// How the image comes about on this machine. The inner error says why its compilers do not make it.
    fn compile(
        &self,
        module: &PlannedModule,
        target: &str,
        prebuilt_use: PrebuiltUse,
    ) -> Result<Result<Source, Lack>, Error> {
        let arch = OffloadArch::parse(target).map_err(|error| Error::config(error.to_string()))?;
        let sources = module.sources_for(&arch);
        // What is not linked with others stands alone.
        let alone = sources.first().filter(|source| source.way(&arch).is_some_and(|way| !way.is_linked()));
        if let Some(source) = alone
            && let Some(image) = self.take(module, target, arch, source)?
        {
            return Ok(Ok(Source::ReadyMade(image)));
        }
        let (sdk, clang_of_sdk) = match self.sdk(&sources, &arch)? {
            Ok(found) => found,
            Err(_) if prebuilt_use == PrebuiltUse::Only => return Ok(Err(Lack::only_prebuilt())),
            Err(lack) => return Ok(Err(lack)),
        };
        let compilations = Compilations {
            module,
            target,
            arch,
            code_object_version: self.request.code_object_version,
            sdk: &sdk,
            output: self.output,
            cargo: self.cargo,
        };
        let source = |compilation| match cache::fresh(&compilation, self.output, self.cargo) {
            Some(made) => Source::Fresh(compilation, made),
            None => Source::Compile(compilation),
        };
        if arch == OffloadArch::Cpu {
            return Ok(Ok(source(compilations.cpu(&self.tools.cxx()?))));
        }
        if prebuilt_use == PrebuiltUse::Only {
            return Ok(Err(Lack::only_prebuilt()));
        }
        if let (OffloadArch::Nvidia(arch), Some(Way::Nvcc)) = (arch, sources.first().and_then(|it| it.way(&arch))) {
            return self.compile_by_nvcc(&compilations, arch);
        }
        // What a cubin takes beside clang.
        let assembles = match arch {
            OffloadArch::Nvidia(arch) if arch.code == NvidiaCode::Cubin => match self.tools.ptxas()? {
                Found::Tool(ptxas) => Some((arch, ptxas)),
                Found::Missing(trail) => return Ok(Err(Lack::ptxas(trail))),
            },
            _ => None,
        };
        let refused_by_ptxas = |source: &Source| match (source, assembles) {
            (Source::Compile(_), Some((arch, ptxas))) => {
                let answer = self.ask(format!("ptxas {arch}"), || ptxas.refusal(arch));
                answer.map(|text| Lack::refusal(&ptxas.path, &text))
            }
            _ => None,
        };
        if let (Some(of), Some((arch, ptxas))) = (alone, assembles) {
            let source = source(compilations.cubin_of_ptx(arch, ptxas, of));
            return Ok(refused_by_ptxas(&source).map_or(Ok(source), Err));
        }
        let clang = match (clang_of_sdk, self.tools.clang()?) {
            (Some(clang), _) | (None, Found::Tool(clang)) => clang,
            (None, Found::Missing(trail)) => return Ok(Err(Lack::clang(trail))),
        };
        let source = source(match (arch, assembles) {
            (OffloadArch::Nvidia(arch), Some((_, ptxas))) => compilations.cubin(arch, clang, ptxas),
            (OffloadArch::Nvidia(arch), None) => compilations.ptx(arch, clang),
            (OffloadArch::Amdgpu(_), _) if !clang.has_lld => return Ok(Err(Lack::lld(clang))),
            (OffloadArch::Amdgpu(id), _) => compilations.amdgpu(id, clang),
            (OffloadArch::Cpu, _) => unreachable!("the CPU's image was decided on above"),
        });
        if let Source::Compile(compilation) = &source {
            let first = sources.first().map_or("", |source| source.language.name());
            let answer = self.ask(format!("clang {target} {first}"), || clang.refusal(&compilation.steps[0]));
            if let Some(text) = answer {
                return Ok(Err(Lack::refusal(&clang.path, &text)));
            }
            if let Some(source) = sources.iter().find(|source| source.language == Language::C)
                && let Some(why) = self.ask("gpuintrin.h".to_owned(), || clang.find_header("gpuintrin.h").err())
            {
                return Ok(Err(Lack::header(clang, &source.path, &why)));
            }
        }
        Ok(refused_by_ptxas(&source).map_or(Ok(source), Err))
    }

    /// The vendor's headers that sources are compiled with, and the clang that they are for, if it is not the one that compiles
    /// everything else. The inner error says what is missing.
    fn sdk(
        &self,
        sources: &[&PlannedSource],
        arch: &OffloadArch<'_>,
    ) -> Result<Result<(Sdk, Option<&Clang>), Lack>, Error> {
        let headers =
            |source: &&&PlannedSource, wanted| matches!(source.way(arch), Some(Way::Offload(_, it)) if it == wanted);
        if sources.iter().any(|source| headers(&source, Headers::Cuda)) {
            return match self.tools.nvcc()? {
                Found::Tool(toolkit) => Ok(Ok((Sdk::cuda(toolkit, self.output)?, None))),
                Found::Missing(trail) => Ok(Err(Lack::nvcc(trail))),
            };
        }
        let Some(source) = sources.iter().find(|source| headers(source, Headers::Rocm)) else {
            return Ok(Ok(Default::default()));
        };
        let rocm = match self.tools.rocm() {
            Found::Tool(rocm) => rocm,
            // clang may know of one that is not here.
            Found::Missing(_) if matches!(source.facts, Facts::RocmHeaders) => return Ok(Ok(Default::default())),
            Found::Missing(trail) => return Ok(Err(Lack::rocm(trail))),
        };
        let own = self.tools.rocm_clang(rocm);
        let clang = match (own, self.tools.clang()?) {
            (Some(clang), _) | (None, Found::Tool(clang)) => clang,
            (None, Found::Missing(trail)) => return Ok(Err(Lack::clang(trail))),
        };
        let OffloadArch::Amdgpu(id) = *arch else { return Ok(Ok(Default::default())) };
        Ok(Ok((Sdk::rocm(rocm, clang, id, self.tools, self.cargo), own)))
    }

    fn compile_by_nvcc(
        &self,
        compilations: &Compilations<'_>,
        arch: NvidiaArch,
    ) -> Result<Result<Source, Lack>, Error> {
        let nvcc = match self.tools.nvcc()? {
            Found::Tool(nvcc) => nvcc,
            Found::Missing(trail) => return Ok(Err(Lack::nvcc(trail))),
        };
        // No host code comes of it, so it is the building machine's compiler that reads the source.
        let ccbin = match self.tools.ccbin(&self.cargo.host) {
            Ok(ccbin) => ccbin,
            Err(why) => return Ok(Err(Lack::ccbin(nvcc, &why))),
        };
        let compilation = compilations.nvcc(arch, nvcc, &ccbin);
        if let Some(made) = cache::fresh(&compilation, self.output, self.cargo) {
            return Ok(Ok(Source::Fresh(compilation, made)));
        }
        let answer = self.ask(format!("nvcc {arch}"), || self.tools.nvcc_refusal(nvcc, arch, &ccbin));
        Ok(match answer {
            Some(text) => Err(Lack::refusal(&nvcc.path, &text)),
            None => Ok(Source::Compile(compilation)),
        })
    }

    /// The image that a source has, if it need not be compiled.
    fn take(
        &self,
        module: &PlannedModule,
        target: &str,
        arch: OffloadArch<'_>,
        source: &PlannedSource,
    ) -> Result<Option<Image>, Error> {
        let is_ptx = matches!(arch, OffloadArch::Nvidia(arch) if arch.code == NvidiaCode::Ptx);
        let mut bytes = match source.way(&arch) {
            Some(Way::TakeOut) => ready::image(&source.path, target)?,
            Some(Way::Ptx) if is_ptx => {
                fs::read(&source.path).map_err(|error| Error::io("read the source", &source.path, error))?
            }
            _ => return Ok(None),
        };
        let extension = match arch {
            OffloadArch::Amdgpu(_) => "hsaco",
            OffloadArch::Nvidia(_) if is_ptx => "ptx",
            _ => "cubin",
        };
        let path = self.output.images.join(image_file_name(&module.file_stem(target), extension));
        Image::seal_bytes(&path, &mut bytes);
        write_if_changed(&path, &bytes)?;
        let hash = ContentHash::of_file(&path).map_err(|error| Error::io("read", &path, error))?;
        Image::open(target, &path, hash, Origin::ReadyMade, &self.cargo.target).map(Some)
    }

    /// What a compiler said to this question, or says now.
    pub(crate) fn ask(&self, question: String, answer: impl FnOnce() -> Option<String>) -> Option<String> {
        let mut answers = self.answers.borrow_mut();
        if let Some((_, known)) = answers.iter().find(|(asked, _)| *asked == question) {
            return known.clone();
        }
        let answer = answer();
        answers.push((question, answer.clone()));
        answer
    }

    /// One line for each reason why a prebuilt image is used.
    fn announce(&self, sources: &[Source], folder: &Path) {
        let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
        for source in sources {
            if let Source::Prebuilt(image, why) = source {
                match reasons.iter_mut().find(|(reason, _)| reason == why) {
                    // Of another module.
                    Some((_, targets)) if targets.contains(&image.target.as_str()) => {}
                    Some((_, targets)) => targets.push(&image.target),
                    None => reasons.push((why, vec![&image.target])),
                }
            }
        }
        for (why, targets) in reasons {
            let targets = targets.join(", ");
            self.cargo.warn(&format!("pack \"{}\": {targets} from {}/, because {why}", self.name, folder.display()));
        }
    }

    /// Runs what has to run; returns every image with its inputs, in the order of the sources.
    fn make_images(&self, sources: Vec<Source>) -> Result<Vec<(Image, Vec<Input>)>, Error> {
        let start = self.run_steps(sources.iter().filter_map(|source| match source {
            Source::Compile(compilation) => Some(compilation),
            _ => None,
        }))?;

        let open = |compilation: &Compilation, hash| {
            Image::open(&compilation.target, &compilation.image, hash, Origin::Compiled, &self.cargo.target)
        };
        let mut images = Vec::new();
        for source in sources {
            let (image, inputs) = match source {
                Source::Prebuilt(image, _) | Source::ReadyMade(image) => (image, Vec::new()),
                Source::Fresh(compilation, made) => (open(&compilation, made.image)?, made.inputs),
                Source::Compile(compilation) => {
                    let path = &compilation.image;
                    Image::seal(path)?;
                    let hash = ContentHash::of_file(path).map_err(|error| Error::io("read", path, error))?;
                    let image = open(&compilation, hash)?;
                    let start = start.expect("a compilation has steps");
                    (image, cache::record(&compilation, hash, start, self.output, self.cargo)?)
                }
            };
            inputs.iter().for_each(|input| self.cargo.watch_input(&input.path));
            images.push((image, inputs));
        }
        Ok(images)
    }

    /// Runs the steps of all these compilations; returns when that began, if there are any.
    pub(crate) fn run_steps<'c>(
        &self,
        compilations: impl Iterator<Item = &'c Compilation>,
    ) -> Result<Option<SystemTime>, Error> {
        let mut steps = Vec::new();
        let mut work = Vec::new();
        for compilation in compilations {
            cache::forget(compilation, self.output)?;
            let first = steps.len();
            work.resize(first + compilation.steps.len(), compilation.source_bytes);
            steps.extend(compilation.steps.iter().cloned().map(|mut step| {
                step.after.iter_mut().for_each(|before| *before += first);
                step
            }));
        }
        let start = if steps.is_empty() { None } else { Some(cache::file_time(self.output)?) };
        self.pass_on(&jobs::run(&steps, &work, &self.how()?)?);
        Ok(start)
    }

    /// How compilers are run, as build.rs and the environment want it.
    fn how(&self) -> Result<How, Error> {
        let most = match self.cargo.untracked_var("OFFLOAD_JOBS") {
            None => self.request.max_parallel.unwrap_or(usize::MAX),
            Some(text) => text.parse().ok().filter(|most| *most > 0).ok_or_else(|| {
                Error::config(format!(
                    "OFFLOAD_JOBS is '{text}'; it is how many compilers may run at a time: 1 or more"
                ))
            })?,
        };
        let colour = self.cargo.untracked_var("CARGO_TERM_COLOR").is_some_and(|when| when == "always");
        Ok(How { most, jobserver: self.cargo.jobserver(), colour, launcher: Launcher::from_env(self.cargo)? })
    }

    /// Shows the compilers' warnings, each once: most come from every target alike.
    fn pass_on(&self, warnings: &[String]) {
        // clang counts them for each target in a line of its own.
        let is_count = |line: &str| line.contains(" generated when compiling for ") || line.ends_with(" generated.");
        let mut shown: Vec<Vec<&str>> = Vec::new();
        for text in warnings {
            let lines: Vec<&str> = text.lines().filter(|line| !is_count(line)).collect();
            if !shown.contains(&lines) {
                lines.iter().for_each(|line| self.cargo.warn(line));
                shown.push(lines);
            }
        }
    }

    fn update_prebuilt(
        &self,
        folder: &Path,
        module: &PlannedModule,
        images: &[(Image, Vec<Input>)],
    ) -> Result<(), Error> {
        let mut tools = Vec::new();
        if let Some(clang) = self.tools.used_clang() {
            tools.push(("compiler", clang.version.clone()));
        }
        if let Some(nvcc) = self.tools.used_nvcc() {
            tools.push(("nvcc", nvcc.version.clone()));
        }
        if let Some(ptxas) = self.tools.used_ptxas() {
            tools.push(("ptxas", ptxas.version()));
        }
        let images: Vec<(&Image, &[Input])> = images
            .iter()
            .filter(|(image, _)| image.target != "cpu" && image.origin == Origin::Compiled)
            .map(|(image, inputs)| (image, &**inputs))
            .collect();
        if images.is_empty() {
            return Ok(());
        }
        let (stem, options) = (self.prebuilt_stem(module), self.prebuilt_options(module));
        prebuilt::update(folder, &stem, &options, &tools, &images, self.output, self.cargo)
    }
}

/// Whether the prebuilt set has an image for this target: one for a GPU that is not ready-made.
fn is_compiled(module: &PlannedModule, target: &str) -> bool {
    let Ok(arch) = OffloadArch::parse(target) else { return false };
    let is_ptx = matches!(arch, OffloadArch::Nvidia(arch) if arch.code == NvidiaCode::Ptx);
    let is_ready = |source: &&PlannedSource| match source.way(&arch) {
        Some(Way::TakeOut) => true,
        Some(Way::Ptx) => is_ptx,
        _ => false,
    };
    arch != OffloadArch::Cpu && !module.sources_for(&arch).iter().any(is_ready)
}

/// Whether a module's images have the kernels that build.rs requires.
///
/// Returns an error that names every image which lacks one, and what it has instead.
fn check_kernels(module: &PlannedModule, images: &[(Image, Vec<Input>)]) -> Result<(), Error> {
    let mut lines = Vec::new();
    for (image, _) in images.iter().filter(|(image, _)| image.target != "cpu" && !module.required.is_empty()) {
        let arch = OffloadArch::parse(&image.target).map_err(|error| Error::config(error.to_string()))?;
        let kernels = image::kernels(&image.path)?;
        let required = module.required.iter().filter(|it| it.only.as_ref().is_none_or(|only| only.selects(&arch)));
        for kernel in required.filter(|kernel| !kernels.contains(&kernel.name)) {
            let has = if kernels.is_empty() { "no kernels".to_owned() } else { kernels.join(", ") };
            lines.push(format!("the image for {} has no kernel {}; it has {has}", image.target, kernel.name));
        }
    }
    match lines.is_empty() {
        true => Ok(()),
        false => {
            let message =
                format!("build.rs requires kernels of the module \"{}\":\n  {}", module.name, lines.join("\n  "));
            Err(Error::new(ErrorKind::KernelMissing, message))
        }
    }
}
