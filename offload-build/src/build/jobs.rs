//! Decides where each image of each module comes from, then makes the images.

use super::kernel_parameters::{Described, Descriptions};
use super::missing_tool::{MissingTool, NotMade};
use super::prebuilt::{Prebuilt, PrebuiltUse};
use super::run::Run;
use crate::compile::Compilation;
use crate::compile::cache::{self, Before, Made};
use crate::compile::inputs::Inputs;
use crate::pack::image::{self, Image};
use crate::plan::PlannedModule;
use crate::targets::Target;
use crate::toolchain::{Error, ErrorKind, Seen};
use offload_pack::pack_index::Origin;
use std::path::Path;

/// A module whose images are still to be made.
pub(super) struct ModuleJob<'a> {
    pub(super) plan: &'a PlannedModule,
    /// The prebuilt set, if the build uses one.
    pub(super) set: Option<Prebuilt>,
    /// The images, in the order of the module's targets.
    images: Vec<Source>,
    descriptions: Descriptions,
}

/// The origin of the image for one target.
pub(super) enum Source {
    /// An earlier run made the image from the same inputs.
    Fresh(Compilation, Made),
    /// Steps that compile the image.
    Compile(Compilation),
    /// The image from the prebuilt set, and the reason why the build uses it.
    Prebuilt(Image, String),
    /// A source contains the image.
    Supplied(Image),
}

pub(super) struct MadeModule<'a> {
    pub(super) plan: &'a PlannedModule,
    pub(super) set: Option<Prebuilt>,
    /// The images, in the order of the module's targets.
    pub(super) images: Vec<MadeImage>,
    pub(super) described: Described,
}

/// An image and its input files.
pub(super) struct MadeImage {
    pub(super) image: Image,
    pub(super) inputs: Inputs,
}

/// A target whose image this machine cannot build, with the missing tool and the reason why there
/// is no prebuilt image.
pub(super) type Failure<'a> = (&'a Target, MissingTool, String);

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

impl<'a> ModuleJob<'a> {
    /// Decides where each image of a module comes from. Adds to `failures` the targets whose images
    /// cannot be built.
    ///
    /// Returns an error if the build must end.
    pub(super) fn decide(
        run: &Run<'_>,
        plan: &'a PlannedModule,
        prebuilt_use: PrebuiltUse,
        folder: &Path,
        failures: &mut Vec<Failure<'a>>,
    ) -> Result<Self, Error> {
        let set = match prebuilt_use {
            PrebuiltUse::Never | PrebuiltUse::Update | PrebuiltUse::Signatures => None,
            _ => Prebuilt::load(folder, &run.prebuilt_stem(plan))?,
        };
        let mut images = Vec::new();
        for target in &plan.targets {
            match run.decide(plan, target, prebuilt_use) {
                Ok(source) => images.push(source),
                Err(NotMade::MissingTool(missing)) => {
                    match prebuilt_image(run, plan, target, set.as_ref(), prebuilt_use, folder)? {
                        Ok(image) => images.push(Source::Prebuilt(image, missing.short)),
                        Err(why) => failures.push((target, missing, why)),
                    }
                }
                Err(NotMade::Fatal(error)) => return Err(error),
            }
        }
        Ok(Self { plan, set, images, descriptions: Descriptions::default() })
    }

    /// Adds the compilations that describe the parameters of the module's kernels.
    pub(super) fn describe(&mut self, run: &Run<'_>) {
        let mut compiled = Vec::new();
        for source in &self.images {
            compiled.extend(source.compilation());
        }
        self.descriptions = Descriptions::of(run, &compiled);
    }
}

/// Returns the prebuilt image for a target, or the reason why there is none.
fn prebuilt_image(
    run: &Run<'_>,
    plan: &PlannedModule,
    target: &Target,
    set: Option<&Prebuilt>,
    prebuilt_use: PrebuiltUse,
    folder: &Path,
) -> Result<Result<Image, String>, Error> {
    if let Some(set) = set {
        return set.image(target, &run.prebuilt_setting(plan));
    }
    Ok(Err(match prebuilt_use {
        PrebuiltUse::Never => "OFFLOAD_PREBUILT=never".to_owned(),
        PrebuiltUse::Update => "OFFLOAD_PREBUILT=update uses no prebuilt images".to_owned(),
        PrebuiltUse::Signatures => "OFFLOAD_PREBUILT=signatures uses no prebuilt images".to_owned(),
        _ => format!("the package has no prebuilt set in {}/", folder.display()),
    }))
}

/// Runs the steps that compile the missing images of these modules.
pub(super) fn make<'a>(
    run: &Run<'_>,
    jobs: Vec<ModuleJob<'a>>,
) -> Result<Vec<MadeModule<'a>>, Error> {
    let mut stale = Vec::new();
    for job in &jobs {
        for source in &job.images {
            if source.is_stale() {
                stale.extend(source.compilation());
            }
        }
    }
    for job in &jobs {
        job.descriptions.add_stale(&mut stale);
    }
    let start = run.run_steps(&stale)?;
    let before = start.map(|start| Before { seen: &run.seen, start });
    let after = Seen::default();
    let mut modules = Vec::new();
    for ModuleJob { plan, set, images, descriptions } in jobs {
        let mut made = Vec::new();
        for source in images {
            made.push(make_image(run, source, before, &after)?);
        }
        let described = descriptions.finish(run, &plan.name, before, &after)?;
        modules.push(MadeModule { plan, set, images: made, described });
    }
    Ok(modules)
}

/// Opens an image after all steps have run. `before` is the state before the first step, or `None`
/// if there were no steps.
fn make_image(
    run: &Run<'_>,
    source: Source,
    before: Option<Before<'_>>,
    after: &Seen,
) -> Result<MadeImage, Error> {
    let (compilation, made) = match source {
        Source::Prebuilt(image, _) | Source::Supplied(image) => {
            return Ok(MadeImage { image, inputs: Inputs::default() });
        }
        Source::Fresh(compilation, made) => (compilation, made),
        Source::Compile(compilation) => {
            compilation.check_orders()?;
            if compilation.lowers_ptx
                && let Some(why) = Image::lower_ptx(&compilation.image)?
            {
                run.cargo.note(&format!("offload-build: {}: {why}", compilation.stem));
            }
            Image::seal(&compilation.image)?;
            let before = before.expect("a compilation has steps");
            let made = cache::record(&compilation, before, after, run.output, run.cargo)?;
            (compilation, made)
        }
    };
    made.inputs.watch(run.cargo);
    let (target, path) = (&compilation.targets[0], &compilation.image);
    let image = Image::open(target, path, made.image, Origin::Compiled, run.cargo)?;
    Ok(MadeImage { image, inputs: made.inputs })
}

/// Prints one line for each reason why a prebuilt image is used.
pub(super) fn announce(run: &Run<'_>, jobs: &[ModuleJob<'_>], folder: &Path) {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for job in jobs {
        for source in &job.images {
            let Source::Prebuilt(image, why) = source else { continue };
            match reasons.iter_mut().find(|(reason, _)| reason == why) {
                // A different module has already listed this target.
                Some((_, targets)) if targets.contains(&image.target.as_str()) => {}
                Some((_, targets)) => targets.push(image.target.as_str()),
                None => reasons.push((why, vec![image.target.as_str()])),
            }
        }
    }
    for (why, targets) in reasons {
        run.cargo.warn(&format!(
            "pack \"{}\": using prebuilt images for {} from {}/, because {why}",
            run.name,
            targets.join(", "),
            folder.display()
        ));
    }
}

impl MadeModule<'_> {
    /// Checks that the images contain the kernels that build.rs requires.
    ///
    /// The error names every image that lacks a required kernel, and lists the kernels that it
    /// contains.
    pub(super) fn check_kernels(&self) -> Result<(), Error> {
        let mut lines = Vec::new();
        let for_gpus = self.images.iter().filter(|it| it.image.target.is_gpu());
        for MadeImage { image, .. } in for_gpus.filter(|_| !self.plan.required.is_empty()) {
            let kernels = image::kernels(&image.path)?;
            let of_target = self
                .plan
                .required
                .iter()
                .filter(|it| it.only.as_ref().is_none_or(|only| only.selects(&image.target)));
            for kernel in of_target.filter(|kernel| !kernels.contains(&kernel.name)) {
                let has =
                    if kernels.is_empty() { "no kernels".to_owned() } else { kernels.join(", ") };
                lines.push(format!(
                    "the image for {} has no kernel {}; it has {has}",
                    image.target, kernel.name
                ));
            }
        }
        if lines.is_empty() {
            return Ok(());
        }
        let message = format!(
            "the module \"{}\" lacks kernels that build.rs requires:\n  {}",
            self.plan.name,
            lines.join("\n  ")
        );
        Err(Error::new(ErrorKind::KernelMissing, message))
    }
}
