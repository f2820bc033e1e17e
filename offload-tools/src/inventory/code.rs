//! What the rules of selection need to know of an image.

use super::{Image, ImageKind};
use offload_format::image;
use offload_format::select::{Candidate, Code};
use offload_format::target::{NvidiaArch, NvidiaCode, PtxVersion, TargetId, TargetTriple, amdgpu};

/// An image by its names and, where it lies in the file, its header: a candidate of
/// [`offload_format::select`](mod@offload_format::select). Nothing is decompressed for it.
#[derive(Debug, Clone)]
pub struct Named<'i> {
    image: &'i Image<'i>,
    is_ptx: bool,
    /// The code object version.
    version: Option<u32>,
    ptx_version: Option<PtxVersion>,
}

impl<'i> Named<'i> {
    /// Looks at the header, if it can be had for nothing.
    pub fn new(image: &'i Image<'i>) -> Self {
        Self::with_header(image, image.in_file())
    }

    /// The same with the image's first bytes, where somebody has read them.
    pub fn with_header(image: &'i Image<'i>, bytes: Option<&[u8]>) -> Self {
        let mut named = Self { image, is_ptx: false, version: None, ptx_version: None };
        match bytes.map(image::Image::parse) {
            Some(Ok(image::Image::CodeObject(header))) => named.version = Some(header.version()),
            Some(Ok(image::Image::Ptx(header))) => named.ptx_version = Some(header.version()),
            _ => {}
        }
        named.is_ptx = named.ptx_version.is_some() || image.known_kind() == Some(ImageKind::Ptx);
        named
    }

    /// The image.
    pub fn image(&self) -> &'i Image<'i> {
        self.image
    }

    fn target(&self) -> Code<'_> {
        let Some(target) = self.image.target_id.as_deref() else { return Code::Other };
        match NvidiaArch::parse(target) {
            // clang names PTX after the GPU that it was made for.
            Ok(arch) if self.is_ptx || arch.code == NvidiaCode::Ptx => {
                return Code::Ptx { arch: arch.with_code(NvidiaCode::Ptx), version: self.ptx_version };
            }
            Ok(arch) => return Code::Cubin(arch),
            Err(_) => {}
        }
        match TargetId::parse(target) {
            Ok(id) if amdgpu::is_processor_name(id.processor()) || id.processor() == amdgpu::SPIRV => {
                Code::Amdgpu { id, version: self.version }
            }
            _ => Code::Other,
        }
    }
}

impl Candidate for Named<'_> {
    fn code(&self) -> Code<'_> {
        match self.target() {
            Code::Other => {}
            code => return code,
        }
        let triple = self.image.triple.as_deref().and_then(|triple| TargetTriple::parse(triple).ok());
        match triple.filter(|triple| !matches!(triple.arch, "amdgcn" | "r600" | "nvptx" | "nvptx64" | "spirv64")) {
            Some(triple) => Code::Cpu(triple),
            None => Code::Other,
        }
    }

    fn label(&self) -> &str {
        self.image.label()
    }
}
