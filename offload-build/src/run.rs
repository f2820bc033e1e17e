//! The order of a build: decide for each target where its image comes from, make what must be made, pack.

use crate::cache::{self, Input, Made};
use crate::cargo::Cargo;
use crate::error::{Error, ErrorKind};
use crate::hash::ContentHash;
use crate::image::{self, Image};
use crate::jobs::{self, How};
use crate::lack::{self, Lack};
use crate::language::{Language, Way};
use crate::linker;
use crate::options::Request;
use crate::output::{OutDir, write_if_changed};
use crate::pack::{self, ModuleImages, Pack};
use crate::plan::{PlannedModule, PlannedSource};
use crate::prebuilt::{self, Prebuilt};
use crate::ready;
use crate::steps::{Compilation, Compilations, image_file_name};
use crate::toolchain::{Found, Tools};
use offload_format::embedded::Origin;
use offload_format::target::{NvidiaCode, OffloadArch};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

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
    request: &'a Request,
    name: &'a str,
    cargo: &'a Cargo,
    output: &'a OutDir,
    tools: &'a Tools<'a>,
    /// What the tools said to questions that modules have in common.
    answers: RefCell<BTreeMap<String, Option<String>>>,
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
        name: &'a str,
        cargo: &'a Cargo,
        output: &'a OutDir,
        tools: &'a Tools<'a>,
    ) -> Self {
        Self { request, name, cargo, output, tools, answers: RefCell::default() }
    }

    /// Makes the pack.
    pub(crate) fn make_pack(&self, modules: &[PlannedModule]) -> Result<Pack, Error> {
        let machine = pack::machine(self.cargo)?;
        let prebuilt_use = self.prebuilt_use()?;
        let folder = self.request.prebuilt.clone().unwrap_or_else(|| "prebuilt".into());
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
        let size = packed.iter().flat_map(|module| &module.images).map(|image| image.size).sum();
        linker::check_size(self.name, size, machine, self.request.large_pack_script, self.cargo)?;
        pack::write(self.name, &packed, machine, self.output, self.cargo)
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
        let compilations = Compilations {
            module,
            target,
            arch,
            code_object_version: self.request.code_object_version,
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
        let clang = match self.tools.clang()? {
            Found::Tool(clang) => clang,
            Found::Missing(trail) => return Ok(Err(Lack::clang(trail))),
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

    /// The image that a source has, if it need not be compiled.
    fn take(
        &self,
        module: &PlannedModule,
        target: &str,
        arch: OffloadArch<'_>,
        source: &PlannedSource,
    ) -> Result<Option<Image>, Error> {
        let open = |path: &Path| {
            let hash = ContentHash::of_file(path).map_err(|error| Error::io("read", path, error))?;
            Image::open(target, path, hash, Origin::ReadyMade, &self.cargo.target).map(Some)
        };
        if let Some(Way::TakeOut) = source.way(&arch)
            && ready::sole(&source.path)?.is_some_and(|name| name.is_for(&arch))
        {
            // It is used where it lies: a copy of a large one takes as long as all that is done with it.
            let path = self.cargo.manifest_dir.join(&source.path);
            return open(&path);
        }
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
        open(&path)
    }

    /// What a compiler said to this question, or says now.
    fn ask(&self, question: String, answer: impl FnOnce() -> Option<String>) -> Option<String> {
        self.answers.borrow_mut().entry(question).or_insert_with(answer).clone()
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
        let mut steps = Vec::new();
        let mut work = Vec::new();
        for source in &sources {
            if let Source::Compile(compilation) = source {
                cache::forget(compilation, self.output)?;
                let first = steps.len();
                work.resize(first + compilation.steps.len(), compilation.source_bytes);
                steps.extend(compilation.steps.iter().cloned().map(|mut step| {
                    step.after.iter_mut().for_each(|before| *before += first);
                    step
                }));
            }
        }
        let start = if steps.is_empty() { None } else { Some(cache::file_time(self.output)?) };
        self.pass_on(&jobs::run(&steps, &work, self.how()?)?);

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
        Ok(How { most, colour })
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
