//! The images of a file by modules, and the image that a GPU gets from each.

use super::devices::Asked;
use crate::describe::{Detached, Named, problem_text};
use crate::offload::Context;
use crate::offload::select::judged::{self, named};
use crate::offload::select::modules::grouped;
use crate::text;
use offload_format::inventory::{Images, Inventory};
use offload_format::select::{Candidate, DeviceInfo, Fit, Refusal};
use offload_format::target::{ImageCode, Needs};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// The images of a file by modules.
#[derive(Default)]
pub(super) struct Known<'i> {
    modules: Vec<Module<'i>>,
    /// The names of images that no driver loads, for messages. They are in no module.
    pub(super) not_loaded: Vec<String>,
}

/// The images from which a program loads one.
struct Module<'i> {
    name: Option<String>,
    images: Vec<Held<'i>>,
}

/// The facts by which an image of a module is judged.
enum Held<'i> {
    Named(Named<'i>),
    /// The image's file is closed.
    Detached(Detached),
}

impl Held<'_> {
    fn candidate(&self) -> &dyn Candidate {
        match self {
            Held::Named(named) => named,
            Held::Detached(detached) => detached,
        }
    }

    fn needs(&self) -> Needs {
        match self {
            Held::Named(named) => named.needs(),
            Held::Detached(detached) => detached.needs(),
        }
    }

    /// Applies the rules of selection.
    fn judge(&self, device: &DeviceInfo) -> Result<Fit, Refusal> {
        judged::judge_with(self, self.needs(), device)
    }

    fn detached<'d>(&self) -> Held<'d> {
        Held::Detached(match self {
            Held::Named(named) => named.detached(),
            Held::Detached(detached) => detached.clone(),
        })
    }
}

impl Candidate for Held<'_> {
    fn code(&self) -> ImageCode<'_> {
        self.candidate().code()
    }

    fn label(&self) -> &str {
        self.candidate().label()
    }
}

/// How a GPU runs an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum How {
    /// Machine code for exactly this processor.
    MachineCode,
    /// Machine code for another processor or for a family, which this processor runs, too.
    Compatible,
    /// The driver compiles the image.
    Compiled,
    /// There is no image.
    Nothing,
}

/// The image that a GPU gets from some of the modules.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Gets {
    pub(super) how: How,
    /// The image's name: `sm_80`, `gfx11-generic`.
    pub(super) image: Option<String>,
    /// The least CUDA version of a driver that loads the image onto the GPU, or the least version
    /// of ROCm; `None` if it is not known, and for Intel's GPUs.
    pub(super) driver: Option<String>,
    /// The number of these modules.
    pub(super) modules: usize,
    /// The names of those of them that have one.
    pub(super) names: Vec<String>,
}

/// How a GPU runs the images of several modules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Serves {
    /// The way of the module that needs most of the driver.
    pub(super) how: How,
    /// The least driver that loads all images, in the form of `cuDriverGetVersion`, also for ROCm;
    /// 0 if it is not known.
    pub(super) driver: u32,
}

impl Default for Serves {
    fn default() -> Self {
        Self { how: How::MachineCode, driver: 0 }
    }
}

impl Serves {
    /// Adds more modules.
    pub(super) fn and(self, other: Self) -> Self {
        Self { how: self.how.max(other.how), driver: self.driver.max(other.driver) }
    }
}

impl<'i> Known<'i> {
    /// Adds the images of an inventory. Images that cannot be read are reported with `warn`.
    ///
    /// With `toolkits`, cubins are read as a whole.
    ///
    /// Each kernel pack of a library is for one processor, so images of equal module names in
    /// several inventories are one module.
    pub(super) fn add(
        &mut self,
        context: &Context,
        inventory: &'i Inventory<'i>,
        toolkits: bool,
        warn: &mut dyn FnMut(String),
    ) {
        let mut images = Images::new(context.max_size);
        let problem = |image: &_, error| problem_text(&inventory.problem_of(image, error));
        let mut failed = |image: &_, error| warn(problem(image, error));
        let named = named(inventory, &mut images, toolkits, &mut failed);
        let earlier = self.modules.len();
        for group in grouped(inventory, named) {
            let of_module = group.images.into_iter().filter_map(|(_, named)| named.ok());
            let (of_module, others): (Vec<_>, Vec<_>) = of_module.partition(is_loaded);
            for other in &others {
                let label = text::escaped_str(other.label());
                if other.is_bitcode() {
                    // Libraries of bitcode, which are for compilers, name no GPU.
                    if other.image().target_id.is_some() {
                        self.not_loaded.push(format!("{label} (LLVM bitcode)"));
                    }
                } else if other.is_fatbin() {
                    // Its images may be for any GPU.
                    warn(format!(
                        "{label}: the images of a fatbin in another container are not listed"
                    ));
                } else if of_module.is_empty() {
                    let module = group.name.as_deref().map(text::escaped_str);
                    let module = module.map(|it| format!(" of the module {it}"));
                    self.not_loaded.push(format!("{label}{}", module.unwrap_or_default()));
                }
            }
            if of_module.is_empty() && !others.is_empty() {
                continue;
            }
            self.add_to(earlier, group.name, of_module.into_iter().map(Held::Named));
        }
    }

    /// Adds images to a module. Of the first modules, as many as `earlier`, the one with this name
    /// gets them.
    fn add_to(
        &mut self,
        earlier: usize,
        name: Option<String>,
        images: impl Iterator<Item = Held<'i>>,
    ) {
        match self.modules[..earlier].iter_mut().find(|known| known.name == name) {
            Some(module) => module.images.extend(images),
            None => self.modules.push(Module { name, images: images.collect() }),
        }
    }

    /// Adds modules with these names that have no images, unless there are such modules.
    pub(super) fn require(&mut self, names: &BTreeSet<String>) {
        for name in names {
            self.add_to(self.modules.len(), Some(name.clone()), std::iter::empty());
        }
    }

    /// Returns the modules without their images, which can be read no more.
    pub(super) fn detached(&self) -> Known<'static> {
        let mut all = Known::default();
        all.join(self, |_| true);
        all
    }

    /// Adds the modules with certain names of a kernel pack. Returns whether there are any.
    pub(super) fn join(&mut self, pack: &Known<'_>, is_joined: impl Fn(&str) -> bool) -> bool {
        for name in &pack.not_loaded {
            if !self.not_loaded.contains(name) {
                self.not_loaded.push(name.clone());
            }
        }
        let (earlier, mut is_any) = (self.modules.len(), false);
        for Module { name, images } in &pack.modules {
            if is_joined(name.as_deref().unwrap_or_default()) {
                self.add_to(earlier, name.clone(), images.iter().map(|image| image.detached()));
                is_any = true;
            }
        }
        is_any
    }

    /// Whether there are no images.
    pub(super) fn is_empty(&self) -> bool {
        self.modules.is_empty() && self.not_loaded.is_empty()
    }

    /// Whether there is PTX.
    pub(super) fn has_ptx(&self) -> bool {
        self.images().any(|image| image.code().is_ptx())
    }

    /// Returns the number of modules.
    pub(super) fn modules(&self) -> usize {
        self.modules.len()
    }

    /// Whether there is an image for GPUs of this device's vendor.
    pub(super) fn is_for_kind_of(&self, device: &DeviceInfo) -> bool {
        let is_for = |image: &Held<'_>| {
            !matches!(
                image.judge(device),
                Err(Refusal::OtherKindOfDevice(_) | Refusal::NotUnderstood)
            )
        };
        self.images().any(is_for)
    }

    /// Returns the features that images name, in the order of target IDs.
    pub(super) fn features(&self) -> Vec<String> {
        let mut all = Vec::new();
        for image in self.images() {
            let id = image.code().target_id();
            all.extend(id.iter().flat_map(|id| id.features()).map(|(name, _)| name.to_owned()));
        }
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Returns what a GPU gets, in an order that shows the most modules first.
    pub(super) fn gets(&self, asked: &Asked) -> Vec<Gets> {
        let mut all: BTreeMap<(How, Option<String>, Option<u32>), Gets> = BTreeMap::new();
        for module in &self.modules {
            let (how, image, driver) = described(&module.images, asked);
            let gets = all.entry((how, image.clone(), driver)).or_insert_with(|| Gets {
                how,
                image,
                driver: driver.map(version_text),
                modules: 0,
                names: Vec::new(),
            });
            gets.modules += 1;
            gets.names.extend(module.name.clone());
        }
        let mut all: Vec<Gets> = all.into_values().collect();
        all.sort_by_key(|gets| std::cmp::Reverse(gets.modules));
        all
    }

    /// Returns how a GPU, in each of its modes, runs the image of each module. Otherwise, returns
    /// the modes in which a module has none; nothing if a module has none in any mode.
    pub(super) fn serves<'m>(&self, modes: &'m [Asked]) -> Result<Serves, Vec<&'m Asked>> {
        let (mut all, mut lacks) = (Serves::default(), vec![false; modes.len()]);
        for module in &self.modules {
            let mut is_served = false;
            for (mode, lacks) in modes.iter().zip(&mut lacks) {
                let (how, image, driver) = described(&module.images, mode);
                is_served |= image.is_some();
                *lacks |= image.is_none();
                all = all.and(Serves { how, driver: driver.unwrap_or(0) });
            }
            if !is_served {
                return Err(Vec::new());
            }
        }
        let lacking: Vec<&Asked> =
            modes.iter().zip(lacks).filter_map(|(mode, lacks)| lacks.then_some(mode)).collect();
        if lacking.is_empty() { Ok(all) } else { Err(lacking) }
    }

    /// Returns the modules that have no image for any of these GPUs, each with the names of its
    /// images: `saxpy (sm_80, sm_90)`.
    pub(super) fn without(&self, gpus: &[Asked]) -> Vec<String> {
        let without =
            |module: &&Module<'_>| !gpus.iter().any(|gpu| best(&module.images, gpu).is_some());
        let name = |module: &Module<'_>| {
            let images =
                text::some(module.images.iter().map(|image| text::escaped_str(image.label())));
            let name = module.name.as_deref().map_or("a module".into(), text::escaped_str);
            format!("{name} ({images})")
        };
        self.modules.iter().filter(without).map(name).collect()
    }

    /// Returns the names of all images.
    pub(super) fn labels(&self) -> impl Iterator<Item = &str> {
        self.images().map(|image| image.label())
    }

    /// Returns the PTX that a GPU's driver would compile, with the names of the modules.
    pub(super) fn ptx<'k>(
        &'k self,
        asked: &'k Asked,
    ) -> impl Iterator<Item = (Option<&'k str>, &'k Named<'i>)> {
        self.modules.iter().filter_map(|module| {
            let (image, fit) = best(&module.images, asked)?;
            let Held::Named(image) = image else { return None };
            matches!(fit, Fit::Ptx { .. }).then_some((module.name.as_deref(), image))
        })
    }

    fn images(&self) -> impl Iterator<Item = &Held<'i>> {
        self.modules.iter().flat_map(|module| &module.images)
    }
}

/// Whether a driver loads an image. LLVM bitcode and NVIDIA's LTO code are for linkers.
fn is_loaded(named: &Named<'_>) -> bool {
    !named.is_bitcode() && named.code().vendor().is_some()
}

/// Returns the version of a driver as people write it: `12.8` for 12080.
pub(super) fn version_text(number: u32) -> String {
    format!("{}.{}", number / 1000, number % 1000 / 10)
}

/// Returns the image that fits best, and how it fits.
fn best<'m, 'i>(images: &'m [Held<'i>], asked: &Asked) -> Option<(&'m Held<'i>, Fit)> {
    let fitting =
        images.iter().filter_map(|image| Some((image, image, image.judge(&asked.device).ok()?)));
    judged::best(fitting)
}

/// Returns how the device runs the image that fits best, its name, and the least driver that reads
/// it, in the form of `cuDriverGetVersion`, also for ROCm.
fn described(images: &[Held<'_>], asked: &Asked) -> (How, Option<String>, Option<u32>) {
    let Asked { device, target, .. } = asked;
    let Some((image, fit)) = best(images, asked) else { return (How::Nothing, None, None) };
    let how = match fit {
        Fit::Ptx { .. } | Fit::SpirV => How::Compiled,
        Fit::Cubin(arch) if *target != format!("sm_{}", arch.number()) => How::Compatible,
        Fit::GenericTarget { .. } => How::Compatible,
        _ => How::MachineCode,
    };
    (how, Some(image.label().to_owned()), fit.least_driver(device, image.needs()))
}
