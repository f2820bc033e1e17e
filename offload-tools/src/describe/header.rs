//! Targets in the header of an image.

use offload_format::image::{self, PtxHeader};
use offload_format::select::Code;
use offload_format::target::{NvidiaArch, NvidiaCode, TargetId, amdgpu};
use std::fmt;

/// The target in the header of an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Header {
    /// A code object: its version, and its target ID if the header contains one.
    CodeObject {
        /// Canonical.
        id: Option<String>,
        /// Code object version.
        version: u32,
    },
    /// A cubin for this compute capability, times ten.
    Cubin(u32),
    /// PTX.
    Ptx(PtxHeader),
    /// SPIR-V.
    SpirV,
    /// An ELF file for a CPU with this `e_machine`.
    Cpu(u16),
    /// A PE file for a CPU with this `Machine`.
    CpuOfWindows(u16),
    /// Nothing.
    None,
}

/// The code object version whose header cannot express that a feature is unspecified: if the
/// feature is off there, it may also be unspecified.
const WITHOUT_ANY: u32 = 3;

impl Header {
    /// Reads the header at the start of an image.
    pub fn of(bytes: &[u8]) -> Self {
        match image::Image::parse(bytes) {
            Ok(image::Image::CodeObject(header)) => {
                Header::CodeObject { id: header.target_id(), version: header.version() }
            }
            Ok(image::Image::Cubin(header)) => Header::Cubin(header.number()),
            Ok(image::Image::Ptx(header)) => Header::Ptx(header),
            Ok(image::Image::SpirV { .. }) => Header::SpirV,
            Ok(image::Image::Elf { machine }) => Header::Cpu(machine),
            Ok(image::Image::Pe { machine }) => Header::CpuOfWindows(machine),
            // Only the container records the target of these images.
            Ok(image::Image::Bitcode | image::Image::Fatbin) | Err(_) => Header::None,
        }
    }

    /// Returns the code of an image with this header, for the rules of selection. `by_name` is the
    /// code that the image's names (target ID and triple) describe.
    pub fn code<'a>(&'a self, by_name: Code<'a>) -> Code<'a> {
        match self {
            Header::CodeObject { id, version } => {
                let id = id.as_deref().and_then(|id| TargetId::parse(id).ok());
                match (id, by_name) {
                    (Some(id), Code::Amdgpu { id: name, .. })
                        if *version == WITHOUT_ANY
                            && name.primary_processor() == id.primary_processor() =>
                    {
                        Code::Amdgpu { id: name, version: Some(*version) }
                    }
                    (Some(id), _) | (None, Code::Amdgpu { id, .. }) => {
                        Code::Amdgpu { id, version: Some(*version) }
                    }
                    (None, _) => Code::Other,
                }
            }
            Header::Cubin(number) => match by_name {
                // Headers of cubins do not contain the suffix (`a` or `f`), so it comes from the
                // names.
                Code::Cubin(arch) if arch.number() == *number => Code::Cubin(arch),
                _ => Code::Cubin(cubin(*number)),
            },
            Header::Ptx(header) => {
                Code::Ptx { arch: header.arch(), version: Some(header.version()) }
            }
            Header::SpirV => match by_name {
                Code::Amdgpu { id, .. } if id.processor() == amdgpu::SPIRV => by_name,
                _ => Code::Other,
            },
            Header::Cpu(_) | Header::CpuOfWindows(_) => match by_name {
                Code::Cpu(_) => by_name,
                _ => Code::Other,
            },
            Header::None => by_name,
        }
    }

    /// Whether the image's names claim that it runs on some device on which an image with this
    /// header does not run.
    pub fn contradicts(&self, by_name: &Code<'_>) -> bool {
        match (self, by_name) {
            (Header::None, _) | (_, Code::Other) => false,
            (Header::CodeObject { id, version }, Code::Amdgpu { id: name, .. }) => {
                let Some(id) = id.as_deref().and_then(|id| TargetId::parse(id).ok()) else {
                    return false;
                };
                match *version {
                    WITHOUT_ANY => {
                        id.primary_processor() != name.primary_processor()
                            || name.features().any(|(feature, state)| id.feature(feature) != state)
                    }
                    _ => !id.provides_for(name),
                }
            }
            (Header::Cubin(number), Code::Cubin(arch)) => arch.number() != *number,
            (Header::Ptx(header), Code::Cubin(name) | Code::Ptx { arch: name, .. }) => {
                let arch = header.arch();
                arch.number() > name.number()
                    || (arch.suffix.is_some() && arch.suffix != name.suffix)
            }
            (Header::SpirV, Code::Amdgpu { id, .. }) => id.processor() != amdgpu::SPIRV,
            // `Code::Cpu` only means that the triple is not known to be a GPU's, so it contradicts
            // no header of these kinds.
            (Header::SpirV | Header::Cpu(_) | Header::CpuOfWindows(_), Code::Cpu(_)) => false,
            _ => true,
        }
    }
}

fn cubin(number: u32) -> NvidiaArch {
    NvidiaArch { code: NvidiaCode::Cubin, major: number / 10, minor: number % 10, suffix: None }
}

/// Prints the target's name.
impl fmt::Display for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Header::CodeObject { id: Some(id), .. } => f.write_str(id),
            Header::CodeObject { id: None, version } => {
                write!(f, "an AMD GPU (code object version {version})")
            }
            Header::Cubin(number) => cubin(*number).fmt(f),
            Header::Ptx(header) => header.arch().fmt(f),
            Header::SpirV => f.write_str("SPIR-V"),
            Header::Cpu(machine) => write!(f, "a CPU (ELF machine {machine})"),
            Header::CpuOfWindows(machine) => write!(f, "a CPU (PE machine {machine:#x})"),
            Header::None => f.write_str("nothing"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::by_name;
    use super::*;

    fn code_object(id: &str, version: u32) -> Header {
        Header::CodeObject { id: Some(id.to_owned()), version }
    }

    #[test]
    fn names_that_promise_too_much() {
        let ptx = |text: &str| Header::of(format!(".version 8.6\n.target {text}\n").as_bytes());
        for (header, name, expected) in [
            (code_object("gfx90a", 6), "gfx90a", false),
            (code_object("gfx90a", 6), "gfx90a:xnack-", false),
            (code_object("gfx90a:xnack-", 6), "gfx90a", true),
            (code_object("gfx90a:xnack-", 6), "gfx90a:xnack+", true),
            (code_object("gfx908", 6), "gfx90a", true),
            (code_object("gfx803", 6), "fiji", false),
            (code_object("gfx906:sramecc-:xnack-", 3), "gfx906", false),
            (code_object("gfx906:sramecc-:xnack-", 3), "gfx906:xnack+", true),
            (code_object("gfx906", 6), "sm_90", true),
            (code_object("gfx906", 6), "amdgcnspirv", true),
            (Header::CodeObject { id: None, version: 2 }, "gfx906", false),
            (Header::Cubin(90), "sm_90", false),
            (Header::Cubin(90), "sm_90a", false),
            (Header::Cubin(90), "sm_80", true),
            (Header::Cubin(90), "compute_90", true),
            (ptx("sm_80"), "compute_80", false),
            (ptx("sm_80"), "compute_90", false),
            (ptx("sm_90"), "compute_80", true),
            (ptx("sm_90a"), "compute_90", true),
            (ptx("sm_90a"), "sm_90a", false),
            (Header::SpirV, "amdgcnspirv", false),
            (Header::SpirV, "gfx906", true),
            (Header::Cpu(62), "gfx906", true),
            (Header::CpuOfWindows(0x8664), "gfx906", true),
            (Header::None, "gfx906", false),
        ] {
            assert_eq!(
                header.contradicts(&by_name(Some(name), None, false)),
                expected,
                "{header} {name}"
            );
        }
    }

    #[test]
    fn the_header_counts_more_than_the_name() {
        let code = |header: &Header, name: &str| {
            format!("{:?}", header.code(by_name(Some(name), None, false)))
        };
        let amd = |id: &str, version| {
            format!("{:?}", Code::Amdgpu { id: TargetId::parse(id).unwrap(), version })
        };
        assert_eq!(code(&code_object("gfx908", 6), "gfx90a"), amd("gfx908", Some(6)));
        assert_eq!(
            code(&code_object("gfx906:sramecc-:xnack-", 3), "gfx906"),
            amd("gfx906", Some(3))
        );
        assert_eq!(
            code(&Header::CodeObject { id: None, version: 2 }, "gfx906"),
            amd("gfx906", Some(2))
        );
        assert_eq!(code(&Header::None, "gfx906"), amd("gfx906", None));
        assert_eq!(code(&Header::SpirV, "amdgcnspirv"), amd("amdgcnspirv", None));
        assert_eq!(code(&Header::SpirV, "gfx906"), format!("{:?}", Code::Other));
        assert_eq!(
            code(&Header::Cubin(90), "sm_90a"),
            format!("{:?}", Code::Cubin(NvidiaArch::parse("sm_90a").unwrap()))
        );
        assert_eq!(
            code(&Header::Cubin(90), "sm_80"),
            format!("{:?}", Code::Cubin(NvidiaArch::parse("sm_90").unwrap()))
        );
    }
}
