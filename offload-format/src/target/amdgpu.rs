//! The table of AMD's processors: names, features, ELF machine numbers, and generic targets.
//!
//! Sources: the ELF headers written by `clang -mcpu=...` of LLVM 22.1.8; LLVM's AMDGPUUsage for the
//! generic targets; for processors of LLVM 23 and later, the code of LLVM's main branch of 2026
//! (ELF.h, AMDGPUTargetParser). Names missing from the table are accepted, too, but their features
//! cannot be checked.

use super::Row;

/// The properties of the vendor.
pub(super) const VENDOR: Row = Row {
    name: "amd",
    driver: "hip",
    offload_kind: "hip",
    triple: Some("amdgcn-amd-amdhsa"),
    device: "an AMD GPU",
    devices: "AMD's GPUs",
    examples: &["gfx90a", "gfx1100"],
    is_triple: |triple| triple.is_amdgpu() || triple.vendor == "amd",
};

/// One processor or generic target: a row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Processor {
    /// The primary name, such as `gfx90a` or `gfx12-generic`.
    pub name: &'static str,
    /// Other names for the processor (`fiji` for `gfx803`).
    pub aliases: &'static [&'static str],
    /// The features that the processor's target ID may name, in alphabetical order.
    pub features: &'static [&'static str],
    /// The low 8 bits of `e_flags` in the processor's code objects.
    pub mach: u8,
    /// The generic target that covers the processor.
    pub generic: Option<&'static str>,
}

const NONE: &[&str] = &[];
const XNACK: &[&str] = &["xnack"];
const BOTH: &[&str] = &["sramecc", "xnack"];

const fn row(
    name: &'static str,
    mach: u8,
    features: &'static [&'static str],
    generic: Option<&'static str>,
    aliases: &'static [&'static str],
) -> Processor {
    Processor { name, aliases, features, mach, generic }
}

const G9: Option<&str> = Some("gfx9-generic");
const G9_4: Option<&str> = Some("gfx9-4-generic");
const G10_1: Option<&str> = Some("gfx10-1-generic");
const G10_3: Option<&str> = Some("gfx10-3-generic");
const G11: Option<&str> = Some("gfx11-generic");
const G12: Option<&str> = Some("gfx12-generic");
const G11_7: Option<&str> = Some("gfx11-7-generic");
const G12_5: Option<&str> = Some("gfx12-5-generic");
const G13: Option<&str> = Some("gfx13-generic");

/// All processors of the `amdgcn` architecture that LLVM's main branch supports, and gfx940/gfx941,
/// which LLVM 20 supported.
pub const PROCESSORS: &[Processor] = &[
    row("gfx600", 0x20, NONE, None, &["tahiti"]),
    row("gfx601", 0x21, NONE, None, &["pitcairn", "verde"]),
    row("gfx602", 0x3a, NONE, None, &["hainan", "oland"]),
    row("gfx700", 0x22, NONE, None, &["kaveri"]),
    row("gfx701", 0x23, NONE, None, &["hawaii"]),
    row("gfx702", 0x24, NONE, None, &[]),
    row("gfx703", 0x25, NONE, None, &["kabini", "mullins"]),
    row("gfx704", 0x26, NONE, None, &["bonaire"]),
    row("gfx705", 0x3b, NONE, None, &[]),
    row("gfx801", 0x28, XNACK, None, &["carrizo"]),
    row("gfx802", 0x29, NONE, None, &["iceland", "tonga"]),
    row("gfx803", 0x2a, NONE, None, &["fiji", "polaris10", "polaris11"]),
    row("gfx805", 0x3c, NONE, None, &["tongapro"]),
    row("gfx810", 0x2b, XNACK, None, &["stoney"]),
    row("gfx900", 0x2c, XNACK, G9, &[]),
    row("gfx902", 0x2d, XNACK, G9, &[]),
    row("gfx904", 0x2e, XNACK, G9, &[]),
    row("gfx906", 0x2f, BOTH, G9, &[]),
    row("gfx908", 0x30, BOTH, None, &[]),
    row("gfx909", 0x31, XNACK, G9, &[]),
    row("gfx90a", 0x3f, BOTH, None, &[]),
    row("gfx90c", 0x32, XNACK, G9, &[]),
    row("gfx940", 0x40, BOTH, G9_4, &[]),
    row("gfx941", 0x4b, BOTH, G9_4, &[]),
    row("gfx942", 0x4c, BOTH, G9_4, &[]),
    row("gfx950", 0x4f, BOTH, G9_4, &[]),
    row("gfx1010", 0x33, XNACK, G10_1, &[]),
    row("gfx1011", 0x34, XNACK, G10_1, &[]),
    row("gfx1012", 0x35, XNACK, G10_1, &[]),
    row("gfx1013", 0x42, XNACK, G10_1, &[]),
    row("gfx1030", 0x36, NONE, G10_3, &[]),
    row("gfx1031", 0x37, NONE, G10_3, &[]),
    row("gfx1032", 0x38, NONE, G10_3, &[]),
    row("gfx1033", 0x39, NONE, G10_3, &[]),
    row("gfx1034", 0x3e, NONE, G10_3, &[]),
    row("gfx1035", 0x3d, NONE, G10_3, &[]),
    row("gfx1036", 0x45, NONE, G10_3, &[]),
    row("gfx1100", 0x41, NONE, G11, &[]),
    row("gfx1101", 0x46, NONE, G11, &[]),
    row("gfx1102", 0x47, NONE, G11, &[]),
    row("gfx1103", 0x44, NONE, G11, &[]),
    row("gfx1150", 0x43, NONE, G11, &[]),
    row("gfx1151", 0x4a, NONE, G11, &[]),
    row("gfx1152", 0x55, NONE, G11, &[]),
    row("gfx1153", 0x58, NONE, G11, &[]),
    row("gfx1154", 0x57, NONE, G11, &[]),
    row("gfx1170", 0x5d, NONE, G11_7, &[]),
    row("gfx1171", 0x5e, NONE, G11_7, &[]),
    row("gfx1172", 0x5c, NONE, G11_7, &[]),
    row("gfx1200", 0x48, NONE, G12, &[]),
    row("gfx1201", 0x4e, NONE, G12, &[]),
    row("gfx1250", 0x49, NONE, G12_5, &[]),
    row("gfx1251", 0x5a, NONE, G12_5, &[]),
    row("gfx1250-strict", 0xeb, NONE, None, &[]),
    row("gfx1310", 0x50, NONE, G13, &[]),
    row("gfx9-generic", 0x51, XNACK, None, &[]),
    row("gfx9-4-generic", 0x5f, BOTH, None, &[]),
    row("gfx10-1-generic", 0x52, XNACK, None, &[]),
    row("gfx10-3-generic", 0x53, NONE, None, &[]),
    row("gfx11-generic", 0x54, NONE, None, &[]),
    row("gfx11-7-generic", 0x62, NONE, None, &[]),
    row("gfx12-generic", 0x59, NONE, None, &[]),
    row("gfx12-5-generic", 0x5b, NONE, None, &[]),
    row("gfx13-generic", 0x63, NONE, None, &[]),
];

/// The first version of clang for each processor that [`OLDEST_CLANG`](super::OLDEST_CLANG) does
/// not support. Debian's clang 15, 16, 19 and 22 were tried; the other versions come from LLVM's
/// release branches.
const FIRST_CLANG: &[(u32, &[&str])] = &[
    (17, &["gfx941", "gfx942", "gfx1150", "gfx1151"]),
    (18, &["gfx1200", "gfx1201"]),
    (
        19,
        &[
            "gfx1152",
            "gfx9-generic",
            "gfx10-1-generic",
            "gfx10-3-generic",
            "gfx11-generic",
            "gfx12-generic",
        ],
    ),
    (20, &["gfx950", "gfx1153", "gfx9-4-generic"]),
    (21, &["gfx1250"]),
    (22, &["gfx1251"]),
    (
        23,
        &[
            "gfx1154",
            "gfx1170",
            "gfx1171",
            "gfx1172",
            "gfx1310",
            "gfx11-7-generic",
            "gfx12-5-generic",
            "gfx13-generic",
        ],
    ),
    (24, &["gfx1250-strict"]),
];

/// Returns the first supported version of clang that compiles for a processor; `None` if the name
/// is not in the table.
#[inline]
pub(super) fn first_clang(name: &str) -> Option<u32> {
    let processor = find(name)?;
    let later = FIRST_CLANG.iter().find(|(_, names)| names.contains(&processor.name));
    Some(later.map_or(super::OLDEST_CLANG, |(version, _)| *version))
}

/// Returns the row with this name or alias.
pub fn find(name: &str) -> Option<&'static Processor> {
    PROCESSORS.iter().find(|it| it.name == name || it.aliases.contains(&name))
}

/// Returns the row whose code objects have this value in the low 8 bits of `e_flags`.
#[cfg(feature = "packs")]
pub(crate) fn find_mach(mach: u8) -> Option<&'static Processor> {
    PROCESSORS.iter().find(|it| it.mach == mach)
}

/// Whether a name may belong to a processor or a generic target, because it starts with `gfx` and a
/// digit or is in the table.
pub(crate) fn is_processor_name(name: &str) -> bool {
    is_primary_name(name) || find(name).is_some()
}

/// Whether a name has the form of a primary name, `gfx` and a digit. No alias does.
pub(crate) fn is_primary_name(name: &str) -> bool {
    matches!(name.as_bytes(), [b'g', b'f', b'x', b'0'..=b'9', ..])
}

/// The lowest code object version in which runtimes accept code for a generic target.
pub const FIRST_GENERIC_VERSION: u32 = 6;

/// Whether a name belongs to a generic target, which covers a family of processors
/// (`gfx11-generic`).
pub fn is_generic(name: &str) -> bool {
    name.ends_with("-generic")
}

/// The target for SPIR-V, which the driver compiles for any AMD GPU.
pub const SPIRV: &str = "amdgcnspirv";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_machine_numbers_are_unique() {
        for (i, a) in PROCESSORS.iter().enumerate() {
            for b in &PROCESSORS[i + 1..] {
                assert_ne!(a.name, b.name);
                assert_ne!(a.mach, b.mach, "{} and {}", a.name, b.name);
            }
        }
    }

    #[test]
    fn first_versions_of_clang_are_of_rows() {
        for name in FIRST_CLANG.iter().flat_map(|(_, names)| *names) {
            assert!(PROCESSORS.iter().any(|row| row.name == *name), "{name}");
        }
        assert_eq!(first_clang("fiji"), Some(crate::target::OLDEST_CLANG));
        assert_eq!(first_clang("gfx11-generic"), Some(19));
        assert_eq!(first_clang("gfx1300"), None);
    }

    #[test]
    fn a_generic_target_has_the_features_that_its_members_share() {
        for generic in PROCESSORS.iter().filter(|it| is_generic(it.name)) {
            let members: alloc::vec::Vec<_> =
                PROCESSORS.iter().filter(|it| it.generic == Some(generic.name)).collect();
            assert!(!members.is_empty(), "{}", generic.name);
            let shared = ["sramecc", "xnack"]
                .into_iter()
                .filter(|f| members.iter().all(|it| it.features.contains(f)));
            assert!(shared.eq(generic.features.iter().copied()), "{}", generic.name);
            // gfx10-3-generic covers gfx103x, and gfx11-generic covers gfx11xx; gfx9-generic covers
            // only some of gfx9xx.
            let family = generic.name.trim_end_matches("-generic").replacen('-', "", 1);
            let is_9_4 = generic.name == "gfx9-4-generic";
            assert!(
                members
                    .iter()
                    .all(|it| it.name.starts_with(&family) || (is_9_4 && it.name == "gfx950")),
                "{family}"
            );
        }
    }
}
