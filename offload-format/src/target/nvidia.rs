//! NVIDIA's architectures: `sm_90a` (machine code, a cubin) and `compute_90` (PTX, compiled by the
//! driver).
//!
//! Sources: CUDA programming guide, "Compute Capabilities" (CUDA 13); CUDA C++ programming guide
//! 13.0, "Binary Compatibility"; PTX ISA 9.1, release history.

use super::{OLDEST_CLANG, ParseError, Row};
use core::fmt;

/// The properties of the vendor.
pub(super) const VENDOR: Row = Row {
    name: "nvidia",
    driver: "cuda",
    offload_kind: "cuda",
    triple: Some("nvptx64-nvidia-cuda"),
    device: "an NVIDIA GPU",
    devices: "NVIDIA's GPUs",
    examples: &["sm_80", "compute_80"],
    is_triple: |triple| triple.arch.starts_with("nvptx"),
};

/// The alignment in bytes of the start of a kernel's arguments on every NVIDIA GPU. The start
/// address differs between architectures, so ptxas gives a parameter that needs a larger alignment
/// different offsets for sm_80 and sm_90 (CUDA 13.0).
pub const NVIDIA_PARAMETERS_ALIGN: u64 = 16;

/// Whether an architecture name means machine code or PTX.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NvidiaCode {
    /// `sm_*`: machine code, a cubin.
    Cubin,
    /// `compute_*`: PTX.
    Ptx,
}

impl NvidiaCode {
    pub(super) const fn extension(self) -> &'static str {
        match self {
            NvidiaCode::Cubin => "cubin",
            NvidiaCode::Ptx => "ptx",
        }
    }
}

/// The letter after the number, which restricts where the code runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NvidiaSuffix {
    /// `a`: the code runs only on this compute capability.
    ArchSpecific,
    /// `f`: the code runs on the family of this compute capability.
    FamilySpecific,
}

/// An NVIDIA architecture name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NvidiaArch {
    /// Machine code or PTX.
    pub code: NvidiaCode,
    /// The major compute capability: 9 in `sm_90`, 12 in `sm_121`.
    pub major: u32,
    /// The minor compute capability: 0 in `sm_90`, 1 in `sm_121`.
    pub minor: u32,
    /// The suffix: `a`, `f` or nothing.
    pub suffix: Option<NvidiaSuffix>,
}

/// The architectures of one compute capability.
struct Known {
    /// The compute capability times ten.
    number: u32,
    /// The PTX ISA version that introduced the architecture. Source: PTX ISA 9.1, "PTX Module
    /// Directives: .target".
    introduced: PtxVersion,
    /// The lowest PTX ISA version in which clang's backend supports the architecture. Builds
    /// request a low version, because drivers refuse PTX that is newer than they are. Checked with
    /// clang 22.1.8, and ptxas 13.5 and 12.9.
    lowest_ptx: PtxVersion,
    /// The first version of clang supported by offload-build that compiles for the architecture.
    /// Debian's clang 15, 16, 19 and 22 were tried; the number 20 comes from LLVM's release branch.
    first_clang: u32,
}

const fn known(
    number: u32,
    introduced: (u32, u32),
    lowest_ptx: (u32, u32),
    first_clang: u32,
) -> Known {
    let introduced = PtxVersion::new(introduced.0, introduced.1);
    let lowest_ptx = PtxVersion::new(lowest_ptx.0, lowest_ptx.1);
    Known { number, introduced, lowest_ptx, first_clang }
}

const KNOWN: &[Known] = &[
    known(50, (4, 0), (6, 0), OLDEST_CLANG),
    known(52, (4, 1), (6, 0), OLDEST_CLANG),
    known(53, (4, 2), (6, 0), OLDEST_CLANG),
    known(60, (5, 0), (6, 0), OLDEST_CLANG),
    known(61, (5, 0), (6, 0), OLDEST_CLANG),
    known(62, (5, 0), (6, 0), OLDEST_CLANG),
    known(70, (6, 0), (6, 3), OLDEST_CLANG),
    known(72, (6, 1), (6, 3), OLDEST_CLANG),
    known(75, (6, 3), (6, 3), OLDEST_CLANG),
    known(80, (7, 0), (7, 0), OLDEST_CLANG),
    known(86, (7, 1), (7, 1), OLDEST_CLANG),
    known(87, (7, 4), (7, 4), 16),
    known(88, (9, 0), (9, 0), 22),
    known(89, (7, 8), (7, 8), 16),
    known(90, (7, 8), (8, 0), 16),
    known(100, (8, 6), (8, 6), 20),
    known(101, (8, 6), (8, 6), 20),
    known(103, (8, 8), (8, 8), 22),
    known(110, (9, 0), (9, 0), 22),
    known(120, (8, 7), (8, 7), 20),
    known(121, (8, 8), (8, 8), 22),
];

#[inline]
pub(super) fn numbers() -> impl Iterator<Item = u32> {
    KNOWN.iter().map(|known| known.number)
}

/// The PTX ISA versions, each with the first CUDA driver that compiles it. Sources: the release
/// history in PTX ISA 9.1; for 9.2 to 9.5, nvcc 13.2 to 13.5.
const PTX_OF_DRIVERS: &[(PtxVersion, u32)] = &[
    (PtxVersion::new(5, 0), 8000),
    (PtxVersion::new(6, 0), 9000),
    (PtxVersion::new(6, 1), 9010),
    (PtxVersion::new(6, 2), 9020),
    (PtxVersion::new(6, 3), 10000),
    (PtxVersion::new(6, 4), 10010),
    (PtxVersion::new(6, 5), 10020),
    (PtxVersion::new(7, 0), 11000),
    (PtxVersion::new(7, 1), 11010),
    (PtxVersion::new(7, 2), 11020),
    (PtxVersion::new(7, 3), 11030),
    (PtxVersion::new(7, 4), 11040),
    (PtxVersion::new(7, 5), 11050),
    (PtxVersion::new(7, 6), 11060),
    (PtxVersion::new(7, 7), 11070),
    (PtxVersion::new(7, 8), 11080),
    (PtxVersion::new(8, 0), 12000),
    (PtxVersion::new(8, 1), 12010),
    (PtxVersion::new(8, 2), 12020),
    (PtxVersion::new(8, 3), 12030),
    (PtxVersion::new(8, 4), 12040),
    (PtxVersion::new(8, 5), 12050),
    (PtxVersion::new(8, 6), 12070),
    (PtxVersion::new(8, 7), 12080),
    (PtxVersion::new(8, 8), 12090),
    (PtxVersion::new(9, 0), 13000),
    (PtxVersion::new(9, 1), 13010),
    (PtxVersion::new(9, 2), 13020),
    (PtxVersion::new(9, 3), 13030),
    (PtxVersion::new(9, 4), 13040),
    (PtxVersion::new(9, 5), 13050),
];

/// The PTX ISA versions that introduced the suffixes. `sm_90a` was the first name with `a`, and
/// `sm_100f`, in CUDA 12.9, the first with `f`.
const FIRST_ARCH_SPECIFIC: PtxVersion = PtxVersion::new(8, 0);
const FIRST_FAMILY_SPECIFIC: PtxVersion = PtxVersion::new(8, 8);

/// The first version of clang that compiles for `sm_90a`, the first architecture with a suffix.
const FIRST_CLANG_WITH_SUFFIX: u32 = 18;

/// A renamed compute capability: its name in CUDA 12.8 and 12.9, and its name since CUDA 13.
/// Source: PTX ISA 9.1, target notes: "Renamed to sm_110a from PTX ISA version 9.0".
const RENAMED: ((u32, u32), (u32, u32)) = ((10, 1), (11, 0));

/// The compute capabilities of Tegra GPUs, from the column "Jetson" on NVIDIA's pages "CUDA GPU
/// Compute Capability" and "Legacy CUDA GPU Compute Capability".
const TEGRA: &[(u32, u32)] = &[(5, 3), (6, 2), (7, 2), (8, 7), (10, 1), (11, 0)];

fn is_tegra(major: u32, minor: u32) -> bool {
    TEGRA.contains(&(major, minor))
}

impl NvidiaArch {
    /// Reads `sm_80`, `sm_90a`, `sm_100f`, `compute_120`. The last digit is the minor number.
    ///
    /// Returns an error if the prefix, the number (two or three digits) or the suffix is invalid.
    #[inline]
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        Self::check(text).map_err(|(position, reason)| ParseError::new(text, position, reason))
    }

    pub(super) fn has_prefix(text: &str) -> bool {
        text.starts_with("sm_") || text.starts_with("compute_")
    }

    /// Like [`NvidiaArch::parse`], but the error is only a position and a reason, so this function
    /// needs no allocation and works in constants.
    #[inline]
    pub(crate) const fn check(text: &str) -> Result<Self, (usize, &'static str)> {
        let (code, at, rest) = match text.as_bytes() {
            [b's', b'm', b'_', rest @ ..] => (NvidiaCode::Cubin, 3, rest),
            [b'c', b'o', b'm', b'p', b'u', b't', b'e', b'_', rest @ ..] => {
                (NvidiaCode::Ptx, 8, rest)
            }
            _ => {
                return Err((
                    0,
                    "expected an NVIDIA architecture that starts with 'sm_' or 'compute_'",
                ));
            }
        };
        let (mut digits, mut number) = (0, 0);
        while digits < rest.len() && rest[digits].is_ascii_digit() {
            // Numbers with too many digits are refused below, so their value does not matter.
            number = (number % 100) * 10 + (rest[digits] - b'0') as u32;
            digits += 1;
        }
        if !matches!(digits, 2 | 3) || rest[0] == b'0' {
            return Err((at, "expected a compute capability such as 80, 90a or 121"));
        }
        let suffix = match rest.split_at(digits).1 {
            [] => None,
            [b'a'] => Some(NvidiaSuffix::ArchSpecific),
            [b'f'] => Some(NvidiaSuffix::FamilySpecific),
            _ => {
                return Err((
                    at + digits,
                    "expected 'a', 'f' or nothing after the compute capability's number",
                ));
            }
        };
        Ok(Self { code, major: number / 10, minor: number % 10, suffix })
    }

    /// Returns the compute capability times ten, as in names: 121 for 12.1.
    pub fn number(&self) -> u32 {
        self.major.saturating_mul(10).saturating_add(self.minor)
    }

    /// Returns this compute capability and suffix as machine code or as PTX.
    #[must_use]
    pub fn with_code(self, code: NvidiaCode) -> Self {
        Self { code, ..self }
    }

    fn known(&self) -> Option<&'static Known> {
        KNOWN.iter().find(|known| known.number == self.number())
    }

    /// Returns a low PTX ISA version that supports this architecture, because older drivers refuse
    /// newer versions. Returns `None` if the architecture is not in the table.
    pub fn lowest_ptx(&self) -> Option<PtxVersion> {
        if self.suffix == Some(NvidiaSuffix::FamilySpecific) {
            return Some(FIRST_FAMILY_SPECIFIC.max(self.with_suffix(None).lowest_ptx()?));
        }
        self.known().map(|known| known.lowest_ptx)
    }

    /// Returns the PTX ISA version that introduced this architecture, or `None` if the architecture
    /// is not in the table.
    #[inline]
    pub(crate) fn first_ptx(&self) -> Option<PtxVersion> {
        let plain = self.known()?.introduced;
        match self.suffix {
            None => Some(plain),
            Some(_) if self.number() < 90 => None,
            Some(NvidiaSuffix::FamilySpecific) if self.number() < 100 => None,
            Some(NvidiaSuffix::ArchSpecific) => Some(FIRST_ARCH_SPECIFIC.max(plain)),
            Some(NvidiaSuffix::FamilySpecific) => Some(FIRST_FAMILY_SPECIFIC.max(plain)),
        }
    }

    /// Returns the first CUDA driver for GPUs of this architecture, in the format of
    /// `cuDriverGetVersion`. Returns `None` if the architecture is not in the table.
    ///
    /// ```
    /// use offload_format::target::NvidiaArch;
    ///
    /// assert_eq!(NvidiaArch::parse("sm_120")?.first_driver(), Some(12080));
    /// # Ok::<(), offload_format::target::ParseError>(())
    /// ```
    #[inline]
    pub fn first_driver(&self) -> Option<u32> {
        self.first_ptx().map(|version| version.first_driver())
    }

    /// Returns the first supported version of clang that compiles for this architecture. Returns
    /// `None` if the architecture is not in the table, or if none of the tried versions compiles
    /// for it (suffix `f`).
    #[inline]
    pub(super) fn first_clang(&self) -> Option<u32> {
        let plain = self.known()?.first_clang;
        match self.suffix {
            None => Some(plain),
            Some(NvidiaSuffix::ArchSpecific) => {
                (self.number() >= 90).then(|| plain.max(FIRST_CLANG_WITH_SUFFIX))
            }
            Some(NvidiaSuffix::FamilySpecific) => None,
        }
    }

    fn with_suffix(self, suffix: Option<NvidiaSuffix>) -> Self {
        Self { suffix, ..self }
    }

    /// Whether `major.minor` is the compute capability of `self`. If `self` is 10.1, 11.0 is the
    /// same compute capability under its new name.
    pub(crate) fn is_own_of(&self, major: u32, minor: u32) -> bool {
        let own = (self.major, self.minor);
        own == (major, minor) || (own, (major, minor)) == RENAMED
    }

    /// Whether a device of compute capability `major.minor` runs code for the family (suffix `f`)
    /// of `self`. This is the case if the major numbers are equal and the device's minor number is
    /// not lower. Compute capability 10.1, the old name of 11.0, belongs to the family of 11.0.
    /// ptxas 13.5 accepts PTX for `sm_XYf` for exactly these devices.
    pub fn family_has(&self, major: u32, minor: u32) -> bool {
        let is_renamed = [(self.major, self.minor), (major, minor)].contains(&RENAMED.0);
        self.is_own_of(major, minor) || (!is_renamed && self.major == major && self.minor <= minor)
    }

    /// Whether this is the compute capability of a Tegra GPU (Jetson and DRIVE boards).
    pub(crate) fn is_tegra(&self) -> bool {
        is_tegra(self.major, self.minor)
    }

    /// Whether `self` and `major.minor` are different compute capabilities, and at least one of
    /// them is a Tegra GPU's. If so, a device of compute capability `major.minor` does not run
    /// machine code for `self`, even if the numbers would allow it.
    pub(crate) fn is_across_tegra(&self, major: u32, minor: u32) -> bool {
        (self.is_tegra() || is_tegra(major, minor)) && !self.is_own_of(major, minor)
    }
}

impl fmt::Display for NvidiaArch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.code {
            NvidiaCode::Cubin => "sm_",
            NvidiaCode::Ptx => "compute_",
        })?;
        write!(f, "{}", self.number())?;
        match self.suffix {
            Some(NvidiaSuffix::ArchSpecific) => f.write_str("a"),
            Some(NvidiaSuffix::FamilySpecific) => f.write_str("f"),
            None => Ok(()),
        }
    }
}

/// A PTX ISA version, from the directive `.version`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PtxVersion {
    /// The major number: 8 in 8.6.
    pub major: u32,
    /// The minor number: 6 in 8.6.
    pub minor: u32,
}

impl PtxVersion {
    /// Creates the version `major.minor`.
    pub const fn new(major: u32, minor: u32) -> Self {
        Self { major, minor }
    }

    /// Returns the first CUDA driver that compiles PTX of this version, in the format of
    /// `cuDriverGetVersion`: 12080 for CUDA 12.8. For versions newer than the release history,
    /// assumes the rule of 9.x: PTX ISA n.m came with CUDA (n+4).m.
    #[inline]
    pub(crate) fn first_driver(&self) -> u32 {
        match PTX_OF_DRIVERS.iter().find(|(version, _)| version >= self) {
            Some((_, driver)) => *driver,
            // The numbers may come from a file, so avoid overflow.
            None => {
                let major = self.major.saturating_add(4).saturating_mul(1000);
                major.saturating_add(self.minor.saturating_mul(10))
            }
        }
    }

    /// Returns the newest version that a CUDA driver compiles; `None` for drivers older than the
    /// release history. `driver` is in the format of `cuDriverGetVersion`.
    #[inline]
    pub(crate) fn newest_for(driver: u32) -> Option<Self> {
        let known = PTX_OF_DRIVERS.iter().rfind(|(_, first)| *first <= driver);
        let by_rule = Self::new((driver / 1000).saturating_sub(4), driver % 1000 / 10);
        let (last, _) = PTX_OF_DRIVERS[PTX_OF_DRIVERS.len() - 1];
        if by_rule > last { Some(by_rule) } else { known.map(|(version, _)| *version) }
    }
}

impl fmt::Display for PtxVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn names_round_trip() {
        for name in ["sm_50", "sm_90", "sm_90a", "sm_100f", "sm_121a", "compute_80", "compute_103f"]
        {
            assert_eq!(NvidiaArch::parse(name).unwrap().to_string(), name);
        }
    }

    #[test]
    fn malformed_names_say_where() {
        for (name, position) in [
            ("gfx90a", 0),
            ("sm_", 3),
            ("sm_9", 3),
            ("sm_1000", 3),
            ("sm_90x", 5),
            ("compute_09", 8),
            ("sm_90af", 5),
        ] {
            assert_eq!(NvidiaArch::parse(name).unwrap_err().position(), position, "{name}");
        }
    }

    #[test]
    fn architectures_are_not_older_than_their_versions() {
        for name in ["sm_90a", "sm_100f", "sm_110f", "sm_121a"] {
            let arch = NvidiaArch::parse(name).unwrap();
            assert!(arch.first_ptx() >= arch.with_suffix(None).first_ptx(), "{name}");
        }
        for Known { number, lowest_ptx, .. } in KNOWN {
            let arch = NvidiaArch::parse(&alloc::format!("sm_{number}")).unwrap();
            assert!(arch.first_ptx().is_some_and(|first| first <= *lowest_ptx), "{number}");
        }
        for name in ["sm_89a", "sm_90f", "sm_107"] {
            assert_eq!(NvidiaArch::parse(name).unwrap().first_ptx(), None, "{name}");
        }
    }

    #[test]
    fn drivers_follow_the_release_history() {
        for ((major, minor), driver) in [
            ((6, 0), 9000),
            ((6, 3), 10000),
            ((6, 5), 10020),
            ((7, 8), 11080),
            ((8, 5), 12050),
            ((8, 6), 12070),
            ((8, 8), 12090),
            ((9, 1), 13010),
        ] {
            assert_eq!(PtxVersion::new(major, minor).first_driver(), driver);
        }
        assert_eq!(PtxVersion::new(9, 7).first_driver(), 13070);
        assert_eq!(PtxVersion::new(u32::MAX, u32::MAX).first_driver(), u32::MAX);
        for (driver, newest) in [(12060, "8.5"), (12070, "8.6"), (13050, "9.5"), (14020, "10.2")] {
            assert_eq!(PtxVersion::newest_for(driver).unwrap().to_string(), newest);
        }
        assert_eq!(PtxVersion::newest_for(7050), None);
        for (version, driver) in PTX_OF_DRIVERS {
            assert_eq!(
                (version.first_driver(), PtxVersion::newest_for(*driver)),
                (*driver, Some(*version))
            );
        }
    }
}
