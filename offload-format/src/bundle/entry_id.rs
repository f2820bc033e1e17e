//! Bundle entry IDs.

use crate::target::{ParseError, TargetId, TargetTriple, amdgpu};
use alloc::string::String;
use core::fmt;

/// A bundle entry ID, split into its parts.
///
/// Two spellings are read: with the triple's fourth field, as LLVM 21 and later write it (`hip-amdgcn-amd-amdhsa--gfx906`),
/// and without (`hip-amdgcn-amd-amdhsa-gfx906`, `host-x86_64-unknown-linux`), as older compilers did. [`fmt::Display`]
/// gives the canonical form, which is LLVM 22's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct EntryId<'a> {
    kind: &'a str,
    triple: TargetTriple<'a>,
    target: &'a str,
}

impl<'a> EntryId<'a> {
    /// Splits an ID.
    ///
    /// Returns an error if it has no offload kind or fewer than three triple fields. Neither kind nor triple nor target
    /// ID need be known ones.
    pub fn parse(text: &'a str) -> Result<Self, ParseError> {
        let wrong = |at| {
            Err(ParseError::new(
                text,
                at,
                "a bundle entry ID is '<offload kind>-<arch>-<vendor>-<os>-<env>[-<target id>]'",
            ))
        };
        let mut fields = text.splitn(6, '-');
        let mut next = || fields.next();
        let (Some(kind), Some(arch), Some(vendor), Some(os)) = (next(), next(), next(), next()) else {
            return wrong(0);
        };
        if kind.is_empty() || arch.is_empty() {
            return wrong(0);
        }
        let (mut env, mut target) = (next().unwrap_or(""), next().unwrap_or(""));
        if starts_target_id(env) {
            // The spelling without an environment: all that follows the operating system is the target ID.
            target = &text[kind.len() + arch.len() + vendor.len() + os.len() + 4..];
            env = "";
            // LLVM 22 took the processor for an environment, and wrote the dash of a target ID that is not there.
            target = target.strip_suffix('-').filter(|it| !it.contains(':')).unwrap_or(target);
        }
        Ok(Self { kind, triple: TargetTriple::new(arch, vendor, os, env), target })
    }

    /// The offload kind: `host`, `hip`, `hipv4`, `openmp` in what LLVM writes.
    pub fn kind(&self) -> &'a str {
        self.kind
    }

    /// The target triple.
    pub fn triple(&self) -> TargetTriple<'a> {
        self.triple
    }

    /// The text behind the triple, empty where there is none: `gfx90a:xnack-`, `sm_70`.
    pub fn target(&self) -> &'a str {
        self.target
    }

    /// The target ID, where there is a well-formed one.
    pub fn target_id(&self) -> Option<TargetId<'a>> {
        TargetId::parse(self.target).ok()
    }

    /// Whether HIP's runtime loads such an entry: kind `hip`, `hipv4` or the old `hcc`.
    pub fn is_hip(&self) -> bool {
        matches!(self.kind, "hip" | "hipv4" | "hcc")
    }

    /// Whether this is the host's entry.
    pub fn is_host(&self) -> bool {
        self.kind == "host"
    }

    /// The canonical form as a string.
    pub fn to_canonical(&self) -> String {
        use alloc::string::ToString;
        self.to_string()
    }
}

/// Whether the field behind the operating system is a processor rather than an environment.
fn starts_target_id(field: &str) -> bool {
    let processor = field.split(':').next().unwrap_or("");
    amdgpu::is_processor_name(processor)
        || processor == amdgpu::SPIRV
        || processor.strip_prefix("sm_").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

impl fmt::Display for EntryId<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-{}", self.kind, self.triple, self.target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What LLVM 22.1.8 writes for each spelling; the second group is where it loses a name and we keep it.
    #[test]
    fn canonical_form() {
        for (text, canonical) in [
            ("host-x86_64-unknown-linux-gnu", "host-x86_64-unknown-linux-gnu-"),
            ("host-x86_64--linux-gnu", "host-x86_64-unknown-linux-gnu-"),
            ("host-arm64-apple-darwin-", "host-arm64-apple-darwin-unknown-"),
            ("host-x86_64-pc-win32-", "host-x86_64-pc-windows-msvc-"),
            ("hip-amdgcn-amd-amdhsa--gfx906", "hip-amdgcn-amd-amdhsa--gfx906"),
            ("hip-amdgcn-amd-amdhsa-unknown-gfx906", "hip-amdgcn-amd-amdhsa--gfx906"),
            ("hip-amdgcn-amd-amdhsa-llvm-gfx906", "hip-amdgcn-amd-amdhsa--gfx906"),
            ("hip-amdgcn-amd-amdhsa-", "hip-amdgcn-amd-amdhsa--"),
            ("hip-amdgcn-amd-amdhsa--gfx906:sramecc+:xnack-", "hip-amdgcn-amd-amdhsa--gfx906:sramecc+:xnack-"),
            ("hip-amdgcn-amd-amdhsa--gfx9-4-generic", "hip-amdgcn-amd-amdhsa--gfx9-4-generic"),
            ("hip-amdgcn-amd-amdhsa1.2--gfx906", "hip-amdgcn-amd-amdhsa1.2--gfx906"),
            ("hip-amdgcn-amd-amdpal--gfx906", "hip-amdgcn-amd-amdpal-unknown-gfx906"),
            ("hip-spirv64-amd-amdhsa-unknown-amdgcnspirv", "hip-spirv64-amd-amdhsa--amdgcnspirv"),
            ("openmp-nvptx64-nvidia-cuda--sm_70", "openmp-nvptx64-nvidia-cuda-unknown-sm_70"),
            ("host-aarch64-linux-android--", "host-aarch64-unknown-linux-android-"),
            ("host-x86_64-linux-gnu--", "host-x86_64-unknown-linux-gnu-"),
            ("host-i686-pc-win32-gnu", "host-i686-pc-windows-gnu-"),
            ("host-x86_64-pc-windows-", "host-x86_64-pc-windows-msvc-"),
            ("hip-amdgcn---", "hip-amdgcn-unknown-unknown-unknown-"),
            // ----
            ("hip-amdgcn-amd-amdhsa-gfx906", "hip-amdgcn-amd-amdhsa--gfx906"),
            ("hip-amdgcn-amd-amdhsa-gfx9-4-generic:xnack+", "hip-amdgcn-amd-amdhsa--gfx9-4-generic:xnack+"),
            ("openmp-nvptx64-nvidia-cuda-sm_70-", "openmp-nvptx64-nvidia-cuda-unknown-sm_70"),
            ("openmp-nvptx64-nvidia-cuda-sm_70", "openmp-nvptx64-nvidia-cuda-unknown-sm_70"),
            ("hip-amdgcn-amd-amdhsa--gfx940", "hip-amdgcn-amd-amdhsa--gfx940"),
            ("host-x86_64-pc-windows-foo", "host-x86_64-pc-windows-foo-"),
            ("host-x86_64-pc-windows10-gnu", "host-x86_64-pc-windows10-gnu-"),
        ] {
            assert_eq!(EntryId::parse(text).unwrap().to_canonical(), canonical, "{text}");
        }
    }

    #[test]
    fn too_few_fields_are_refused() {
        for text in ["", "hip", "hip-amdgcn", "hip-amdgcn-amd", "-amdgcn-amd-amdhsa-"] {
            assert!(EntryId::parse(text).is_err(), "{text}");
        }
    }
}
