//! The images of a file by modules, and the image that a GPU gets from each.

use super::devices::Asked;
use crate::describe::{Named, problem_text};
use crate::offload::Context;
use crate::offload::select::judged::{self, named};
use crate::offload::select::modules::grouped;
use offload_format::inventory::{Images, Inventory};
use offload_format::select::{Candidate, DeviceInfo, Fit, Refusal, judge};
use serde::Serialize;
use std::collections::BTreeMap;

/// The images of a file by modules.
#[derive(Default)]
pub(super) struct Known<'i> {
    modules: Vec<Module<'i>>,
}

/// The images from which a program loads one.
struct Module<'i> {
    name: Option<String>,
    images: Vec<Named<'i>>,
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
    /// Each kernel pack of a library is for one processor, so images of equal module names in
    /// several inventories are one module.
    pub(super) fn add(
        &mut self,
        context: &Context,
        inventory: &'i Inventory<'i>,
        warn: &mut dyn FnMut(String),
    ) {
        let mut images = Images::new(context.max_size);
        let named = named(inventory, &mut images, &mut |image, error| {
            warn(problem_text(&inventory.problem_of(image, error)));
        });
        let earlier = self.modules.len();
        for group in grouped(inventory, named) {
            let images = group.images.into_iter().filter_map(|(_, named)| named.ok());
            let known = self.modules[..earlier].iter_mut().find(|known| known.name == group.name);
            match known {
                Some(module) => module.images.extend(images),
                None => self.modules.push(Module { name: group.name, images: images.collect() }),
            }
        }
    }

    /// Returns the number of modules.
    pub(super) fn modules(&self) -> usize {
        self.modules.len()
    }

    /// Whether there is an image for GPUs of this device's vendor.
    pub(super) fn is_for_kind_of(&self, device: &DeviceInfo) -> bool {
        let is_for = |named| {
            !matches!(
                judge(named, device),
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

    /// Returns how a GPU, in each of the modes that these features make, runs the image of each
    /// module; `None` if a module has none for it.
    pub(super) fn serves(&self, asked: &Asked, features: &[String]) -> Option<Serves> {
        let mut all = Serves::default();
        for mode in asked.modes(features) {
            for module in &self.modules {
                let (how, image, driver) = described(&module.images, &mode);
                image?;
                all = all.and(Serves { how, driver: driver.unwrap_or(0) });
            }
        }
        Some(all)
    }

    /// Returns the PTX that a GPU's driver would compile, with the names of the modules.
    pub(super) fn ptx<'k>(
        &'k self,
        asked: &'k Asked,
    ) -> impl Iterator<Item = (Option<&'k str>, &'k Named<'i>)> {
        self.modules.iter().filter_map(|module| {
            let (image, fit) = best(&module.images, asked)?;
            matches!(fit, Fit::Ptx { .. }).then_some((module.name.as_deref(), image))
        })
    }

    fn images(&self) -> impl Iterator<Item = &Named<'i>> {
        self.modules.iter().flat_map(|module| &module.images)
    }
}

/// Returns the version of a driver as people write it: `12.8` for 12080.
pub(super) fn version_text(number: u32) -> String {
    format!("{}.{}", number / 1000, number % 1000 / 10)
}

/// Returns the image that fits best, and how it fits.
fn best<'m, 'i>(images: &'m [Named<'i>], asked: &Asked) -> Option<(&'m Named<'i>, Fit)> {
    let fitting =
        images.iter().filter_map(|image| Some((image, image, judge(image, &asked.device).ok()?)));
    judged::best(fitting)
}

/// Returns how the device runs the image that fits best, its name, and the least driver that reads
/// it, in the form of `cuDriverGetVersion`, also for ROCm.
fn described(images: &[Named<'_>], asked: &Asked) -> (How, Option<String>, Option<u32>) {
    let Asked { device, target, .. } = asked;
    let Some((image, fit)) = best(images, asked) else { return (How::Nothing, None, None) };
    let how = match fit {
        Fit::Ptx { .. } | Fit::SpirV => How::Compiled,
        Fit::Cubin(arch) if *target != format!("sm_{}", arch.number()) => How::Compatible,
        Fit::GenericTarget { .. } => How::Compatible,
        _ => How::MachineCode,
    };
    let rocm = fit.least_rocm().map(|(major, minor)| major * 1000 + minor * 10);
    let driver = fit.least_driver(device).or(rocm).filter(|driver| *driver < u32::MAX);
    (how, Some(image.label().to_owned()), driver)
}
