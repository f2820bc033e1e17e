//! How well an image fits a device, or why it does not fit.

use crate::target::{
    FeatureState, ImageCode, IntelArch, NvidiaArch, NvidiaSuffix, PtxVersion, SpirvFeatures,
    SpirvVersion,
};
use alloc::string::String;
use core::cmp::Reverse;
use core::fmt;

/// How an image fits a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fit {
    /// The image was made for the device's processor; its target may name features.
    Processor {
        /// How many features the image's target names.
        features: usize,
        /// The image's code object version, if known.
        version: Option<u32>,
    },
    /// The image was made for a generic target that covers the device's processor; its target may
    /// name features.
    GenericTarget {
        /// How many features the image's target names.
        features: usize,
        /// The image's code object version, if known.
        version: Option<u32>,
    },
    /// SPIR-V, which the runtime compiles.
    SpirV,
    /// NVIDIA machine code for this architecture.
    Cubin(NvidiaArch),
    /// PTX, which the driver compiles.
    Ptx {
        /// The target of the PTX.
        arch: NvidiaArch,
        /// The image's PTX ISA version, if known.
        version: Option<PtxVersion>,
    },
    /// The image was made for the CPU that this program runs on.
    Cpu,
}

/// The sort key of images, of which the greatest wins: the kind of image, the number of named
/// features or the compute capability, the suffix, the PTX version and the code object version.
/// Lower code object versions are preferred, because more runtimes load them. Unknown values come
/// last.
type Rank = (u8, usize, u8, Option<PtxVersion>, Reverse<u32>);

impl Fit {
    /// Whether this fit is preferred over `other` for the same device.
    /// [`is_before`](super::is_before) decides between equal fits.
    #[inline]
    pub fn is_better_than(&self, other: &Fit) -> bool {
        self.rank() > other.rank()
    }

    pub(super) fn rank(&self) -> Rank {
        let nvidia = |kind, arch: &NvidiaArch, version| {
            let suffix = match arch.suffix {
                Some(NvidiaSuffix::ArchSpecific) => 2,
                Some(NvidiaSuffix::FamilySpecific) => 1,
                None => 0,
            };
            (kind, arch.number() as usize, suffix, version, Reverse(0))
        };
        match self {
            Fit::Processor { features, version } => {
                (2, *features, 0, None, Reverse(version.unwrap_or(u32::MAX)))
            }
            Fit::GenericTarget { features, version } => {
                (1, *features, 0, None, Reverse(version.unwrap_or(u32::MAX)))
            }
            Fit::SpirV => (0, 0, 0, None, Reverse(0)),
            Fit::Cubin(arch) => nvidia(2, arch, None),
            Fit::Ptx { arch, version } => nvidia(1, arch, *version),
            Fit::Cpu => (2, 0, 0, None, Reverse(0)),
        }
    }
}

impl fmt::Display for Fit {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fit::Processor { features: 0, .. } => {
                f.write_str("made for this processor, in any mode")
            }
            Fit::Processor { .. } => f.write_str("made for this processor in this mode"),
            Fit::GenericTarget { .. } => {
                f.write_str("made for the family that this processor belongs to")
            }
            Fit::SpirV => f.write_str("SPIR-V, compiled by the runtime"),
            Fit::Cubin(arch) | Fit::Ptx { arch, .. } => {
                let (code, others, by) = match self {
                    Fit::Cubin(_) => ("machine code", ": same major, minor not higher", ""),
                    _ => ("PTX", " and up", ", compiled by the driver"),
                };
                let (family, others) = match arch.suffix {
                    None => ("", others),
                    Some(NvidiaSuffix::FamilySpecific) => ("the family of ", ""),
                    Some(NvidiaSuffix::ArchSpecific) => ("", " only"),
                };
                let (major, minor) = (arch.major, arch.minor);
                write!(f, "{code} for {family}{major}.{minor}{others}{by}")
            }
            Fit::Cpu => f.write_str("made for this CPU"),
        }
    }
}

/// The reason an image does not run on a device. `S` is the text type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal<S = String> {
    /// The image is code for a different kind of device, such as `an AMD GPU`.
    OtherKindOfDevice(&'static str),
    /// The image is code for a different AMD processor.
    OtherProcessor,
    /// The image is for a generic target that does not cover the device's processor.
    OtherFamily,
    /// The image needs a feature state that the device does not have, or does not report.
    Feature {
        /// `xnack` or `sramecc`.
        name: S,
        /// The state that the image needs.
        image: FeatureState,
        /// The state that the device reports.
        device: FeatureState,
    },
    /// The image is for a generic target, but runtimes refuse generic targets in this code object
    /// version.
    GenericBeforeVersion6 {
        /// The image's code object version.
        version: u32,
    },
    /// Machine code for a different major compute capability.
    OtherMajor(NvidiaArch),
    /// Machine code for a Tegra GPU on a different kind of device, or vice versa.
    AcrossTegra(NvidiaArch),
    /// The image was made for a higher compute capability than the device's.
    ComputeCapabilityTooHigh(NvidiaArch),
    /// The image runs only on one compute capability (suffix `a`) or family (suffix `f`), which is
    /// not the device's.
    OtherSpecific(NvidiaArch),
    /// The image's PTX version is too new for the device's driver.
    PtxTooNew {
        /// The PTX ISA version of the image.
        version: PtxVersion,
        /// The device's driver version, in the format of `cuDriverGetVersion`.
        driver: u32,
    },
    /// The loader refuses the image because of its form, its toolkit or a missing part. The text
    /// comes from [`Needs`](crate::target::Needs).
    NotLoaded(S),
    /// The image's SPIR-V version is too new for the device's driver.
    SpirvTooNew {
        /// The version of the image.
        version: SpirvVersion,
        /// The newest version that the driver accepts.
        driver: SpirvVersion,
    },
    /// The image is SPIR-V and needs features that the device lacks.
    SpirvNeeds(SpirvFeatures),
    /// The image is machine code for this Intel architecture, but the device's driver accepts only
    /// SPIR-V.
    NoSpirv(IntelArch),
    /// The image was made for a different CPU, operating system or C library. The text is the
    /// image's target triple.
    OtherHost(S),
    /// The image was made for an AMD processor that is not in the table, with this number in ELF
    /// headers.
    UnknownProcessor(u8),
    /// The image's kind is unknown to these rules, or the image's target triple is malformed.
    NotUnderstood,
}

impl<S> Refusal<S> {
    /// Returns the refusal for code made for a different vendor's devices.
    #[inline(always)]
    pub(super) fn of(code: ImageCode<'_>) -> Self {
        code.vendor()
            .map_or(Refusal::NotUnderstood, |vendor| Refusal::OtherKindOfDevice(vendor.device()))
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::OtherKindOfDevice(kind) => write!(f, "code for {kind}"),
            Refusal::OtherProcessor => f.write_str("code for another processor"),
            Refusal::OtherFamily => f.write_str("code for another family of processors"),
            Refusal::Feature { name, image, device: FeatureState::Any } => {
                write!(f, "needs {name}{image}, but the device does not report {name}")
            }
            Refusal::Feature { name, image, device } => {
                write!(f, "needs {name}{image}, but the device has {name}{device}")
            }
            Refusal::GenericBeforeVersion6 { version } => {
                write!(
                    f,
                    "a generic target needs code object version 6, but this image has version {version}"
                )
            }
            Refusal::OtherMajor(arch) => {
                write!(
                    f,
                    "machine code for compute capability {}.x, from {}.{} on",
                    arch.major, arch.major, arch.minor
                )
            }
            Refusal::AcrossTegra(arch) if arch.is_tegra() => {
                write!(
                    f,
                    "machine code for compute capability {}.{}, only for Tegra GPUs",
                    arch.major, arch.minor
                )
            }
            Refusal::AcrossTegra(arch) => {
                write!(f, "machine code for {}.{}, which no Tegra GPU runs", arch.major, arch.minor)
            }
            Refusal::ComputeCapabilityTooHigh(arch) => {
                write!(f, "needs compute capability {}.{}", arch.major, arch.minor)
            }
            Refusal::OtherSpecific(arch) => match arch.suffix {
                Some(NvidiaSuffix::FamilySpecific) => {
                    write!(
                        f,
                        "runs only on the family of compute capability {}.{} (suffix 'f')",
                        arch.major, arch.minor
                    )
                }
                _ => {
                    write!(
                        f,
                        "runs only on compute capability {}.{} (suffix 'a')",
                        arch.major, arch.minor
                    )
                }
            },
            Refusal::NotLoaded(needs) => write!(f, "{needs}"),
            Refusal::SpirvTooNew { version, driver } => {
                write!(f, "SPIR-V {version}, but the driver accepts SPIR-V up to {driver}")
            }
            Refusal::SpirvNeeds(features) => {
                write!(f, "uses {features}, which the device lacks")
            }
            Refusal::NoSpirv(arch) => {
                write!(f, "machine code for {arch}, but this device accepts only SPIR-V")
            }
            Refusal::PtxTooNew { version, driver } => {
                write!(f, "the driver for CUDA {} loads ", driver_text(*driver))?;
                match PtxVersion::newest_for(*driver) {
                    Some(newest) => write!(f, "PTX up to {newest}")?,
                    None => f.write_str("older PTX")?,
                }
                let needed = driver_text(version.first_driver());
                write!(f, ", but this image is PTX {version}, which needs CUDA {needed} or later")
            }
            Refusal::OtherHost(triple) => write!(f, "made for {triple}"),
            Refusal::UnknownProcessor(number) => write!(
                f,
                "made for AMD's processor number {number:#04x}, which this version of \
                 offload-format does not know"
            ),
            Refusal::NotUnderstood => f.write_str("not an image of a known kind or target"),
        }
    }
}

pub(super) fn driver_text(version: u32) -> String {
    alloc::format!("{}.{}", version / 1000, version % 1000 / 10)
}
