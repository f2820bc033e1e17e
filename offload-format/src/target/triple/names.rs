//! Tables of the names that LLVM recognizes in each field of a triple.
//!
//! The meanings are what LLVM 22.1.8's own library returns for each name, and the names themselves
//! come from the code of LLVM's Triple. Each function returns a name's meaning, which synonyms
//! share.

use super::{amdgpu, arm};

/// Architectures, each with its other spellings. A name must match a spelling exactly.
const ARCHITECTURES: &[(&str, &[&str])] = &[
    ("aarch64", &["arm64", "arm64e", "arm64ec"]),
    ("aarch64_32", &["arm64_32"]),
    ("aarch64_be", &[]),
    ("amdgcn", &[]),
    ("amdil", &[]),
    ("amdil64", &[]),
    ("arc", &[]),
    ("arm", &["xscale"]),
    ("armeb", &["xscaleeb"]),
    ("avr", &[]),
    ("bpfeb", &["bpf_be"]),
    ("bpfel", &["bpf", "bpf_le"]),
    ("csky", &[]),
    ("dxil", &[]),
    ("hexagon", &[]),
    ("hsail", &[]),
    ("hsail64", &[]),
    ("i386", &["i486", "i586", "i686", "i786", "i886", "i986"]),
    ("lanai", &[]),
    ("loongarch32", &[]),
    ("loongarch64", &[]),
    ("m68k", &[]),
    ("mips", &["mipseb", "mipsallegrex", "mipsisa32r6", "mipsr6"]),
    ("mips64", &["mips64eb", "mipsn32", "mipsisa64r6", "mips64r6", "mipsn32r6"]),
    ("mips64el", &["mipsn32el", "mipsisa64r6el", "mips64r6el", "mipsn32r6el"]),
    ("mipsel", &["mipsallegrexel", "mipsisa32r6el", "mipsr6el"]),
    ("msp430", &[]),
    ("nvptx", &[]),
    ("nvptx64", &[]),
    ("powerpc", &["powerpcspe", "ppc", "ppc32"]),
    ("powerpc64", &["ppu", "ppc64"]),
    ("powerpc64le", &["ppc64le"]),
    ("powerpcle", &["ppcle", "ppc32le"]),
    ("r600", &[]),
    ("renderscript32", &[]),
    ("renderscript64", &[]),
    ("riscv32", &[]),
    ("riscv32be", &[]),
    ("riscv64", &[]),
    ("riscv64be", &[]),
    ("s390x", &["systemz"]),
    ("shave", &[]),
    ("sparc", &[]),
    ("sparcel", &[]),
    ("sparcv9", &["sparc64"]),
    ("spir", &[]),
    ("spir64", &[]),
    ("spirv", &["spirv1.5", "spirv1.6"]),
    ("spirv32", &[]),
    ("spirv64", &[]),
    ("tce", &[]),
    ("tcele", &[]),
    ("thumb", &[]),
    ("thumbeb", &[]),
    ("ve", &[]),
    ("wasm32", &[]),
    ("wasm64", &[]),
    ("x86_64", &["amd64", "x86_64h"]),
    ("xcore", &[]),
    ("xtensa", &[]),
];

/// Architectures whose names may include a version, with the name up to the version's last digit,
/// and the greatest last digit.
const VERSIONED: [(&str, &str, u8); 3] =
    [("dxil", "dxilv1.", b'9'), ("spirv32", "spirv32v1.", b'6'), ("spirv64", "spirv64v1.", b'6')];

/// The vendors that LLVM recognizes. A name must match exactly; `sie` means `scei`.
const VENDORS: &[&str] = &[
    "amd", "apple", "csr", "fsl", "ibm", "img", "intel", "mesa", "meta", "mti", "nvidia", "oe",
    "pc", "scei", "suse",
];

/// Operating systems. A version may follow the name, so prefixes are compared. Longer names precede
/// their own prefixes.
const SYSTEMS: &[&str] = &[
    "aix",
    "amdhsa",
    "amdpal",
    "bridgeos",
    "cheriotrtos",
    "cuda",
    "darwin",
    "dragonfly",
    "driverkit",
    "elfiamcu",
    "emscripten",
    "freebsd",
    "fuchsia",
    "haiku",
    "hermit",
    "hurd",
    "ios",
    "kfreebsd",
    "linux",
    "liteos",
    "lv2",
    "macos",
    "managarm",
    "mesa3d",
    "netbsd",
    "nvcl",
    "openbsd",
    "ps4",
    "ps5",
    "rtems",
    "serenity",
    "shadermodel",
    "solaris",
    "tvos",
    "uefi",
    "vulkan",
    "wasip1",
    "wasip2",
    "wasip3",
    "wasi",
    "watchos",
    "windows",
    "xros",
    "zos",
];

/// Older or newer names of operating systems, each with the name in `SYSTEMS`.
const SYSTEM_ALIASES: &[(&str, &str)] = &[("visionos", "xros"), ("win32", "windows")];

/// Operating systems based on Apple's Darwin kernel.
#[cfg(feature = "packs")]
const DARWIN: &[&str] =
    &["bridgeos", "darwin", "driverkit", "ios", "macos", "tvos", "watchos", "xros"];

/// The environments that LLVM recognizes. A version may follow the name, so prefixes are compared.
/// Longer names precede their own prefixes.
const ENVIRONMENTS: &[&str] = &[
    "amplification",
    "android",
    "anyhit",
    "callable",
    "closesthit",
    "code16",
    "compute",
    "coreclr",
    "cygnus",
    "domain",
    "eabihf",
    "eabi",
    "geometry",
    "gnuabi64",
    "gnuabin32",
    "gnueabihft64",
    "gnueabihf",
    "gnueabit64",
    "gnueabi",
    "gnuf32",
    "gnuf64",
    "gnusf",
    "gnut64",
    "gnux32",
    "gnu_ilp32",
    "gnu",
    "hull",
    "intersection",
    "itanium",
    "library",
    "llvm",
    "macabi",
    "mesh",
    "miss",
    "mlibc",
    "msvc",
    "mtia",
    "muslabi64",
    "muslabin32",
    "musleabihf",
    "musleabi",
    "muslf32",
    "muslsf",
    "muslwali",
    "muslx32",
    "musl",
    "ohos",
    "opencl",
    "pauthtest",
    "pixel",
    "raygeneration",
    "rootsignature",
    "simulator",
    "vertex",
];

/// Object formats that may end an environment. Longer formats precede their own suffixes.
const FORMATS: &[&str] = &["xcoff", "coff", "elf", "goff", "macho", "spirv", "wasm"];

pub(super) fn architecture(name: &str) -> Option<&'static str> {
    let row = ARCHITECTURES.iter().find(|(first, others)| *first == name || others.contains(&name));
    let kalimba = || name.starts_with("kalimba").then_some("kalimba");
    let numbered = || amdgpu::is_name(name).then_some("amdgcn");
    let has_version = |(_, start, last): &&(&str, &str, u8)| {
        let digit = name.strip_prefix(start).map(str::as_bytes);
        matches!(digit, Some([digit @ b'0'..=b'9']) if digit <= last)
    };
    let versioned = || VERSIONED.iter().find(has_version).map(|(first, ..)| *first);
    row.map(|(first, _)| *first)
        .or_else(versioned)
        .or_else(kalimba)
        .or_else(numbered)
        .or_else(|| arm::architecture(name))
}

/// Returns the version part of an architecture's name; empty if there is no version.
#[cfg(feature = "packs")]
#[inline]
pub(super) fn sub_architecture(name: &str) -> &str {
    let release_6 = name.starts_with("mips") && (name.ends_with("r6") || name.ends_with("r6el"));
    match name {
        _ if release_6 => "r6",
        _ if amdgpu::is_name(name) => amdgpu::number(name),
        "powerpcspe" => "spe",
        _ if name.starts_with("spirv") || name.starts_with("dxil") => {
            name.rsplit_once('v').map_or("", |(_, version)| version)
        }
        _ => arm::sub_architecture(name),
    }
}

pub(super) fn vendor(name: &str) -> Option<&'static str> {
    let name = if name == "sie" { "scei" } else { name };
    VENDORS.iter().find(|known| **known == name).copied()
}

pub(super) fn system(name: &str) -> Option<&'static str> {
    let alias = || {
        SYSTEM_ALIASES.iter().find(|(alias, _)| name.starts_with(alias)).map(|(_, known)| *known)
    };
    starts(SYSTEMS, name).or_else(alias)
}

pub(super) fn environment(name: &str) -> Option<&'static str> {
    starts(ENVIRONMENTS, name)
}

/// Returns the object format that an environment consists of or ends with.
pub(super) fn format(environment: &str) -> Option<&'static str> {
    FORMATS.iter().find(|format| environment.ends_with(**format)).copied()
}

/// Returns the default object format for an architecture and an operating system, both as returned
/// by the functions above.
#[cfg(feature = "packs")]
#[inline]
pub(super) fn default_format(architecture: &str, system: &str) -> &'static str {
    let darwin = DARWIN.contains(&system);
    match architecture {
        "aarch64" | "aarch64_32" | "arm" | "thumb" | "i386" | "x86_64" if darwin => "macho",
        "aarch64" | "aarch64_32" | "arm" | "thumb" | "i386" | "x86_64"
            if matches!(system, "windows" | "uefi") =>
        {
            "coff"
        }
        "mipsel" if system == "windows" => "coff",
        "powerpc" | "powerpc64" if system == "aix" => "xcoff",
        "powerpc" | "powerpc64" if darwin => "macho",
        "s390x" if system == "zos" => "goff",
        "wasm32" | "wasm64" => "wasm",
        "spirv" | "spirv32" | "spirv64" => "spirv",
        "dxil" => "dxcontainer",
        _ => "elf",
    }
}

fn starts(table: &[&'static str], name: &str) -> Option<&'static str> {
    table.iter().find(|known| name.starts_with(**known)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_hides_another() {
        for table in [SYSTEMS, ENVIRONMENTS] {
            for known in table {
                assert_eq!(starts(table, known), Some(*known));
            }
        }
        for known in FORMATS {
            assert_eq!(format(known), Some(*known));
        }
    }
}
