//! One item of a list of targets, as in `--offload-arch` and `OFFLOAD_ARCH`.

use super::{NvidiaArch, NvidiaCode, ParseError, TargetId, Vendor, amdgpu};
use alloc::string::String;
use core::fmt;

/// The oldest major version of clang that offload-build supports.
pub const OLDEST_CLANG: u32 = 15;

/// The target of one image.
///
/// The names and their references are on the [module's page](super).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OffloadArch<'a> {
    /// An AMD GPU: a target ID.
    Amdgpu(TargetId<'a>),
    /// An NVIDIA architecture: a cubin or PTX.
    Nvidia(NvidiaArch),
    /// The CPU that the host program is built for.
    Cpu,
}

impl<'a> OffloadArch<'a> {
    /// Reads `gfx90a:xnack-`, `sm_90a`, `compute_80` or `cpu`.
    ///
    /// Returns an error if the name is malformed. A well-formed name that is not in the tables is
    /// accepted, because the compiler decides which targets exist.
    pub fn parse(text: &'a str) -> Result<Self, ParseError> {
        if text == "cpu" {
            Ok(Self::Cpu)
        } else if text.starts_with("sm_") || text.starts_with("compute_") {
            NvidiaArch::parse(text).map(Self::Nvidia)
        } else {
            let id = TargetId::parse(text)?;
            if amdgpu::is_processor_name(id.processor()) || id.processor() == amdgpu::SPIRV {
                Ok(Self::Amdgpu(id))
            } else {
                Err(ParseError::new(
                    text,
                    0,
                    "not a target: expected an AMD target ID (gfx90a, gfx942:xnack-, gfx12-generic), \
                     an NVIDIA architecture (sm_90, compute_80) or cpu",
                ))
            }
        }
    }

    /// Returns the first major version of clang that compiles for the target, which is at least
    /// [`OLDEST_CLANG`]. Returns `None` for the CPU, and for targets that are not in the tables.
    /// Vendors' own versions of clang may know a target earlier.
    ///
    /// ```
    /// use offload_format::target::OffloadArch;
    ///
    /// let first = |name| OffloadArch::parse(name).unwrap().first_clang();
    /// assert_eq!(first("gfx90a:xnack-"), Some(15));
    /// assert_eq!(first("gfx11-generic"), Some(19));
    /// assert_eq!(first("compute_90a"), Some(18));
    /// ```
    pub fn first_clang(&self) -> Option<u32> {
        match self {
            OffloadArch::Amdgpu(id) => amdgpu::first_clang(id.processor()),
            OffloadArch::Nvidia(arch) => arch.first_clang(),
            OffloadArch::Cpu => None,
        }
    }

    /// Returns the name in canonical form.
    pub fn to_canonical(&self) -> String {
        use alloc::string::ToString;
        match self {
            OffloadArch::Amdgpu(id) => id.to_canonical(),
            other => other.to_string(),
        }
    }

    /// Returns the vendor of the devices that the target names.
    pub const fn vendor(&self) -> Vendor {
        match self {
            OffloadArch::Amdgpu(_) => Vendor::Amd,
            OffloadArch::Nvidia(_) => Vendor::Nvidia,
            OffloadArch::Cpu => Vendor::Cpu,
        }
    }

    /// Returns the target triple of the code; `None` for the CPU, since only the host program
    /// determines it.
    pub fn triple(&self) -> Option<&'static str> {
        match self {
            OffloadArch::Amdgpu(id) if id.processor() == amdgpu::SPIRV => {
                Some("spirv64-amd-amdhsa")
            }
            _ => self.vendor().triple(),
        }
    }

    /// Returns the extension of a file with an image for the target: `hsaco`, `cubin`, `ptx`, `so`.
    pub fn extension(&self) -> &'static str {
        match self {
            OffloadArch::Amdgpu(_) => "hsaco",
            OffloadArch::Nvidia(_) if self.is_ptx() => "ptx",
            OffloadArch::Nvidia(_) => "cubin",
            OffloadArch::Cpu => "so",
        }
    }

    /// Whether the image for the target is PTX.
    pub fn is_ptx(&self) -> bool {
        self.nvidia().is_some_and(|arch| arch.code == NvidiaCode::Ptx)
    }

    /// Returns the target ID, if the target is an AMD GPU.
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

    /// Whether these two different targets may fit the same device, so that only one of them may be
    /// built: [`TargetId::conflicts_with`].
    pub fn conflicts_with(&self, other: &OffloadArch<'_>) -> bool {
        self.target_id().zip(other.target_id()).is_some_and(|(id, other)| id.conflicts_with(&other))
    }
}

impl fmt::Display for OffloadArch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OffloadArch::Amdgpu(id) => id.fmt(f),
            OffloadArch::Nvidia(arch) => arch.fmt(f),
            OffloadArch::Cpu => f.write_str("cpu"),
        }
    }
}
