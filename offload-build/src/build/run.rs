//! The order of a build: decide where the image of each target comes from, compile the missing
//! images, make the pack.

use super::kernel_parameters::{self, Described, Descriptions};
use super::missing_tool::{self, NotMade};
use super::prebuilt::{self, Prebuilt, Setting, StandIn};
use crate::cargo::Cargo;
use crate::compile::cache::{self, Before, Made};
use crate::compile::inputs::Input;
use crate::compile::seen::Seen;
use crate::compile::signatures;
use crate::compile::{Compilation, profile};
use crate::error::{Error, ErrorKind};
use crate::exec::{self, How, Kind, Launcher, Printed, Sorted, Step};
use crate::output::OutDir;
use crate::pack::image::{self, Image};
use crate::pack::layout::ModuleImages;
use crate::pack::{self, Pack};
use crate::plan::PlannedModule;
use crate::request::Request;
use crate::targets::{Family, Target};
use crate::toolchain::Tools;
use offload_format::host_object::Machine;
use offload_format::pack_index::Origin;
use offload_format::signature::Signatures;
use std::cell::RefCell;
use std::path::Path;
use std::time::SystemTime;

/// The value of `OFFLOAD_PREBUILT`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PrebuiltUse {
    WhereCompilersAreMissing,
    /// Write the set.
    Update,
    /// Write a set without images, which has only the kernels' parameters.
    Signatures,
    Only,
    Never,
}

/// An image, with its inputs.
type ImageWithInputs = (Image, Vec<Input>);
impl PrebuiltUse {
    /// Parses the value of `OFFLOAD_PREBUILT`; `variable` is the name of the variable that is set.
    ///
    /// Returns an error for a word that is not one of the values.
    pub(super) fn parse(variable: &str, value: &str) -> Result<Self, Error> {
        match value {
            "update" => Ok(PrebuiltUse::Update),
            "signatures" => Ok(PrebuiltUse::Signatures),
            "only" => Ok(PrebuiltUse::Only),
            "never" => Ok(PrebuiltUse::Never),
            _ => Err(refused(variable, value, "it can be update, signatures, only or never")),
        }
    }
}

fn refused(variable: &str, value: &str, why: &str) -> Error {
    Error::config(format!("{variable} is '{value}'; {why}"))
}

/// One build of one pack.
#[derive(Debug)]
pub(crate) struct Run<'a> {
    pub(crate) request: &'a Request,
    /// Whether the list of targets depends on this machine or its variables, as with `native` and
    /// `CUDAARCHS`.
    is_of_this_machine: bool,
    name: &'a str,
    pub(crate) cargo: &'a Cargo,
    pub(crate) output: &'a OutDir,
    pub(crate) tools: &'a Tools<'a>,
    /// The state of files before anything was compiled.
    pub(super) seen: Seen,
    /// Probe results shared by all modules.
    probed: RefCell<Vec<(String, Option<String>)>>,
    /// The messages of clang about sources that it could not describe.
    undescribed: RefCell<Vec<String>>,
}

/// The place from which the build gets the image of one target.
#[derive(Debug)]
pub(super) enum Source {
    /// An earlier run made the image from the same inputs.
    Fresh(Compilation, Made),
    /// Steps that compile the image.
    Compile(Compilation),
    /// The image of the prebuilt set, and the reason why the build uses it.
    Prebuilt(Image, String),
    /// A source contains the image.
    Supplied(Image),
}

impl Source {
    /// Returns the compilation of the image on this machine, if there is one.
    fn compilation(&self) -> Option<&Compilation> {
        match self {
            Source::Fresh(compilation, _) | Source::Compile(compilation) => Some(compilation),
            Source::Prebuilt(..) | Source::Supplied(_) => None,
        }
    }

    /// Whether steps must run to make the image.
    pub(super) fn is_stale(&self) -> bool {
        matches!(self, Source::Compile(_))
    }
}

impl<'a> Run<'a> {
    pub(crate) fn new(
        request: &'a Request,
        is_of_this_machine: bool,
        name: &'a str,
        cargo: &'a Cargo,
        output: &'a OutDir,
        tools: &'a Tools<'a>,
    ) -> Self {
        Self {
            request,
            is_of_this_machine,
            name,
            cargo,
            output,
            tools,
            seen: Seen::default(),
            probed: RefCell::default(),
            undescribed: RefCell::default(),
        }
    }

    /// Makes the pack.
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
        let mut sources = Vec::new();
        let mut failures = Vec::new();
        let mut sets = Vec::new();
        for module in modules {
            let set = match prebuilt_use {
                PrebuiltUse::Never | PrebuiltUse::Update | PrebuiltUse::Signatures => None,
                _ => Prebuilt::load(&folder, &self.prebuilt_stem(module))?,
            };
            for target in &module.targets {
                let missing = match self.decide(module, target, prebuilt_use) {
                    Ok(source) => {
                        sources.push(source);
                        continue;
                    }
                    Err(NotMade::MissingTool(missing)) => missing,
                    Err(NotMade::Fatal(error)) => return Err(error),
                };
                let stand_in = match (&set, prebuilt_use) {
                    (Some(set), _) => set.image(target, &self.prebuilt_setting(module))?,
                    (None, PrebuiltUse::Never) => StandIn::Misfit("OFFLOAD_PREBUILT=never".into()),
                    (None, PrebuiltUse::Update) => {
                        StandIn::Misfit("OFFLOAD_PREBUILT=update is to make one".into())
                    }
                    (None, PrebuiltUse::Signatures) => {
                        StandIn::Misfit("OFFLOAD_PREBUILT=signatures makes none".into())
                    }
                    (None, _) => StandIn::Misfit(format!(
                        "the package has no prebuilt set in {}/",
                        folder.display()
                    )),
                };
                match stand_in {
                    StandIn::Image(image) => sources.push(Source::Prebuilt(image, missing.short)),
                    StandIn::Misfit(why) => failures.push((target, missing, why)),
                }
            }
            sets.push(set);
        }
        if !failures.is_empty() {
            return Err(missing_tool::missing(&failures, sets.iter().flatten().next()));
        }
        self.announce(&sources, &folder);

        let targets = modules.iter().flat_map(|module| &module.targets);
        let sources: Vec<(Source, &Target)> = sources.into_iter().zip(targets).collect();
        let mut descriptions = Descriptions::new(self.output, self.cargo);
        let mut each = sources.iter();
        for module in modules {
            let of_module = each.by_ref().take(module.targets.len());
            let compiled = of_module
                .filter_map(|(source, target)| Some((target.family(), source.compilation()?)));
            descriptions.add_module(compiled, &self.seen);
        }
        let (images, described) = self.make_images(sources, descriptions)?;
        let (mut images, mut described) = (images.into_iter(), described.into_iter());
        let mut packed = Vec::new();
        for (module, set) in modules.iter().zip(&sets) {
            let images: Vec<ImageWithInputs> = images.by_ref().take(module.targets.len()).collect();
            check_kernels(module, &images)?;
            let has_prebuilt = images.iter().any(|(image, _)| image.origin == Origin::Prebuilt);
            let Described { signatures, of_cpu } = described.next().unwrap_or_default();
            let signatures =
                self.signatures(module, signatures, set.as_ref(), &folder, has_prebuilt);
            if let Ok(known) = &signatures {
                kernel_parameters::keep(&module.name, known, self.output)?;
                self.check_packaged_signatures(known, set.as_ref(), &folder, prebuilt_use);
            }
            if let PrebuiltUse::Update | PrebuiltUse::Signatures = prebuilt_use {
                let has_images = prebuilt_use == PrebuiltUse::Update;
                self.update_prebuilt(&folder, module, &images, &signatures, has_images)?;
            }
            let images: Vec<Image> = images.into_iter().map(|(image, _)| image).collect();
            let sources = module.sources.iter().filter(|it| it.language.has_templates());
            let sources = sources.map(|it| self.cargo.manifest_dir.join(&it.path)).collect();
            let name = module.name.clone();
            packed.push(ModuleImages { name, images, signatures, of_cpu, sources });
        }
        pack::write(self.name, &packed, self.request, machine, self.output, self.cargo)
    }

    /// Returns the signatures of a module's kernels: those that clang has read, and those of the
    /// prebuilt set for images of the set.
    ///
    /// Returns the reason if no signatures are known and images do not name the kernels.
    fn signatures(
        &self,
        module: &PlannedModule,
        described: Option<Signatures>,
        set: Option<&Prebuilt>,
        folder: &Path,
        has_prebuilt: bool,
    ) -> Result<Signatures, String> {
        let needs_set = module.is_for_cpu_alone() && described.is_none();
        let of_set = (needs_set || has_prebuilt).then(|| match set {
            Some(set) => set.signatures(&self.prebuilt_setting(module)),
            None => Err(prebuilt::no_signatures(folder, &self.prebuilt_stem(module))),
        });
        match of_set {
            Some(Err(why)) if needs_set => Err(format!("{}\n{why}", self.why_undescribed())),
            of_set => {
                Ok(signatures::merge(described.into_iter().chain(of_set.and_then(Result::ok))))
            }
        }
    }

    /// Returns the reason why clang has not described the source of an image for the CPU.
    fn why_undescribed(&self) -> String {
        match (self.clang(), self.undescribed.borrow().first()) {
            (Err(NotMade::MissingTool(missing)), _) => {
                format!("{}; {}", missing.fact(), missing.help().unwrap_or_default())
            }
            (Err(NotMade::Fatal(error)), _) => error.to_string(),
            (Ok(clang), message) => format!(
                "{} does not read the source as the C++ compiler does: {}",
                clang.path.display(),
                message.map_or("", String::as_str)
            ),
        }
    }

    /// Makes the images of a module, but no pack. If a compiler is missing, no prebuilt image
    /// replaces its output.
    pub(super) fn make_only_images(&self, module: &PlannedModule) -> Result<(), NotMade> {
        let mut sources = Vec::new();
        for target in &module.targets {
            sources.push((self.decide(module, target, PrebuiltUse::Never)?, target));
        }
        self.make_images(sources, Descriptions::new(self.output, self.cargo))?;
        Ok(())
    }

    /// Returns the name of the pack.
    pub(super) fn name(&self) -> &str {
        self.name
    }

    /// Returns the start of the names of a module's files in the prebuilt set.
    pub(crate) fn prebuilt_stem(&self, module: &PlannedModule) -> String {
        prebuilt::stem(self.name, &module.prefix)
    }

    /// Returns the values that the prebuilt set of a module has to match.
    pub(crate) fn prebuilt_setting(&self, module: &PlannedModule) -> Setting<'a> {
        let version = self.request.code_object_version;
        let version =
            version.map(|version| format!(" -mcode-object-version={version}")).unwrap_or_default();
        let mut folders = module.options.includes.clone();
        folders.extend(module.sources.iter().flat_map(|source| &source.options.includes).cloned());
        folders
            .retain(|folder| folder.is_absolute() && !folder.starts_with(&self.cargo.manifest_dir));
        Setting {
            options: format!("{module}{version}"),
            folders,
            output: self.output,
            cargo: self.cargo,
        }
    }

    fn prebuilt_use(&self) -> Result<PrebuiltUse, Error> {
        let Some((variable, value)) = self.cargo.package_var("OFFLOAD_PREBUILT") else {
            return Ok(PrebuiltUse::WhereCompilersAreMissing);
        };
        let refuse = |why: &str| Err(refused(&variable, &value, why));
        match PrebuiltUse::parse(&variable, &value)? {
            // The set is for all users, so it is optimized and made for build.rs's targets.
            PrebuiltUse::Update if self.cargo.package_var("OFFLOAD_ARCH").is_some() => {
                refuse("a prebuilt set is made for the targets of build.rs: unset OFFLOAD_ARCH")
            }
            PrebuiltUse::Update if self.is_of_this_machine => refuse(
                "a prebuilt set is made for the targets that build.rs names, as in .archs([\"gfx90a\", \"sm_80\"]): \
                        'native', and variables such as CUDAARCHS, mean others on other machines",
            ),
            PrebuiltUse::Update if self.cargo.opt_level == "0" => {
                refuse("a prebuilt set is made with optimization: build with --release")
            }
            asked => Ok(asked),
        }
    }

    /// Returns the answer of a compiler to this probe. If an earlier probe had the same question,
    /// returns that answer and does not run the compiler again.
    pub(crate) fn ask(
        &self,
        question: String,
        answer: impl FnOnce() -> Option<String>,
    ) -> Option<String> {
        let mut probed = self.probed.borrow_mut();
        if let Some((_, known)) = probed.iter().find(|(asked, _)| *asked == question) {
            return known.clone();
        }
        let answer = answer();
        probed.push((question, answer.clone()));
        answer
    }

    /// Prints one line for each reason why a prebuilt image is used.
    fn announce(&self, sources: &[Source], folder: &Path) {
        let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
        for source in sources {
            if let Source::Prebuilt(image, why) = source {
                match reasons.iter_mut().find(|(reason, _)| reason == why) {
                    // Another module has already listed this target.
                    Some((_, targets)) if targets.contains(&image.target.as_str()) => {}
                    Some((_, targets)) => targets.push(image.target.as_str()),
                    None => reasons.push((why, vec![image.target.as_str()])),
                }
            }
        }
        for (why, targets) in reasons {
            let targets = targets.join(", ");
            self.cargo.warn(&format!(
                "pack \"{}\": {targets} from {}/, because {why}",
                self.name,
                folder.display()
            ));
        }
    }

    /// Runs the steps that compile the missing images. Returns every image with its inputs, in the
    /// order of `sources`, and the signatures of each module's kernels.
    fn make_images(
        &self,
        sources: Vec<(Source, &Target)>,
        descriptions: Descriptions<'_>,
    ) -> Result<(Vec<ImageWithInputs>, Vec<Described>), Error> {
        let mut stale: Vec<&Compilation> = Vec::new();
        for (source, _) in &sources {
            if let Source::Compile(compilation) = source {
                stale.push(compilation);
            }
        }
        stale.extend(descriptions.stale());
        let start = self.run_steps(&stale)?;
        let after = Seen::default();

        let open = |target, compilation: &Compilation, hash| {
            Image::open(target, &compilation.image, hash, Origin::Compiled, &self.cargo.target)
        };
        let mut images = Vec::new();
        for (source, target) in sources {
            let (image, inputs) = match source {
                Source::Prebuilt(image, _) | Source::Supplied(image) => (image, Vec::new()),
                Source::Fresh(compilation, made) => {
                    (open(target, &compilation, made.image)?, made.inputs)
                }
                Source::Compile(compilation) => {
                    Image::seal(&compilation.image)?;
                    let before =
                        Before { seen: &self.seen, start: start.expect("a compilation has steps") };
                    let made =
                        cache::record(&compilation, before, &after, self.output, self.cargo)?;
                    (open(target, &compilation, made.image)?, made.inputs)
                }
            };
            inputs.iter().for_each(|input| self.cargo.watch_input(&input.path));
            images.push((image, inputs));
        }
        let signatures = descriptions.finish(&self.seen, start, &after)?;
        Ok((images, signatures))
    }

    /// Runs the steps of all these compilations. Returns the time when the steps began, or `None`
    /// if there are no steps.
    pub(crate) fn run_steps(
        &self,
        compilations: &[&Compilation],
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
        let compilations: Vec<usize> =
            (0..steps.len()).filter(|&number| steps[number].kind == Kind::Compile).collect();
        let describes = |step: &&mut Step| matches!(step.kind, Kind::Describe { .. });
        for step in steps.iter_mut().filter(describes) {
            step.after.extend(&compilations);
        }
        if steps.is_empty() {
            // Without steps, the settings for running compilers are not read, since an error in
            // them does not matter.
            return Ok(None);
        }
        let start = cache::file_time(self.output)?;
        self.pass_on(&exec::run(&steps, &work, &self.how()?)?);
        Ok(Some(start))
    }

    /// Returns the settings for running compilers, from build.rs and the environment.
    fn how(&self) -> Result<How, Error> {
        let most = match self.cargo.untracked_var("OFFLOAD_JOBS") {
            None => self.request.max_parallel.unwrap_or(usize::MAX),
            Some(text) => text.parse().ok().filter(|most| *most > 0).ok_or_else(|| {
                Error::config(format!(
                    "OFFLOAD_JOBS is '{text}'; it is how many compilers may run at a time: 1 or more"
                ))
            })?,
        };
        let colour =
            self.cargo.untracked_var("CARGO_TERM_COLOR").is_some_and(|when| when == "always");
        Ok(How {
            most,
            jobserver: self.cargo.jobserver(),
            colour,
            launcher: Launcher::from_env(self.cargo)?,
        })
    }

    /// Shows each warning of the compilers once: most warnings are the same for every target.
    /// `cargo build -vv` shows the rest of their output.
    fn pass_on(&self, printed: &[Printed]) {
        let mut shown: Vec<Vec<&str>> = Vec::new();
        for Printed { output, text, failed } in printed {
            if *failed {
                let message = text.lines().find(|line| line.contains("error: "));
                let message = message.or(text.lines().next()).unwrap_or_default();
                self.undescribed.borrow_mut().push(message.to_owned());
                continue;
            }
            let Sorted { warnings, chatter } = exec::sort(text);
            for warning in warnings {
                if !shown.contains(&warning) {
                    warning.iter().for_each(|line| self.cargo.warn(line));
                    shown.push(warning);
                }
            }
            if chatter.iter().any(|line| !line.trim().is_empty()) {
                let file = output.as_deref().unwrap_or(Path::new(self.name));
                let file = file.strip_prefix(&self.output.root).unwrap_or(file).display();
                self.cargo.note(&format!("offload-build: what the compiler printed for {file}"));
                // The prefix `| ` keeps Cargo from reading a line as an instruction.
                chatter.iter().for_each(|line| self.cargo.note(&format!("| {line}")));
            }
        }
    }

    fn update_prebuilt(
        &self,
        folder: &Path,
        module: &PlannedModule,
        images: &[ImageWithInputs],
        signatures: &Result<Signatures, String>,
        has_images: bool,
    ) -> Result<(), Error> {
        let compiled = || images.iter().filter(|(image, _)| image.origin == Origin::Compiled);
        let for_gpus: Vec<&ImageWithInputs> = compiled()
            .filter(|(image, _)| has_images && image.target.family() != Family::Cpu)
            .collect();
        let signatures = match signatures {
            Ok(known) if !for_gpus.is_empty() || !known.kernels.is_empty() => known,
            Ok(_) => return Ok(()),
            Err(why) if !has_images => {
                return Err(Error::new(
                    ErrorKind::Prebuilt,
                    format!(
                        "the parameters of the kernels of the module \"{}\" are not known: {why}",
                        module.name
                    ),
                ));
            }
            Err(_) => return Ok(()),
        };
        let mut made_with = Vec::new();
        if let Some(clang) = self.tools.used_clang() {
            made_with.push(("compiler", clang.version.clone()));
        }
        if let Some(nvcc) = self.tools.used_nvcc().filter(|_| has_images) {
            made_with.push(("nvcc", nvcc.version.clone()));
        }
        for ptxas in self.tools.used_ptxas().filter(|_| has_images) {
            made_with.push(("ptxas", ptxas.version()));
        }
        let mut levels: Vec<String> = Vec::new();
        for level in for_gpus
            .iter()
            .flat_map(|(image, _)| profile::levels(module, &image.target, self.cargo))
        {
            if !levels.contains(&level) {
                levels.push(level);
            }
        }
        if !levels.is_empty() {
            made_with.push(("optimization", levels.join(", ")));
        }
        // Without images, the inputs are those of all targets, and without this crate's headers:
        // they do not change the parameters.
        let (of_images, of_all) = (for_gpus.iter().copied(), compiled());
        let inputs: Vec<&Input> = if for_gpus.is_empty() {
            let inputs = of_all.flat_map(|(_, inputs)| inputs);
            inputs.filter(|input| self.output.header_name(&input.path).is_none()).collect()
        } else {
            of_images.flat_map(|(_, inputs)| inputs).collect()
        };
        let images: Vec<&Image> = for_gpus.iter().map(|(image, _)| image).collect();
        let setting = self.prebuilt_setting(module);
        prebuilt::update(
            folder,
            &self.prebuilt_stem(module),
            &setting,
            &made_with,
            &images,
            &inputs,
            signatures,
        )
    }
}

/// Checks that a module's images have the kernels that build.rs requires.
///
/// Returns an error that names every image without a required kernel, and the kernels that it has.
fn check_kernels(module: &PlannedModule, images: &[ImageWithInputs]) -> Result<(), Error> {
    let mut lines = Vec::new();
    let for_gpus =
        images.iter().map(|(image, _)| image).filter(|image| image.target.family() != Family::Cpu);
    for image in for_gpus.filter(|_| !module.required.is_empty()) {
        let kernels = image::kernels(&image.path)?;
        let required = module
            .required
            .iter()
            .filter(|it| it.only.as_ref().is_none_or(|only| only.selects(&image.target)));
        for kernel in required.filter(|kernel| !kernels.contains(&kernel.name)) {
            let has = if kernels.is_empty() { "no kernels".to_owned() } else { kernels.join(", ") };
            lines.push(format!(
                "the image for {} has no kernel {}; it has {has}",
                image.target, kernel.name
            ));
        }
    }
    if lines.is_empty() {
        Ok(())
    } else {
        let message = format!(
            "build.rs requires kernels of the module \"{}\":\n  {}",
            module.name,
            lines.join("\n  ")
        );
        Err(Error::new(ErrorKind::KernelMissing, message))
    }
}
