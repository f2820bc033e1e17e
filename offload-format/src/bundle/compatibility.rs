//! Rules that decide whether a bundle entry fits a request.

use super::EntryId;
use crate::target::{FeatureState, TargetId};
use core::fmt;

/// The result of [`EntryId::provides_for`]: whether a bundle entry's code object fits a request,
/// and why. The variants mirror the cases of `clang-offload-bundler`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Compatibility {
    /// Yes: the same offload kind and target ID, and compatible triples.
    Exact,
    /// Yes: the same processor, and the request names each of the entry's features with the same
    /// sign.
    Compatible,
    /// No: the offload kinds or the triples are incompatible.
    KindOrTriple,
    /// No: the processors differ, or a target ID is missing or malformed, or names a feature that
    /// its processor lacks.
    Processor,
    /// No: the entry names more features than the request.
    MoreFeatures,
    /// No: the entry names a feature that the request does not specify.
    OpenFeature,
    /// No: the entry names a feature with the opposite sign.
    OtherSign,
}

impl Compatibility {
    /// Whether the code object fits the request.
    pub fn is_compatible(self) -> bool {
        matches!(self, Compatibility::Exact | Compatibility::Compatible)
    }
}

impl fmt::Display for Compatibility {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Compatibility::Exact => "the same offload kind, target triple and target ID",
            Compatibility::Compatible => "the target ID fits",
            Compatibility::KindOrTriple => "a different offload kind or target triple",
            Compatibility::Processor => "a different processor, or an invalid target ID",
            Compatibility::MoreFeatures => {
                "the code object requires more features than the target ID lists"
            }
            Compatibility::OpenFeature => {
                "the code object requires a feature setting that the target ID does not specify"
            }
            Compatibility::OtherSign => "the code object requires the opposite state of a feature",
        })
    }
}

impl EntryId<'_> {
    /// Determines whether this entry's code object fits `requested`, and why, by LLVM 22's
    /// unbundling rules. The relation is not symmetric: code for `gfx90a` fits `gfx90a:xnack+`, but
    /// code for `gfx90a:xnack+` does not fit `gfx90a`. Code for a generic target fits only a
    /// request for that generic target.
    ///
    /// `hip_openmp_compatible`, like the `clang-offload-bundler` option of that name, lets HIP code
    /// objects fit OpenMP requests, and vice versa.
    #[inline]
    pub fn provides_for(
        &self,
        requested: &EntryId<'_>,
        hip_openmp_compatible: bool,
    ) -> Compatibility {
        let same_triple = self.triple().is_compatible_with(&requested.triple());
        if same_triple && self.kind() == requested.kind() && self.target() == requested.target() {
            return Compatibility::Exact;
        }
        if !same_triple || !kinds_go_together(self.kind(), requested.kind(), hip_openmp_compatible)
        {
            return Compatibility::KindOrTriple;
        }
        let (Some(provided), Some(wanted)) = (valid_target_id(self), valid_target_id(requested))
        else {
            return Compatibility::Processor;
        };
        if provided.primary_processor() != wanted.primary_processor() {
            return Compatibility::Processor;
        }
        if provided.features().count() > wanted.features().count() {
            return Compatibility::MoreFeatures;
        }
        for (name, state) in provided.features() {
            match wanted.feature(name) {
                FeatureState::Any => return Compatibility::OpenFeature,
                other if other != state => return Compatibility::OtherSign,
                _ => {}
            }
        }
        Compatibility::Compatible
    }
}

#[inline]
fn kinds_go_together(a: &str, b: &str, hip_openmp_compatible: bool) -> bool {
    let is_hip = |kind: &str| matches!(kind, "hip" | "hipv4");
    let hip_and_openmp = |a: &str, b: &str| is_hip(a) && b == "openmp";
    a == b
        || is_hip(a) && is_hip(b)
        || hip_openmp_compatible && (hip_and_openmp(a, b) || hip_and_openmp(b, a))
}

/// Returns the entry's target ID if the processor supports every feature in the ID. Only AMD's GPUs
/// have features.
#[inline]
fn valid_target_id<'a>(id: &EntryId<'a>) -> Option<TargetId<'a>> {
    id.target_id().filter(|target| {
        if id.triple().is_amdgpu() {
            target.unsupported_feature().is_none()
                && id.triple().covers_amdgpu_processor(target.primary_processor())
        } else {
            target.features().next().is_none()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::Compatibility::*;
    use super::*;

    fn judge(provided: &str, requested: &str) -> Compatibility {
        let [provided, requested] = [provided, requested].map(|id| EntryId::parse(id).unwrap());
        provided.provides_for(&requested, false)
    }

    #[test]
    fn each_reason() {
        for (provided, requested, expected) in [
            ("gfx906", "gfx906", Exact),
            ("", "", Exact),
            ("gfx906:foo+", "gfx906:foo+", Exact),
            ("gfx906", "gfx906:sramecc+:xnack-", Compatible),
            ("gfx906:xnack+:sramecc+", "gfx906:sramecc+:xnack+", Compatible),
            ("kaveri", "gfx700", Compatible),
            ("gfx1410", "gfx1410:xnack+", Compatible),
            ("", "gfx906", Processor),
            ("gfx906", "", Processor),
            ("gfx906", "gfx908", Processor),
            ("gfx9-generic", "gfx900", Processor),
            ("gfx906", "gfx906:xnack", Processor),
            ("gfx1030", "gfx1030:xnack+", Processor),
            ("gfx906:xnack+", "gfx906", MoreFeatures),
            ("gfx906:sramecc+:xnack+", "gfx906:xnack+", MoreFeatures),
            ("gfx906:sramecc+", "gfx906:xnack+", OpenFeature),
            ("gfx906:xnack+", "gfx906:sramecc+:xnack-", OtherSign),
        ] {
            let [a, b] = [provided, requested]
                .map(|target| alloc::format!("hip-amdgcn-amd-amdhsa--{target}"));
            assert_eq!(judge(&a, &b), expected, "{a} {b}");
        }
    }

    #[test]
    fn kinds_and_triples() {
        let hipv4 = "hipv4-amdgcn-amd-amdhsa--gfx906";
        assert_eq!(judge(hipv4, "hip-amdgcn-amd-amdhsa--gfx906"), Compatible);
        assert_eq!(judge(hipv4, "hipv4-amdgcn-amd-amdhsa-unknown-gfx906"), Exact);
        assert_eq!(judge(hipv4, "hipv4-amdgcn--amdhsa--gfx906"), KindOrTriple);
        assert_eq!(
            judge("host-x86_64-pc-linux-gnu", "host-x86_64-unknown-linux-gnu"),
            KindOrTriple
        );
        let [hip, openmp] =
            [hipv4, "openmp-amdgcn-amd-amdhsa--gfx906"].map(|id| EntryId::parse(id).unwrap());
        for (a, b) in [(hip, openmp), (openmp, hip)] {
            assert_eq!(a.provides_for(&b, false), KindOrTriple);
            assert_eq!(a.provides_for(&b, true), Compatible);
        }
        // The old and new spellings of an entry ID are equal.
        for (old, new) in [
            ("host-aarch64-linux-android--", "host-aarch64-unknown-linux-android"),
            ("host-x86_64-pc-win32-", "host-x86_64-pc-windows-msvc"),
            ("hip-amdgcn-amd-amdhsa-gfx906", "hip-amdgcn-amd-amdhsa--gfx906"),
        ] {
            assert_eq!(judge(old, new), Exact, "{old}");
        }
        // LLVM's main branch writes triples with numbers (`amdgpu9.06`), but HIP writes them
        // without numbers (`amdgcn`).
        for (provided, requested, expected) in [
            ("hip-amdgpu9.06-amd-amdhsa--gfx906", "hip-amdgpu9.06-amd-amdhsa--gfx906", Exact),
            ("hip-amdgcn-amd-amdhsa--gfx906", "hip-amdgpu9.06-amd-amdhsa--gfx906", Exact),
            (
                "hip-amdgpu9-amd-amdhsa--gfx906",
                "hipv4-amdgcn-amd-amdhsa--gfx906:xnack+",
                Compatible,
            ),
            (
                "hip-amdgpu9.06-amd-amdhsa--gfx906:xnack+",
                "hip-amdgpu9.06-amd-amdhsa--gfx906",
                MoreFeatures,
            ),
            (
                "hip-amdgpu9.00-amd-amdhsa--gfx900",
                "hip-amdgpu9.06-amd-amdhsa--gfx900",
                KindOrTriple,
            ),
            (
                "hip-amdgpu-amd-amdhsa--gfx906",
                "hip-amdgpu9.0a-amd-amdhsa--gfx906:xnack+",
                Processor,
            ),
        ] {
            assert_eq!(judge(provided, requested), expected, "{provided} {requested}");
        }
        let cuda = "openmp-nvptx64-nvidia-cuda--sm_70";
        assert_eq!(judge(cuda, "openmp-nvptx64-nvidia-cuda--sm_80"), Processor);
        assert_eq!(judge(cuda, "openmp-nvptx64-nvidia-cuda--sm_70:xnack+"), Processor);
    }
}
