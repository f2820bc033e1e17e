//! The target in an image's header, beside the one that the image's names state.

use crate::image::Image;
use crate::target::{ImageCode, amdgpu};

/// The code object version whose header cannot express that a feature is unspecified: if the
/// feature is off there, it may also be unspecified.
const WITHOUT_ANY: u32 = 3;

impl<'a> ImageCode<'a> {
    /// Returns the code of an image with this header, if its names (target ID and triple) describe
    /// `self`. The header counts more than the names.
    ///
    /// The rules and their references are on the [module's page](super).
    #[must_use]
    pub fn with_header(self, header: &Image) -> Self {
        match (header, self) {
            (Image::CodeObject(header), by_name) => {
                let id = match (header.target_id(), by_name) {
                    (Some(id), ImageCode::Amdgpu { id: name, .. })
                        if header.version() == WITHOUT_ANY
                            && name.primary_processor() == id.primary_processor() =>
                    {
                        name
                    }
                    (Some(id), _) | (None, ImageCode::Amdgpu { id, .. }) => id,
                    (None, _) => return ImageCode::Other,
                };
                ImageCode::Amdgpu { id, version: Some(header.version()) }
            }
            // Headers of cubins do not contain the suffix (`a` or `f`), so it comes from the names.
            (Image::Cubin(header), ImageCode::Cubin(arch)) if arch.number() == header.number() => {
                self
            }
            (Image::Cubin(header), _) => ImageCode::Cubin(header.arch()),
            (Image::Ptx(header), _) => {
                ImageCode::Ptx { arch: header.arch(), version: Some(header.version()) }
            }
            (Image::SpirV(_), ImageCode::Amdgpu { id, .. }) if id.processor() == amdgpu::SPIRV => {
                self
            }
            (Image::SpirV(version), ImageCode::SpirV { .. }) => {
                ImageCode::SpirV { version: Some(*version) }
            }
            (Image::Elf { .. } | Image::Pe { .. }, ImageCode::Cpu(_)) => self,
            (Image::SpirV(_) | Image::Elf { .. } | Image::Pe { .. }, _) => ImageCode::Other,
            // Only the container records the target of these images.
            (Image::Bitcode | Image::Fatbin, _) => self,
        }
    }

    /// Whether names that describe `self` claim that the image runs on some device on which an
    /// image with this header does not run.
    pub fn contradicts(&self, header: &Image) -> bool {
        match (header, self) {
            (Image::Bitcode | Image::Fatbin, _) | (_, ImageCode::Other) => false,
            (Image::CodeObject(header), ImageCode::Amdgpu { id: name, .. }) => {
                header.target_id().is_some_and(|id| match header.version() {
                    WITHOUT_ANY => {
                        id.primary_processor() != name.primary_processor()
                            || name.features().any(|(feature, state)| id.feature(feature) != state)
                    }
                    _ => !id.provides_for(name),
                })
            }
            (Image::Cubin(header), ImageCode::Cubin(arch)) => arch.number() != header.number(),
            (Image::Ptx(header), ImageCode::Cubin(name) | ImageCode::Ptx { arch: name, .. }) => {
                let arch = header.arch();
                arch.number() > name.number()
                    || (arch.suffix.is_some() && arch.suffix != name.suffix)
            }
            (Image::SpirV(_), ImageCode::Amdgpu { id, .. }) => id.processor() != amdgpu::SPIRV,
            (Image::SpirV(_), ImageCode::SpirV { .. }) => false,
            // `ImageCode::Cpu` only means that the triple is not known to be a GPU's, so it
            // contradicts no header of these kinds.
            (Image::SpirV(_) | Image::Elf { .. } | Image::Pe { .. }, ImageCode::Cpu(_)) => {
                false
            }
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::CodeObjectHeader;
    use crate::target::{NvidiaArch, OffloadArch, SpirvVersion, TargetId};
    use alloc::format;

    /// Flags of version 6, without named features.
    const GFX803: u32 = 0x2a;
    const GFX906: u32 = 0x52f;
    const GFX908: u32 = 0x530;
    const GFX90A: u32 = 0x53f;

    fn code_object(version: u32, flags: u32) -> Image {
        Image::CodeObject(CodeObjectHeader::of(version, flags))
    }

    /// `gfx906:sramecc-:xnack-`, as version 3 writes it.
    fn without_any() -> Image {
        code_object(3, 0x2f)
    }

    fn cubin() -> Image {
        let mut bytes = [0; 64];
        bytes[..9].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1, 1, 51, 7]);
        bytes[18..20].copy_from_slice(&190_u16.to_le_bytes());
        bytes[48] = 90;
        Image::parse(&bytes).unwrap()
    }

    fn by_name(name: &str) -> ImageCode<'_> {
        ImageCode::of_arch(OffloadArch::parse(name).unwrap(), false)
    }

    #[test]
    fn names_that_promise_too_much() {
        let ptx = |target: &str| {
            Image::parse(format!(".version 8.6\n.target {target}\n").as_bytes()).unwrap()
        };
        let spirv = Image::SpirV(SpirvVersion { major: 1, minor: 6 });
        let off = code_object(6, GFX90A + 0x100);
        for (header, name, expected) in [
            (code_object(6, GFX90A), "gfx90a", false),
            (code_object(6, GFX90A), "gfx90a:xnack-", false),
            (off, "gfx90a", true),
            (off, "gfx90a:xnack+", true),
            (code_object(6, GFX908), "gfx90a", true),
            (code_object(6, GFX803), "fiji", false),
            (without_any(), "gfx906", false),
            (without_any(), "gfx906:xnack+", true),
            (code_object(6, GFX906), "sm_90", true),
            (code_object(6, GFX906), "amdgcnspirv", true),
            (code_object(2, 0), "gfx906", false),
            (cubin(), "sm_90", false),
            (cubin(), "sm_90a", false),
            (cubin(), "sm_80", true),
            (cubin(), "compute_90", true),
            (ptx("sm_80"), "compute_80", false),
            (ptx("sm_80"), "compute_90", false),
            (ptx("sm_90"), "compute_80", true),
            (ptx("sm_90a"), "compute_90", true),
            (ptx("sm_90a"), "sm_90a", false),
            (spirv, "amdgcnspirv", false),
            (spirv, "gfx906", true),
            (Image::Elf { machine: 62 }, "gfx906", true),
            (Image::Pe { machine: 0x8664 }, "gfx906", true),
            (Image::Bitcode, "gfx906", false),
        ] {
            assert_eq!(by_name(name).contradicts(&header), expected, "{header} {name}");
        }
    }

    #[test]
    fn the_header_counts_more_than_the_name() {
        let amd = |id, version| ImageCode::Amdgpu { id: TargetId::parse(id).unwrap(), version };
        let cubin_for = |name| ImageCode::Cubin(NvidiaArch::parse(name).unwrap());
        let spirv = Image::SpirV(SpirvVersion { major: 1, minor: 6 });
        for (header, name, expected) in [
            (code_object(6, GFX908), "gfx90a", amd("gfx908", Some(6))),
            (without_any(), "gfx906", amd("gfx906", Some(3))),
            (code_object(2, 0), "gfx906", amd("gfx906", Some(2))),
            (Image::Bitcode, "gfx906", amd("gfx906", None)),
            (cubin(), "sm_90a", cubin_for("sm_90a")),
            (cubin(), "sm_80", cubin_for("sm_90")),
            (spirv, "amdgcnspirv", by_name("amdgcnspirv")),
            (spirv, "gfx906", ImageCode::Other),
            (Image::Elf { machine: 62 }, "cpu", by_name("cpu")),
            (Image::Elf { machine: 62 }, "gfx906", ImageCode::Other),
        ] {
            assert_eq!(by_name(name).with_header(&header), expected, "{header} {name}");
        }
    }
}
