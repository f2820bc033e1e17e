//! `--for`: package metadata computed from the images in the package's files.
//!
//! A package may be installed for a GPU if each module of each file has an image for the GPU. Files
//! without images for the GPU's vendor are ignored, so a package may have one library per vendor.

mod conda;
mod wheel;

use super::devices::Asked;
use super::gets::{Known, Serves};
use crate::offload::{Error, Result, out};
use crate::text;
use offload_format::target::NvidiaArch;
use offload_format::target::amdgpu::{self, PROCESSORS};
use offload_format::target::product::PRODUCTS;
use std::collections::BTreeMap;

/// The kinds of packages whose metadata can be printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Kind {
    Conda,
    Pep825,
}

/// The GPUs that all files of a package serve.
pub(super) struct Package {
    nvidia: Gpus,
    amd: Gpus,
    /// The names of images in files that have no images for these vendors.
    others: Vec<String>,
}

/// A vendor's GPUs, in the order of their versions.
struct Gpus {
    vendor: &'static str,
    all: Vec<Gpu>,
    /// The files with images for the vendor.
    files: Vec<String>,
    /// A sentence for each of these files that serves no GPU even on its own, with the reason.
    reasons: Vec<String>,
}

/// A GPU, and what the files contain for it.
struct Gpu {
    asked: Asked,
    /// The version that package managers compare: `8.6` for `sm_86`, `9.0.10` for `gfx90a`.
    version: String,
    /// `None` if any module of any file lacks an image for the GPU.
    serves: Option<Serves>,
}

impl Gpu {
    fn is_product(&self) -> bool {
        PRODUCTS.iter().any(|(target, _)| *target == self.asked.target)
    }
}

impl Gpus {
    /// Creates an empty value from targets with their versions.
    fn new(vendor: &'static str, all: impl Iterator<Item = (String, String)>) -> Self {
        let gpu = |(target, version): (String, String)| Gpu {
            asked: Asked::of_target(&target, &[]),
            version,
            serves: Some(Serves::default()),
        };
        Self { vendor, all: all.map(gpu).collect(), files: Vec::new(), reasons: Vec::new() }
    }

    /// Adds a file. Returns whether it has images for the vendor.
    fn add(&mut self, file: &str, known: &Known<'_>) -> bool {
        if !self.all.first().is_some_and(|gpu| known.is_for_kind_of(&gpu.asked.device)) {
            return false;
        }
        let (features, mut is_any_served) = (known.features(), false);
        // The processors without an image in some of their modes, grouped by the names of those
        // modes.
        let mut in_modes: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for gpu in &mut self.all {
            let modes = gpu.asked.modes(&features);
            let before = gpu.serves.take();
            match known.serves(&modes) {
                Ok(serves) => {
                    is_any_served = true;
                    gpu.serves = before.map(|before| before.and(serves));
                }
                Err(lacking) => {
                    let states = lacking.iter().filter_map(|mode| mode.name.split_once(':'));
                    let states: Vec<&str> = states.map(|(_, states)| states).collect();
                    if !states.is_empty() {
                        in_modes.entry(states.join(" and ")).or_default().push(&gpu.asked.name);
                    }
                }
            }
        }
        let is_any_in_modes = !in_modes.is_empty();
        for (states, processors) in in_modes {
            let processors = processors.join(", ");
            out::warn(&format!(
                "{file}: leaving out {processors}, because no image runs on machines with \
                 {states}; compile for the processor without a mode, or for both modes"
            ));
        }
        if !is_any_served {
            let all: Vec<Asked> =
                self.all.iter().flat_map(|gpu| gpu.asked.modes(&features)).collect();
            let without = known.without(&all);
            self.reasons.push(if is_any_in_modes {
                format!("no {} GPU has an image for each of its modes in {file}", self.vendor)
            } else if without.is_empty() {
                let modules = text::plural(known.modules(), "module");
                format!("no {} GPU has an image in all {modules} of {file}", self.vendor)
            } else {
                format!(
                    "no {0} GPU has an image in every module of {file}; modules without an image \
                     for any {0} GPU: {1}",
                    self.vendor,
                    text::some(without.into_iter())
                )
            });
        }
        self.files.push(file.to_owned());
        true
    }

    /// Returns the GPUs that all files serve. Returns none if no file has images for the vendor.
    fn served(&self) -> impl Iterator<Item = (&Gpu, Serves)> {
        let all = if self.files.is_empty() { &[] } else { &self.all[..] };
        all.iter().filter_map(|gpu| Some((gpu, gpu.serves?)))
    }

    /// Returns why no GPU is served although files have images for the vendor.
    fn problem(&self) -> Option<String> {
        if self.files.is_empty() || self.served().next().is_some() {
            return None;
        }
        Some(if self.reasons.is_empty() {
            let files = text::some(self.files.iter());
            format!("no {} GPU has an image in every module of every file: {files}", self.vendor)
        } else {
            text::some(self.reasons.iter())
        })
    }
}

impl Package {
    pub(super) fn new() -> Self {
        // Include numbers that no GPU has yet, because the rules also apply to these.
        let numbers = PRODUCTS.iter().filter_map(|(target, _)| NvidiaArch::parse(target).ok());
        let majors = numbers.map(|arch| arch.major);
        let first = majors.clone().min().unwrap_or(0);
        let majors = first..=majors.max().unwrap_or(0) + 1;
        let nvidia = majors.flat_map(|major| (0..10).map(move |minor| (major, minor)));
        let nvidia = nvidia.map(|(a, b)| (format!("sm_{a}{b}"), format!("{a}.{b}")));
        let amd =
            PROCESSORS.iter().filter_map(|row| Some((row.name.into(), isa_version(row.name)?)));
        Self { nvidia: Gpus::new("NVIDIA", nvidia), amd: Gpus::new("AMD", amd), others: Vec::new() }
    }

    /// Adds a file. Its modules limit the GPUs of the package.
    pub(super) fn add(&mut self, file: &str, known: &Known<'_>) {
        let (nvidia, amd) = (self.nvidia.add(file, known), self.amd.add(file, known));
        if !nvidia && !amd {
            self.others.extend(known.labels().map(text::escaped_str));
        }
    }

    /// Prints the metadata.
    ///
    /// Returns an error if the files together serve no GPU.
    pub(super) fn print(&self, kind: Kind, out: &mut out::Out) -> Result<()> {
        let problems = [&self.nvidia, &self.amd].map(Gpus::problem);
        if self.nvidia.served().chain(self.amd.served()).next().is_none() {
            let problems: Vec<&str> = problems.iter().flatten().map(String::as_str).collect();
            return Err(match (&problems[..], &self.others[..]) {
                ([], []) => nothing_follows("there are no images for GPUs"),
                ([], others) => {
                    let others = text::some(others.iter());
                    nothing_follows(&format!(
                        "all images are for devices other than AMD's and NVIDIA's GPUs: {others}"
                    ))
                }
                (problems, _) => nothing_follows(&problems.join("; "))
                    .advice("cargo offload reach FILE lists the images of each module"),
            });
        }
        for (gpus, problem) in [&self.nvidia, &self.amd].into_iter().zip(problems) {
            if let Some(problem) = problem {
                out::warn(&format!("nothing is printed for {}: {problem}", gpus.vendor));
            }
        }
        match kind {
            Kind::Conda => conda::print(self, out),
            Kind::Pep825 => wheel::print(self, out),
        }
    }

    /// Returns the oldest CUDA version of the drivers that load the images on every GPU.
    ///
    /// A machine's driver supports the machine's own GPUs, so the images for a GPU need a newer
    /// driver only if they are PTX of a newer version, or machine code from a newer toolkit.
    fn least_driver(&self) -> Option<u32> {
        let first = |gpu: &Gpu| NvidiaArch::parse(&gpu.asked.target).ok()?.first_driver();
        // The version is 0 for PTX whose version cannot be read.
        let known = || {
            let served = self.nvidia.served();
            served.filter_map(|(gpu, serves)| first(gpu).map(|own| (serves.driver.max(own), own)))
        };
        let newer =
            known().filter(|(driver, first)| driver > first).map(|(driver, _)| driver).max();
        newer.or_else(|| known().map(|(driver, _)| driver).min())
    }
}

/// Returns the error for files from which no metadata can be computed.
fn nothing_follows(reason: &str) -> Error {
    Error::text(format!("cannot compute a package's metadata: {reason}"))
}

/// Returns a processor's ISA version as AMD's tools print it: `9.0.10` for `gfx90a`; `None` for
/// generic targets.
fn isa_version(name: &str) -> Option<String> {
    if amdgpu::is_generic(name) {
        return None;
    }
    let numbers = name.strip_prefix("gfx")?;
    let (major, rest) = numbers.split_at_checked(numbers.len().checked_sub(2)?)?;
    let digit = |at: usize| u8::from_str_radix(rest.get(at..=at)?, 16).ok();
    Some(format!("{major}.{}.{}", digit(0)?, digit(1)?))
}
