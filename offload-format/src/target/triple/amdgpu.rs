//! AMD's numbered architectures: `amdgpu`, `amdgpu9`, `amdgpu9.06`. LLVM's main branch has used
//! these names since 2026.
//!
//! Source: the code of LLVM's Triple and AMDGPUTargetParser of 2026. `amdgcn` remains valid as a
//! name without a number.

#[cfg(feature = "packs")]
use crate::target::amdgpu::{self, PROCESSORS, Processor};

/// The architecture's name, which a number may follow.
const NAME: &str = "amdgpu";

/// The families without a generic target, each with the prefix of its members' names.
#[cfg(feature = "packs")]
const WITHOUT_TARGET: [(&str, &str); 3] = [("6", "gfx60"), ("7", "gfx70"), ("8", "gfx80")];

/// Numbers that LLVM replaces, each with its replacement.
#[cfg(feature = "packs")]
const SYNONYMS: &[(&str, &str)] = &[("9.5", "9.4"), ("10", "10.1")];

/// Whether a name is `amdgpu`, with or without a number after it. Unknown numbers are accepted,
/// because later releases add more.
pub(super) fn is_name(name: &str) -> bool {
    name.strip_prefix(NAME)
        .is_some_and(|number| number.is_empty() || number.starts_with(|c: char| c.is_ascii_digit()))
}

/// Returns the number in an architecture's name; empty if the name has no number, like `amdgcn` and
/// `amdgpu`.
#[cfg(feature = "packs")]
#[inline]
pub(super) fn number(name: &str) -> &str {
    let number = name.strip_prefix(NAME).unwrap_or("");
    SYNONYMS.iter().find(|(synonym, _)| *synonym == number).map_or(number, |(_, meant)| meant)
}

/// Whether this is the number of a processor or generic target: `9.06` for `gfx906`, with two
/// digits after the period, and `9.4` for `gfx9-4-generic`.
#[cfg(feature = "packs")]
fn is_number_of(number: &str, target: &Processor) -> bool {
    let (major, minor) = number.split_once('.').unwrap_or((number, ""));
    let rest = |name: &'static str| name.strip_prefix("gfx")?.strip_prefix(major);
    match target.name.strip_suffix("-generic").map(rest) {
        Some(rest) if minor.is_empty() => rest == Some(""),
        Some(rest) => rest.and_then(|rest| rest.strip_prefix('-')) == Some(minor),
        None => {
            matches!(minor.as_bytes(), [_, _] | [_, _, b'-', ..])
                && rest(target.name) == Some(minor)
        }
    }
}

#[cfg(feature = "packs")]
fn numbered(number: &str) -> Option<&'static Processor> {
    PROCESSORS.iter().find(|row| is_number_of(number, row))
}

#[cfg(feature = "packs")]
fn is_family_of(family: &str, member: &Processor) -> bool {
    let generic = member.generic.and_then(amdgpu::find);
    generic.is_some_and(|generic| is_number_of(family, generic))
        || WITHOUT_TARGET.iter().any(|(it, start)| *it == family && member.name.starts_with(start))
}

/// Whether the numbers of two architectures are compatible: they are equal, one is missing, or one
/// names a family (`9`) and the other a member of it (`9.06`).
#[cfg(feature = "packs")]
#[inline]
pub(super) fn go_together(a: &str, b: &str) -> bool {
    let is_family = |family, member| numbered(member).is_some_and(|it| is_family_of(family, it));
    a == b || a.is_empty() || b.is_empty() || is_family(a, b) || is_family(b, a)
}

/// Whether an architecture's number is compatible with a processor or a generic target. Unknown
/// processors are compatible with all numbers.
#[cfg(feature = "packs")]
#[inline]
pub(super) fn covers(number: &str, processor: &str) -> bool {
    let Some(row) = amdgpu::find(processor) else { return true };
    number.is_empty()
        || is_number_of(number, row)
        || is_family_of(number, row)
        || numbered(number).is_some_and(|member| member.generic == Some(row.name))
}

/// Returns the target ID for an architecture name: `gfx906` for `amdgpu9.06`, `gfx9-generic` for
/// `amdgpu9`. Returns `None` for names without a number, and for families without a target.
#[cfg(feature = "packs")]
#[inline]
pub(super) fn processor(name: &str) -> Option<&'static str> {
    numbered(number(name)).map(|row| row.name)
}

#[cfg(all(test, feature = "packs"))]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for name in ["amdgpu", "amdgpu9", "amdgpu9.0a", "amdgpu99.99"] {
            assert!(is_name(name), "{name}");
        }
        for name in ["amdgcn", "amdgpux", "amdgp", "amdgpu-9", "AMDGPU9"] {
            assert!(!is_name(name), "{name}");
        }
    }

    #[test]
    fn each_target_has_a_number() {
        for (name, target) in [
            ("amdgpu9.06", Some("gfx906")),
            ("amdgpu9.0a", Some("gfx90a")),
            ("amdgpu8.10", Some("gfx810")),
            ("amdgpu11.54", Some("gfx1154")),
            ("amdgpu9", Some("gfx9-generic")),
            ("amdgpu10.1", Some("gfx10-1-generic")),
            ("amdgpu11.7", Some("gfx11-7-generic")),
            ("amdgpu13", Some("gfx13-generic")),
            ("amdgpu6", None),
            ("amdgpu90.6", None),
            ("amdgpu.906", None),
            ("amdgpu", None),
            ("amdgcn", None),
        ] {
            assert_eq!(processor(name), target, "{name}");
        }
        for row in PROCESSORS {
            let numbers = PROCESSORS.iter().filter(|other| {
                let number = number_of(row);
                is_number_of(&number, other)
            });
            assert_eq!(numbers.count(), 1, "{}", row.name);
        }
    }

    /// Returns the number in LLVM's spelling.
    fn number_of(row: &Processor) -> alloc::string::String {
        let name = row.name.trim_start_matches("gfx");
        if let Some(family) = name.strip_suffix("-generic") {
            return family.replace('-', ".");
        }
        let digits = name.find('-').unwrap_or(name.len());
        alloc::format!("{}.{}", &name[..digits - 2], &name[digits - 2..])
    }

    #[test]
    fn a_number_covers_its_processors() {
        for (number, processor, expected) in [
            ("", "gfx906", true),
            ("9", "gfx906", true),
            ("9.06", "gfx9-generic", true),
            ("9.06", "gfx906", true),
            ("9.06", "gfx900", false),
            ("9", "gfx90a", false),
            ("8", "gfx810", false),
            ("8", "fiji", true),
            ("9", "gfx9999", true),
        ] {
            assert_eq!(covers(number, processor), expected, "{number} {processor}");
        }
    }

    #[test]
    fn families_cover_their_members_only() {
        for (a, b, expected) in [
            ("", "9.06", true),
            ("9", "9.06", true),
            ("9", "9.08", false),
            ("9", "9.42", false),
            ("9.4", "9.42", true),
            ("9.06", "9.00", false),
            ("10.1", "10.30", false),
            ("99", "", true),
            ("99", "9", false),
        ] {
            assert_eq!(go_together(a, b), expected, "{a} {b}");
            assert_eq!(go_together(b, a), expected, "{b} {a}");
        }
        assert_eq!((number("amdgpu10"), number("amdgpu9.5")), ("10.1", "9.4"));
    }
}
