//! AMD's architectures by number, as LLVM's main branch has named them since 2026: `amdgpu`,
//! `amdgpu9`, `amdgpu9.06`.
//!
//! Source: the code of LLVM's Triple and AMDGPUTargetParser of 2026. `amdgcn` remains a name of
//! this architecture, without a number.

/// The start of the architecture's name; a number may follow.
const NAME: &str = "amdgpu";

/// Families, the target ID for the whole family if there is one, and the family's members.
#[cfg(feature = "read")]
const FAMILIES: &[(&str, &str, &[&str])] = &[
    ("6", "", &["6.00", "6.01", "6.02"]),
    ("7", "", &["7.00", "7.01", "7.02", "7.03", "7.04", "7.05"]),
    ("8", "", &["8.01", "8.02", "8.03", "8.05"]),
    ("8.10", "gfx810", &[]),
    ("9", "gfx9-generic", &["9.00", "9.02", "9.04", "9.06", "9.09", "9.0c"]),
    ("9.08", "gfx908", &[]),
    ("9.0a", "gfx90a", &[]),
    ("9.4", "gfx9-4-generic", &["9.42", "9.50"]),
    ("10.1", "gfx10-1-generic", &["10.10", "10.11", "10.12", "10.13"]),
    ("10.3", "gfx10-3-generic", &["10.30", "10.31", "10.32", "10.33", "10.34", "10.35", "10.36"]),
    (
        "11",
        "gfx11-generic",
        &["11.00", "11.01", "11.02", "11.03", "11.50", "11.51", "11.52", "11.53", "11.54"],
    ),
    ("11.7", "gfx11-7-generic", &["11.70", "11.71", "11.72"]),
    ("12", "gfx12-generic", &["12.00", "12.01"]),
    ("12.5", "gfx12-5-generic", &["12.50", "12.51"]),
    ("13", "gfx13-generic", &["13.10"]),
];

/// Numbers that LLVM replaces, each with its replacement.
#[cfg(feature = "read")]
const SYNONYMS: &[(&str, &str)] = &[("9.5", "9.4"), ("10", "10.1")];

/// Whether a name is `amdgpu`, with or without a number after it. Unknown numbers are accepted,
/// because later releases add more.
pub(super) fn is_name(name: &str) -> bool {
    name.strip_prefix(NAME)
        .is_some_and(|number| number.is_empty() || number.starts_with(|c: char| c.is_ascii_digit()))
}

/// Returns the number in an architecture's name; empty if it has no number, like `amdgcn` and
/// `amdgpu`.
#[cfg(feature = "read")]
#[inline]
pub(super) fn number(name: &str) -> &str {
    let number = name.strip_prefix(NAME).unwrap_or("");
    SYNONYMS.iter().find(|(synonym, _)| *synonym == number).map_or(number, |(_, meant)| meant)
}

/// Whether the numbers of two architectures are compatible: they are equal, one is missing, or one
/// is the family of the other.
#[cfg(feature = "read")]
#[inline]
pub(super) fn go_together(a: &str, b: &str) -> bool {
    let is_family = |family: &str, member: &str| {
        FAMILIES.iter().any(|(name, _, members)| *name == family && members.contains(&member))
    };
    a == b || a.is_empty() || b.is_empty() || is_family(a, b) || is_family(b, a)
}

/// Returns the number of a processor or generic target, if it is in the table: `9.06` for `gfx906`,
/// `9.4` for `gfx9-4-generic`.
#[cfg(feature = "read")]
#[inline]
pub(super) fn number_of(processor: &str) -> Option<&'static str> {
    for &(number, target, _) in FAMILIES {
        if !target.is_empty() && target == processor {
            return Some(number);
        }
    }
    let digits = processor.strip_prefix("gfx")?;
    for &(.., members) in FAMILIES {
        for &number in members {
            // `gfx906` is number 9.06: there are two digits after the period.
            if let Some((major, rest)) = number.split_once('.')
                && digits.strip_prefix(major) == Some(rest)
            {
                return Some(number);
            }
        }
    }
    None
}

/// Returns the target ID that an architecture name means: `gfx906` for `amdgpu9.06`, `gfx9-generic`
/// for `amdgpu9`. Returns `None` without a number, and for families without a target.
#[cfg(feature = "read")]
#[inline]
pub(super) fn processor(name: &str) -> Option<&'static str> {
    let number = number(name);
    let family =
        FAMILIES.iter().find(|(family, ..)| *family == number).map(|(_, target, _)| *target);
    let of_table = || {
        crate::target::amdgpu::PROCESSORS
            .iter()
            .map(|row| row.name)
            .find(|row| number_of(row) == Some(number))
    };
    family.or_else(of_table).filter(|target| !target.is_empty())
}

#[cfg(all(test, feature = "read"))]
mod tests {
    use super::*;
    use crate::target::amdgpu::{PROCESSORS, is_generic};

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
    fn the_table_of_processors_has_the_same_families() {
        for row in PROCESSORS.iter().filter(|row| !matches!(row.name, "gfx940" | "gfx941")) {
            let number =
                number_of(row.name).unwrap_or_else(|| panic!("{} has no number", row.name));
            assert_eq!(processor(&alloc::format!("amdgpu{number}")), Some(row.name));
            let family = FAMILIES.iter().find(|(_, _, members)| members.contains(&number));
            if let Some(generic) = row.generic {
                assert_eq!(family.map(|(_, target, _)| *target), Some(generic), "{}", row.name);
            } else if is_generic(row.name) {
                assert_eq!(family, None, "{}", row.name);
            }
        }
        assert_eq!(processor("amdgpu6"), None);
        assert_eq!(processor("amdgpu"), None);
        assert_eq!(processor("amdgcn"), None);
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
