//! The builder, and the order of a build.

use crate::cache::{self, Input};
use crate::cargo::Cargo;
use crate::error::{Error, ErrorKind};
use crate::image::Image;
use crate::output::OutDir;
use crate::pack::{self, Pack};
use crate::prebuilt::{self, Prebuilt};
use crate::steps::{Kitchen, Recipe};
use crate::toolchain::{Clang, Cxx, Found, Ptxas};
use crate::{jobs, targets};
use offload_format::embedded::Origin;
use offload_format::target::{NvidiaCode, OffloadArch};
use std::cell::OnceCell;
use std::fmt;
use std::path::{Path, PathBuf};

/// What to compile, for which targets. See the [crate's front page](crate) for an example and for the environment
/// variables that have a say.
///
/// Paths are relative to the package's folder.
#[derive(Debug, Clone, Default)]
pub struct Build {
    options: Options,
    archs: Vec<String>,
    clang: Option<PathBuf>,
    ptxas: Option<PathBuf>,
    prebuilt: Option<PathBuf>,
}

/// What goes into an image beside the target.
#[derive(Debug, Clone, Default)]
pub(crate) struct Options {
    pub(crate) files: Vec<PathBuf>,
    pub(crate) includes: Vec<PathBuf>,
    pub(crate) defines: Vec<(String, Option<String>)>,
    pub(crate) flags: Vec<String>,
    pub(crate) code_object_version: Option<u32>,
}

/// One line for the manifest of a prebuilt set.
impl fmt::Display for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words: Vec<String> = self.files.iter().map(|file| file.display().to_string()).collect();
        words.extend(self.includes.iter().map(|folder| format!("-I{}", folder.display())));
        words.extend(self.defines.iter().map(|(name, value)| match value {
            Some(value) => format!("-D{name}={value}"),
            None => format!("-D{name}"),
        }));
        words.extend(self.flags.iter().cloned());
        words.extend(self.code_object_version.map(|version| format!("-mcode-object-version={version}")));
        f.write_str(&words.join(" ").replace('\n', " "))
    }
}

impl Build {
    /// Nothing to compile yet, for no target.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a source in the CUDA dialect. Several sources make one device program: they may call each other's
    /// `__device__` functions.
    pub fn file(&mut self, path: impl AsRef<Path>) -> &mut Self {
        self.options.files.push(path.as_ref().to_owned());
        self
    }

    /// Adds sources, as [`Build::file`] does.
    pub fn files<P: AsRef<Path>>(&mut self, paths: impl IntoIterator<Item = P>) -> &mut Self {
        paths.into_iter().for_each(|path| {
            self.file(path);
        });
        self
    }

    /// Adds a target: an AMD target ID, `sm_<n>`, `compute_<n>` or `cpu`.
    pub fn offload_arch(&mut self, arch: impl Into<String>) -> &mut Self {
        self.archs.push(arch.into());
        self
    }

    /// Adds targets, as [`Build::offload_arch`] does.
    pub fn archs<S: Into<String>>(&mut self, archs: impl IntoIterator<Item = S>) -> &mut Self {
        self.archs.extend(archs.into_iter().map(Into::into));
        self
    }

    /// Adds a folder in which `#include` looks.
    pub fn include(&mut self, folder: impl AsRef<Path>) -> &mut Self {
        self.options.includes.push(folder.as_ref().to_owned());
        self
    }

    /// Defines a macro; without a value it is 1.
    pub fn define<'a>(&mut self, name: &str, value: impl Into<Option<&'a str>>) -> &mut Self {
        self.options.defines.push((name.to_owned(), value.into().map(str::to_owned)));
        self
    }

    /// Gives an option to every compiler when it compiles a source, behind all others.
    pub fn flag(&mut self, flag: impl Into<String>) -> &mut Self {
        self.options.flags.push(flag.into());
        self
    }

    /// The code object version of AMD images; without it the compiler's default (6 in clang 22). ROCm's runtime reads
    /// 5 from 5.5 on and 6 from 6.3 on; generic targets need 6.
    pub fn code_object_version(&mut self, version: u32) -> &mut Self {
        self.options.code_object_version = Some(version);
        self
    }

    /// The clang to use, before `OFFLOAD_CLANG` and the usual places.
    pub fn clang(&mut self, path: impl AsRef<Path>) -> &mut Self {
        self.clang = Some(path.as_ref().to_owned());
        self
    }

    /// The ptxas to use, before `OFFLOAD_PTXAS` and the usual places.
    pub fn ptxas(&mut self, path: impl AsRef<Path>) -> &mut Self {
        self.ptxas = Some(path.as_ref().to_owned());
        self
    }

    /// The folder of the prebuilt set, `prebuilt` unless given. `OFFLOAD_PREBUILT=update cargo build --release` writes it;
    /// from then on an image whose compiler is missing comes from there, as long as sources and options are the same.
    pub fn prebuilt(&mut self, folder: impl AsRef<Path>) -> &mut Self {
        self.prebuilt = Some(folder.as_ref().to_owned());
        self
    }

    /// Compiles, packs, and tells Cargo. Ends the build script with the reason if that fails.
    pub fn compile(&self, name: &str) -> Pack {
        self.try_compile(name).unwrap_or_else(|error| error.report(name))
    }

    /// Compiles, packs, and tells Cargo.
    ///
    /// Returns an error if there is no target, if a name is malformed, if a source is missing, if a compiler is missing
    /// and no prebuilt image stands in, or if a compiler fails.
    pub fn try_compile(&self, name: &str) -> Result<Pack, Error> {
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-') {
            let message = format!("a pack's name has letters, digits, '_' and '-'; '{name}' does not");
            return Err(Error::new(ErrorKind::Config, message));
        }
        let cargo = Cargo::from_env()?;
        let output = OutDir::create(&cargo.out_dir, name)?;
        if cargo.user_var("DOCS_RS").is_some() {
            return pack::write_absent(name, "docs.rs has no GPU compilers", &output);
        }
        if cargo.user_var("OFFLOAD_SKIP").is_some_and(|value| value != "0") {
            return pack::write_absent(name, "OFFLOAD_SKIP was set", &output);
        }
        let targets = targets::resolve(&cargo, &self.archs)?;
        self.check_sources(&cargo)?;
        Run { build: self, name, cargo: &cargo, output: &output, tools: Tools::default() }.run(&targets)
    }

    fn check_sources(&self, cargo: &Cargo) -> Result<(), Error> {
        if self.options.files.is_empty() {
            return Err(Error::new(ErrorKind::Config, "no sources: name one with .file(\"kernels/saxpy.cu\")"));
        }
        for file in &self.options.files {
            if !file.is_file() {
                let message = format!(
                    "the source {} is not there (paths are relative to {})",
                    file.display(),
                    cargo.manifest_dir.display()
                );
                return Err(Error::new(ErrorKind::SourceNotFound, message));
            }
            cargo.watch(file);
        }
        Ok(())
    }
}

/// What `OFFLOAD_PREBUILT` asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PrebuiltUse {
    WhereCompilersAreMissing,
    Update,
    Only,
    Never,
}

/// The tools, each looked for when the first target needs it.
#[derive(Debug, Default)]
struct Tools {
    clang: OnceCell<Found<Clang>>,
    ptxas: OnceCell<Found<Ptxas>>,
}

struct Run<'a> {
    build: &'a Build,
    name: &'a str,
    cargo: &'a Cargo,
    output: &'a OutDir,
    tools: Tools,
}

/// How the image of one target comes about.
enum Source {
    /// By these steps, or by an earlier run of the same ones.
    Recipe(Recipe),
    /// From the prebuilt set, for this reason.
    Prebuilt(Image, String),
}

impl Run<'_> {
    fn run(self, targets: &[String]) -> Result<Pack, Error> {
        let prebuilt_use = self.prebuilt_use()?;
        let folder = self.build.prebuilt.clone().unwrap_or_else(|| "prebuilt".into());
        let set = match prebuilt_use {
            PrebuiltUse::Never | PrebuiltUse::Update => None,
            _ => Prebuilt::load(&folder, self.name)?,
        };

        let mut sources = Vec::new();
        let mut failures = Vec::new();
        for target in targets {
            let why = match self.recipe(target, prebuilt_use)? {
                Ok(recipe) => {
                    sources.push(Source::Recipe(recipe));
                    continue;
                }
                Err(why) => why,
            };
            let stand_in = match &set {
                Some(set) => set.image(target, &self.build.options, self.output, self.cargo)?,
                None if prebuilt_use == PrebuiltUse::Never => Err("OFFLOAD_PREBUILT=never".into()),
                None => Err(format!("the package has no prebuilt set in {}/", folder.display())),
            };
            match stand_in {
                Ok(image) => sources.push(Source::Prebuilt(image, why.short)),
                Err(no_stand_in) => failures.push((target, why, no_stand_in)),
            }
        }
        if !failures.is_empty() {
            return Err(missing(&failures, set.as_ref()));
        }
        self.announce(&sources, &folder);

        let images = self.make(sources)?;
        if prebuilt_use == PrebuiltUse::Update {
            self.update_prebuilt(&folder, &images)?;
        }
        let images: Vec<Image> = images.into_iter().map(|(image, _)| image).collect();
        pack::write(self.name, &images, self.output, self.cargo)
    }

    fn prebuilt_use(&self) -> Result<PrebuiltUse, Error> {
        match self.cargo.user_var("OFFLOAD_PREBUILT").as_deref() {
            None => Ok(PrebuiltUse::WhereCompilersAreMissing),
            Some("update") => Ok(PrebuiltUse::Update),
            Some("only") => Ok(PrebuiltUse::Only),
            Some("never") => Ok(PrebuiltUse::Never),
            Some(other) => {
                let message = format!("OFFLOAD_PREBUILT is '{other}'; it can be update, only or never");
                Err(Error::new(ErrorKind::Config, message))
            }
        }
    }

    /// The steps for a target. The inner error says why there is no compiler for it.
    fn recipe(&self, target: &str, prebuilt_use: PrebuiltUse) -> Result<Result<Recipe, Lack>, Error> {
        let arch = OffloadArch::parse(target).map_err(|error| Error::new(ErrorKind::Config, error.to_string()))?;
        let kitchen = Kitchen {
            options: &self.build.options,
            output: self.output,
            opt_level: &self.cargo.opt_level,
            debug: self.cargo.debug,
        };
        if arch == OffloadArch::Cpu {
            return Ok(Ok(kitchen.cpu(&Cxx::find(self.cargo)?)));
        }
        if prebuilt_use == PrebuiltUse::Only {
            return Ok(Err(Lack::only_prebuilt()));
        }
        let clang = match self.clang()? {
            Found::Tool(clang) => clang,
            Found::Missing(trail) => return Ok(Err(Lack::tool("clang", trail, INSTALL_CLANG))),
        };
        let recipe = match arch {
            OffloadArch::Amdgpu(_) if !clang.has_lld => return Ok(Err(Lack::lld(clang))),
            OffloadArch::Amdgpu(_) => kitchen.amdgpu(target, clang),
            OffloadArch::Nvidia(arch) if arch.code == NvidiaCode::Ptx => kitchen.ptx(target, arch, clang),
            OffloadArch::Nvidia(arch) => match self.ptxas()? {
                Found::Tool(ptxas) => {
                    if let Some(text) = ptxas.refusal(arch) {
                        return Ok(Err(Lack::refusal(&ptxas.path, &text)));
                    }
                    kitchen.cubin(target, arch, clang, ptxas)
                }
                Found::Missing(trail) => return Ok(Err(Lack::tool("ptxas", trail, INSTALL_PTXAS))),
            },
            OffloadArch::Cpu => unreachable!("handled above"),
        };
        if cache::fresh(&recipe, self.output).is_none()
            && let Some(text) = clang.refusal(recipe.first())
        {
            return Ok(Err(Lack::refusal(&clang.path, &text)));
        }
        Ok(Ok(recipe))
    }

    fn clang(&self) -> Result<&Found<Clang>, Error> {
        if let Some(found) = self.tools.clang.get() {
            return Ok(found);
        }
        let found = Clang::find(self.cargo, self.build.clang.as_deref())?;
        if let Found::Tool(clang) = &found {
            self.cargo.watch(&clang.path);
        }
        Ok(self.tools.clang.get_or_init(|| found))
    }

    fn ptxas(&self) -> Result<&Found<Ptxas>, Error> {
        if let Some(found) = self.tools.ptxas.get() {
            return Ok(found);
        }
        let found = Ptxas::find(self.cargo, self.build.ptxas.as_deref())?;
        if let Found::Tool(ptxas) = &found {
            self.cargo.watch(&ptxas.path);
        }
        Ok(self.tools.ptxas.get_or_init(|| found))
    }

    /// Runs what has to run; returns every image with its inputs, in the order of the targets.
    fn make(&self, sources: Vec<Source>) -> Result<Vec<(Image, Vec<Input>)>, Error> {
        let mut steps = Vec::new();
        for source in &sources {
            if let Source::Recipe(recipe) = source
                && cache::fresh(recipe, self.output).is_none()
            {
                cache::forget(recipe, self.output)?;
                let first = steps.len();
                steps.extend(recipe.steps.iter().cloned().map(|mut step| {
                    step.after.iter_mut().for_each(|before| *before += first);
                    step
                }));
            }
        }
        jobs::run(&steps)?;

        let mut images = Vec::new();
        for source in sources {
            let (image, inputs) = match source {
                Source::Prebuilt(image, _) => (image, Vec::new()),
                Source::Recipe(recipe) => {
                    let inputs = match cache::fresh(&recipe, self.output) {
                        Some(inputs) => inputs,
                        None => {
                            Image::seal(&recipe.image)?;
                            cache::record(&recipe, self.output)?
                        }
                    };
                    let host = &self.cargo.target;
                    (Image::open(&recipe.target, &recipe.image, Origin::Compiled, host)?, inputs)
                }
            };
            // The header in OUT_DIR is this crate's: it changes with the crate, which runs the build script again.
            for input in inputs.iter().filter(|input| !input.path.starts_with(&self.output.root)) {
                self.cargo.watch(&input.path);
            }
            images.push((image, inputs));
        }
        Ok(images)
    }

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

    fn update_prebuilt(&self, folder: &Path, images: &[(Image, Vec<Input>)]) -> Result<(), Error> {
        let mut tools = Vec::new();
        if let Some(Found::Tool(clang)) = self.tools.clang.get() {
            tools.push(("compiler", clang.version.clone()));
        }
        if let Some(Found::Tool(ptxas)) = self.tools.ptxas.get() {
            tools.push(("ptxas", ptxas.version()));
        }
        let images: Vec<(&Image, &[Input])> = images
            .iter()
            .filter(|(image, _)| image.target != "cpu")
            .map(|(image, inputs)| (image, &**inputs))
            .collect();
        let options = &self.build.options;
        prebuilt::update(folder, self.name, options, &tools, &self.cargo.opt_level, &images, self.output)
    }
}

const INSTALL_CLANG: &str = "install clang and lld, version 18 or newer (Debian 12 with security updates: apt install \
                             clang-22 lld-22; Ubuntu 24.04: apt install clang lld; Fedora: dnf install clang lld), \
                             or name one in OFFLOAD_CLANG";
const INSTALL_PTXAS: &str = "install the CUDA toolkit and set CUDA_HOME, or only its compiler (pip download --no-deps \
                             nvidia-cuda-nvcc, unpack the wheel) and name ptxas in OFFLOAD_PTXAS; \
                             or list PTX, which needs neither: compute_90 in place of sm_90";
const INSTALL_LLD: &str = "install lld of the same version (Debian, Ubuntu: apt install lld-22 beside clang-22)";

/// Why the compilers of this machine do not make an image.
struct Lack {
    /// In half a line.
    short: String,
    /// In full.
    long: String,
    /// What to do about it.
    cure: Option<&'static str>,
    kind: ErrorKind,
}

impl Lack {
    fn tool(name: &str, trail: &crate::toolchain::Trail, cure: &'static str) -> Self {
        let long = format!("no {name} was found ({trail})");
        Self { short: format!("no {name} was found"), long, cure: Some(cure), kind: ErrorKind::ToolNotFound }
    }

    fn lld(clang: &Clang) -> Self {
        let long = format!("{} finds no ld.lld, which links AMD code objects", clang.path.display());
        Self { short: "no ld.lld was found".into(), long, cure: Some(INSTALL_LLD), kind: ErrorKind::ToolNotFound }
    }

    fn refusal(tool: &Path, text: &str) -> Self {
        let long = format!("{} refuses it\n{}", tool.display(), text.trim_end());
        let short = format!("{} does not build for it", tool.display());
        Self { short, long, cure: None, kind: ErrorKind::ToolFailed }
    }

    fn only_prebuilt() -> Self {
        let short = "OFFLOAD_PREBUILT=only".to_owned();
        Self { long: short.clone(), short, cure: None, kind: ErrorKind::Prebuilt }
    }
}

/// One message for all targets that nothing can be had for: each reason once.
fn missing(failures: &[(&String, Lack, String)], set: Option<&Prebuilt>) -> Error {
    let mut groups: Vec<(Vec<&str>, &Lack, &str)> = Vec::new();
    for (target, lack, no_stand_in) in failures {
        match groups.iter_mut().find(|(_, other, no)| other.long == lack.long && no == no_stand_in) {
            Some((targets, _, _)) => targets.push(target),
            None => groups.push((vec![target], lack, no_stand_in)),
        }
    }
    let mut message = String::new();
    for (targets, lack, no_stand_in) in groups {
        message += &format!("no image for {}: {}\n", targets.join(", "), lack.long);
        message += &format!("  and no prebuilt one: {no_stand_in}\n");
        if let Some(cure) = lack.cure {
            message += &format!("  to compile it: {cure}\n");
        }
    }
    if let Some(set) = set {
        message += &format!("the prebuilt set was made with {}; OFFLOAD_PREBUILT=update remakes it\n", set.compiler());
    }
    Error::new(failures[0].1.kind, message.trim_end())
}
