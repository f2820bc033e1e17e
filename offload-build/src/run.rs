//! The order of a build: decide for each target where its image comes from, make what must be made, pack.

use crate::cache::{self, Input, Made};
use crate::cargo::Cargo;
use crate::error::Error;
use crate::hash::ContentHash;
use crate::image::Image;
use crate::jobs::{self, How};
use crate::lack::{self, Lack};
use crate::options::Request;
use crate::output::OutDir;
use crate::pack::{self, Pack};
use crate::prebuilt::{self, Prebuilt};
use crate::steps::{Compilation, Compilations};
use crate::toolchain::{Found, Tools};
use offload_format::embedded::Origin;
use offload_format::target::{NvidiaCode, OffloadArch};
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
}

impl<'a> Run<'a> {
    pub(crate) fn new(
        request: &'a Request,
        name: &'a str,
        cargo: &'a Cargo,
        output: &'a OutDir,
        tools: &'a Tools<'a>,
    ) -> Self {
        Self { request, name, cargo, output, tools }
    }

    /// Makes the pack for these targets, which are canonical names.
    pub(crate) fn make_pack(&self, targets: &[String]) -> Result<Pack, Error> {
        let machine = pack::machine(self.cargo)?;
        let prebuilt_use = self.prebuilt_use()?;
        let folder = self.request.prebuilt.clone().unwrap_or_else(|| "prebuilt".into());
        let set = match prebuilt_use {
            PrebuiltUse::Never | PrebuiltUse::Update => None,
            _ => Prebuilt::load(&folder, self.name)?,
        };
        let mut sources = Vec::new();
        let mut failures = Vec::new();
        for target in targets {
            let lack = match self.compile(target, prebuilt_use)? {
                Ok(source) => {
                    sources.push(source);
                    continue;
                }
                Err(lack) => lack,
            };
            let stand_in = match (&set, prebuilt_use) {
                (Some(set), _) => set.image(target, &self.request.options, self.output, self.cargo)?,
                (None, PrebuiltUse::Never) => Err("OFFLOAD_PREBUILT=never".into()),
                (None, PrebuiltUse::Update) => Err("OFFLOAD_PREBUILT=update is to make one".into()),
                (None, _) => Err(format!("the package has no prebuilt set in {}/", folder.display())),
            };
            match stand_in {
                Ok(image) => sources.push(Source::Prebuilt(image, lack.short)),
                Err(no_stand_in) => failures.push((target, lack, no_stand_in)),
            }
        }
        if !failures.is_empty() {
            return Err(lack::missing(&failures, set.as_ref()));
        }
        self.announce(&sources, &folder);

        let images = self.make_images(sources)?;
        if prebuilt_use == PrebuiltUse::Update {
            self.update_prebuilt(&folder, &images)?;
        }
        let images: Vec<Image> = images.into_iter().map(|(image, _)| image).collect();
        pack::write(self.name, &images, machine, self.output, self.cargo)
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

    /// How the compilers of this machine make the image. The inner error says why they do not.
    fn compile(&self, target: &str, prebuilt_use: PrebuiltUse) -> Result<Result<Source, Lack>, Error> {
        let arch = OffloadArch::parse(target).map_err(|error| Error::config(error.to_string()))?;
        let compilations = Compilations { options: &self.request.options, output: self.output, cargo: self.cargo };
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
        let clang = match self.tools.clang()? {
            Found::Tool(clang) => clang,
            Found::Missing(trail) => return Ok(Err(Lack::clang(trail))),
        };
        let compilation = match arch {
            OffloadArch::Nvidia(arch) if arch.code == NvidiaCode::Ptx => compilations.ptx(target, arch, clang),
            OffloadArch::Nvidia(arch) => match self.tools.ptxas()? {
                Found::Tool(ptxas) => compilations.cubin(target, arch, clang, ptxas),
                Found::Missing(trail) => return Ok(Err(Lack::ptxas(trail))),
            },
            OffloadArch::Amdgpu(_) if !clang.has_lld => return Ok(Err(Lack::lld(clang))),
            OffloadArch::Amdgpu(id) => compilations.amdgpu(target, id, clang),
            OffloadArch::Cpu => unreachable!("the CPU's image was decided on above"),
        };
        let source = source(compilation);
        if let Source::Compile(compilation) = &source {
            if let Some(text) = clang.refusal(compilation.first()) {
                return Ok(Err(Lack::refusal(&clang.path, &text)));
            }
            if let (OffloadArch::Nvidia(arch), Some(ptxas)) = (arch, self.tools.used_ptxas())
                && arch.code == NvidiaCode::Cubin
                && let Some(text) = ptxas.refusal(arch)
            {
                return Ok(Err(Lack::refusal(&ptxas.path, &text)));
            }
        }
        Ok(Ok(source))
    }

    /// One line for each reason why a prebuilt image is used.
    fn announce(&self, sources: &[Source], folder: &Path) {
        let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
        for source in sources {
            if let Source::Prebuilt(image, why) = source {
                match reasons.iter_mut().find(|(reason, _)| reason == why) {
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
                work.resize(first + compilation.steps.len(), self.source_bytes());
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
                Source::Prebuilt(image, _) => (image, Vec::new()),
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
            // What lies in OUT_DIR, build scripts write: watched, it would run this one again after each build.
            for input in inputs.iter().filter(|input| !input.path.starts_with(&self.cargo.out_dir)) {
                self.cargo.watch(&input.path);
            }
            images.push((image, inputs));
        }
        Ok(images)
    }

    /// What a compilation has to do, as far as that is known before: the size of its sources.
    fn source_bytes(&self) -> u64 {
        self.request.options.files.iter().filter_map(|file| fs::metadata(file).ok()).map(|it| it.len()).sum()
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

    fn update_prebuilt(&self, folder: &Path, images: &[(Image, Vec<Input>)]) -> Result<(), Error> {
        let mut tools = Vec::new();
        if let Some(clang) = self.tools.used_clang() {
            tools.push(("compiler", clang.version.clone()));
        }
        if let Some(ptxas) = self.tools.used_ptxas() {
            tools.push(("ptxas", ptxas.version()));
        }
        let images: Vec<(&Image, &[Input])> = images
            .iter()
            .filter(|(image, _)| image.target != "cpu")
            .map(|(image, inputs)| (image, &**inputs))
            .collect();
        let options = &self.request.options;
        prebuilt::update(folder, self.name, options, &tools, &images, self.output, self.cargo)
    }
}
