//! Decides whether code for one triple can be used for another.

use super::{TargetTriple, amdgpu, names};

impl TargetTriple<'_> {
    /// Whether code for one triple can be used for the other, by the rules of LLVM 22. Each field
    /// must mean the same in both, apart from versions. ARM and Thumb count as the same
    /// architecture. A numbered AMD architecture is compatible with its family and with `amdgcn`
    /// (LLVM's main branch). If the vendor is Apple, the environment and the object format are
    /// ignored. On Windows with the GNU environment, the vendor is ignored. All unknown names in a
    /// field count as equal, except for unknown architectures, which are compared as text.
    #[inline]
    pub fn is_compatible_with(&self, other: &TargetTriple<'_>) -> bool {
        let [a, b] = [self, other].map(Meaning::of);
        let same_arch = match [a.arch, b.arch] {
            ["arm", "thumb"] | ["thumb", "arm"] | ["armeb", "thumbeb"] | ["thumbeb", "armeb"] => {
                true
            }
            [a, b] => a == b,
        };
        let same_vendor = a.vendor == b.vendor;
        let both_apple = same_vendor && a.vendor == Some("apple");
        let vendor_counts = !(a.os == Some("windows") && a.env == Some("gnu"));
        let same_sub_arch = match a.arch {
            "amdgcn" => amdgpu::go_together(a.sub_arch, b.sub_arch),
            _ => a.sub_arch == b.sub_arch,
        };
        same_arch
            && same_sub_arch
            && a.os == b.os
            && (same_vendor || !vendor_counts)
            && (both_apple || (a.env, a.format) == (b.env, b.format))
    }
}

/// A triple with each name replaced by its meaning, for field-by-field comparison.
struct Meaning<'a> {
    arch: &'a str,
    sub_arch: &'a str,
    vendor: Option<&'static str>,
    os: Option<&'static str>,
    env: Option<&'static str>,
    format: &'static str,
}

impl<'a> Meaning<'a> {
    #[inline]
    fn of(triple: &TargetTriple<'a>) -> Self {
        let arch = names::architecture(triple.arch).unwrap_or(triple.arch);
        let os = names::system(triple.os);
        Self {
            arch,
            sub_arch: names::sub_architecture(triple.arch),
            vendor: names::vendor(triple.vendor),
            os,
            env: names::environment(triple.env),
            format: names::format(triple.env)
                .unwrap_or_else(|| names::default_format(arch, os.unwrap_or(""))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            ("amdgpu9.06-amd-amdhsa", "amdgcn-amd-amdhsa", true),
            ("amdgpu-amd-amdhsa", "amdgcn-amd-amdhsa-", true),
            ("amdgpu9-amd-amdhsa", "amdgpu9.06-amd-amdhsa", true),
            ("amdgpu9-amd-amdhsa", "amdgpu9.0a-amd-amdhsa", false),
            ("amdgpu9.00-amd-amdhsa", "amdgpu9.06-amd-amdhsa", false),
            ("amdgpu9.06-amd-amdhsa", "amdgcn-amd-amdpal", false),
            ("amdgpu9.06-amd-amdhsa", "r600-amd-amdhsa", false),
            ("spirv64-amd-amdhsa", "amdgcn-amd-amdhsa", false),
            ("quantum-unknown-linux", "quark-unknown-linux", false),
        ] {
            assert_eq!(triple(a).is_compatible_with(&triple(b)), expected, "{a} {b}");
            assert_eq!(triple(b).is_compatible_with(&triple(a)), expected, "{b} {a}");
        }
    }

    fn triple(text: &str) -> TargetTriple<'_> {
        TargetTriple::parse(text).unwrap()
    }
}
