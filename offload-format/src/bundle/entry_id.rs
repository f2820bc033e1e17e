//! Bundle entry IDs.

use crate::target::{ParseError, TargetId, TargetTriple, amdgpu};
use alloc::string::String;
use core::fmt;

/// A bundle entry ID, split into its parts.
///
/// [`EntryId::parse`] reads two spellings. LLVM 21 and later write the triple's fourth field
/// (`hip-amdgcn-amd-amdhsa--gfx906`); older compilers omit it (`hip-amdgcn-amd-amdhsa-gfx906`,
/// `host-x86_64-unknown-linux`). [`fmt::Display`] writes the canonical form, which is LLVM 22's.
///
/// ```
/// use offload_format::bundle::EntryId;
///
/// let id = EntryId::parse("hip-amdgcn-amd-amdhsa-gfx90a:xnack+").unwrap();
/// assert_eq!((id.kind(), id.target()), ("hip", "gfx90a:xnack+"));
/// assert_eq!(id.to_string(), "hip-amdgcn-amd-amdhsa--gfx90a:xnack+");
/// let device = EntryId::parse("hipv4-amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack+").unwrap();
/// assert!(id.provides_for(&device, false).is_compatible());
/// ```
#[derive(Debug, Clone, Copy)]
pub struct EntryId<'a> {
    kind: &'a str,
    /// Architecture, vendor, operating system and environment as written.
    triple: [&'a str; 4],
    target: &'a str,
}

const FORM: &str = "expected a bundle entry ID of the form \
                    '<offload kind>-<arch>-<vendor>-<os>-<env>[-<target id>]'";

impl<'a> EntryId<'a> {
    /// Splits an ID in any spelling, including those of old files.
    ///
    /// Returns an error if the ID has no offload kind or fewer than three triple fields. An unknown
    /// kind, triple or target ID is not an error.
    pub fn parse(text: &'a str) -> Result<Self, ParseError> {
        Self::find_parts(text).ok_or_else(|| ParseError::new(text, 0, FORM))
    }

    /// Like [`EntryId::parse`], but returns `None` instead of an error, which would copy the text.
    pub(super) fn find_parts(text: &'a str) -> Option<Self> {
        let id = Self::split(text);
        text.split('-')
            .nth(3)
            .filter(|_| !id.kind.is_empty() && !id.triple[0].is_empty())
            .map(|_| id)
    }

    /// Splits an ID in the spelling that LLVM 21 and later accept on the command line and in files.
    /// The fourth triple field must be present, but may be empty. The fields may contain any text;
    /// [`EntryId::is_known_kind`] and [`TargetTriple::is_known`] check the kind and the triple.
    ///
    /// Returns an error if there are fewer than five fields.
    pub fn parse_strict(text: &'a str) -> Result<Self, ParseError> {
        match text.split('-').nth(4) {
            Some(_) => Ok(Self::split(text)),
            None => Err(ParseError::new(text, 0, FORM)),
        }
    }

    fn split(text: &'a str) -> Self {
        let mut fields = text.splitn(6, '-');
        let mut next = || fields.next().unwrap_or("");
        let (kind, arch, vendor, os, mut env, mut target) =
            (next(), next(), next(), next(), next(), next());
        if starts_target_id(env) {
            // Without an environment, everything after the operating system is the target ID.
            target = &text[kind.len() + arch.len() + vendor.len() + os.len() + 4..];
            env = "";
            // LLVM 22 mistakes the processor for the missing environment, and adds the dash that
            // precedes a target ID, although no target ID follows.
            target = target.strip_suffix('-').filter(|it| !it.contains(':')).unwrap_or(target);
        }
        Self { kind, triple: [arch, vendor, os, env], target }
    }

    /// Returns the offload kind. LLVM writes the kinds `host`, `hip`, `hipv4` and `openmp`.
    pub fn kind(&self) -> &'a str {
        self.kind
    }

    /// Returns the target triple.
    pub fn triple(&self) -> TargetTriple<'a> {
        let [arch, vendor, os, env] = self.triple;
        TargetTriple::new(arch, vendor, os, env)
    }

    /// Returns the text after the triple, such as `gfx90a:xnack-` or `sm_70`; empty if there is
    /// none.
    pub fn target(&self) -> &'a str {
        self.target
    }

    /// Returns the parsed target ID, or `None` if the target ID is missing or malformed.
    pub fn target_id(&self) -> Option<TargetId<'a>> {
        TargetId::parse(self.target).ok()
    }

    /// Whether the offload kind is one that LLVM accepts: `host`, `openmp`, `hip` or `hipv4`.
    pub fn is_known_kind(&self) -> bool {
        matches!(self.kind, "host" | "openmp" | "hip" | "hipv4")
    }

    /// Whether HIP's runtime loads entries of this kind: `hip`, `hipv4` or the old `hcc`.
    pub fn is_hip(&self) -> bool {
        matches!(self.kind, "hip" | "hipv4" | "hcc")
    }

    /// Whether the kind is `sycl`, which DPC++'s tools read.
    #[inline]
    pub fn is_sycl(&self) -> bool {
        self.kind == "sycl"
    }

    /// Returns the target in one of DPC++'s short IDs, such as `spir64` in `sycl-spir64`. DPC++
    /// writes these IDs, which have no vendor and no operating system, into programs.
    #[inline]
    pub fn sycl_target(text: &'a str) -> Option<&'a str> {
        text.strip_prefix("sycl-").filter(|target| !target.is_empty() && !target.contains('-'))
    }

    /// Whether this is the host entry.
    pub fn is_host(&self) -> bool {
        self.kind == "host"
    }

    /// Returns the canonical form as a string.
    pub fn to_canonical(&self) -> String {
        use alloc::string::ToString;
        self.to_string()
    }
}

/// Whether the field after the operating system is a processor and not an environment.
fn starts_target_id(field: &str) -> bool {
    let processor = field.split(':').next().unwrap_or("");
    amdgpu::is_processor_name(processor)
        || processor == amdgpu::SPIRV
        || processor
            .strip_prefix("sm_")
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

impl fmt::Display for EntryId<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-{}", self.kind, self.triple(), self.target)
    }
}

/// Different spellings of an ID compare equal, but the order of features matters.
impl PartialEq for EntryId<'_> {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        (self.kind, self.target) == (other.kind, other.target) && self.triple() == other.triple()
    }
}

impl Eq for EntryId<'_> {}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected forms are the output of LLVM 22.1.8, except in the second group, where LLVM's
    /// output lacks a name that this crate keeps.
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
            (
                "hip-amdgcn-amd-amdhsa--gfx906:sramecc+:xnack-",
                "hip-amdgcn-amd-amdhsa--gfx906:sramecc+:xnack-",
            ),
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
            (
                "hip-amdgcn-amd-amdhsa-gfx9-4-generic:xnack+",
                "hip-amdgcn-amd-amdhsa--gfx9-4-generic:xnack+",
            ),
            ("openmp-nvptx64-nvidia-cuda-sm_70-", "openmp-nvptx64-nvidia-cuda-unknown-sm_70"),
            ("openmp-nvptx64-nvidia-cuda-sm_70", "openmp-nvptx64-nvidia-cuda-unknown-sm_70"),
            ("hip-amdgcn-amd-amdhsa--gfx940", "hip-amdgcn-amd-amdhsa--gfx940"),
            (
                "hip-amdgpu9.06-amd-amdhsa--gfx906:xnack+",
                "hip-amdgpu9.06-amd-amdhsa--gfx906:xnack+",
            ),
            ("openmp-amdgpu-amd-amdhsa-gfx906", "openmp-amdgpu-amd-amdhsa--gfx906"),
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
        for text in ["", "host-x86_64-unknown-linux", "hip-amdgcn-amd-amdhsa"] {
            assert!(EntryId::parse_strict(text).is_err(), "{text}");
        }
        for text in ["----", "hip-amdgcn-amd-amdhsa-", "hip-amdgcn-amd-amdhsa--gfx9-4-generic"] {
            assert!(EntryId::parse_strict(text).is_ok(), "{text}");
        }
    }
}
