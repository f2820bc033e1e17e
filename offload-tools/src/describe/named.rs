//! Facts about an image for the rules of selection.

use offload_format::image::Image as Header;
use offload_format::inventory::{Image, ImageKind};
use offload_format::select::{Candidate, Code};
use offload_format::target::{NvidiaArch, NvidiaCode, TargetId, TargetTriple, amdgpu};

/// An image as a candidate of `offload_format::select`, described by its header or, if the header
/// has no target, by its names (target ID and triple). Nothing is decompressed to create it.
#[derive(Debug, Clone)]
pub struct Named<'i> {
    image: &'i Image<'i>,
    header: Option<Header>,
    is_ptx: bool,
}

impl<'i> Named<'i> {
    /// Creates a candidate from an image; reads the image's header only if that needs no
    /// decompression.
    pub fn new(image: &'i Image<'i>) -> Self {
        Self::with_header(image, image.in_file())
    }

    /// Creates a candidate from an image and its first bytes; without these bytes, only the image's
    /// names describe it.
    pub fn with_header(image: &'i Image<'i>, bytes: Option<&[u8]>) -> Self {
        let header = bytes.and_then(|bytes| Header::parse(bytes).ok());
        let is_ptx =
            matches!(header, Some(Header::Ptx(_))) || image.known_kind() == Some(ImageKind::Ptx);
        Self { image, header, is_ptx }
    }

    /// Returns the image.
    pub fn image(&self) -> &'i Image<'i> {
        self.image
    }

    /// Returns the code that the image's names describe.
    pub fn by_name(&self) -> Code<'_> {
        match by_name(self.image.target_id.as_deref(), self.image.triple.as_deref(), self.is_ptx) {
            Code::Ptx { arch, version: None } => {
                Code::Ptx { arch, version: self.image.ptx_version }
            }
            code => code,
        }
    }

    /// Returns the target in the image's header, if its names describe another target.
    pub fn contradiction(&self) -> Option<String> {
        let header = self.header.filter(|header| self.by_name().contradicts(header))?;
        Some(header.to_string())
    }
}

impl Candidate for Named<'_> {
    fn code(&self) -> Code<'_> {
        let by_name = self.by_name();
        self.header.map_or(by_name, |header| by_name.with_header(&header))
    }

    fn label(&self) -> &str {
        self.image.label()
    }
}

/// Returns the code for a target ID and a target triple. If `is_ptx` is set, `sm_*` names PTX too:
/// clang names PTX after the GPU that it was made for.
pub fn by_name<'a>(target: Option<&'a str>, triple: Option<&'a str>, is_ptx: bool) -> Code<'a> {
    if let Some(target) = target {
        match NvidiaArch::parse(target) {
            Ok(arch) if is_ptx || arch.code == NvidiaCode::Ptx => {
                return Code::Ptx { arch: arch.with_code(NvidiaCode::Ptx), version: None };
            }
            Ok(arch) => return Code::Cubin(arch),
            Err(_) => {}
        }
        match TargetId::parse(target) {
            Ok(id)
                if amdgpu::is_processor_name(id.processor()) || id.processor() == amdgpu::SPIRV =>
            {
                return Code::Amdgpu { id, version: None };
            }
            _ => {}
        }
    }
    let Some((text, triple)) =
        triple.and_then(|text| Some((text, TargetTriple::parse(text).ok()?)))
    else {
        return Code::Other;
    };
    // In LLVM's main branch, the triple `amdgpu9.06-amd-amdhsa` names the processor, and images
    // with such a triple may have no `arch` (target ID).
    match triple.amdgpu_processor().map(TargetId::parse) {
        Some(Ok(id)) if target.is_none() => Code::Amdgpu { id, version: None },
        _ if triple.is_amdgpu() || matches!(triple.arch, "nvptx" | "nvptx64" | "spirv64") => {
            Code::Other
        }
        _ => Code::Cpu(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that the triple names the processor if an image has no `arch`, as LLVM's main branch
    /// writes it.
    #[test]
    fn a_triple_with_a_number_names_the_processor() {
        let processor = |target, triple| match by_name(target, Some(triple), false) {
            Code::Amdgpu { id, .. } => id.processor().to_owned(),
            Code::Cpu(triple) => format!("CPU {triple}"),
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
