//! `--for`: the metadata of a package that follows from the images of its files.
//!
//! A package may be installed for a GPU if each module of each file has an image for it. Files
//! without images for the GPU's vendor do not count, so a package may have a library for each
//! vendor.

mod conda;
mod wheel;

use super::devices::Asked;
use super::gets::{Known, Serves};
use crate::offload::{Error, Result, out};
use offload_format::target::NvidiaArch;
use offload_format::target::amdgpu::{self, PROCESSORS};
use offload_format::target::product::PRODUCTS;

/// The packages whose metadata is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Kind {
    Conda,
    Pep825,
}

/// The GPUs that all files of a package serve.
pub(super) struct Package {
    nvidia: Gpus,
    amd: Gpus,
}

/// The GPUs of a vendor, in the order of their versions.
struct Gpus {
    all: Vec<Gpu>,
    /// Whether a file has images for the vendor.
    has_images: bool,
}

/// A GPU, and what the files have for it.
struct Gpu {
    asked: Asked,
    /// The version that package managers compare: `8.6` of `sm_86`, `9.0.10` of `gfx90a`.
    version: String,
    /// `None` if some module of some file has no image for it.
    serves: Option<Serves>,
}

impl Gpu {
    /// Whether there are products with this GPU.
    fn is_product(&self) -> bool {
        PRODUCTS.iter().any(|(target, _)| *target == self.asked.target)
    }
}

impl Gpus {
    /// Takes targets with their versions.
    fn new(all: impl Iterator<Item = (String, String)>) -> Self {
        let gpu = |(target, version): (String, String)| Gpu {
            asked: Asked::of_target(&target, &[]),
            version,
            serves: Some(Serves::default()),
        };
        Self { all: all.map(gpu).collect(), has_images: false }
    }

    fn add(&mut self, known: &Known<'_>) {
        if !self.all.first().is_some_and(|gpu| known.is_for_kind_of(&gpu.asked.device)) {
            return;
        }
        self.has_images = true;
        let features = known.features();
        for gpu in &mut self.all {
            let before = gpu.serves.take();
            gpu.serves =
                before.and_then(|before| Some(before.and(known.serves(&gpu.asked, &features)?)));
        }
    }

    /// Returns the GPUs that all files serve; none if no file has images for the vendor.
    fn served(&self) -> impl Iterator<Item = (&Gpu, Serves)> {
        let all = if self.has_images { &self.all[..] } else { &[] };
        all.iter().filter_map(|gpu| Some((gpu, gpu.serves?)))
    }
}

impl Package {
    pub(super) fn new() -> Self {
        // Rules decide about numbers that no GPU has yet, too.
        let numbers = PRODUCTS.iter().filter_map(|(target, _)| NvidiaArch::parse(target).ok());
        let majors = numbers.map(|arch| arch.major);
        let first = majors.clone().min().unwrap_or(0);
        let majors = first..=majors.max().unwrap_or(0) + 1;
        let nvidia = majors.flat_map(|major| (0..10).map(move |minor| (major, minor)));
        let nvidia = nvidia.map(|(a, b)| (format!("sm_{a}{b}"), format!("{a}.{b}")));
        let amd =
            PROCESSORS.iter().filter_map(|row| Some((row.name.into(), isa_version(row.name)?)));
        Self { nvidia: Gpus::new(nvidia), amd: Gpus::new(amd) }
    }

    /// Adds a file, whose modules limit the GPUs of the package.
    pub(super) fn add(&mut self, known: &Known<'_>) {
        self.nvidia.add(known);
        self.amd.add(known);
    }

    /// Prints the metadata.
    ///
    /// Returns an error if all files together serve no GPU.
    pub(super) fn print(&self, kind: Kind, out: &mut out::Out) -> Result<()> {
        if self.nvidia.served().chain(self.amd.served()).next().is_none() {
            return Err(Error::text(
                "nothing follows for a package: each GPU of AMD and NVIDIA lacks an image in some module",
            ));
        }
        match kind {
            Kind::Conda => conda::print(self, out),
            Kind::Pep825 => wheel::print(self, out),
        }
    }

    /// Returns the least CUDA version of the drivers that load the images onto each of the GPUs.
    ///
    /// A machine has a driver that knows its GPUs. So the images of a GPU need a newer one only if
    /// they are PTX of a newer version.
    fn least_driver(&self) -> Option<u32> {
        let first = |gpu: &Gpu| NvidiaArch::parse(&gpu.asked.target).ok()?.first_driver();
        // The version is 0 for PTX whose own cannot be read.
        let known = || {
            let served = self.nvidia.served();
            served.filter_map(|(gpu, serves)| first(gpu).map(|own| (serves.driver.max(own), own)))
        };
        let newer =
            known().filter(|(driver, first)| driver > first).map(|(driver, _)| driver).max();
        newer.or_else(|| known().map(|(driver, _)| driver).min())
    }
}

/// Returns the version of a processor's instruction set, as AMD's tools print it: `9.0.10` for
/// `gfx90a`. Returns `None` for generic targets.
fn isa_version(name: &str) -> Option<String> {
    if amdgpu::is_generic(name) {
        return None;
    }
    let numbers = name.strip_prefix("gfx")?;
    let (major, rest) = numbers.split_at_checked(numbers.len().checked_sub(2)?)?;
    let digit = |at: usize| u8::from_str_radix(rest.get(at..=at)?, 16).ok();
    Some(format!("{major}.{}.{}", digit(0)?, digit(1)?))
}
