//! Names of targets. This module does not depend on any container format.
//!
//! A *target ID* names an AMD GPU and its modes, such as `gfx90a:sramecc+:xnack-`. NVIDIA numbers
//! its architectures: `sm_90a` for machine code, `compute_90` for PTX. A *target triple* names the
//! type of machine. [`OffloadArch`] is the target of one image in the form of an `--offload-arch`
//! argument: a target ID, an NVIDIA architecture, `spirv64`, or `cpu`.
//!
//! | name | grammar | source |
//! |---|---|---|
//! | target triple | `<arch>-<vendor>-<os>[-<env>]`; fields may be empty, omitted, or in a different position | LLVM's Triple, 22.1.8 |
//! | target ID | `<processor>(:<feature>(+\|-))*`; each feature once, in any order; the canonical form has them in alphabetical order | LLVM's AMDGPUUsage; clang 22.1.8 |
//! | processor | letters, digits, `-`, `_`: `gfx90a`, `gfx9-4-generic`, an alias (`fiji`), `amdgcnspirv` | the table in [`amdgpu`] |
//! | feature | `sramecc` or `xnack`, if the processor supports it | the same table |
//! | NVIDIA architecture | `(sm\|compute)_<major><minor>[a\|f]`; `minor` is the last digit | CUDA programming guide, CUDA 13 |
//!
//! A bundle entry ID, `<offload kind>-<arch>-<vendor>-<os>-<env>[-<target id>]`, combines a target
//! triple with one of the other names (see `bundle::EntryId`).
//!
//! This file lists the vendors; each vendor's own file contains the details.

pub mod amdgpu;
mod code;
mod id;
mod intel;
mod loader;
mod nvidia;
mod parse_error;
pub mod product;
mod similar;
mod triple;

pub use code::{ImageCode, PackImageKind};
pub use id::{FeatureState, TargetId};
pub use intel::{IntelArch, SpirvFeatures, SpirvVersion};
pub use loader::{Form, Needs};
pub use nvidia::{NVIDIA_PARAMETERS_ALIGN, NvidiaArch, NvidiaCode, NvidiaSuffix, PtxVersion};
pub use parse_error::ParseError;
pub use similar::similar;
pub use triple::TargetTriple;

use alloc::string::String;
use core::fmt;

/// The vendor of a device, which determines the device's targets, images, tools and driver. The CPU
/// counts as a vendor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Vendor {
    /// AMD's GPUs: code objects, which the HIP runtime loads.
    Amd,
    /// NVIDIA's GPUs: cubins and PTX, which the CUDA driver loads.
    Nvidia,
    /// GPUs whose drivers compile SPIR-V, mainly Intel's: SPIR-V, which OpenCL runtimes load.
    Intel,
    /// The CPU: shared objects, which the program loads.
    Cpu,
}

/// A vendor's properties, defined in the vendor's own file.
struct Row {
    name: &'static str,
    driver: &'static str,
    offload_kind: &'static str,
    triple: Option<&'static str>,
    device: &'static str,
    devices: &'static str,
    examples: &'static [&'static str],
    /// Whether a target triple names devices of the vendor.
    is_triple: fn(&TargetTriple<'_>) -> bool,
}

const CPU: Row = Row {
    name: "cpu",
    driver: "cpu",
    offload_kind: "cpu",
    triple: None,
    device: "a CPU",
    devices: "CPUs",
    examples: &["cpu"],
    is_triple: |triple| triple.is_known() && !triple.arch.starts_with("spir"),
};

impl Vendor {
    /// All vendors.
    pub const ALL: [Vendor; 4] = [Vendor::Amd, Vendor::Nvidia, Vendor::Intel, Vendor::Cpu];

    const fn row(self) -> &'static Row {
        match self {
            Vendor::Amd => &amdgpu::VENDOR,
            Vendor::Nvidia => &nvidia::VENDOR,
            Vendor::Intel => &intel::VENDOR,
            Vendor::Cpu => &CPU,
        }
    }

    /// Returns the vendor of a target triple's devices; `None` if unknown.
    #[inline]
    pub fn of_triple(triple: &TargetTriple<'_>) -> Option<Self> {
        Self::ALL.into_iter().find(|vendor| (vendor.row().is_triple)(triple))
    }

    /// Returns the vendor's name in target filters: `amd`, `nvidia`, `intel`, `cpu`.
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// Returns the vendor whose driver has this name ([`Vendor::driver`]).
    #[inline]
    pub fn of_driver(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|vendor| vendor.driver() == name)
    }

    /// Returns the name of the driver that runs the code, as used in device names: `hip`, `cuda`,
    /// `opencl`, `cpu`.
    pub const fn driver(self) -> &'static str {
        self.row().driver
    }

    /// Returns the offload kind of the code in containers: `hip` or `cuda`, or `cpu` for the CPU,
    /// which has no offload kind. clang 22.1.8 gives SPIR-V from HIP sources the kind `hip`.
    pub const fn offload_kind(self) -> &'static str {
        self.row().offload_kind
    }

    /// Returns the target triple of the vendor's GPUs; `None` for CPUs, which have many triples.
    pub const fn triple(self) -> Option<&'static str> {
        self.row().triple
    }

    /// Returns the description of one device, such as `an AMD GPU`.
    pub(crate) const fn device(self) -> &'static str {
        self.row().device
    }

    /// Returns the description of all devices, such as `AMD's GPUs`.
    pub const fn devices(self) -> &'static str {
        self.row().devices
    }

    /// Returns one or more of the vendor's targets, as examples for messages.
    pub const fn examples(self) -> &'static [&'static str] {
        self.row().examples
    }

    /// Whether the vendor's devices are GPUs.
    pub const fn is_gpu(self) -> bool {
        self.row().triple.is_some()
    }

    /// Whether host code can launch kernels with `<<<...>>>`, which compilers turn into calls to
    /// functions that the vendor's runtime must provide.
    pub const fn has_launch_syntax(self) -> bool {
        matches!(self, Vendor::Amd | Vendor::Nvidia)
    }

    /// Whether a kernel's parameters may have different offsets in images for different targets;
    /// [`NVIDIA_PARAMETERS_ALIGN`] explains why.
    pub const fn moves_parameters(self) -> bool {
        matches!(self, Vendor::Nvidia)
    }
}

impl fmt::Display for Vendor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The oldest major version of clang that offload-build supports.
pub const OLDEST_CLANG: u32 = 15;

/// The target of one image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OffloadArch<'a> {
    /// An AMD GPU: a target ID.
    Amdgpu(TargetId<'a>),
    /// An NVIDIA architecture: a cubin or PTX.
    Nvidia(NvidiaArch),
    /// SPIR-V, or an Intel architecture.
    Intel(IntelArch),
    /// The CPU that the host program is built for.
    Cpu,
}

impl<'a> OffloadArch<'a> {
    /// Reads `gfx90a:xnack-`, `sm_90a`, `compute_80`, `spirv64` or `cpu`.
    ///
    /// Returns an error if the name is malformed. Well-formed names that are not in the tables are
    /// accepted, because the compiler decides which targets exist.
    #[inline]
    pub fn parse(text: &'a str) -> Result<Self, ParseError> {
        if text == "cpu" {
            Ok(Self::Cpu)
        } else if NvidiaArch::has_prefix(text) {
            NvidiaArch::parse(text).map(Self::Nvidia)
        } else if let Some(arch) = IntelArch::find(text) {
            Ok(Self::Intel(arch))
        } else {
            let id = TargetId::parse(text)?;
            id.is_of_amd().then_some(Self::Amdgpu(id)).ok_or_else(|| {
                ParseError::new(
                    text,
                    0,
                    "not a target: expected an AMD target ID (gfx90a, gfx942:xnack-, gfx12-generic), \
                     an NVIDIA architecture (sm_90, compute_80), spirv64 or cpu",
                )
            })
        }
    }

    /// Returns the first major version of clang that compiles for the target, but at least
    /// [`OLDEST_CLANG`]. Returns `None` for the CPU, and for targets that are not in the tables.
    /// Vendors' own versions of clang may support a target earlier.
    ///
    /// ```
    /// use offload_format::target::OffloadArch;
    ///
    /// let first = |name| OffloadArch::parse(name).unwrap().first_clang();
    /// assert_eq!(first("gfx90a:xnack-"), Some(15));
    /// assert_eq!(first("gfx11-generic"), Some(19));
    /// assert_eq!(first("compute_90a"), Some(18));
    /// ```
    #[inline]
    pub fn first_clang(&self) -> Option<u32> {
        match self {
            OffloadArch::Amdgpu(id) => amdgpu::first_clang(id.processor()),
            OffloadArch::Nvidia(arch) => arch.first_clang(),
            OffloadArch::Intel(arch) => arch.first_clang(),
            OffloadArch::Cpu => None,
        }
    }

    /// Returns the name in canonical form.
    #[inline]
    pub fn to_canonical(&self) -> String {
        use alloc::string::ToString;
        match self {
            OffloadArch::Amdgpu(id) => id.to_canonical(),
            other => other.to_string(),
        }
    }

    /// Returns the vendor of the target's devices.
    pub const fn vendor(&self) -> Vendor {
        match self {
            OffloadArch::Amdgpu(_) => Vendor::Amd,
            OffloadArch::Nvidia(_) => Vendor::Nvidia,
            OffloadArch::Intel(_) => Vendor::Intel,
            OffloadArch::Cpu => Vendor::Cpu,
        }
    }

    /// Returns the target triple of the code; `None` for the CPU, whose code uses the host
    /// program's triple.
    pub fn triple(&self) -> Option<&'static str> {
        match self {
            OffloadArch::Amdgpu(id) => Some(id.triple()),
            _ => self.vendor().triple(),
        }
    }

    /// Returns the file extension of an image for the target: `hsaco`, `cubin`, `ptx`, `spv`, `so`.
    pub fn extension(&self) -> &'static str {
        match self {
            OffloadArch::Amdgpu(_) => "hsaco",
            OffloadArch::Nvidia(arch) => arch.code.extension(),
            OffloadArch::Intel(arch) => arch.extension(),
            OffloadArch::Cpu => "so",
        }
    }

    /// Whether the image for the target is PTX.
    pub fn is_ptx(&self) -> bool {
        self.nvidia().is_some_and(|arch| arch.code == NvidiaCode::Ptx)
    }

    /// Returns the target ID if the target is an AMD GPU.
    pub fn target_id(&self) -> Option<TargetId<'a>> {
        match self {
            OffloadArch::Amdgpu(id) => Some(*id),
            _ => None,
        }
    }

    /// Returns the NVIDIA architecture, if the target is one.
    pub fn nvidia(&self) -> Option<NvidiaArch> {
        match self {
            OffloadArch::Nvidia(arch) => Some(*arch),
            _ => None,
        }
    }

    /// Whether two different targets may fit the same device ([`TargetId::conflicts_with`]). If so,
    /// they must not be built together.
    #[inline]
    pub fn conflicts_with(&self, other: &OffloadArch<'_>) -> bool {
        self.target_id().zip(other.target_id()).is_some_and(|(id, other)| id.conflicts_with(&other))
    }
}

impl fmt::Display for OffloadArch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OffloadArch::Amdgpu(id) => id.fmt(f),
            OffloadArch::Nvidia(arch) => arch.fmt(f),
            OffloadArch::Intel(arch) => arch.fmt(f),
            OffloadArch::Cpu => f.write_str("cpu"),
        }
    }
}

/// The target of one image, in canonical form: an [`OffloadArch`] that owns its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target(String);

impl Target {
    /// Reads a target in any spelling, like [`OffloadArch::parse`].
    ///
    /// Returns an error only for malformed targets, because the compiler decides which ones exist.
    #[inline]
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        OffloadArch::parse(text).map(|arch| Self(arch.to_canonical()))
    }

    /// Returns the parsed parts, for a `match`.
    #[inline]
    pub fn arch(&self) -> OffloadArch<'_> {
        OffloadArch::parse(&self.0).expect("the canonical form of a target is a target")
    }

    /// Returns the vendor of the target's devices.
    #[inline]
    pub fn vendor(&self) -> Vendor {
        self.arch().vendor()
    }

    /// Whether the target is a GPU.
    #[inline]
    pub fn is_gpu(&self) -> bool {
        self.vendor().is_gpu()
    }

    /// Whether the image for the target is PTX.
    #[inline]
    pub fn is_ptx(&self) -> bool {
        self.arch().is_ptx()
    }

    /// Returns the canonical name, such as `gfx906:sramecc-:xnack+`.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Target {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
