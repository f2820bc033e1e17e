//! The requirements of a conda package: versions of the virtual packages that stand for a machine's
//! GPUs and driver.

use super::{Gpu, Package};
use crate::offload::reach::gets::version_text;
use crate::offload::{Result, out};
use std::io::Write;

/// Prints the lines for `requirements: run:` of a recipe. A comment precedes each vendor's lines.
///
/// Conda compares the lowest compute capability of a machine's GPUs (CEP 46), or the AMD GPU with
/// the most compute units (a draft).
pub(super) fn print(package: &Package, out: &mut out::Out) -> Result<()> {
    let Package { nvidia, amd, .. } = package;
    let capabilities = ranges(if nvidia.files.is_empty() { &[] } else { &nvidia.all });
    if !capabilities.is_empty() {
        writeln!(
            out,
            "# For NVIDIA's GPUs. In CEP 46, __cuda_arch is a machine's lowest compute capability."
        )?;
        match package.least_driver() {
            Some(driver) => writeln!(out, "- __cuda >={}", version_text(driver))?,
            None => writeln!(out, "- __cuda")?,
        }
        writeln!(out, "- __cuda_arch {capabilities}")?;
    }
    let versions: Vec<String> = amd.served().map(|(gpu, _)| format!("=={}", gpu.version)).collect();
    if !versions.is_empty() {
        if !capabilities.is_empty() {
            writeln!(
                out,
                "# A package cannot require \"NVIDIA or AMD\", so make a package for each vendor."
            )?;
        }
        writeln!(out, "# For AMD's GPUs. Draft: https://github.com/conda/ceps/pull/189")?;
        writeln!(out, "- __amdgpu")?;
        writeln!(out, "- __amdgpu_arch {}", versions.join("|"))?;
    }
    Ok(())
}

/// Returns the version ranges of the GPUs that the files serve: `>=8.0,<8.7|>=8.8`. If the files
/// serve the newest GPU, the last range is open.
fn ranges(mut gpus: &[Gpu]) -> String {
    let mut all = Vec::new();
    while let Some(start) = gpus.iter().position(|gpu| gpu.serves.is_some()) {
        gpus = &gpus[start..];
        let mut range = format!(">={}", gpus[0].version);
        let end = gpus.iter().position(|gpu| gpu.serves.is_none());
        if let Some(end) = end {
            range += &format!(",<{}", gpus[end].version);
        }
        all.push(range);
        gpus = &gpus[end.unwrap_or(gpus.len())..];
    }
    all.join("|")
}
