//! Properties stored in the image itself: its target and its kernels.
//!
//! Sources: LLVM's AMDGPUUsage (22.1.8) for AMD code objects; files of ptxas 12.9 and 13.5, and
//! cuobjdump 13.5, for cubins; NVIDIA's PTX ISA, and ptxas 13.5, for PTX; LLVM's BitCodeFormat
//! (22.1.8) for bitcode. The project's docs/formats.md describes the details ("Headers of images",
//! "Kernels of images").
//!
//! ```
//! use offload_format::image::ImageHeader;
//!
//! let Ok(ImageHeader::Ptx(header)) = ImageHeader::parse(b".version 8.0\n.target sm_90") else { panic!() };
//! assert_eq!(header.arch.to_string(), "compute_90");
//! ```

mod bitcode;
#[cfg(feature = "containers")]
mod bitcode_module;
mod code_object;
mod cubin;
mod elf;
mod elf_object;
mod kernels;
mod pe;
mod ptx;
mod spirv;

pub use bitcode::Bitcode;
pub use code_object::CodeObjectHeader;
pub use cubin::CubinHeader;
pub use elf::{GlobalSymbol, global_symbols, unique_symbol};
pub use elf_object::{ElfSection, weaken};
pub use kernels::{Argument, Arguments, Kernel, Kernels};
#[doc(hidden)]
pub use ptx::{PTX_GROUPS, PTX_INSTRUCTIONS, PtxInstruction};
pub use ptx::{PtxHeader, UnknownPtx, oldest_ptx_version};
pub use spirv::spirv_in_offload_binary;

use crate::offload_binary::StatedKind;
use crate::reader::Reader;
use crate::spirv::SpirvHeader;
use crate::target::{ImageCode, NvidiaCode, OffloadArch, PackImageKind, Vendor};
use crate::{Error, ErrorKind, Result};
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;

/// The kind of an image. Bundles and offload binaries are containers, not images, but NVIDIA's
/// fatbin counts as an image, because other containers may hold one. Not `#[non_exhaustive]`, so
/// that a `match` must cover every kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageHeader {
    /// Machine code for AMD GPUs.
    CodeObject(CodeObjectHeader),
    /// Machine code for NVIDIA GPUs.
    Cubin(CubinHeader),
    /// PTX: text for NVIDIA GPUs, which the driver compiles.
    Ptx(PtxHeader),
    /// NVIDIA's container of cubins and PTX.
    Fatbin,
    /// LLVM bitcode.
    Bitcode,
    /// SPIR-V.
    SpirV(SpirvHeader),
    /// An ELF file for any other machine, taken to be a CPU.
    Elf {
        /// `e_machine`: 62 for x86-64, 183 for AArch64.
        machine: u16,
    },
    /// A program or library for Windows.
    Pe {
        /// `Machine` of the COFF header: 0x8664 for x86-64, 0xaa64 for AArch64.
        machine: u16,
    },
}

/// The first bytes of NVIDIA's fatbins.
pub(crate) const FATBIN_MAGIC: [u8; 4] = [0x50, 0xed, 0x55, 0xba];
const BITCODE_MAGIC: &[u8; 4] = b"BC\xC0\xDE";
/// The first bytes of the wrapper header that may precede bitcode and that stores its offset.
const BITCODE_WRAPPER_MAGIC: &[u8; 4] = b"\xDE\xC0\x17\x0B";

impl ImageHeader {
    /// Reads the header at the start of `data`; the bytes after the header are not needed.
    ///
    /// Returns an error if the kind is unknown, or if the header of a GPU image is malformed.
    pub fn parse(data: &[u8]) -> Result<Self> {
        let reader = Reader::new(data);
        if data.starts_with(elf::MAGIC) {
            // `e_machine` is at the same offset in 32-bit and 64-bit ELF files.
            let machine = reader.u16(18, "ELF machine")?;
            return Ok(match machine {
                code_object::EM_AMDGPU => ImageHeader::CodeObject(CodeObjectHeader::parse(data)?),
                cubin::EM_CUDA => ImageHeader::Cubin(CubinHeader::parse(data)?),
                _ if reader.u8(5, "ELF byte order")? == 2 => {
                    ImageHeader::Elf { machine: machine.swap_bytes() }
                }
                _ => ImageHeader::Elf { machine },
            });
        }
        if let Some(machine) = pe::machine(data) {
            return Ok(ImageHeader::Pe { machine });
        }
        if data.starts_with(&FATBIN_MAGIC) {
            return Ok(ImageHeader::Fatbin);
        }
        if is_bitcode(data) {
            return Ok(ImageHeader::Bitcode);
        }
        reader.u32(0, "image")?;
        if SpirvHeader::is_at_start_of(data) {
            return SpirvHeader::parse(data).map(ImageHeader::SpirV);
        }
        match PtxHeader::parse(data) {
            Ok(header) => Ok(ImageHeader::Ptx(header)),
            Err(error) if data.windows(8).take(4096).any(|word| word == b".version") => Err(error),
            Err(_) => Err(Error::new(ErrorKind::BadMagic, "image of a known kind", 0)),
        }
    }
}

impl ImageHeader {
    /// Returns the target in the header of a code object, a cubin or PTX. A cubin's target may lack
    /// its suffix.
    pub fn arch(&self) -> Option<OffloadArch<'static>> {
        match self {
            ImageHeader::CodeObject(header) => header.target_id().map(OffloadArch::Amdgpu),
            ImageHeader::Cubin(header) => Some(OffloadArch::Nvidia(header.arch())),
            ImageHeader::Ptx(header) => Some(OffloadArch::Nvidia(header.arch)),
            ImageHeader::Fatbin | ImageHeader::Bitcode | ImageHeader::SpirV(_) => None,
            ImageHeader::Elf { .. } | ImageHeader::Pe { .. } => None,
        }
    }

    /// Returns DPC++'s name for the target, if all images of this kind share one.
    #[inline]
    pub fn sycl_target(&self) -> Option<&'static str> {
        matches!(self, ImageHeader::SpirV(_)).then_some("spir64")
    }

    /// Returns the kind of the image.
    pub fn kind(&self) -> ImageKind {
        match self {
            ImageHeader::CodeObject(_) => ImageKind::CodeObject,
            ImageHeader::Cubin(_) => ImageKind::Cubin,
            ImageHeader::Ptx(_) => ImageKind::Ptx,
            ImageHeader::Fatbin => ImageKind::Fatbin,
            ImageHeader::Bitcode => ImageKind::Bitcode,
            ImageHeader::SpirV(_) => ImageKind::SpirV,
            ImageHeader::Elf { .. } => ImageKind::Elf,
            ImageHeader::Pe { .. } => ImageKind::Pe,
        }
    }

    /// Returns the kind for a pack's index; `None` if no driver loads such images. `triple` is the
    /// target triple of an image for a CPU.
    pub fn pack_kind<S>(&self, triple: S) -> Option<PackImageKind<S>> {
        Some(match self {
            ImageHeader::CodeObject(header) => {
                PackImageKind::CodeObject { version: header.version }
            }
            ImageHeader::Cubin(_) => PackImageKind::Cubin,
            ImageHeader::Ptx(header) => PackImageKind::Ptx { version: header.version },
            ImageHeader::Elf { .. } | ImageHeader::Pe { .. } => {
                PackImageKind::SharedObject { triple }
            }
            ImageHeader::SpirV(SpirvHeader { version, needs, .. }) => {
                PackImageKind::SpirV { version: *version, needs: *needs }
            }
            ImageHeader::Fatbin | ImageHeader::Bitcode => return None,
        })
    }

    /// Returns the code of the image. `named` is the code according to the image's names (target ID
    /// and triple). The header takes precedence over the names.
    #[inline]
    pub fn code<'a>(&self, named: ImageCode<'a>) -> ImageCode<'a> {
        match self {
            ImageHeader::CodeObject(header) => header.code(named),
            ImageHeader::Cubin(header) => header.code(named),
            ImageHeader::Ptx(header) => header.code(),
            ImageHeader::SpirV(header) if named.is_spirv() && header.why_not_opencl().is_none() => {
                named.with_spirv(header.version, header.needs)
            }
            ImageHeader::Elf { .. } | ImageHeader::Pe { .. } if named.cpu_triple().is_some() => {
                named
            }
            ImageHeader::SpirV(_) | ImageHeader::Elf { .. } | ImageHeader::Pe { .. } => {
                ImageCode::Other
            }
            // Only the container states the target of these images.
            ImageHeader::Bitcode | ImageHeader::Fatbin => named,
        }
    }

    /// Whether the names claim a device that cannot run an image with this header. `named` is the
    /// code according to the names.
    #[inline]
    pub fn contradicts(&self, named: &ImageCode<'_>) -> bool {
        // `ImageCode::Cpu` only means that the triple does not belong to a known GPU.
        let may_be_cpu = || named.cpu_triple().is_some();
        match self {
            _ if *named == ImageCode::Other => false,
            ImageHeader::CodeObject(header) => header.contradicts(named),
            ImageHeader::Cubin(header) => header.contradicts(named),
            ImageHeader::Ptx(header) => header.contradicts(named),
            ImageHeader::SpirV(header) => {
                (!named.is_spirv() || header.why_not_opencl().is_some()) && !may_be_cpu()
            }
            ImageHeader::Elf { .. } | ImageHeader::Pe { .. } => !may_be_cpu(),
            ImageHeader::Bitcode | ImageHeader::Fatbin => false,
        }
    }

    /// Whether the image is a file for a CPU.
    pub fn is_for_cpu(&self) -> bool {
        matches!(self, ImageHeader::Elf { .. } | ImageHeader::Pe { .. })
    }

    /// Whether the image is GPU code (machine code, or a form yet to be compiled), not a container.
    pub(crate) fn is_device_code(&self) -> bool {
        !self.is_for_cpu() && !matches!(self, ImageHeader::Fatbin)
    }

    /// Returns the target's name. `named` is the name that the image's container states, if any.
    /// For a cubin, `named` supplies the suffix (`sm_90a`). If the header yields no target, for
    /// example because an AMD processor is not in the table, returns `named`.
    pub fn target(&self, named: Option<&str>) -> Option<String> {
        let Some(own) = self.arch().map(|arch| arch.to_string()) else {
            return named.map(str::to_owned);
        };
        Some(match (self, named) {
            (ImageHeader::Cubin(_), Some(name)) if name.starts_with(&own) => name.to_owned(),
            _ => own,
        })
    }

    /// Whether `data`, an image with this header, is unlinked machine code for a GPU.
    pub fn is_unlinked(&self, data: &[u8]) -> bool {
        const ET_REL: [u8; 2] = [1, 0];
        matches!(self, ImageHeader::CodeObject(_) | ImageHeader::Cubin(_))
            && data.get(16..18) == Some(&ET_REL)
    }

    /// Returns the version of a code object; `None` for other images.
    pub fn code_object_version(&self) -> Option<u32> {
        match self {
            ImageHeader::CodeObject(header) => Some(header.version),
            _ => None,
        }
    }

    /// Whether images of this kind list their kernels: not code objects of version 2, whose notes
    /// have a different format, nor code for a CPU, which has no kernels.
    #[inline]
    pub fn lists_kernels(&self) -> bool {
        self.kind().vendor().is_some_and(Vendor::is_gpu)
            && self.code_object_version().is_none_or(|version| version > 2)
    }
}

/// Prints what the image is for, according to its header: `gfx90a:xnack-`, `sm_90`, `SPIR-V`,
/// `a CPU (ELF machine 62)`; `nothing` for bitcode and fatbins.
impl fmt::Display for ImageHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(arch) = self.arch() {
            return arch.fmt(f);
        }
        match self {
            ImageHeader::CodeObject(header) => {
                write!(f, "an AMD GPU (code object version {})", header.version)
            }
            ImageHeader::SpirV(header) => f.write_str(match header.why_not_opencl() {
                Some(_) => "SPIR-V that no OpenCL driver accepts",
                None => "SPIR-V",
            }),
            ImageHeader::Elf { machine } => write!(f, "a CPU (ELF machine {machine})"),
            ImageHeader::Pe { machine } => write!(f, "a CPU (PE machine {machine:#x})"),
            _ => f.write_str("nothing"),
        }
    }
}

fn is_bitcode(data: &[u8]) -> bool {
    data.starts_with(BITCODE_MAGIC) || data.starts_with(BITCODE_WRAPPER_MAGIC)
}

/// The kind of an image, according to its bytes or its container.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ImageKind {
    /// An AMD code object, which is an ELF file.
    CodeObject,
    /// Any other ELF file except a cubin: code for a CPU.
    Elf,
    /// A library for Windows: code for a CPU.
    Pe,
    /// NVIDIA machine code.
    Cubin,
    /// PTX text.
    Ptx,
    /// LLVM bitcode.
    Bitcode,
    /// SPIR-V.
    SpirV,
    /// NVIDIA's container of images.
    Fatbin,
    /// No bytes, or the zero byte that replaces the host's code in an object bundle.
    Empty,
    /// Anything else.
    Unknown,
}

impl ImageKind {
    /// Returns the kind of an image. The first bytes are enough, except for PTX that starts with
    /// long comments.
    pub fn of(bytes: &[u8]) -> Self {
        Self::with_header(bytes, ImageHeader::parse(bytes).ok())
    }

    /// Returns the kind of an image. `header` is `None` if the image's header cannot be read.
    pub(crate) fn with_header(bytes: &[u8], header: Option<ImageHeader>) -> Self {
        match header {
            _ if bytes.is_empty() => ImageKind::Empty,
            Some(header) => header.kind(),
            // The file is damaged, or is for an unknown operating system.
            None if bytes.starts_with(b"\x7fELF") => ImageKind::Elf,
            None => ImageKind::Unknown,
        }
    }

    /// Returns the kind's name in the JSON of `cargo offload ls`, its file extension, its
    /// description in messages, and the kind that an offload binary should state.
    const fn row(self) -> (&'static str, &'static str, &'static str, Option<StatedKind>) {
        match self {
            ImageKind::CodeObject => ("elf", "hsaco", "a code object", Some(StatedKind::OBJECT)),
            ImageKind::Elf => ("elf", "o", "a file for a CPU", Some(StatedKind::OBJECT)),
            ImageKind::Pe => ("pe", "dll", "a file for a CPU", Some(StatedKind::OBJECT)),
            ImageKind::Cubin => ("cubin", "cubin", "a cubin", Some(StatedKind::CUBIN)),
            ImageKind::Ptx => ("ptx", "ptx", "PTX", Some(StatedKind::PTX)),
            ImageKind::Bitcode => ("bitcode", "bc", "LLVM bitcode", Some(StatedKind::BITCODE)),
            ImageKind::SpirV => ("spirv", "spv", "SPIR-V", Some(StatedKind::SPIRV)),
            ImageKind::Fatbin => ("unknown", "bin", "a fatbin", Some(StatedKind::FATBINARY)),
            ImageKind::Empty => ("empty", "bin", "nothing", None),
            ImageKind::Unknown => ("unknown", "bin", "something unknown", None),
        }
    }

    /// Returns the kind's name in the JSON of `cargo offload ls`: `elf`, `pe`, `cubin`, `ptx`,
    /// `bitcode`, `spirv`, `empty`, `unknown`.
    pub fn name(self) -> &'static str {
        self.row().0
    }

    /// Returns the file extension for `bytes`, an image of this kind.
    #[inline]
    pub fn extension(self, bytes: &[u8]) -> &'static str {
        match self {
            ImageKind::Elf if elf::is_shared_object(bytes) => "so",
            kind => kind.row().1,
        }
    }

    /// Returns the kind's description in messages, such as `LLVM bitcode` or `a fatbin`.
    pub fn words(self) -> &'static str {
        self.row().2
    }

    /// Returns the kind that an offload binary should state; `None` if the format has no such kind.
    pub fn stated(self) -> Option<StatedKind> {
        self.row().3
    }

    /// Returns the vendor of the devices that load such images; `None` for bitcode and containers.
    /// SPIR-V counts as Intel's, although its target may be an AMD GPU.
    pub fn vendor(self) -> Option<Vendor> {
        match self {
            ImageKind::CodeObject => Some(Vendor::Amd),
            ImageKind::Cubin | ImageKind::Ptx => Some(Vendor::Nvidia),
            ImageKind::SpirV => Some(Vendor::Intel),
            ImageKind::Elf | ImageKind::Pe => Some(Vendor::Cpu),
            _ => None,
        }
    }

    /// Whether the image is text, which must be followed by a NUL.
    pub fn is_ptx(self) -> bool {
        self == ImageKind::Ptx
    }

    /// Whether the image is a cubin.
    pub fn is_cubin(self) -> bool {
        self == ImageKind::Cubin
    }

    /// Whether the image is a fatbin.
    pub fn is_fatbin(self) -> bool {
        self == ImageKind::Fatbin
    }

    /// Whether the image is LLVM bitcode, which compilers link but no driver loads.
    pub fn is_bitcode(self) -> bool {
        self == ImageKind::Bitcode
    }

    /// Whether the image is machine code that drivers load.
    pub fn is_machine_code(self) -> bool {
        self.vendor().is_some() && !matches!(self, ImageKind::Ptx | ImageKind::SpirV)
    }
}

impl StatedKind {
    /// Returns the kind that an offload binary should state for an image in a pack.
    pub fn of_pack_image<S>(kind: &PackImageKind<S>) -> Self {
        match kind {
            PackImageKind::Cubin => Self::CUBIN,
            PackImageKind::Ptx { .. } => Self::PTX,
            PackImageKind::SpirV { .. } => Self::SPIRV,
            PackImageKind::CodeObject { .. } | PackImageKind::SharedObject { .. } => Self::OBJECT,
        }
    }
}

/// Determines the kind of an image for `target` from its first bytes. For the CPU, `triple` is the
/// host's target triple.
///
/// Returns an error message if the image is for a different target, or if its header cannot be
/// read.
pub fn pack_kind_for(
    target: &OffloadArch<'_>,
    head: &[u8],
    triple: String,
) -> core::result::Result<PackImageKind<String>, String> {
    let image = match target {
        OffloadArch::Amdgpu(_) => CodeObjectHeader::parse(head).map(ImageHeader::CodeObject),
        OffloadArch::Nvidia(arch) => match arch.code {
            NvidiaCode::Cubin => CubinHeader::parse(head).map(ImageHeader::Cubin),
            NvidiaCode::Ptx => PtxHeader::parse(head).map(ImageHeader::Ptx),
        },
        OffloadArch::Intel(_) => match ImageHeader::parse(head) {
            Ok(ImageHeader::SpirV(header)) => match header.why_not_opencl() {
                Some(why) => return Err(format!("it {why}")),
                None => Ok(ImageHeader::SpirV(header)),
            },
            Ok(image) => return Err(format!("it is {}", image.kind().words())),
            Err(error) => Err(error),
        },
        OffloadArch::Cpu => return Ok(PackImageKind::SharedObject { triple }),
    };
    let (image, wanted) = (image.map_err(|error| error.to_string())?, target.to_canonical());
    match (image.target(Some(&wanted)), image.pack_kind(triple)) {
        (Some(found), Some(kind)) if found == wanted => Ok(kind),
        _ => Err(format!("it is for {image}")),
    }
}

#[cfg(test)]
mod tests;
