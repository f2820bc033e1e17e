//! The file `variant.json` of a wheel that is for some GPUs.
//!
//! PEP 825, a draft, has the format, and leaves the names of properties to later ones. NVIDIA's and
//! AMD's names are those of their provider plugins for installers: nvidia-variant-provider 0.0.2
//! and amd-variant-provider 0.0.2 of github.com/wheelnext.

use super::{Gpu, Package};
use crate::offload::reach::gets::{How, Serves, version_text};
use crate::offload::{Result, ls, out};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// The schema that PEP 825 names for its version 0.1.1, as long as it is a draft.
const SCHEMA: &str = "https://variants-schema.wheelnext.dev/peps/825/v0.1.1.json";

/// The oldest version of CUDA that NVIDIA's plugin lists for a machine, in the numbers of
/// `cuDriverGetVersion`.
const OLDEST_DRIVER: u32 = 11000;

/// Names of features, each with its values.
type Features = BTreeMap<&'static str, BTreeSet<String>>;

#[derive(Serialize)]
struct Document {
    #[serde(rename = "$schema")]
    schema: &'static str,
    #[serde(rename = "default-priorities")]
    priorities: Priorities,
    /// Labels, each with the features of its namespaces.
    variants: BTreeMap<&'static str, BTreeMap<&'static str, Features>>,
}

#[derive(Serialize)]
struct Priorities {
    namespace: Vec<&'static str>,
}

/// Prints the document. All features of a variant must hold, so there is a variant for each vendor.
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
    out::note("a draft: PEP 825 of August 2026, with the properties of provider plugins 0.0.2");
    if namespaces.len() > 1 {
        out::note(
            "a wheel is one variant: make a wheel for each vendor, with its part of this file",
        );
    }
    let priorities = Priorities { namespace: namespaces.iter().map(|(name, _)| *name).collect() };
    let variants = namespaces.into_iter().map(|it| (it.0, BTreeMap::from([it]))).collect();
    ls::print_json(out, &Document { schema: SCHEMA, priorities, variants })
}

/// A value of NVIDIA's `sm_arch`, which is named as CMake names architectures: `86_real` is machine
/// code for 8.6 and later minor versions, `80_virtual` is PTX.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Architecture {
    major: u32,
    minor: u32,
    is_real: bool,
}

impl Architecture {
    fn name(&self) -> String {
        let Self { major, minor, is_real } = self;
        format!("{major}{minor}_{}", if *is_real { "real" } else { "virtual" })
    }

    /// Whether a machine with a GPU takes a wheel that has this value. The plugin lists `89_real`
    /// down to `80_real`, and `80_virtual`, for 8.9.
    fn is_taken_by(&self, gpu: &Gpu) -> bool {
        let (major, minor) = numbers(gpu);
        self.major == major && if self.is_real { self.minor <= minor } else { self.minor == 0 }
    }
}

fn numbers(gpu: &Gpu) -> (u32, u32) {
    let (major, minor) = gpu.version.split_once('.').unwrap_or_default();
    (major.parse().unwrap_or(0), minor.parse().unwrap_or(0))
}

/// Returns the values that the GPUs of each major version need. The plugin refuses versions that no
/// product has.
fn architectures(package: &Package) -> Vec<Architecture> {
    let newest = package.nvidia.all.iter().rfind(|gpu| gpu.is_product());
    let newest = newest.map_or(0, |gpu| numbers(gpu).0);
    let mut all: Vec<Architecture> = Vec::new();
    for (gpu, Serves { how, .. }) in package.nvidia.served() {
        let (major, minor) = numbers(gpu);
        if major > newest {
            break;
        }
        let is_real = how != How::Compiled;
        // The first of a major version serves the later ones. PTX does not replace machine code.
        if !all.iter().any(|known| known.major == major && (known.is_real || !is_real)) {
            all.push(Architecture { major, minor, is_real });
        }
    }
    all
}

/// Prints the GPUs for which NVIDIA's plugin decides otherwise than the images.
fn warn_of_differences(package: &Package, architectures: &[Architecture]) {
    let differ = |is_served: bool| -> Vec<&str> {
        let gpus = package.nvidia.all.iter().filter(|gpu| gpu.is_product());
        gpus.filter(|gpu| {
            let is_taken = architectures.iter().any(|value| value.is_taken_by(gpu));
            gpu.serves.is_some() == is_served && is_taken != is_served
        })
        .map(|gpu| gpu.version.as_str())
        .collect()
    };
    for (is_served, text) in [
        (true, "have an image, and nvidia-variant-provider does not take the wheel for them"),
        (false, "have no image, and nvidia-variant-provider takes the wheel for them"),
    ] {
        let gpus = differ(is_served);
        if !gpus.is_empty() {
            out::warn(&format!("compute capabilities {text}: {}", gpus.join(", ")));
        }
    }
}
