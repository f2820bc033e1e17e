//! Target triples, `<arch>-<vendor>-<os>[-<env>]`, as LLVM and Cargo write them.

use super::ParseError;
use core::fmt;

/// A target triple, split at its dashes. No part is judged: LLVM's list of names grows with every release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TargetTriple<'a> {
    /// `amdgcn`, `x86_64`.
    pub arch: &'a str,
    /// `amd`, `unknown`; may be empty.
    pub vendor: &'a str,
    /// `amdhsa`, `linux`; may be empty.
    pub os: &'a str,
    /// `gnu`; empty where the triple has three fields.
    pub env: &'a str,
}

/// Operating systems that some spellings put in the vendor's place (`aarch64-linux-android`).
const SYSTEMS: [&str; 6] = ["linux", "windows", "darwin", "freebsd", "netbsd", "openbsd"];

impl<'a> TargetTriple<'a> {
    /// Puts fields together. A system in the vendor's place stands in its own afterwards.
    pub(crate) fn new(arch: &'a str, vendor: &'a str, os: &'a str, env: &'a str) -> Self {
        match SYSTEMS.contains(&vendor) && (env.is_empty() || env == "unknown") {
            true => Self { arch, vendor: "", os: vendor, env: os },
            false => Self { arch, vendor, os, env },
        }
    }

    /// Reads a triple of two to four fields; what is behind the third dash is the environment.
    ///
    /// Returns an error if there is no architecture or nothing behind it.
    pub fn parse(text: &'a str) -> Result<Self, ParseError> {
        let mut fields = text.splitn(4, '-');
        let mut next = || fields.next().unwrap_or("");
        let triple = Self::new(next(), next(), next(), next());
        if triple.arch.is_empty() || triple.arch.len() == text.len() {
            let reason = "a target triple is '<arch>-<vendor>-<os>' or '<arch>-<vendor>-<os>-<env>'";
            return Err(ParseError::new(text, 0, reason));
        }
        Ok(triple)
    }

    /// Whether the operating system is AMD's HSA runtime, whose triples have no environment.
    pub fn is_amdhsa(&self) -> bool {
        self.os.starts_with("amdhsa")
    }
}

/// The four-field form that LLVM 22 writes into bundles: an empty field becomes `unknown`, old spellings of Windows
/// become the current ones, and for `amdhsa` the fourth field is empty (`amdgcn-amd-amdhsa-`).
impl fmt::Display for TargetTriple<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn known(field: &str) -> &str {
            if field.is_empty() { "unknown" } else { field }
        }
        let (os, env) = match (self.os, self.env) {
            ("mingw32", _) => ("windows", "gnu"),
            ("cygwin", _) => ("windows", "cygnus"),
            ("win32" | "windows", "" | "unknown") => ("windows", "msvc"),
            ("win32", env) => ("windows", env),
            (os, _) if self.is_amdhsa() => (os, ""),
            (os, env) => (known(os), known(env)),
        };
        write!(f, "{}-{}-{os}-{env}", known(self.arch), known(self.vendor))
    }
}
