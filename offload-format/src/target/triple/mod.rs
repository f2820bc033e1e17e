//! Target triples, `<arch>-<vendor>-<os>[-<env>]`, as LLVM and Cargo write them.

mod amdgpu;
mod arm;
#[cfg(feature = "packs")]
mod compatibility;
mod names;
mod order;

use super::ParseError;
use core::fmt;

/// A target triple, split at its dashes, with each component in its position. Unknown names are
/// accepted in every component, because LLVM's lists of names grow with every release.
///
/// Some spellings omit or reorder components (`aarch64-linux-android`, `thumbv7em-none-eabi`), or
/// use old names (`x86_64-pc-win32`, `x86_64-w64-mingw32`). [`TargetTriple::parse`] reads these
/// spellings like LLVM 22, and [`fmt::Display`] writes the form that LLVM 22 writes into bundles.
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
    /// The architecture, such as `amdgcn` or `x86_64`.
    pub arch: &'a str,
    /// The vendor, such as `amd` or `unknown`; may be empty.
    pub vendor: &'a str,
    /// The operating system, such as `amdhsa` or `linux`; may be empty.
    pub os: &'a str,
    /// The environment, such as `gnu`; empty if the triple has none.
    pub env: &'a str,
}

impl<'a> TargetTriple<'a> {
    /// Creates a triple, moving fields to their positions and replacing old spellings.
    pub(crate) fn new(arch: &'a str, vendor: &'a str, os: &'a str, env: &'a str) -> Self {
        let mut components = [vendor, os, env, "", "", ""];
        order::arrange(&mut components, names::architecture(arch).is_some());
        let [vendor, os, env, ..] = components;
        // LLVM reads SUSE's `gnueabi` as `gnueabihf`, because SUSE supports ARM only with hardware
        // floating point.
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

    /// Parses a triple of two to four fields; the text after the third dash is the environment.
    ///
    /// Returns an error if the architecture is missing, or if nothing follows the architecture.
    pub fn parse(text: &'a str) -> Result<Self, ParseError> {
        let mut fields = text.splitn(4, '-');
        let mut next = || fields.next().unwrap_or("");
        let triple = Self::new(next(), next(), next(), next());
        if triple.arch.is_empty() || !text.contains('-') {
            let reason = "expected a target triple of the form '<arch>-<vendor>-<os>' or \
                          '<arch>-<vendor>-<os>-<env>'";
            return Err(ParseError::new(text, 0, reason));
        }
        Ok(triple)
    }

    /// Whether LLVM recognizes the architecture. If so, the triple is valid in LLVM, whatever the
    /// other fields contain. `amdgpu9.06` and similar names count as recognized, although LLVM 22
    /// recognizes only `amdgcn`.
    pub fn is_known(&self) -> bool {
        names::architecture(self.arch).is_some()
    }

    /// Whether this is an AMD GPU whose target IDs consist of a processor and features; false for
    /// AMD's SPIR-V.
    pub fn is_amdgpu(&self) -> bool {
        matches!(self.arch, "amdgcn" | "r600") || amdgpu::is_name(self.arch)
    }

    /// Returns the processor or generic target in the architecture's name, as in triples of LLVM's
    /// main branch: `gfx906` for `amdgpu9.06-amd-amdhsa`, `gfx9-generic` for `amdgpu9-amd-amdhsa`.
    /// Returns `None` for `amdgcn` and `amdgpu` without a number.
    #[cfg(feature = "packs")]
    #[inline]
    pub(crate) fn amdgpu_processor(&self) -> Option<&'static str> {
        amdgpu::processor(self.arch)
    }

    /// Whether a processor can belong to the architecture: `amdgpu9` covers `gfx906` but not
    /// `gfx90a`; `amdgcn` and `amdgpu` without a number cover all processors. A processor that is
    /// not in the table cannot be checked, so it counts as covered.
    #[cfg(feature = "packs")]
    #[inline]
    pub(crate) fn covers_amdgpu_processor(&self, processor: &str) -> bool {
        amdgpu::covers(amdgpu::number(self.arch), processor)
    }

    /// Whether the operating system is AMD's HSA runtime (`amdhsa`). Triples with this system have
    /// no environment.
    pub fn is_amdhsa(&self) -> bool {
        self.os.starts_with("amdhsa")
    }
}

/// Returns the DXIL version of a shader model: `dxilv1.3` for `shadermodel6.3`, and 1.0 for shader
/// models before 6. Returns `None` for newer shader models and for other operating systems.
fn dxil_version(os: &str) -> Option<&'static str> {
    const VERSIONS: [&str; 10] = [
        "dxilv1.0", "dxilv1.1", "dxilv1.2", "dxilv1.3", "dxilv1.4", "dxilv1.5", "dxilv1.6",
        "dxilv1.7", "dxilv1.8", "dxilv1.9",
    ];
    let version = os.strip_prefix("shadermodel")?;
    match version.strip_prefix("6.") {
        Some("x") => VERSIONS.last().copied(),
        Some(minor) => VERSIONS.get(minor.parse::<u32>().ok()? as usize).copied(),
        None => Some(VERSIONS[0]),
    }
}

/// Writes the four-field form that LLVM 22 writes into bundles. An empty field becomes `unknown`,
/// and for `amdhsa` the fourth field is empty (`amdgcn-amd-amdhsa-`).
impl fmt::Display for TargetTriple<'_> {
    #[inline]
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
            ("amdgpu9.06-amd-amdhsa", "amdgpu9.06-amd-amdhsa-"),
            ("x86_64-unknown-linux-gnu-elf", "x86_64-unknown-linux-gnu"),
            ("quantum-foo-bar-baz", "quantum-foo-bar-baz"),
        ] {
            assert_eq!(triple(text).to_string(), canonical, "{text}");
        }
    }

    #[test]
    fn only_the_architecture_is_judged() {
        assert!(triple("amdgcn-x-y-z").is_known());
        assert!(triple("amdgpu9.06-amd-amdhsa").is_known());
        assert!(triple("amdgpu-amd-amdhsa").is_known());
        assert!(!triple("quantum-unknown-linux-gnu").is_known());
        assert!(!triple("linux-x86_64").is_known());
    }
}
