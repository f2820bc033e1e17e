//! A file's images, grouped by module, and the image that a GPU gets from each module.

use super::devices::{self, Asked};
use crate::describe::{Named, problem_text};
use crate::offload::Context;
use crate::offload::select::modules::{Needed, chosen, grouped, needed};
use crate::offload::select::verdicts::{self, named};
use crate::text;
use offload_format::inventory::{ImageKind, Images, Inventory};
use offload_format::select::{Candidate, DeviceInfo, Fit, Refusal};
use offload_format::target::Vendor;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A file's images, grouped by module.
#[derive(Default)]
pub(super) struct Known<'i> {
    modules: Vec<Module<'i>>,
    /// The names of images that no driver loads, for messages. They belong to no module.
    pub(super) not_loaded: Vec<String>,
}

/// A set of images from which a program loads one.
#[derive(Default)]
struct Module<'i> {
    name: Option<String>,
    images: Vec<(Needed, Named<'i>)>,
    /// The containers from which a GPU needs an image.
    needed: BTreeSet<Needed>,
    /// Whether the module may be only for other GPUs, because it consists of files from a larger
    /// set, of which a program loads only the files for its GPU.
    is_alternative: bool,
}

/// An image of a module that a GPU gets, with its fit.
type Got<'m, 'i> = (&'m (Needed, Named<'i>), Fit);

impl<'i> Module<'i> {
    /// Returns the images that a GPU gets, the worst fit first.
    fn chosen(&self, asked: &Asked) -> Option<Vec<Got<'_, 'i>>> {
        let images = self.images.iter().map(|image| (image.0, image));
        chosen(&self.needed, images, |images| {
            let fit = |image: &Named<'_>| verdicts::judge_loaded(image, &asked.device).ok();
            verdicts::best(images.filter_map(|image| Some((image, &image.1, fit(&image.1)?))))
        })
    }

    fn serves(&self, asked: &Asked) -> bool {
        self.chosen(asked).is_some()
    }

    /// Returns how the device runs its image, the image's name, and the oldest driver that reads
    /// the image, as a version in the form of `cuDriverGetVersion` (also for ROCm).
    fn described(&self, asked: &Asked) -> (How, Option<String>, Option<u32>) {
        let Asked { device, target, .. } = asked;
        let Some(all) = self.chosen(asked) else {
            return (How::Nothing, None, None);
        };
        let ((needed, image), fit) = &all[0];
        let how = match fit {
            _ if needed.is_part => How::Linked,
            Fit::Ptx { .. } | Fit::SpirV => How::Compiled,
            Fit::Cubin(arch) if *target != format!("sm_{}", arch.number()) => How::Compatible,
            Fit::GenericTarget { .. } => How::Compatible,
            _ => How::MachineCode,
        };
        let drivers = all.iter().filter_map(|((_, it), fit)| fit.least_driver(device, it.needs));
        (how, Some(image.label().to_owned()), drivers.max())
    }

    fn detached<'d>(&self) -> impl Iterator<Item = (Needed, Named<'d>)> {
        self.images.iter().map(|(needed, image)| (*needed, image.detached()))
    }
}

/// How a GPU runs an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum How {
    /// Machine code for exactly this processor.
    MachineCode,
    /// Machine code for a different processor or for a family, which this processor can also run.
    Compatible,
    /// The driver compiles the image.
    Compiled,
    /// The driver compiles and links the images of all parts.
    Linked,
    /// No image.
    Nothing,
}

/// The image that a GPU gets from some of the modules.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Gets {
    pub(super) how: How,
    /// The image's name: `sm_80`, `gfx11-generic`.
    pub(super) image: Option<String>,
    /// The CUDA version of the oldest driver that loads the image onto the GPU, or the oldest
    /// version of ROCm; `None` if unknown, and for Intel's GPUs.
    pub(super) driver: Option<String>,
    /// How many modules this entry is for.
    pub(super) modules: usize,
    /// The names of those modules that have one.
    pub(super) names: Vec<String>,
}

/// How a GPU runs the images of several modules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Serves {
    /// How the GPU runs the module that demands most of the driver.
    pub(super) how: How,
    /// The oldest driver that loads all images, in the form of `cuDriverGetVersion` (also for
    /// ROCm); 0 if unknown.
    pub(super) driver: u32,
}

impl Default for Serves {
    fn default() -> Self {
        Self { how: How::MachineCode, driver: 0 }
    }
}

impl Serves {
    /// Combines the result with that of more modules.
    pub(super) fn and(self, other: Self) -> Self {
        Self { how: self.how.max(other.how), driver: self.driver.max(other.driver) }
    }
}

impl<'i> Known<'i> {
    /// Adds an inventory's images. Passes a message about each unreadable image to `warn`.
    ///
    /// With `toolkits`, reads cubins completely, to find the toolkits that wrote them.
    ///
    /// A library has one kernel pack per processor, and each pack has its own inventory. Images
    /// with the same module name are therefore merged into one module.
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
            let all = group.images.iter().map(|(image, _)| needed(inventory, image)).collect();
            let of_module = group
                .images
                .into_iter()
                .filter_map(|(image, named)| Some((needed(inventory, image), named.ok()?)));
            let (of_module, others): (Vec<_>, Vec<_>) =
                of_module.partition(|(_, named)| is_loaded(named));
            for (_, other) in &others {
                let label = text::escaped_str(other.label());
                if other.is(ImageKind::is_bitcode) {
                    // Bitcode libraries are for compilers and name no GPU, so do not mention them.
                    if other.names_target() {
                        self.not_loaded.push(format!("{label} (LLVM bitcode)"));
                    }
                } else if other.is(ImageKind::is_fatbin) {
                    // The images in the fatbin may be for any GPU.
                    warn(format!(
                        "{label}: this fatbin is inside another container, so its images are not \
                         listed"
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
            self.add_to(earlier, group.name, &all, of_module.into_iter());
        }
    }

    /// Adds images to the module with this name among the first `earlier` modules, or to a new
    /// module.
    fn add_to(
        &mut self,
        earlier: usize,
        name: Option<String>,
        needed: &BTreeSet<Needed>,
        images: impl Iterator<Item = (Needed, Named<'i>)>,
    ) {
        let known = self.modules[..earlier].iter().position(|known| known.name == name);
        let at = known.unwrap_or(self.modules.len());
        if known.is_none() {
            self.modules.push(Module { name, ..Module::default() });
        }
        self.modules[at].images.extend(images);
        self.modules[at].needed.extend(needed);
    }

    /// Adds a module without images for each of these names, unless a module with that name exists.
    pub(super) fn require(&mut self, names: &BTreeSet<String>) {
        for name in names {
            self.add_to(
                self.modules.len(),
                Some(name.clone()),
                &BTreeSet::new(),
                std::iter::empty(),
            );
        }
    }

    /// Returns the modules with descriptions of their images, to keep after the file is closed,
    /// when the images themselves can no longer be read.
    pub(super) fn detached(&self) -> Known<'static> {
        let mut all = Known::default();
        all.join(self, |_| true);
        all
    }

    /// Adds those modules of a kernel pack whose names `is_joined` accepts. Returns whether there
    /// are any.
    pub(super) fn join(&mut self, pack: &Known<'_>, is_joined: impl Fn(&str) -> bool) -> bool {
        for name in &pack.not_loaded {
            if !self.not_loaded.contains(name) {
                self.not_loaded.push(name.clone());
            }
        }
        let (earlier, mut is_any) = (self.modules.len(), false);
        for module in &pack.modules {
            let name = &module.name;
            if is_joined(name.as_deref().unwrap_or_default()) {
                self.add_to(earlier, name.clone(), &module.needed, module.detached());
                is_any = true;
            }
        }
        is_any
    }

    /// Adds a file's modules under its path. Alternatives whose paths differ only in the GPU's name
    /// share one module; `numbers` maps paths without that name to modules.
    pub(super) fn join_file(
        &mut self,
        path: &str,
        file: &Known<'_>,
        is_alternative: bool,
        numbers: &mut HashMap<String, usize>,
    ) {
        for (number, module) in file.modules.iter().enumerate() {
            let several = file.modules.len() > 1;
            let several = if several { format!(" [{number}]") } else { String::new() };
            let (name, new) = (format!("{path}{several}"), self.modules.len());
            let at = if is_alternative { *numbers.entry(name.clone()).or_insert(new) } else { new };
            if at == new {
                let name = Some(name);
                self.modules.push(Module { name, is_alternative, ..Module::default() });
            }
            self.modules[at].images.extend(module.detached());
            self.modules[at].needed.extend(&module.needed);
        }
        for name in &file.not_loaded {
            self.not_loaded.push(format!("{name} in {}", text::escaped_str(path)));
        }
    }

    /// Makes all modules alternatives if no GPU has images in all modules, but some GPU has an
    /// image in one of them. Returns whether any module is an alternative.
    pub(super) fn settle_alternatives(&mut self) -> bool {
        let features = self.features();
        let gpus: Vec<Asked> = devices::all().flat_map(|gpu| gpu.modes(&features)).collect();
        let is_any = self.modules.iter().any(|module| gpus.iter().any(|gpu| module.serves(gpu)));
        let is_all = |gpu: &Asked| self.modules.iter().all(|module| module.serves(gpu));
        if is_any && !gpus.iter().any(is_all) {
            self.modules.iter_mut().for_each(|module| module.is_alternative = true);
        }
        self.has_alternatives()
    }

    pub(super) fn has_alternatives(&self) -> bool {
        self.modules.iter().any(|module| module.is_alternative)
    }

    pub(super) fn vendor(&self) -> Option<Vendor> {
        self.images().find_map(|image| image.code().vendor())
    }

    /// Returns the modules that a GPU needs: all modules that are not alternatives, and the
    /// alternatives with an image for one of the GPU's modes. If no alternative has such an image,
    /// adds the first alternative.
    fn needed<'k>(&'k self, modes: &[Asked]) -> Vec<&'k Module<'i>> {
        let is_served = |module: &&Module<'i>| modes.iter().any(|mode| module.serves(mode));
        let (alternatives, mut needed): (Vec<_>, Vec<_>) =
            self.modules.iter().partition(|module| module.is_alternative);
        let first = alternatives.first().copied();
        let before = needed.len();
        needed.extend(alternatives.into_iter().filter(is_served));
        needed.extend(first.filter(|_| needed.len() == before));
        needed
    }

    pub(super) fn is_empty(&self) -> bool {
        self.modules.is_empty() && self.not_loaded.is_empty()
    }

    pub(super) fn modules(&self) -> usize {
        self.modules.len()
    }

    /// Whether there is an image for GPUs from this device's vendor.
    pub(super) fn is_for_kind_of(&self, device: &DeviceInfo) -> bool {
        let is_for = |image: &Named<'_>| {
            !matches!(
                verdicts::judge_loaded(image, device),
                Err(Refusal::OtherKindOfDevice(_) | Refusal::NotUnderstood)
            )
        };
        self.images().any(is_for)
    }

    /// Returns the features that images name, in the order used in target IDs.
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

    /// Returns what a GPU gets in each mode. For each mode, the image that the GPU gets from the
    /// most modules comes first.
    pub(super) fn gets(&self, modes: &[Asked]) -> Vec<Vec<Gets>> {
        let needed = self.needed(modes);
        modes.iter().map(|mode| gets(&needed, mode)).collect()
    }

    /// Returns how a GPU runs the image of each module in each of its modes. If modules have no
    /// image in some modes, returns those modes instead. If a module has no image in any mode,
    /// returns an empty list.
    pub(super) fn serves<'m>(&self, modes: &'m [Asked]) -> Result<Serves, Vec<&'m Asked>> {
        let (mut all, mut lacks) = (Serves::default(), vec![false; modes.len()]);
        for module in self.needed(modes) {
            let mut is_served = false;
            for (mode, lacks) in modes.iter().zip(&mut lacks) {
                let (how, image, driver) = module.described(mode);
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

    /// Returns the modules with no image for any of these GPUs, each with the names of its images:
    /// `saxpy (sm_80, sm_90)`.
    pub(super) fn without(&self, gpus: &[Asked]) -> Vec<String> {
        let without = |module: &&Module<'_>| !gpus.iter().any(|gpu| module.serves(gpu));
        let name = |module: &Module<'_>| {
            let images =
                text::some(module.images.iter().map(|(_, image)| text::escaped_str(image.label())));
            let name = module.name.as_deref().map_or("a module".into(), text::escaped_str);
            format!("{name} ({images})")
        };
        self.modules.iter().filter(without).map(name).collect()
    }

    pub(super) fn labels(&self) -> impl Iterator<Item = &str> {
        self.images().map(|image| image.label())
    }

    /// Returns the PTX that a GPU's driver would compile, with the modules' names, and whether the
    /// driver would link the PTX.
    pub(super) fn ptx<'k>(
        &'k self,
        asked: &'k Asked,
    ) -> impl Iterator<Item = (Option<&'k str>, &'k Named<'i>, bool)> {
        self.modules.iter().flat_map(|module| {
            let name = module.name.as_deref();
            module.chosen(asked).into_iter().flatten().filter_map(move |((needed, image), fit)| {
                matches!(fit, Fit::Ptx { .. }).then_some((name, image, needed.is_part))
            })
        })
    }

    fn images(&self) -> impl Iterator<Item = &Named<'i>> {
        self.modules.iter().flat_map(|module| module.images.iter().map(|(_, image)| image))
    }
}

/// Returns what a GPU gets from these modules.
fn gets(needed: &[&Module<'_>], asked: &Asked) -> Vec<Gets> {
    let mut all: BTreeMap<(How, Option<String>, Option<u32>), Gets> = BTreeMap::new();
    for module in needed {
        let (how, image, driver) = module.described(asked);
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

/// Whether a driver loads an image. LLVM bitcode and NVIDIA's LTO code are for linkers.
fn is_loaded(named: &Named<'_>) -> bool {
    !named.is(ImageKind::is_bitcode) && named.code().vendor().is_some()
}

/// Returns a driver's version in the usual form: `12.8` for 12080.
pub(super) fn version_text(number: u32) -> String {
    format!("{}.{}", number / 1000, number % 1000 / 10)
}
