//! Reads the environment variables in which users of other programs name their GPUs, each in its
//! program's syntax.
//!
//! | variable | program | `80`, `90a`, `8.0` | more |
//! |---|---|---|---|
//! | `CUDA_COMPUTE_CAPS`, `CUDA_COMPUTE_CAP` | bindgen_cuda, cudaforge, candle | `sm_80` | `all-major`, `all`, `native` |
//! | `CUDAARCHS`, `CMAKE_CUDA_ARCHITECTURES` | CMake | `sm_80` and `compute_80` | `80-real`, `80-virtual`; `all-major`, `all`, `native`, `OFF` |
//! | `TORCH_CUDA_ARCH_LIST` | PyTorch | `sm_80` | `8.0+PTX`: `sm_80` and `compute_80` |
//! | `CUDARC_NVCC_ARCH` | cudarc | `sm_80` | |
//! | `AMDGPU_TARGETS`, `GPU_TARGETS`, `GPU_ARCHS`, `ROCM_ARCHS` | AMD's libraries | | target IDs, `native` |
//! | `PYTORCH_ROCM_ARCH` | PyTorch | | target IDs, `native` |
//! | `HIPARCHS`, `CMAKE_HIP_ARCHITECTURES` | CMake | | target IDs, `native`, `OFF` |
//! | `HIP_ARCH_LIST`, `HCC_AMDGPU_TARGET` | hipcc | | target IDs, `native` |
//!
//! NVIDIA's names may also be written in full, as in `sm_80` or `compute_80`. For each vendor, the
//! build uses only the first variable in the table that is set. The syntax is that of CMake's
//! CUDA_ARCHITECTURES and HIP_ARCHITECTURES, PyTorch's `torch.utils.cpp_extension` and bindgen_cuda
//! 0.1.6.

use super::item::{Item, Listed, TargetOrigin, split};
use super::scope::Scope;
use super::target;
use crate::toolchain::{Cargo, Error};
use offload_format::target::{NvidiaArch, NvidiaCode, Vendor};

/// The program whose syntax a variable uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Words {
    ComputeCap,
    CMakeCuda,
    Torch,
    Nvcc,
    TargetIds,
    CMakeHip,
}

/// The variables for NVIDIA's GPUs. The first one that is set wins.
const NVIDIA: &[(&str, Words)] = &[
    ("CUDA_COMPUTE_CAPS", Words::ComputeCap),
    ("CUDA_COMPUTE_CAP", Words::ComputeCap),
    ("CUDAARCHS", Words::CMakeCuda),
    ("CMAKE_CUDA_ARCHITECTURES", Words::CMakeCuda),
    ("TORCH_CUDA_ARCH_LIST", Words::Torch),
    ("CUDARC_NVCC_ARCH", Words::Nvcc),
];

/// The variables for AMD's GPUs. The first one that is set wins.
const AMD: &[(&str, Words)] = &[
    ("AMDGPU_TARGETS", Words::TargetIds),
    ("GPU_TARGETS", Words::TargetIds),
    ("GPU_ARCHS", Words::TargetIds),
    ("ROCM_ARCHS", Words::TargetIds),
    ("PYTORCH_ROCM_ARCH", Words::TargetIds),
    ("HIPARCHS", Words::CMakeHip),
    ("CMAKE_HIP_ARCHITECTURES", Words::CMakeHip),
    ("HIP_ARCH_LIST", Words::TargetIds),
    ("HCC_AMDGPU_TARGET", Words::TargetIds),
];

/// A vendor with its variables, the text that names them in messages, and an example that sets one.
type Variables = (Vendor, &'static [(&'static str, Words)], &'static str, Option<&'static str>);

const VARIABLES: [Variables; 2] = [
    (Vendor::Nvidia, NVIDIA, "CUDA_COMPUTE_CAP or CUDAARCHS", Some("CUDA_COMPUTE_CAP=80")),
    (Vendor::Amd, AMD, "AMDGPU_TARGETS or HIPARCHS", None),
];

/// Returns an example that sets a variable for this vendor's GPUs, for messages.
pub(super) fn example(vendor: Vendor) -> Option<&'static str> {
    VARIABLES.iter().find(|(of, ..)| *of == vendor)?.3
}

/// Returns the targets that the variables list, and the reason to report if there are none.
///
/// Prints which variables are used, and whether they replace a default. Silently ignores the
/// variables of vendors that the build excludes.
///
/// Returns an error if the value of a used variable is invalid.
pub(super) fn items(
    cargo: &Cargo,
    has_default: bool,
    scope: &Scope<'_>,
) -> Result<(Vec<Listed>, String), Error> {
    let mut items = Vec::new();
    let mut empty = Vec::new();
    for (vendor, variables, ..) in VARIABLES {
        let set = variables
            .iter()
            .filter_map(|(name, words)| Some((*name, *words, cargo.user_var(name)?)));
        // Read all variables, so that Cargo reruns the script when any of them is set.
        let Some((name, words, value)) = set.collect::<Vec<_>>().into_iter().next() else {
            continue;
        };
        if scope.vendor().is_some_and(|only| only != vendor) {
            empty.push(format!("{name} is '{value}', which lists GPUs of a different vendor"));
            continue;
        }
        let before = items.len();
        for piece in split(&value) {
            let read = words.items(piece).ok_or_else(|| {
                Error::config(format!(
                    "{name} is '{value}', but '{piece}' is invalid: {}",
                    words.expected()
                ))
            })?;
            for item in read {
                let by = TargetOrigin::ForeignVariable(name.to_owned());
                items.push(Listed { item, by });
            }
        }
        if items.len() == before {
            empty.push(format!("{name} is '{value}'"))
        } else {
            let why = if has_default {
                "instead of the default of build.rs"
            } else {
                "because build.rs lists none"
            };
            cargo.warn_once(&format!("using targets from {name}={value} {why}"));
        }
    }
    let why = if empty.is_empty() {
        let row = VARIABLES.iter().find(|(vendor, ..)| scope.vendor() == Some(*vendor));
        let examples = row.map_or("CUDAARCHS or AMDGPU_TARGETS", |(.., examples, _)| examples);
        format!(
            "build.rs lists none, and neither OFFLOAD_ARCH nor a variable such as {examples} is \
             set"
        )
    } else {
        format!("build.rs lists none, OFFLOAD_ARCH is not set, and {}", empty.join(" and "))
    };
    Ok((items, why))
}

impl Words {
    /// Returns the items for a piece of the list, or `None` if the piece is invalid.
    fn items(self, piece: &str) -> Option<Vec<Item>> {
        let is_cmake = matches!(self, Words::CMakeCuda | Words::CMakeHip);
        if is_cmake && is_false(piece) {
            return Some(Vec::new());
        }
        if matches!(self, Words::TargetIds | Words::CMakeHip) {
            if piece == "native" {
                return Some(vec![Item::Native(Some(Vendor::Amd))]);
            }
            return target::processor(piece).map(|_| vec![Item::Arch(piece.to_owned())]);
        }
        match (self, piece) {
            (Words::ComputeCap | Words::CMakeCuda, "native") => {
                return Some(vec![Item::Native(Some(Vendor::Nvidia))]);
            }
            (Words::ComputeCap | Words::CMakeCuda, "all-major") => {
                return Some(vec![Item::AllMajor]);
            }
            (Words::ComputeCap | Words::CMakeCuda, "all") => return Some(vec![Item::All]),
            _ => {}
        }
        if let Some(arch) = target::nvidia(piece) {
            return Some(vec![Item::Arch(arch.to_string())]);
        }
        let (number, codes): (&str, &[NvidiaCode]) = match self {
            Words::CMakeCuda => match piece.rsplit_once('-') {
                Some((number, "real")) => (number, &[NvidiaCode::Cubin]),
                Some((number, "virtual")) => (number, &[NvidiaCode::Ptx]),
                _ => (piece, &[NvidiaCode::Cubin, NvidiaCode::Ptx]),
            },
            Words::Torch => match piece.strip_suffix("+PTX") {
                Some(number) => (number, &[NvidiaCode::Cubin, NvidiaCode::Ptx]),
                None => (piece, &[NvidiaCode::Cubin]),
            },
            _ => (piece, &[NvidiaCode::Cubin]),
        };
        let arch = compute_capability(number)?;
        Some(codes.iter().map(|code| Item::Arch(arch.with_code(*code).to_string())).collect())
    }

    /// Describes the valid pieces of this syntax, for messages.
    fn expected(self) -> &'static str {
        match self {
            Words::ComputeCap => {
                "list compute capabilities such as 80, 90a or 8.6, or use all-major, all or native"
            }
            Words::CMakeCuda => {
                "list values of CMake's CUDA_ARCHITECTURES: 80, 90a-real, 90-virtual, all-major, \
                 all, native or OFF"
            }
            Words::Torch => {
                "list compute capabilities such as 8.0, 9.0a or 9.0+PTX (write numbers: the \
                 meaning of names such as Ampere or All depends on PyTorch's version)"
            }
            Words::Nvcc => "set an architecture such as sm_80, 80 or compute_80",
            Words::TargetIds => {
                "list AMD target IDs such as gfx90a, gfx942:xnack- or gfx12-generic, or use native"
            }
            Words::CMakeHip => {
                "list values of CMake's HIP_ARCHITECTURES: gfx90a, gfx942:xnack-, native or OFF"
            }
        }
    }
}

/// Whether a piece is one of CMake's false values.
fn is_false(piece: &str) -> bool {
    ["OFF", "NO", "FALSE", "N", "0", "IGNORE", "NOTFOUND"]
        .iter()
        .any(|word| piece.eq_ignore_ascii_case(word))
}

/// Parses a compute capability, such as `80`, `90a`, `8.0` or `12.1a`.
fn compute_capability(text: &str) -> Option<NvidiaArch> {
    let text = match text.split_once('.') {
        // The minor version has one digit, perhaps with a suffix, so 9.10 is not a compute
        // capability.
        Some((major, minor)) if minor.trim_end_matches(['a', 'f']).len() == 1 => {
            format!("{major}{minor}")
        }
        Some(_) => return None,
        None => text.to_owned(),
    };
    target::nvidia(&format!("sm_{text}"))
}

/// Returns a hint for a name in another program's syntax, with the names to write instead.
pub(super) fn hint(name: &str) -> Option<String> {
    for words in [Words::Torch, Words::CMakeCuda] {
        let items = words.items(name).unwrap_or_default();
        let mut names = Vec::new();
        for item in &items {
            if let Item::Arch(name) = item {
                names.push(name.as_str());
            }
        }
        if !names.is_empty() && names.len() == items.len() {
            return Some(format!("write {}", names.join(" and ")));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(words: Words, piece: &str) -> Option<String> {
        let name = |item| match item {
            Item::Arch(name) => name,
            other => format!("{other:?}"),
        };
        Some(words.items(piece)?.into_iter().map(name).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn each_variable_in_its_own_words() {
        for (words, piece, expected) in [
            (Words::ComputeCap, "80", "sm_80"),
            (Words::ComputeCap, "90a", "sm_90a"),
            (Words::ComputeCap, "8.6", "sm_86"),
            (Words::ComputeCap, "121", "sm_121"),
            (Words::ComputeCap, "compute_90", "compute_90"),
            (Words::ComputeCap, "all-major", "AllMajor"),
            (Words::CMakeCuda, "80", "sm_80 compute_80"),
            (Words::CMakeCuda, "100f", "sm_100f compute_100f"),
            (Words::CMakeCuda, "90a-real", "sm_90a"),
            (Words::CMakeCuda, "90-virtual", "compute_90"),
            (Words::CMakeCuda, "all", "All"),
            (Words::CMakeCuda, "native", "Native(Some(Nvidia))"),
            (Words::CMakeCuda, "OFF", ""),
            (Words::CMakeHip, "off", ""),
            (Words::Torch, "8.0", "sm_80"),
            (Words::Torch, "9.0+PTX", "sm_90 compute_90"),
            (Words::Torch, "12.1a", "sm_121a"),
            (Words::Nvcc, "sm_80", "sm_80"),
            (Words::TargetIds, "gfx942:xnack-", "gfx942:xnack-"),
            (Words::TargetIds, "native", "Native(Some(Amd))"),
        ] {
            assert_eq!(names(words, piece).as_deref(), Some(expected), "{words:?} {piece}");
        }
    }

    #[test]
    fn words_of_others_are_not_understood() {
        for (words, piece) in [
            (Words::ComputeCap, "80-real"),
            (Words::ComputeCap, "9.0+PTX"),
            (Words::ComputeCap, "OFF"),
            (Words::ComputeCap, "9.10"),
            (Words::CMakeCuda, "80-unreal"),
            (Words::CMakeCuda, "9.0+PTX"),
            (Words::CMakeCuda, "gfx90a"),
            (Words::Torch, "Ampere"),
            (Words::Torch, "native"),
            (Words::Nvcc, "native"),
            (Words::TargetIds, "80"),
            (Words::TargetIds, "sm_80"),
            (Words::TargetIds, "cpu"),
            (Words::TargetIds, "all"),
        ] {
            assert_eq!(names(words, piece), None, "{words:?} {piece}");
        }
    }

    #[test]
    fn a_number_says_what_it_would_be_here() {
        assert_eq!(hint("9.0+PTX").as_deref(), Some("write sm_90 and compute_90"));
        assert_eq!(hint("80").as_deref(), Some("write sm_80"));
        assert_eq!(hint("90-virtual").as_deref(), Some("write compute_90"));
        assert_eq!(hint("nonsense"), None);
        assert_eq!(hint("OFF"), None);
    }
}
