//! Reads how a source's bytes constrain its targets: by a triple, `.amdgcn_target`, or the headers
//! of supplied images. As with `.supports`, images for other targets do not contain the source,
//! even if these targets are listed.

use super::supplied;
use crate::request::Language;
use crate::targets::Target;
use crate::toolchain::{Error, files};
use offload_format::image::{Bitcode, PtxHeader};
use offload_format::target::{NvidiaArch, NvidiaCode, NvidiaSuffix, Vendor};
use std::path::Path;

/// The targets that a source's bytes allow.
pub(crate) enum Constraints {
    /// The file names no target.
    Any,
    /// The source includes these HIP headers, whose host part only ROCm provides.
    HipHeaders(Vec<String>),
    /// The source contains a target triple for this vendor's GPUs.
    Triple(Vendor, String),
    /// Assembly, with the target that its text names, and whether it defines kernels.
    Assembly { target: Option<Target>, has_kernels: bool },
    /// PTX for this architecture.
    Ptx(NvidiaArch),
    /// The targets of the images in the file.
    Images(Vec<supplied::Name>),
}

impl Constraints {
    /// Reads the constraints of a source from its bytes, if its language can express any.
    ///
    /// Returns an error if the file cannot be read, does not match its language, or is for no GPU.
    pub(crate) fn read(path: &Path, language: Language) -> Result<Self, Error> {
        let bytes = || files::read(path);
        match language {
            Language::Cuda | Language::OpenCl | Language::C | Language::Rust => {
                Ok(Constraints::Any)
            }
            Language::Hip => {
                let headers = hip_headers(&bytes()?);
                Ok(if headers.is_empty() {
                    Constraints::Any
                } else {
                    Constraints::HipHeaders(headers)
                })
            }
            Language::LlvmIr => of_ir(path, &bytes()?),
            Language::Assembly => Ok(of_assembly(&bytes()?)),
            Language::Ptx => PtxHeader::parse(&bytes()?)
                .map(|header| Constraints::Ptx(header.arch))
                .map_err(|error| {
                    Error::config(format!("the source {} is not PTX: {error}", path.display()))
                }),
            Language::Image => Ok(Constraints::Images(supplied::names(path)?)),
        }
    }

    pub(crate) fn is_for(&self, target: &Target) -> bool {
        match self {
            Constraints::Any => true,
            Constraints::HipHeaders(_) => target.vendor() == Vendor::Amd,
            Constraints::Triple(vendor, _) => target.vendor() == *vendor,
            Constraints::Assembly { target: named, .. } => {
                named.as_ref().is_none_or(|named| named == target)
            }
            Constraints::Ptx(text) => {
                target.arch().nvidia().is_some_and(|arch| is_ptx_for(*text, arch))
            }
            Constraints::Images(names) => names.iter().any(|name| name.is_for(target)),
        }
    }

    /// Whether the source cannot be linked with other sources, although its language allows
    /// linking. Assembly that defines kernels emits its own note about them, but runtimes read only
    /// the first note of a code object.
    pub(crate) fn is_alone(&self) -> bool {
        matches!(self, Constraints::Assembly { has_kernels: true, .. })
    }

    /// Describes how the source's targets are limited, for messages that begin with the file's
    /// name.
    pub(crate) fn limit(&self) -> Option<String> {
        match self {
            Constraints::Any => None,
            Constraints::HipHeaders(_) => {
                Some("includes ROCm's headers, which are for amd".to_owned())
            }
            Constraints::Triple(vendor, triple) => {
                Some(format!("is for {vendor}, according to its target triple {triple}"))
            }
            Constraints::Assembly { target, .. } => target
                .as_ref()
                .map(|target| format!("is for {target}, according to its .amdgcn_target")),
            Constraints::Ptx(arch) => {
                let machine_code = arch.with_code(NvidiaCode::Cubin);
                let later = if arch.suffix.is_none() { " and later" } else { "" };
                Some(format!("is PTX for {arch}, which compiles only for {machine_code}{later}"))
            }
            Constraints::Images(names) => {
                let names: Vec<String> = names.iter().map(supplied::Name::to_string).collect();
                Some(format!("has images for {}", names.join(", ")))
            }
        }
    }
}

/// Whether PTX for the architecture `text` can be used for the target `wanted`, either as is or
/// assembled to machine code.
fn is_ptx_for(text: NvidiaArch, wanted: NvidiaArch) -> bool {
    match (wanted.code, text.suffix) {
        (NvidiaCode::Ptx, _) => text == wanted,
        (NvidiaCode::Cubin, None) => wanted.number() >= text.number(),
        (NvidiaCode::Cubin, Some(NvidiaSuffix::FamilySpecific)) => {
            wanted.suffix.is_some() && text.family_has(wanted.major, wanted.minor)
        }
        // The suffix is `a` or unknown. Assume that an unknown suffix is as restrictive as `a`.
        (NvidiaCode::Cubin, Some(_)) => text == wanted.with_code(NvidiaCode::Ptx),
    }
}

fn hip_headers(text: &[u8]) -> Vec<String> {
    let mut names = Vec::new();
    for line in String::from_utf8_lossy(text).lines() {
        let rest = line.trim_start().strip_prefix('#').map(str::trim_start);
        let name = rest.and_then(|rest| rest.strip_prefix("include")).map(str::trim_start);
        let name = name.and_then(|name| name.strip_prefix(['<', '"']));
        let name = name.and_then(|name| name.split(['>', '"']).next());
        names.extend(name.filter(|name| name.starts_with("hip/")).map(str::to_owned));
    }
    names
}

/// Reads the constraint from the target triple. A file without a triple is for any target.
fn of_ir(path: &Path, bytes: &[u8]) -> Result<Constraints, Error> {
    let triple = if Bitcode::is_bitcode(bytes) {
        let wrong = |error| {
            Error::config(format!("the source {} is damaged bitcode: {error}", path.display()))
        };
        Bitcode::parse(bytes).map_err(wrong)?.target_triple().map(str::to_owned)
    } else {
        quoted(bytes, "target triple = ")
    };
    let Some(triple) = triple.filter(|triple| !triple.is_empty()) else {
        return Ok(Constraints::Any);
    };
    let mut of_gpus = Vec::new();
    for vendor in Vendor::ALL {
        let Some(known) = vendor.triple() else { continue };
        if known.split('-').next() == triple.split('-').next() {
            return Ok(Constraints::Triple(vendor, triple));
        }
        of_gpus.push(known);
    }
    Err(Error::config(format!(
        "the source {} has the target triple {triple}, but the triples of GPUs are {}",
        path.display(),
        of_gpus.join(" and ")
    )))
}

/// Reads the target from a line such as `.amdgcn_target "amdgcn-amd-amdhsa--gfx90a:xnack+"`, and
/// looks for kernels.
fn of_assembly(bytes: &[u8]) -> Constraints {
    let target = quoted(bytes, ".amdgcn_target ");
    let target = target
        .as_deref()
        .and_then(|text| text.rsplit_once("--"))
        .and_then(|(_, id)| Target::parse(id).ok());
    let has_kernels = String::from_utf8_lossy(bytes)
        .lines()
        .any(|line| line.trim_start().starts_with(".amdhsa_kernel"));
    Constraints::Assembly { target, has_kernels }
}

/// Finds a line that starts with `words`, and returns the quoted text that follows.
fn quoted(text: &[u8], words: &str) -> Option<String> {
    let text = String::from_utf8_lossy(text);
    let mut lines = text.lines().filter_map(|line| line.trim_start().strip_prefix(words));
    lines.find_map(|rest| rest.trim_start().strip_prefix('"')?.split('"').next().map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_in_sources() {
        let ll =
            b"; ModuleID = 'a'\nsource_filename = \"a\"\ntarget triple = \"amdgcn-amd-amdhsa\"\n";
        assert!(matches!(of_ir(Path::new("a.ll"), ll), Ok(Constraints::Triple(Vendor::Amd, _))));
        assert!(matches!(
            of_ir(Path::new("a.ll"), b"define void @f() { ret void }"),
            Ok(Constraints::Any)
        ));
        assert!(of_ir(Path::new("a.ll"), b"target triple = \"x86_64-unknown-linux-gnu\"").is_err());
        let asm = b"\t.amdgcn_target \"amdgcn-amd-amdhsa--gfx90a:xnack-:sramecc+\"\n";
        let asm = of_assembly(asm);
        assert!(
            matches!(asm, Constraints::Assembly { target: Some(id), .. } if id.as_str() == "gfx90a:sramecc+:xnack-")
        );
        assert!(!of_assembly(b"\ts_endpgm\n").is_alone());
        assert!(of_assembly(b"\t.amdhsa_kernel f\n").is_alone());
        let text = b"// a\n  #  include <hip/hip_runtime.h>\n#include\"hip/own.h\" // b\n";
        assert_eq!(hip_headers(text), ["hip/hip_runtime.h", "hip/own.h"]);
        let text = b"// #include <hip/hip_runtime.h>\n#include \"ship/hip.h\"\n";
        assert!(hip_headers(text).is_empty());
    }

    #[test]
    fn what_ptx_can_become() {
        let arch = |name: &str| Target::parse(name).unwrap().arch().nvidia().unwrap();
        let is_for = |text: &str, wanted: &str| is_ptx_for(arch(text), arch(wanted));
        assert!(is_for("compute_80", "compute_80"));
        assert!(!is_for("compute_80", "compute_90"));
        assert!(is_for("compute_80", "sm_90a"));
        assert!(!is_for("compute_90", "sm_80"));
        assert!(is_for("compute_90a", "sm_90a"));
        assert!(!is_for("compute_90a", "sm_90"));
        assert!(is_for("compute_100f", "sm_103f"));
        assert!(!is_for("compute_100f", "sm_103"));
    }
}
