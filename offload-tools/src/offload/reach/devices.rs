//! The GPUs for which a file is checked.

use crate::offload::{Error, Result};
use offload_format::select::DeviceInfo;
use offload_format::target::amdgpu::{self, PROCESSORS};
use offload_format::target::product::{self, PRODUCTS};

/// A GPU to check.
#[derive(Debug, Clone)]
pub(in crate::offload) struct Asked {
    /// The GPU's name in messages: its target, or the text of `--require`.
    pub(super) name: String,
    /// The target without modes: `sm_89`, `gfx90a`.
    pub(super) target: String,
    pub(super) products: &'static [&'static str],
    pub(super) device: DeviceInfo,
}

impl Asked {
    /// Parses a GPU from an option such as `--require`.
    pub(in crate::offload) fn parse(option: &str, text: &str) -> Result<Self> {
        let device =
            DeviceInfo::parse(text).map_err(|error| Error::text(format!("{option} {error}")))?;
        let (name, _driver) = text.split_once('@').unwrap_or((text, ""));
        let target = product::find(name).map_or(name, |product| product.target);
        Ok(Self { name: text.to_owned(), target: target.to_owned(), products: &[], device })
    }

    /// Creates the GPU for a target in the tables.
    pub(super) fn of_target(target: &str, products: &'static [&'static str]) -> Self {
        Self {
            name: target.to_owned(),
            target: target.to_owned(),
            products,
            device: DeviceInfo::parse(target).expect("the text is a valid target"),
        }
    }

    /// Returns the GPU in each mode that these features create. Returns a GPU unchanged if it has
    /// explicit modes, or no modes at all.
    pub(super) fn modes(&self, features: &[String]) -> Vec<Self> {
        let has = amdgpu::find(&self.target).map_or(&[][..], |row| row.features);
        let mut modes = vec![self.clone()];
        for feature in features.iter().filter(|feature| has.contains(&feature.as_str())) {
            let with = |mode: &Self, sign: &str| {
                let target = format!("{}:{feature}{sign}", mode.target);
                let device = DeviceInfo::parse(&target).expect("the processor has the feature");
                let name = format!("{}:{feature}{sign}", mode.name);
                Self { name, target, device, products: mode.products }
            };
            modes = modes.iter().flat_map(|mode| [with(mode, "-"), with(mode, "+")]).collect();
        }
        modes
    }
}

/// Returns the GPUs with known products, the newest of each vendor first, followed by AMD's other
/// processors.
pub(super) fn all() -> impl Iterator<Item = Asked> {
    let products = PRODUCTS.iter().copied();
    let others = PROCESSORS.iter().map(|row| row.name).filter(|name| {
        !amdgpu::is_generic(name) && !PRODUCTS.iter().any(|(target, _)| target == name)
    });
    products
        .chain(others.map(|name| (name, &[][..])))
        .map(|(target, products)| Asked::of_target(target, products))
}
