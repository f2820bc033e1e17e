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

impl<'a> TargetTriple<'a> {
    /// Reads a triple of two to four fields; what is behind the third dash is the environment.
    ///
    /// Returns an error if there is no architecture or nothing behind it.
    pub fn parse(text: &'a str) -> Result<Self, ParseError> {
        let mut fields = text.splitn(4, '-');
        let mut next = || fields.next().unwrap_or("");
        let triple = Self { arch: next(), vendor: next(), os: next(), env: next() };
        if triple.arch.is_empty() || triple.arch.len() == text.len() {
            return Err(ParseError::new(
                text,
                0,
                "a target triple is '<arch>-<vendor>-<os>' or '<arch>-<vendor>-<os>-<env>'",
            ));
        }
        Ok(triple)
    }

    /// Whether the operating system is AMD's HSA runtime, whose triples have no environment.
    pub fn is_amdhsa(&self) -> bool {
        self.os.starts_with("amdhsa")
    }
}

/// The four-field form that LLVM 22 writes into bundles: an empty field becomes `unknown`, three old spellings of Windows
/// become the current ones, and for `amdhsa` the fourth field is empty (`amdgcn-amd-amdhsa-`).
impl fmt::Display for TargetTriple<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn known(field: &str) -> &str {
            if field.is_empty() { "unknown" } else { field }
        }
        let (os, env) = match self.os {
            "win32" => ("windows", "msvc"),
            "mingw32" => ("windows", "gnu"),
            "cygwin" => ("windows", "cygnus"),
            os if self.is_amdhsa() => (os, ""),
            os => (known(os), known(self.env)),
        };
        write!(f, "{}-{}-{os}-{env}", known(self.arch), known(self.vendor))
    }
}
