//! Resolves `all-major` and `all`: the NVIDIA architectures that this machine's compilers support.
//!
//! As in nvcc, `all` means machine code for each architecture, and `all-major` means machine code
//! for the first architecture of each major number. Both words add PTX for the last architecture,
//! which drivers compile for newer GPUs. ptxas and clang report the architectures, so there is no
//! table to update. AMD has no such words, because each AMD GPU needs separate code, and a generic
//! target covers several GPUs.

use super::item::TargetOrigin;
use super::target;
use crate::toolchain::compilers::Tools;
use crate::toolchain::{Error, ErrorKind};
use offload_format::target::{NvidiaArch, NvidiaCode};

/// Returns the first architecture of each major number, and PTX for the last architecture.
pub(super) fn all_major(tools: &Tools<'_>, by: &TargetOrigin) -> Result<Vec<String>, Error> {
    Ok(names(&first_of_each_major(&known(tools, "all-major", by)?)))
}

pub(super) fn all(tools: &Tools<'_>, by: &TargetOrigin) -> Result<Vec<String>, Error> {
    Ok(names(&known(tools, "all", by)?))
}

/// Returns the architectures that both ptxas and clang support, in numerical order. Omits
/// architectures whose names end in `a` or `f`, because their code runs on few GPUs.
fn known(tools: &Tools<'_>, word: &str, by: &TargetOrigin) -> Result<Vec<NvidiaArch>, Error> {
    let missing = |what: String| {
        let message = format!(
            "the target '{word}' (from {by}) depends on what this machine's ptxas and clang \
             support, but {what}\nInstall suitable versions of both, or list targets, as in \
             OFFLOAD_ARCH=\"sm_80;compute_90\"."
        );
        Error::new(ErrorKind::ToolNotFound, message)
    };
    let clang = tools.clang()?.map_err(|log| missing(format!("no clang was found ({log})")))?;
    let ptxas = tools.ptxas()?.map_err(|log| missing(format!("no ptxas was found ({log})")))?;
    let mut archs: Vec<NvidiaArch> = Vec::new();
    for arch in tools.ptxas_architectures(ptxas).iter().filter_map(|name| target::nvidia(name)) {
        let place = archs.partition_point(|other| other.number() < arch.number());
        if arch.suffix.is_none() && archs.get(place) != Some(&arch) {
            archs.insert(place, arch);
        }
    }
    archs.retain(|arch| tools.clang_knows(clang, &arch.to_string()));
    if archs.is_empty() {
        Err(missing(format!(
            "{} and {} support no common architecture (run ptxas --help to see what ptxas supports)",
            ptxas.path.display(),
            clang.path.display()
        )))
    } else {
        Ok(archs)
    }
}

/// Returns the first architecture of each major number in a sorted list.
fn first_of_each_major(archs: &[NvidiaArch]) -> Vec<NvidiaArch> {
    let mut first: Vec<NvidiaArch> = Vec::new();
    for arch in archs {
        if first.last().is_none_or(|last| last.major != arch.major) {
            first.push(*arch);
        }
    }
    first
}

fn names(archs: &[NvidiaArch]) -> Vec<String> {
    let mut names: Vec<String> = archs.iter().map(NvidiaArch::to_string).collect();
    names.extend(archs.last().map(|arch| arch.with_code(NvidiaCode::Ptx).to_string()));
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_each_major_number_as_nvcc_has_it() {
        // The expected targets are those of nvcc 13.5 with `-arch=all-major`.
        let known = ["75", "80", "86", "87", "88", "89", "90", "100", "103", "110", "120", "121"];
        let known: Vec<_> =
            known.iter().map(|it| target::nvidia(&format!("sm_{it}")).unwrap()).collect();
        assert_eq!(
            names(&first_of_each_major(&known)),
            ["sm_75", "sm_80", "sm_90", "sm_100", "sm_110", "sm_120", "compute_120"]
        );
    }
}
