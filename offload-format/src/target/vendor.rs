//! The vendors of devices, with what is particular to each.

use super::TargetTriple;
use core::fmt;

/// The vendor of a device, which decides about its targets, images, tools and driver. The CPU
/// counts as a vendor.
///
/// The names and their references are on the [module's page](super).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Vendor {
    /// AMD's GPUs: code objects, which the HIP runtime loads.
    Amd,
    /// NVIDIA's GPUs: cubins and PTX, which the CUDA driver loads.
    Nvidia,
    /// The CPU: shared objects, which the program itself loads.
    Cpu,
}

struct Row {
    name: &'static str,
    driver: &'static str,
    triple: Option<&'static str>,
    device: &'static str,
    devices: &'static str,
    examples: &'static [&'static str],
}

const AMD: Row = Row {
    name: "amd",
    driver: "hip",
    triple: Some("amdgcn-amd-amdhsa"),
    device: "an AMD GPU",
    devices: "AMD's GPUs",
    examples: &["gfx90a", "gfx1100"],
};

const NVIDIA: Row = Row {
    name: "nvidia",
    driver: "cuda",
    triple: Some("nvptx64-nvidia-cuda"),
    device: "an NVIDIA GPU",
    devices: "NVIDIA's GPUs",
    examples: &["sm_80", "compute_80"],
};

const CPU: Row = Row {
    name: "cpu",
    driver: "cpu",
    triple: None,
    device: "a CPU",
    devices: "CPUs",
    examples: &["cpu"],
};

impl Vendor {
    /// All vendors.
    pub const ALL: [Vendor; 3] = [Vendor::Amd, Vendor::Nvidia, Vendor::Cpu];

    const fn row(self) -> &'static Row {
        match self {
            Vendor::Amd => &AMD,
            Vendor::Nvidia => &NVIDIA,
            Vendor::Cpu => &CPU,
        }
    }

    /// Returns the vendor of the devices that a target triple names; `None` if this crate knows
    /// none, as for SPIR-V that is for any GPU.
    pub fn of_triple(triple: &TargetTriple<'_>) -> Option<Self> {
        match triple.arch {
            _ if triple.is_amdgpu() || triple.vendor == "amd" => Some(Vendor::Amd),
            arch if arch.starts_with("nvptx") => Some(Vendor::Nvidia),
            arch if triple.is_known() && !arch.starts_with("spir") => Some(Vendor::Cpu),
            _ => None,
        }
    }

    /// Returns the vendor's name in filters of targets: `amd`, `nvidia`, `cpu`.
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// Returns the name of the driver that runs the code, in names of devices and as the offload
    /// kind in containers: `hip`, `cuda`; `cpu` for the CPU, which has no offload kind.
    pub const fn driver(self) -> &'static str {
        self.row().driver
    }

    /// Returns the target triple of the vendor's GPUs; `None` for CPUs, which have many.
    pub const fn triple(self) -> Option<&'static str> {
        self.row().triple
    }

    /// Returns the words for one device: `an AMD GPU`.
    pub const fn device(self) -> &'static str {
        self.row().device
    }

    /// Returns the words for all devices: `AMD's GPUs`.
    pub const fn devices(self) -> &'static str {
        self.row().devices
    }

    /// Returns targets of the vendor, for messages; there is at least one.
    pub const fn examples(self) -> &'static [&'static str] {
        self.row().examples
    }

    /// Whether the vendor's devices are GPUs.
    pub const fn is_gpu(self) -> bool {
        self.row().triple.is_some()
    }

    /// Whether the same kernel may have its parameters at different offsets in images for
    /// different targets: [`NVIDIA_PARAMETERS_ALIGN`](super::NVIDIA_PARAMETERS_ALIGN).
    pub const fn moves_parameters(self) -> bool {
        matches!(self, Vendor::Nvidia)
    }
}

impl fmt::Display for Vendor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
