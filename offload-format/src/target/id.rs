//! Target IDs: `<processor>(:<feature>[+-])*`.
//!
//! Rules: LLVM's AMDGPUUsage, "Target ID"; checked against LLVM 22.1.8 (docs/formats.md).

use super::{ParseError, amdgpu};
use alloc::string::String;
use core::fmt;

/// The state of one feature in a target ID.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FeatureState {
    /// The target ID does not name the feature: the code runs in either mode.
    Any,
    /// The feature is on (`+`).
    On,
    /// The feature is off (`-`).
    Off,
}

impl fmt::Display for FeatureState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FeatureState::Any => "any",
            FeatureState::On => "+",
            FeatureState::Off => "-",
        })
    }
}

/// The maximum number of features in a target ID. No processor has more than two, but the limit
/// bounds the time spent on hostile names, because each feature is compared with all earlier
/// features and with those of other target IDs.
const MOST_FEATURES: usize = 16;

/// A well-formed target ID. The processor may be unknown to this crate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TargetId<'a> {
    processor: &'a str,
    features: &'a str,
}

impl<'a> TargetId<'a> {
    /// Parses `gfx90a`, `gfx90a:xnack+`, `gfx906:sramecc-:xnack+`; features may be in any order.
    ///
    /// Returns an error if the processor is empty or contains an invalid character, or if there are
    /// more than 16 features. Also returns an error if a feature is empty, has no sign or is named
    /// twice.
    pub fn parse(text: &'a str) -> Result<Self, ParseError> {
        Self::check(text).map_err(|(position, reason)| ParseError::new(text, position, reason))
    }

    /// Like [`TargetId::parse`], but the error is only a position and a reason, so this function
    /// needs no allocation and works in constants.
    pub(crate) const fn check(text: &'a str) -> Result<Self, (usize, &'static str)> {
        const NO_FEATURE: &str = "expected a feature name followed by '+' or '-', such as 'xnack-'";
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() && bytes[at] != b':' {
            if !(bytes[at].is_ascii_alphanumeric() || matches!(bytes[at], b'-' | b'_')) {
                return Err((at, "expected a processor name of letters, digits, '-' and '_'"));
            }
            at += 1;
        }
        if at == 0 {
            return Err((0, "expected a processor name at the start of the target ID"));
        }
        // The colon is ASCII, so both parts are valid UTF-8.
        let (processor, features) = text.split_at(at);
        let mut count = 0;
        while at < bytes.len() {
            let start = at + 1;
            if count == MOST_FEATURES {
                return Err((start, "the target ID names more than 16 features"));
            }
            at = start;
            while at < bytes.len() && bytes[at] != b':' {
                let ends = at + 1 == bytes.len() || bytes[at + 1] == b':';
                let is_sign = ends && at > start && matches!(bytes[at], b'+' | b'-');
                if !(is_sign || bytes[at].is_ascii_alphanumeric() || bytes[at] == b'_') {
                    return Err((start, NO_FEATURE));
                }
                at += 1;
            }
            if at == start || !matches!(bytes[at - 1], b'+' | b'-') {
                return Err((start, NO_FEATURE));
            }
            let mut before = processor.len() + 1;
            while before < start {
                let mut same = 0;
                while same < at - 1 - start && bytes[before + same] == bytes[start + same] {
                    same += 1;
                }
                if same == at - 1 - start && matches!(bytes[before + same], b'+' | b'-') {
                    return Err((start, "the feature is named twice"));
                }
                while bytes[before] != b':' {
                    before += 1;
                }
                before += 1;
            }
            count += 1;
        }
        Ok(Self { processor, features })
    }

    /// Returns the target ID of a processor with features in the form `:sramecc+:xnack-`.
    #[cfg(feature = "packs")]
    pub(crate) fn of_parts(processor: &'a str, features: &'a str) -> Self {
        Self { processor, features }
    }

    /// Splits a text accepted by [`TargetId::check`]. `end` is the length of the processor's name
    /// in bytes.
    pub(crate) fn split(text: &'a str, end: usize) -> Self {
        let (processor, features) = text.split_at_checked(end).unwrap_or((text, ""));
        Self { processor, features }
    }

    /// Returns the processor as written: `gfx90a`, `gfx11-generic`, or an alias.
    pub fn processor(&self) -> &'a str {
        self.processor
    }

    /// Whether the processor may be AMD's, or is the target for SPIR-V on AMD GPUs.
    pub(super) fn is_of_amd(&self) -> bool {
        amdgpu::is_processor_name(self.processor) || self.processor == amdgpu::SPIRV
    }

    pub(super) fn triple(&self) -> &'static str {
        if self.processor == amdgpu::SPIRV { "spirv64-amd-amdhsa" } else { "amdgcn-amd-amdhsa" }
    }

    /// Returns the processor's primary name, which differs from [`TargetId::processor`] only for an
    /// alias.
    #[inline]
    pub fn primary_processor(&self) -> &'a str {
        if amdgpu::is_primary_name(self.processor) {
            return self.processor;
        }
        amdgpu::find(self.processor).map_or(self.processor, |row| row.name)
    }

    /// Returns the named features, in the order written.
    pub fn features(&self) -> impl Iterator<Item = (&'a str, FeatureState)> + use<'a> {
        let mut rest = self.features;
        core::iter::from_fn(move || {
            let features = rest.strip_prefix(':')?;
            let end = features.bytes().position(|byte| byte == b':').unwrap_or(features.len());
            let feature;
            (feature, rest) = features.split_at(end);
            // `TargetId::parse` has checked that each feature ends with `+` or `-`.
            match feature.strip_suffix('+') {
                Some(name) => Some((name, FeatureState::On)),
                None => Some((feature.strip_suffix('-')?, FeatureState::Off)),
            }
        })
    }

    pub(crate) fn features_text(&self) -> &'a str {
        self.features
    }

    /// Returns the state of a feature.
    pub fn feature(&self, name: &str) -> FeatureState {
        self.features()
            .find(|(found, _)| *found == name)
            .map_or(FeatureState::Any, |(_, state)| state)
    }

    /// Returns the first named feature that the processor does not support. Returns `None` if the
    /// processor is not in the table.
    #[inline]
    pub fn unsupported_feature(&self) -> Option<&'a str> {
        let row = amdgpu::find(self.processor)?;
        self.features().map(|(name, _)| name).find(|name| !row.features.contains(name))
    }

    /// Whether code made for `self` runs on a device that reports `requested`. The processors must
    /// be equal, and each feature of `self` must have the same state in `requested`. Features that
    /// only `requested` names are ignored.
    ///
    /// Generic targets are compared by name, as in LLVM; [`select`](crate::select()) applies the
    /// rules for them.
    #[inline]
    pub fn provides_for(&self, requested: &TargetId<'_>) -> bool {
        self.primary_processor() == requested.primary_processor()
            && self.features().all(|(name, state)| requested.feature(name) == state)
    }

    /// Like `provides_for`, but for an unparsed target ID. Returns `false` if the ID is malformed.
    /// To save time, parses only IDs for the requested processor, as most are for others.
    #[cfg(feature = "packs")]
    #[inline]
    pub(crate) fn provides_text_for(provided: &str, requested: &TargetId<'_>) -> bool {
        if amdgpu::is_primary_name(provided) && amdgpu::is_primary_name(requested.processor) {
            let features = provided.strip_prefix(requested.processor);
            if !features.is_some_and(|rest| rest.is_empty() || rest.starts_with(':')) {
                return false;
            }
        }
        TargetId::check(provided).is_ok_and(|provided| provided.provides_for(requested))
    }

    /// Whether the two target IDs must not be in the same bundle, because code for both might run
    /// on the same device. This is the case if the processors are equal and one ID names a feature
    /// that the other omits. The relation is symmetric, as in LLVM's documentation.
    #[inline]
    pub fn conflicts_with(&self, other: &TargetId<'_>) -> bool {
        let leaves_open = |a: &TargetId<'_>, b: &TargetId<'_>| {
            a.features().any(|(name, _)| b.feature(name) == FeatureState::Any)
        };
        self.primary_processor() == other.primary_processor()
            && (leaves_open(self, other) || leaves_open(other, self))
    }

    /// Returns the canonical form: the primary processor name, and features in alphabetical order.
    #[inline]
    pub fn to_canonical(&self) -> String {
        let mut out = String::from(self.primary_processor());
        // Each iteration finds the next feature in alphabetical order, which is cheap for so few
        // features. With the standard library's sort, each program would compile much more code.
        // `+` and `-` sort before all characters of names, so comparing features with their signs
        // gives the order of their names.
        let mut last = "";
        while let Some(feature) = self.features.split(':').skip(1).filter(|it| *it > last).min() {
            out.push(':');
            out.push_str(feature);
            last = feature;
        }
        out
    }
}

impl fmt::Display for TargetId<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.processor, self.features)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{OffloadArch, Target};
    use super::*;

    fn id(text: &str) -> TargetId<'_> {
        TargetId::parse(text).unwrap()
    }

    #[test]
    fn canonical_form_sorts_features_and_resolves_aliases() {
        assert_eq!(id("gfx906:xnack+:sramecc-").to_canonical(), "gfx906:sramecc-:xnack+");
        assert_eq!(id("fiji").to_canonical(), "gfx803");
        assert_eq!(id("gfx9-4-generic:xnack-").to_canonical(), "gfx9-4-generic:xnack-");
        for text in ["gfx906:xnack+:sramecc-", "fiji", "gfx9-4-generic:xnack-"] {
            let canonical = Target::parse(text).unwrap();
            assert_eq!(canonical.as_str(), id(text).to_canonical());
            assert_eq!(canonical.arch(), OffloadArch::Amdgpu(id(canonical.as_str())));
        }
    }

    #[test]
    fn malformed_ids_say_where() {
        for (text, position) in [
            ("", 0),
            (":xnack+", 0),
            ("gfx906:", 7),
            ("gfx906:xnack", 7),
            ("gfx906:+", 7),
            ("gfx906:xnack--", 7),
            ("gfx906:xnack-+", 7),
            ("gfx906:--", 7),
            ("gfx 906", 3),
        ] {
            assert_eq!(TargetId::parse(text).unwrap_err().position(), position, "{text}");
        }
        assert_eq!(TargetId::parse("gfx906:xnack+:xnack-").unwrap_err().position(), 14);
        assert_eq!(TargetId::parse("gfx906::xnack+").unwrap_err().position(), 7);
        let many: String = ('a'..='q').map(|feature| alloc::format!(":{feature}+")).collect();
        let text = alloc::format!("gfx906{many}");
        assert_eq!(TargetId::parse(&text).unwrap_err().position(), text.len() - 2);
        assert_eq!(id(&text[..text.len() - 3]).features().count(), 16);
    }

    #[test]
    fn compatibility_has_a_direction() {
        assert!(id("gfx90a").provides_for(&id("gfx90a:sramecc+:xnack-")));
        assert!(!id("gfx90a:xnack-").provides_for(&id("gfx90a")));
        assert!(!id("gfx90a:xnack+").provides_for(&id("gfx90a:sramecc+:xnack-")));
        assert!(id("gfx906:xnack+:sramecc+").provides_for(&id("gfx906:sramecc+:xnack+")));
    }

    #[test]
    fn composition_is_symmetric() {
        for (a, b, conflict) in [
            ("gfx906", "gfx906:xnack+", true),
            ("gfx906:xnack+", "gfx906:xnack-", false),
            ("gfx906:sramecc+", "gfx906:xnack+", true),
            ("gfx906:sramecc+:xnack+", "gfx906:xnack+", true),
            ("gfx906:sramecc+:xnack+", "gfx906:sramecc-", true),
            ("gfx906", "gfx908:xnack+", false),
        ] {
            assert_eq!(id(a).conflicts_with(&id(b)), conflict, "{a} {b}");
            assert_eq!(id(b).conflicts_with(&id(a)), conflict, "{b} {a}");
        }
    }
}
