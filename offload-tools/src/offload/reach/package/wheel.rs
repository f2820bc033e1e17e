//! The file `variant.json` of a wheel for certain GPUs.
//!
//! PEP 825, a draft, specifies the format, but leaves the names of properties to later PEPs.
//! NVIDIA's and AMD's names come from their provider plugins for installers:
//! nvidia-variant-provider 0.0.2 and amd-variant-provider 0.0.2, at github.com/wheelnext.

use super::{Gpu, Package, nothing_follows};
use crate::offload::reach::gets::{How, Serves, version_text};
use crate::offload::{Result, ls, out};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// The schema that the draft of PEP 825 names for its version 0.1.1.
const SCHEMA: &str = "https://variants-schema.wheelnext.dev/peps/825/v0.1.1.json";

/// The oldest version of CUDA that NVIDIA's plugin lists for a machine, in the form of
/// `cuDriverGetVersion`.
const OLDEST_DRIVER: u32 = 11000;

/// The names of features, each with its values.
type Features = BTreeMap<&'static str, BTreeSet<String>>;

#[derive(Serialize)]
struct Document {
    #[serde(rename = "$schema")]
    schema: &'static str,
    #[serde(rename = "default-priorities")]
    priorities: Priorities,
    /// The variants' labels, each with its features in each namespace.
    variants: BTreeMap<&'static str, BTreeMap<&'static str, Features>>,
}

#[derive(Serialize)]
struct Priorities {
    namespace: Vec<&'static str>,
}

/// Prints the document. It has one variant per vendor, because a machine must have all features of
/// a variant.
pub(super) fn print(package: &Package, out: &mut out::Out) -> Result<()> {
    let mut namespaces: Vec<(&str, Features)> = Vec::new();
    let architectures = architectures(package);
    if !architectures.is_empty() {
        warn_of_differences(package, &architectures);
        let names = architectures.iter().map(Architecture::name).collect();
        let mut features = Features::from([("sm_arch", names)]);
        if let Some(driver) = package.least_driver() {
            let driver = version_text(driver.max(OLDEST_DRIVER));
            features.insert("cuda_version_lower_bound", [driver].into());
        }
        namespaces.push(("nvidia", features));
    }
    let processors: BTreeSet<String> =
        package.amd.served().map(|(gpu, _)| gpu.asked.target.clone()).collect();
    if !processors.is_empty() {
        namespaces.push(("amd", Features::from([("gfx_arch", processors)])));
    }
    if namespaces.is_empty() {
        return Err(nothing_follows(
            "nvidia-variant-provider 0.0.2 knows none of the GPUs that have images",
        ));
    }
    out::note(
        "the printed format is a draft: PEP 825 as of August 2026, with the properties of provider \
         plugins 0.0.2",
    );
    if namespaces.len() > 1 {
        out::note(
            "a wheel contains one variant, so make a wheel for each vendor, with that vendor's \
             part of this file",
        );
    }
    let priorities = Priorities { namespace: namespaces.iter().map(|(name, _)| *name).collect() };
    let variants = namespaces.into_iter().map(|it| (it.0, BTreeMap::from([it]))).collect();
    ls::print_json(out, &Document { schema: SCHEMA, priorities, variants })
}

/// A value of NVIDIA's `sm_arch`. Architectures are named as in CMake, but the values only
/// determine which machines accept a wheel. For a machine with compute capability 8.9, the plugin
/// lists `89_real` down to `80_real`, and `80_virtual`. No machine accepts `86_virtual`, so a
/// wheel with PTX for 8.6 must use `86_real`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Architecture {
    major: u32,
    minor: u32,
    /// Whether the first GPU with this value gets machine code.
    is_code: bool,
}

impl Architecture {
    fn name(&self) -> String {
        let Self { major, minor, is_code } = self;
        let is_real = *is_code || *minor > 0;
        format!("{major}{minor}_{}", if is_real { "real" } else { "virtual" })
    }

    /// Whether a machine with this GPU accepts a wheel with this value.
    fn is_taken_by(&self, gpu: &Gpu) -> bool {
        let (major, minor) = numbers(gpu);
        self.major == major && self.minor <= minor
    }
}

fn numbers(gpu: &Gpu) -> (u32, u32) {
    let (major, minor) = gpu.version.split_once('.').unwrap_or_default();
    (major.parse().unwrap_or(0), minor.parse().unwrap_or(0))
}

/// Returns the values for the GPUs of each major version. Omits major versions without a product,
/// because the plugin refuses them.
fn architectures(package: &Package) -> Vec<Architecture> {
    let mut all: Vec<Architecture> = Vec::new();
    for (gpu, Serves { how, .. }) in package.nvidia.served().filter(|(gpu, _)| gpu.is_product()) {
        let (major, minor) = numbers(gpu);
        let is_code = how < How::Compiled;
        // The first value of a major version also serves later minor versions, but a value for PTX
        // does not replace one for machine code.
        if !all.iter().any(|known| known.major == major && (known.is_code || !is_code)) {
            all.push(Architecture { major, minor, is_code });
        }
    }
    all
}

/// Warns about GPUs for which NVIDIA's plugin accepts the wheel although they get no image.
fn warn_of_differences(package: &Package, architectures: &[Architecture]) {
    let gpus = package.nvidia.all.iter().filter(|gpu| gpu.is_product() && gpu.serves.is_none());
    let gpus = gpus.filter(|gpu| architectures.iter().any(|value| value.is_taken_by(gpu)));
    let gpus: Vec<&str> = gpus.map(|gpu| gpu.version.as_str()).collect();
    if !gpus.is_empty() {
        out::warn(&format!(
            "nvidia-variant-provider would install the wheel on GPUs that it has no image for: {}",
            gpus.join(", ")
        ));
    }
}
