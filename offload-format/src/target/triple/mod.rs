//! Target triples, `<arch>-<vendor>-<os>[-<env>]`, as LLVM and Cargo write them.

mod arm;
mod names;
mod order;

use super::ParseError;
use core::fmt;

/// A target triple, split at its dashes, each component in its place. None has to be a known one: LLVM's lists of names
/// grow with every release.
///
/// Some spellings leave components out or put them elsewhere (`aarch64-linux-android`, `thumbv7em-none-eabi`), or use old
/// names (`x86_64-pc-win32`, `x86_64-w64-mingw32`). [`TargetTriple::parse`] reads them as LLVM 22 does, and
/// [`fmt::Display`] writes the form that LLVM 22 writes into bundles.
///
/// ```
/// use offload_format::target::TargetTriple;
///
/// let triple = TargetTriple::parse("aarch64-linux-android21").unwrap();
/// assert_eq!((triple.os, triple.env), ("linux", "android21"));
/// assert_eq!(triple.to_string(), "aarch64-unknown-linux-android21");
/// assert!(triple.is_compatible_with(&TargetTriple::parse("arm64-unknown-linux-android").unwrap()));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TargetTriple<'a> {
    /// `amdgcn`, `x86_64`.
    pub arch: &'a str,
    /// `amd`, `unknown`; may be empty.
    pub vendor: &'a str,
    /// `amdhsa`, `linux`; may be empty.
    pub os: &'a str,
    /// `gnu`; empty where the triple has none.
    pub env: &'a str,
}

impl<'a> TargetTriple<'a> {
    /// Brings fields into their places and into today's spelling.
    pub(crate) fn new(arch: &'a str, vendor: &'a str, os: &'a str, env: &'a str) -> Self {
        let mut components = [vendor, os, env, "", "", ""];
        order::arrange(&mut components, names::architecture(arch).is_some());
        let [vendor, os, env, ..] = components;
        // SUSE has no ARM without hardware floating point.
        let is_suse_gnueabi = vendor == "suse" && names::environment(env) == Some("gnueabi");
        let env = if is_suse_gnueabi { "gnueabihf" } else { env };
        let (os, env) = match (os, env) {
            _ if os.starts_with("amdhsa") => (os, ""),
            _ if os.starts_with("mingw") => ("windows", "gnu"),
            _ if os.starts_with("cygwin") => ("windows", "cygnus"),
            ("win32" | "windows", "" | "unknown" | "coff") => ("windows", "msvc"),
            ("win32", _) => ("windows", env),
            _ => (os, env),
        };
        let arch = if arch == "dxil" { dxil_version(os).unwrap_or(arch) } else { arch };
        Self { arch, vendor, os, env }
    }

    /// Reads a triple of two to four fields; what is behind the third dash is the environment.
    ///
    /// Returns an error if there is no architecture or nothing behind it.
    pub fn parse(text: &'a str) -> Result<Self, ParseError> {
        let mut fields = text.splitn(4, '-');
        let mut next = || fields.next().unwrap_or("");
        let triple = Self::new(next(), next(), next(), next());
        if triple.arch.is_empty() || !text.contains('-') {
            let reason = "a target triple is '<arch>-<vendor>-<os>' or '<arch>-<vendor>-<os>-<env>'";
            return Err(ParseError::new(text, 0, reason));
        }
        Ok(triple)
    }

    /// Whether LLVM 22 knows the architecture. It calls only such triples valid; the other fields may be anything.
    pub fn is_known(&self) -> bool {
        names::architecture(self.arch).is_some()
    }

    /// Whether this is an AMD GPU as such, whose target IDs name processors and features. SPIR-V for AMD is not.
    pub fn is_amdgpu(&self) -> bool {
        matches!(self.arch, "amdgcn" | "r600")
    }

    /// Whether the operating system is AMD's HSA runtime, whose triples have no environment.
    pub fn is_amdhsa(&self) -> bool {
        self.os.starts_with("amdhsa")
    }

    /// Whether code for one of the two serves the other, as LLVM 22 sees it: each field has to stand for the same, versions
    /// aside. ARM and Thumb are one; on Apple's systems the environment does not count; for Windows with GNU's
    /// environment the vendor does not. Names that are not known are all the same, except for architectures.
    pub fn is_compatible_with(&self, other: &TargetTriple<'_>) -> bool {
        let [a, b] = [self, other].map(Meaning::of);
        let same_arch = match [a.arch, b.arch] {
            ["arm", "thumb"] | ["thumb", "arm"] | ["armeb", "thumbeb"] | ["thumbeb", "armeb"] => true,
            [a, b] => a == b,
        };
        let same_vendor = a.vendor == b.vendor;
        let both_apple = same_vendor && a.vendor == Some("apple");
        let vendor_counts = !(a.os == Some("windows") && a.env == Some("gnu"));
        same_arch
            && a.sub_arch == b.sub_arch
            && a.os == b.os
            && (same_vendor || !vendor_counts)
            && (both_apple || (a.env, a.format) == (b.env, b.format))
    }
}

/// What the names in a triple stand for.
struct Meaning<'a> {
    arch: &'a str,
    sub_arch: &'a str,
    vendor: Option<&'static str>,
    os: Option<&'static str>,
    env: Option<&'static str>,
    format: &'static str,
}

impl<'a> Meaning<'a> {
    fn of(triple: &TargetTriple<'a>) -> Self {
        let arch = names::architecture(triple.arch).unwrap_or(triple.arch);
        let os = names::system(triple.os);
        Self {
            arch,
            sub_arch: names::sub_architecture(triple.arch),
            vendor: names::vendor(triple.vendor),
            os,
            env: names::environment(triple.env),
            format: names::format(triple.env).unwrap_or_else(|| names::default_format(arch, os.unwrap_or(""))),
        }
    }
}

/// The DXIL version of a shader model: `dxilv1.3` of `shadermodel6.3`, and 1.0 of those before 6. `None` for newer ones, and
/// if the operating system is another.
fn dxil_version(os: &str) -> Option<&'static str> {
    const VERSIONS: [&str; 10] = [
        "dxilv1.0", "dxilv1.1", "dxilv1.2", "dxilv1.3", "dxilv1.4", "dxilv1.5", "dxilv1.6", "dxilv1.7", "dxilv1.8",
        "dxilv1.9",
    ];
    let version = os.strip_prefix("shadermodel")?;
    match version.strip_prefix("6.") {
        Some("x") => VERSIONS.last().copied(),
        Some(minor) => VERSIONS.get(minor.parse::<usize>().ok()?).copied(),
        None => Some(VERSIONS[0]),
    }
}

/// The four-field form that LLVM 22 writes into bundles: an empty field becomes `unknown`, and for `amdhsa` the fourth field is
/// empty (`amdgcn-amd-amdhsa-`).
impl fmt::Display for TargetTriple<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn known(field: &str) -> &str {
            if field.is_empty() { "unknown" } else { field }
        }
        write!(f, "{}-{}-{}-", known(self.arch), known(self.vendor), known(self.os))?;
        let env = self.env.split('-').next().unwrap_or("");
        match env.strip_prefix("androideabi") {
            _ if self.is_amdhsa() => Ok(()),
            Some(version) => write!(f, "android{version}"),
            None => f.write_str(known(env)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    fn triple(text: &str) -> TargetTriple<'_> {
        TargetTriple::parse(text).unwrap()
    }

    #[test]
    fn fields_stand_in_their_places() {
        for (text, canonical) in [
            ("aarch64-linux-android", "aarch64-unknown-linux-android"),
            ("armv7-linux-androideabi19", "armv7-unknown-linux-android19"),
            ("thumbv7em-none-eabihf", "thumbv7em-unknown-none-eabihf"),
            ("wasm32-wasip1", "wasm32-unknown-wasip1-unknown"),
            ("x86_64-linux-gnu-pc", "x86_64-pc-linux-gnu"),
            ("x86_64-gnu-linux", "x86_64-unknown-linux-gnu"),
            ("x86_64-w64-mingw32", "x86_64-w64-windows-gnu"),
            ("x86_64-unknown-elf-", "x86_64-unknown-unknown-elf"),
            ("dxil-unknown-shadermodel6.3-library", "dxilv1.3-unknown-shadermodel6.3-library"),
            ("amdgcn-amd-amdhsa", "amdgcn-amd-amdhsa-"),
            ("x86_64-unknown-linux-gnu-elf", "x86_64-unknown-linux-gnu"),
            ("quantum-foo-bar-baz", "quantum-foo-bar-baz"),
        ] {
            assert_eq!(triple(text).to_string(), canonical, "{text}");
        }
    }

    #[test]
    fn only_the_architecture_is_judged() {
        assert!(triple("amdgcn-x-y-z").is_known());
        assert!(!triple("quantum-unknown-linux-gnu").is_known());
        assert!(!triple("linux-x86_64").is_known());
    }

    #[test]
    fn compatibility_is_symmetric() {
        for (a, b, expected) in [
            ("arm64-apple-macosx14.0", "aarch64-apple-macosx13.0-macabi", true),
            ("x86_64-pc-windows-msvc", "x86_64-pc-windows-msvc19.33", true),
            ("x86_64-pc-windows-gnu", "x86_64-w64-windows-gnu", true),
            ("x86_64-pc-windows-msvc", "x86_64-w64-windows-msvc", false),
            ("x86_64-apple-windows-gnu", "x86_64-pc-windows-msvc", false),
            ("armv7-unknown-linux-gnueabihf", "thumbv7-unknown-linux-gnueabihf", true),
            ("armv7-unknown-linux-gnueabihf", "thumbv6-unknown-linux-gnueabihf", false),
            ("x86_64-unknown-linux-", "x86_64-unknown-linux-elf", true),
            ("x86_64-unknown-linux-gnu", "x86_64-pc-linux-gnu", false),
            ("x86_64-unknown-linux-gnu", "x86_64-unknown-linux-musl", false),
            ("amdgcn-amd-amdhsa1.2", "amdgcn-amd-amdhsa-", true),
            ("spirv64-amd-amdhsa", "amdgcn-amd-amdhsa", false),
            ("quantum-unknown-linux", "quark-unknown-linux", false),
        ] {
            assert_eq!(triple(a).is_compatible_with(&triple(b)), expected, "{a} {b}");
            assert_eq!(triple(b).is_compatible_with(&triple(a)), expected, "{b} {a}");
        }
    }
}
