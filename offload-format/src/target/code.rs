//! The code of an image: its target and its form.

use super::{
    IntelArch, NvidiaArch, NvidiaCode, OffloadArch, PtxVersion, SpirvFeatures, SpirvVersion,
    TargetId, Vendor,
};
use core::fmt;

/// The form of an image in a pack: an [`ImageCode`] without its target. `S` is the text type.
///
/// Source: the pages of offload-format's modules `image` and `select`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PackImageKind<S = &'static str> {
    /// An AMD code object.
    CodeObject {
        /// The code object version.
        version: u32,
    },
    /// NVIDIA machine code.
    Cubin,
    /// PTX text, followed by a NUL in the pack.
    Ptx {
        /// The PTX ISA version of the text.
        version: PtxVersion,
    },
    /// SPIR-V.
    SpirV {
        /// The SPIR-V version.
        version: SpirvVersion,
        /// The features that the module needs.
        needs: SpirvFeatures,
    },
    /// A shared object for the CPU.
    SharedObject {
        /// The host's target triple, as Cargo spells it.
        triple: S,
    },
}

impl<S> PackImageKind<S> {
    /// Returns this kind, with its text converted to another type by `hold`.
    pub fn map_text<T>(self, hold: impl FnOnce(S) -> T) -> PackImageKind<T> {
        match self {
            PackImageKind::CodeObject { version } => PackImageKind::CodeObject { version },
            PackImageKind::Cubin => PackImageKind::Cubin,
            PackImageKind::Ptx { version } => PackImageKind::Ptx { version },
            PackImageKind::SpirV { version, needs } => PackImageKind::SpirV { version, needs },
            PackImageKind::SharedObject { triple } => {
                PackImageKind::SharedObject { triple: hold(triple) }
            }
        }
    }

    /// Returns the vendor of the devices that run such images.
    pub const fn vendor(&self) -> Vendor {
        match self {
            PackImageKind::CodeObject { .. } => Vendor::Amd,
            PackImageKind::Cubin | PackImageKind::Ptx { .. } => Vendor::Nvidia,
            PackImageKind::SpirV { .. } => Vendor::Intel,
            PackImageKind::SharedObject { .. } => Vendor::Cpu,
        }
    }

    /// Whether the image is text, which must be followed by a NUL.
    pub const fn is_ptx(&self) -> bool {
        matches!(self, PackImageKind::Ptx { .. })
    }
}

impl<S: AsRef<str>> PackImageKind<S> {
    /// Returns the target triple of the image.
    pub fn triple(&self) -> &str {
        match self {
            PackImageKind::SharedObject { triple } => triple.as_ref(),
            _ => self.vendor().triple().unwrap_or_default(),
        }
    }
}

impl<S> fmt::Display for PackImageKind<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            PackImageKind::CodeObject { .. } => "code object",
            PackImageKind::Cubin => "cubin",
            PackImageKind::Ptx { .. } => "PTX",
            PackImageKind::SpirV { .. } => "SPIR-V",
            PackImageKind::SharedObject { .. } => "shared object",
        })
    }
}

/// The code of an image: its target and its form, as far as known.
///
/// Source: the page of offload-format's module `select`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ImageCode<'a> {
    /// An AMD code object, or SPIR-V for AMD GPUs.
    Amdgpu {
        /// The target of the code.
        id: TargetId<'a>,
        /// The code object version, if known.
        version: Option<u32>,
    },
    /// NVIDIA machine code.
    Cubin(NvidiaArch),
    /// PTX.
    Ptx {
        /// The target of the code.
        arch: NvidiaArch,
        /// The PTX ISA version, if known.
        version: Option<PtxVersion>,
    },
    /// SPIR-V.
    SpirV {
        /// The SPIR-V version, if known.
        version: Option<SpirvVersion>,
        /// The features that the module needs, as far as known.
        needs: SpirvFeatures,
    },
    /// Machine code for an Intel architecture.
    Intel(IntelArch),
    /// A shared object for the CPU of this target triple.
    Cpu(&'a str),
    /// An AMD code object for a processor that is not in the table, with the processor's number
    /// from the ELF header.
    UnknownProcessor(u8),
    /// Code that no device in this crate can run.
    Other,
}

impl ImageCode<'static> {
    /// Returns the code of an image in a pack, from the target and the kind in the pack's index.
    /// Returns `None` if the target is malformed or belongs to a different kind of image.
    #[inline]
    pub const fn of_pack_image(target: &'static str, kind: PackImageKind) -> Option<Self> {
        match kind {
            PackImageKind::CodeObject { version } => match TargetId::check(target) {
                Ok(id) => Some(ImageCode::Amdgpu { id, version: Some(version) }),
                Err(_) => None,
            },
            PackImageKind::Cubin => match NvidiaArch::check(target) {
                Ok(arch) => Some(ImageCode::Cubin(arch)),
                Err(_) => None,
            },
            PackImageKind::Ptx { version } => match NvidiaArch::check(target) {
                Ok(arch) => Some(ImageCode::Ptx { arch, version: Some(version) }),
                Err(_) => None,
            },
            PackImageKind::SpirV { version, needs } => match target.as_bytes() {
                b"spirv64" => Some(ImageCode::SpirV { version: Some(version), needs }),
                _ => None,
            },
            PackImageKind::SharedObject { triple } => Some(ImageCode::Cpu(triple)),
        }
    }
}

impl<'a> ImageCode<'a> {
    /// SPIR-V of unknown version and with unknown features.
    const SPIRV: Self = ImageCode::SpirV { version: None, needs: SpirvFeatures(0) };

    /// Returns the code for a target. If `is_ptx` is set, `sm_*` also means PTX, because clang
    /// names PTX after the GPU.
    #[inline]
    pub fn of_arch(arch: OffloadArch<'a>, is_ptx: bool) -> Self {
        match arch {
            OffloadArch::Amdgpu(id) => ImageCode::Amdgpu { id, version: None },
            OffloadArch::Nvidia(arch) if is_ptx || arch.code == NvidiaCode::Ptx => {
                ImageCode::Ptx { arch: arch.with_code(NvidiaCode::Ptx), version: None }
            }
            OffloadArch::Nvidia(arch) => ImageCode::Cubin(arch),
            OffloadArch::Intel(IntelArch::Spirv64) => ImageCode::SPIRV,
            OffloadArch::Intel(arch) => ImageCode::Intel(arch),
            // `cpu-` is parsed as a CPU, like any triple that does not name a GPU.
            OffloadArch::Cpu => ImageCode::Cpu("cpu-"),
        }
    }

    /// Returns the code for a target ID and a target triple; [`ImageCode::of_arch`] explains
    /// `is_ptx`.
    #[cfg(feature = "packs")]
    #[inline]
    pub fn named(target: Option<&'a str>, triple: Option<&'a str>, is_ptx: bool) -> Self {
        match target.map(OffloadArch::parse) {
            Some(Ok(arch)) if arch.vendor().is_gpu() => return Self::of_arch(arch, is_ptx),
            _ => {}
        }
        // In DPC++, `spir64` means SPIR-V for any device; code for one device has a name such as
        // `spir64_gen`. In programs, these names omit the vendor and the system.
        if let Some([b's', b'p', b'i', b'r', b'6', b'4', rest @ ..]) = triple.map(str::as_bytes) {
            let is_spirv = matches!(rest, [] | [b'-', ..]);
            return if is_spirv { ImageCode::SPIRV } else { ImageCode::Other };
        }
        let Some((text, triple)) =
            triple.and_then(|text| Some((text, super::TargetTriple::parse(text).ok()?)))
        else {
            return ImageCode::Other;
        };
        // In LLVM's main branch, the triple `amdgpu9.06-amd-amdhsa` names the processor, and images
        // with such a triple may have no `arch` (target ID).
        match triple.amdgpu_processor().map(TargetId::parse) {
            Some(Ok(id)) if target.is_none() => ImageCode::Amdgpu { id, version: None },
            _ if triple.is_amdgpu() || matches!(triple.arch, "nvptx" | "nvptx64") => {
                ImageCode::Other
            }
            _ if Vendor::of_triple(&triple) == Some(Vendor::Intel) => ImageCode::SPIRV,
            _ if triple.arch == "spirv64" => ImageCode::Other,
            _ => ImageCode::Cpu(text),
        }
    }

    /// Sets the PTX ISA version, if the code is PTX of unknown version.
    #[must_use]
    pub fn or_ptx_version(self, version: Option<PtxVersion>) -> Self {
        match self {
            ImageCode::Ptx { arch, version: None } => ImageCode::Ptx { arch, version },
            other => other,
        }
    }

    /// Returns the target ID, if the code is for AMD GPUs.
    pub fn target_id(&self) -> Option<TargetId<'a>> {
        match self {
            ImageCode::Amdgpu { id, .. } => Some(*id),
            _ => None,
        }
    }

    /// Returns the vendor of the devices that run the code; `None` if unknown.
    pub const fn vendor(&self) -> Option<Vendor> {
        match self {
            ImageCode::Amdgpu { .. } | ImageCode::UnknownProcessor(_) => Some(Vendor::Amd),
            ImageCode::Cubin(_) | ImageCode::Ptx { .. } => Some(Vendor::Nvidia),
            ImageCode::SpirV { .. } | ImageCode::Intel(_) => Some(Vendor::Intel),
            ImageCode::Cpu(_) => Some(Vendor::Cpu),
            ImageCode::Other => None,
        }
    }

    /// Returns the parts of the target that an image's label may omit, as a sort key: processor,
    /// features and code object version, or the triple.
    pub(crate) fn sort_key(&self) -> (&'a str, &'a str, Option<u32>) {
        match *self {
            ImageCode::Amdgpu { id, version } => (id.processor(), id.features_text(), version),
            ImageCode::Cpu(triple) => (triple, "", None),
            _ => ("", "", None),
        }
    }

    /// Returns the target triple, if the code is for a CPU.
    pub fn cpu_triple(&self) -> Option<&'a str> {
        match self {
            ImageCode::Cpu(triple) => Some(triple),
            _ => None,
        }
    }

    /// Whether the code is SPIR-V.
    #[cfg(feature = "packs")]
    #[inline]
    pub(crate) fn is_spirv(&self) -> bool {
        matches!(self, ImageCode::SpirV { .. })
            || self.target_id().is_some_and(|id| id.processor() == super::amdgpu::SPIRV)
    }

    /// Sets the version and the needed features, if the code is SPIR-V for any GPU.
    #[cfg(feature = "packs")]
    pub(crate) fn with_spirv(self, version: SpirvVersion, needs: SpirvFeatures) -> Self {
        match self {
            ImageCode::SpirV { .. } => ImageCode::SpirV { version: Some(version), needs },
            other => other,
        }
    }

    /// Whether the code is PTX.
    pub fn is_ptx(&self) -> bool {
        matches!(self, ImageCode::Ptx { .. })
    }
}

#[cfg(all(test, feature = "packs"))]
mod tests {
    use super::*;
    use alloc::borrow::ToOwned;
    use alloc::format;
    use alloc::string::String;

    /// Checks that the triple names the processor if an image has no `arch`, as in images of LLVM's
    /// main branch.
    #[test]
    fn a_triple_with_a_number_names_the_processor() {
        let processor = |target, triple| match ImageCode::named(target, Some(triple), false) {
            ImageCode::Amdgpu { id, .. } => id.processor().to_owned(),
            ImageCode::Cpu(triple) => format!("CPU {triple}"),
            _ => String::new(),
        };
        for (target, triple, expected) in [
            (None, "amdgpu9.06-amd-amdhsa", "gfx906"),
            (None, "amdgpu9-amd-amdhsa", "gfx9-generic"),
            (Some("gfx90a"), "amdgpu9.0a-amd-amdhsa", "gfx90a"),
            (None, "amdgpu-amd-amdhsa", ""),
            (None, "amdgcn-amd-amdhsa", ""),
            (None, "amdgpu6-amd-amdhsa", ""),
            (None, "nvptx64-nvidia-cuda", ""),
            (None, "x86_64-unknown-linux-gnu", "CPU x86_64-unknown-linux-gnu"),
        ] {
            assert_eq!(processor(target, triple), expected, "{target:?} {triple}");
        }
    }
}
